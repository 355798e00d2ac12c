#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Alarms: how many the controller takes, whether all are there once after it was killed, and how long one takes from the first bad packet to a
reader of the controller's stream. One JSON object a line; as root (the last part needs a veth pair).

Usage: bench_alarms.py [BIN-FOLDER] [--alarms N] [--connections N] [--samples N]"""
import argparse
import http.client
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../shared"))
from capture import frame

BATCH = 256                             # alarms of a request
GOOD, BAD = "1,9,17,11,3", "1,9,17,13,18,11,3"
SRC, DST = "10.1.1.2", "10.2.1.2"
ALARM = ('{"seq":%d,"time_us":%d,"reason":"PC_FAIL","flow_id":{"src_ip":"10.1.1.2","dst_ip":"10.2.1.2","src_port":%d,"dst_port":80,"protocol":6},'
         '"paths":[[1,9,17,13,18,11,3]],"detail":"max_hops: 6 hops are more than 5"}')


def pathdump(at, *words):
    return subprocess.run([os.path.join(at, "pathdump"), *map(str, words)], capture_output=True, text=True, check=True).stdout


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """a daemon that answers at its port"""

    def __init__(self, at, name, port, *words):
        self.port = port
        self.process = subprocess.Popen([os.path.join(at, name), *map(str, words), "--listen", f"127.0.0.1:{port}", "--log-level", "error"])
        until = time.monotonic() + 30
        while True:
            try:
                self.ask("GET", "/v1/status")
                return
            except OSError:
                if time.monotonic() > until or self.process.poll() is not None:
                    raise
                time.sleep(.01)

    def ask(self, method, target, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, target, body and json.dumps(body))
            answer = connection.getresponse()
            text = answer.read()
            if answer.status != 200:
                raise RuntimeError(f"{target}: {answer.status}: {text[:300]}")
            return json.loads(text)
        finally:
            connection.close()

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        self.process.wait()


# ---- how many ----

def make_bodies(host, spool, alarms):
    """POST requests, whole"""
    requests = []
    for first in range(1, alarms + 1, BATCH):
        seqs = range(first, min(first + BATCH, alarms + 1))
        body = f'{{"host":{host},"spool":"{spool:016x}","alarms":[{",".join(ALARM % (n, n, n % 65536) for n in seqs)}]}}'
        requests.append((seqs[-1], f"POST /v1/alarms HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()))
    return requests


def send_all(port, requests, acknowledged, spool, until):
    """as an agent does: in order, each until it is acknowledged"""
    connection = None
    for last, request in requests:
        while acknowledged[spool] < last:
            if time.monotonic() > until:
                raise RuntimeError("the controller takes too long")
            try:
                connection = connection or socket.create_connection(("127.0.0.1", port), timeout=30)
                connection.sendall(request)
                answer = http.client.HTTPResponse(connection)
                answer.begin()
                acknowledged[spool] = json.loads(answer.read())["last"]
            except (OSError, http.client.HTTPException, ValueError):
                connection = None
                time.sleep(.005)


def begin_senders(port, work):
    acknowledged = {spool: 0 for spool in work}
    until = time.monotonic() + 120
    senders = [threading.Thread(target=send_all, args=(port, requests, acknowledged, spool, until)) for spool, requests in work.items()]
    for sender in senders:
        sender.start()
    return senders, acknowledged


def count_once(controller, spools, each):
    """alarms that are there, and whether each is there once"""
    numbers, since = [], 0
    while True:
        page = controller.ask("GET", f"/v1/alarms?since={since}")
        numbers += [alarm["time_us"] for alarm in page["alarms"]]
        since = page["last"]
        if not page["more"]:
            return len(numbers), sorted(numbers) == sorted(list(range(1, each + 1)) * spools)


def bench_accepted(at, start, alarms, connections):
    work = {spool: make_bodies(21, spool, alarms // connections) for spool in range(1, connections + 1)}
    controller = start()
    begun = time.monotonic()
    senders, _ = begin_senders(controller.port, work)
    for sender in senders:
        sender.join()
    seconds = time.monotonic() - begun
    total = alarms // connections * connections
    status = controller.ask("GET", "/v1/status")["alarms"]
    assert status["accepted"] == total, status
    controller.end()
    print(json.dumps({"bench": "alarms_accepted", "alarms": total, "connections": connections, "alarms_of_a_request": BATCH,
                      "alarms_per_s": round(total / seconds), "commits": status["commits"], "wanted_per_s": 50000}), flush=True)


def bench_killed(at, start, alarms, connections):
    each = alarms // connections
    work = {spool: make_bodies(21, spool, each) for spool in range(1, connections + 1)}
    controller = start()
    senders, acknowledged = begin_senders(controller.port, work)
    kills = 0
    for part in range(1, 4):
        while min(acknowledged.values()) < part * each // 5:
            time.sleep(.001)
        controller.end(signal.SIGKILL)
        kills += 1
        controller = start(controller.port)
    for sender in senders:
        sender.join()
    there, once = count_once(controller, connections, each)
    controller.end()
    print(json.dumps({"bench": "alarms_killed", "alarms": each * connections, "kills": kills, "there": there, "each_once": once,
                      "lost": each * connections - there}), flush=True)


# ---- how fast ----

def read_events(port, arrived):
    """when the alarm of each flow came, by its source port"""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/v1/alarms/stream?reason=PC_FAIL")
    answer = connection.getresponse()
    try:
        while line := answer.readline():
            if line.startswith(b"data: "):
                now = time.monotonic()
                arrived[json.loads(line[6:])["flow_id"]["src_port"]] = now
    except OSError:
        pass


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def measure_latency(agent, controller, device, tags, samples):
    arrived, sent = {}, {}
    reader = threading.Thread(target=read_events, args=(controller.port, arrived), daemon=True)
    reader.start()
    agent.ask("POST", "/v1/install", {"query": "conformance", "args": {"max_hops": 5}, "on": "new_flow"})
    sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    sender.bind((device, 0))
    time.sleep(.5)
    for port in range(10000, 10000 + samples):
        raw = frame(SRC, DST, port, 80, b"x" * 60, tags=tags)
        sent[port] = time.monotonic()
        sender.send(raw)
        until = time.monotonic() + 5
        while port not in arrived and time.monotonic() < until:
            time.sleep(.0002)
        time.sleep(.02)             # below the limit of 100 a second
    took = [1000 * (arrived[port] - sent[port]) for port in sent if port in arrived]
    print(json.dumps({"bench": "alarm_latency", "samples": samples, "missing": samples - len(took), "median_ms": round(statistics.median(took), 2),
                      "p99_ms": round(percentile(took, .99), 2), "max_ms": round(max(took), 2), "wanted_p99_ms": 20}), flush=True)


def bench_latency(at, folder, topology, start, samples):
    device = f"pda{os.getpid() % 10000}"
    tags = json.loads(pathdump(at, "codec", "encode", "--topology", topology, "--src", SRC, "--dst", DST, "--path", BAD, "--json"))["tags"]
    subprocess.run(["ip", "link", "add", device, "type", "veth", "peer", "name", device + "p"], check=True)
    servers = []
    try:
        for end in (device, device + "p"):
            subprocess.run(["sysctl", "-qw", f"net.ipv6.conf.{end}.disable_ipv6=1"], check=False)
            subprocess.run(["ip", "link", "set", end, "mtu", "1508", "up"], check=True)
        port, agent_port = free_port(), free_port()
        agent = Server(at, "pathdumpd", agent_port, "--topology", topology, "--intake", f"live:{device}p", "--tib", os.path.join(folder, "tib"),
                       "--host-id", 21, "--controller", f"http://127.0.0.1:{port}")
        servers.append(agent)
        controller = start(port, agent_port)
        servers.append(controller)
        measure_latency(agent, controller, device, tags, samples)
    finally:
        for server in servers:
            server.end()
        subprocess.run(["ip", "link", "del", device], check=False)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin", nargs="?", default=os.path.join(HERE, "../../../build/release/bin"))
    parser.add_argument("--alarms", type=int, default=200_000)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--samples", type=int, default=300)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pathdump-bench-") as folder:
        topology = os.path.join(folder, "fat4.json")
        with open(topology, "w", encoding="utf-8") as out:
            out.write(pathdump(args.bin, "topology", "fat-tree", "--k", 4))
        hosts = os.path.join(folder, "hosts.json")

        def starter(state):
            def start(port=None, agent_port=1):
                with open(hosts, "w", encoding="utf-8") as out:
                    json.dump([{"id": 21, "url": f"http://127.0.0.1:{agent_port}"}], out)
                return Server(args.bin, "pathdump-controller", port or free_port(), "--topology", topology, "--hosts", hosts, "--state",
                              os.path.join(folder, state))
            return start
        bench_accepted(args.bin, starter("accepted"), args.alarms, args.connections)
        bench_killed(args.bin, starter("killed"), args.alarms, args.connections)
        bench_latency(args.bin, folder, topology, starter("latency"), args.samples)


if __name__ == "__main__":
    main()
