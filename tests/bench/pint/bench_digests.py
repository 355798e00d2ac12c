#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a telemetry plan costs a receiving agent: one capture of frames with CherryPick's tags and a
digest each, read with the plan and without it, in turn. One JSON object a line.

Usage: bench_digests.py [BIN-FOLDER] [--pkts N] [--flows N] [--rounds N]"""
import argparse
import json
import os
import random
import statistics
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "agent"))

from bench_agent import START_US, make_frame, pathdump      # noqa: E402  (found by the line above)

PATH, ENDS = (1, 9, 17, 11, 3), ("--src", "10.1.1.2", "--dst", "10.2.1.2")
QUERIES = [{"name": "path", "aggregation": "static", "value": "switch-id", "bits": 8,
            "frequency": 1},
           {"name": "latency", "aggregation": "dynamic", "value": "hop-latency-ns", "bits": 8,
            "frequency": .9375, "min": 1000, "max": 100_000_000},
           {"name": "worst", "aggregation": "packet", "function": "max",
            "value": "utilisation-ppm", "bits": 8, "frequency": .0625, "min": 1,
            "max": 1_000_000, "rounding": "random"}]
LATENCY_LN, SPREAD = 9.2, .5    # of nanoseconds: 10 µs at the median, a tenth above 19
WANTED = .85                    # of the packets a second without


def make_files(at, folder):
    names = {name: os.path.join(folder, f"{name}.json") for name in ("queries", "fat", "plan")}
    topology = json.loads(pathdump(at, "topology", "fat-tree", "--k", 4))
    topology["codec"] = [topology["codec"], "pint"]
    with open(names["fat"], "w", encoding="utf-8") as file:
        json.dump(topology, file)
    with open(names["queries"], "w", encoding="utf-8") as file:
        json.dump(QUERIES, file)
    with open(names["plan"], "w", encoding="utf-8") as file:
        file.write(pathdump(at, "pint", "plan", names["queries"], "--topology", names["fat"],
                            "--json"))
    return names


def make_frames(at, names, options):
    """each packet of a flow has another IP ID, so that every digest is its own"""
    chance = random.Random(1)
    tags = json.loads(pathdump(at, "codec", "encode", "--topology", names["fat"], "--codec",
                               "cherrypick-fat-tree", *ENDS, "--path",
                               ",".join(map(str, PATH)), "--json"))["tags"]
    lines = []
    for n in range(options.pkts):
        frame = bytearray(make_frame(1024 + n % options.flows, tags))
        ip = frame.index(b"\x08\0\x45") + 2
        frame[ip + 4:ip + 6] = struct.pack(">H", n // options.flows)
        values = {"latency": [round(chance.lognormvariate(LATENCY_LN, SPREAD)) for _ in PATH],
                  "worst": [chance.randrange(10**6) for _ in PATH]}
        lines.append(json.dumps({"frame": frame.hex(), "path": PATH, "values": values}))
    done = subprocess.run([os.path.join(at, "pathdump"), "pint", "encode", "--topology",
                           names["fat"], "--plan", names["plan"]], input="\n".join(lines),
                          text=True, capture_output=True, check=True)
    return [bytes.fromhex(json.loads(line)["frame"]) for line in done.stdout.splitlines()]


def write_capture(name, frames):
    """one packet a microsecond"""
    with open(name, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for i, raw in enumerate(frames, START_US):
            out.write(struct.pack("<IIII", i // 1_000_000, i % 1_000_000, len(raw), len(raw)) + raw)


def read(at, names, capture, tib, plan):
    """processor seconds of one daemon"""
    before = os.times()
    subprocess.run([os.path.join(at, "pathdumpd"), "--topology", names["fat"], "--intake",
                    f"pcap:{capture}", "--tib", tib, "--listen", "127.0.0.1:0",
                    "--exit-after-intake", "--log-level", "error",
                    *(("--telemetry", names["plan"]) if plan else ())], check=True)
    after = os.times()
    return (after.children_user + after.children_system - before.children_user
            - before.children_system)


def samples(at, names, tib):
    rows = json.loads(pathdump(at, "query", "--tib", tib, "--topology", names["fat"],
                               "getTelemetry", "--name", "latency", "--by", "port",
                               "--json"))["rows"]
    return sum(row["samples"] for row in rows)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("Usage: ")[1])
    parser.add_argument("bin", nargs="?", default=os.path.join(HERE, "../../../build/release/bin"))
    parser.add_argument("--pkts", type=int, default=1_000_000)
    parser.add_argument("--flows", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pathdump-bench-") as folder:
        names, capture = make_files(given.bin, folder), os.path.join(folder, "in.pcap")
        write_capture(capture, make_frames(given.bin, names, given))
        took = {True: [], False: []}
        for n in range(given.rounds):
            for plan in (True, False):
                tib = os.path.join(folder, f"tib-{n}-{plan}")
                took[plan].append(read(given.bin, names, capture, tib, plan))
        with_plan, without = (statistics.median(took[plan]) for plan in (True, False))
        print(json.dumps({"bench": "digests", "pkts": given.pkts, "flows": given.flows,
                          "ns_per_pkt": round(with_plan / given.pkts * 1e9, 1),
                          "ns_per_pkt_without": round(without / given.pkts * 1e9, 1),
                          "ratio": round(without / with_plan, 3), "wanted_ratio": WANTED,
                          "latency_samples": samples(given.bin, names, os.path.join(
                              folder, "tib-0-True")), "rounds": given.rounds}))


if __name__ == "__main__":
    main()
