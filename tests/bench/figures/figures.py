#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Figures 7 and 8 of the paper (silent random drops) with the simulator: tables, data files, plots.

Usage: figures.py BIN [--out DIR] [--seeds N] [--level flow|packet] [--seconds S] [--figures 7,8]

BIN is the folder with the program `pathdump`. Each row is the mean over the seeds with its standard error; both localisers, the
better one (silent-drops) and the paper's baseline (max-coverage), see the same runs. Prints one JSON object a row, and
writes DIR/figureN.dat, .gp and, where gnuplot is installed, .svg. Exit 1 when a certain verdict was wrong.
"""
import argparse
import concurrent.futures
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile

APPS = ("silent-drops", "max-coverage")
FAULTS = (1, 2, 4)
LOSSES = (.01, .02, .03, .04)   # figure 8 (a), at load 0.7
LOADS = (.3, .5, .7, .9)        # figure 8 (b), at 1 % loss
PAPER_S = {(.01, .7, 1): 37, (.01, .7, 2): 49, (.01, .7, 4): 71, (.04, .7, 1): 3, (.04, .7, 2): 10, (.04, .7, 4): 21}


def fabric_links(k=4):
    """directed links between switches of a fat-tree, by the IDs of its generator"""
    half, links = k // 2, []
    for pod in range(k):
        for position in range(half):
            agg = k * half + pod * half + position + 1
            links += [(pod * half + tor + 1, agg) for tor in range(half)]
            links += [(agg, k * k + position * half + core + 1) for core in range(half)]
    return [f"{a}-{b}" for a, b in links] + [f"{b}-{a}" for a, b in links]


def simulate(binary, level, seconds, case, seed, app):
    """(faulty links, verdict events) of one run"""
    loss, load, faults = case
    wanted = random.Random(f"{seed} {faults}").sample(sorted(fabric_links()), faults)
    scenario = {"topology": {"fat_tree": 4}, "link_mbps": 1000, "load": load, "duration_s": seconds, "flow_sizes": "web-search",
                "spray": False, "level": level, "faults": [{"link": link, "loss": loss} for link in wanted]}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        json.dump(scenario, f)
        f.flush()
        out = subprocess.run([os.path.join(binary, "pathdump"), "simulate", f.name, "--seed", str(seed), "--app", app, "--json"],
                             capture_output=True, text=True, check=True).stdout
    events = [json.loads(line) for line in out.splitlines()]
    return set(wanted), [e for e in events if e["event"] == "verdict"]


def judge(wanted, verdicts, seconds, step):
    """when links became exactly the wanted ones to stay, when for certain, wrong certain verdicts, recall and precision per step"""
    right_s = certain_s = None
    wrong = 0
    curve, at = [], 0
    named = set()
    for i in range(1, int(seconds / step + .5) + 1):
        while at < len(verdicts) and verdicts[at]["t_s"] <= i * step + 1e-9:
            verdict, at = verdicts[at], at + 1
            named = set(verdict["links"])
            right = named == wanted
            wrong += verdict["certain"] and not right
            right_s = (right_s if right_s is not None else verdict["t_s"]) if right else None
            certain_s = (certain_s if certain_s is not None else verdict["t_s"]) if right and verdict["certain"] else None
        hits = len(named & wanted)
        curve.append((hits / len(wanted), hits / len(named) if named else 0))
    return right_s, certain_s, wrong, curve


def mean_error(values):
    mean = sum(values) / len(values)
    spread = math.sqrt(sum((v - mean) ** 2 for v in values) / max(1, len(values) - 1))
    return round(mean, 3), round(spread / math.sqrt(len(values)), 3)


def run_cases(options, cases):
    """{(case, app): [judgements, one a seed]}"""
    jobs = [(case, app, seed) for case in cases for app in APPS for seed in range(1, options.seeds + 1)]

    def one(job):
        case, app, seed = job
        wanted, verdicts = simulate(options.bin, options.level, options.seconds, case, seed, app)
        return judge(wanted, verdicts, options.seconds, .2)

    found = {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for (case, app, _), result in zip(jobs, pool.map(one, jobs)):
            found.setdefault((case, app), []).append(result)
    return found


def row8(case, app, results, seconds):
    """times; a run that did not get there counts with the whole duration, and is counted"""
    loss, load, faults = case
    row = {"figure": 8, "app": app, "loss": loss, "load": load, "faults": faults, "seeds": len(results), "duration_s": seconds}
    row["mean_s"], row["error_s"] = mean_error([seconds if r[0] is None else r[0] for r in results])
    row["never"] = sum(r[0] is None for r in results)
    if app == APPS[0]:
        row["certain_mean_s"], row["certain_error_s"] = mean_error([seconds if r[1] is None else r[1] for r in results])
        row["never_certain"] = sum(r[1] is None for r in results)
    row["wrong_certain"] = sum(r[2] for r in results)
    if case in PAPER_S:
        row["paper_s"] = PAPER_S[case]
    return row


def plot(options, name, text):
    path = os.path.join(options.out, name)
    with open(path + ".gp", "w", encoding="utf-8") as f:
        f.write(f"set terminal svg size 900,420\nset output '{name}.svg'\nset key outside\n{text}\n")
    if shutil.which("gnuplot"):
        subprocess.run(["gnuplot", name + ".gp"], cwd=options.out, check=True)


def figure7(options, found):
    """recall and precision over time, at load 0.7 and 1 % loss"""
    with open(os.path.join(options.out, "figure7.dat"), "w", encoding="utf-8") as f:
        f.write("# blocks: app, faults; columns: seconds, mean recall, its error, mean precision, its error\n")
        for app in APPS:
            for faults in FAULTS:
                curves = [r[3] for r in found[(.01, .7, faults), app]]
                f.write(f"\n\n# {app} {faults}\n")
                for i in range(len(curves[0])):
                    recall, precision = (mean_error([c[i][part] for c in curves]) for part in (0, 1))
                    f.write(f"{(i + 1) * .2:.1f} {recall[0]} {recall[1]} {precision[0]} {precision[1]}\n")
    lines = [f"'figure7.dat' index {a * len(FAULTS) + i} using 1:{{0}} with lines title '{app} {faults}'"
             for a, app in enumerate(APPS) for i, faults in enumerate(FAULTS)]
    plot(options, "figure7", "set multiplot layout 1,2\nset xlabel 's'\nset yrange [0:1.05]\n" + "\n".join(
        f"set title '{title}'\nplot " + ", ".join(line.format(column) for line in lines)
        for title, column in (("recall", 2), ("precision", 4))))


def figure8(options, found):
    """time until recall and precision are 100 %"""
    rows = [row8(case, app, results, options.seconds) for (case, app), results in found.items()]
    for row in rows:
        print(json.dumps(row), flush=True)
    with open(os.path.join(options.out, "figure8.dat"), "w", encoding="utf-8") as f:
        f.write("# blocks: part, app, faults; columns: loss or load in %, mean seconds, standard error\n")
        for part, values in (("loss", LOSSES), ("load", LOADS)):
            for app in APPS:
                for faults in FAULTS:
                    f.write(f"\n\n# {part} {app} {faults}\n")
                    other = ("load", .7) if part == "loss" else ("loss", .01)
                    for row in (r for v in values for r in rows if r[part] == v and r[other[0]] == other[1]
                                and r["app"] == app and r["faults"] == faults):
                        f.write(f"{row[part] * 100:g} {row['mean_s']} {row['error_s']}\n")
    lines = [f"'figure8.dat' index {{0}}+{a * len(FAULTS) + i} using 1:2:3 with yerrorlines title '{app} {faults}'"
             for a, app in enumerate(APPS) for i, faults in enumerate(FAULTS)]
    plot(options, "figure8", "set multiplot layout 1,2\nset logscale y\nset ylabel 's'\n" + "\n".join(
        f"set xlabel '{label}'\nplot " + ", ".join(line.format(first) for line in lines)
        for label, first in (("loss, %, at load 70 %", 0), ("load, %, at 1 % loss", len(APPS) * len(FAULTS)))))
    return sum(row["wrong_certain"] for row in rows)


def main():
    parser = argparse.ArgumentParser(description="figures of the paper with the simulator")
    parser.add_argument("bin")
    parser.add_argument("--out", default="build/figures")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--level", choices=("flow", "packet"), default="flow")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--figures", default="7,8")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    wanted = options.figures.split(",")
    cases = [(.01, .7, faults) for faults in FAULTS]
    if "8" in wanted:
        cases += [(loss, .7, faults) for loss in LOSSES for faults in FAULTS]
        cases += [(.01, load, faults) for load in LOADS for faults in FAULTS]
    found = run_cases(options, list(dict.fromkeys(cases)))
    if "7" in wanted:
        figure7(options, found)
    return 1 if "8" in wanted and figure8(options, found) else 0


if __name__ == "__main__":
    sys.exit(main())
