# SPDX-License-Identifier: Apache-2.0
"""Applications on the test bed: with a fault they name it, without one they name nothing. One bed with an agent on every host for all of them;
loops, long paths and changed packets are in test_paths.py."""
import subprocess
import sys
import unittest

import scenario                                 # makes the modules of the bed importable
import background
import traffic
from agent import start_all
from background import Background
from switches import wait_for

RECEIVER = 25
LINK_MBPS = 1000                                # what silent-drops is told
WAIT_S = 60                                     # verdicts take seconds; a busy machine gets time
ACCESS_MBPS, PRESS_S = 8, 8


class Apps(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bed = scenario.bed("apps", tagged=all, controller=True)
        cls.enterClassContext(cls.bed)
        start_all(cls.bed)

    def setUp(self):
        self.addCleanup(self.bed.faults.clear)

    def wait_report(self, name, condition, **arguments):
        """the first report of an application that is as wanted; the last one when none is"""
        last = []

        def wanted():
            last[:] = [self.bed.controller.app(name, **arguments)]
            return condition(last[0])
        try:
            wait_for(wanted, f"the verdict of {name}", WAIT_S)
        except TimeoutError as error:
            self.fail(f"{error}: {last[0]['verdict']} {last[0]['links']} {last[0]['switches']} {last[0]['evidence']} {last[0]['lacks']}")
        return last[0]

    def test_1_silent_drops(self):
        """first without a fault, then with one; numbered, since it is the only one that has to come before all loss"""
        with Background(self.bed.hosts.values()):
            report = self.wait_report("silent-drops", lambda report: report["results"]["observations"][0]["flows"] > 100, link_mbps=LINK_MBPS)
            self.assertEqual((report["links"], report["certain"]), ([], False), report)
            self.bed.faults.add("loss", 9, 17, 0.2)
            report = self.wait_report("silent-drops", lambda report: report["links"] == ["9-17"], link_mbps=LINK_MBPS)
            self.assertTrue(report["evidence"], report)

    def test_2_incast(self):
        """fifteen senders to one receiver with a slow access link behind a short queue"""
        receiver = self.bed.host(RECEIVER)
        report = self.bed.controller.app("incast", link_mbps=ACCESS_MBPS)
        self.assertEqual((report["links"], report["certain"]), ([], False), report)
        self.bed.faults.add("rate-limit", receiver.rack, RECEIVER, ACCESS_MBPS)
        server = traffic.Server(receiver)
        senders = [host.popen([sys.executable, background.__file__, "press", receiver.ipv4, traffic.PORT, PRESS_S], stdout=subprocess.DEVNULL)
                   for host in self.bed.hosts.values() if host is not receiver]
        report = self.wait_report("incast", lambda report: report["links"] == [f"{receiver.rack}-{RECEIVER}"], link_mbps=ACCESS_MBPS)
        self.assertIn("3", report["results"]["tree"])
        for process in senders:
            process.kill()
            process.wait()
        server.close()


if __name__ == "__main__":
    scenario.main()
