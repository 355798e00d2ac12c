# SPDX-License-Identifier: Apache-2.0
"""Applications about paths, each with its fault and without one: loop, path-conformance,
wrong-modification. One bed for all of them."""
import sys
import threading
import unittest

import scenario                                 # makes the modules of the bed importable
from agent import start_all
from commands import wait_for

SENDER, RECEIVER = 21, 25                       # of different pods: four equal paths, over 9 or 10
# of one pod that nothing else is sent from or to: over 13 or 14
INSIDE = 29, 31
PATIENCE_S = 60
# flows of a round: that one of four paths has none happens once in 10^8 rounds
NUMBER = 64
SEND = """import socket, sys
for port in range(int(sys.argv[2]), int(sys.argv[3])):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("", port))
    s.sendto(b"on its way", (sys.argv[1], 9))
"""


class Paths(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bed = scenario.bed("paths", tagged={SENDER, RECEIVER, *INSIDE}, controller=True)
        cls.enterClassContext(cls.bed)
        start_all(cls.bed)
        cls.bed.controller.wait_installed()
        cls.port = 20000

    def setUp(self):
        self.addCleanup(self.bed.faults.clear)

    def run_app(self, name, **args):
        return self.bed.controller.ask(f"apps/{name}", args)

    def send(self, sender=SENDER, receiver=RECEIVER):
        """one datagram for each of NUMBER new flows; returns their source ports"""
        ports = range(self.port, self.port + NUMBER)
        type(self).port += NUMBER
        words = [sys.executable, "-c", SEND, self.bed.host(receiver).ipv4, ports.start, ports.stop]
        self.bed.host(sender).run(words, check=True)
        return ports

    def records(self, receiver=RECEIVER):
        """{source port: path} of what arrived there"""
        answer = self.bed.controller.ask("execute", {"query": "getFlows", "hosts": "all", "args": {
            "live": True, "dst_ip": self.bed.host(receiver).ipv4}})
        return {row["flow_id"]["src_port"]: row["path"] for row in answer["flows"]
                if row["flow_id"]["protocol"] == 17}

    def wait_arrived(self, ports, receiver=RECEIVER):
        wait_for(lambda: set(ports)
                 <= set(self.records(receiver)), "records of what was sent", PATIENCE_S)

    def check_loop(self, circle):
        """alarm and report of a loop; the switches stand in its order, from the smallest one on"""
        before = len(self.bed.controller.ask("alarms?reason=APP_LOOP")["alarms"])
        self.bed.faults.add("loop", ",".join(map(str, circle)), RECEIVER)
        self.send()
        wait_for(lambda: len(self.bed.controller.ask("alarms?reason=APP_LOOP")["alarms"])
                 > before, "the alarm", PATIENCE_S)
        alarm = self.bed.controller.ask("alarms?reason=APP_LOOP")["alarms"][-1]
        words = f"a routing loop of {len(circle)} hops: switches {', '.join(map(str, circle))}"
        self.assertIn(words, alarm["detail"])
        report = self.run_app("loop")
        self.assertIn(", ".join(map(str, circle)),
                      [row["switches"] for row in report["results"]["loops"]])
        self.assertLessEqual({f"{a}-{b}" for a, b in zip(circle, circle[1:] + circle[:1])},
                             set(report["links"]))
        self.assertTrue(report["certain"])
        self.assertTrue(all(flow["flow_id"]["dst_ip"] == self.bed.host(RECEIVER).ipv4
                            for flow in report["flows"]))
        self.bed.faults.clear()

    def test_1_nothing_is_wrong(self):
        """the first one, since reports look back"""
        self.wait_arrived(self.send())
        for name, args in (("loop", {}), ("path-conformance", {"max_hops": 4}),
                           ("wrong-modification", {})):
            report = self.run_app(name, **args)
            self.assertEqual((report["links"], report["switches"], report["flows"],
                              report["certain"]), ([], [], [], False), report)
        self.assertEqual(self.bed.controller.ask("alarms?reason=APP_LOOP")["alarms"], [])

    def test_2_path_conformance(self):
        """section 4.1: a link fails, and packets take the detour over another ToR"""
        self.bed.faults.add("link-down", 11, 3)
        ports = self.send()
        self.wait_arrived(ports)
        longer = {port: path for port, path in self.records().items() if port in ports
                  and len(path) > 5}
        self.assertTrue(longer)
        report = self.run_app("path-conformance", max_hops=4)
        self.assertEqual({flow["flow_id"]["src_port"]: flow["path"] for flow in report["flows"]},
                         longer)
        self.assertEqual(report["links"], ["11-4", "4-12"])
        self.assertEqual({flow["rule"] for flow in report["flows"]}, {"max_hops"})
        self.assertTrue(report["certain"], report["lacks"])
        self.assertEqual(self.run_app("path-conformance", avoid=[15])["flows"], [])

    def test_3_loop_of_4_hops(self):
        self.check_loop([9, 17, 11, 18])

    def test_4_loop_of_6_hops(self):
        """17 twice: a fat-tree of 4 has no other circle of 6"""
        self.check_loop([9, 17, 11, 18, 13, 17])

    def test_5_wrong_tags(self):
        """a switch writes a tag that no path can have: the flows stand apart, and that switch fits
        best"""
        self.bed.faults.add("wrong-tag", 5, 13, 4000)
        ports = self.send(*INSIDE)
        self.wait_arrived(ports, INSIDE[1])
        infeasible = {port for port, path in self.records(INSIDE[1]).items() if port in ports
                      and not path}
        self.assertTrue(infeasible)
        report = self.run_app("wrong-modification", protocol="all")
        self.assertEqual({flow["flow_id"]["src_port"] for flow in report["flows"]}, infeasible)
        self.assertEqual(report["switches"], [13])
        self.assertFalse(report["certain"])     # UDP, for one
        report = self.run_app("path-conformance", max_hops=6)
        self.assertEqual(report["flows"], [])
        self.assertIn("fit no path", " ".join(report["lacks"]))

    def test_7_path_log(self):
        """Table 2: packets of one receiver, each with its path, while they come"""
        reports = []
        app = threading.Thread(target=lambda: reports.append(self.run_app(
            "path-log", dst_ip=self.bed.host(RECEIVER).ipv4, protocol="udp", seconds=2, rows=1000)))
        app.start()
        while app.is_alive():
            ports = self.send()
        app.join()
        (report,) = reports
        self.wait_arrived(ports)
        paths, packets = self.records(), report["results"]["packets"]
        self.assertTrue(packets)
        times = [row["time_us"] for row in packets]
        self.assertEqual(times, sorted(times))
        for flow in report["flows"]:
            self.assertEqual(flow["path"], paths[flow["flow_id"]["src_port"]], flow)
        (file,) = report["results"]["files"]
        self.assertEqual((file["host"], file["packets"] >= len(packets)), (RECEIVER, True))
        # a busy machine may send more than were asked for; nothing else is missing
        for what in report["lacks"]:
            self.assertIn("as many packets as were wanted", what)


if __name__ == "__main__":
    scenario.main()
