#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From the moment at which one port of a switch becomes slow until tail-latency names it alone, by
the bits that switches write on packets: the fat-tree of 4 of the second fabric, hosts that send
TCP (--rate: Mb/s of each). Also how often anything is named while no port is slow. One JSON object
a line. As root.

Usage: bench_slow_ports.py [BIN-FOLDER] [--first N] [--count N] [--step N] [--rate MBIT]"""
import argparse
import json
import os
import statistics
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "testbed"))

from background import Background               # noqa: E402  (found by the line above)
from bed import BINARIES, Bed                   # noqa: E402
import digested                                 # noqa: E402

WINDOW_S, QUANTILE, BEFORE_S = 2, .9, 10
HUNT_S, QUIET_ASKS, CALM_S = 15, 20, 4


def ask(bed):
    return bed.controller.app("tail-latency", quantile=QUANTILE, window=WINDOW_S, before=BEFORE_S)


def time_of(bed, ends):
    """seconds until the port alone is named; what else was named for certain"""
    link, wrong = "{}-{}".format(*ends), set()
    fault = bed.faults.add("rate-limit", *ends, digested.SLOW_MBIT, digested.QUEUE_PKTS)
    begin, seconds = time.monotonic(), None
    while seconds is None and time.monotonic() < begin + HUNT_S:
        report = ask(bed)
        if report["links"] == [link]:
            seconds = time.monotonic() - begin
        elif report["certain"]:
            wrong.update(report["links"])
        time.sleep(.05)
    bed.faults.clear(fault)
    return seconds, wrong - {link}


def wait_calm(bed):
    begin = time.monotonic()
    while ask(bed)["links"] and time.monotonic() < begin + HUNT_S:
        time.sleep(.1)
    time.sleep(CALM_S)


def measure(bed, chosen):
    quiet = [ask(bed) for _ in range(QUIET_ASKS) if not time.sleep(.5)]
    print(json.dumps({"bench": "slow_ports", "port": None, "asked": len(quiet),
                      "named": sum(bool(report["links"]) for report in quiet)}), flush=True)
    took = []
    for ends in chosen:
        wait_calm(bed)
        seconds, wrong = time_of(bed, ends)
        took.append((seconds, wrong))
        print(json.dumps({"bench": "slow_ports", "port": "{}-{}".format(*ends), "s": seconds,
                          "wrong": sorted(wrong)}), flush=True)
    named = [seconds for seconds, _ in took if seconds is not None]
    print(json.dumps({"bench": "slow_ports", "ports": len(took), "named": len(named),
                      "within_2_s": sum(seconds <= 2 for seconds in named),
                      "median_s": statistics.median(named) if named else None,
                      "worst_s": max(named, default=None),
                      "certain_and_wrong": sum(bool(wrong) for _, wrong in took)}))


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("Usage: ")[1])
    parser.add_argument("bin", nargs="?", default=BINARIES)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int)
    parser.add_argument("--step", type=int, default=2)
    parser.add_argument("--rate", type=float, default=digested.RATE_MBIT)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pathdump-bench.") as folder:
        names = digested.make_plan(folder, os.path.join(options.bin, "pathdump"))
        with Bed(f"slow{os.getpid()}", binaries=options.bin, fabric="tc", tagged=all,
                 controller=True, plan=names["plan"]) as bed:
            ports = digested.Digested(bed).ports()[options.first::options.step][:options.count]
            with Background(bed.hosts.values(), rate_mbit=options.rate):
                time.sleep(BEFORE_S)
                measure(bed, ports)


if __name__ == "__main__":
    main()
