# SPDX-License-Identifier: Apache-2.0
"""A controller and four agents of a fat-tree (k = 4) for the page: who was sent what is known, one
flow took two paths."""
import http.client
import json
import os
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../shared"))
from capture import frame, write_pcap           # noqa: E402
from programs import Controller, Daemon, pathdump   # noqa: E402

START_S = 1_700_000_000
AT = START_S + 10               # the moment that tests look at: ten seconds from START_S
FIRST, SECOND = 3, 4            # tags: by the first or second aggregation switch of the pod
# receiver: (sender, source port, [(second, tag)])
SENT = {21: ("10.1.2.2", 1000, [(n / 10, FIRST) for n in range(70)]),
        22: ("10.1.2.2", 1001, [(n / 5, SECOND) for n in range(30)]),
        25: ("10.2.2.2", 1002, [(n / 10, FIRST if n < 35 else SECOND) for n in range(70)]),
        26: ("10.2.2.2", 1003, [(n / 2, SECOND) for n in range(16)])}
TWO_PATHS = {"4,11,3", "4,12,3"}
FLOW = ("src_ip", "dst_ip", "src_port", "dst_port", "protocol")
HOSTILE = ["<img src=x onerror=window.hurt=1>", "</bdi><script>window.hurt=1</script>",
           "\u202egnp.exe\u2066 \u200f", "\U0001f9ff" * 64, "javascript:window.hurt=1"]


class World:
    def __init__(self, *more, hosts=tuple(SENT)):
        self.folder = tempfile.TemporaryDirectory(prefix="pathdump-page-")
        self.at = self.folder.name
        self.topology = self.write("topology.json", pathdump("topology", "fat-tree", "--k", 4))
        with open(self.topology, encoding="utf-8") as file:
            nodes = {node["id"]: node for node in json.load(file)["nodes"]}
        self.more = more
        self.agents = {host: self.begin_agent(nodes[host]) for host in hosts}
        for agent in self.agents.values():
            agent.wait_state("finished")
        self.controller = None
        self.seq = 0
        self.start()

    def write(self, name, text):
        with open(os.path.join(self.at, name), "w", encoding="utf-8") as out:
            out.write(text)
        return os.path.join(self.at, name)

    def begin_agent(self, host):
        source, port, packets = SENT[host["id"]]
        address = next(a for a in host["addrs"] if "." in a)
        at = os.path.join(self.at, str(host["id"]))
        os.mkdir(at)
        frames = [(int((START_S + s) * 1e6),
                   frame(source, address, port, 80, b"x" * 400, tags=(tag,))) for s, tag in packets]
        write_pcap(os.path.join(at, "in.pcap"), frames)
        return Daemon(at, topology=self.topology, intake="pcap:" + os.path.join(at, "in.pcap"))

    def start(self):
        """the controller, at the same address as before"""
        urls = {host: agent.url for host, agent in self.agents.items()}
        port = self.controller and self.controller.port
        words = ("--map-period", "300", "--link-mbps", "1", *self.more)
        self.controller = Controller(self.at, self.topology, urls, *words, port=port)
        self.controller.wait(lambda: self.ask("GET", "/map")[0] == 200)

    @property
    def url(self):
        return self.controller.url

    def ask(self, method, target, body=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.controller.port, timeout=30)
        try:
            connection.request(method, target, body=json.dumps(body) if body is not None else None,
                               headers=headers)
            answer = connection.getresponse()
            text = answer.read()
            return answer.status, json.loads(text) if answer.headers[
                "Content-Type"] == "application/json" else text
        finally:
            connection.close()

    def get(self, target):
        status, answer = self.ask("GET", target)
        assert status == 200, f"{target}: {status} {answer}"
        return answer

    def alarm(self, host=21, reason="PC_FAIL", detail="", path=(1, 9, 2), number=1, port=1):
        """as an agent brings them; `number` of them, of flows of their own"""
        alarms = []
        for n in range(number):
            self.seq += 1
            flow = dict(zip(FLOW, ("10.1.2.2", "10.1.1.2", (port + n) % 65535 + 1, 80, 6)))
            alarms.append({"seq": self.seq, "time_us": time.time_ns() // 1000, "reason": reason,
                           "detail": detail, "paths": [list(path)], "flow_id": flow})
        status, answer = self.ask("POST", "/v1/alarms",
                                  {"host": host, "spool": "00000000000000aa", "alarms": alarms})
        assert status == 200, answer

    def close(self):
        for daemon in (*self.agents.values(), self.controller):
            daemon.__exit__()
        self.folder.cleanup()
