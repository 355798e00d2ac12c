#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Figures 3 to 12 of the paper 007 (and its section 6.7) with the simulator's level of epochs,
beside what the paper says.

Usage: votes.py BIN [--out DIR] [--seeds N] [--first SEED] [--figures 3,4,…,12,size] [--jobs N]
[--keep FILE]

BIN is the folder with the program `pathdump`. Seeds are FIRST, FIRST + 2, … (odd ones unless told
otherwise). Each seed draws its failed links, one epoch of flows, and every localiser judges the
same evidence. Prints one JSON object a point; writes DIR/figureN.dat, .gp, .svg where gnuplot is
installed, and DIR/README.md: a table of each figure. With --keep each run is kept in FILE as soon
as it is done, and is not made again: what was cut off goes on, and seeds may be added.

accuracy: of the flows that the localiser blames on a failure, those that lost most on the very link
that it names (section 6).
found: of the flows that a failed link hurt, those with that link as cause. Both are per run; a run
without such flows counts for nothing.
"""
import argparse
import collections
import concurrent.futures
import json
import math
import os
import random
import subprocess
import sys
import tempfile

import plots
from kept import Kept

LOCALISERS = ("votes", "integer", "binary", "evidence")
SHAPE = {"pods": 2, "tors": 20, "t1": 8, "t2": 10, "hosts": 40}     # section 6
LOSS = (1e-4, 1e-2)
# where theorem 2 holds, section 6.1
BOUND = (5e-4, 1e-2)
NOISE = (0, 1e-6)
LOSSES = (1e-4, 3e-4, 5e-4, 1e-3, 3e-3, 1e-2)
NOISES = (1e-6, 5e-6, 1e-5, 5e-5)
COUNTS = (2, 6, 10, 14)

Point = collections.namedtuple("Point", "x faults loss heavy noise flows traffic shape tier",
                               defaults=(LOSS, 0, NOISE, (60, 60), None, 2, None))
Figure = collections.namedtuple("Figure", "title x points measures says")


def single(**more):
    return [Point(loss, 1, loss=(loss, loss), **more) for loss in LOSSES]


def several(**more):
    return [Point(n, n, **more) for n in COUNTS]


LINKS, CAUSES = ("precision", "recall"), ("accuracy", "found")
TIERS = ("host-tor", "tor-t1", "t1-tor", "t1-t2", "t2-t1")
FIGURES = {
    "3": Figure("theorem 2 holds: causes", "failed links", several(loss=BOUND), CAUSES,
                "over 96 % in almost all cases"),
    "4": Figure("theorem 2 holds: links", "failed links", several(loss=BOUND), LINKS,
                "high recall and precision at low rates, too"),
    "5a": Figure("drop rate, one link", "loss", single(), CAUSES,
                 "as good as the optimisation below the theorem's bounds"),
    "5b": Figure("drop rates, several links", "failed links", several(), CAUSES,
                 "high although rates differ"),
    "6a": Figure("noise, one link", "noise", [Point(n, 1, noise=(0, n)) for n in NOISES], CAUSES,
                 "little impact"),
    "6b": Figure("noise, five links", "noise", [Point(n, 5, noise=(0, n)) for n in NOISES], CAUSES,
                 "little; the optimisation varies much"),
    "7a": Figure("10 to 60 connections, one link", "loss", single(flows=(10, 60)), CAUSES,
                 "above the optimisation at low rates"),
    "7b": Figure("10 to 60 connections, several", "failed links", several(flows=(10, 60)), CAUSES,
                 "high whatever the number"),
    "8a": Figure("80 % to ten racks, one link", "loss", single(traffic=(.8, 10)), CAUSES,
                 "85 % or more above 0.1 %"),
    "8b": Figure("80 % to ten racks, several", "failed links", several(traffic=(.8, 10)), CAUSES,
                 "98 % or more"),
    "9": Figure("one hot rack, ten links", "share",
                [Point(s, 10, traffic=(s, 1)) for s in (.1, .3, .5, .7)], CAUSES,
                "up to 50 % nothing lost; beyond, worse with ten links or more"),
    "10": Figure("one link: links", "loss", single(), LINKS, "outperforms the optimisation"),
    "11": Figure("place of the one link, 0.1 %", "tier", [
        Point(t, 1, loss=(1e-3, 1e-3), tier=t) for t in TIERS[1:]], LINKS, "no figure in words"),
    "12": Figure("one of 10 to 100 %, others 0.01 to 0.1 %", "failed links",
                 [Point(n, n, loss=(1e-4, 1e-3), heavy=1) for n in (2, 4, 7, 10, 14)],
                 LINKS, "above 90 % up to seven; recall falls with more"),
    "size": Figure("pods, one link (6.7)", "pods", [Point(p, 1, shape=p) for p in (1, 2, 3, 4)],
                   CAUSES + LINKS,
                   "98, 92, 91, 90 %; recall 98 % or more, precision 100 %"),
}


# ---- a run

def network(options, shape, cache={}):      # noqa: B006: one topology file for each shape
    """(file, {tier: directed links between switches})"""
    key = json.dumps(shape)
    if key not in cache:
        name = os.path.join(options.scratch, f"clos{len(cache)}.json")
        words = [word for key_, value in shape.items() for word in (f"--{key_}", str(value))]
        with open(name, "w", encoding="utf-8") as out:
            subprocess.run([options.program, "topology", "generate", "clos", *words], stdout=out,
                           check=True)
        cache[key] = name, links_of(name, shape)
    return cache[key]


def links_of(name, shape):
    """switch IDs of a clos: racks, then first tiers, then second tiers"""
    with open(name, encoding="utf-8") as file:
        text = json.load(file)
    racks, firsts = shape["pods"] * shape["tors"], shape["pods"] * shape["t1"]

    def tier(node):
        return "tor" if node <= racks else "t1" if node <= racks + firsts else "t2"
    hosts = {node["id"] for node in text["nodes"] if node["role"] == "host"}
    found = collections.defaultdict(list)
    for link in text["links"]:
        ends = link["source"], link["target"]
        if not hosts.intersection(ends):
            for a, b in (ends, ends[::-1]):
                found[f"{tier(a)}-{tier(b)}"].append(f"{a}-{b}")
    return found


def draw_faults(point, links, seed):
    pick = random.Random(f"{seed} {point}")
    places = sorted(links[point.tier] if point.tier else sum(links.values(), []))
    chosen = pick.sample(places, point.faults)
    return [{"link": link, "loss": pick.uniform(.1, 1) if i < point.heavy
             else pick.uniform(*point.loss)} for i, link in enumerate(chosen)]


def evidence(options, point, seed, faults, shape):
    scenario = {"topology": {"clos": shape}, "level": "epoch", "epochs": 1, "epoch_s": 30,
                "pkts_per_flow": [1, 100], "flows_per_host": point.flows,
                "noise": point.noise, "faults": faults, **({"traffic": dict(
                    zip(("share", "racks"), point.traffic))} if point.traffic else {})}
    name = os.path.join(options.scratch, f"{abs(hash((point.x, seed, repr(point)))):x}")
    with open(name + ".json", "w", encoding="utf-8") as out:
        json.dump(scenario, out)
    subprocess.run([options.program, "simulate", name + ".json", "--seed", str(seed), "--app",
                    "none", "--evidence", name + ".ndjson"],
                   stdout=subprocess.DEVNULL, check=True)
    os.unlink(name + ".json")
    return name + ".ndjson"


def key_of(flow):
    return tuple(flow[part] for part in ("src_ip", "dst_ip", "src_port", "dst_port"))


def truths(name):
    """{flow: link on which it lost most}"""
    with open(name, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file if '"truth"' in line]
    return {key_of(row["flow_id"]): row["truth"] for row in rows}


def share(part, whole):
    return part / whole if whole else None


def measure(answer, wanted, truth):
    named = set(answer["links"])
    blamed = {key_of(cause["flow_id"]): cause["link"] for cause in answer["causes"]
              if cause["class"] == "failure"}
    hurt = {flow: link for flow, link in truth.items() if link in wanted}
    return {"precision": share(len(named & wanted), len(named)),
            "recall": share(len(named & wanted), len(wanted)),
            "accuracy": share(sum(truth.get(flow) == link for flow, link in blamed.items()),
                              len(blamed)),
            "found": share(sum(blamed.get(flow) == link for flow, link in hurt.items()), len(hurt))}


def run(options, point, seed):
    """{localiser: measures}"""
    shape = {**SHAPE, "pods": point.shape}
    topology, links = network(options, shape)
    faults = draw_faults(point, links, seed)
    name = evidence(options, point, seed, faults, shape)
    truth, wanted, found = truths(name), {fault["link"] for fault in faults}, {}
    for localiser in LOCALISERS:
        out = subprocess.run([options.program, "localise", "--topology", topology, "--evidence",
                              name, "--localiser", localiser, "--causes",
                              "--json"], stdout=subprocess.PIPE, check=True).stdout
        found[localiser] = measure(json.loads(out), wanted, truth)
    os.unlink(name)
    return found


# ---- figures

def mean_error(values):
    values = [value for value in values if value is not None]
    if not values:
        return None
    mean = sum(values) / len(values)
    spread = math.sqrt(sum((v - mean) ** 2 for v in values) / max(1, len(values) - 1))
    return round(mean, 4), round(spread / math.sqrt(len(values)), 4)


def rows_of(name, figure, found):
    """one a point and localiser"""
    for point in figure.points:
        for localiser in LOCALISERS:
            runs = [one[localiser] for one in found[point]]
            yield {"figure": name, "localiser": localiser, figure.x.replace(" ", "_"): point.x,
                   "seeds": len(runs),
                   **{m: mean_error([one[m] for one in runs]) for m in figure.measures}}


def text_of(pair):
    return "–" if pair is None else f"{pair[0]:.3f} ± {pair[1]:.3f}"


def draw(options, name, figure, rows):
    measures = figure.measures[:2]
    places = [point.x for point in figure.points]
    blocks = [(f"{localiser}: place, {figure.x}, " + ", ".join(f"{m}, error" for m in measures),
               [(places.index(row[figure.x.replace(" ", "_")]), row[figure.x.replace(" ", "_")],
                 *(v for m in measures for v in row[m] or ("nan", 0)))
                for row in rows if row["localiser"] == localiser]) for localiser in LOCALISERS]
    plots.data(options.out, f"figure{name}", blocks)
    colours = (*plots.COLOURS, "#CC79A7")
    parts = [f"set title '{m}'\nplot " + ", ".join(
        plots.lines(f"figure{name}.dat", i, f"1:{3 + 2 * at}:{4 + 2 * at}:xtic(2)", localiser,
                    colours[i], "yerrorlines lw 2 pt 7 ps 0.6")
        for i, localiser in enumerate(LOCALISERS)) for at, m in enumerate(measures)]
    plots.plot(options.out, f"figure{name}", "set multiplot layout 1,2 margins 0.07,0.97,0.17,0.88 "
               "spacing 0.10\nset yrange [0:1.05]\n"
               f"set offsets 0.3,0.3,0,0\nset key bottom left\nset xlabel '{figure.x}'\n"
               + "\n".join(parts) + "\nunset multiplot")


def section(name, figure, rows):
    """Markdown of a figure: what the paper says, and a line a point with all localisers"""
    head = [figure.x, "localiser", *figure.measures]
    body = [[f"{row[figure.x.replace(' ', '_')]:g}" if not isinstance(
        row[figure.x.replace(" ", "_")], str) else row[figure.x.replace(" ", "_")],
             row["localiser"], *(text_of(row[m]) for m in figure.measures)] for row in rows]
    table = "\n".join("| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *body))
    return (f"## {name}: {figure.title}\n\n![{figure.title}](figure{name}.svg)\n\nThe paper: "
            f"{figure.says}.\n\n{table}\n")


HEADER = """# Figures of paper 007

Figures 3 to 12 and section 6.7 of paper 003, made again with the [simulator](../../simulator.md) by
one command:

```
$ tools/deps bench
$ tests/bench/figures/votes.py build/release/bin --out docs/figures/votes
```

Section 6's network (2 pods, 40 racks, 16 and 10 switches above them, 1,600 hosts), one epoch,
{seeds} seeds (odd ones, from {first}); ± is the standard error. *Accuracy*: of the flows blamed on
a failure, those that lost most on the link named. *Found*: of the flows that a failed link hurt,
those with that link as cause. `integer` and `binary` are the optimisations of section 5.3. Every
figure here is the simulator's; [what it shows beside the paper](../README.md).

"""


def main():
    parser = argparse.ArgumentParser(description="figures of paper 007 with the simulator")
    parser.add_argument("bin")
    parser.add_argument("--out", default="build/figures/votes")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep")
    parser.add_argument("--figures", default=",".join(FIGURES))
    options = parser.parse_args()
    options.program = os.path.join(options.bin, "pathdump")
    os.makedirs(options.out, exist_ok=True)
    chosen = {name: figure for name, figure in FIGURES.items() if name in options.figures.split(",")
              or name.rstrip("ab") in options.figures.split(",")}
    points = list(dict.fromkeys(point for figure in chosen.values() for point in figure.points))
    jobs = [(point, seed) for point in points
            for seed in range(options.first, options.first + 2 * options.seeds, 2)]
    found, parts, kept = collections.defaultdict(list), [], Kept(options.keep)
    with tempfile.TemporaryDirectory() as options.scratch, concurrent.futures.ThreadPoolExecutor(
        options.jobs) as pool:
        for shape in {point.shape for point in points}:
            network(options, {**SHAPE, "pods": shape})
        def once(job):
            return kept.get([repr(job[0]), job[1]], lambda: run(options, *job))
        for (point, _), result in zip(jobs, pool.map(once, jobs)):
            found[point].append(result)
    for name, figure in chosen.items():
        rows = list(rows_of(name, figure, found))
        for row in rows:
            print(json.dumps(row), flush=True)
        draw(options, name, figure, rows)
        parts.append(section(name, figure, rows))
    with open(os.path.join(options.out, "README.md"), "w", encoding="utf-8") as out:
        out.write(HEADER.format(seeds=options.seeds, first=options.first) + "\n".join(parts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
