#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page on a network that is folded: pods are boxes, what is in them is told beside, a box opens
by a click, and hosts are not asked for one by one."""
import json
import os
import subprocess
import tempfile
import unittest

from browser import Page
import world                                    # noqa: F401  (makes the next one importable)
from programs import free_port, program

K, LINKS, HOSTS = 8, 512, 128
SCENARIO = {"topology": {"fat_tree": K}, "link_mbps": 100, "load": 0.05, "duration_s": 600,
            "flow_sizes": "web-search"}
WITHIN = "3-36"                 # a link inside of pod 1
UP = "33-65"                    # one from pod 1 to the top
WAIT_S = 30


class LargeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="pathdump-large-")
        cls.addClassCleanup(folder.cleanup)
        scenario = os.path.join(folder.name, "s.json")
        with open(scenario, "w", encoding="utf-8") as out:
            json.dump(SCENARIO, out)
        cls.url = f"http://127.0.0.1:{free_port()}"
        process = subprocess.Popen([program("pathdump"), "simulate", scenario, "--seed", "7",
                                    "--serve", cls.url.removeprefix("http://")],
                                   stdout=subprocess.PIPE, text=True)
        cls.addClassCleanup(cls.end, process)
        process.stdout.readline()       # it says where it serves
        cls.page = Page(cls.url)
        cls.addClassCleanup(cls.page.__exit__)

    @staticmethod
    def end(process):
        process.kill()
        process.communicate()

    def tearDown(self):
        self.assertEqual(self.page.complaints(), [])

    def test_folded(self):
        """boxes first; a click on one draws its switches and links, and what is folded is said"""
        self.page.open("#view=fabric&metric=load_bps")
        self.page.until(lambda: f"{LINKS} directed links in" in self.page.text(), "what is folded")
        self.assertTrue(self.page.locate(WITHIN)["bundle"])
        self.assertTrue(self.page.locate(UP)["bundle"])
        self.page.until(lambda: any(self.page.links().values()), "load", WAIT_S)
        box = self.page.locate(WITHIN)
        self.page.click_at(box["x"], box["y"])
        self.page.until(lambda: "open=pod1" in self.page.js("return location.hash"), "an open pod")
        self.page.until(lambda: not self.page.locate(WITHIN)["bundle"], "the link by itself")
        self.page.click_link(WITHIN)
        self.page.until(lambda: self.page.rows("link-panel"), "the panel of the link")
        self.assertEqual(self.page.rows("link-panel")[0]["link"], WITHIN)

    def test_hosts(self):
        """all are counted, none is asked for but those that are missing"""
        with Page(self.url) as page:
            page.open("#view=fabric&metric=load_bps&open=pod1")
            page.until(lambda: f"{HOSTS}/{HOSTS} hosts" in page.text().replace("\n", ""), "hosts")
            asked = [url for url, _ in page.asked() if "/v1/hosts" in url]
            self.assertEqual(asked, [f"{self.url}/v1/hosts?state=missing"])

    def test_matrix(self):
        """a square for each link, also when the page begins with them"""
        self.page.open("#view=matrix&metric=load_bps")
        places = {(round(at["x"]), round(at["y"])) for at in map(self.page.locate, (WITHIN, UP))}
        self.assertEqual(len(places), 2)
        self.page.until(lambda: any(self.page.links().values()), "load", WAIT_S)
        self.page.click_link(UP)
        self.page.until(lambda: self.page.rows("link-panel"), "the panel of the link")
        self.assertEqual(self.page.rows("link-panel")[0]["link"], UP)


if __name__ == "__main__":
    unittest.main(verbosity=2)
