#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A first look of silent-drops over 16 hosts: the controller's processor time and peak memory. One
JSON object a line.

Real agents with real stores; before each stands a proxy that answers for its TCP monitor, so that
flows over one link have lost packets. Everything else is the agent's own answer.

Usage: bench_join.py [BIN-FOLDER] [--flows N] [--controller PROGRAM] [--rounds N]"""
import argparse
import contextlib
import http.client
import http.server
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../shared"))
import programs

PKTS, LOSS, LINK = 300, .01, (9, 17)
# A first look cuts its span into periods: all flows are of one of them, as those of a watch are.
LOST_AGO_US, LASTED_US = 1_000_000, 100_000


# ---- the network: a fat-tree of 4, with all equal-cost paths ----

def ways(src_pod, src, dst_pod, dst):
    """paths over switches from ToR `src` to ToR `dst`"""
    if src == dst:
        return [[src]]
    up, down = [9 + 2 * src_pod, 10 + 2 * src_pod], [9 + 2 * dst_pod, 10 + 2 * dst_pod]
    if src_pod == dst_pod:
        return [[src, agg, dst] for agg in up]
    return [[src, up[s], 17 + 2 * s + c, down[s], dst] for s in range(2) for c in range(2)]


def draw(count, now_us, rnd):
    """({host index: its records as lines}, {host index: flows of it that sent packets again})"""
    hosts = [(pod, 2 * pod + tor + 1, f"10.{pod + 1}.{tor + 1}.{2 + n}") for pod in range(4)
             for tor in range(2) for n in range(2)]
    records, lost = {i: [] for i in range(16)}, {i: [] for i in range(16)}
    for n in range(count):
        a, b = rnd.sample(range(16), 2)
        path = rnd.choice(ways(hosts[a][0], hosts[a][1], hosts[b][0], hosts[b][1]))
        flow = {"src_ip": hosts[a][2], "dst_ip": hosts[b][2], "src_port": n % 65536,
                "dst_port": n // 65536 + 80, "protocol": 6}
        records[b].append(json.dumps({"flow_id": flow, "path": path,
                                      "stime_us": now_us - LOST_AGO_US - LASTED_US,
                                      "etime_us": now_us - LOST_AGO_US,
                                      "bytes": 1448 * PKTS, "pkts": PKTS}))
        if LINK in zip(path, path[1:]):
            again = sum(rnd.random() < LOSS for _ in range(PKTS))
            if again:
                lost[a].append((flow, again))
    return records, lost


# ---- hosts ----

def suffering(lost):
    rows = [[flow["src_ip"], flow["dst_ip"], flow["src_port"], flow["dst_port"], 6, n, n, 0]
            for flow, n in lost]
    return {"flows": rows, "complete": True, "source": "bpf", "since_us": 1, "forgotten": 0,
            "left_out": 0}


class Proxy(http.server.BaseHTTPRequestHandler):
    """the TCP monitor's answers are its server's, all others the agent's"""
    protocol_version = "HTTP/1.1"

    def answer(self, status, headers, body):
        self.send_response(status)
        for name, value in headers:
            if name.lower() in ("content-type",) or name.lower().startswith("pathdump"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def relay(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if b'"sufferingFlows"' in body:
            since_us = json.loads(body)["args"].get("from_us", 0)
            text = self.server.canned[since_us <= self.server.lost_us]
            return self.answer(200, [("Content-Type", "application/json")], text)
        connection = http.client.HTTPConnection("127.0.0.1", self.server.agent_port, timeout=120)
        keep = {n: v for n, v in self.headers.items()
                if n.lower() not in ("host", "connection", "content-length")}
        connection.request(self.command, self.path, body=body, headers=keep)
        got = connection.getresponse()
        text = got.read()
        connection.close()
        return self.answer(got.status, got.getheaders(), text)

    do_GET = do_POST = relay

    def log_message(self, *_):
        pass


def begin_host(stack, folder, topology, records, lost, lost_us):
    os.mkdir(folder)
    tib = os.path.join(folder, "tib")
    subprocess.run([programs.program("pathdump"), "tib", "import", "--tib", tib],
                   input="\n".join(records) + "\n", text=True, check=True,
                   stdout=subprocess.DEVNULL)
    agent = stack.enter_context(programs.Daemon(folder, "--tib", tib, "--intake", "none",
                                                topology=topology))
    agent.wait(agent.status)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    server.agent_port = agent.port
    server.canned = {True: json.dumps(suffering(lost)).encode(),
                     False: json.dumps(suffering([])).encode()}
    server.lost_us = lost_us
    threading.Thread(target=server.serve_forever, daemon=True).start()
    stack.callback(server.server_close)
    stack.callback(server.shutdown)
    return f"http://127.0.0.1:{server.server_address[1]}"


# ---- a look ----

def processor_s(pid):
    fields = open(f"/proc/{pid}/stat", encoding="utf-8").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_mb(pid):
    for line in open(f"/proc/{pid}/status", encoding="utf-8"):
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return None


def look(folder, topology, urls, name, begun):
    """a controller of its own, so that its peak is that of one look; back to before the records,
    however long they took to store"""
    os.mkdir(folder)
    real = programs.program
    programs.program = lambda asked: name if name and asked == "pathdump-controller" else real(
        asked)
    with programs.Controller(folder, topology, urls, "--link-mbps", "100000") as controller:
        programs.program = real
        controller.wait(controller.status)
        pid, before_s, before_mb = controller.process.pid, processor_s(
            controller.process.pid), peak_mb(controller.process.pid)
        begin = time.monotonic()
        status, _, body = controller.raw("/v1/apps/silent-drops", "POST", json.dumps(
            {"seconds": round(time.time() - begun + 30)}), timeout=300)
        report = json.loads(body)
        return {"status": status, "processor_ms": round(1000 * (processor_s(pid) - before_s)),
                "wall_ms": round(1000 * (time.monotonic() - begin)),
                "peak_mb": round(peak_mb(pid) - before_mb, 1), "links": report.get("links"),
                "certain": report.get("certain"),
                "lacks": report.get("lacks", report.get("detail"))}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin", nargs="?", default=None)
    parser.add_argument("--flows", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--controller", default=None,
                        help="another one than that of BIN-FOLDER, to compare with")
    args = parser.parse_args()
    if args.bin:
        programs.BIN = args.bin
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="pathdump-join-"))
        topology = os.path.join(folder, "fat4.json")
        with open(topology, "w", encoding="utf-8") as out:
            out.write(programs.pathdump("topology", "fat-tree", "--k", 4))
        begun = time.time()
        records, lost = draw(args.flows, int(begun * 1e6), random.Random(2016))
        urls = {21 + i: begin_host(stack, os.path.join(folder, str(21 + i)), topology, records[i],
                                   lost[i], begun * 1e6 - LOST_AGO_US) for i in range(16)}
        rounds = [look(os.path.join(folder, f"controller{i}"), topology, urls, args.controller,
                       begun) for i in range(args.rounds)]
        best = min(rounds, key=lambda one: one["processor_ms"])
        print(json.dumps({"bench": "join", "flows": args.flows,
                          "suffered": sum(map(len, lost.values())), **best}))


if __name__ == "__main__":
    main()
