#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Figures 5 to 8 of the paper with the simulator: tables, data files, plots. One command, ten seeds
each, with the standard error.

Usage: figures.py BIN [--out DIR] [--seeds N] [--level flow|packet] [--seconds S] [--figures
5,6,7,8] [--jobs N]

BIN is the folder with the program `pathdump`. Prints one JSON object a row; writes DIR/figureN.dat,
.gp and .md (a table) and, where gnuplot is installed, .svg. Figures 5 and 6 ask the application
load-imbalance, 7 and 8 silent-drops with both localisers, ours and the paper's baseline, which see
the same runs. Exit 1 when a certain verdict was wrong.
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

APPS = ("silent-drops", "max-coverage")
FAULTS = (1, 2, 4)
LOSSES = (.01, .02, .03, .04)   # figure 8 (a), at load 0.7
LOADS = (.3, .5, .7, .9)        # figure 8 (b), at 1 % loss
PAPER_S = {(.01, .7, 1): 37, (.01, .7, 2): 49, (.01, .7, 4): 71, (.04, .7, 1): 3, (.04, .7, 2): 10,
           (.04, .7, 4): 21}
STEP_S = .2
SPLIT = [{"switch": 9, "split_bytes": 1000000}]
LINKS = ("9-17", "9-18")
# more packets over one of the four paths
WEIGHTS = [{"switch": 10, "weights": {"19": 3, "20": 1}}]
PATHS = ("1-9-17-13-5", "1-9-18-13-5", "1-10-19-14-5", "1-10-20-14-5")


# ---- runs

def simulate(options, seed, app, scenario, *flags):
    """verdict events of one run"""
    scenario = {"topology": {"fat_tree": 4}, "link_mbps": 1000, "flow_sizes": "web-search",
                "level": options.level, **scenario}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        json.dump(scenario, f)
        f.flush()
        out = subprocess.run([os.path.join(options.bin, "pathdump"), "simulate", f.name, "--seed",
                              str(seed), "--app", app, "--json",
                              *flags], stdout=subprocess.PIPE, text=True, check=True).stdout
    return [event for event in map(json.loads, out.splitlines()) if event["event"] == "verdict"]


def for_all(options, work, jobs):
    """results of work(*job) for each of the jobs, several at a time"""
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        return list(pool.map(lambda job: work(*job), jobs))


def mean_error(values):
    mean = sum(values) / len(values)
    spread = math.sqrt(sum((v - mean) ** 2 for v in values) / max(1, len(values) - 1))
    return round(mean, 4), round(spread / math.sqrt(len(values)), 4)


def show(rows):
    for row in rows:
        print(json.dumps(row), flush=True)
    return rows


# ---- figure 5: a hash by size

def rates(options, seed, faults):
    """imbalance rates of the two links, each 5 s for 10 minutes"""
    events = simulate(options, seed, "load-imbalance",
                      {"load": .5, "duration_s": 600, "faults": faults}, "--links", ",".join(LINKS),
                      "--window", "5", "--interval", "5", "--every-run")
    return [event["results"]["rate"][0]["rate_pct"] for event in events]


def sizes(options, seed, faults):
    """{link: {bytes: flows of at most so many}} over a minute"""
    last = simulate(options, seed, "load-imbalance",
                    {"load": .5, "duration_s": 60, "faults": faults}, "--links", ",".join(LINKS),
                    "--every-run")[-1]
    found = {link: {} for link in LINKS}
    for row in last["results"]["sizes"]:
        found[row["link"]][row["upto_bytes"]] = row["flows"]
    return found


def shares_up_to(values, points):
    """of values {at: weight}, the share that lies at each point or below"""
    total = sum(values.values())
    return [sum(weight for at, weight in values.items() if at <= point) / total for point in points]


def figure5(options):
    grid = list(range(0, 101, 2))
    edges = sorted(int(f"{digit}{'0' * power}") for digit in (1, 2, 5) for power in range(3, 8))
    blocks, rows = [], []
    for name, faults in (("hash by size", SPLIT), ("fair hash", [])):
        found = for_all(options, rates,
                        [(options, seed, faults) for seed in range(1, options.seeds + 1)])
        curves = [shares_up_to(collections.Counter(run), grid) for run in found]
        blocks.append((f"imbalance rate, {name}: per cent, share of intervals, error",
                       [(x, *mean_error([c[i] for c in curves])) for i, x in enumerate(grid)]))
        rows.append({"figure": 5, "hash": name, "seeds": len(found), "intervals": len(found[0]),
                     "share_of_40_pct_or_more": mean_error([sum(r >= 40 for r in run) / len(run)
                                                            for run in found]),
                     "mean_rate_pct": mean_error([sum(run) / len(run) for run in found])})
    found = for_all(options, sizes,
                    [(options, seed, SPLIT) for seed in range(1, options.seeds + 1)])
    for link in LINKS:
        curves = [shares_up_to(run[link], edges) for run in found]
        blocks.append((f"flow sizes on {link}: bytes, share of flows, error",
                       [(x, *mean_error([c[i] for c in curves])) for i, x in enumerate(edges)]))
        rows.append({"figure": 5, "link": link, "seeds": len(found),
                     "share_of_flows_up_to_1_mb": mean_error([shares_up_to(run[link], [1000000])[0]
                                                              for run in found])})
    show(rows)
    plots.figure5(options.out, blocks)
    head = ["", "paper", "here"]
    body = [["intervals with a rate of 40 % or more", "about 80 %",
             f"{percent(rows[0]['share_of_40_pct_or_more'])}"],
            ["the same, fair hash", "–", percent(rows[1]["share_of_40_pct_or_more"])],
            ["mean rate", "–",
             "{} ± {} %".format(*(round(v, 1) for v in rows[0]["mean_rate_pct"]))],
            ["flows of at most 1 MB on link 1 (9-17)", "few",
             percent(rows[2]["share_of_flows_up_to_1_mb"])],
            ["flows of at most 1 MB on link 2 (9-18)", "nearly all",
             percent(rows[3]["share_of_flows_up_to_1_mb"])]]
    plots.table(options.out, "figure5", head, body)


def percent(pair):
    return f"{pair[0] * 100:.1f} ± {pair[1] * 100:.1f} %"


# ---- figure 6: a sprayed flow of 100 MB

def path_bytes(options, seed, faults):
    scenario = {"load": 0, "duration_s": 5, "spray": True, "level": "packet",
                "flows": [{"src": 21, "dst": 30, "bytes": 100000000}],
                "faults": faults}
    event = simulate(options, seed, "load-imbalance", scenario, "--src-ip", "10.1.1.2", "--dst-ip",
                     "10.3.1.3", "--every-run")[-1]
    found = {row["path"]: row["bytes"] / 1e6 for row in event["results"]["paths"]}
    return [found[path] for path in PATHS]


def figure6(options):
    columns, rows = [], []
    for name, faults in (("balanced", []), ("imbalanced", WEIGHTS)):
        found = for_all(options, path_bytes,
                        [(options, seed, faults) for seed in range(1, options.seeds + 1)])
        columns.append([mean_error([run[i] for run in found]) for i in range(len(PATHS))])
        rows += [{"figure": 6, "case": name, "path": path, "seeds": len(found), "mean_mb": mean,
                  "error_mb": error}
                 for path, (mean, error) in zip(PATHS, columns[-1])]
    show(rows)
    plots.figure6(options.out,
                  [(i + 1, *columns[0][i], *columns[1][i], PATHS[i]) for i in range(len(PATHS))])
    plots.table(options.out, "figure6", ["path", "switches", "balanced, MB", "imbalanced, MB"],
                [[str(i + 1), path] + [f"{c[i][0]:.2f} ± {c[i][1]:.2f}" for c in columns]
                 for i, path in enumerate(PATHS)])


# ---- figures 7 and 8: silent random drops

def fabric_links(k=4):
    """directed links between switches of a fat-tree, by the IDs of its generator"""
    half, links = k // 2, []
    for pod in range(k):
        for position in range(half):
            agg = k * half + pod * half + position + 1
            links += [(pod * half + tor + 1, agg) for tor in range(half)]
            links += [(agg, k * k + position * half + core + 1) for core in range(half)]
    return [f"{a}-{b}" for a, b in links] + [f"{b}-{a}" for a, b in links]


def judge(wanted, verdicts, seconds):
    """when links became exactly the wanted ones to stay, when for certain, wrong certain verdicts,
    recall and precision per step"""
    right_s = certain_s = None
    wrong = 0
    curve, at = [], 0
    named = set()
    for i in range(1, int(seconds / STEP_S + .5) + 1):
        while at < len(verdicts) and verdicts[at]["t_s"] <= i * STEP_S + 1e-9:
            verdict, at = verdicts[at], at + 1
            named = set(verdict["links"])
            right = named == wanted
            wrong += verdict["certain"] and not right
            right_s = (right_s if right_s is not None else verdict["t_s"]) if right else None
            certain_s = (certain_s if certain_s is not None
                         else verdict["t_s"]) if right and verdict["certain"] else None
        hits = len(named & wanted)
        curve.append((hits / len(wanted), hits / len(named) if named else 0))
    return right_s, certain_s, wrong, curve


def hunt(options, case, app, seed):
    loss, load, faults = case
    wanted = random.Random(f"{seed} {faults}").sample(sorted(fabric_links()), faults)
    verdicts = simulate(options, seed, app, {"load": load, "duration_s": options.seconds,
                                             "faults": [{"link": link, "loss": loss}
                                                        for link in wanted]})
    return judge(set(wanted), verdicts, options.seconds)


def hunts(options, cases):
    """{(case, app): [judgements, one a seed]}"""
    jobs = [(options, case, app, seed) for case in cases for app in APPS
            for seed in range(1, options.seeds + 1)]
    found = {}
    for (_, case, app, _), result in zip(jobs, for_all(options, hunt, jobs)):
        found.setdefault((case, app), []).append(result)
    return found


def figure7(options, found):
    """recall and precision over time, at load 0.7 and 1 % loss"""
    blocks, body = [], []
    for app in APPS:
        for faults in FAULTS:
            curves = [r[3] for r in found[(.01, .7, faults), app]]
            points = [(round((i + 1) * STEP_S, 1), *mean_error([c[i][0] for c in curves]),
                       *mean_error([c[i][1] for c in curves]))
                      for i in range(len(curves[0]))]
            blocks.append((f"{app}, {faults} faults: seconds, recall, error, precision, error",
                           points))
            for second in (1, 2, 5, 20):
                point = points[min(len(points), int(second / STEP_S + .5)) - 1]
                body.append([app, str(faults), str(second), f"{point[1]:.2f} ± {point[2]:.2f}",
                             f"{point[3]:.2f} ± {point[4]:.2f}"])
    plots.figure7(options.out, blocks, FAULTS)
    plots.table(options.out, "figure7", ["method", "faults", "s", "recall", "precision"], body)


def row8(case, app, results, seconds):
    """times; a run that did not get there counts with the whole duration, and is counted"""
    loss, load, faults = case
    row = {"figure": 8, "app": app, "loss": loss, "load": load, "faults": faults,
           "seeds": len(results), "duration_s": seconds}
    row["mean_s"], row["error_s"] = mean_error([seconds if r[0] is None else r[0] for r in results])
    row["never"] = sum(r[0] is None for r in results)
    if app == APPS[0]:
        row["certain_mean_s"], row["certain_error_s"] = mean_error([seconds if r[1] is None
                                                                    else r[1] for r in results])
        row["never_certain"] = sum(r[1] is None for r in results)
    row["wrong_certain"] = sum(r[2] for r in results)
    if case in PAPER_S:
        row["paper_s"] = PAPER_S[case]
    return row


def figure8(options, found):
    """time until recall and precision are 100 %"""
    rows = show([row8(case, app, results, options.seconds)
                 for (case, app), results in found.items()])
    blocks = []
    for part, values in (("loss", LOSSES), ("load", LOADS)):
        other = ("load", .7) if part == "loss" else ("loss", .01)
        for app in APPS:
            for faults in FAULTS:
                chosen = [row for v in values for row in rows
                          if row[part] == v and row[other[0]] == other[1] and row["app"] == app
                          and row["faults"] == faults]
                blocks.append((f"{part}, {app}, {faults} faults: {part} in %, mean seconds, error, "
                               f"runs that never got there",
                               [(row[part] * 100, row["mean_s"], row["error_s"], row["never"])
                                for row in chosen]))
    for faults in FAULTS:
        blocks.append((f"paper, {faults} faults: loss in %, seconds",
                       [(loss * 100, s) for (loss, _, n), s in PAPER_S.items() if n == faults]))
    plots.figure8(options.out, blocks, FAULTS, options.seconds)
    body = []
    for loss, load, faults in dict.fromkeys(case for case, _ in found):
        ours, base = (next(r for r in rows if (r["app"], r["loss"], r["load"], r["faults"])
                           == (app, loss, load, faults)) for app in APPS)
        body.append([f"{loss * 100:g} %", f"{load * 100:g} %", str(faults),
                     str(PAPER_S.get((loss, load, faults), "")),
                     f"{ours['mean_s']:.2f} ± {ours['error_s']:.2f}",
                     f"{ours['certain_mean_s']:.2f} ± {ours['certain_error_s']:.2f}",
                     f"{base['mean_s']:.1f} ± {base['error_s']:.1f}",
                     f"{base['never']} of {base['seeds']}"])
    plots.table(options.out, "figure8", ["loss", "load", "faults", "paper, s", "silent-drops, s",
                                         "… certain, s", "max-coverage, s", "… never"],
                body)
    return sum(row["wrong_certain"] for row in rows)


def main():
    parser = argparse.ArgumentParser(description="figures of the paper with the simulator")
    parser.add_argument("bin")
    parser.add_argument("--out", default="build/figures")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=20, help="simulated, of figures 7 and 8")
    parser.add_argument("--level", choices=("flow", "packet"), default="flow")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--figures", default="5,6,7,8")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    wanted = options.figures.split(",")
    if "5" in wanted:
        figure5(options)
    if "6" in wanted:
        figure6(options)
    cases = [(.01, .7, faults) for faults in FAULTS] if "7" in wanted else []
    if "8" in wanted:
        cases += [(loss, .7, faults) for loss in LOSSES for faults in FAULTS]
        cases += [(.01, load, faults) for load in LOADS for faults in FAULTS]
    found = hunts(options, list(dict.fromkeys(cases)))
    if "7" in wanted:
        figure7(options, found)
    return 1 if "8" in wanted and figure8(options, found) else 0


if __name__ == "__main__":
    sys.exit(main())
