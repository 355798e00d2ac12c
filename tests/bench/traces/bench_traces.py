#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Traces beside the way that the data took, on the test bed: one JSON object a line. As root.

Usage: bench_traces.py [BIN-FOLDER] [--fabric router|tc] [--flows N] [--only same reroute quiet]

Each flow, IPv4 or IPv6, sends a burst and is traced at once by its host's agent. The way of the
burst is what packet sockets on all wires have seen of it (its packets are large, probes are not).

same: routes stand still. "wrong": traces of another way than the data's; "gaps": of the data's, as
far as routers answered in time. On the fabric tc also those that contradict the packets' tags.
reroute: each second a switch takes another seed of ECMP. Of the flows whose first probe left within
5 ms of their data: the share whose trace is the way of the data. Bursts that were split between two
ways have no way, and are counted.
quiet: open connections that send nothing are traced: what their receivers send back, and RSTs and
retransmissions of all hosts, with traces and without."""
import argparse
import json
import os
import random
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "testbed"))

import flows                                    # noqa: E402
from agent import Agent, FLOW_ID                # noqa: E402  (found by the line above)
from bed import BINARIES, Bed                   # noqa: E402
from commands import inside, run_all, wait_for  # noqa: E402
from wire import Account                        # noqa: E402

PROMPT_US, REROUTED_EACH_S = 5000, 1
TRACES = ("--trace", "suffering", "--trace-rate", "1000")


class Bench:
    def __init__(self, bed, flows_wanted):
        self.bed, tags = bed, bed.fabric.tags
        self.agents = {i: Agent(host, bed.folder, "live:eth0" if tags else "none",
                                ("--strip", *TRACES) if tags else TRACES)
                       for i, host in bed.hosts.items()}
        for agent in self.agents.values():
            agent.launch()
        for agent in self.agents.values():
            wait_for(lambda agent=agent: agent.curl("status"), "an agent")
        for host in bed.hosts.values():
            self.popen(host, "serve").stdout.readline()
        pairs = 2 * len(bed.hosts) * (len(bed.hosts) - 1)
        each = max(1, -(-flows_wanted // pairs))
        self.senders = [self.popen(host, "send", self.agents[i].socket, each, *(
            address for other in bed.hosts.values() if other is not host
            for address in (other.ipv4, other.ipv6))) for i, host in bed.hosts.items()]

    @staticmethod
    def popen(host, *words):
        return host.popen([sys.executable, flows.__file__, *words], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True)

    def work(self, how):
        """what all flows of a round have found, and what was on the wires meanwhile"""
        for sender in self.senders:
            if sender.stdout.readline() != "open\n":
                raise RuntimeError("a sender has ended")
        account = Account(self.bed)
        for sender in self.senders:
            print(how, file=sender.stdin, flush=True)
        found = [row for sender in self.senders for row in json.loads(sender.stdout.readline())]
        seen = account.stop()
        for sender in self.senders:
            print(file=sender.stdin, flush=True)
        return found, seen

    def counts(self):
        """of all hosts' TCP"""
        total = {"OutRsts": 0, "RetransSegs": 0, "InCsumErrors": 0}
        for host in self.bed.hosts.values():
            text = run_all([inside(host.namespace, ["cat", "/proc/net/snmp"])])[0]
            names, values = [line.split()[1:] for line in text.splitlines()
                             if line.startswith("Tcp:")]
            for name, value in zip(names, values):
                total[name] = total.get(name, 0) + int(value)
        return {name: total[name] for name in ("OutRsts", "RetransSegs", "InCsumErrors")}

    def end(self):
        for sender in self.senders:
            sender.stdin.close()


def way_of(links):
    """switches that a whole burst crossed, first to last; None where it was split or lost"""
    full = {a: b for (a, b), (_, size) in links.items()
            if size >= flows.BURST_PKTS * flows.PKT_BYTES}
    starts = set(full) - set(full.values())
    if len(starts) != 1:
        return None
    at, way = starts.pop(), []
    while at in full:
        at = full[at]
        way.append(at)
    return way


def family(row):
    return 6 if ":" in row["flow"][0] else 4


def agrees(path, reached, way):
    """with all that the trace knows: 0 is one or more switches that are not known"""
    if not path or not way:
        return not path and (not way or not reached)
    if path[0]:
        return path[0] == way[0] and agrees(path[1:], reached, way[1:])
    return any(agrees(path[1:], reached, way[n:]) for n in range(1, len(way) + 1))


def judge(rows, account, host_ids):
    """how many of each kind, and the wrong ones"""
    counts, wrong = dict.fromkeys(("right", "gaps", "wrong", "split", "failed"), 0), []
    for row in rows:
        way, trace = way_of(account.get(tuple(row["flow"]), {})), row["trace"]
        way = way and [switch for switch in way if switch not in host_ids]
        kind = "failed" if "path" not in trace else "split" if not way else (
            "right" if trace["path"] == way and trace["reached"] else
            "gaps" if agrees(trace["path"], trace["reached"], way) else "wrong")
        counts[kind] += 1
        if kind in ("wrong", "failed"):
            wrong.append((row["flow"], way, trace.get("path", trace)))
    return counts, wrong


def tagged(bench, rows):
    """(flows of which receivers know the way from tags, those whose trace differs)"""
    known = {}
    for agent in bench.agents.values():
        for row in agent.query("getFlows")["flows"]:
            flow = tuple(row["flow_id"][name] for name in FLOW_ID)
            if row.get("origin", "tags") == "tags":
                known[flow] = row["path"]
    both = [row for row in rows if tuple(row["flow"]) in known and "path" in row["trace"]]
    return len(both), sum(not agrees(row["trace"]["path"], row["trace"]["reached"],
                                     known[tuple(row["flow"])]) for row in both)


def show(**more):
    print(json.dumps(more), flush=True)


def same(bench):
    rows, account = bench.work("burst")
    for version in (4, 6):
        mine = [row for row in rows if family(row) == version]
        counts, wrong = judge(mine, account, bench.bed.hosts)
        took = sorted(row["ms"] for row in mine)
        more = {}
        if bench.bed.fabric.tags:
            both, differ = tagged(bench, mine)
            more = {"with_tags": both, "other_than_tags": differ}
        show(bench="traced_path", fabric=bench.bed.fabric.name, ip=version, flows=len(mine),
             **counts, **more, median_ms=round(took[len(took) // 2], 2), wanted_wrong=0,
             examples=wrong[:3])


def reroute(bench):
    switches, stop = [n.id for n in bench.bed.network.switches], threading.Event()
    turns = 0

    def turn():
        nonlocal turns
        while not stop.is_set():
            bench.bed.faults.add({"switch": random.choice(switches), "reroute": True})
            turns += 1
            time.sleep(REROUTED_EACH_S)
    thread = threading.Thread(target=turn)
    thread.start()
    try:
        rows, account = bench.work("burst")
    finally:
        stop.set()
        thread.join()
        bench.bed.faults.clear()
    prompt = [row for row in rows
              if "path" in row["trace"]
              and 0 <= row["trace"]["time_us"] - row["sent_us"] <= PROMPT_US]
    counts, wrong = judge(prompt, account, bench.bed.hosts)
    judged = counts["right"] + counts["gaps"] + counts["wrong"]
    show(bench="traced_path_rerouted", fabric=bench.bed.fabric.name, flows=len(rows),
         reroutes=turns, within_5_ms=len(prompt), **counts,
         share=round(1 - counts["wrong"] / max(1, judged), 4), wanted=.99, examples=wrong[:3])


def quiet(bench):
    for how in ("data", "burst", "quiet"):
        time.sleep(1)                           # connections of the round before have ended
        before = bench.counts()
        rows, account = bench.work(how)
        after = bench.counts()
        traced = sum("path" in row.get("trace", ()) for row in rows)
        back = [(flow[1], flow[0], flow[3], flow[2], flow[4])
                for flow in (row["flow"] for row in rows)]
        answers = sum(max((pkts for pkts, _ in account.get(flow, {}).values()), default=0)
                      for flow in back)
        show(bench="disturbed", how=how, fabric=bench.bed.fabric.name, flows=len(rows),
             traced=traced, rsts=after["OutRsts"] - before["OutRsts"],
             retransmissions=after["RetransSegs"] - before["RetransSegs"],
             probes_dropped=after["InCsumErrors"] - before["InCsumErrors"],
             packets_back=answers)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin", nargs="?", default=BINARIES)
    parser.add_argument("--fabric", default="router")
    parser.add_argument("--flows", type=int, default=2000)
    parser.add_argument("--only", nargs="*", default=["same", "reroute", "quiet"])
    options = parser.parse_args()
    random.seed()
    with Bed(f"traces{os.getpid()}", binaries=options.bin, fabric=options.fabric, controller=True,
             tagged=all) as bed:
        bench = Bench(bed, options.flows)
        for name in options.only:
            {"same": same, "reroute": reroute, "quiet": quiet}[name](bench)
        bench.end()


if __name__ == "__main__":
    main()
