# SPDX-License-Identifier: Apache-2.0
"""From tagged packets to answers: agents on hosts, real TCP over both families, and each kind of
6-hop detour while connections are open. What the agents answer must be, to the packet and the byte,
what was on the wires. Where nothing else is said, the tagging rules were put on the switches by a
controller."""
import json
import os
import subprocess
import tempfile
import time
import unittest

import scenario                                 # makes the modules of the bed importable
import traffic
from agent import FLOW_ID, Agent, by_flow, flow_flags
from scenario import merge, probe, true_paths
from commands import wait_for
from wire import TCP, UDP, Account, Watch

# host -> connections of each family: other pod, same pod, same rack
RECEIVER, SENDERS = 25, {21: 24, 27: 3, 26: 2}
BYTES = 20_000
DATAGRAM, DATAGRAMS = 4000, 6                   # each in three fragments
UNKNOWN_TAG = 4000
PHASES = {
    "no link down": [],
    "source pod": [(9, 17), (9, 18)],
    "destination pod": [(11, 3)],
    "core": [(17, 11)],
    "no link down again": [],
}
DETOURS = {                                     # what is special about the path of each detour
    "source pod": lambda path: path[1:4] == (9, 2, 10),
    "destination pod": lambda path: path[3:6] == (11, 4, 12),
    "core": lambda path: path[2:5] in ((17, 13, 18), (17, 15, 18)),
}


def hops(path):
    return len(path) - 1


class EndToEnd(unittest.TestCase):
    """one run of the traffic, then several looks at what it left"""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="pathdump-e2e.")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.bed = scenario.bed("e2e", tagged={RECEIVER, *SENDERS}, controller=True)
        cls.enterClassContext(cls.bed)
        cls.agents = {i: Agent(cls.bed.host(i), cls.folder.name).start()
                      for i in (RECEIVER, *SENDERS)}
        cls.capture = os.path.join(cls.folder.name, "received.pcap")
        watches = {i: Watch(cls.bed.host(i).popen, "pcap",
                            cls.capture if i == RECEIVER else "/dev/null") for i in cls.agents}
        cls.send_everything()
        cls.received = {i: {flow: count for (_, flow), count in watch.stop().items()
                            if flow[1] in cls.bed.host(i).node.addrs}
                        for i, watch in watches.items()}
        cls.live = cls.agents[RECEIVER].query("getFlows")
        for agent in cls.agents.values():
            agent.stop()
        cls.truth = merge(cls.tables.values())

    @classmethod
    def send_everything(cls):
        """cls.tables: for each phase, the flows with the one path that each of them took"""
        bed, cls.tables = cls.bed, {}
        traffic.Server(bed.host(RECEIVER))
        senders = []
        for name, links in PHASES.items():
            for link in links:
                bed.link_down(*link)
            account = Account(bed)
            if not senders:
                senders = [traffic.Sender(bed.host(i), address, n) for i, n in SENDERS.items()
                           for address in bed.host(RECEIVER).node.addrs]
            for sender in senders:
                sender.send(BYTES)
            addrs = bed.host(RECEIVER).node.addrs
            answered, _ = probe(bed.host(list(SENDERS)[0]), addrs * DATAGRAMS, size=DATAGRAM)
            assert answered == dict.fromkeys(addrs,
                                             DATAGRAMS), f"{name}: datagrams were lost: {answered}"
            if name == list(PHASES)[-1]:
                for sender in senders:
                    sender.close()
            cls.tables[name] = true_paths(bed, account.stop())
            for link in links:
                bed.link_up(*link)

    def expected(self, host):
        return {flow: paths for flow, paths in self.truth.items()
                if flow[1] in self.bed.host(host).node.addrs}

    def test_the_run_had_all_detours(self):
        """otherwise the other tests show nothing"""
        for name, is_detour in DETOURS.items():
            for version in (4, 6):
                found = [path for flow, paths in self.tables[name].items() for path in paths
                         if hops(path) == 6 and is_detour(path)
                         and (":" in flow[0]) == (version == 6)]
                self.assertTrue(found, f"no IPv{version} flow took a detour: {name}")
        self.assertEqual({hops(p) for paths in self.tables["no link down"].values() for p in paths},
                         {0, 2, 4})
        flows, addrs = self.expected(RECEIVER), self.bed.host(RECEIVER).node.addrs
        self.assertEqual({flow[1:2] + flow[3:] for flow in flows},
                         {(address, *rest) for address in addrs
                          for rest in ((traffic.PORT, TCP), (traffic.PORT, UDP), (0, UDP))})
        self.assertEqual(sum(flow[4] == TCP for flow in flows), 2 * sum(SENDERS.values()))

    def test_flows_paths_and_counts_are_exact(self):
        for host, agent in self.agents.items():
            self.assertEqual(by_flow(agent.stored("getFlows")), self.expected(host), f"host {host}")

    def test_live_answer_is_the_same(self):
        """the agent was asked while the last records were still in its trajectory memory"""
        self.assertEqual(by_flow(self.live), self.expected(RECEIVER))
        self.assertTrue(self.live["complete"])

    def test_sums_equal_what_the_hosts_received(self):
        """counted by a packet socket of the host itself, not between switches"""
        for host, agent in self.agents.items():
            sums = {flow: tuple(map(sum, zip(*paths.values())))
                    for flow, paths in by_flow(agent.stored("getFlows")).items()}
            self.assertEqual(sums, self.received[host], f"host {host}")

    def test_paths_of_every_flow(self):
        agent, lengths = self.agents[RECEIVER], set()
        for flow, paths in sorted(self.expected(RECEIVER).items()):
            answer = agent.stored("getPaths", *flow_flags(flow))
            self.assertEqual(sorted(map(tuple, answer["paths"])), sorted(paths), flow)
            lengths.add(len(paths))
        self.assertGreater(max(lengths), 1, "no flow changed its path")

    def test_link_and_count_of_a_detour(self):
        agent, expected = self.agents[RECEIVER], self.expected(RECEIVER)
        over = {flow: kept for flow, paths in expected.items()
                if (kept := {p: c for p, c in paths.items() if (11, 4) in zip(p, p[1:])})}
        self.assertTrue(over)
        self.assertEqual(by_flow(agent.stored("getFlows", "--link", "11-4")), over)
        flow, paths = next(iter(over.items()))
        path, (pkts, size) = next(iter(paths.items()))
        count = agent.stored("getCount", *flow_flags(flow), "--path", ",".join(map(str, path)))
        self.assertEqual((count["pkts"], count["bytes"]), (pkts, size))

    def test_capture_file_gives_the_same(self):
        """what the host received, written to a file by another program, through the other intake"""
        tib = os.path.join(self.folder.name, "tib-of-capture")
        command = [self.bed.program_path("pathdumpd"), "--topology", self.bed.topology, "--intake",
                   f"pcap:{self.capture}",
                   "--tib", tib, "--listen", "127.0.0.1:0", "--exit-after-intake"]
        done = self.bed.host(22).run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                     text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        agent = Agent(self.bed.host(RECEIVER), self.folder.name)
        agent.tib = tib
        live, replayed = (sorted(a.stored("getFlows")["flows"], key=str)
                          for a in (self.agents[RECEIVER], agent))
        # times, too: the kernel stamps a packet once, for all who look at it
        self.assertEqual(replayed, live)


class FailureUnderTraffic(unittest.TestCase):
    def test_what_arrived_is_what_is_counted(self):
        """links go down and up while packets are under way: those that are lost are sent again,
        none that arrived is missed. Rules by ovs-ofctl, no controller"""
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="pathdump-e2e."))
        bed = self.enterContext(scenario.bed("lossy", tagged={RECEIVER}))
        receiver = bed.host(RECEIVER)
        traffic.Server(receiver)
        with Agent(receiver, folder) as agent:
            watch, account = Watch(receiver.popen, "count"), Account(bed)
            senders = [traffic.Sender(bed.host(21), address, 6, rate_mbit=8)
                       for address in receiver.node.addrs]
            for sender in senders:
                # a SYN that the first link takes with it would be sent again seconds later, and the
                # data after it
                sender.send(1000)
            for sender in senders:
                sender.start(500_000)
            for link in [(11, 3), (17, 11), (12, 3), (1, 10)] * 2:
                bed.link_down(*link)
                time.sleep(0.3)
                bed.link_up(*link)
            for sender in senders:
                sender.wait()
                sender.close()
            links, received = account.stop(), watch.stop()
        flows = by_flow(agent.stored("getFlows"))
        sums = {flow: tuple(map(sum, zip(*paths.values()))) for flow, paths in flows.items()}
        self.assertEqual(sums, {flow: count for (_, flow), count in received.items()
                                if flow[1] in receiver.node.addrs})
        for flow, paths in flows.items():
            for link in {link for path in paths for link in zip(path, path[1:])}:
                arrived = sum(count[0] for path, count in paths.items()
                              if link in zip(path, path[1:]))
                self.assertLessEqual(arrived, links[flow][link][0], f"{flow} on {link}")
        self.assertTrue(any(len(path) == 7 for paths in flows.values() for path in paths), flows)


class WrongTag(unittest.TestCase):
    def test_alarm(self):
        """a core that writes a tag of no link: its packets are counted under no path, with their
        tags, and alarmed. Rules by ovs-ofctl"""
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="pathdump-e2e."))
        bed = self.enterContext(scenario.bed("wrong", tagged={RECEIVER}))
        receiver, core = bed.host(RECEIVER), 17
        for agg in bed.network.switch_peers(core):
            bed.faults.add("wrong-tag", agg, core, UNKNOWN_TAG)
        traffic.Server(receiver)
        with Agent(receiver, folder) as agent:
            account = Account(bed)
            connections = traffic.Sender(bed.host(21), receiver.ipv4, 24)
            connections.send(5000)
            connections.close()
            truth = {flow: paths for flow, paths in true_paths(bed, account.stop()).items()
                     if flow[1] == receiver.ipv4}
            wrong = {flow for flow, paths in truth.items() if any(core in path for path in paths)}
            self.assertTrue(wrong)
            wait_for(lambda: len(self.alarms(agent)) >= len(wrong), "the alarms")
            alarms = self.alarms(agent)
        self.assertEqual(alarms, dict.fromkeys(wrong, ("INFEASIBLE_PATH", [UNKNOWN_TAG])))
        expected = {flow: {(): next(iter(paths.values()))} if flow in wrong else paths
                    for flow, paths in truth.items()}
        self.assertEqual(by_flow(agent.stored("getFlows")), expected)

    @staticmethod
    def alarms(agent):
        """they come when records leave the trajectory memory"""
        return {tuple(a["flow_id"][name] for name in FLOW_ID): (a["reason"], a["tags"])
                for a in json.loads(agent.curl("alarms"))["alarms"]
                if a["reason"] != "POOR_PERF"}


class OtherNetworks(unittest.TestCase):
    """the other codecs, on networks of their own; that of VL2 also writes the DSCP"""

    def test_leaf_spine(self):
        self.check("leaf-spine", "--leaves", "4", "--spines", "3", "--hosts", "2")

    def test_vl2(self):
        self.check("vl2", "--k", "4")

    def check(self, *words):
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="pathdump-e2e."))
        topology = os.path.join(folder, "topology.json")
        with open(topology, "w", encoding="utf-8") as file:
            subprocess.run([os.path.join(scenario.BINARIES, "pathdump"), "topology", *words],
                           stdout=file, check=True)
        bed = self.enterContext(scenario.bed("other", topology=topology, controller=True))
        sender, receiver = bed.host(min(bed.hosts)), bed.host(max(bed.hosts))
        bed.set_tagged([receiver.id])
        traffic.Server(receiver)
        with Agent(receiver, folder) as agent:
            account = Account(bed)
            for address in receiver.node.addrs:
                connections = traffic.Sender(sender, address, 16)
                connections.send(5000)
                connections.close()
            truth = true_paths(bed, account.stop())
        expected = {flow: paths for flow, paths in truth.items() if flow[1] in receiver.node.addrs}
        self.assertEqual(len(expected), 32)
        self.assertEqual(by_flow(agent.stored("getFlows")), expected)


if __name__ == "__main__":
    scenario.main()
