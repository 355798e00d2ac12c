#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The controller's loop over the meters of all switches of the second fabric, with TCP between all
hosts: from a fault until silent-drops names it by counted paths alone, for certain; and what is
named while there is none. One JSON object a line. As root.

Usage: bench_meters.py [BIN-FOLDER] [--rounds N] [none] [loss] [blackhole]"""
import argparse
import json
import os
import random
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "testbed"))

from agent import start_all                     # noqa: E402  (found by the line above)
from background import Background               # noqa: E402
from bed import BINARIES, Bed                   # noqa: E402
from commands import wait_for                   # noqa: E402

EPOCH_MS, ALPHA, MBIT, FLOW_MBIT = 500, 50, 100, 1
SETTLED = 20000                 # packets that were measured: flows have been chosen everywhere
WAIT_S, QUIET_S, SEED = 60, 60, 1
FAULTS = {"loss": {"loss": .05}, "blackhole": {"blackhole": True}}


def hunt(bed):
    return bed.controller.app("silent-drops", kinds="paths")


def state(bed):
    return bed.controller.ask("status")["meters"]


def carried(bed, link):
    """segments over a link on which flows are measured"""
    ends = tuple(map(int, link.split("-")))
    return [one for one in bed.controller.ask("segments")
            if one["state"] == "measured" and ends in zip(one["path"], one["path"][1:])]


def measured_links(bed):
    """between an aggregate switch and a core"""
    links = {f"{a}-{b}" for one in bed.controller.ask("segments") if one["state"] == "measured"
             for a, b in zip(one["path"], one["path"][1:])}
    core = {node.id for node in bed.network.switches if node.pod is None}
    return sorted(link for link in links if set(map(int, link.split("-"))) & core)


def quiet(bed):
    begin, asked, named = time.monotonic(), 0, 0
    while time.monotonic() < begin + QUIET_S:
        asked += 1
        named += bool(hunt(bed)["links"])
        time.sleep(.5)
    return {"asked": asked, "named": named, "lost": state(bed)["lost"]}


def time_of(bed, kind):
    """seconds and epochs until the link is named alone, and for certain"""
    link = random.choice(measured_links(bed))
    flows, epochs = sum(one["flows"] for one in carried(bed, link)), state(bed)["epochs"]
    number = bed.faults.add({"link": link, **FAULTS[kind]})
    begin, named, certain, wrong = time.monotonic(), None, None, set()
    took = until = None                         # until: a link that was faulty before is named
    while certain is None and time.monotonic() < begin + WAIT_S:
        report = hunt(bed)
        if report["links"] == [link] and named is None:
            named, took = time.monotonic() - begin, state(bed)["epochs"] - epochs
        if report["certain"]:
            others = set(report["links"]) - {link}
            wrong.update(others)
            until = round(time.monotonic() - begin, 2) if others else until
            certain = time.monotonic() - begin if report["links"] == [link] else None
        time.sleep(.2)
    bed.faults.clear(number)
    return {"link": link, "flows": flows, "named_s": named, "named_epochs": took,
            "certain_s": certain, "wrong": sorted(wrong), "wrong_until_s": until}


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("Usage: ")[1])
    parser.add_argument("bin", nargs="?", default=BINARIES)
    parser.add_argument("what", nargs="*", default=["none", "loss", "blackhole"])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    random.seed(SEED)
    with Bed(f"loop{os.getpid()}", binaries=options.bin, fabric="tc", tagged=all,
             codec="path-bloom", controller=True, monitors="tor+top") as bed:
        start_all(bed)
        with Background(bed.hosts.values(), MBIT / len(bed.hosts), "web-search", .2, FLOW_MBIT):
            bed.controller.ask("monitors", {"alpha": ALPHA, "epoch_ms": EPOCH_MS})
            wait_for(lambda: state(bed)["measured"] > SETTLED, "packets that are measured", WAIT_S)
            for what in options.what:
                for _ in range(options.rounds if what in FAULTS else 1):
                    row = time_of(bed, what) if what in FAULTS else quiet(bed)
                    print(json.dumps({"bench": "meters", "fault": what, **row}), flush=True)
                    time.sleep(10 * EPOCH_MS / 1000)     # what was lost is forgotten


if __name__ == "__main__":
    main()
