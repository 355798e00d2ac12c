# SPDX-License-Identifier: Apache-2.0
"""The demonstration's fourth network: switches that write a few bits on each packet by a telemetry
plan (PINT). A port becomes slow, and one command names it."""
import json
import os
import random
import subprocess
import tempfile

from agent import start_all
from background import Background
from bed import Bed
from commands import wait_for
from show import run, say, title

QUERIES = [{"name": "path", "aggregation": "static", "value": "switch-id", "bits": 8,
            "frequency": 1},
           {"name": "latency", "aggregation": "dynamic", "value": "hop-latency-ns", "bits": 8,
            "frequency": .9375, "min": 1000, "max": 100_000_000}]
RATE_MBIT = 1.5                 # of a host
SLOW_MBIT, QUEUE_PKTS = 2, 64   # of the port that becomes slow
QUANTILE, WINDOW_S = .9, 5
HUNT_S = 60                     # it takes a few seconds


def make_plan(folder, program):
    """the queries, a topology and the plan, as files of a folder"""
    names = {name: os.path.join(folder, f"{name}.json") for name in ("queries", "topology", "plan")}
    with open(names["queries"], "w", encoding="utf-8") as file:
        json.dump(QUERIES, file)
    with open(names["topology"], "w", encoding="utf-8") as file:
        subprocess.run([program, "topology", "fat-tree", "--k", "4"], stdout=file, check=True)
    words = ["pint", "plan", names["queries"], "--topology", names["topology"], "--json"]
    with open(names["plan"], "w", encoding="utf-8") as file:
        subprocess.run([program, *words], stdout=file, check=True)
    return names


class Digested:
    def __init__(self, bed):
        self.bed = bed
        start_all(bed, ("--strip", "--telemetry", bed.plan))

    def ask(self):
        return self.bed.controller.app("tail-latency", quantile=QUANTILE, window=WINDOW_S)

    def ports(self):
        """between switches: of the last hop only what the switch itself takes is measured"""
        network = self.bed.network
        return [(a.id, b) for a in network.switches for b in network.switch_peers(a.id)]

    def slow(self, port):
        return self.bed.faults.add("rate-limit", *port, SLOW_MBIT, QUEUE_PKTS)

    def named(self, port):
        return self.ask()["links"] == ["-".join(map(str, port))]

    def hunt(self):
        port = random.choice(self.ports())
        with Background(self.bed.hosts.values(), rate_mbit=RATE_MBIT):
            self.slow(port)
            say(f"One port of a switch, chosen at random, now sends {SLOW_MBIT} Mb/s and no more.")
            say("No packet need be lost: they wait in its queue.")
            wait_for(lambda: self.named(port), f"a verdict that names {port}", HUNT_S)
            shown = f"pathdump app tail-latency --quantile {QUANTILE} --window {WINDOW_S}"
            run(None, f"PATHDUMP_CONTROLLER={self.bed.controller.url} {shown} | head -n 14",
                f"{shown} | head -n 14")
        say(f"It is the port of switch {port[0]} towards {port[1]}.")


def show(binaries):
    title("15. Which port makes connections slow? Switches write 16 bits on each packet: parts of "
          "its path, and how long one hop took")
    with tempfile.TemporaryDirectory(prefix="pathdump-demo.") as folder:
        names = make_plan(folder, os.path.join(binaries, "pathdump"))
        run(None, f"cat {names['queries']} | tr '}}' '\\n' | cut -c1-90", "cat queries.json")
        say("pathdump pint plan makes the plan of it, by which the switches of this bed write.")
        with Bed(f"digested{os.getpid()}", binaries=binaries, fabric="tc", tagged=all,
                 controller=True, plan=names["plan"]) as bed:
            Digested(bed).hunt()
