#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A daemon that takes reports of switches (Telemetry Report v2.0): stacks of INT-MD and postcards
become records with their paths, drops and queues alarms; what is malformed is counted."""
import json
import os
import random
import signal
import socket
import struct
import time
import unittest

from daemon import DaemonTest, frame, free_port, main

PATH, OTHER = [1, 9, 17, 11, 3], [1, 10, 19, 12, 3]
INNER_ONLY, INT = 0, 1
ETHERNET, IPV4 = 3, 4
DROPPED, CONGESTED, TRACKED = 0x80, 0x40, 0x20
INT_DSCP, WAIT_S = 0x17, 10


def report(node, kind=INNER_ONLY, inner=IPV4, flags=TRACKED, bits=0, metadata=b"", packet=b"",
           seq=0):
    """one datagram with one report"""
    packet += bytes(-len(packet) % 4)
    body = (struct.pack("!HHHH", bits, 0, 0, 0) + metadata if kind == INT else b"") + packet
    head = struct.pack("!II", 2 << 28 | seq, node)
    return head + bytes([kind << 4 | inner, len(body) // 4, len(metadata) // 4, flags]) + body


def packet_of(port, stack=()):
    """an Ethernet frame, UDP, with a stack of INT-MD of switch IDs, the newest first"""
    payload = b"x" * 40
    if stack:
        shim = bytes([1 << 4, 3 + len(stack), 0, 0])
        header = struct.pack("!BBBBHHHH", 2 << 4, 0, 1, 9, 0x8000, 0, 0, 0)
        payload = shim + header + struct.pack(f"!{len(stack)}I", *stack) + payload
    return frame("10.1.1.2", "10.2.1.2", port, 80, payload, dscp=INT_DSCP if stack else 0)


class Reports(DaemonTest):
    def setUp(self):
        super().setUp()
        with open(self.topology, encoding="utf-8") as file:
            topology = json.load(file)
        with open(self.path("telemetry.json"), "w", encoding="utf-8") as file:
            json.dump({**topology, "codec": "telemetry"}, file)
        self.to = "127.0.0.1", free_port()
        self.daemon = self.start(topology=self.path("telemetry.json"),
                                 intake="report:{}:{}".format(*self.to))
        self.daemon.wait_state("running")
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(self.socket.close)

    def send(self, *datagrams):
        for datagram in datagrams:
            self.socket.sendto(datagram, self.to)

    def wait(self, condition):
        until = time.monotonic() + WAIT_S
        while not condition() and time.monotonic() < until:
            time.sleep(.05)
        self.assertTrue(condition())

    def flows(self):
        rows = self.daemon.get("/v1/getFlows?live=true")["flows"]
        return {row["flow_id"]["src_port"]: (row["path"], row["pkts"], row.get("state"))
                for row in rows}

    def test_stacks(self):
        """whole; the sink's own entry beside it; over Ethernet; a switch that is missing"""
        whole = packet_of(1000, PATH[::-1])
        less = packet_of(1001, OTHER[-2::-1])
        cut = packet_of(1002, PATH[:0:-1])
        self.send(report(3, packet=whole[14:]), report(3, packet=whole, inner=ETHERNET),
                  report(3, INT, bits=0x4000, metadata=bytes(4), packet=less[14:]),
                  report(3, packet=cut[14:]))
        self.wait(lambda: len(self.flows()) == 3)
        found = self.flows()
        self.assertEqual(found[1000], (PATH, 2, None))
        self.assertEqual(found[1001], (OTHER, 1, None))
        self.assertEqual(found[1002], ([0] + PATH[1:], 1, "partial"))

    def test_postcards(self):
        """in any order, of several packets; one that did not come"""
        rnd, postcards = random.Random(7), []
        for port, path, packets in ((2000, PATH, 1), (2001, OTHER, 3), (2002, PATH[:2] + PATH[3:],
                                                                       1)):
            raw = packet_of(port)
            postcards += packets * [report(node, INT, bits=0x4000, metadata=bytes(4),
                                           packet=raw[14:]) for node in path]
        rnd.shuffle(postcards)
        self.send(*postcards)
        self.wait(lambda: len(self.flows()) == 3)
        found = self.flows()
        self.assertEqual(found[2000], (PATH, 1, None))
        self.assertEqual(found[2001], (OTHER, 3, None))
        self.assertEqual(found[2002][2], "partial")

    def test_alarms(self):
        """what was dropped has a reason and no path; a queue is told with its length"""
        raw = packet_of(3000)
        self.send(report(9, INT, flags=DROPPED, bits=0x0001, metadata=bytes([0, 71, 0, 0]),
                         packet=raw[14:]),
                  report(17, INT, flags=CONGESTED, bits=0x5000,
                         metadata=struct.pack("!HHI", 1, 3, 45000), packet=raw[14:]))

        def alarms():
            return {a["reason"]: a for a in self.daemon.get("/v1/alarms")["alarms"]}
        self.wait(lambda: {"INT_DROP", "INT_QUEUE"} <= set(alarms()))
        self.assertIn("switch 9 dropped a packet: its reason 71", alarms()["INT_DROP"]["detail"])
        self.assertIn("a queue of 45000 bytes", alarms()["INT_QUEUE"]["detail"])
        self.assertEqual(alarms()["INT_DROP"]["flow_id"]["src_port"], 3000)

    def test_what_is_malformed(self):
        """is counted, and nothing of it is used"""
        good = report(3, packet=packet_of(4000, PATH[::-1])[14:])
        lies = bytearray(good)
        lies[9] += 1
        self.send(b"", b"\x20", bytes([1 << 4]) + good[1:], bytes(lies), good[:-5], good)
        self.wait(lambda: 4000 in self.flows())
        self.assertEqual(self.flows()[4000][1], 1)
        self.assertEqual(self.daemon.get("/v1/status")["intake"]["malformed_reports"], 5)

    def test_floods(self):
        """what the kernel had no room for is counted: sent is what was read and what was dropped"""
        good, sent = report(3, packet=packet_of(5000, PATH[::-1])[14:] + bytes(700)), 0
        os.kill(self.daemon.process.pid, signal.SIGSTOP)
        try:
            for sent in range(1, 20001):
                self.send(good)
        finally:
            os.kill(self.daemon.process.pid, signal.SIGCONT)

        def intake():
            return self.daemon.get("/v1/status")["intake"]
        self.wait(lambda: intake()["frames"] and self.send(good) is None and
                  intake()["kernel_drops"])
        time.sleep(.2)
        self.send(good)             # with which the kernel says what it dropped
        time.sleep(.2)
        found = intake()
        self.assertGreater(found["kernel_drops"], 0)
        self.assertGreaterEqual(found["frames"] + found["kernel_drops"], sent)
        self.assertLess(found["frames"] + found["kernel_drops"], sent + WAIT_S / .05 + 3)


if __name__ == "__main__":
    main()
