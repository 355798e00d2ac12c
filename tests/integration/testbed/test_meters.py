#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Meters on real packets: what switches in the kernel count is what `pathdump meters count` counts
of a capture. The controller's loop over them: tests/bench/meters."""
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

import scenario
import traffic
import wire
from commands import wait_for
from scenario import BINARIES

EPOCH_MS = 60000
ROOM_S = 25                     # of an epoch, for a test whose packets are all of one
UP, DOWN = 1, 3                 # racks of the sender and of the receiver
SENDER, RECEIVER = 21, 25
PROBES = 12


def put(monitor, role, flows, version=1, epoch_ms=EPOCH_MS):
    """status and answer of a monitor that gets these rules"""
    body = json.dumps({"version": version, "epoch_ms": epoch_ms, role: flows})
    done = subprocess.run(
        ["curl", "-s", "-w", "\n%{http_code}", "-X", "PUT", "--unix-socket", monitor.socket, "-H",
         "Content-Type: application/json", "-d", "@-", "http://localhost/v1/meters/rules"],
        input=body, capture_output=True, text=True, check=True)
    answer, _, status = done.stdout.rpartition("\n")
    return int(status), json.loads(answer)


def begin_of_epoch():
    """waits until one has so much time left; its number"""
    left = EPOCH_MS / 1000 - time.time() % (EPOCH_MS / 1000)
    if left < ROOM_S:
        time.sleep(left + .1)
    return int(time.time() * 1000 // EPOCH_MS)


class Buckets(unittest.TestCase):
    """rules by hand, no loop"""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="pathdump-meters.")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.bed = scenario.bed("meters", fabric="tc", tagged=all, codec="path-bloom",
                               controller=True)
        cls.enterClassContext(cls.bed)

    def capture(self, switch, at):
        """what comes from a switch to one of its neighbours, or to it: a capture file"""
        come_from, to = switch
        file = os.path.join(self.folder, f"{at}{come_from}-{to}.pcap")
        return file, wire.Watch(lambda args, **options: self.bed.popen_at(
            self.bed.site[to], args, **options), "pcap", file, f"s{to}-{come_from}")

    def count(self, role, monitor, rules, files):
        """the buckets that `pathdump meters count` makes of captures: {(row, bucket): …}"""
        merged = os.path.join(self.folder, f"{role}.pcap")
        with open(merged, "wb") as out:
            for n, name in enumerate(files):
                with open(name, "rb") as file:
                    out.write(file.read()[24 if n else 0:])
        named = os.path.join(self.folder, "rules.json")
        with open(named, "w", encoding="utf-8") as file:
            json.dump(rules, file)
        done = subprocess.run(
            [os.path.join(BINARIES, "pathdump"), "meters", "count", "--role", role, "--rules",
             named, "--pcap", merged, "--epoch-ms", str(EPOCH_MS), "--topology", self.bed.topology,
             "--monitor", str(monitor), "--json"], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    def buckets(self, reading):
        return {(r, b["bucket"]): (b["epoch"], b["dirty"], b["count"], b["filter"],
                                   b["flow_id"] and tuple(sorted(b["flow_id"].items())))
                for r, row in enumerate(reading["rows"]) for b in row}

    def test_captures(self):
        """both ends of the segments between two racks, over both families"""
        sender, receiver = self.bed.host(SENDER), self.bed.host(RECEIVER)
        flows = [dict(zip(("src_ip", "dst_ip", "src_port", "dst_port", "protocol"),
                          (getattr(sender, v), getattr(receiver, v), port, traffic.PORT, 17)))
                 for v in ("ipv4", "ipv6") for port in range(20000, 20000 + PROBES)]
        watchers = {i: self.bed.watchers[i] for i in (UP, DOWN)}
        stray = flows.pop()
        for role, monitor, rules in (("dsm", DOWN, flows), ("usm", DOWN, []), ("dsm", UP, []),
                                     ("usm", UP, [*flows, stray])):
            self.assertEqual(put(watchers[monitor], role, rules)[0], 200)
        epoch = begin_of_epoch()
        up = [self.capture((UP, agg), "up") for agg in (9, 10)]
        down = [self.capture((agg, DOWN), "down") for agg in (11, 12)]
        for n, flow in enumerate([*flows, stray]):
            subprocess.run(sender.command(
                [sys.executable, "-c", SHOOT, flow["src_ip"], flow["src_port"], flow["dst_ip"],
                 flow["dst_port"], 3 + n]), check=True)
        for _, watch in up + down:
            watch.stop()
        early = watchers[UP].get(f"meters?epoch={epoch}")
        self.assertIn("not over", early["detail"])
        wait_for(lambda: "meters" in watchers[DOWN].get(f"meters?epoch={epoch}"), "the epoch",
                 EPOCH_MS / 1000 + 30)
        told = {(m["monitor"], m["role"]): m for i in watchers
                for m in watchers[i].get(f"meters?epoch={epoch}")["meters"]}
        for role, monitor, files in (("usm", UP, up), ("dsm", DOWN, down)):
            rules = {"usm": [*flows, stray],
                     "dsm": [{"flow_id": flow, "filter": 0} for flow in flows]}
            counted = self.count(role, monitor, rules, [file for file, _ in files])
            wanted = self.buckets(counted)
            self.assertGreater(len(wanted), PROBES)
            self.assertEqual(self.buckets(told[monitor, role]), wanted)
            self.assertEqual(told[monitor, role]["strays"], counted["strays"])
        self.assertEqual(len(told[DOWN, "dsm"]["strays"]), 1)
        self.assertEqual(sum(len(row) for row in told[DOWN, "usm"]["rows"]), 0)

    def test_refusals(self):
        """rules that are none, too many of them, and epochs that nobody has: those that are there
        stay"""
        monitor = self.bed.watchers[8]
        flow = {"src_ip": "10.1.1.2", "dst_ip": "10.4.2.2", "src_port": 1, "dst_port": 2,
                "protocol": 17}
        self.assertEqual(put(monitor, "usm", [flow])[0], 200)
        self.assertEqual(put(monitor, "usm", [dict(flow, src_port=n) for n in range(4097)])[0], 507)
        for wrong in ([{"src_ip": "x"}], [7], {}, None):
            self.assertEqual(put(monitor, "usm", wrong)[0], 400, wrong)
        self.assertEqual(put(monitor, "neither", [flow])[0], 400)
        self.assertEqual(put(monitor, "usm", [flow], epoch_ms=1)[0], 400)
        for epoch, status in (("", 400), ("x", 400), ("0", 400), ("5", 404), ("1e9", 400),
                              ("99999999999999999999", 400), ("5&epoch=6", 400)):
            self.assertEqual(monitor.get(f"meters?epoch={epoch}")["status"], status, epoch)
        self.assertEqual(monitor.get("meters")["status"], 400)
        self.assertEqual(monitor.get("meters?bogus=1")["status"], 400)
        self.assertEqual(monitor.get("status")["meters"]["full"], 1)

    def test_marks_of_hosts(self):
        """a host's own mark reaches nobody: neither a rule nor the receiver sees it"""
        sender, receiver = self.bed.host(SENDER), self.bed.host(RECEIVER)
        before = self.bed.watchers[DOWN].get("status")["meters"]
        file, watch = self.capture((UP, 9), "marks")
        other, watch_other = self.capture((UP, 10), "marks")
        for port in range(30000, 30008):
            subprocess.run(sender.command([sys.executable, "-c", FORGE, receiver.ipv4, port]),
                           check=True)
        watch.stop(), watch_other.stop()
        seen = marks_of(file) + marks_of(other)
        self.assertEqual(set(seen), {0x2c >> 2 & ~3}, "the DSCP but its lower two bits stays")
        after = self.bed.watchers[DOWN].get("status")["meters"]
        self.assertEqual(after["strays"], before["strays"])


SHOOT = """
import socket, sys
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
sock = socket.socket(family, socket.SOCK_DGRAM)
sock.bind((sys.argv[1], int(sys.argv[2])))
for _ in range(int(sys.argv[5])):
    sock.sendto(bytes(64), (sys.argv[3], int(sys.argv[4])))
"""
FORGE = """
import socket, sys
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 0x2c)
sock.sendto(bytes(64), (sys.argv[1], int(sys.argv[2])))
"""


def marks_of(file):
    """DSCPs of UDP over IPv4 in a capture"""
    with open(file, "rb") as data:
        data, at, found = data.read(), 24, []
    while at < len(data):
        size = int.from_bytes(data[at + 8:at + 12], "little")
        frame, at = data[at + 16:at + 16 + size], at + 16 + size
        ip = frame[18:] if frame[12:14] == b"\x81\0" else frame[14:]
        if ip[0] == 0x45 and ip[9] == 17:
            found.append(ip[1] >> 2)
    return found


if __name__ == "__main__":
    unittest.main()
