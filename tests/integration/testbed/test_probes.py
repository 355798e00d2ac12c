#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Probes on the second fabric: agents send what they are ordered to, switches write on it, and what arrives is what the wires saw."""
import json
import subprocess
import sys
import tempfile
import time
import unittest

import scenario                                 # makes the modules of the bed importable
from agent import Agent
from commands import wait_for
from wire import Account

SENDER, RECEIVER = 21, 25
PATH, BACK = [1, 9, 17, 11, 3], [1, 9, 17, 9, 1]        # the second turns round: back by the port that it came by
KEY, PLAN, RATE, PORT = "00112233445566778899aabbccddeeff", 7, 100, 2222
SHOOT = """
import socket, sys
sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
sock.bind(("eth0", 0))
for frame in sys.argv[1:]:
    sock.send(bytes.fromhex(frame))
"""


def way(number, path, source, target, **more):
    return {"number": number, "path": path, "from_host": source, "to_host": target, **more}


def order(number, ways, **more):
    return {"plan": PLAN, "order": number, "carrier": "sr-int", "rate_hz": RATE, "lease_ms": 60000, "key": KEY, "ways": ways, **more}


class Ordered(unittest.TestCase):
    """without a controller: the orders are the test's"""
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="pathdump-probes.")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.bed = scenario.bed("probes", fabric="tc", tagged={SENDER, RECEIVER})
        cls.enterClassContext(cls.bed)
        cls.agents = {i: cls.enterClassContext(Agent(cls.bed.host(i), cls.folder.name, options=("--strip", "--host-id", i)))
                      for i in (SENDER, RECEIVER)}

    def tearDown(self):
        self.bed.faults.clear()
        for agent in self.agents.values():
            self.ask(agent, "-X", "DELETE")

    def ask(self, agent, *words):
        done = agent.host.run(["curl", "-s", "--max-time", "10", *words, f"{agent.url}/v1/probes"], stdout=subprocess.PIPE, text=True)
        return json.loads(done.stdout)

    def give(self, document, hosts=(RECEIVER, SENDER)):
        answers = [self.ask(self.agents[i], "-H", "Content-Type: application/json", "-d", json.dumps(document)) for i in hosts]
        self.assertEqual([answer.get("plan") for answer in answers], [document["plan"]] * len(answers), answers)
        return answers

    def ways(self, host):
        return {w["number"]: w for w in self.ask(self.agents[host])["ways"]}

    def status(self, host):
        return json.loads(self.agents[host].curl("status"))

    def encoded(self, *words):
        command = [self.bed.program_path("pathdump"), "probes", "encode", "--topology", self.bed.topology, "--carrier", "sr-int",
                   "--path", ",".join(map(str, PATH)), "--src", self.bed.host(SENDER).ipv4, "--dst", self.bed.host(RECEIVER).ipv4, *map(str, words), "--json"]
        return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)["frame"]

    def test_probes_take_their_way(self):
        """to another host, and back to the own one: each arrives, over exactly these links, and is no flow"""
        account, before = Account(self.bed), self.status(RECEIVER)["probes"]["received"]
        self.give(order(1, [way(0, PATH, SENDER, RECEIVER), way(1, BACK, SENDER, SENDER)]))
        wait_for(lambda: self.ways(RECEIVER)[0]["received"] >= 50 and self.ways(SENDER)[1]["received"] >= 50, "probes")
        self.give(order(2, [way(0, PATH, SENDER, RECEIVER), way(1, BACK, SENDER, SENDER)], hold_from=0))
        time.sleep(.2)
        sent, own, received = self.ways(SENDER), self.ways(SENDER)[1], self.ways(RECEIVER)[0]
        self.assertEqual(sent[0]["sent"], received["received"])
        self.assertEqual(own["sent"], own["received"])
        links = {flow[:2]: links for flow, links in account.stop().items() if flow[3] == PORT}
        ends = {i: self.bed.host(i).ipv4 for i in (SENDER, RECEIVER)}
        self.assertEqual(set(links[ends[SENDER], ends[RECEIVER]]), set(zip([SENDER] + PATH, PATH)))
        self.assertEqual(set(links[ends[SENDER], ends[SENDER]]), set(zip([SENDER] + BACK, BACK)))
        self.assertEqual(self.status(RECEIVER)["probes"]["received"] - before, received["received"])
        self.assertEqual([f for f in self.agents[RECEIVER].query("getFlows")["flows"] if f["flow_id"]["dst_port"] == PORT], [])

    def test_what_is_refused(self):
        """wrong hash, another plan, seen before, not its way; and what a host without an agent sends gets no further than its rack"""
        self.give(order(1, [way(0, PATH, SENDER, RECEIVER)], hold_from=0))
        before = self.status(RECEIVER)["probes"]
        good = self.encoded("--plan", PLAN, "--number", 0, "--seq", 5, "--key", KEY)
        bad = {"forged": self.encoded("--plan", PLAN, "--number", 0, "--seq", 6, "--key", "00" * 16), "past": good,
               "other_plan": self.encoded("--plan", PLAN - 1, "--number", 0, "--seq", 7, "--key", KEY),
               "other_way": self.encoded("--plan", PLAN, "--number", 9, "--seq", 7, "--key", KEY)}
        self.bed.host(SENDER).run([sys.executable, "-c", SHOOT, good, *bad.values()], check=True)
        wait_for(lambda: self.status(RECEIVER)["probes"]["past"] > before["past"], "the last one")
        after = self.status(RECEIVER)["probes"]
        self.assertEqual({name: after[name] - before[name] for name in ("received", *bad)}, dict.fromkeys(("received", *bad), 1))
        other = self.bed.host(22)
        edge = self.bed.fabric.counters(1)["edge"]
        other.run([sys.executable, "-c", SHOOT, good], check=True)
        wait_for(lambda: self.bed.fabric.counters(1)["edge"] > edge, "the refused one")

    def test_orders(self):
        """an older plan and an older order are told which one is in force; what cannot be carried is named"""
        self.give(order(3, []))
        agent = self.agents[SENDER]
        for document, status, words in ((order(2, []), 503, "order: 3"), (dict(order(9, []), plan=PLAN - 1), 503, f"plan: {PLAN}"),
                                        (order(4, [way(0, [1, 17], SENDER, RECEIVER)]), 400, "ways[0]"), (dict(order(4, []), rate_hz=5000), 400, "rate_hz")):
            problem = self.ask(agent, "-H", "Content-Type: application/json", "-d", json.dumps(document))
            self.assertEqual(problem["status"], status, problem)
            self.assertIn(words, problem["detail"])
        self.assertEqual(self.ask(agent)["order"], 3)

    def test_a_lease_ends(self):
        self.give(dict(order(1, [way(0, PATH, SENDER, RECEIVER)]), lease_ms=300))
        wait_for(lambda: self.ask(self.agents[SENDER])["plan"] == 0, "the end of the lease")


if __name__ == "__main__":
    scenario.main()
