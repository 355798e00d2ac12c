#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The TCP monitor: both sources see the same losses as the kernel counts, and nothing of other
namespaces."""
import json
import os
import signal
import socket
import struct
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../shared"))
import bed as beds
from bed import Monitor, retransmissions, until

HAS_BPF = os.environ.get("PD_BPF") == "1"
DROP_BPF = ("setpriv", "--bounding-set=-bpf,-perfmon,-sys_admin", "--inh-caps=-all")


def setUpModule():
    global bed
    bed = beds.Bed()


def tearDownModule():
    bed.close()


def mapped(address):
    return f"::ffff:{address}"


class Source:
    """what both sources are held to; the same events for both"""
    source = None

    def setUp(self):
        self.monitor = Monitor(bed.here, self.source)
        self.addCleanup(self.monitor.close)
        self.assertEqual(self.monitor.first.get("source"), self.source, self.monitor.first)

    def suffer(self, s, number, times):
        """its bytes are lost until they were sent again so often; then they arrive"""
        bed.lose(number)
        s.send(b"x" * 1000)
        until("retransmissions", lambda: retransmissions(s) >= times)
        poor = until("a poor flow", lambda: self.monitor.flow(s, threshold=times))
        self.assertGreaterEqual(poor["consecutive"], times)
        # the first may be a probe of the tail
        self.assertGreaterEqual(poor["timeouts"], times - 1)
        self.assertEqual(poor["state"], "established")
        self.assertGreater(poor["srtt_us"], 0)
        self.assertGreater(poor["rto_us"], 0)
        self.assertIsNotNone(poor["last_retransmission_us"])
        bed.lose(number, False)
        until("all is acknowledged",
              lambda: s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)[24:28] == bytes(4))
        return poor

    def check_flow(self, s, number, address, times=1):
        port = s.getsockname()[1]
        other = bed.connect("fd09::9" if ":" in address else "10.9.0.9", self.port)
        other.send(b"y" * 1000)
        poor = self.suffer(s, number, times)
        self.assertEqual(poor["flow_id"], {"src_ip": "fd09::1" if ":" in address else "10.9.0.1",
                                           "dst_ip": address, "src_port": port,
                                           "dst_port": self.port, "protocol": 6})
        total = retransmissions(s)
        until("the kernel's count", lambda: self.monitor.flow(s)["retransmissions"] == total)
        self.assertEqual(self.monitor.flow(s)["consecutive"], 0, "all was acknowledged")
        self.assertIsNone(self.monitor.flow(s, threshold=1), "it is well again")
        past = self.monitor.flow(s, threshold=1, since_us=poor["first_us"] - 1000000)
        self.assertEqual(past["recent"], total, "but it was poor")
        # a machine that stood still may have probed the tail of the other one
        probes = retransmissions(other)
        self.assertEqual(self.monitor.flow(other)["retransmissions"], probes)
        if not probes:
            self.assertIsNone(self.monitor.flow(other, threshold=1), "it never suffered")
        return s, other

    def test_loss_on_one_flow(self):
        self.port = bed.listen()
        s, other = self.check_flow(bed.connect("10.9.0.2", self.port), 2, "10.9.0.2", times=2)
        alarms = [flow for flow in self.monitor.ask("alarms")
                  if flow["flow_id"]["src_port"] == s.getsockname()[1]]
        self.assertGreaterEqual(len(alarms), 1)
        self.assertGreaterEqual(alarms[0]["recent"], 1)
        port = s.getsockname()[1]
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        s.close()
        closed = until("it is closed", lambda: (lambda f: f if f and f["state"] == "closed"
                                                else None)(self.monitor.port(port)))
        self.assertIsNotNone(closed["closed_us"])
        other.close()

    def test_ipv6(self):
        self.port = bed.listen(socket.AF_INET6)
        for s in self.check_flow(bed.connect("fd09::3", self.port), 3, "fd09::3"):
            s.close()

    def test_ipv4_in_ipv6_is_ipv4(self):
        self.port = bed.listen()
        for s in self.check_flow(bed.connect(mapped("10.9.0.4"), self.port), 4, "10.9.0.4"):
            s.close()

    def test_never_past_the_syn(self):
        bed.lose(5)
        s = bed.connect("10.9.0.5", 9, wait=False)
        port = s.getsockname()[1]
        poor = until("a connection without an answer", lambda: self.monitor.port(port, threshold=1))
        self.assertEqual(poor["state"], "syn_sent")
        self.assertIsNone(poor["opened_us"])
        self.assertEqual(poor["bytes_acked"], 0)
        s.close()
        bed.lose(5, False)

    def test_other_namespaces_are_not_seen(self):
        port = bed.listen(name=bed.here)
        with beds.Within(bed.there):
            s = socket.create_connection(("10.9.0.1", port))
        sub = Monitor(bed.there, self.source)
        self.addCleanup(sub.close)
        mine = s.getsockname()[1]
        self.assertIsNotNone(sub.port(mine), "it is seen where it is")
        self.assertIsNone(self.monitor.port(mine))
        bed.lose(6)
        lossy = bed.connect("10.9.0.6", 9, wait=False)
        until("it is poor", lambda: self.monitor.flow(lossy, threshold=1))
        self.assertEqual([f for f in sub.list()["flows"] if f["retransmissions"]], [])
        self.assertEqual(sub.ask("stat")["events_refused"], 0)
        lossy.close()
        s.close()
        bed.lose(6, False)


@unittest.skipUnless(HAS_BPF, "built without BPF")
class Bpf(Source, unittest.TestCase):
    source = "bpf"

    def test_opened_and_closed_without_loss(self):
        port = bed.listen()
        s = bed.connect("10.9.0.2", port)
        mine = s.getsockname()[1]
        flow = until("it is opened", lambda: (lambda f: f if f and f["opened_us"]
                                              else None)(self.monitor.port(mine)))
        self.assertEqual(flow["state"], "established")
        s.close()
        until("it is closed", lambda: (lambda f: f if f and f["state"] == "closed"
                                       else None)(self.monitor.port(mine)))

    def test_connections_without_loss_wake_nobody(self):
        """an opening or closing is a wake-up less for whoever has it; the thread looks by itself
        once a second"""
        port, begun, before = bed.listen(), time.monotonic(), self.monitor.wakes("pd-tcp")
        for _ in range(100):
            bed.connect("10.9.0.2", port).close()
            time.sleep(0.004)           # longer than the thread rests: each would wake it
        woken, took_s = self.monitor.wakes("pd-tcp") - before, time.monotonic() - begun
        stat = self.monitor.ask("stat")
        # a busy machine loses some; those are news
        self.assertLess(woken, 60 + 4 * took_s + 4 * stat["retransmissions"], stat)
        until("all were told of", lambda: self.monitor.ask("stat")["events"] >= 200)
        self.assertEqual(self.monitor.ask("stat")["events_lost"], 0)

    def test_lost_events_are_made_good(self):
        """a ring for a few events, and nobody who reads it while many connections suffer"""
        port = bed.listen()
        monitor = Monitor(bed.here, "bpf", 4096)
        self.addCleanup(monitor.close)
        sockets = [bed.connect("10.9.0.7", port) for _ in range(60)]
        until("all are known", lambda: len([f for f in monitor.list()["flows"]
                                            if f["flow_id"]["dst_ip"] == "10.9.0.7"]) == 60)
        monitor.process.send_signal(signal.SIGSTOP)
        bed.lose(7)
        for s in sockets:
            s.send(b"z" * 100)
        until("each has suffered", lambda: all(retransmissions(s) for s in sockets))
        bed.lose(7, False)
        until("all is acknowledged", lambda: all(s.getsockopt(
            socket.IPPROTO_TCP, socket.TCP_INFO, 256)[24:28] == bytes(4) for s in sockets))
        monitor.process.send_signal(signal.SIGCONT)
        stat = until("the resynchronisation",
                     lambda: (lambda st: st if st["resyncs"] else None)(monitor.ask("stat")))
        self.assertGreater(stat["events_lost"], 0)
        self.assertGreaterEqual(stat["since_us"], monitor.first["since_us"])
        truth = {s.getsockname()[1]: retransmissions(s) for s in sockets}
        known = {f["flow_id"]["src_port"]: f["retransmissions"] for f in monitor.list()["flows"]
                 if f["flow_id"]["dst_ip"] == "10.9.0.7"}
        self.assertEqual(known, truth)
        for s in sockets:
            s.close()

    def test_flows_are_bounded(self):
        """what does not fit is forgotten and counted"""
        port = bed.listen()
        monitor = Monitor(bed.here, "bpf", 0, 8)
        self.addCleanup(monitor.close)
        sockets = [bed.connect("10.9.0.8", port) for _ in range(20)]
        until("they are forgotten", lambda: monitor.ask("stat")["flows_forgotten"] >= 12)
        self.assertLessEqual(monitor.ask("stat")["flows"], 8)
        for s in sockets:
            s.close()


class InetDiag(Source, unittest.TestCase):
    source = "inet_diag"


class Fallback(unittest.TestCase):
    def test_without_permission(self):
        """by itself, with the reason; asked for by name it fails"""
        monitor = Monitor(bed.here, "auto", before=DROP_BPF)
        self.addCleanup(monitor.close)
        self.assertEqual(monitor.first["source"], "inet_diag")
        self.assertIn("bpf: ", monitor.first["reason"])
        refused = Monitor(bed.here, "bpf", before=DROP_BPF)
        refused.process.stdin.close()
        self.assertEqual(refused.process.wait(beds.WAIT_S), 1)
        self.assertIn("bpf: ", refused.first["error"])

    def test_none(self):
        monitor = Monitor(bed.here, "none")
        self.addCleanup(monitor.close)
        self.assertEqual(monitor.first["source"], "none")
        self.assertEqual(monitor.list()["flows"], [])
        self.assertFalse(monitor.list()["complete"])


class Agent(unittest.TestCase):
    """what the monitor knows, as the agent tells it"""

    def start(self, *more):
        from programs import Daemon, pathdump
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="pathdump-tcp."))
        topology, capture = os.path.join(folder, "t.json"), os.path.join(folder, "empty.pcap")
        with open(topology, "w", encoding="utf-8") as out:
            out.write(pathdump("topology", "fat-tree", "--k", "4"))
        with open(capture, "wb") as out:
            out.write(struct.pack("<IHHIIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        self.enterContext(beds.Within(bed.here))
        agent = self.enterContext(Daemon(folder, *more, topology=topology,
                                         intake="pcap:" + capture))
        agent.wait(agent.status)
        return agent

    def ask(self, agent, target, document=None):
        status, _, body = agent.raw(target, "POST" if document else "GET",
                                    document and json.dumps(document))
        self.assertEqual(status, 200, body)
        return json.loads(body)

    def test_alarm_and_question(self):
        agent = self.start("--tcp-monitor", "auto", "--tcp-alarm-all")
        self.assertEqual(agent.status()["tcp"]["source"], "bpf" if HAS_BPF else "inet_diag")
        self.assertIn("TCP connections are watched by", agent.log())
        server = bed.listen()
        s = bed.connect("10.9.0.8", server)
        flow = {"src_ip": "10.9.0.1", "dst_ip": "10.9.0.8", "src_port": s.getsockname()[1],
                "dst_port": server, "protocol": 6}
        bed.lose(8)
        s.send(b"x")
        alarm = until("the alarm", lambda: next((a for a in self.ask(agent, "/v1/alarms")["alarms"]
                                                 if a["flow_id"] == flow), None))
        self.assertEqual((alarm["reason"], alarm["paths"]), ("POOR_PERF", []))
        self.assertRegex(alarm["detail"], r"^\d+ retransmissions? in 200 ms \(consecutive \d+, "
                         r"timeouts \d+, srtt \d+ us\)$")
        for answer in (self.ask(agent, "/v1/getPoorTCPFlows?threshold=1"),
                       self.ask(agent, "/v1/getPoorTCPFlows", {"threshold": 1}),
                       self.ask(agent, "/v1/query",
                                {"query": "getPoorTCPFlows", "args": {"threshold": 1}})):
            self.assertEqual([f["flow_id"] for f in answer["flows"]
                              if f["flow_id"]["dst_ip"] == "10.9.0.8"], [flow])
            self.assertTrue(answer["complete"])
        program = ("function run() local n = {} for f in get_poor_tcp_flows{threshold = 1} do n[#n "
                   "+ 1] = f.src_port end return n end")
        self.assertIn(flow["src_port"],
                      self.ask(agent, "/v1/query", {"program": program})["result"])
        self.assertGreaterEqual(agent.status()["tcp"]["retransmissions"], 1)
        bed.lose(8, False)
        s.close()


if __name__ == "__main__":
    if os.geteuid():
        sys.exit(77)
    unittest.main(verbosity=2)
