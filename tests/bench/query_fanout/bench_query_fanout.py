#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One question to many hosts (the paper's section 5.1): 112 real agents with 240K records each,
direct and along a tree of 7 x 4 x 4.

Usage: bench_query_fanout.py [BIN-FOLDER] [--rounds N] [--folder DIR] [--out DIR] [--docs FILE]

Prints one JSON object a line: medians of rounds in which all combinations take turns, the bars
beside, the fitted model and what it says of more hosts. --out writes query_fanout.dat, .gp and,
where gnuplot is installed, .svg; --docs replaces the table in that file. The stores need 0.8 GB
below --folder (a folder of its own that is removed at the end unless it is given), the agents about
3 GB of memory.
"""
import argparse
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import model
from fleet import PORT, Fleet, address, ask, cpu_s

HERE = os.path.dirname(os.path.abspath(__file__))
QUERIES = {"topFlows": {"k": 10000, "by": "bytes"},
           "flowSizes": {"link": "30-62", "bin_bytes": 100000}}
MODES = ("direct", "tree")
HOSTS = (16, 32, 64, 112)
BARS = {("topFlows", "direct"): {"wall_ms": 1200},
        ("topFlows", "tree"): {"wall_ms": 1200, "critical_path_ms": 60, "bytes": 25_000_000},
        ("flowSizes", "direct"): {"wall_ms": 40, "critical_path_ms": 5},
        ("flowSizes", "tree"): {"wall_ms": 60, "critical_path_ms": 5}}
PAPER_MS = {("topFlows", "direct"): 7000, ("topFlows", "tree"): 2300, ("flowSizes", "direct"): 188,
            ("flowSizes", "tree"): 182}
COST = ("complete", "mode", "why", "hosts", "cost", "token")
RATE_PER_S, RATE_S = 10, 10
MARKS = "<!-- query_fanout: made by its command -->", "<!-- end of query_fanout -->"


def say(row):
    print(json.dumps(row), flush=True)
    return row


def measure(fleet, hosts, rounds):
    """{(query, mode, hosts): [(wall ms, bytes, critical path ms)]}; the first round warms up and
    only checks that direct and tree say the same"""
    found = {(q, m, n): [] for q in QUERIES for m in MODES for n in hosts}
    said, order = {}, random.Random(1)
    for turn in range(rounds + 1):
        for query, mode, n in order.sample(list(found), len(found)):
            document, wall_ms = fleet.execute(n, mode, query, QUERIES[query])
            if turn:
                cost = document["cost"]
                found[query, mode,
                      n].append((wall_ms, cost["bytes"], cost["critical_path_us"] / 1000))
            else:
                rows = {key: value for key, value in document.items() if key not in COST}
                if said.setdefault((query, n), rows) != rows:
                    raise RuntimeError(
                        f"{query} of {n} hosts: direct and tree say different things")
    return found


def medians(found):
    rows = []
    for (query, mode, hosts), results in found.items():
        wall, size, critical = (statistics.median(part) for part in zip(*results))
        row = {"query": query, "mode": mode, "hosts": hosts, "wall_ms": round(wall, 1),
               "bytes": int(size), "critical_path_ms": round(critical, 2),
               "wall_min_ms": round(min(r[0] for r in results), 1), "rounds": len(results)}
        if hosts == max(n for _, _, n in found):
            bars = BARS[query, mode]
            row |= {f"bar_{name}": bar for name, bar in bars.items()} | {"paper_wall_ms": PAPER_MS[
                query, mode], "held": all(row[n] <= bar for n, bar in bars.items())}
        rows.append(say(row))
    return rows


def share(fleet):
    """share of a core at one agent that is asked ten times a second; what it takes when nobody asks
    is measured and not taken away"""
    pid, rows = fleet.agents[0].pid, []
    for query in (None, *QUERIES):
        body = json.dumps({"query": query, "args": QUERIES.get(query), "deadline_ms": 5000})
        begun, before = time.monotonic(), cpu_s(pid)
        for turn in range(RATE_PER_S * RATE_S):
            if query:
                ask(address(0), PORT, "POST", "/v1/query", body)
            time.sleep(max(0, begun + (turn + 1) / RATE_PER_S - time.monotonic()))
        took = time.monotonic() - begun
        percent = (cpu_s(pid) - before) / took * 100
        rows.append(say({"bench": "query_share", "query": query or "none",
                         "queries_per_s": round(bool(query) * RATE_PER_S * RATE_S / took, 1),
                         "core_percent": round(percent, 2), "bar_core_percent": 2,
                         "held": percent <= 2}))
    return rows


def predictions(rows):
    found, costs = [], {}
    for query in QUERIES:
        costs[query] = cost = model.fit((r["mode"], r["hosts"], r["critical_path_ms"], r["bytes"])
                                        for r in rows if r["query"] == query)
        say({"model": query} | {name: round(value, 4) for name, value in cost.items()})
        for hosts in model.HOSTS:
            direct, fanout, tree = model.predict(cost, hosts)
            found.append(say({"model": query, "hosts": hosts, "direct_ms": round(direct, 1),
                              "best_fanout": fanout, "tree_ms": round(tree, 1)}))
    return found, costs


def plot(folder, rows, predicted):
    """left: measured on this machine; right: what the model says for a machine to each host"""
    os.makedirs(folder, exist_ok=True)
    path, lines = os.path.join(folder, "query_fanout"), ([], [])
    with open(path + ".dat", "w", encoding="utf-8") as out:
        out.write(
            "# measured: hosts, wall ms, critical path ms; model: hosts, direct ms, best tree ms\n")
        for i, (query, mode) in enumerate((q, m) for q in QUERIES for m in MODES):
            out.write(f"\n\n# {query} {mode}\n"
                      + "".join(f"{r['hosts']} {r['wall_ms']} {r['critical_path_ms']}\n"
                                for r in rows if (r["query"], r["mode"]) == (query, mode)))
            lines[0].append(
                f"'query_fanout.dat' index {i} using 1:2 with linespoints title '{query} {mode}'")
        for i, query in enumerate(QUERIES, len(QUERIES) * len(MODES)):
            out.write(f"\n\n# model {query}\n"
                      + "".join(f"{r['hosts']} {r['direct_ms']} {r['tree_ms']}\n" for r in predicted
                                if r["model"] == query))
            lines[1].extend(f"'query_fanout.dat' index {i} using 1:{column} with linespoints title "
                            f"'{query} {mode}'" for column, mode in enumerate(MODES, 2))
    with open(path + ".gp", "w", encoding="utf-8") as out:
        out.write("set terminal svg size 900,420 background 'white'\nset output "
                  "'query_fanout.svg'\nset multiplot layout 1,2\nset key below maxrows 2\nset "
                  "grid\nset xlabel 'hosts'\nset ylabel 'ms'\n"
                  "set logscale y\nset yrange [*:*]\nset title 'measured: all hosts on two cores, "
                  "wall'\nplot " + ", ".join(lines[0]) + "\nset logscale x\nset title 'model: a "
                  "machine to each host'\nplot " + ", ".join(lines[1]) + "\nunset multiplot\n")
    if shutil.which("gnuplot"):
        subprocess.run(["gnuplot", "query_fanout.gp"], cwd=folder, check=True)


def table(rows, shares, predicted, costs):
    most, text = max(r["hosts"] for r in rows), [
        "| query | mode | hosts | wall ms | asked | the paper | critical path ms | asked | MB over "
        "all links | asked |", "|---" * 10 + "|"]
    for r in rows:
        bars = BARS[r["query"], r["mode"]] if r["hosts"] == most else {}
        asked = {name: f"{bars[name]:g}" if name in bars else "–"
                 for name in ("wall_ms", "critical_path_ms")}
        size = f"{bars['bytes'] / 1e6:g}" if "bytes" in bars else "–"
        paper = PAPER_MS[r["query"], r["mode"]] if r["hosts"] == most else "–"
        text.append(f"| {r['query']} | {r['mode']} | {r['hosts']} | {r['wall_ms']:,} | "
                    f"{asked['wall_ms']} | {paper} | {r['critical_path_ms']:,} | "
                    f"{asked['critical_path_ms']} | {r['bytes'] / 1e6:.3f} | {size} |")
    text += ["", "| query, ten times a second at one agent | share of a core, % | asked |",
             "|---|---|---|"]
    text += [f"| {r['query']} | {r['core_percent']} | {r['bar_core_percent']} |" for r in shares]
    text += ["", "| model: query | hosts | direct ms | best fan-out | with it ms |",
             "|---|---|---|---|---|"]
    text += [f"| {r['model']} | {r['hosts']:,} | {r['direct_ms']:,} | {r['best_fanout']} | "
             f"{r['tree_ms']:,} |" for r in predicted]
    text += ["", "| fitted cost | own query ms | each child merged ms | each inner level ms | "
             "bytes of an answer |", "|---|---|---|---|---|"]
    text += [f"| {q} | {c['own_ms']:.2f} | {c['merge_ms']:.3f} | {c['level_ms']:.2f} | "
             f"{c['answer_bytes']:,.0f} |" for q, c in costs.items()]
    return "\n".join(text)


def replace_table(name, text):
    with open(name, encoding="utf-8") as file:
        before = file.read()
    after = re.sub(f"(?s){MARKS[0]}.*{MARKS[1]}",
                   lambda _: f"{MARKS[0]}\n\n{text}\n\n{MARKS[1]}", before)
    if MARKS[0] not in before or MARKS[1] not in before:
        raise RuntimeError(f"{name} has no place for the table: {MARKS[0]} … {MARKS[1]}")
    with open(name, "w", encoding="utf-8") as file:
        file.write(after)


def run(options, folder):
    hosts = [n for n in HOSTS if n <= options.hosts] or [options.hosts]
    fleet = Fleet(os.path.abspath(options.bin), folder, options.hosts, options.records)
    fleet.make()
    before = os.getloadavg()[0]
    with fleet:
        say({"bench": "query_fanout", "agents": options.hosts, "records_each": options.records,
             "cores": os.cpu_count(), "load_before": round(before, 2)})
        rows = medians(measure(fleet, hosts, options.rounds))
        shares = share(fleet)
    predicted, costs = predictions(rows)
    if options.out:
        plot(options.out, rows, predicted)
    if options.docs:
        busy = ", so the wall times are those of a busy machine"
        taken = (f"Taken on {time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, medians of "
                 f"{options.rounds} rounds; {before:.1f} processes wanted a core when it began"
                 f"{busy * (before > os.cpu_count() / 2)}.\n\n")
        replace_table(options.docs, taken + table(rows, shares, predicted, costs))


def main():
    parser = argparse.ArgumentParser(
        description="one question to many hosts, direct and along a tree")
    parser.add_argument("bin", nargs="?", default=os.path.join(HERE, "../../../build/release/bin"))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--hosts", type=int, default=112,
                        help="agents to start; fewer for a quick look")
    parser.add_argument("--records", type=int, default=240_000)
    parser.add_argument("--folder", help="keeps the stores here for the next run")
    parser.add_argument("--out", default="build/figures")
    parser.add_argument("--docs", metavar="FILE", help="docs/benchmarks.md")
    options = parser.parse_args()
    if options.folder:
        os.makedirs(options.folder, exist_ok=True)
        return run(options, options.folder)
    with tempfile.TemporaryDirectory(prefix="pathdump-fanout-") as folder:
        return run(options, folder)


if __name__ == "__main__":
    sys.exit(main())
