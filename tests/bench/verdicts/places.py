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
# localisers that judge what an application judged, from the evidence that it left
BESIDE = {"silent-drops": ("max-coverage",)}


def replay(binaries, topology, localiser, evidence):
    """[(t, report)]: what a watch with another localiser would have said, at the times of the
    evidence"""
    command = [os.path.join(binaries, "pathdump"), "localise", "--topology", topology, "--evidence",
               evidence, "--localiser", localiser, "--each-period", "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=MOST_S)
    if done.returncode:
        raise RuntimeError(f"localise: exit {done.returncode}: {done.stderr.strip()}")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return [(line["t_s"], {"switches": [], **line}) for line in lines]


def simulate(binaries, scenario, seed, app, folder):
    """{name of a method: [(t, report)]} of each run of the application, and the last line"""
    file, evidence = (os.path.join(folder, f"{name}{os.getpid()}") for name in ("scenario",
                                                                               "evidence"))
    with open(file, "w", encoding="utf-8") as out:
        json.dump(scenario, out)
    beside = BESIDE.get(app, ())
    command = [os.path.join(binaries, "pathdump"), "simulate", file, "--seed", str(seed), "--app",
               app, "--every-run", "--json", *(["--evidence", evidence] if beside else [])]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=MOST_S)
    if done.returncode:
        raise RuntimeError(f"simulate: exit {done.returncode}: {done.stderr.strip()}")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    found = {app: [(line["t_s"], line) for line in lines if line["event"] == "verdict"]}
    for localiser in beside:
        found[localiser] = replay(binaries, scenario["topology"], localiser, evidence)
    return found, lines[-1]


def watch(controller, scenario, app):
    """[(t, report)] of the application, asked each EVERY_S"""
    begun, polls, arguments = time.monotonic(), [], {}
    if app == "silent-drops":
        arguments = {"link_mbps": BED_LINK_MBPS}
    while time.monotonic() - begun < scenario["duration_s"]:
        asked = time.monotonic()
        polls.append((asked - begun, controller.app(app, **arguments)))
        time.sleep(max(0, asked + EVERY_S - time.monotonic()))
    return polls


def on_bed(binaries, fabric, scenario, app, folder, mbit=None):
    """{name of a method: [(t, report)]} and the Mb/s that were carried; t as in the scenario"""
    evidence = os.path.join(folder, f"evidence{os.getpid()}")
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
            since_s, before = time.time(), carried(bed)
            for fault in scenario["faults"]:
                bed.faults.add(fault)
            found = {app: watch(bed.controller, scenario, app)}
            totals = carried(bed)
            # once, at the end: with evidence an application asks for all of it again
            if BESIDE.get(app):
                bed.controller.evidence(evidence, app, time.time() - since_s)
    for localiser in BESIDE.get(app, ()):
        polls = replay(binaries, scenario["topology"], localiser, evidence)
        found[localiser] = [(t - since_s, report) for t, report in polls if t >= since_s]
    seconds = totals["seconds"] - before["seconds"]
    return found, round((totals["received_bytes"] - before["received_bytes"]) * 8e-6 / seconds, 1)
