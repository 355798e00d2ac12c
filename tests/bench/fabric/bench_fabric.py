#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much a test bed with switches in the kernel, or with compiled P4 programs, carries over a
path of four hops, every packet tagged on it: TCP from host 21 to host 25 of a fat-tree of 4, both
on this machine. One JSON object a line: each run, then "median" and "most" of them. Hosts offload
segmentation, as network cards do, so switches in the kernel see packets of up to 64 KB; --small
turns that off (1500 bytes on every link).

The figures are those of the machine as well: sender, receiver and switches share its cores. Needs
root.
"""
import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from contextlib import nullcontext

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tests", "testbed"))
from agent import Agent  # noqa: E402
from bed import Bed  # noqa: E402

SENDER, RECEIVER, PORT, HOPS = 21, 25, 5003, 4
BUFFER_BYTES = 1 << 18
RECEIVE = f"""
import socket, sys, time
listener = socket.create_server(("", {PORT}))
print("ready", flush=True)
connection, _ = listener.accept()
buffer, total, start = bytearray({BUFFER_BYTES} * 4), 0, time.monotonic()
while got := connection.recv_into(buffer):
    total += got
print(total, time.monotonic() - start)
"""
SEND = f"""
import socket, sys, time
connection = socket.create_connection((sys.argv[1], {PORT}))
data, end = bytes({BUFFER_BYTES}), time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    connection.sendall(data)
"""


def run(bed, seconds):
    """Gb/s of one TCP connection"""
    receiver, sender = bed.host(RECEIVER), bed.host(SENDER)
    server = receiver.popen([sys.executable, "-c", RECEIVE], stdout=subprocess.PIPE, text=True)
    server.stdout.readline()
    sender.run([sys.executable, "-c", SEND, receiver.ipv4, seconds], check=True)
    total, took_s = map(float, server.communicate()[0].split())
    return total * 8 / took_s / 1e9


def arrived(host):
    """packets that have come in at a host"""
    shown = host.run(["ip", "-json", "-statistics", "link", "show", "eth0"], check=True,
                     stdout=subprocess.PIPE, text=True).stdout
    return json.loads(shown)[0]["stats64"]["rx"]["packets"]


def recorded(agent, sender):
    """(packets from a host that stand in records, those of them without a path)"""
    records = [one for one in agent.query("getFlows")["flows"]
               if one["flow_id"]["src_ip"] == sender]
    return (sum(one["pkts"] for one in records),
            sum(one["pkts"] for one in records if len(one["path"]) != HOPS + 1))


def measure(bed, agent, options):
    """one line a run; Gb/s of each"""
    rates, receiver = [], bed.host(RECEIVER)
    for _ in range(options.runs):
        before, known = arrived(receiver), recorded(agent, bed.host(SENDER).ipv4) if agent else None
        rates.append(run(bed, options.seconds))
        line = {"bench": "fabric", "fabric": options.fabric, "hops": HOPS,
                "gbit_s": round(rates[-1], 3), "packets": arrived(receiver) - before}
        if agent:
            now = recorded(agent, bed.host(SENDER).ipv4)
            line |= {"recorded": now[0] - known[0], "without_path": now[1] - known[1]}
        print(json.dumps(line), flush=True)
    return rates


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "release", "bin"),
                        help="where pathdump is (default: build/release/bin)")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--fabric", choices=("tc", "p4"), default="tc",
                        help="what switches are; p4 has small packets only")
    parser.add_argument("--agent", action="store_true",
                        help="with an agent at the receiver, whose records are counted")
    parser.add_argument("--small", action="store_true", help="no packet is larger than 1500 bytes")
    options = parser.parse_args()
    offloads = not options.small and options.fabric == "tc"
    with Bed(f"bench{os.getpid()}", binaries=options.bin, fabric=options.fabric,
             tagged=[RECEIVER] if options.agent else [], offloads=offloads) as bed:
        with Agent(bed.host(RECEIVER), bed.folder) if options.agent else nullcontext() as agent:
            rates = measure(bed, agent, options)
    print(json.dumps({"bench": "fabric", "fabric": options.fabric, "hops": HOPS,
                      "offloads": offloads, "median_gbit_s": round(statistics.median(rates), 3),
                      "most_gbit_s": round(max(rates), 3), "cpus": os.cpu_count(),
                      "kernel": platform.release()}))


if __name__ == "__main__":
    main()
