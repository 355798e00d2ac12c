# SPDX-License-Identifier: Apache-2.0
"""pathdump-controller and the switches of a test bed: it does the tagging, and what it does is what
the codec prints. What packets meet there is seen in
tests/integration/testbed/test_end_to_end.py."""
import os
import re
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "testbed")]

import scenario                                 # noqa: E402  (found by the line above)
from commands import run_all, wait_for          # noqa: E402
from fabrics.ovs import bridge                  # noqa: E402
from test_switches import COOKIE, STRANGER, plain   # noqa: E402

PATIENCE_S = 60


class Program(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bed = scenario.bed("program", controller=True)
        cls.enterClassContext(cls.bed)
        cls.controller = cls.bed.controller
        cls.first = cls.controller.counters()

    @classmethod
    def ofctl(cls, switch, command, *words, text=None):
        site = cls.bed.site[switch]
        return run_all([(site.control("-O", "OpenFlow13", command, bridge(switch), *words),
                         site.env, text)])[0]

    def table0(self, cookies=False):
        """{switch: its tagging table}"""
        return {i: plain(self.ofctl(i, "dump-flows", "table=0"), cookies) for i in self.bed.site}

    def restarted(self):
        """the same switches, and a controller that has just started"""
        self.controller.stop()
        self.controller.start().ready()
        self.bed.fabric.meet_controller()
        self.controller.wait_installed()

    def test_rules_are_those_that_the_codec_prints(self):
        """all of them, and nothing else; after a restart all switches come at once and nothing is
        changed"""
        installed, counters = self.table0(cookies=True), self.first
        self.assertTrue(all(f"cookie={COOKIE}, " in line for lines in installed.values()
                            for line in lines))
        self.assertEqual(counters["repairs"], len(self.bed.site))
        self.assertEqual(counters["flows_changed"], sum(map(len, installed.values())))
        status = self.controller.switches()
        self.assertEqual({i: s["rules"] for i, s in status.items()},
                         {i: len(lines) for i, lines in installed.items()})
        self.assertTrue(all(s["state"] == "installed" and s["last_change_us"] and s["name"]
                            for s in status.values()))
        self.restarted()
        counters = self.controller.counters()
        self.assertEqual((counters["connected"], counters["checks"], counters["flows_changed"]),
                         (len(self.bed.site), len(self.bed.site), 0))
        self.assertEqual(self.table0(cookies=True), installed)
        metrics = self.controller.raw("/metrics").stdout
        self.assertIn(f'\npathdump_switches{{state="installed"}} {len(self.bed.site)}\n', metrics)
        self.assertIn("\npathdump_openflow_flows_changed_total 0\n", metrics)
        by_program = self.table0()
        # the same by the way that a bed without a controller takes
        for i in self.bed.site:
            rules = run_all([([self.bed.program_path("pathdump"), "codec", "rules", "--topology",
                               self.bed.topology, "--switch", str(i)], None, None)])[0]
            self.ofctl(i, "del-flows", "table=0")
            self.ofctl(i, "add-flows", "-", text=rules)
        self.assertEqual(self.table0(), by_program)
        # which are the flows of somebody else now, do the same, and stay
        self.restarted()
        self.assertEqual(self.table0(), by_program)

    def test_dry_run(self):
        """says which flows it would add, replace and delete, changes none, and ends; a switch that
        does not come is named"""
        self.controller.stop()
        rules = [line for line in self.table0()[9] if "push_vlan" in line]
        removed, changed = (re.search(r"priority=\d+,\S+", line)[0] for line in rules[:2])
        self.ofctl(9, "del-flows", "--strict", f"table=0,{removed}")
        self.ofctl(9, "mod-flows", "--strict", f"table=0,{changed},actions=drop")
        self.ofctl(9, "add-flow", f"cookie={COOKIE},table=0,priority=7,tcp,tp_dst=80,actions=drop")
        before = self.table0(cookies=True)
        process = subprocess.Popen(self.controller.command("--dry-run", "--dry-run-wait", "20s"),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_for(lambda: os.path.exists(self.controller.openflow), "the endpoint of the dry "
                 "run", PATIENCE_S)
        self.bed.fabric.meet_controller()
        said, complaints = process.communicate(timeout=PATIENCE_S)
        self.assertEqual((process.returncode, complaints), (0, ""), said)
        lines = said.splitlines()
        self.assertEqual(sorted(line.split()[3] for line in lines[:-1]),
                         ["add", "delete", "replace"])
        self.assertTrue(all(line.startswith("switch 9 (agg-1-1): ") for line in lines[:-1]), said)
        self.assertEqual(lines[-1], "3 flows would change on 1 of 20 switches; 0 did not connect, "
                         "0 were not compared in time; nothing was changed")
        self.assertEqual(self.table0(cookies=True), before)
        alone = subprocess.run(self.controller.command("--dry-run", "--dry-run-wait", "0"),
                               stdout=subprocess.PIPE, text=True)
        self.assertEqual(alone.returncode, 0)
        self.assertIn("switch 1 (tor-1-1): did not connect", alone.stdout)
        self.controller.start().ready()
        self.bed.fabric.meet_controller()
        self.controller.wait_installed()        # and the real one does what the dry one has said
        self.assertEqual(self.controller.counters()["flows_changed"], 3)

    def test_switch_that_the_topology_does_not_know(self):
        """gets nothing, and raises an alarm"""
        site, name = self.bed.site[1], "stranger"
        vsctl = ["ovs-vsctl", "--timeout=20", f"--db={site.db}"]
        before = self.controller.counters()["unknown_switches"]
        run_all([([*vsctl, "--", "add-br", name, "--", "set", "bridge", name,
                   "datapath_type=netdev", "fail_mode=secure", "protocols=OpenFlow13",
                   f"other_config:datapath-id={STRANGER:016x}", "--", "set-controller", name,
                   f"unix:{self.bed.fabric.link(site)}"], site.env, None)])
        try:
            wait_for(lambda: self.controller.counters()["unknown_switches"]
                     > before, "the stranger", PATIENCE_S)
            self.assertEqual(plain(run_all([(site.control("-O", "OpenFlow13", "dump-flows", name),
                                             site.env, None)])[0]), [])
        finally:
            run_all([([*vsctl, "del-br", name], site.env, None)])
        wait_for(lambda: self.controller.ask("alarms?reason=SWITCH_UNKNOWN")[
            "alarms"], "the alarm", PATIENCE_S)
        (alarm,) = self.controller.ask("alarms?reason=SWITCH_UNKNOWN")["alarms"]
        self.assertEqual((alarm["flow_id"], alarm["paths"]), (None, []))
        self.assertRegex(alarm["detail"], rf"\b{STRANGER}\b")


if __name__ == "__main__":
    scenario.main()
