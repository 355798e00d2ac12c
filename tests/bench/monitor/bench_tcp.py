#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The TCP monitor: what it costs while nothing is lost, what reading all sockets costs, and the
time from a retransmission on the wire to the alarm at the controller. One JSON object a line. As
root: network namespaces of its own.

Usage: bench_tcp.py [BIN-FOLDER] [--sockets N] [--alarms N] [--seconds N]"""
import argparse
import json
import multiprocessing
import os
import random
import resource
import socket
import struct
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in "../../shared", "../../integration/monitor", "../agent", "../installed":
    sys.path.insert(0, os.path.join(HERE, folder))

# between two connections that begin to suffer: fewer than the alarms of a second that are kept
PACE_S = 0.015, 0.035
SO_TIMESTAMPNS = 35


# ---- cost ----

def cpu_ns(pid):
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as text:
            total += int(text.read().split()[0])
    return total


def hold(count, ready):
    """a process that holds so many sockets, both ends of each connection"""
    server, held = socket.create_server(("127.0.0.1", 0), backlog=1024), []
    for _ in range(count // 2):
        held.append(socket.create_connection(server.getsockname()))
        held.append(server.accept()[0])
    ready.set()
    time.sleep(3600)


def idle_sockets(bed, count):
    """in the namespace that is watched; several processes, since each may open only so many
    files"""
    from bed import Within
    share = min(count, resource.getrlimit(resource.RLIMIT_NOFILE)[1] // 2) // 2 * 2
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    holders = []
    with Within(bed.here):
        while count > 0:
            ready = multiprocessing.Event()
            holders.append(multiprocessing.Process(target=hold, args=(min(count, share), ready),
                                                   daemon=True))
            holders[-1].start()
            assert ready.wait(120)
            count -= share
    return holders


def bench_cost(bed, source, count, seconds):
    from bed import Monitor
    monitor = Monitor(bed.here, source)
    assert monitor.first["source"] == source, monitor.first
    pid = monitor.process.pid
    time.sleep(1)
    before, begun = cpu_ns(pid), time.monotonic()
    time.sleep(seconds)
    share = (cpu_ns(pid) - before) / 1e9 / (time.monotonic() - begun)
    stat = monitor.ask("stat")
    listed, before = len(monitor.list()["flows"]), cpu_ns(pid)
    monitor.process.stdin.write("list 0 0\n")
    monitor.process.stdin.flush()
    monitor.process.stdout.readline()
    print(json.dumps({"bench": "tcp_cost", "source": source, "sockets": count,
                      "percent_of_a_core": round(100 * share, 4), "wanted_percent": 1,
                      "dumps": stat["dumps"], "listed": listed,
                      "list_all_cpu_ms": round((cpu_ns(pid) - before) / 1e6, 1)}), flush=True)
    monitor.close()


# ---- from the retransmission to the alarm ----

class Wire(threading.Thread):
    """when each port's data was first sent again, by the kernel's clock at the interface"""

    def __init__(self):
        super().__init__(daemon=True)
        # ETH_P_ALL: what goes out, too
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
        self.socket.bind(("v0", 3))
        self.seen, self.again = set(), {}
        self.start()

    def run(self):
        while True:
            try:
                data, extra, _, _ = self.socket.recvmsg(200, 64)
            except OSError:             # the namespace is gone
                return
            if len(data) < 54 or data[12:14] != b"\x08\x00" or data[23] != 6 or data[
                26:30] != bytes((10, 9, 0, 1)):
                continue
            port, seq = struct.unpack_from("!H2xI", data, 34)
            payload = struct.unpack_from("!H", data, 16)[0] - 20 - (data[46] >> 4) * 4
            if payload <= 0:
                continue
            if (port, seq) in self.seen and port not in self.again:
                seconds, ns = struct.unpack("qq", extra[0][2][:16])
                self.again[port] = seconds + ns / 1e9
            self.seen.add((port, seq))


class Stream(threading.Thread):
    """when the controller's stream of alarms says that a port suffers"""

    def __init__(self, port):
        import http.client
        super().__init__(daemon=True)
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self.connection.request("GET", "/v1/alarms/stream")
        self.answer = self.connection.getresponse()
        self.came = {}
        self.start()

    def run(self):
        for line in self.answer:
            if line.startswith(b"data:"):
                now, alarm = time.time(), json.loads(line[5:])
                if alarm["reason"] == "POOR_PERF":
                    self.came.setdefault(alarm["flow_id"]["src_port"], now)


def suffer(bed, port, count):
    sockets = [bed.connect("10.9.0.2", port) for _ in range(count)]
    bed.lose(2)
    for s in sockets:
        time.sleep(random.uniform(*PACE_S))
        s.send(b"x" * 100)
    return sockets


def bench_latency(bed, source, folder, topology, count):
    from bench_installed import quantile
    from bed import until, Within
    from programs import Controller, Daemon, free_port
    at = os.path.join(folder, source)
    os.mkdir(at)
    host = next(n["id"] for n in json.load(open(topology, encoding="utf-8"))["nodes"]
                if n.get("addrs"))
    server = bed.listen()
    with Within(bed.here):
        port, wire = free_port(), Wire()
        with Daemon(at, "--host-id", str(host), "--controller", f"http://127.0.0.1:{port}",
                    "--tcp-monitor", source, topology=topology, intake="live:v0") as agent:
            agent.wait_state("running")
            with Controller(at, topology, {host: agent.url}, "--listen",
                            f"127.0.0.1:{port}") as controller:
                controller.port = port
                controller.wait(controller.status)
                stream = Stream(port)
                sockets = suffer(bed, server, count)
                ports = [s.getsockname()[1] for s in sockets]
                until("all alarms",
                      lambda: all(p in stream.came and p in wire.again for p in ports))
    bed.lose(2, False)
    took = [1000 * (stream.came[p] - wire.again[p]) for p in ports]
    print(json.dumps({"bench": "tcp_retransmission_to_alarm", "source": source, "alarms": count,
                      "controller_p50_ms": quantile(took, .5),
                      "controller_p99_ms": quantile(took, .99),
                      "controller_max_ms": quantile(took, 1), "wanted_p99_ms": 250}), flush=True)
    for s in sockets:           # with a reset: none may suffer while the next source is measured
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        s.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin", nargs="?", default=os.path.join(HERE, "../../../build/release/bin"))
    parser.add_argument("--sockets", type=int, default=20000)
    parser.add_argument("--alarms", type=int, default=300)
    parser.add_argument("--seconds", type=int, default=10)
    options = parser.parse_args()
    os.environ["PD_BIN"] = options.bin = os.path.abspath(options.bin)
    from bed import Bed
    from bench_agent import topology as make_topology
    bed = Bed()
    try:
        with tempfile.TemporaryDirectory(prefix="pathdump-bench-") as folder:
            for source in "bpf", "inet_diag":
                bench_latency(bed, source, folder, make_topology(options.bin, folder, 4),
                              options.alarms)
        held = idle_sockets(bed, options.sockets)
        for source in "bpf", "inet_diag":
            bench_cost(bed, source, options.sockets, options.seconds)
        for holder in held:
            holder.kill()
    finally:
        bed.close()


if __name__ == "__main__":
    main()
