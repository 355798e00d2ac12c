#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a host achieves that sends frames with tags of its own: one to three of them, every VID and
PCP, on the test bed, with agents on all hosts and a watch of `loop`. Once with edges as they are by
default, once with all of them open. One JSON object a line. As root.

Usage: bench_forged.py [BIN-FOLDER] [--fabric ovs|tc] [--frames N] [--per-s N]"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "testbed"))

from agent import start_all                     # noqa: E402  (found by the line above)
from bed import BINARIES, Bed                   # noqa: E402

FORGER, VICTIM, SETTLE_S, LIMIT_PER_S = 21, 25, 3, 100
# every VID with every PCP, as one tag, two and three in turn; so many a second
SHOOT = """
import socket, struct, sys, time
sys.path.insert(0, sys.argv[1])
import capture
source, target, frames, per_s = sys.argv[2], sys.argv[3], int(sys.argv[4]), float(sys.argv[5])
sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
sock.bind(("eth0", 0))
begun, refused = time.monotonic(), 0
for n in range(frames):
    vid, pcp, tags = n % 4096, n // 4096 % 8, n % 3 + 1
    stack = [pcp << 13 | vid, (pcp + 1) % 8 << 13 | (vid * 7 + 1) % 4096,
             (pcp + 2) % 8 << 13 | (vid * 13 + 5) % 4096][:tags]
    ip = capture.packet(source, target, 1024 + n % 60000, 9, b"forged")
    try:
        sock.send(capture.ethernet(ip, stack, (0x8100, 0x88a8)[n // 32768 % 2]))
    except OSError:
        refused += 1
    if n % 64 == 63:
        time.sleep(max(0, begun + n / per_s - time.monotonic()))
print(frames - refused, time.monotonic() - begun)
"""


def topology_of(at, folder, edge):
    name = os.path.join(folder, f"{edge or 'default'}.json")
    done = subprocess.run([os.path.join(at, "pathdump"), "topology", "fat-tree", "--k", "4"],
                          capture_output=True, text=True, check=True)
    topology = json.loads(done.stdout)
    if edge:
        topology["codec_options"] = {"edge": edge}
    with open(name, "w", encoding="utf-8") as file:
        json.dump(topology, file)
    return name


def packet_ins(bed):
    switches = bed.controller.ask("switches")["switches"]
    return {switch["id"]: (switch["packet_ins"], switch["packet_ins_limited"])
            for switch in switches}


def alarms(bed):
    return bed.controller.ask("alarms?limit=10000")["alarms"]


def strange_records(agents):
    """of forged packets, in the records of any host"""
    return sum(flow["pkts"] for agent in agents.values()
               for flow in agent.query("getFlows", "--dst-port", "9")["flows"])


def shoot(bed, options):
    words = [sys.executable, "-c", SHOOT, os.path.join(HERE, "..", "..", "shared"),
             bed.host(FORGER).ipv4, bed.host(VICTIM).ipv4, options.frames, options.per_s]
    done = bed.host(FORGER).run(words, stdout=subprocess.PIPE, text=True, check=True)
    sent, took_s = done.stdout.split()
    return int(sent), float(took_s)


def measure(options, folder, edge):
    topology = topology_of(options.bin, folder, edge)
    with Bed(f"forged{os.getpid()}", topology=topology, binaries=options.bin,
             fabric=options.fabric, tagged=all, controller=True) as bed:
        agents = start_all(bed)
        bed.controller.ask("watches", {"app": "loop", "period_s": 1})
        time.sleep(SETTLE_S)
        before, known = packet_ins(bed), len(alarms(bed))
        sent, took_s = shoot(bed, options)
        time.sleep(SETTLE_S)
        raised, after = alarms(bed)[known:], packet_ins(bed)
        taken = max(after[i][0] - before[i][0] for i in after)
        print(json.dumps({
            "bench": "forged", "fabric": options.fabric, "edge": edge or "default", "frames": sent,
            "s": round(took_s, 2), "alarms": len(raised),
            "loops": sum(alarm["reason"] == "APP_LOOP" for alarm in raised),
            "certain_loops": sum(alarm["reason"] == "APP_LOOP" and "100 %" in str(alarm)
                                 for alarm in raised),
            "recorded": strange_records(agents),
            "packet_ins_taken": sum(after[i][0] - before[i][0] for i in after),
            "packet_ins_limited": sum(after[i][1] - before[i][1] for i in after),
            "most_taken_per_s": round(taken / took_s, 1), "limit_per_s": LIMIT_PER_S}), flush=True)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("Usage: ")[1])
    parser.add_argument("bin", nargs="?", default=BINARIES)
    parser.add_argument("--fabric", choices=("ovs", "tc"), default="ovs")
    parser.add_argument("--frames", type=int, default=100_000)
    parser.add_argument("--per-s", type=float, default=5000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pathdump-bench.") as folder:
        for edge in (None, "open"):
            measure(options, folder, edge)


if __name__ == "__main__":
    main()
