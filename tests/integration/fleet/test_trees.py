#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Eight agents, each with the traffic to its own host, and one that has it all: asked directly,
along trees, with one of them dead or deaf, they answer what the one answers, and say who is
missing."""
import http.client
import json
import os
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../shared"))
from capture import frame, write_pcap
from programs import PATIENCE_S, Daemon, pathdump, program, stopped

START_US = 1_700_000_000_000_000
PATHS = {(1, 3): [(1, 9, 17, 11, 3), (1, 10, 19, 12, 3)], (3, 1): [(3, 11, 18, 9, 1)],
         (1, 2): [(1, 9, 2), (1, 10, 2)]}
QUERIES = [("getFlows", {}), ("getFlows", {"link": "9-17"}), ("getPaths", {}),
           ("getCount", {"protocol": "udp"}), ("getDuration", {}),
           ("topFlows", {"k": 7}), ("topFlows", {"k": 1000, "by": "pkts"}), ("topHosts", {"k": 5}),
           ("topLinks", {"k": 50}), ("topRecords", {"k": 9}),
           ("flowSizes", {"link": "*-*", "bin_bytes": 500}), ("trafficMatrix", {}),
           ("pathBytes", {}), ("distinct", {"of": "sources"}),
           ("conformance", {"max_hops": 3})]
FEW = "--program-instructions", "1000000"       # endless ones end soon
COUNT = "function run(args) local n = 0 for f in get_flows{} do n = n + 1 end return n end "


def topology_of(folder):
    """the file, and hosts: address -> ID"""
    path = os.path.join(folder, "fat4.json")
    text = pathdump("topology", "fat-tree", "--k", 4)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
    return path, {a: node["id"] for node in json.loads(text)["nodes"] if node["role"] == "host"
                  for a in node["addrs"]}


def traffic(topology):
    """destination address -> frames; eight destinations in three racks"""
    tags, sent = {}, {}
    for (_, to), paths in PATHS.items():
        for path in paths:
            src, dst = (f"10.{(tor + 1) // 2}.{2 - tor % 2}.2" for tor in (path[0], path[-1]))
            words = "--topology", topology, "--src", src, "--dst", dst, "--path", ",".join(
                map(str, path)), "--json"
            tags[path] = json.loads(pathdump("codec", "encode", *words))["tags"]
    for (tor, to), paths in PATHS.items():
        for host in (2, 3):
            dst = f"10.{(to + 1) // 2}.{2 - to % 2}.{host}"
            for n in range(24):
                src = f"10.{(tor + 1) // 2}.{2 - tor % 2}.{2 + n % 2}"
                for i in range(1 + n % 5):
                    raw = frame(src, dst, 1000 + n, 80, b"x" * (40 * n),
                                tags[paths[n % len(paths)]])
                    sent.setdefault(dst, []).append((START_US + 1000 * n + i, raw))
    return sent


class TreesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.common = tempfile.TemporaryDirectory(prefix="pathdump-fleet-")
        cls.addClassCleanup(cls.common.cleanup)
        cls.topology, ids = topology_of(cls.common.name)
        sent = traffic(cls.topology)
        cls.agents = {}
        for dst, frames in sent.items():
            cls.agents[ids[dst]] = cls.start(f"host-{dst}", frames, "--host-id", str(ids[dst]),
                                             *FEW)
        for dst in ("10.4.1.2", "10.4.2.2"):        # nobody sends to these
            cls.agents[ids[dst]] = cls.start(f"host-{dst}", [], "--host-id", str(ids[dst]), *FEW)
        cls.whole = cls.start("whole", [f for frames in sent.values() for f in frames])
        cls.ids = sorted(cls.agents)
        for agent in (*cls.agents.values(), cls.whole):
            agent.wait_state("finished")

    @classmethod
    def start(cls, name, frames, *more):
        folder = os.path.join(cls.common.name, name)
        os.mkdir(folder)
        write_pcap(os.path.join(folder, "in.pcap"), sorted(frames))
        agent = Daemon(folder, *more, intake=f"pcap:{folder}/in.pcap", topology=cls.topology)
        cls.addClassCleanup(agent.__exit__)
        return agent

    def tree(self, host, *children):
        return {"id": host, "url": f"http://127.0.0.1:{self.agents[host].port}",
                "children": list(children)}

    def direct(self):
        """the first host's children: all others"""
        return [self.tree(i) for i in self.ids[1:]]

    def deep(self):
        """two inner nodes, one above the other, and another one"""
        a, b, c, d, e, f, g = self.ids[1:]
        return [self.tree(a, self.tree(b, self.tree(c), self.tree(d))),
                self.tree(e, self.tree(f), self.tree(g))]

    @staticmethod
    def post(agent, document, accept="application/json", code=200):
        connection = http.client.HTTPConnection("127.0.0.1", agent.port, timeout=PATIENCE_S)
        try:
            connection.request("POST", "/v1/query", json.dumps(document),
                               {"Accept": accept, "Content-Type": "application/json"})
            answer = connection.getresponse()
            body = answer.read()
        finally:
            connection.close()
        assert answer.status == code, f"{answer.status}: {body[:300]}"
        return body

    def ask(self, children, code=200, at=None, **document):
        agent = self.agents[at or self.ids[0]]
        return json.loads(self.post(agent, {**document, **({"children": children} if children
                                                           else {})}, code=code))

    def others(self, answer, missing=()):
        """the query's own part of an answer, after the rest was looked at"""
        hosts, cost = answer.pop("hosts"), answer.pop("cost")
        self.assertEqual((hosts["asked"], hosts["answered"]), (8, 8 - len(missing)))
        self.assertEqual([m["id"] for m in hosts["missing"]], sorted(missing))
        self.assertTrue(all(m["reason"] for m in hosts["missing"]))
        self.assertEqual(answer["complete"], not missing)
        self.assertGreater(cost["critical_path_us"], 0)
        self.assertGreater(cost["bytes"], 0)
        return answer

    def test_union(self):
        for name, args in QUERIES:
            document = {"query": name, "args": args}
            wanted = self.post(self.whole, document)
            wanted = json.loads(wanted)
            wanted.pop("token", None)
            for children in (self.direct(), self.deep()):
                with self.subTest(name=name, args=args, children=len(children)):
                    self.assertEqual(self.others(self.ask(children, **document)), wanted)

    def test_alone(self):
        """without children the answer is that of the query"""
        for agent in (self.whole, self.agents[self.ids[0]]):
            self.assertEqual(self.post(agent, {"query": "topFlows", "args": {"k": 3}}),
                             agent.raw("/v1/topFlows?k=3")[2])

    def test_ndjson(self):
        document = {"query": "topFlows", "args": {"k": 20}}
        wanted = json.loads(self.post(self.whole, document))
        lines = self.post(self.agents[self.ids[0]], {**document, "children": self.deep()},
                          "application/x-ndjson").splitlines()
        rows, rest = [json.loads(line) for line in lines[:-1]], json.loads(lines[-1])
        self.assertEqual(rows, wanted["top"])
        self.assertEqual(self.others(rest), {"complete": True})

    @unittest.skipUnless(os.path.exists(program("pathdump-program")), "programs are not built")
    def test_programs(self):
        flows = len(json.loads(self.post(self.whole, {"query": "getFlows"}))["flows"])
        for children in (self.direct(), self.deep()):
            answer = self.others(self.ask(children,
                                          program=COUNT + "function merge(a, b) return a + b end"))
            self.assertEqual(answer, {"result": flows, "complete": True})
            answer = self.others(self.ask(children, program=COUNT))
            self.assertEqual([r["host"] for r in answer["result"]], self.ids)
            self.assertEqual(sum(r["result"] for r in answer["result"]), flows)
        self.assertEqual(self.ask(None, program="function run(args) return args.x end",
                                  args={"x": [1, {"y": 2}]}), {"result": [1, {"y": 2}]})
        self.assertIn("budget", self.ask(self.direct(), 422,
                                         program="function run() while true do end end")["detail"])
        self.assertIn("program", self.ask(self.deep(), 422, program="function run(")["detail"])
        answer = self.ask(None, 504, program="function run() return (' '):rep(1e5):match((' "
                          "*'):rep(30) .. 'x') end", deadline_ms=300)
        self.assertIn("deadline", answer["detail"])

    def test_dead_inner_node(self):
        wanted = {i: json.loads(self.post(self.agents[i], {"query": "getCount"})) for i in self.ids}
        victim = self.ids[1]
        adopted = self.agents[self.ids[0]].status()["agent"]["hosts_adopted"]
        url = "http://127.0.0.1:9"          # discard: nobody is there
        children = self.deep()
        children[0]["url"] = url
        answer = self.others(self.ask(children, query="getCount", deadline_ms=PATIENCE_S * 1000),
                             [victim])
        for key in ("bytes", "pkts"):
            self.assertEqual(answer[key], sum(w[key] for i, w in wanted.items() if i != victim))
        self.assertEqual(self.agents[self.ids[0]].status()["agent"]["hosts_adopted"], adopted + 1)
        children[0]["children"][0]["url"] = url     # and the one below it as well
        answer = self.others(self.ask(children, query="getCount", deadline_ms=PATIENCE_S * 1000),
                             self.ids[1:3])
        self.assertEqual(answer["pkts"],
                         sum(w["pkts"] for i, w in wanted.items() if i not in self.ids[1:3]))

    def test_deaf_inner_node(self):
        """one that takes the question and says nothing: what is below it is asked before the time
        is over"""
        wanted = {i: json.loads(self.post(self.agents[i], {"query": "getCount"})) for i in self.ids}
        victim, deadline_s = self.ids[1], 4
        with stopped(self.agents[victim]):
            begun = time.monotonic()
            answer = self.others(self.ask(self.deep(), query="getCount",
                                          deadline_ms=1000 * deadline_s), [victim])
            self.assertLess(time.monotonic() - begun, deadline_s + 1)
        self.assertEqual(answer["pkts"], sum(w["pkts"] for i, w in wanted.items() if i != victim))

    def test_stop(self):
        """an agent that waits for others stops all the same; who asked it hears so, or finds the
        connection closed"""
        agent, victim = self.start("stopping", []), self.ids[1]
        agent.wait_state("finished")
        document = {"query": "getCount", "children": [self.tree(victim)], "deadline_ms": 3_000_000}

        def ask():
            try:
                self.post(agent, document, code=503)
            except (OSError, http.client.HTTPException):
                pass
        with stopped(self.agents[victim]):
            asker = threading.Thread(target=ask)
            asker.start()
            agent.wait(lambda: agent.status()["agent"]["queries"] == 1)
            self.assertEqual(agent.end(), 0, agent.log())
        asker.join(PATIENCE_S)
        self.assertFalse(asker.is_alive())

    def test_refused(self):
        own = self.tree(self.ids[0])
        self.assertIn("this one", self.ask([own], 400, query="getCount")["detail"])
        self.assertIn("twice", self.ask([self.tree(self.ids[1]), self.tree(self.ids[1])], 400,
                                        query="getCount")["detail"])
        self.assertIn("since",
                      self.ask(self.direct(), 400, query="getFlows", args={"since": "x"})["detail"])

    def test_no_order(self):
        """nobody needs an order here; what is none is refused all the same"""
        for order, wanted in (("", 200), ("no order", 403), ("UERPUgE=", 403)):
            connection = http.client.HTTPConnection("127.0.0.1", self.agents[self.ids[0]].port,
                                                    timeout=PATIENCE_S)
            connection.request("POST", "/v1/query", '{"query":"getCount"}',
                               {"Pathdump-Order": order})
            answer = connection.getresponse()
            self.assertEqual(answer.status, wanted, answer.read())
            connection.close()

    def test_crossing_trees(self):
        """every host asks every other one, all at once: nobody waits for a turn that depends on
        him"""
        problems = []

        def ask(at):
            others = [i for i in self.ids if i != at]
            children = [self.tree(others[0], *map(self.tree, others[1:4])),
                        self.tree(others[4], *map(self.tree, others[5:]))]
            try:
                for _ in range(4):
                    self.others(self.ask(children, at=at, query="topFlows",
                                         deadline_ms=PATIENCE_S * 1000))
            except Exception as error:      # pylint: disable=broad-exception-caught
                problems.append(error)
        threads = [threading.Thread(target=ask, args=(at,)) for at in self.ids for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(problems, [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
