#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page on a real test bed with a fault: the link that loses packets turns red, the verdict
names it, a flow's two paths are drawn."""
import os
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../integration/testbed"))
# noqa: E402  (makes the modules of the bed importable)
import scenario
import traffic                                  # noqa: E402
from agent import start_all                     # noqa: E402
from background import Background, carried      # noqa: E402
from browser import Page                        # noqa: E402
from commands import wait_for                   # noqa: E402

LINK_MBPS = 1000
LOSSY = (9, 17)
WAIT_S = 90
SENDER, RECEIVER = 21, 25


class BedTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bed = scenario.bed("page", tagged=all, controller=True)
        cls.enterClassContext(cls.bed)
        start_all(cls.bed)
        cls.url = cls.bed.controller.door()

    def setUp(self):
        self.page = self.enterContext(Page(self.url))

    def tearDown(self):
        self.assertEqual(self.page.complaints(), [])

    def test_1_load(self):
        """traffic shows: sixteen hosts, and each link of the fabric carries something"""
        with Background(self.bed.hosts.values()):
            wait_for(lambda: carried(self.bed).get("done", 0) > 50, "traffic")
            self.page.open("#view=fabric&metric=load_bps")
            self.page.until(lambda: sum(value > 0 for value in self.page.links().values())
                            == 64, "load on all links", 30)
            self.assertEqual(self.page.rows("host-missing"), [])
            self.assertIn("16/16", self.page.text().replace("\n", ""))

    def test_2_loss(self):
        self.bed.controller.ask("watches", {"app": "silent-drops", "period_s": 2,
                                            "args": {"link_mbps": LINK_MBPS}})
        name = "-".join(map(str, LOSSY))
        with Background(self.bed.hosts.values()):
            self.page.open("#view=fabric&metric=load_bps")
            self.bed.faults.add("loss", *LOSSY, 0.2)
            self.page.until(lambda: "suspect" in (self.page.js(
                "return document.querySelector(`tr[data-link=\"${arguments[0]}\"]`)?.textContent",
                name) or ""),
                            f"{name} as a suspect", WAIT_S)
            at = self.page.locate(name)
            red = self.page.js("""const c = document.querySelector('.picture canvas');
                const b = c.getBoundingClientRect();
                const data = c.getContext('2d').getImageData(arguments[0] - b.left - 2,
                    arguments[1] - b.top - 2, 5, 5).data;
                return [...Array(25).keys()].filter(n => data[4 * n] > 200 && data[4 * n + 1] < 150
                    && data[4 * n + 2] < 120).length""", at["x"], at["y"])
            self.assertGreater(red, 3)
            self.page.turn(f"#view=link&link={name}")
            self.page.until(lambda: [row for row in self.page.rows("verdict")
                                     if name in row["links"].split(",")], "the verdict at the link")
            self.page.turn("#view=verdicts")
            self.page.until(lambda: [row for row in self.page.rows("verdict") if row[
                "app"] == "silent-drops" and name in row["links"].split(",")], "the verdict")
        self.bed.faults.clear()

    def test_3_flow(self):
        """a connection whose path changes: both paths, and when"""
        sender, receiver = self.bed.host(SENDER), self.bed.host(RECEIVER)
        server = traffic.Server(receiver)
        self.addCleanup(server.close)
        connection = traffic.Sender(sender, receiver.ipv4, 1)
        connection.send(100_000)
        args = {"src_ip": sender.ipv4, "dst_ip": receiver.ipv4, "dst_port": traffic.PORT,
                "protocol": 6, "live": True}
        ask = {"hosts": "all", "query": "getFlows", "args": args}
        flow = max(self.bed.controller.ask("execute", ask)["flows"], key=lambda row: row["bytes"])
        args["src_port"] = flow["flow_id"]["src_port"]
        a, b = flow["path"][-2:]
        self.bed.link_down(a, b)
        self.addCleanup(self.bed.link_up, a, b)
        time.sleep(.2)
        connection.send(100_000)
        connection.close()
        self.page.open(
            f"#view=flow&flow={sender.ipv4},,{flow['flow_id']['src_port']},{traffic.PORT},6")
        wanted = {",".join(map(str, row["path"]))
                  for row in self.bed.controller.ask("execute", ask)["flows"]}
        self.assertEqual(len(wanted), 2, wanted)
        self.page.until(lambda: {row["path"] for row in self.page.rows("flow-path")}
                        == wanted, "both paths")
        self.assertEqual(self.page.js("return document.querySelectorAll('.timeline rect').length"),
                         2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
