# SPDX-License-Identifier: Apache-2.0
"""Applications on the test bed: with a fault they name it, without one they name nothing. One bed
with an agent on every host for all of them; loops, long paths and changed packets are in
test_paths.py."""
import subprocess
import sys
import time
import unittest

import scenario                                 # makes the modules of the bed importable
import background
import traffic
from agent import start_all
from background import Background, carried
from commands import wait_for

SENDER, RECEIVER = 21, 25
LINK_MBPS = 1000                                # what silent-drops is told
WAIT_S = 60                                     # verdicts take seconds; a busy machine gets time
ACCESS_MBPS, PRESS_S = 8, 8
SPRAYED_BYTES, MORE_BYTES, SPRAYED_MBIT, FLOWS = 100_000, 1_000_000, 4, 6
BLACKHOLES = {(9, 17): {9, 11, 17}, (1, 9): {1, 3, 9, 11}}      # paper 000, section 4.4
# 31 flows that a coin sends where the first one is: no chance
CONNECTIONS, LARGE_BYTES, SMALL_BYTES = 32, 30_000, 2_000


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
            self.fail(f"{error}: {last[0]['verdict']} {last[0]['links']} {last[0]['switches']} "
                      f"{last[0]['evidence']} {last[0]['lacks']}")
        return last[0]

    def test_1_silent_drops(self):
        """first without a fault, then with one; numbered, since it is the only one that has to come
        before all loss"""
        with Background(self.bed.hosts.values()):
            wait_for(lambda: carried(self.bed).get("done", 0) > 100, "traffic")
            report = self.bed.controller.app("silent-drops", link_mbps=LINK_MBPS)
            self.assertEqual((report["links"], report["certain"]), ([], False), report)
            self.bed.faults.add("loss", 9, 17, 0.2)
            report = self.wait_report("silent-drops", lambda report: report["links"]
                                      == ["9-17"], link_mbps=LINK_MBPS)
            self.assertTrue(report["evidence"], report)

    def test_2_incast(self):
        """fifteen senders to one receiver with a slow access link behind a short queue"""
        receiver = self.bed.host(RECEIVER)
        report = self.bed.controller.app("incast", link_mbps=ACCESS_MBPS)
        self.assertEqual((report["links"], report["certain"]), ([], False), report)
        self.bed.faults.add("rate-limit", receiver.rack, RECEIVER, ACCESS_MBPS)
        server = traffic.Server(receiver)
        senders = [host.popen([sys.executable, background.__file__, "press", receiver.ipv4,
                               traffic.PORT, PRESS_S], stdout=subprocess.DEVNULL)
                   for host in self.bed.hosts.values() if host is not receiver]
        report = self.wait_report("incast", lambda report: report["links"]
                                  == [f"{receiver.rack}-{RECEIVER}"], link_mbps=ACCESS_MBPS)
        self.assertIn("3", report["results"]["tree"])
        for process in senders:
            process.kill()
            process.wait()
        server.close()

    def sprayed(self):
        """a connection from one rack to another, and what tells blackhole that flow"""
        receiver = self.bed.host(RECEIVER)
        sender = traffic.Sender(self.bed.host(SENDER), receiver.ipv4, rate_mbit=SPRAYED_MBIT)
        self.addCleanup(lambda: (sender.process.kill(), sender.process.communicate()))
        port = sender.send(1)[0]
        return sender, {"src_ip": self.bed.host(SENDER).ipv4, "dst_ip": receiver.ipv4,
                        "src_port": port, "dst_port": traffic.PORT}

    def test_3_blackhole(self):
        """packets of one flow go all ways; which of them lead into a link that swallows all? More
        is sent than the paper's 100 KB, so that evidence does not end by chance before it
        suffices"""
        self.bed.faults.add("spray", "all")
        server = traffic.Server(self.bed.host(RECEIVER))
        self.addCleanup(server.close)
        sender, flow = self.sprayed()
        # a path that is quiet by chance when a transfer ends is not after the next one
        self.wait_report("blackhole", lambda report: sender.send(SPRAYED_BYTES) and not report[
            "switches"] and "missing_paths" not in report.get("results", {}), **flow)
        for link, suspects in BLACKHOLES.items():
            with self.subTest(link=link):
                self.check_blackhole(link, suspects)

    def check_blackhole(self, link, suspects):
        """several flows, since TCP may wait for long when one loses half of its packets; each is
        looked at alone"""
        senders, flows = zip(*(self.sprayed() for _ in range(FLOWS)))
        number, reports = self.bed.faults.add("blackhole", *link), []
        for sender in senders:
            sender.start(MORE_BYTES)

        def found():
            reports[:] = [self.bed.controller.app("blackhole", **flow) for flow in flows]
            return any(set(report["switches"]) == suspects for report in reports)
        wait_for(found, f"{len(suspects)} suspects", WAIT_S)
        report = next(report for report in reports if set(report["switches"]) == suspects)
        self.assertEqual((report["links"], report["certain"]), ([], False), report)
        self.assertIn("-".join(map(str, link)),
                      {row["link"] for row in report["results"]["suspects"]})
        self.bed.faults.clear(number)
        for sender in senders:
            sender.process.kill()

    def imbalance(self, links):
        """waits until load-imbalance has seen large and small flows from one rack to another, and
        names these links"""
        since, receiver = time.time(), self.bed.host(RECEIVER)
        for port, size in ((traffic.PORT, SMALL_BYTES), (traffic.LARGE_PORT, LARGE_BYTES)):
            server = traffic.Server(receiver, port)
            sender = traffic.Sender(self.bed.host(SENDER), receiver.ipv4, CONNECTIONS, port)
            sender.send(size)
            sender.close()
            server.close()
        return self.wait_report("load-imbalance", lambda report: sum(
            row["flows"] for row in report.get("results", {}).get("links", [])) >= 2 * CONNECTIONS
                                and report["links"] == links, switch=1, **{"from": since})

    def test_4_load_imbalance(self):
        self.assertFalse(self.imbalance([])["certain"])
        self.bed.faults.add("size-hash", 1, 9)
        self.assertTrue(self.imbalance(["1-9"])["certain"])


if __name__ == "__main__":
    scenario.main()
