# SPDX-License-Identifier: Apache-2.0
"""The fleet of the benchmark: real agents, each with a store of its own, and the controller, all on
loopback."""
import http.client
import json
import os
import struct
import subprocess
import time

# of the fat-tree; its switches have the IDs 1 to 80, its hosts follow
K = 8
FIRST_HOST = K * K * 5 // 4 + 1
POD, RACK = 16, 4
PORT = 7411
START_S = 120
STOP_S = 20


def address(host):
    """of host 0, 1, …; every agent has an address of its own, as if it had a machine of its own"""
    return f"127.{11 + host // POD}.{host % POD // RACK + 1}.{host % RACK + 2}"


def ask(where, port, method, route, body=None, timeout_s=60):
    """(bytes of the answer, ms); the time is that of a client which has all of it"""
    begun = time.perf_counter()
    connection = http.client.HTTPConnection(where, port, timeout=timeout_s)
    try:
        connection.request(method, route, body,
                           {"Content-Type": "application/json"} if body else {})
        answer = connection.getresponse()
        data = answer.read()
    finally:
        connection.close()
    took_ms = (time.perf_counter() - begun) * 1000
    if answer.status != 200:
        raise RuntimeError(
            f"{method} http://{where}:{port}{route}: status {answer.status}: {data[:300]!r}")
    return data, took_ms


def cpu_s(pid):
    """processor time of all threads of a process so far"""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        words = file.read().rpartition(") ")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


class Fleet:
    """a context; processes end with it"""

    def __init__(self, binaries, folder, hosts, records):
        self.binaries, self.folder, self.count, self.records = binaries, folder, hosts, records
        self.topology, self.empty = os.path.join(folder, "fat8.json"), os.path.join(folder,
                                                                                    "empty.pcap")
        self.agents, self.controller = [], None
        self.ids = [FIRST_HOST + i for i in range(hosts)]

    def program(self, name):
        return os.path.join(self.binaries, name)

    def make(self):
        """topology, hosts file and stores; stores that a run before left are used again"""
        with open(self.topology, "w", encoding="utf-8") as out:
            subprocess.run([self.program("pathdump"), "topology", "fat-tree", "--k", str(K)],
                           stdout=out, check=True)
        with open(self.empty, "wb") as out:
            out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        with open(os.path.join(self.folder, "hosts.json"), "w", encoding="utf-8") as out:
            json.dump([{"id": i, "name": f"h{n}", "url": f"http://{address(n)}:{PORT}"}
                       for n, i in enumerate(self.ids)], out)
        done, wanted = os.path.join(self.folder, "made"), f"{self.count} {self.records}"
        if os.path.exists(done) and open(done, encoding="ascii").read() == wanted:
            return
        subprocess.run([self.program("tests/fanout_tibs"), self.folder, str(K), str(self.count),
                        str(self.records)], check=True)
        with open(done, "w", encoding="ascii") as out:
            out.write(wanted)

    def start(self, name, *words):
        with open(os.path.join(self.folder, f"{name}.log"), "w", encoding="utf-8") as log:
            return subprocess.Popen([*map(str, words)], stdin=subprocess.DEVNULL, stdout=log,
                                    stderr=log)

    def __enter__(self):
        try:
            for n, i in enumerate(self.ids):
                self.agents.append(self.start(
                    f"agent{n}", self.program("pathdumpd"), "--topology", self.topology, "--intake",
                    f"pcap:{self.empty}", "--tib",
                    os.path.join(self.folder, f"tib{n}"), "--listen", f"{address(n)}:{PORT}",
                    "--host-id", i, "--tib-cold-after", 0, "--log-level", "error"))
            for n, agent in enumerate(self.agents):
                self.wait(agent, address(n), PORT, f"agent{n}")
            self.controller = self.start(
                "controller", self.program("pathdump-controller"), "--topology", self.topology,
                "--hosts", os.path.join(self.folder, "hosts.json"),
                "--state", os.path.join(self.folder, "state"), "--listen", f"127.10.0.1:{PORT}")
            self.wait(self.controller, "127.10.0.1", PORT, "controller")
            return self
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *_):
        self.stop()

    def wait(self, process, where, port, name):
        deadline = time.monotonic() + START_S
        while True:
            try:
                return ask(where, port, "GET", "/v1/status", timeout_s=5)
            except (OSError, RuntimeError, http.client.HTTPException):
                if process.poll() is not None or time.monotonic() > deadline:
                    with open(os.path.join(self.folder, f"{name}.log"), encoding="utf-8",
                              errors="replace") as log:
                        raise RuntimeError(f"{name} does not run: {log.read()[-500:]}") from None
                time.sleep(.05)

    def execute(self, hosts, mode, query, args):
        """an answer of the controller as (document, ms)"""
        body = json.dumps({"hosts": self.ids[:hosts], "query": query, "args": args, "mode": mode,
                           "deadline_ms": 30000})
        data, took_ms = ask("127.10.0.1", PORT, "POST", "/v1/execute", body)
        document = json.loads(data)
        if not document["complete"] or document["hosts"]["answered"] != hosts or document[
            "mode"] != mode:
            raise RuntimeError(
                f"{query} {mode} of {hosts} hosts: {document['mode']}, {document['hosts']}")
        return document, took_ms

    def stop(self):
        processes = [p for p in [self.controller, *self.agents] if p]
        for process in processes:
            process.terminate()
        for process in processes:
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.agents, self.controller = [], None
