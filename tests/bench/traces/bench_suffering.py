#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""007 on real routers and real TCP: what it costs, what it finds, what routers bear. One JSON
object a line. As root.

Usage: bench_suffering.py [BIN-FOLDER] [--only agent tcp storm]

agent: memory, processor time of the tracer's thread and bytes of probes, of agents without traces
and with them; nothing lost, then more lost than may be traced.
tcp: one link loses 1 % for two epochs; then two lose 0.2 and 0.05 % for ten. Rank of these links
in drop-causes; a cause is right when it is the bad link of the flow's path, or none where the path
has none.
storm: 112 hosts, each of which loses more than it may trace: answers of the busiest router in each
second; and how long after the end of an epoch the controller has the ranking of all hosts."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "testbed"))

from agent import Agent                         # noqa: E402  (found by the line above)
from background import Background               # noqa: E402
from bed import BINARIES, Bed                   # noqa: E402
from commands import inside, run_all, wait_for  # noqa: E402

PORT, PROBE_BYTES, TICKS, T_MAX = 5015, 60, os.sysconf("SC_CLK_TCK"), 100
QUIET_S, LOSSY_S, EPOCH_S, EPOCHS = 8, 10, 5, 10
STEADY = f"""
import socket, sys, threading, time
def eat(c):
    while c.recv(65536):
        pass
def serve():
    l = socket.create_server(("", {PORT}), backlog=256)
    print("ready", flush=True)
    while True:
        threading.Thread(target=eat, args=(l.accept()[0],), daemon=True).start()
threading.Thread(target=serve, daemon=True).start()
sys.stdin.readline()
sockets = [socket.create_connection((a, {PORT}), 10) for a in sys.argv[1:] for _ in range(5)]
for s in sockets:
    s.setsockopt(6, 1, 1)
    s.setblocking(False)
while True:
    for s in sockets:
        try:
            s.send(b"x" * 700)
        except BlockingIOError:
            pass
    time.sleep(.02)
"""


def show(**more):
    print(json.dumps(more), flush=True)


def agents_of(bed, *options):
    agents = [Agent(host, bed.folder, "none", options) for host in bed.hosts.values()]
    for agent in agents:
        agent.launch()
    for agent in agents:
        wait_for(lambda agent=agent: agent.curl("status"), "an agent", 60)
    return agents


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def rss_kb(agent):
    return next(int(line.split()[1]) for line in read(
        f"/proc/{agent.process.pid}/status").splitlines() if line.startswith("VmRSS"))


def tracer_s(agent):
    """processor time of its thread"""
    folder, total = f"/proc/{agent.process.pid}/task", 0
    for task in os.listdir(folder):
        if read(f"{folder}/{task}/comm").strip() == "pd-trace":
            words = read(f"{folder}/{task}/stat").rpartition(") ")[2].split()
            total += (int(words[11]) + int(words[12])) / TICKS
    return total


def traced(agent):
    return json.loads(agent.curl("status")).get("trace", {})


def cost(agents, seconds):
    """of a time: {"cpu", "bytes_per_s", "limited"}, the greatest of all agents"""
    before = [(tracer_s(a), traced(a)) for a in agents]
    time.sleep(seconds)
    after = [(tracer_s(a), traced(a)) for a in agents]
    grown = [(t1 - t0, *(s1.get(name, 0) - s0.get(name, 0) for name in ("sent", "limited")))
             for (t0, s0), (t1, s1) in zip(before, after)]
    return {"cpu_share": round(max(g[0] for g in grown) / seconds, 4),
            "probe_bytes_per_s": round(max(g[1] for g in grown) * PROBE_BYTES / seconds),
            "limited": max(g[2] for g in grown)}


def bench_agent(binaries):
    memory = {}
    for how in ("off", "suffering"):
        with Bed(f"cost{os.getpid()}", binaries=binaries, fabric="router", controller=True) as bed:
            agents = agents_of(bed, "--trace", how)
            with Background(bed.hosts.values(), rate_mbit=3):
                quiet = cost(agents, QUIET_S)
                memory[how, "quiet"] = statistics.median(map(rss_kb, agents))
                for switch in (5, 6, 7, 8):
                    bed.faults.add({"switch": switch, "loss": .3})
                lossy = cost(agents, LOSSY_S)
                memory[how, "lossy"] = statistics.median(map(rss_kb, agents))
            rate = traced(agents[0]).get("rate")
    show(bench="trace_cost", quiet=quiet, lossy=lossy, rate=rate,
         more_kb_quiet=memory["suffering", "quiet"] - memory["off", "quiet"],
         more_kb_lossy=memory["suffering", "lossy"] - memory["off", "lossy"],
         wanted={"more_kb": 600, "cpu_share": .01, "quiet_cpu_share": 0,
                 "probe_bytes_per_s": 10000})


def pairs(path):
    return {f"{a}-{b}" for a, b in zip(path, path[1:])}


def ends(flow):
    return tuple(flow[name] for name in ("src_ip", "src_port", "dst_ip", "dst_port"))


def judge(bed, agents, bad, since, name):
    report = bed.controller.app("drop-causes", **{"from": f"{since:.3f}", "flows": True})
    ranking = [row["link"] for row in report["results"].get("ranking", [])]
    paths = {ends(t["flow_id"]): pairs(t["path"]) for agent in agents
             for t in json.loads(agent.curl("getTraces"))["traces"]}
    causes = [(cause, paths.get(ends(cause), set()) & set(bad))
              for cause in report["results"].get("causes", [])]
    right = sum(cause["link"] in on if on else cause["class"] != "failure" for cause, on in causes)
    show(bench="real_tcp", case=name, rank={link: ranking.index(link) + 1 if link in ranking else 0
                                            for link in bad},
         ranking=ranking[:4], named=report["links"], suffered=len(causes),
         causes_right=round(right / max(1, len(causes)), 4), wanted=.98)


def bench_tcp(binaries):
    with Bed(f"tcp{os.getpid()}", binaries=binaries, fabric="router", controller=True) as bed:
        agents = agents_of(bed, "--trace", "suffering", "--trace-rate", "100", "--trace-epoch",
                           EPOCH_S)
        processes = [host.popen([sys.executable, "-c", STEADY, *(
            other.ipv4 for other in bed.hosts.values() if other is not host)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for host in bed.hosts.values()]
        for process in processes:
            process.stdout.readline()
        for process in processes:
            print(file=process.stdin, flush=True)
        time.sleep(2)
        for name, bad, epochs in (("one of 1 %", {"5-9": .01}, 2),
                                  ("0.2 and 0.05 %", {"6-9": .002, "8-10": .0005}, EPOCHS)):
            since = time.time()
            for link, loss in bad.items():
                bed.faults.add({"link": link, "loss": loss})
            time.sleep(epochs * EPOCH_S)
            judge(bed, agents, bad, since, name)
            bed.faults.clear()
            time.sleep(1)


def exceeded(bed):
    """{router: (when, answers so far)}"""
    nodes, found = bed.network.switches, {}
    texts = run_all([inside(bed.site[n.id].namespace, ["cat", "/proc/uptime", "/proc/net/snmp",
                                                       "/proc/net/snmp6"]) for n in nodes])
    for node, text in zip(nodes, texts):
        rows = [line.split() for line in text.splitlines()]
        names, values = [row for row in rows if row[0] == "Icmp:"]
        six = {row[0]: int(row[1]) for row in rows if row[0].startswith("Icmp6")}
        found[node.id] = (float(rows[0][0]), int(dict(zip(names, values))["OutTimeExcds"])
                          + six.get("Icmp6OutTimeExcds", 0))
    return found


def bench_storm(binaries):
    with tempfile.TemporaryDirectory() as folder:
        topology = os.path.join(folder, "clos.json")
        shape = {"pods": 7, "tors": 4, "t1": 4, "t2": 16, "hosts": 4}
        with open(topology, "w", encoding="utf-8") as out:
            subprocess.run([os.path.join(binaries, "pathdump"), "topology", "generate", "clos",
                            "--addrs", *(word for name, value in shape.items()
                                         for word in (f"--{name}", str(value)))],
                           stdout=out, check=True)
        with Bed(f"storm{os.getpid()}", binaries=binaries, fabric="router", controller=True,
                 topology=topology) as bed:
            storm(bed)


def storm(bed):
    agents = agents_of(bed, "--trace", "suffering", "--trace-tmax", T_MAX, "--trace-epoch", 10)
    tops = [n.id for n in bed.network.switches if n.role == "core"]
    with Background(bed.hosts.values(), rate_mbit=.25):
        for switch in tops[::2]:
            bed.faults.add({"switch": switch, "loss": .5})
        busiest, before = [], exceeded(bed)
        for _ in range(15):
            time.sleep(1)
            after = exceeded(bed)
            busiest.append(max((after[i][1] - before[i][1]) / (after[i][0] - before[i][0])
                               for i in after))
            before = after
        took = [end_of_epoch(bed) for _ in range(2)]
        states = [traced(agent) for agent in agents]
    show(bench="storm", hosts=len(agents), rate=states[0].get("rate"),
         losses_not_traced=sum(s["limited"] for s in states),
         traces=sum(s["traces"] for s in states), seconds=len(busiest),
         answers_per_s_busiest=[round(rate, 1) for rate in busiest], t_max=T_MAX,
         seconds_above=sum(rate > T_MAX for rate in busiest))
    show(bench="end_of_epoch", hosts=len(agents), after_ms=[t for t, _ in took],
         links=[links for _, links in took], wanted_ms=1000)


def end_of_epoch(bed):
    """(ms from the end of an epoch to its ranking, links in it)"""
    until = (time.time() // 10 + 1) * 10
    time.sleep(until + .2 - time.time())        # what was traced last is settled
    report = bed.controller.app("drop-causes", **{"from": f"{until - 10:.3f}",
                                                  "to": f"{until:.3f}"})
    return round(1e3 * (time.time() - until)), len(report["results"]["ranking"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin", nargs="?", default=BINARIES)
    parser.add_argument("--only", nargs="*", default=["agent", "tcp", "storm"])
    options = parser.parse_args()
    for name in options.only:
        {"agent": bench_agent, "tcp": bench_tcp, "storm": bench_storm}[name](options.bin)


if __name__ == "__main__":
    main()
