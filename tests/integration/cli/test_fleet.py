#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command, a controller and some agents: queries of all servers, the programs of examples/,
lists; against the records that were put in."""
import json
import os
import random
import struct
import subprocess
import sys
import time
from collections import Counter, defaultdict

from command import BIN, FLOW_ID, SOURCE, CommandTest, main, pathdump

sys.path.insert(0, os.path.join(SOURCE, "tests/shared"))
from programs import Controller, Daemon, free_port  # noqa: E402

BAD_PATH = (1, 9, 17, 13, 18, 11, 3)
PATHS = {"10.2.1": ((1, 9, 17, 11, 3), (1, 9, 18, 11, 3), (1, 10, 19, 12, 3), BAD_PATH),
         "10.3.1": ((1, 9, 17, 13, 5), (1, 10, 20, 14, 5))}
PER_HOST = 120
PROGRAMS = os.path.join(SOURCE, "examples/programs")


def flow_of(record):
    return dict(zip(FLOW_ID, record[0]))


class Fleet(CommandTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        topology, text = os.path.join(cls.folder.name, "topology.json"), pathdump(
            "topology", "fat-tree", "--k", 4)[1]
        with open(topology, "w", encoding="utf-8") as f:
            f.write(text)
        addresses = {node["id"]: node["addrs"][0] for node in json.loads(text)["nodes"]
                     if node["role"] == "host"}
        hosts = [host for host, addr in addresses.items() if addr.rsplit(".", 1)[0] in PATHS]
        cls.records, cls.agents = {}, {}
        port = free_port()
        cls.url = f"http://127.0.0.1:{port}"
        for host in hosts:
            cls.start_agent(host, addresses[host], topology)
        cls.dead = next(host for host in addresses if host not in cls.agents)
        urls = {host: agent.url for host, agent in cls.agents.items()}
        cls.controller = Controller(cls.folder.name, topology, {
            **urls, cls.dead: "http://127.0.0.1:1"}, "--listen", f"127.0.0.1:{port}")
        cls.controller.port, cls.controller.url = port, cls.url
        cls.addClassCleanup(cls.controller.__exit__)
        for daemon in (*cls.agents.values(), cls.controller):
            daemon.wait(daemon.status)
        cls.hosts = ",".join(map(str, cls.agents))

    @classmethod
    def start_agent(cls, host, addr, topology):
        """an agent whose store has records of flows to its host: {(flow ID, path): bytes}"""
        at = os.path.join(cls.folder.name, str(host))
        os.makedirs(at)
        paths = PATHS[addr.rsplit(".", 1)[0]]
        records = {((f"10.1.1.{random.randrange(2, 4)}", addr, n // 2, 80, 6),
                    random.choice(paths)): random.randrange(1, 60000) for n in range(PER_HOST)}
        lines = "".join(f"{' '.join(map(str, flow))} {','.join(map(str, path))} {10**15 + n} "
                        f"{10**15 + n + 5} {size} 1\n"
                        for n, ((flow, path), size) in enumerate(records.items()))
        subprocess.run([os.path.join(BIN, "tests/make_tib"), os.path.join(at, "tib")], input=lines,
                       text=True, check=True)
        with open(os.path.join(at, "empty.pcap"), "wb") as f:
            f.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        cls.records[host] = records
        cls.agents[host] = Daemon(at, "--host-id", str(host), "--controller", cls.url,
                                  intake="pcap:" + os.path.join(at, "empty.pcap"),
                                  topology=topology)
        cls.addClassCleanup(cls.agents[host].__exit__)

    def all(self):
        return [(*key, size) for records in self.records.values() for key, size in records.items()]

    def ask(self, *words, code=0):
        return self.ok("query", "--controller", self.url, *words, code=code)

    def ask_json(self, *words, code=0):
        return json.loads(self.ask(*words, "--json", code=code))

    def run_program(self, name, *words, mode="tree"):
        answer = self.ask_json("--hosts", self.hosts, "--mode", mode, "--program",
                               os.path.join(PROGRAMS, name + ".lua"), *words)
        self.assertEqual(answer["hosts"],
                         {"asked": len(self.agents), "answered": len(self.agents), "missing": []})
        return answer["result"]

    # ---- queries ----

    def test_queries(self):
        for mode in ("direct", "tree", "auto"):
            answer = self.ask_json("--hosts", self.hosts, "--mode", mode, "getFlows")
            got = {(tuple(row["flow_id"].values()), tuple(row["path"])): row["bytes"]
                   for row in answer["flows"]}
            self.assertEqual(got, {record[:2]: record[2] for record in self.all()})
            self.assertIn(answer["mode"], ("direct", "tree") if mode == "auto" else (mode,))
        names = self.ask_json("--hosts", ",".join(f"h{host}" for host in self.agents), "getCount")
        self.assertEqual(names["bytes"], sum(record[2] for record in self.all()))
        rack = self.ask_json("--hosts", "rack:3", "getCount")
        self.assertEqual(rack["bytes"], sum(size for (_, dst, *_), _, size in self.all()
                                            if dst.startswith("10.2.1.")))

    def test_tables(self):
        out = self.ask("--hosts", self.hosts, "--mode", "tree", "--fanout", "2", "topFlows", "--k",
                       "3")
        self.assertIn("3 flows", out)
        self.assertIn(
            f"\n{len(self.agents)} of {len(self.agents)} hosts answered; asked along a tree", out)

    def test_lines(self):
        lines = [json.loads(line)
                 for line in self.ask("--hosts", self.hosts, "getFlows", "--ndjson").splitlines()]
        self.assertEqual(len(lines), len(self.all()) + 1)
        self.assertTrue(lines[-1]["complete"])

    def test_a_dead_host_is_named(self):
        out = self.ask("getCount", code=3)
        self.assertIn(f"\nmissing: {self.dead}: ", out)
        answer = self.ask_json("getCount", "--mode", "tree", code=3)
        self.assertEqual(answer["bytes"], sum(record[2] for record in self.all()))
        self.assertEqual([host["id"] for host in answer["hosts"]["missing"]], [self.dead])

    def test_conformance(self):
        rows = self.ask_json("--hosts", self.hosts, "conformance", "--max-hops", "5")["violations"]
        self.assertEqual(len(rows), sum(path == BAD_PATH for _, path, _ in self.all()))
        self.assertIn("max_hops", self.ask("--hosts", self.hosts, "conformance", "--max-hops", "5"))

    def test_slips_of_the_server(self):
        self.fails(1, "since", "query", "--controller", self.url, "getCount", "--since",
                   "3d8a8acb5601a817-0")
        for words, says in (("--hosts", "99"), "the nearest is"), (
            ("--link", "9-99"), "no link 9-99; the nearest is 9-1"), (("--path", "1,17,3"),
                                                                      "no link 1-17"):
            self.fails(2, says, "query", "--controller", self.url, "getCount", *words)

    # ---- the programs of examples/ ----

    def test_conformance_program(self):
        for mode in ("direct", "tree"):
            self.assertEqual(self.run_program("conformance", mode=mode), [list(BAD_PATH)]
                             * len({r[0][1] for r in self.all() if r[1] == BAD_PATH}))
        bad = next(record for record in self.all() if record[1] == BAD_PATH)
        host = next(host for host, records in self.records.items() if bad[:2] in records)
        out = self.ok("query", "--agent", self.agents[host].url, "--program",
                      f"{PROGRAMS}/conformance.lua", "--args",
                      json.dumps({"flow_id": flow_of(bad), "max_hops": 5}))
        self.assertEqual(json.loads(out), [list(BAD_PATH)])
        self.controller.wait(lambda: flow_of(bad) in [alarm["flow_id"] for alarm in self.json(
            "alarms", "--controller", self.url, "--reason", "USER_PC_FAIL")["alarms"]])

    def test_load_imbalance(self):
        links = ["9-17", "9-18"]
        wanted = {link: Counter() for link in links}
        for _, path, size in self.all():
            for link in links:
                if tuple(map(int, link.split("-"))) in zip(path, path[1:]):
                    wanted[link][str(size // 10000 * 10000)] += 1
        self.assertEqual(self.run_program("load_imbalance", "--arg", f"links={json.dumps(links)}"),
                         wanted)

    def test_failure_signature(self):
        flow = self.all()[0]
        got = self.run_program("failure_signature", "--arg", f"flow_id={json.dumps(flow_of(flow))}")
        self.assertEqual([host["host"] for host in got], sorted(self.agents))
        self.assertEqual(sorted(map(tuple, sum((host["result"] for host in got), []))),
                         sorted(path for flow_id, path, _ in self.all() if flow_id == flow[0]))

    def test_silent_drops(self):
        """agents that watch no connections know of none that suffers; those that do are in the
        tests of the monitor and on the test bed"""
        out = self.ok("query", "--agent", next(iter(self.agents.values())).url, "--program",
                      f"{PROGRAMS}/silent_drops.lua")
        self.assertEqual(json.loads(out), [])

    def test_top_flows(self):
        got = self.run_program("top_flows", "--arg", "k=25")["flows"]
        self.assertEqual(sorted((size for size, _ in got), reverse=True),
                         sorted((record[2] for record in self.all()), reverse=True)[:25])
        known = {record[:2]: record[2] for record in self.all()}
        self.assertTrue(all(known[tuple(flow["flow_id"][field] for field in FLOW_ID),
                                  tuple(flow["path"])] == size for size, flow in got))

    def test_heavy_hitters(self):
        racks = defaultdict(Counter)
        for flow, path, size in self.all():
            racks[str(path[-1])][flow] += size
        got = self.run_program("heavy_hitters_by_rack", "--arg", "k=4")["racks"]
        self.assertEqual({rack: of["bytes"] for rack, of in got.items()},
                         {rack: sum(flows.values()) for rack, flows in racks.items()})
        for rack, of in got.items():
            self.assertEqual([row["bytes"] for row in of["top"]],
                             sorted(racks[rack].values(), reverse=True)[:4])

    def test_programs_that_fail(self):
        name = self.path("wrong.lua")
        with open(name, "w", encoding="utf-8") as f:
            f.write("function run()\n error('no such rack', 0)\nend\n")
        self.fails(1, "no such rack", "query", "--controller", self.url, "--hosts", self.hosts,
                   "--program", name)
        with open(name, "w", encoding="utf-8") as f:
            f.write(f"function run() for f in get_flows{{dst_ip = '{self.all()[0][0][1]}'}} do "
                    f"return 1 end error('nothing here', 0) end function merge(a, b) return a end")
        out = self.ask("--hosts", self.hosts, "--program", name, code=3)
        self.assertIn("nothing here", out)

    # ---- alarms, lists ----

    def raise_alarms(self, host, *reasons):
        """as an agent delivers them"""
        flow, path = next(iter(self.records[host]))
        alarms = [{"seq": seq, "time_us": time.time_ns() // 1000 + seq, "reason": reason,
                   "flow_id": flow_of((flow,)), "paths": [list(path)], "detail": "é",
                   "origin": "monitor", "by": None, "count": 1}
                  for seq, reason in enumerate(reasons, 1)]
        status, _, body = self.controller.raw("/v1/alarms", "POST", json.dumps(
            {"host": host, "spool": f"{random.getrandbits(64):016x}", "alarms": alarms}))
        self.assertEqual((status, json.loads(body)["last"]), (200, len(reasons)), body)
        return alarms

    def test_alarms(self):
        host = next(iter(self.agents))
        follower = subprocess.Popen([os.path.join(BIN, "pathdump"), "alarms", "--controller",
                                     self.url, "--follow", "--since", "0", "--reason", "SECOND",
                                     "--json"], stdout=subprocess.PIPE, text=True)
        self.addCleanup(follower.stdout.close)
        self.addCleanup(follower.wait)
        self.addCleanup(follower.kill)
        first, second = self.raise_alarms(host, "FIRST", "SECOND")
        followed = json.loads(follower.stdout.readline())
        listed = self.json("alarms", "--controller", self.url, "--reason", "SECOND")["alarms"]
        self.assertEqual([followed], listed)
        self.assertEqual(followed, {**{key: second[key] for key in second if key != "seq"},
                                    "id": followed["id"], "host": host})
        row = next(line for line in self.ok("alarms", "--controller", self.url).splitlines()
                   if " FIRST " in line)
        self.assertIn("→".join(map(str, first["paths"][0])) + "  é", row)
        self.assertIn("go on with --since",
                      pathdump("alarms", "--controller", self.url, "--limit", "1")[2])

    # ---- installed queries ----

    def test_install(self):
        where = ("--controller", self.url)
        number = self.ok("install", *where, "--hosts", self.hosts, "conformance", "--max-hops", "5",
                         "--period", "10ms").strip()
        program = self.ok("install", *where, "--hosts", self.hosts.split(",")[0], "--program",
                          f"{PROGRAMS}/conformance.lua", "--on", "evicted").strip()
        listed = {query["id"]: query for query in self.json("installed", *where)["installed"]}
        self.assertEqual(set(map(str, listed)), {number, program})
        self.assertEqual(listed[int(number)]["args"], {"max_hops": "5"})
        until = time.monotonic() + 60
        while not self.json("installed",
                            *where)["installed"][0].get("runs") and time.monotonic() < until:
            time.sleep(.05)
        lines = self.ok("installed", *where).splitlines()
        self.assertRegex(lines[1], rf'^{number} +conformance {{"max_hops":"5"}} +every 10.000 ms')
        self.assertRegex(lines[2], rf"^{program} +program +on evicted")
        for query in (number, program):
            self.ok("uninstall", *where, query)
        self.assertEqual(self.ok("installed", *where), "0 installed queries\n")
        self.fails(1, "404", "uninstall", *where, number)

    def test_hosts_and_switches(self):
        self.ask("getCount", code=3)
        listed = {host["id"]: host
                  for host in self.json("hosts", "--controller", self.url)["hosts"]}
        self.assertEqual(set(listed), {*self.agents, self.dead})
        self.assertIn(f"{len(listed)} hosts\n", self.ok("hosts", "--controller", self.url))
        self.assertIn("20 switches\n", self.ok("switches", "--controller", self.url))


if __name__ == "__main__":
    main()
