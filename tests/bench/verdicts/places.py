# SPDX-License-Identifier: Apache-2.0
"""Where a scenario is run: in the simulator, or on a test bed with agents and a controller."""
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "testbed"))
from agent import start_all                     # noqa: E402  (found by the line above)
from background import Background, carried      # noqa: E402
from bed import Bed                             # noqa: E402

EVERY_S = .5
WARM_S = 6
MOST_S = 1800                                   # of a run in the simulator
OVS_MBIT = 12                                   # in all: more makes Open vSwitch lose packets here
BED_LINK_MBPS = 10000                           # links of a bed have no rate
METHODS = {"silent-drops": (("silent-drops", {}), ("max-coverage", {"method": "max-coverage"}))}


def methods(app):
    """[(name, arguments)]: an application with each of its localisers"""
    return METHODS.get(app, ((app, {}),))


def simulate(binaries, scenario, seed, app, arguments, folder):
    """[(t, report)] of each run of the application, and its last line"""
    file = os.path.join(folder, f"scenario{os.getpid()}.json")
    with open(file, "w", encoding="utf-8") as out:
        json.dump(scenario, out)
    words = [word for name, value in arguments.items() for word in (f"--{name}", value)]
    command = [os.path.join(binaries, "pathdump"), "simulate", file, "--seed", str(seed), "--app",
               app, "--every-run", "--json", *words]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=MOST_S)
    if done.returncode:
        raise RuntimeError(f"simulate: exit {done.returncode}: {done.stderr.strip()}")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return [(line["t_s"], line) for line in lines if line["event"] == "verdict"], lines[-1]


def on_bed(binaries, fabric, scenario, app, mbit=None):
    """{name of a method: [(t, report)]} and the Mb/s that were carried; t as in the scenario"""
    found = {name: [] for name, _ in methods(app)}
    with open(scenario["topology"], encoding="utf-8") as file:
        hosts = sum(node["role"] == "host" for node in json.load(file)["nodes"])
    mbit = mbit or (OVS_MBIT if fabric == "ovs"
                    else scenario["load"] * scenario["link_mbps"] * hosts)
    with Bed(f"verdicts{os.getpid()}", topology=scenario["topology"], binaries=binaries, tagged=all,
             controller=True, fabric=fabric) as bed:
        start_all(bed)
        if scenario.get("spray"):
            bed.faults.add("spray", "all")
        with Background(bed.hosts.values(), mbit / hosts, scenario["flow_sizes"]):
            time.sleep(WARM_S)
            since = time.monotonic()
            for fault in scenario["faults"]:
                bed.faults.add(fault)
            while time.monotonic() - since < scenario["duration_s"]:
                begun = time.monotonic()
                for name, arguments in methods(app):
                    t = time.monotonic() - since
                    link_mbps = {"link_mbps": BED_LINK_MBPS} if app == "silent-drops" else {}
                    found[name].append((t, bed.controller.app(app, **arguments, **link_mbps)))
                time.sleep(max(0, begun + EVERY_S - time.monotonic()))
            totals = carried(bed)
    return found, round(totals["mbit_s"], 1)
