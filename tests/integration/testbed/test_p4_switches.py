# SPDX-License-Identifier: Apache-2.0
"""The fabric p4: compiled programs on pathdump-switch forward real TCP, tag, punt and fail, and
agents tell the paths of it to the packet."""
import subprocess
import sys
import time
import unittest

import scenario                                 # makes the modules of the bed importable
from agent import by_flow
from commands import wait_for
from scenario import probe, true_paths, unreachable
from switches import PROBES, RECEIVER, SENDER, SHOOT, UNKNOWN_TAG, SwitchesTest
import capture                                  # found by the line above

SEND_RAW = """
import socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind(("eth0", 0))
for frame in sys.argv[1:]:
    s.send(bytes.fromhex(frame))
"""


class P4Switches(SwitchesTest):
    name = fabric = "p4"

    def test_every_host_reaches_every_host(self):
        """also those without an agent, which take tags off themselves"""
        self.assertEqual(unreachable(self.bed), [])

    def test_agent_tells_the_paths(self):
        """of four hops, and of a detour of six: to the packet and the byte what was on the wires; a
        link that was down comes up again"""
        for detour in [], [(11, 3)], []:
            for link in detour:
                self.bed.faults.add("link-down", *link)
            self.tells_the_paths(bool(detour))
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


class Told(unittest.TestCase):
    """a controller keeps the tables of compiled programs, and takes what they punt"""

    def setUp(self):
        self.bed = scenario.bed("p4-told", fabric="p4", tagged={RECEIVER}, controller=True)
        self.enterContext(self.bed)
        self.table = self.bed.fabric.names.table("rows")

    def state(self, switch):
        return self.bed.controller.switches()[switch]

    def rows(self, switch):
        return sorted(self.bed.fabric.ask(f"switches/{switch}/tables/{self.table}")["rows"])

    def test_tables_come_back(self):
        for switch in self.bed.controller.switches().values():
            self.assertEqual((switch["provider"], switch["state"], switch["edge"]),
                             ("p4", "installed", "held"))
        rows = self.rows(17)
        self.assertGreater(len(rows), 0)
        for left in (rows[1:], []):
            self.bed.fabric.ask(f"switches/17/tables/{self.table}", {"rows": left})
            wait_for(lambda: self.rows(17) == rows, "the rows")
        wait_for(lambda: self.state(17)["state"] == "installed", "a good state")

    def test_packets_come_in(self):
        """of a loop, each that is punted; then the switches are gone"""
        self.assertEqual(self.state(1)["packet_ins"], 0)
        self.bed.faults.add("loop", "1,9,2,10", RECEIVER)
        self.bed.host(SENDER).run([sys.executable, "-c", SHOOT, self.bed.host(RECEIVER).ipv4,
                                   "5001", "3"], check=True)
        wait_for(lambda: sum(one["packet_ins"] for one in
                             self.bed.controller.switches().values()) >= 3, "the packets")
        self.bed.fabric.process.terminate()
        wait_for(lambda: self.state(1)["state"] == "away", "a switch that is away")


if __name__ == "__main__":
    scenario.main()
