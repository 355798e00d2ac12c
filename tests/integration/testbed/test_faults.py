# SPDX-License-Identifier: Apache-2.0
"""Each fault of the test bed does what it says, as counted on the wires, and is gone when it is
taken back. One bed for all of them.

Numbers of packets are chosen so that chance makes a right fault fail less often than once in a
million runs: 5 standard deviations and more."""
import json
import math
import os
import re
import subprocess
import sys
import unittest

import scenario                                 # makes the modules of the bed importable
import background
import traffic
from scenario import COMMAND, probe, serve_all
from commands import wait_for
from wire import Account

SENDER, RECEIVER = 21, 25                       # of different pods: four equal paths, over 9 or 10
UNUSED_PORT = 9
SIGMAS = 6


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bed = scenario.bed("faults")
        cls.enterClassContext(cls.bed)
        serve_all(cls.bed)
        traffic.Server(cls.bed.host(RECEIVER), traffic.LARGE_PORT)
        cls.sender, cls.receiver = cls.bed.host(SENDER), cls.bed.host(RECEIVER)
        probe(cls.sender, cls.receiver.node.addrs)

    def setUp(self):
        self.faults = self.bed.faults
        self.before = dict(self.bed.fabric.installed)
        self.addCleanup(self.check_taken_back)

    def check_taken_back(self):
        self.faults.clear()
        self.assertEqual((self.bed.fabric.installed, self.faults.list(), self.faults.filters,
                          self.faults.queues), (self.before, {}, {}, {}))

    def flood(self, number, flows, sender=None, receiver=None):
        """{link: packets received} of datagrams in one direction, and what was sent"""
        sender, receiver = sender or self.sender, receiver or self.receiver
        account = Account(self.bed)
        words = [sys.executable, background.__file__, "flood", receiver.ipv4, UNUSED_PORT, "-n",
                 number, "-f", flows]
        sender.run(words, stdout=subprocess.DEVNULL, check=True)
        received = {}
        for flow, links in account.stop().items():
            for link, (pkts, _) in links.items() if flow[1] == receiver.ipv4 and flow[
                3] == UNUSED_PORT else ():
                received[link] = received.get(link, 0) + pkts
        self.assertEqual(received[sender.id, sender.rack], number * flows)
        return received

    def assert_share(self, got, of, share, what):
        sigma = math.sqrt(of * share * (1 - share))
        self.assertLessEqual(abs(got - of * share), SIGMAS * sigma, f"{what}: {got} of {of}")

    def counted(self, switch, pattern):
        """packets of all flows of a switch that look like this, as Open vSwitch counts them, which
        may be a second late"""
        lines = self.bed.fabric.flow_counts(switch)[0].splitlines()
        return sum(int(re.search(r"n_packets=(\d+)", line)[1]) for line in lines
                   if re.search(pattern, line))

    def test_loss(self):
        number = self.faults.add("loss", 9, 17, 0.1)
        received = self.flood(50, 60)
        sent = received[1, 9] - received[9, 18]
        self.assertGreater(sent, 50, "no flow took that link")
        self.assert_share(sent - received[9, 17], sent, 0.1, "lost between 9 and 17")
        self.assertEqual(received[17, 11], received[9, 17])
        self.faults.clear(number)
        received = self.flood(10, 60)
        self.assertEqual(received[9, 17] + received[9, 18], received[1, 9])

    def test_loss_has_a_direction(self):
        self.faults.add("loss", 17, 9, 0.5)
        received = self.flood(10, 60)
        self.assertEqual(received[9, 17] + received[9, 18], received[1, 9])

    def test_blackhole(self):
        self.faults.add("blackhole", 9, 17)
        received = self.flood(5, 60)
        self.assertNotIn((9, 17), received)
        self.assertGreater(received[1, 9], received[9, 18])
        self.assertEqual(received[10, 19] + received[10, 20], received[1, 10])

    def test_link_down(self):
        """the switch before it goes around it, and a link that people have taken down stays down
        when the fault is taken back"""
        self.bed.link_down(9, 18)
        number = self.faults.add("link-down", 11, 3)
        self.assertIn((1, 9, 17, 11, 4, 12, 3), self.bed.paths(SENDER, RECEIVER))
        self.assertEqual(set(probe(self.sender, self.receiver.node.addrs * 8)[0].values()), {8})
        self.faults.clear(number)
        self.assertEqual((self.bed.down_links, self.bed.faulty_links),
                         {(9, 18)} and ({(9, 18)}, set()))
        self.bed.link_up(9, 18)

    def check_loop(self, circle, flows=40):
        """each packet that comes to the circle goes round until a switch would write a third tag,
        which gives it to the controller"""
        number, last = self.faults.add("loop", ",".join(map(str, circle)), RECEIVER), circle[1]
        before = self.counted(last, "CONTROLLER")
        received = self.flood(1, flows)
        trapped = received[1, circle[0]]
        self.assertGreater(trapped, 0)
        for link in zip(circle[1:], circle[2:]):
            self.assertEqual(received[link], trapped, link)
        wait_for(lambda: self.counted(last, "CONTROLLER") - before
                 >= trapped, f"{trapped} packets at the controller")
        self.assertEqual(self.counted(last, "CONTROLLER") - before, trapped)
        self.assertEqual(received.get((1, 10), 0), flows - trapped)
        self.assertEqual(probe(self.sender, ["10.2.1.3"] * 8)[0], {"10.2.1.3": 8},
                         "other hosts of the rack are well")
        self.faults.clear(number)

    def test_loop_of_4_hops(self):
        self.check_loop((9, 17, 11, 18))

    def test_loop_of_6_hops(self):
        self.check_loop((9, 17, 11, 18, 13, 17))

    def test_size_hash(self):
        self.faults.add("size-hash", 1, 9)
        account, ports = Account(self.bed), {}
        for address in self.receiver.node.addrs:
            for port in (traffic.PORT, traffic.LARGE_PORT):
                sender = traffic.Sender(self.sender, address, 8, port)
                ports.update(dict.fromkeys(sender.send(3000), port))
                sender.close()
        taken = {(flow[3], b) for flow, links in account.stop().items() if flow[2] in ports
                 and flow[1] in self.receiver.node.addrs
                 for a, b in links if a == 1}
        self.assertEqual(taken, {(traffic.LARGE_PORT, 9), (traffic.PORT, 10)})

    def test_spray(self):
        """the packets of one flow are on all four paths"""
        self.faults.add("spray", "all")
        received = self.flood(2000, 1)
        for link in ((9, 17), (9, 18), (10, 19), (10, 20)):
            self.assert_even(received[link], 2000, 0.25, link)

    def assert_even(self, got, of, share, what):
        """1024 addresses are hashed onto the paths, and packets choose their address at random"""
        sigma = of * math.sqrt(share * (1 - share) * (1 / of + 1 / 1024))
        self.assertLessEqual(abs(got - of * share), SIGMAS * sigma, f"{what}: {got} of {of}")

    def test_unequal_spraying(self):
        self.faults.add("spray", "1,9,10", "9=3")
        received = self.flood(2000, 1)
        self.assert_even(received[1, 9], 2000, 0.75, "3 of 4 by switch 9")
        self.assert_even(received[9, 17], received[1, 9], 0.5, "evenly after that")

    def test_rate_limit(self):
        """a queue that is full drops what comes: at most 4000 datagrams of 142 bytes in a second,
        and much more than 0.2 Mb/s on any machine"""
        self.faults.add("rate-limit", 3, RECEIVER, 0.2)
        namespace, name = self.bed.end_of(3, RECEIVER)
        self.flood(1500, 1)
        shown = subprocess.run(["nsenter", f"--net={namespace}", "tc", "-s", "-j", "qdisc", "show",
                                "dev", name], stdout=subprocess.PIPE, check=True).stdout
        queue = next(q for q in json.loads(shown) if q["kind"] == "tbf")
        self.assertGreater(queue["drops"], 100)
        self.assertGreater(queue["packets"], 20)

    def test_wrong_tag(self):
        """what arrives at 11 from 17 bears the tag of another link, where it came to 17 from 9"""
        self.faults.add("wrong-tag", 9, 17, 12)
        rewrites = "dl_vlan=9 actions=set_field:4108->vlan_vid"
        received = self.flood(1, 40)
        wait_for(lambda: self.counted(17, rewrites)
                 >= received[9, 17], "the count of the tags that were written")
        self.assertEqual(self.counted(17, rewrites), received[9, 17])
        self.assertEqual(received[17, 11], received[9, 17])

    def test_what_cannot_be(self):
        for words, text in (
            (("loss", 9, 3, 0.1), "no link 9-3"), (("loss", 9, 17, 2), "from 0 to 1"),
            (("loss", 9), "loss A B RATE"), (("rain",), "no fault rain"),
            (("loop", "9,17,11", 25), "no link 11-9"), (("wrong-tag", 9, 17, 9), "the right tag"),
            (("loss", "a", "b", 1), "loss A B RATE"),
            (("spray", "all", "99=2"), "no neighbour 99"), (("loss", 9, 17, "nan"), "from 0 to 1"),
            (("loop", "1,9,2,10", "nobody"), "no host nobody")):
            with self.assertRaisesRegex((RuntimeError, KeyError), text):
                self.faults.add(*words)
        self.assertEqual(self.faults.list(), {})

    def test_command(self):
        """another process puts faults on and takes them back; they are in the bed's state"""
        def bed(*words):
            done = subprocess.run([sys.executable, COMMAND, "fault", "--name", self.bed.name, *map(
                str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            return done.returncode, done.stdout
        number = self.faults.next
        self.assertEqual(bed("add", "blackhole", 9, 17), (0, f"fault {number} is on\n"))
        self.assertEqual(bed("add", "spray", "all")[0], 0)
        self.assertRegex(bed("list")[1], r"blackhole: all packets from 9 to 17 are lost\n.*spray: ")
        self.assertEqual(bed("clear", "x"), (1, "bed: no fault x\n"))
        self.assertNotIn((9, 17), self.flood(100, 1))
        self.assertEqual(bed("clear", number), (0, ""))
        self.assertIn((9, 17), self.flood(100, 1))
        self.assertEqual(bed("clear"), (0, ""))
        self.assertEqual(bed("list"), (0, ""))
        self.assertIn("a fraction of the packets", bed("add")[1])


if __name__ == "__main__":
    scenario.main()
