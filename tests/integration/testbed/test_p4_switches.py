# SPDX-License-Identifier: Apache-2.0
"""The fabric p4: compiled programs on pathdump-switch forward real TCP, tag, punt and fail, and
agents tell the paths of it to the packet."""
import os
import subprocess
import sys
import tempfile
import time
import unittest

import scenario                                 # makes the modules of the bed importable
import traffic
from agent import Agent, by_flow
from commands import wait_for
from scenario import probe, serve_all, true_paths, unreachable
from wire import UDP, Account

sys.path.append(os.path.join(scenario.HERE, "..", "..", "shared"))
import capture                                  # noqa: E402

SENDER, RECEIVER, FLOWS, PROBES = 21, 25, 32, 64
UNKNOWN_TAG = 4000
SHOOT = """
import socket, sys
sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(int(sys.argv[3]))]
for sock in sockets:
    sock.sendto(bytes(40), (sys.argv[1], int(sys.argv[2])))
"""
SEND_RAW = """
import socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind(("eth0", 0))
for frame in sys.argv[1:]:
    s.send(bytes.fromhex(frame))
"""


class P4Switches(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="pathdump-p4.")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.bed = scenario.bed("p4", fabric="p4", tagged={RECEIVER})
        cls.enterClassContext(cls.bed)
        serve_all(cls.bed)
        cls.sender, cls.receiver = cls.bed.host(SENDER), cls.bed.host(RECEIVER)
        cls.agent = cls.enterClassContext(Agent(cls.receiver, cls.folder.name))

    def setUp(self):
        self.addCleanup(self.bed.faults.clear)

    def send(self, number=FLOWS, size=5000):
        """TCP connections of both families to the receiver; {flow: {link: (pkts, bytes)}} as it was
        on the wires"""
        account = Account(self.bed)
        for address in self.receiver.node.addrs:
            connections = traffic.Sender(self.sender, address, number, traffic.PORT)
            connections.send(size)
            connections.close()
        return {flow: links for flow, links in account.stop().items()
                if flow[1] in self.receiver.node.addrs}

    def shoot(self, number):
        """one UDP datagram each of so many flows to the receiver, no answer awaited; {source port:
        its links}"""
        account = Account(self.bed)
        self.sender.run([sys.executable, "-c", SHOOT, self.receiver.ipv4, traffic.PORT, number],
                        check=True)
        return {flow[2]: set(links) for flow, links in account.stop().items()
                if flow[0] == self.sender.ipv4 and flow[4] == UDP}

    def answer(self, flows):
        return {flow: paths for flow, paths in by_flow(self.agent.query("getFlows")).items()
                if flow in flows}

    def test_every_host_reaches_every_host(self):
        """also those without an agent, which take tags off themselves"""
        self.assertEqual(unreachable(self.bed), [])

    def test_agent_tells_the_paths(self):
        """of four hops, and of a detour of six: to the packet and the byte what was on the wires; a
        link that was down comes up again"""
        for detour in [], [(11, 3)], []:
            for link in detour:
                self.bed.faults.add("link-down", *link)
            truth = true_paths(self.bed, self.send())
            self.assertEqual(len(truth), 2 * FLOWS)
            for address in self.receiver.node.addrs:
                used = {path for flow, paths in truth.items() if flow[1] == address
                        for path in paths}
                self.assertGreater(len(used), 1)
                self.assertLessEqual(used, set(self.bed.paths(SENDER, RECEIVER)))
            self.assertEqual(self.answer(truth), truth)
            self.assertEqual(any(len(path) == 7 for paths in truth.values() for path in paths),
                             bool(detour))
            self.bed.faults.clear()

    def test_third_push(self):
        """tags that tell their depth: the switch that would push a third one hands the packet to
        its slow path, as it came"""
        for link in ((9, 17), (9, 18), (19, 12)):
            self.bed.faults.add("link-down", *link)
        before, links = len(self.bed.fabric.punts()), self.shoot(PROBES)
        long = {port for port, seen in links.items() if not seen & {(11, 3), (12, 3)}}
        self.assertTrue(0 < len(long) < len(links),
                        f"{len(long)} of {len(links)} flows took the long way")
        wait_for(lambda: len(self.bed.fabric.punts()) >= before + len(long), "the punted packets")
        punts = self.bed.fabric.punts()[before:]
        self.assertEqual({int.from_bytes(punt["frame"][42:44], "big") for punt in punts}, long)
        self.assertEqual({punt["reason"] for punt in punts}, {"long_path"})
        self.assertEqual(self.bed.fabric.punted(), len(self.bed.fabric.punts()))

    def test_tags_of_hosts_go_no_further(self):
        """dropped at its rack, in no record"""
        before = self.bed.fabric.counters(1)["dropped"].get("edge", 0)
        frames = [capture.ethernet(capture.packet(self.sender.ipv4, self.receiver.ipv4, 7777, n,
                                                  b"forged"), tags)
                  for n, tags in enumerate(((1 << 13 | 9,), (1 << 13 | 9, 2 << 13 | 14),
                                            (9, 14, 11)))]
        self.sender.run([sys.executable, "-c", SEND_RAW, *(frame.hex() for frame in frames)],
                        check=True)
        truth = true_paths(self.bed, self.send(4))
        self.assertEqual(self.answer(truth), truth)
        self.assertEqual(self.bed.fabric.counters(1)["dropped"]["edge"] - before, len(frames))
        self.assertEqual([flow for flow in by_flow(self.agent.query("getFlows"))
                          if flow[2] == 7777], [])

    def test_loop_and_black_hole(self):
        before = self.bed.fabric.punted()
        self.bed.faults.add("loop", "1,9,2,10", RECEIVER)
        self.shoot(1)
        wait_for(lambda: self.bed.fabric.punted() > before, "the looping packet")
        self.bed.faults.clear()
        self.bed.faults.add("blackhole", 1, 9)
        self.bed.faults.add("blackhole", 1, 10)
        links = self.shoot(PROBES)
        self.assertEqual({link for seen in links.values() for link in seen}, {(SENDER, 1)})
        self.bed.faults.clear()
        self.assertEqual(set(probe(self.sender, self.receiver.node.addrs)[0].values()), {1})

    def test_wrong_tag(self):
        """its packets are counted under no path"""
        self.bed.faults.add("wrong-tag", 9, 17, UNKNOWN_TAG)
        truth = true_paths(self.bed, self.send())
        wrong = {flow for flow, paths in truth.items() for path in paths
                 if (9, 17) in zip(path, path[1:])}
        self.assertTrue(0 < len(wrong) < len(truth))
        self.assertEqual(self.answer(truth), {flow: {(): next(iter(paths.values()))} if flow
                                              in wrong else paths for flow, paths in truth.items()})

    def test_what_it_cannot_do_is_refused(self):
        for fault in ("spray", "all"), ("size-hash", 1, 9):
            with self.assertRaisesRegex(RuntimeError, "spread flows"):
                self.bed.faults.add(*fault)
        self.assertEqual(self.bed.faults.list(), {})

    def test_one_flow(self):
        """every packet of a large transfer is in a record, under one path"""
        begin, links = time.monotonic(), self.send(1, 20_000_000)
        truth = true_paths(self.bed, links)
        print(f"two transfers of 20 MB, one behind the other, in {time.monotonic() - begin:.1f} s")
        self.assertEqual(self.answer(truth), truth)

    def test_sums(self):
        """every packet that came in went somewhere"""
        for switch, one in self.bed.fabric.summaries().items():
            self.assertEqual(one["received"], one["forwarded"] + one["punted"]
                             + sum(one["dropped"].values()), switch)

    def test_attached(self):
        """another process finds the same bed, and nothing to change"""
        command = [scenario.COMMAND, "status", "--name", self.bed.name]
        self.assertIn("20 switches",
                      subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        found = scenario.Bed.attach(self.bed.name)
        before = found.fabric.installed
        found.fabric.program([9])
        self.assertEqual(found.fabric.installed, before)


if __name__ == "__main__":
    scenario.main()
