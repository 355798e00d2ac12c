#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From a fault of a direction without traffic to the word that names it, by probes alone, on the
second fabric of the test bed (fat-tree of 4, 100 probes a second). One JSON object a line. As root.

Usage: bench_probe_faults.py [BIN-FOLDER] [dead|loss] [--first N] [--count N] [--step N]

dead: a direction loses all; the state of links, asked all the time, from the moment at which the
fault begins until a direction is dead for certain. loss: a direction loses 1 %; a watch of
probe-faults. Beside each time whether it was right; what was ever named for certain and was wrong
is counted apart."""
import argparse
import http.client
import json
import os
import socket
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "testbed"))

from agent import start_all                     # noqa: E402  (found by the line above)
from bed import BINARIES, Bed                   # noqa: E402
from commands import wait_for                   # noqa: E402

DEAD, WAIT_S, DEAD_S, LOSS_S = 3, 20, 3, 30
AHEAD_S, STAY_S = .3, .3            # before the fault begins; how long more is listened
RATE, HOPS, LOSS = 100, 12, 0.01


class Asked:
    """GET /v1/… of a controller over one connection, another one when that was idle for too long"""

    def __init__(self, path):
        self.path = path
        self.connect()

    def connect(self):
        self.connection = http.client.HTTPConnection("localhost")
        self.connection.sock = socket.socket(socket.AF_UNIX)
        self.connection.sock.connect(self.path)

    def get(self, route):
        try:
            self.connection.request("GET", f"/v1/{route}")
            answer = self.connection.getresponse()
        except (OSError, http.client.HTTPException):
            self.connect()
            self.connection.request("GET", f"/v1/{route}")
            answer = self.connection.getresponse()
        return json.loads(answer.read())

    def states(self):
        rows = self.get("links?metrics=probe_state")["links"]
        return {row["link"]: row["probe_state"] for row in rows}

    def wait_ok(self, directions):
        wait_for(lambda: list(self.states().values()).count(1) == directions, "all well", WAIT_S)


def directions_of(bed):
    with open(bed.topology, encoding="utf-8") as file:
        document = json.load(file)
    switches = {n["id"] for n in document["nodes"] if n["role"] != "host"}
    links = [(link["source"], link["target"]) for link in document["links"]]
    pairs = [pair for pair in links if set(pair) <= switches]
    return sorted(pairs + [pair[::-1] for pair in pairs])


def dead(bed, asked, ends):
    """seconds from the first probe that is lost until a direction is dead, and all that were"""
    number = bed.faults.add(json.dumps({"link": "{}-{}".format(*ends), "blackhole": True,
                                        "start_s": AHEAD_S}))
    begin = bed.faults.on[number][1].since_ns / 1e9 + AHEAD_S
    named, seconds = set(), None
    while time.monotonic() < begin + (DEAD_S if seconds is None else seconds + STAY_S):
        now = {link for link, state in asked.states().items() if state == DEAD}
        if now and seconds is None:
            seconds = time.monotonic() - begin
        named |= now
        time.sleep(.002)
    bed.faults.clear(number)
    return seconds, named


def print_dead(bed, asked, chosen):
    took, right, wrong, all_directions = [], 0, 0, len(directions_of(bed))
    for ends in chosen:
        asked.wait_ok(all_directions)
        link = "{}-{}".format(*ends)
        seconds, named = dead(bed, asked, ends)
        right += named == {link}
        wrong += bool(named - {link})
        took.append(DEAD_S if seconds is None else seconds)
        print(json.dumps({"bench": "probe_dead", "link": link, "ms": took[-1] * 1e3,
                          "named": sorted(named)}), flush=True)
    print(json.dumps({"bench": "probe_dead", "directions": len(chosen), "right": right,
                      "wrong": wrong, "median_ms": statistics.median(took) * 1e3,
                      "worst_ms": max(took) * 1e3}), flush=True)


def lossy(bed, ends):
    """seconds until the report names it alone; when certain of others, these"""
    link, wrong = "{}-{}".format(*ends), set()
    fault = bed.faults.add("loss", *ends, LOSS)
    begin, seconds = time.monotonic(), None
    while time.monotonic() < begin + LOSS_S and seconds is None:
        report = bed.controller.app("probe-faults", seconds=max(time.monotonic() - begin, 1))
        if report["certain"] and report["links"] != [link]:
            wrong.update(report["links"])
        if report["links"] == [link]:
            seconds = time.monotonic() - begin
        time.sleep(.2)
    bed.faults.clear(fault)
    return seconds, wrong


def print_lossy(bed, asked, chosen):
    took, wrong = [], 0
    for ends in chosen:
        asked.wait_ok(len(directions_of(bed)))
        time.sleep(2)
        seconds, others = lossy(bed, ends)
        took.append(seconds if seconds is not None else LOSS_S)
        wrong += bool(others)
        print(json.dumps({"bench": "probe_loss", "link": "{}-{}".format(*ends), "s": seconds,
                          "wrong": sorted(others)}), flush=True)
    print(json.dumps({"bench": "probe_loss", "directions": len(chosen), "loss": LOSS,
                      "median_s": statistics.median(took) if took else None,
                      "certain_and_wrong": wrong}), flush=True)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("Usage: ")[1].split("\n")[0])
    parser.add_argument("bin", nargs="?", default=BINARIES)
    parser.add_argument("what", nargs="?", default="dead", choices=("dead", "loss"))
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int)
    parser.add_argument("--step", type=int, default=1)
    chosen = parser.parse_args()
    with Bed("probefaults", binaries=chosen.bin, fabric="tc", tagged=all, controller=True) as bed:
        agents = start_all(bed)
        bed.controller.ask("probes", {"rate_hz": RATE, "max_hops": HOPS})
        asked = Asked(bed.controller.socket)
        directions = directions_of(bed)[chosen.first::chosen.step][:chosen.count]
        (print_dead if chosen.what == "dead" else print_lossy)(bed, asked, directions)
        bed.controller.raw("/v1/probes", "-X", "DELETE")
        for agent in agents.values():
            agent.stop()


if __name__ == "__main__":
    main()
