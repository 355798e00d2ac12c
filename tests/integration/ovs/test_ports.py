#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ports of each kind that the switch has without hardware, and what they hand on: packets without
tags, as long as they are told to."""
from case import DETOUR, PATHS, SwitchTest, heard, main
from capture import QINQ, ethernet, packet      # found by the line above

SRC, DST = "10.1.1.2", "10.2.1.2"


class TestPorts(SwitchTest):
    def send(self, end, tags, port=4000, count=1, outer=QINQ, **options):
        ip = packet(SRC, DST, port, 80, b"x" * 72, **options)
        for _ in range(count):
            end.send(ethernet(ip, tags, outer))
        return ip

    def check_kind(self, end):
        """what comes in at a port that counts: one tag, two tags, none"""
        agent, plain = self.agent(), self.tap("plain")
        heard(plain)
        for number, tags in enumerate((self.tags(PATHS[0]), self.tags(DETOUR), [])):
            ip = self.send(end, tags, 4000 + number, 5)
            self.assertEqual([raw for raw in heard(plain, 5) if ip in raw], [ethernet(ip)] * 5)
        self.wait_count(agent, 15)
        rows = [(row[2], tuple(row[5]), row[6], row[7])
                for row in self.counts(agent.get("/v1/getFlows?live=true"))]
        self.assertEqual(rows[:2], [(4000, PATHS[0], 5, 500), (4001, DETOUR, 5, 500)])
        self.assertEqual(self.switch.show("frames ok"), 15)
        ip = self.send(plain, self.tags(PATHS[0]))
        self.assertIn(ethernet(ip, self.tags(PATHS[0]), QINQ), heard(end, 1))
        self.assertEqual(self.switch.show("frames ok"), 15, "a port that was not asked to counts")

    def test_tap(self):
        self.start_switch()
        self.check_kind(self.tap("counted", "true"))

    def test_system(self):
        self.start_switch()
        self.check_kind(self.veth("counted"))

    def test_without_dpdk(self):
        """a switch that has never heard of DPDK"""
        self.start_switch(**{"dpdk-init": "false"})
        self.check_kind(self.veth("counted"))

    def test_off_and_on(self):
        """trajectory=false takes effect at once, and leaves what was counted; the same for the
        DSCP"""
        self.start_switch()
        agent, end, plain, tags = self.agent(), self.veth("counted"), self.tap("plain"), self.tags(
            PATHS[0])
        settings = (("true", "false", 5), ("false", "false", 5), ("true", "true", 10),
                    ("false", "true", 10), ("true", "false", 15))
        heard(plain)
        for trajectory, dscp, counted in settings:
            self.switch.vsctl("set", "interface", "counted",
                              f"other_config:trajectory={trajectory}",
                              f"other_config:trajectory-dscp={dscp}")
            self.send(end, tags, count=5, dscp=9)
            keeps = 0 if trajectory == dscp == "true" else 9
            left = ethernet(packet(SRC, DST, 4000, 80, b"x" * 72, dscp=keeps),
                            [] if trajectory == "true" else tags, QINQ)
            self.assertEqual([raw for raw in heard(plain, 5) if len(raw) >= 100], [left] * 5,
                             (trajectory, dscp))
            self.assertEqual(self.switch.show("packets counted in a record"), counted)
        self.wait_count(agent, 15)

    def test_removed(self):
        """a port that is removed and comes again without the setting does not count"""
        self.start_switch()
        agent, end, plain, tags = self.agent(), self.veth("counted"), self.tap("plain"), self.tags(
            PATHS[0])
        for words, counted in (
            ((), 5), (("del-port", "counted", "--", "add-port", "br0", "counted"), 5),
            (("set", "interface", "counted", "other_config:trajectory=true"), 10)):
            if words:
                self.switch.vsctl(*words)
            self.send(end, tags, count=5)
            self.assertEqual(len(heard(plain, 5)), 5)
            self.assertEqual(self.switch.show("packets counted in a record"), counted, words)
        self.wait_count(agent, 10)


if __name__ == "__main__":
    main()
