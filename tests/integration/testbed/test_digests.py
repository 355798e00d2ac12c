# SPDX-License-Identifier: Apache-2.0
"""Switches of the tc fabric write digests: bit for bit those of the reference encoder, behind every
switch of a fat-tree; latencies are real; agents tell the paths and the values of hops."""
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

import scenario                                 # makes the modules of the bed importable
from agent import start_all
from commands import wait_for

SEE = os.path.join(scenario.HERE, "..", "..", "testbed", "fabrics", "tc", "see.py")
PORT, PACKETS = 5011, 3
PORTS = {"bits": 4, "values": list(range(16)), "bounds": list(range(16)), "rounding": "nearest"}
EXACT = ({"version": 1, "seed": 7, "carrier": "tag", "bits": 16, "queries": [
    {"name": "path", "aggregation": "static", "value": "switch-id", "coding": "hash", "bits": 4,
     "instances": 2, "tau": 32768, "xor": [16384, 49152]},
    {"name": "whole", "aggregation": "static", "value": "switch-id", "coding": "fragment",
     "value_bits": 8, "bits": 2, "instances": 1, "tau": 0,
     "xor": [65536]},
    {"name": "port", "aggregation": "dynamic", "value": "ingress-port", **PORTS},
    {"name": "most", "aggregation": "packet", "function": "max", "value": "ingress-port", **PORTS},
    {"name": "sum", "aggregation": "packet", "function": "sum", "value": "ingress-port", **PORTS,
     "rounding": "random",
     "values": [0, 1, 2, 3, 4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40]},
    {"name": "loop", "aggregation": "loop", "bits": 14, "threshold": 3}],
          "sets": [{"weight": 20000, "queries": ["path", "port"]},
                   {"weight": 20000, "queries": ["whole", "most", "sum"]},
                   {"weight": 20000, "queries": ["loop"]}]})
for query in EXACT["queries"]:
    if query.get("rounding") == "random":
        del query["bounds"]
LATENCY = {
    "version": 1, "seed": 9, "carrier": "tag", "bits": 16,
    "queries": [
        {"name": "path", "aggregation": "static", "value": "switch-id", "coding": "hash", "bits": 8,
         "instances": 1, "tau": 0, "xor": [65536]},
        {"name": "latency", "aggregation": "dynamic", "value": "hop-latency-ns", "bits": 8,
         "rounding": "nearest",
         "values": [0] + [round(1000 * 1.04 ** c) for c in range(255)],
         "bounds": [0] + [round(980 * 1.04 ** c) for c in range(255)]}],
    "sets": [{"weight": 65536, "queries": ["path", "latency"]}]}
QUEUES = {
    "version": 1, "seed": 9, "carrier": "tag", "bits": 16,
    "queries": [LATENCY["queries"][0]] + [
        {"name": name, "aggregation": "dynamic", "value": value, "bits": 8, "rounding": "nearest",
         "values": [0] + [round(60 * 1.05 ** c) for c in range(255)],
         "bounds": [0] + [round(58 * 1.05 ** c) for c in range(255)]}
        for name, value in (("queue", "queue-bytes"), ("utilisation", "utilisation-ppm"))],
    "sets": [{"weight": 32768, "queries": ["path", "queue"]},
             {"weight": 32768, "queries": ["path", "utilisation"]}]}
LOOPS = {"version": 1, "seed": 7, "carrier": "tag", "bits": 16,
         "queries": [{"name": "loop", "aggregation": "loop", "bits": 14, "threshold": 3}],
         "sets": [{"weight": 65536, "queries": ["loop"]}]}
CIRCLE = (9, 17, 11, 18)
SEND = """
import socket, sys
for target in sys.argv[4:]:
    sock = socket.socket(socket.AF_INET6 if ":" in target else socket.AF_INET, socket.SOCK_DGRAM)
    for number in range(int(sys.argv[1])):
        sock.sendto(number.to_bytes(4, "big") + bytes(int(sys.argv[2])), (target, int(sys.argv[3])))
"""


def ttl_of(frame):
    """what it is after so many switches"""
    at = 16 if frame[12:14] == b"\x88\xa8" else 12
    ip = frame[at + 2:]
    return ip[8] if frame[at:at + 2] == b"\x08\x00" else ip[7]


def key_of(frame):
    """what tells a packet from all others on its way"""
    at = 16 if frame[12:14] == b"\x88\xa8" else 12
    ip = frame[at + 2:]
    return ip[12:20] + ip[20:40] if frame[at:at + 2] == b"\x08\x00" else ip[8:70]


class Digests(unittest.TestCase):
    def bed(self, plan, **options):
        folder = tempfile.TemporaryDirectory(prefix="pathdump-pint.")
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, "plan.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(plan, file)
        bed = scenario.bed("pint", fabric="tc", plan=path, **options)
        self.enterContext(bed)
        return bed

    def test_every_switch_is_the_reference_encoder(self):
        bed = self.bed(EXACT, tagged=all)
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        watchers = [bed.popen_at(site, [sys.executable, SEE, PORT], **pipes) for site in bed.sites]
        last = {i: bed.host(i).popen([sys.executable, SEE, PORT], **pipes) for i in (21, 36)}
        watchers += last.values()
        for watcher in watchers:
            self.assertEqual(watcher.stdout.readline(), "ready\n")
        for host in bed.hosts.values():
            others = [address for other in bed.hosts.values() if other is not host
                      for address in other.node.addrs]
            host.run([sys.executable, "-c", SEND, PACKETS, host.id % 9, PORT, *others], check=True)
        seen = {}
        for watcher in watchers:
            for line in watcher.communicate()[0].splitlines():
                entry = json.loads(line)
                frame = bytes.fromhex(entry["frame"])
                seen.setdefault(key_of(frame), []).append((-ttl_of(frame), entry["at"], frame))
        items, wanted = [], []
        for hops in seen.values():
            hops.sort()
            steps = [[int(word) for word in at[1:].split("-")] for _, at, _ in hops if at != "eth0"]
            switches, peers = [s for s, _ in steps], [p for _, p in steps]
            if peers[0] not in bed.hosts or any(switches[i] != peers[i + 1]
                                                for i in range(len(steps) - 1)):
                # a busy machine has lost what one of the sockets saw
                continue
            ports = [bed.network.nodes[s].port(p) for s, p in zip(switches, peers)]
            # what switch i - 1 has made of it comes in at switch i
            for i in range(1, len(hops)):
                values = {name: ports[:i] for name in ("port", "most", "sum")}
                items.append({"frame": hops[0][2].hex(), "path": switches[:i], "values": values})
                wanted.append((switches[i - 1], hops[i][2]))
        words = ["pint", "encode", "--topology", bed.topology, "--plan", bed.plan]
        done = subprocess.run([bed.program_path("pathdump"), *words], input="".join(
            json.dumps(item) + "\n" for item in items), capture_output=True,
                              text=True, check=True)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(len(answers), len(wanted))
        differ = [(switch, answer["digest"], frame[:18].hex())
                  for answer, (switch, frame) in zip(answers, wanted)
                  if bytes.fromhex(answer["frame"]) != frame]
        self.assertEqual(differ[:5], [], f"{len(differ)} of {len(wanted)} frames differ")
        self.assertEqual({switch for switch, _ in wanted}, {n.id for n in bed.network.switches})
        self.assertLessEqual({h.rack for h in map(bed.host, last)},
                             {item["path"][-1] for item in items if len(item["path"]) == 5})
        self.assertGreater(len(wanted), 1000)
        self.assertEqual({answer["set"] for answer in answers}, {0, 1, 2, None})

    def test_agents_tell_paths_and_latencies(self):
        bed = self.bed(LATENCY, tagged=all, controller=True)
        agents = start_all(bed, ("--strip", "--telemetry", bed.plan))
        sender, receiver = bed.host(21), bed.host(25)
        sender.run([sys.executable, "-c", SEND, 400, 20, PORT, receiver.ipv4], check=True)
        agent = agents[25]
        wanted = f"getTelemetry?name=latency&live=true&dst_port={PORT}"
        wait_for(lambda: sum(row["samples"] for row in json.loads(agent.curl(wanted))["rows"])
                 >= 400, "values of all packets")
        rows = json.loads(agent.curl(wanted))["rows"]
        flow, = [row
                 for row in json.loads(agent.curl(f"getFlows?live=true&dst_port={PORT}"))["flows"]]
        self.assertEqual({(row["switch"], row["to"]) for row in rows},
                         set(zip(flow["path"], flow["path"][1:] + [25])))
        self.assertIn(flow["path"], [list(path) for path in bed.paths(21, 25)])
        self.assertEqual(flow["pkts"], 400)
        # Of the last hop only what the switch itself takes is measured: less than a code is 0.
        for row in rows:
            self.assertTrue(row["to"] == 25 or row["max"] > 0, row)

    def test_queues_and_utilisation(self):
        """bytes wait where a port is slow, and nowhere else; every port that sends is busy"""
        bed = self.bed(QUEUES, tagged=all, controller=True)
        agent = start_all(bed, ("--strip", "--telemetry", bed.plan))[25]
        sender, receiver = bed.host(21), bed.host(25)
        for peer in (9, 10):
            bed.faults.add("rate-limit", 1, peer, 4, 64)
        sender.run([sys.executable, "-c", SEND, 100, 1000, PORT, *[receiver.ipv4] * 6], check=True)

        def rows_of(name):
            words = f"getTelemetry?name={name}&by=port&live=true&dst_port={PORT}"
            rows = json.loads(agent.curl(words))["rows"]
            return {(row["switch"], row["to"]): row for row in rows}
        for name in ("queue", "utilisation"):
            wait_for(lambda n=name: sum(row["samples"] for row in rows_of(n).values()) >= 60,
                     f"values of {name}")
        queues, used = rows_of("queue"), rows_of("utilisation")
        slow = {port for port in queues if port in ((1, 9), (1, 10))}
        self.assertTrue(slow and len(queues) > len(slow))
        for port, row in queues.items():
            if port in slow:        # more than two packets, and at most what fits
                self.assertTrue(2100 < row["max"] < 64 * 1600, f"{port} {row}")
            else:
                self.assertEqual(row["max"], 0, f"{port} {row}")
        for port, row in used.items():
            self.assertGreater(row["max"], 800, f"{port} {row}")    # a packet of 1 KB in 10 ms

    def test_switches_report_a_loop(self):
        """all links of the circle and nothing else, before 94 of 100 packets die of their TTL"""
        bed = self.bed(LOOPS, controller=True)
        words = ["-X", "PUT", "-H", "Content-Type: application/json", "-d", "@" + bed.plan]
        bed.controller.raw("/v1/telemetry/plan", *words)
        self.assertEqual(bed.controller.ask("telemetry/plan")["plan"]["queries"][0]["name"], "loop")
        sender, receiver = bed.host(21), bed.host(25)
        send = [sys.executable, "-c", SEND, 50, 20, PORT, *[receiver.ipv4] * 16]
        sender.run(send, check=True)            # well: nothing is reported
        self.assertEqual(bed.fabric.punted(), 0)
        self.assertEqual(bed.controller.app("loop")["links"], [])
        bed.faults.add("loop", ",".join(map(str, CIRCLE)), receiver.id)
        begun = time.time()
        sender.run(send, check=True)
        wait_for(lambda: len(bed.controller.app("loop")["links"]) == len(CIRCLE), "all links")
        report = bed.controller.app("loop")
        self.assertEqual(set(report["links"]),
                         {f"{a}-{b}" for a, b in zip(CIRCLE, CIRCLE[1:] + CIRCLE[:1])})
        row, = report["results"]["reported"]
        self.assertEqual((row["switches"], row["closed"]), (", ".join(map(str, CIRCLE)), True))
        counters = [bed.fabric.counters(switch) for switch in CIRCLE]
        reported, died = (sum(one[name] for one in counters) for name in ("punted", "expired"))
        self.assertGreater(reported, 50)
        all_of = reported + died        # three standard deviations below 94 %
        self.assertGreaterEqual(reported, .94 * all_of - 3 * (.94 * .06 * all_of) ** .5)
        first = min(alarm["time_us"] for alarm in bed.controller.ask("alarms")["alarms"]
                    if alarm["reason"] == "APP_LOOP") / 1e6
        after_ms = 1e3 * first - row["first_us"] / 1e3
        print(f"{reported} of {all_of} packets reported; first report "
              f"{row['first_us'] / 1e6 - begun:.3f} s after the sender was started, "
              f"the alarm {after_ms:.1f} ms after it")


if __name__ == "__main__":
    unittest.main()
