#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Probes on the second fabric: agents send what they are ordered to, switches write on it, and what
arrives is what the wires saw."""
import json
import subprocess
import sys
import tempfile
import time
import unittest

import scenario                                 # makes the modules of the bed importable
from agent import Agent, start_all
from commands import wait_for
from wire import Account

HOPS, NAME_S, BACK_S = 12, 10, 20
SENDER, RECEIVER = 21, 25
PATH, BACK = [1, 9, 17, 11, 3], [1, 9, 17, 9, 1]   # the second goes back by the port it came by
KEY, PLAN, RATE, PORT = "00112233445566778899aabbccddeeff", 7, 100, 2222
SHOOT = """
import socket, sys
sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
sock.bind(("eth0", 0))
for frame in sys.argv[1:]:
    sock.send(bytes.fromhex(frame))
"""

BURST = """
import socket, sys
for port in range(20000, 20064):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("", port))
    for _ in range(8):
        sock.sendto(bytes(1200), (sys.argv[1], 5009))
"""


def way(number, path, source, target, **more):
    return {"number": number, "path": path, "from_host": source, "to_host": target, **more}


def order(number, ways, **more):
    return {"plan": PLAN, "order": number, "carrier": "sr-int", "rate_hz": RATE,
            "lease_ms": 60000, "key": KEY, "ways": ways, **more}


class Ordered(unittest.TestCase):
    """without a controller: the orders are the test's"""
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="pathdump-probes.")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.bed = scenario.bed("probes", fabric="tc", tagged={SENDER, RECEIVER})
        cls.enterClassContext(cls.bed)
        cls.agents = {i: cls.enterClassContext(cls.agent(i)) for i in (SENDER, RECEIVER)}

    @classmethod
    def agent(cls, i):
        return Agent(cls.bed.host(i), cls.folder.name, options=("--strip", "--host-id", i))

    def tearDown(self):
        self.bed.faults.clear()
        for agent in self.agents.values():
            self.ask(agent, "-X", "DELETE")

    def ask(self, agent, *words):
        command = ["curl", "-s", "--max-time", "10", *words, f"{agent.url}/v1/probes"]
        return json.loads(agent.host.run(command, stdout=subprocess.PIPE, text=True).stdout)

    def post(self, agent, document):
        return self.ask(agent, "-H", "Content-Type: application/json", "-d", json.dumps(document))

    def give(self, document, hosts=(RECEIVER, SENDER)):
        answers = [self.post(self.agents[i], document) for i in hosts]
        for answer in answers:
            self.assertEqual(answer.get("plan"), document["plan"], answer)
        return answers

    def ways(self, host):
        return {w["number"]: w for w in self.ask(self.agents[host])["ways"]}

    def status(self, host):
        return json.loads(self.agents[host].curl("status"))

    def encoded(self, *words):
        ends = self.bed.host(SENDER).ipv4, self.bed.host(RECEIVER).ipv4
        command = [self.bed.program_path("pathdump"), "probes", "encode", "--carrier", "sr-int",
                   "--topology", self.bed.topology, "--path", ",".join(map(str, PATH)),
                   "--src", ends[0], "--dst", ends[1], *map(str, words), "--json"]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        return json.loads(done.stdout)["frame"]

    def test_probes_take_their_way(self):
        """to another host, and back to the own one: each arrives, over exactly these links, and is
        no flow"""
        account, before = Account(self.bed), self.status(RECEIVER)["probes"]["received"]
        ways = [way(0, PATH, SENDER, RECEIVER), way(1, BACK, SENDER, SENDER)]
        self.give(order(1, ways))
        wait_for(lambda: self.ways(RECEIVER)[0]["received"] >= 50, "probes")
        wait_for(lambda: self.ways(SENDER)[1]["received"] >= 50, "probes that turn round")
        self.give(order(2, ways, hold_from=0))
        time.sleep(.2)
        sent, own, received = self.ways(SENDER), self.ways(SENDER)[1], self.ways(RECEIVER)[0]
        self.assertEqual(sent[0]["sent"], received["received"])
        self.assertEqual(own["sent"], own["received"])
        links = {flow[:2]: links for flow, links in account.stop().items() if flow[3] == PORT}
        ends = {i: self.bed.host(i).ipv4 for i in (SENDER, RECEIVER)}
        self.assertEqual(set(links[ends[SENDER], ends[RECEIVER]]), set(zip([SENDER] + PATH, PATH)))
        self.assertEqual(set(links[ends[SENDER], ends[SENDER]]), set(zip([SENDER] + BACK, BACK)))
        self.assertEqual(self.status(RECEIVER)["probes"]["received"] - before, received["received"])
        flows = self.agents[RECEIVER].query("getFlows")["flows"]
        self.assertEqual([f for f in flows if f["flow_id"]["dst_port"] == PORT], [])

    def test_what_is_refused(self):
        """wrong hash, another plan, seen before, not its way; and what a host without an agent
        sends gets no further than its rack"""
        self.give(order(1, [way(0, PATH, SENDER, RECEIVER)], hold_from=0))
        before = self.status(RECEIVER)["probes"]
        good = self.encoded("--plan", PLAN, "--number", 0, "--seq", 5, "--key", KEY)
        bad = {"forged": self.encoded("--plan", PLAN, "--seq", 6, "--key", "00" * 16),
               "past": good,
               "other_plan": self.encoded("--plan", PLAN - 1, "--seq", 7, "--key", KEY),
               "other_way": self.encoded("--plan", PLAN, "--number", 9, "--seq", 7, "--key", KEY)}
        self.bed.host(SENDER).run([sys.executable, "-c", SHOOT, good, *bad.values()], check=True)
        wait_for(lambda: self.status(RECEIVER)["probes"]["past"] > before["past"], "the last one")
        after = self.status(RECEIVER)["probes"]
        for name in ("received", *bad):
            self.assertEqual(after[name] - before[name], 1, name)
        other = self.bed.host(22)
        edge = self.bed.fabric.counters(1)["edge"]
        other.run([sys.executable, "-c", SHOOT, good], check=True)
        wait_for(lambda: self.bed.fabric.counters(1)["edge"] > edge, "the refused one")

    def test_orders(self):
        """an older plan and an older order are told which one is in force; what cannot be carried
        is named"""
        self.give(order(3, []))
        agent = self.agents[SENDER]
        bad = [(order(2, []), 409, "order: 3"),
               (dict(order(9, []), plan=PLAN - 1), 409, f"plan: {PLAN}"),
               (order(4, [way(0, [1, 17], SENDER, RECEIVER)]), 400, "ways[0]"),
               (dict(order(4, []), rate_hz=5000), 400, "rate_hz")]
        for document, status, words in bad:
            problem = self.post(agent, document)
            self.assertEqual(problem["status"], status, problem)
            self.assertIn(words, problem["detail"])
        self.assertEqual(self.ask(agent)["order"], 3)

    def test_a_lease_ends(self):
        self.give(dict(order(1, [way(0, PATH, SENDER, RECEIVER)]), lease_ms=300))
        wait_for(lambda: self.ask(self.agents[SENDER])["plan"] == 0, "the end of the lease")


class Found(unittest.TestCase):
    """with a controller, and no traffic at all"""
    @classmethod
    def setUpClass(cls):
        cls.bed = scenario.bed("found", fabric="tc", tagged=all, controller=True)
        cls.enterClassContext(cls.bed)
        cls.agents = start_all(cls.bed)
        cls.addClassCleanup(lambda: [agent.stop() for agent in cls.agents.values()])

    def setUp(self):
        self.addCleanup(self.end)
        self.bed.controller.ask("probes", {"rate_hz": RATE, "max_hops": HOPS})
        self.wait_ok()

    def end(self):
        self.bed.faults.clear()
        self.bed.controller.raw("/v1/probes", "-X", "DELETE")

    def links(self, *metrics):
        answer = self.bed.controller.ask(f"links?metrics={','.join(metrics)}")
        return {row["link"]: row for row in answer["links"]}

    def states(self):
        return {link: row["probe_state"] for link, row in self.links("probe_state").items()}

    def wait_ok(self):
        def ok():
            return list(self.states().values()).count(1) == 64
        wait_for(ok, "probes over each direction", NAME_S)

    def wait_report(self, link):
        last = []

        def named():
            last[:] = [self.bed.controller.app("probe-faults")]
            return last[0]["links"] == [link]
        try:
            wait_for(named, f"{link} in a report", NAME_S)
        except TimeoutError as error:
            self.fail(f"{error}: {last[0]}")

    def test_every_direction_is_measured(self):
        """of each one latency, residence, age and state; all paths are well, and nobody says
        otherwise"""
        rows = self.links("hop_latency_ns", "residence_ns", "probe_age_ms", "probe_loss",
                          "probe_state", "latency_ns")
        self.assertEqual(len(rows), 64)
        for link, row in rows.items():
            self.assertEqual((row["probe_state"], row["probe_loss"]), (1, 0), link)
            self.assertTrue(0 < row["residence_ns"] < row["hop_latency_ns"] < 1e9, row)
            self.assertLess(row["probe_age_ms"], 2000)
        document = self.bed.controller.ask("probes")
        self.assertEqual((document["carrier"], document["hosts_left_out"]), ("sr-int", []))
        paths = [path["path"] for path in document["paths"]]
        crossed = sorted(step for path in paths for step in zip(path, path[1:]))
        self.assertEqual(len(crossed), len(set(crossed)), "a direction is crossed twice")
        self.assertEqual(len(crossed), 64)
        self.assertEqual({path["state"] for path in document["paths"]}, {"ok"})
        time.sleep(3)                           # what went before was another network
        report = self.bed.controller.app("probe-faults", seconds=2)
        self.assertEqual(report["links"], [], report)

    def test_a_dead_direction_is_named(self):
        """by the state of links and by the application, and no other; when it works again nothing
        is named"""
        for ends in ((9, 17), (3, 11)):
            with self.subTest(ends=ends):
                self.wait_ok()
                link, fault = "{}-{}".format(*ends), self.bed.faults.add("blackhole", *ends)
                begin = time.monotonic()
                wait_for(lambda: self.states().get(link) == 3, f"{link} as dead", NAME_S)
                print(f"{link}: dead after {time.monotonic() - begin:.3f} s", file=sys.stderr)
                dead = [other for other, state in self.states().items() if state == 3]
                self.assertEqual(dead, [link])
                self.wait_report(link)
                self.bed.faults.clear(fault)
                self.wait_ok()

    def test_a_queue_is_seen(self):
        """behind a rate limit probes wait, and read how long the queue is"""
        self.bed.faults.add("rate-limit", 9, 17, 1, 1000)
        host, to = self.bed.host(SENDER), self.bed.host(RECEIVER)

        def is_seen():
            host.run([sys.executable, "-c", BURST, to.ipv4], check=True)
            row = self.links("queue_max_bytes").get("9-17", {})
            return (row.get("queue_max_bytes") or 0) > 10000
        wait_for(is_seen, "the queue", NAME_S)

    def test_who_dies_blames_nobody(self):
        """a host whose agent is killed loses its paths to others; no link is called dead"""
        before = self.bed.controller.ask("probes")
        victim = before["paths"][0]["to_host"]
        self.agents[victim].kill()
        seen = set()

        def moved():
            seen.update(link for link, state in self.states().items() if state == 3)
            after = self.bed.controller.ask("probes")
            ends = {p[end] for p in after["paths"] for end in ("from_host", "to_host")}
            return after["plan"] > before["plan"] and victim not in ends
        wait_for(moved, "other hosts", BACK_S)
        self.wait_ok()
        self.assertEqual(seen, set())
        self.agents[victim].start()


if __name__ == "__main__":
    scenario.main()
