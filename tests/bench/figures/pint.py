#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Figures 1, 2, 5 and 7 to 11 of the paper PINT, beside what it says.

Usage: pint.py BIN [--out DIR] [--seeds N] [--first SEED] [--figures 1,2,…] [--jobs N]
[--keep FILE] [--large DIR]

BIN is the folder with the program `pathdump`. Seeds are FIRST, FIRST + 2, … (odd ones unless told
otherwise). Figures 1, 2, 7, 8 and 11 run the simulator at the level of packets, the same flows
under each transport, until all have ended; figure 10 asks `pathdump pint trials`, and PPM and AMS2
as this folder has them; 5 and 9 need no network. Prints one JSON object a point; writes
DIR/figureN.dat, .gp, .svg where gnuplot is installed, and DIR/README.md. With --keep each run is
kept in FILE as soon as it is done, and is not made again. --large: a folder with Kdl.json and
UsCarrier.json in this project's form of topologies; without it figure 10 has a fat-tree and a
ladder of switches.
"""
import argparse
import concurrent.futures
import json
import math
import os
import random
import subprocess
import sys
import tempfile

import pint_codes
import pint_runs
import plots
from kept import Kept
from pint_codes import mean, quantile

LOADS, OVERHEADS = (.3, .7), (0, 28, 48, 68, 88, 108)
HPCC_LOADS, SHARES = (.3, .5, .7), (1, 1 / 16, 1 / 256)
INT, PINT = {"transport": "hpcc-int"}, {"transport": "hpcc-pint"}
LONG = 10e6
BINS = {"web-search": (10000, 30000, 60000, 100000, 300000, 1000000, 3000000, 10000000,
                       math.inf),
        "hadoop": (400, 700, 2000, 30000, 100000, 300000, 1000000, math.inf)}
PATHS = {"fat-tree 8": (2, 4), "ladder": (8, 16, 24), "Kdl": (10, 20, 30, 40, 50, 58),
         "UsCarrier": (8, 16, 24, 30, 35)}
COLOURS = (*plots.COLOURS, "#CC79A7", "#56B4E9", "#000000", "#E69F00")


def spread(values):
    """[mean, its standard error]"""
    m = mean(values)
    rest = math.sqrt(sum((v - m) ** 2 for v in values) / max(1, len(values) - 1) / len(values))
    return [round(m, 5), round(rest, 5)]


# ---- runs of the simulator, made small: what figures need of them

def goodput(flows):
    """Mb/s of a long flow in the mean; None: there are none"""
    rates = [8e3 * size / took for _, size, took, *_ in flows if size > LONG]
    return mean(rates) if rates else None


def slowdowns(flows, bins):
    """95th percentile of took / alone by size of flows; None: fewer than ten of them"""
    found, below = [], 0
    for bound in bins:
        part = [took / alone for _, size, took, alone, _ in flows if below < size <= bound]
        found.append(quantile(part, .95) if len(part) >= 10 else None)
        below = bound
    return found


def small(options, net, workload, load, seed, members):
    done = pint_runs.run(options.program, net, workload, load, seed, members)
    flows = done["flows"]
    decided = [row[4] for row in flows if row[4]]
    return {"asked": done["asked"], "ended": len(flows), "goodput": goodput(flows),
            "took_ms": mean([row[2] for row in flows]) / 1e6,
            "slowdown": slowdowns(flows, BINS[workload]),
            "decided": mean(decided) if decided else None}


def several(options, net, workload, load, members):
    """a run a seed"""
    def one(seed):
        key = ["run", net["shape"], net["arrive_s"], workload, load, seed, members]
        return options.kept.get(key, lambda: small(options, net, workload, load, seed, members))
    return list(options.pool.map(one, options.seeds))


def ratios(name, runs, base):
    """of each seed's, where both have one"""
    return spread([a[name] / b[name] for a, b in zip(runs, base) if a[name] and b[name]])


def hadoop_net():
    """as many flows as for web-search come in a tenth of the time"""
    return {**pint_runs.HUNDRED, "arrive_s": pint_runs.HUNDRED["arrive_s"] / 5}


def overheads(options, name, figure):
    rows = []
    for load in LOADS:
        runs = {o: several(options, pint_runs.TEN, "web-search", load,
                           {"transport": "tcp", "overhead_bytes": o}) for o in OVERHEADS}
        for o in OVERHEADS[1:]:
            rows.append({"figure": figure, "load": load, "overhead": o,
                         "value": ratios(name, runs[o], runs[0])})
        rows.append({"figure": figure, "load": load, "overhead": "48 to 108",
                     "value": ratios(name, runs[108], runs[48])})
    return rows


def figure1(options):
    return overheads(options, "took_ms", "1")


def figure2(options):
    return overheads(options, "goodput", "2")


def figure7(options):
    rows = []
    for load in HPCC_LOADS:
        runs = [several(options, pint_runs.HUNDRED, "web-search", load, m) for m in (INT, PINT)]
        rows.append({"figure": "7a", "load": load, "value": ratios("goodput", *runs[::-1])})
    for figure, workload, net in (("7b", "web-search", pint_runs.HUNDRED),
                                  ("7c", "hadoop", hadoop_net())):
        for name, members in (("INT", INT), ("PINT", PINT)):
            rows += by_size(figure, name, workload,
                            several(options, net, workload, .5, members))
    return rows


def by_size(figure, name, workload, runs):
    rows = []
    for i, bound in enumerate(BINS[workload]):
        found = [run["slowdown"][i] for run in runs if run["slowdown"][i]]
        if found:
            rows.append({"figure": figure, "scheme": name, "bytes": bound if bound < 1e12 else
                         "more", "value": spread(found)})
    return rows


def figure8(options):
    rows = []
    for figure, workload, net in (("8a", "web-search", pint_runs.HUNDRED),
                                  ("8b", "hadoop", hadoop_net())):
        for share in SHARES:
            runs = several(options, net, workload, .5,
                           {**PINT, "telemetry": pint_runs.used_plan(share)})
            rows += by_size(figure, f"p = 1/{round(1 / share)}", workload, runs)
    return rows


# ---- without the simulator

def figure5(options):
    rnd, rows = random.Random(options.seeds[0]), []
    for scheme in ("Baseline", "XOR", "Hybrid"):
        found = [pint_codes.decoding(rnd, 25, scheme, 250) for _ in range(200 * len(options.seeds))]
        ends = [end or 250 for _, end in found]
        for n in (10, 20, 30, 40, 50, 60, 80, 100, 150, 200):
            rows.append({"figure": "5", "scheme": scheme, "packets": n,
                         "value": spread([curve[n - 1] for curve, _ in found]),
                         "all": round(sum(end <= n for end in ends) / len(ends), 4)})
        rows.append({"figure": "5", "scheme": scheme, "packets": "p50, p99",
                     "value": [quantile(ends, .5), quantile(ends, .99)], "all": 1})
    return rows


def figure9(options):
    rnd, rows = random.Random(options.seeds[0]), []
    hop = [1000 + rnd.expovariate(1 / 20000) for _ in range(20000)]
    cases = [("5,000 packets, all codes", 5000, 0), ("500 packets, all codes", 500, 0),
             ("5,000 packets, KLL of 100", 5000, 100), ("500 packets, KLL of 100", 500, 100)]
    for share in (.5, .99):
        for bits in (0, 8, 4):
            for name, packets, sketch in cases:
                found = [pint_codes.errors(rnd, hop, packets, 5, share, bits, sketch)
                         for _ in range(40 * len(options.seeds))]
                rows.append({"figure": "9", "quantile": share, "bits": bits or "not coded",
                             "of": name, "value": spread([v for v in found if v is not None])})
    return rows


def plan_of(bits, instances, tau, xor):
    return {"version": 1, "seed": 7, "carrier": "tag", "bits": 16, "queries": [
        {"name": "path", "aggregation": "static", "value": "switch-id", "coding": "hash",
         "bits": bits, "instances": instances, "tau": tau, "xor": [xor]}],
        "sets": [{"weight": 65536, "queries": ["path"]}]}


def trials(options, topology, hops, plan, flags):
    """[mean, p99] of packets until a path is decided; None: there is no such path"""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        json.dump(plan, f)
        f.flush()
        done = subprocess.run(
            [options.program, "pint", "trials", "--topology", topology, "--plan", f.name,
             "--trials", "200", "--seed", str(options.seeds[0]), "--hops", str(hops), *flags,
             "--json"], capture_output=True, text=True, check=False)
    if done.returncode:
        return None
    found = json.loads(done.stdout)
    assert not found["wrong"], found
    return [found["decided"]["mean"], found["decided"]["p99"]]


def ladder(options):
    """two rows of switches, linked at each place: a shortest path changes rows anywhere"""
    places = range(1, 33)
    nodes = [{"id": 100 * row + i, "name": f"s{row}-{i}", "role": "tor",
              "prefixes": [f"10.{row + 1}.{i}.0/24"]} for row in (0, 1) for i in places]
    links = [{"source": 100 * row + i, "target": 100 * row + i + 1}
             for row in (0, 1) for i in places[:-1]]
    links += [{"source": i, "target": 100 + i} for i in places]
    path = os.path.join(options.scratch, "ladder.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"name": "ladder", "codec": "pint", "nodes": nodes, "links": links}, f)
    return path


def networks(options):
    """{name: topology file}"""
    path = os.path.join(options.scratch, "fat8.json")
    done = subprocess.run([options.program, "topology", "generate", "fat-tree", "--k", "8"],
                          stdout=subprocess.PIPE, check=True)
    with open(path, "w", encoding="utf-8") as f:
        json.dump({**json.loads(done.stdout), "codec": "pint"}, f)
    found = {"fat-tree 8": path, "ladder": ladder(options)}
    for name in ("Kdl", "UsCarrier"):
        if options.large:
            found[name] = os.path.join(options.large, name + ".json")
    return found


def figure10(options):
    rnd, rows = random.Random(options.seeds[0]), []
    for name, topology in networks(options).items():
        # d = 5 on the fat-tree, 10 else: tau 3/4, and 1 / ln d (footnote 8)
        paper = 49152, round(65536 / math.log(5 if name.startswith("fat") else 10))
        schemes = {f"{known} {bits}": (plan_of(b, n, *(paper if flags else here)), flags)
                   for known, flags, here in (("paper", ("--no-topology",), ()),
                                              ("cables", (), (32768, 65536)))
                   for bits, b, n in (("2 x 8", 8, 2), ("1 x 4", 4, 1), ("1 x 1", 1, 1))}
        for hops in PATHS[name]:
            for scheme, (plan, flags) in schemes.items():
                found = options.kept.get(
                    ["trials", name, hops, scheme, options.seeds[0]],
                    lambda p=plan, f=flags, h=hops, t=topology: trials(options, t, h, p, f))
                if found:
                    rows.append({"figure": "10", "network": name, "hops": hops + 1,
                                 "scheme": scheme, "value": found})
            for scheme, packets in pint_codes.OTHERS.items():
                found = [packets(rnd, hops + 1) for _ in range(400)]
                rows.append({"figure": "10", "network": name, "hops": hops + 1, "scheme": scheme,
                             "value": [round(mean(found), 1), quantile(found, .99)]})
    return rows


def figure11(options):
    """all three at once in 16 bits, beside each alone in 16"""
    rnd, net = random.Random(options.seeds[0]), hadoop_net()
    alone = several(options, net, "hadoop", .5,
                    {**PINT, "overhead_bytes": 4, "telemetry": pint_runs.used_plan(1)})
    both = several(options, net, "hadoop", .5,
                   {**PINT, "overhead_bytes": 4, "telemetry": pint_runs.used_plan(1 / 16, True)})
    rows = [{"figure": "11", "what": "95th percentile of HPCC's slowdown, "
             + (f"flows up to {bound:,} bytes" if bound < 1e12 else "larger ones"), "value":
             spread([b["slowdown"][i] / a["slowdown"][i] for a, b in zip(alone, both)
                     if a["slowdown"][i] and b["slowdown"][i]])}
            for i, bound in enumerate(BINS["hadoop"]) if alone[0]["slowdown"][i]]
    topology = networks(options)["fat-tree 8"]
    path = [trials(options, topology, 4, plan_of(8, n, 0, 65536), ()) for n in (2, 1)]
    rows.append({"figure": "11", "what": "packets until a path is decided",
                 "value": [round(path[1][0] / path[0][0], 4), 0]})
    hop = [1000 + rnd.expovariate(1 / 20000) for _ in range(20000)]
    error = [mean([pint_codes.errors(rnd, hop, n, 5, .5, 8, 0) for _ in range(400)])
             for n in (5000, 5000 * 15 // 16)]
    rows.append({"figure": "11", "what": "error of a hop's median, points more",
                 "value": [round(100 * (error[1] - error[0]), 3), 0]})
    return rows


FIGURES = {
    "1": (figure1, "mean flow completion time over overhead, to that without",
          "48 bytes: 10 % more at 70 %; 108: 25 %"),
    "2": (figure2, "goodput of flows over 10 MB, to that without overhead",
          "48 bytes: 10 % less at 70 %; 108: 20 %; from 48 to 108 reckoned -10.1 %"),
    "5": (figure5, "hops known of 25 over packets, whole values; share of runs that know all",
          "Baseline 89 / 189 packets (median, 99th percentile), Hybrid 41 / 68"),
    "7": (figure7, "HPCC over PINT and INT: goodput over 10 MB (7a, ratio), slowdown (7b, 7c)",
          "up to 71 % more goodput at 70 %; long flows better, short ones slightly worse"),
    "8": (figure8, "HPCC over PINT on a share of packets, 95th percentile of the slowdown at 50 %",
          "1/16 is like all; 1/256 worse for short flows, and for the longest"),
    "9": (figure9, "relative error of a hop's median and 99th percentile, 5 hops",
          "goes to that of compression; a sketch of 100 costs little"),
    "10": (figure10, "packets until a path is decided; `cables`: as this project decodes",
           "59 hops, 2 x 8: 42 / 94; others at least 1,000 to 1,500 / 3,300 to 5,000"),
    "11": (figure11, "all three at once in 16 bits beside each alone in 16 (ratio)",
           "path .5 % more packets, median .7 % more error, short flows 6.6 % slower"),
}


# ---- page

def curves(rows):
    """{name: [(x, mean, error)]} of a figure's rows, where x is a number"""
    found = {}
    for row in rows:
        name = ", ".join(str(v) for k, v in row.items() if k not in
                         ("figure", "value", "all", "overhead", "packets", "bytes", "hops")
                         and not (k == "load" and "overhead" not in row))
        x = next((row[k] for k in ("overhead", "packets", "bytes", "hops", "load") if k in row),
                 None)
        if isinstance(x, (int, float)):
            found.setdefault(name or "ratio", []).append((x, *row["value"]))
    return found


def draw(options, name, rows):
    for part in sorted({row["figure"] for row in rows}):
        found = curves([row for row in rows if row["figure"] == part])
        if not found:
            continue
        plots.data(options.out, f"figure{part}", list(found.items()))
        scale = "set logscale x\n" if part[0] in "78" and part != "7a" else \
            "set logscale y\n" if part == "10" else ""
        plots.plot(options.out, f"figure{part}", scale + "set key outside right\nplot " + ", ".join(
            plots.lines(f"figure{part}.dat", i, "1:2" if part == "10" else "1:2:3",
                        curve.replace("_", " "), COLOURS[i % len(COLOURS)],
                        "linespoints lw 2 pt 7 ps 0.5" if part == "10" else
                        "yerrorlines lw 2 pt 7 ps 0.6")
            for i, curve in enumerate(found)), 480)


def value_text(name, row):
    """mean and error, or two quantiles"""
    pair = name == "10" or "p99" in str(row.get("packets"))
    return f"{row['value'][0]:g} {'/' if pair else '±'} {row['value'][1]:g}"


def section(name, rows):
    _, title, says = FIGURES[name]
    names = [key for key in dict.fromkeys(k for row in rows for k in row)
             if key not in ("value", "all")]
    head = names + ["value" if name != "10" else "mean / p99"] + (["all known"] if name == "5"
                                                                  else [])
    body = [[str(row.get(k, "")) for k in names] + [value_text(name, row)]
            + ([f"{row['all']:g}"] if name == "5" else []) for row in rows]
    table = "\n".join("| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *body))
    pictures = "\n".join(f"![figure {part}](figure{part}.svg)" for part in
                         sorted({row["figure"] for row in rows}) if part not in ("9", "11"))
    return f"## {name}: {title}\n\n{pictures}\n\nThe paper: {says}.\n\n{table}\n"


HEADER = """# Figures of PINT

Figures 1, 2, 5 and 7 to 11 of paper 002, made again by one command:

```
$ tools/deps bench
$ tests/bench/figures/pint.py build/release/bin --out docs/figures/pint
```

{seeds} seeds (odd ones, from {first}); ± is the standard error. Figures 1, 2, 7, 8 and 11 are the
[simulator's](../../simulator.md#transports-and-telemetry), at the level of packets: 1 and 2 on 16
hosts with links of 10 Gb/s, the others on a tenth of the paper's network, 32 hosts at 100 Gb/s
below switches with 400 Gb/s. [What they show beside the paper](../README.md).

"""


def read_options():
    parser = argparse.ArgumentParser(description="figures of the paper PINT")
    parser.add_argument("bin")
    parser.add_argument("--out", default="build/figures/pint")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep")
    parser.add_argument("--large")
    parser.add_argument("--figures", default=",".join(FIGURES))
    options = parser.parse_args()
    options.program = os.path.join(options.bin, "pathdump")
    options.seeds = range(options.first, options.first + 2 * options.seeds, 2)
    options.kept = Kept(options.keep)
    os.makedirs(options.out, exist_ok=True)
    return options


def main():
    options, parts = read_options(), []
    chosen = options.figures.split(",")
    with tempfile.TemporaryDirectory() as options.scratch, concurrent.futures.ThreadPoolExecutor(
        options.jobs) as options.pool:
        for name in (name for name in FIGURES if name in chosen):
            rows = FIGURES[name][0](options)
            for row in rows:
                print(json.dumps(row), flush=True)
            draw(options, name, rows)
            parts.append(section(name, rows))
    with open(os.path.join(options.out, "README.md"), "w", encoding="utf-8") as out:
        out.write(HEADER.format(seeds=len(options.seeds), first=options.first) + "\n".join(parts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
