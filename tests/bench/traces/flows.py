#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Flows of one host of a bed, each of which sends a burst and is traced at once; runs in the host's
namespace, for bench_traces.py.

    flows.py serve                             takes connections, says "ready"
    flows.py send AGENT EACH ADDRESS…          AGENT: socket of the agent; EACH: flows to each

`send` says "open", waits for a line "burst", "quiet" or "data", works, writes a line of JSON, waits
for a line to close its flows, and so on until its input ends: [{"flow", "sent_us", "trace", "ms"}].
burst: each flow, a new one in every round, sends and is traced; data: it sends only; quiet: it is
traced only."""
import http.client
import json
import socket
import sys
import threading
import time

PORT, BURST_PKTS, PKT_BYTES, CONNECT_S = 5014, 3, 1000, 10


def eat(connection):
    try:
        while connection.recv(1 << 16):
            pass
    except OSError:
        pass


def listen(family, address):
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    listener.bind((address, PORT))
    listener.listen(1024)
    return listener


def serve():
    listeners = [listen(socket.AF_INET, "0.0.0.0"), listen(socket.AF_INET6, "::")]
    print("ready", flush=True)
    for listener in listeners:
        threading.Thread(target=take, args=(listener,)).start()


def take(listener):
    while True:
        threading.Thread(target=eat, args=(listener.accept()[0],), daemon=True).start()


class Agent:
    """one connection to it, kept"""

    def __init__(self, path):
        self.http = http.client.HTTPConnection("localhost")
        self.http.sock = socket.socket(socket.AF_UNIX)
        self.http.sock.connect(path)

    def trace(self, flow):
        self.http.request("POST", "/v1/trace", json.dumps({"flow_id": flow}),
                          {"Content-Type": "application/json"})
        return json.loads(self.http.getresponse().read())


def connect(address):
    found = socket.create_connection((address, PORT), CONNECT_S)
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return found


def id_of(connection):
    here, there = connection.getsockname(), connection.getpeername()
    return {"src_ip": here[0], "dst_ip": there[0], "src_port": here[1], "dst_port": there[1],
            "protocol": 6}


def one(agent, connection, work):
    flow, found = id_of(connection), {"flow": None, "sent_us": time.time_ns() // 1000}
    found["flow"] = [flow[name] for name in ("src_ip", "dst_ip", "src_port", "dst_port",
                                             "protocol")]
    for _ in range(BURST_PKTS if work != "quiet" else 0):
        connection.send(b"x" * PKT_BYTES)
    if work != "data":
        begun = time.monotonic()
        found["trace"] = agent.trace(flow)
        found["ms"] = 1e3 * (time.monotonic() - begun)
    return found


def send(path, each, *addresses):
    agent = Agent(path)
    while True:
        fresh = [connect(address) for address in addresses for _ in range(int(each))]
        print("open", flush=True)
        work = sys.stdin.readline().strip()
        if not work:
            return
        print(json.dumps([one(agent, connection, work) for connection in fresh]), flush=True)
        sys.stdin.readline()
        for connection in fresh:
            connection.close()


if __name__ == "__main__":
    {"serve": serve, "send": send}[sys.argv[1]](*sys.argv[2:])
