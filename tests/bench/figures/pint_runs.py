# SPDX-License-Identifier: Apache-2.0
"""Runs of the simulator for the figures of PINT: the same flows under several transports and
overheads, until the last one has ended."""
import json
import math
import os
import random
import subprocess
import tempfile

SIZES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../src/sim/sizes")
FLOWS_MAX = 9000
# section 2 with a quarter of the hosts: 16, links of 10 Gb/s, TCP Reno. Flows that start while the
# network is as full as it gets, and stays so, are those that count.
TEN = {"shape": {"pods": 4, "tors": 2, "t1": 2, "t2": 2, "hosts": 2}, "host_mbps": 10000,
       "mbps": 10000, "hop_ns": 1000, "buffer_pkts": 100, "arrive_s": .4, "count_s": (.05, .25)}
# section 6.1 at a tenth of its size: hosts at 100 Gb/s, switches at 400 Gb/s
HUNDRED = {"shape": {"pods": 2, "tors": 2, "t1": 2, "t2": 2, "hosts": 8}, "host_mbps": 100000,
           "mbps": 400000, "hop_ns": 1000, "buffer_pkts": 20000, "arrive_s": .01, "count_s": (0, 1)}


class Sizes:
    """flow sizes of the literature, in straight lines between points"""

    def __init__(self, name):
        with open(os.path.join(SIZES, name + ".csv"), encoding="utf-8") as f:
            self.points = [tuple(map(float, line.split(","))) for line in f if line[0].isdigit()]
        pairs = list(zip(self.points, self.points[1:]))
        self.mean = sum((b[1] - a[1]) * (a[0] + b[0]) / 2 for a, b in pairs)

    def draw(self, rnd):
        share = rnd.random()
        for a, b in zip(self.points, self.points[1:]):
            if share <= b[1]:
                return a[0] + (b[0] - a[0]) * (share - a[1]) / max(1e-12, b[1] - a[1])
        return self.points[-1][0]


def topology(program, net):
    words = [w for key, value in net["shape"].items() for w in (f"--{key}", str(value))]
    made = json.loads(subprocess.run([program, "topology", "generate", "clos", *words],
                                     stdout=subprocess.PIPE, check=True).stdout)
    hosts = {node["id"] for node in made["nodes"] if node["role"] == "host"}
    for link in made["links"]:
        own = hosts & {link["source"], link["target"]}
        link["mbps"] = net["host_mbps"] if own else net["mbps"]
    return made, sorted(hosts)


def arrivals(net, hosts, sizes, load, seed):
    """flows as the simulator would start them, the same for each transport"""
    rnd, now, found = random.Random(f"{seed} {load}"), 0, []
    bytes_s = len(hosts) * load * net["host_mbps"] * 1e6 / 8
    rate = bytes_s / (sizes.mean * 1500 / 1448)
    while len(found) < FLOWS_MAX:
        now += rnd.expovariate(rate)
        if now > net["arrive_s"]:
            break
        src, dst = rnd.sample(hosts, 2)
        found.append({"src": src, "dst": dst, "src_port": 1024 + len(found),
                      "bytes": math.ceil(sizes.draw(rnd)), "start_s": round(now, 9)})
    return found


def run(program, net, workload, load, seed, members):
    """flows that ended: {bytes, took_ns, alone_ns, …} by source port"""
    with tempfile.TemporaryDirectory() as at:
        made, hosts = topology(program, net)
        scenario = {"topology": "topology.json", "link_mbps": net["mbps"], "load": 0,
                    "hop_ns": net["hop_ns"], "buffer_pkts": net["buffer_pkts"], "level": "packet",
                    "duration_s": max(.05, 4 * net["arrive_s"]), "period_ms": 10,
                    "flows": arrivals(net, hosts, Sizes(workload), load, seed), **members}
        for name, what in (("topology", made), ("scenario", scenario)):
            with open(os.path.join(at, name + ".json"), "w", encoding="utf-8") as f:
                json.dump(what, f)
        out = os.path.join(at, "flows")
        subprocess.run([program, "simulate", os.path.join(at, "scenario.json"), "--app", "none",
                        "--seed", str(seed), "--flows", out], stdout=subprocess.DEVNULL,
                       check=True)
        with open(out, encoding="utf-8") as f:
            rows = [json.loads(line) for line in f]
    rows = [row for row in rows
            if net["count_s"][0] <= row["start_ns"] / 1e9 <= net["count_s"][1]]
    return {"asked": len(scenario["flows"]),
            "flows": [[row["src_port"], row["bytes"], row["took_ns"], row["alone_ns"],
                       row.get("decided_at", 0)] for row in rows]}


def used_plan(share, path=False):
    """the greatest utilisation of that share of packets, 8 bits; with `path` all three queries"""
    values = [0] + [round(1000 * 1.025 ** (2 * c)) for c in range(255)]
    latency = [0] + [round(200 * 1.05 ** c) for c in range(255)]
    used = {"name": "used", "aggregation": "packet", "function": "max", "value": "utilisation-ppm",
            "bits": 8, "rounding": "random", "values": values}
    weight = round(65536 * share)
    plan = {"version": 1, "seed": 7, "carrier": "tag", "bits": 16, "queries": [used],
            "sets": [{"weight": weight, "queries": ["used"]}]}
    if path:
        plan["queries"] = [
            {"name": "path", "aggregation": "static", "value": "switch-id", "coding": "hash",
             "bits": 8, "instances": 1, "tau": 0, "xor": [65536]},
            {"name": "latency", "aggregation": "dynamic", "value": "hop-latency-ns", "bits": 8,
             "rounding": "nearest", "values": latency,
             "bounds": [0] + [round(math.sqrt(max(1, a) * b)) for a, b in
                              zip(latency, latency[1:])]}, used]
        plan["sets"] = [{"weight": 65536 - weight, "queries": ["path", "latency"]},
                        {"weight": weight, "queries": ["path", "used"]}]
    return plan
