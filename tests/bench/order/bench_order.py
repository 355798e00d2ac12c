#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What orders take of a query's time: 16 agents and a controller over TLS, asked along trees. One
JSON object a line for each query; "share" is that of the orders' longest chain (signed once, then
checked and passed on at each of two levels) in the time of the whole query.

Usage: bench_order.py [BIN-FOLDER] [--flows N] [--rounds N]"""
import argparse
import contextlib
import http.client
import json
import os
import ssl
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../shared"))
import programs

QUESTIONS = (("getCount", {}), ("topFlows", {"k": 1000}), ("getFlows", {"link": "9-17"}),
             ("trafficMatrix", {}))
LEVELS = 2


def records(host, flows, now_us):
    path = [[1, 9, 17, 11, 3], [1, 10, 19, 12, 3]]
    for n in range(flows):
        yield json.dumps({"flow_id": {"src_ip": f"10.1.1.{2 + n % 2}", "dst_ip": f"10.9.{host}.2",
                                      "src_port": n % 65536, "dst_port": 80 + n // 65536,
                                      "protocol": 6},
                          "path": path[n % 2], "stime_us": now_us - 10**7, "etime_us": now_us,
                          "bytes": 1000 + n, "pkts": 1 + n % 7})


class Fleet:
    def __init__(self, stack, folder, flows):
        self.folder = folder
        self.topology = os.path.join(folder, "fat4.json")
        with open(self.topology, "w", encoding="utf-8") as out:
            out.write(programs.pathdump("topology", "fat-tree", "--k", 4))
        hosts, ports = os.path.join(folder, "hosts.json"), {}
        for host in range(21, 37):
            ports[host] = programs.free_port()
        with open(hosts, "w", encoding="utf-8") as out:
            json.dump([{"id": h, "url": f"https://127.0.0.1:{p}"} for h, p in ports.items()], out)
        programs.pathdump("ca", os.path.join(folder, "ca"), "--controller", "127.0.0.1", "--hosts",
                          hosts)
        self.port, now_us = programs.free_port(), int(time.time() * 1e6)
        for host, port in ports.items():
            tib = os.path.join(folder, f"tib-{host}")
            lines = "\n".join(records(host, flows, now_us)) + "\n"
            subprocess.run([programs.program("pathdump"), "tib", "import", "--tib", tib],
                           input=lines, text=True, check=True, stdout=subprocess.DEVNULL)
            self.start(stack, "pathdumpd", port, f"host-{host}", "--tib", tib, "--intake", "none",
                       "--host-id", host, "--tcp-monitor", "none")
        self.start(stack, "pathdump-controller", self.port, "controller", "--hosts", hosts,
                   "--state", os.path.join(folder, "state"))

    def tls(self, name):
        ca = os.path.join(self.folder, "ca")
        return ("--tls-cert", f"{ca}/{name}.pem", "--tls-key", f"{ca}/{name}.key", "--tls-ca",
                f"{ca}/ca.pem")

    def start(self, stack, program, port, name, *words):
        process = subprocess.Popen(
            [programs.program(program), "--topology", self.topology, "--listen",
             f"127.0.0.1:{port}", *self.tls(name), *map(str, words)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        stack.callback(process.wait)
        stack.callback(process.terminate)

    def connect(self):
        ca = os.path.join(self.folder, "ca")
        context = ssl.create_default_context(cafile=f"{ca}/ca.pem")
        context.load_cert_chain(f"{ca}/read.pem", f"{ca}/read.key")
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=60, context=context)

    @staticmethod
    def ask(connection, query, args, mode):
        begun = time.monotonic()
        connection.request("POST", "/v1/execute", json.dumps(
            {"hosts": "all", "query": query, "args": args, "mode": mode}))
        answer = json.loads(connection.getresponse().read())
        took = time.monotonic() - begun
        return took, answer.get("hosts", {}).get("answered")

    def ready(self):
        for _ in range(200):
            with contextlib.suppress(OSError):
                if self.ask(self.connect(), "getCount", {}, "direct")[1] == 16:
                    return
            time.sleep(.1)
        raise SystemExit("the fleet is not ready")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin", nargs="?", default=None)
    parser.add_argument("--flows", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=100)
    args = parser.parse_args()
    programs.BIN = args.bin or programs.BIN
    cost = json.loads(subprocess.run([programs.program("tests/order_cost")], check=True,
                                     capture_output=True, text=True).stdout)
    chain_us = (cost["sign_us"] + cost["top_us"] + (LEVELS - 1) * cost["check_us"]
                + cost["pass_us"])
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="pathdump-order-"))
        fleet = Fleet(stack, folder, args.flows)
        fleet.ready()
        connection = fleet.connect()
        for query, given in QUESTIONS:
            times = [fleet.ask(connection, query, given, "tree") for _ in range(args.rounds)]
            assert all(answered == 16 for _, answered in times)
            took_us = 1e6 * statistics.median(took for took, _ in times)
            print(json.dumps({"bench": "order", "query": query, "hosts": 16,
                              "flows": args.flows, "query_us": round(took_us), **cost,
                              "chain_us": round(chain_us), "share": round(chain_us / took_us, 4)}))


if __name__ == "__main__":
    main()
