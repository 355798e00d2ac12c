#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installed queries: from the first bad packet on a wire to the alarm, at the agent and at the
controller; and what events cost the data path. One JSON object a line. As root: a network namespace
of its own.

Usage: bench_installed.py [BIN-FOLDER] [--alarms N] [--rounds N]"""
import argparse
import http.client
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in "../../shared", "../../integration/agent", "../agent":
    sys.path.insert(0, os.path.join(HERE, folder))

BAD = (1, 9, 17, 13, 18, 11, 3)
# between two packets: fewer than the alarms of a second that are kept, and in step with nothing
PACE_S = 0.025, 0.055
FLOWS, PKTS = 50_000, 500_000   # of the capture
CONFORMANCE = {"query": "conformance", "args": {"max_hops": "5"}, "on": "new_flow"}


def quantile(values, q):
    return round(sorted(values)[min(len(values) - 1, int(q * len(values)))], 2)


# ---- from the packet to the alarm ----

class Stream(threading.Thread):
    """what the controller's stream of alarms says, and when"""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.connection.request("GET", "/v1/alarms/stream")
        self.answer = self.connection.getresponse()
        self.came = {}
        self.start()

    def run(self):
        for line in self.answer:
            if line.startswith(b"data:"):
                now, alarm = time.time(), json.loads(line[5:])
                if alarm["reason"] == "PC_FAIL":
                    self.came[alarm["flow_id"]["src_port"]] = now, alarm["time_us"] / 1e6


def bench_alarms(folder, topology, count):
    from daemon import frame, set_up_network
    from programs import Controller, Daemon, free_port, pathdump
    sender, port = set_up_network(), free_port()
    host = next(n["id"] for n in json.load(open(topology, encoding="utf-8"))["nodes"]
                if "10.2.1.2" in n.get("addrs", []))
    words = "--topology", topology, "--src", "10.1.1.2", "--dst", "10.2.1.2", "--path", ",".join(
        map(str, BAD)), "--json"
    tags = json.loads(pathdump("codec", "encode", *words))["tags"]
    at = os.path.join(folder, "agent")
    os.mkdir(at)
    with Daemon(at, "--host-id", str(host), "--controller", f"http://127.0.0.1:{port}",
                topology=topology, intake="live:rx") as agent:
        agent.wait_state("running")
        with Controller(folder, topology, {host: agent.url}, "--listen",
                        f"127.0.0.1:{port}") as controller:
            controller.port = port
            controller.wait(controller.status)
            status, _, body = controller.raw("/v1/install", "POST", json.dumps(
                {"hosts": [host], **CONFORMANCE, "args": {"max_hops": 5}}))
            assert status == 200, body
            stream, sent = Stream(port), {}
            for n in range(count):
                raw = frame("10.1.1.2", "10.2.1.2", 1024 + n, 80, b"x", tags)
                time.sleep(random.uniform(*PACE_S))
                sent[1024 + n] = time.time()
                sender.send(raw)
            controller.wait(lambda: len(stream.came) == count)
    raised = [1000 * (stream.came[flow][1] - at) for flow, at in sent.items()]
    heard = [1000 * (stream.came[flow][0] - at) for flow, at in sent.items()]
    print(json.dumps({"bench": "installed_first_bad_packet", "alarms": count,
                      "raised_p50_ms": quantile(raised, .5), "raised_p99_ms": quantile(raised, .99),
                      "controller_p50_ms": quantile(heard, .5), "controller_p99_ms": quantile(
                          heard, .99), "controller_max_ms": quantile(heard, 1)}), flush=True)


# ---- what events cost ----

def replay(at, folder, topology, installed):
    """processor seconds of the daemon, and what it says of events"""
    with tempfile.TemporaryDirectory(dir=folder) as tib:
        if installed:
            with open(os.path.join(tib, "installed.json"), "w", encoding="utf-8") as out:
                json.dump({"version": 1, "installed": [{"id": n + 1, **CONFORMANCE}
                                                       for n in range(installed)]}, out)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begun = time.monotonic()
        subprocess.run([os.path.join(at, "pathdumpd"), "--topology", topology, "--intake",
                        "pcap:" + os.path.join(folder, "in.pcap"), "--tib", tib,
                        "--idle-ms", "20", "--exit-after-intake", "--log-level", "error"],
                       check=True)
        wall = time.monotonic() - begun
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def bench_cost(at, folder, topology, rounds):
    """interleaved: the machine changes more than what is measured"""
    from bench_agent import write_capture
    write_capture(os.path.join(folder, "in.pcap"), PKTS, FLOWS, [])
    walls, cpus = {}, {}
    for _ in range(rounds):
        for installed in 0, 1, 16:
            wall, cpu = replay(at, folder, topology, installed)
            walls.setdefault(installed, []).append(wall)
            cpus.setdefault(installed, []).append(cpu)
    for installed in 1, 16:
        print(json.dumps({"bench": "installed_events_cost", "queries": installed, "pkts": PKTS,
                          "new_flows": PKTS, "wall_s": round(min(walls[installed]), 3),
                          "wall_without_s": round(min(walls[0]), 3),
                          "cpu_ns_per_new_flow": round(1e9 * (min(cpus[installed]) - min(cpus[0]))
                                                       / PKTS)}), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin", nargs="?", default=os.path.join(HERE, "../../../build/release/bin"))
    parser.add_argument("--alarms", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    os.environ["PD_BIN"] = options.bin
    with tempfile.TemporaryDirectory(prefix="pathdump-bench-") as folder:
        from bench_agent import topology as make_topology
        topology = make_topology(options.bin, folder, 4)
        bench_cost(options.bin, folder, topology, options.rounds)
        bench_alarms(folder, topology, options.alarms)


if __name__ == "__main__":
    main()
