#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A host of the test bed whose edge is the patched switch: real TCP through it, and what its agent
stores is what was on the wires."""
import os
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../testbed"))
import scenario                                 # makes the modules of the bed importable
import traffic
from agent import Agent, by_flow
from scenario import merge, probe, true_paths
from switch import OVS
from wire import TCP, Account, Watch

# host -> connections of each family: other pod, same pod, same rack
RECEIVER, SENDERS = 25, {21: 6, 27: 2, 26: 2}
BYTES = 20_000
DETOUR = (11, 3)                                # when it is down, what comes by 11 goes by 4 and 12
DEAD_S = 1.5                                    # of the agent, while packets pass


def sums_of(flows):
    return {flow: tuple(map(sum, zip(*paths.values()))) for flow, paths in flows.items()}


class Edge(unittest.TestCase):
    def setUp(self):
        self.bed = self.enterContext(scenario.bed("edge", edges=[RECEIVER], ovs=OVS))
        self.host = self.bed.host(RECEIVER)
        self.addrs = self.host.node.addrs
        traffic.Server(self.host)
        self.agent = Agent(self.host, self.enterContext(tempfile.TemporaryDirectory(
            prefix="pathdump-edge.")), f"ovs:{self.host.edge.socket}", ())
        self.agent.start()
        self.watch = Watch(self.host.popen, "count")

    def senders(self, rate_mbit=traffic.RATE_MBIT):
        return [traffic.Sender(self.bed.host(i), address, n, rate_mbit=rate_mbit)
                for i, n in SENDERS.items() for address in self.addrs]

    def to_host(self, account):
        return {flow: paths for flow, paths in true_paths(self.bed, account).items()
                if flow[1] in self.addrs}

    def phase(self, work):
        """flows with the one path that each took while `work` ran"""
        account = Account(self.bed)
        work()
        return self.to_host(account.stop())

    def received(self):
        """{flow: (pkts, bytes)} by a packet socket of the host behind the switch"""
        return {flow: count for (_, flow), count in self.watch.stop().items()
                if flow[1] in self.addrs}

    def stored(self):
        self.agent.stop()
        return by_flow(self.agent.stored("getFlows"))

    def counted(self):
        return int(self.host.edge.ask("trajectory/show").split("packets counted in a record: ")[
            1].split()[0])

    def test_paths_and_sums(self):
        """TCP over both families, fragments, a detour while connections are open"""
        senders = []

        def send():
            senders.extend([] if senders else self.senders())
            for sender in senders:
                sender.send(BYTES)
            answered, _ = probe(self.bed.host(21), self.addrs, 3, size=4000)
            self.assertEqual(answered, dict.fromkeys(self.addrs, 3))

        before = self.phase(send)
        self.bed.link_down(*DETOUR)
        after = self.phase(send)
        closing = self.phase(lambda: [sender.close() for sender in senders])
        expected = merge([before, after, closing])
        self.assertTrue(any(len(path) == 7 for paths in after.values() for path in paths),
                        "no flow took the detour")
        self.assertEqual(sum(flow[4] == TCP for flow in expected), 2 * sum(SENDERS.values()))
        self.assertEqual(by_flow(self.agent.query("getFlows")), expected)
        self.assertEqual(self.stored(), expected)
        self.assertEqual(sums_of(expected), self.received())

    def test_agent_dies_under_traffic(self):
        """nothing is lost on the way meanwhile, and the next agent stores what was counted without
        one"""
        def send():
            senders = self.senders(rate_mbit=1)
            for sender in senders:
                sender.start(3 * BYTES)
            time.sleep(.3)
            self.agent.kill()
            counted = self.counted()
            time.sleep(DEAD_S)
            self.assertGreater(self.counted(), counted, "the switch stood still")
            self.agent.start()
            self.finish(senders)

        expected = self.phase(send)
        self.assertEqual(self.stored(), expected)
        self.assertEqual(sums_of(expected), self.received())

    def test_switch_dies_under_traffic(self):
        """connections go on by the next one; what reached the host was counted before, and is
        stored"""
        senders = self.senders(rate_mbit=2)
        for sender in senders:
            sender.start(3 * BYTES)
        time.sleep(.3)
        self.bed.restart_edge(RECEIVER)
        self.finish(senders)
        stored = sums_of(self.stored())
        for flow, received in self.received().items():
            self.assertGreaterEqual(stored[flow], received, flow)

    @staticmethod
    def finish(senders):
        for sender in senders:
            sender.wait()
            sender.close()


if __name__ == "__main__":
    if not os.path.exists(f"{OVS}/vswitchd/ovs-vswitchd"):
        print("tools/ovs build was not run")
        sys.exit(77)
    scenario.main()
