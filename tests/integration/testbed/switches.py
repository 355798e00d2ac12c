# SPDX-License-Identifier: Apache-2.0
"""What the tests of every fabric's switches ask: real packets from one host to another one with an
agent, on the wires and in its records."""
import os
import sys
import tempfile
import unittest

import scenario                                 # makes the modules of the bed importable
import traffic
from agent import Agent, by_flow
from scenario import serve_all, true_paths
from wire import UDP, Account

sys.path.append(os.path.join(scenario.HERE, "..", "..", "shared"))

SENDER, RECEIVER, FLOWS, PROBES = 21, 25, 32, 64
UNKNOWN_TAG = 4000
SHOOT = """
import socket, sys
sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(int(sys.argv[3]))]
for sock in sockets:
    sock.sendto(bytes(40), (sys.argv[1], int(sys.argv[2])))
"""


class SwitchesTest(unittest.TestCase):
    """`name`, of the bed, and `fabric` are the class's"""
    name = fabric = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix=f"pathdump-{cls.name}.")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.bed = scenario.bed(cls.name, fabric=cls.fabric, tagged={RECEIVER})
        cls.enterClassContext(cls.bed)
        serve_all(cls.bed)
        cls.sender, cls.receiver = cls.bed.host(SENDER), cls.bed.host(RECEIVER)
        cls.agent = cls.enterClassContext(Agent(cls.receiver, cls.folder.name))

    def setUp(self):
        self.addCleanup(self.bed.faults.clear)

    def send(self, number=FLOWS, size=5000, port=traffic.PORT):
        """TCP connections of both families to the receiver; {flow: {link: (pkts, bytes)}} as it was
        on the wires"""
        account = Account(self.bed)
        for address in self.receiver.node.addrs:
            connections = traffic.Sender(self.sender, address, number, port)
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

    def tells_the_paths(self, is_detour):
        """of four hops, or of a detour of six: to the packet and the byte what was on the wires"""
        truth = true_paths(self.bed, self.send())
        self.assertEqual(len(truth), 2 * FLOWS)
        for address in self.receiver.node.addrs:
            used = {path for flow, paths in truth.items() if flow[1] == address for path in paths}
            self.assertGreater(len(used), 1)
            self.assertLessEqual(used, set(self.bed.paths(SENDER, RECEIVER)))
        self.assertEqual(self.answer(truth), truth)
        self.assertEqual(any(len(path) == 7 for paths in truth.values() for path in paths),
                         is_detour)
