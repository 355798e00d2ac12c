#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Alarms: how many the controller takes, and whether all are there once after it was killed while
they came. One JSON object a line. How long one
takes from a packet: bench_installed.py.

Usage: bench_alarms.py [BIN-FOLDER] [--alarms N] [--connections N]"""
import argparse
import http.client
import json
import os
import signal
import socket
import subprocess
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BATCH = 256                             # alarms of a request
ALARM = ('{"seq":%d,"time_us":%d,"reason":"PC_FAIL","flow_id":{"src_ip":"10.1.1.2",'
         '"dst_ip":"10.2.1.2","src_port":%d,"dst_port":80,"protocol":6},'
         '"paths":[[1,9,17,13,18,11,3]],"detail":"max_hops: 6 hops are more than 5"}')


def pathdump(at, *words):
    return subprocess.run([os.path.join(at, "pathdump"), *map(str, words)], capture_output=True,
                          text=True, check=True).stdout


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """a daemon that answers at its port"""

    def __init__(self, at, name, port, *words):
        self.port = port
        self.process = subprocess.Popen([os.path.join(at, name), *map(str, words), "--listen",
                                         f"127.0.0.1:{port}", "--log-level", "error"])
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
        body = (f'{{"host":{host},"spool":"{spool:016x}",'
                f'"alarms":[{",".join(ALARM % (n, n, n % 65536) for n in seqs)}]}}')
        requests.append((seqs[-1], f"POST /v1/alarms HTTP/1.1\r\nHost: localhost\r\n"
                         f"Content-Length: {len(body)}\r\n\r\n{body}".encode()))
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
    senders = [threading.Thread(target=send_all, args=(port, requests, acknowledged, spool, until))
               for spool, requests in work.items()]
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
    work = {spool: make_bodies(21, spool, alarms // connections)
            for spool in range(1, connections + 1)}
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
    print(json.dumps({"bench": "alarms_accepted", "alarms": total, "connections": connections,
                      "alarms_of_a_request": BATCH,
                      "alarms_per_s": round(total / seconds), "commits": status["commits"],
                      "wanted_per_s": 50000}), flush=True)


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
    print(json.dumps({"bench": "alarms_killed", "alarms": each * connections, "kills": kills,
                      "there": there, "each_once": once,
                      "lost": each * connections - there}), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin", nargs="?", default=os.path.join(HERE, "../../../build/release/bin"))
    parser.add_argument("--alarms", type=int, default=200_000)
    parser.add_argument("--connections", type=int, default=8)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pathdump-bench-") as folder:
        topology = os.path.join(folder, "fat4.json")
        with open(topology, "w", encoding="utf-8") as out:
            out.write(pathdump(args.bin, "topology", "fat-tree", "--k", 4))
        hosts = os.path.join(folder, "hosts.json")

        with open(hosts, "w", encoding="utf-8") as out:
            json.dump([{"id": 21, "url": "http://127.0.0.1:1"}], out)

        def starter(state):
            def start(port=None):
                return Server(args.bin, "pathdump-controller", port or free_port(), "--topology",
                              topology, "--hosts", hosts, "--state",
                              os.path.join(folder, state))
            return start
        bench_accepted(args.bin, starter("accepted"), args.alarms, args.connections)
        bench_killed(args.bin, starter("killed"), args.alarms, args.connections)


if __name__ == "__main__":
    main()
