#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Frictions of the command line: rows in every form, narrow terminals, the pager, slips."""
import csv
import io
import json
import os
import subprocess
import time
import urllib.parse

from command import BIN, main, pathdump
from scripted import ScriptedTest
from terminal import Terminal

FLOW = {"flow_id": {"src_ip": "10.1.1.2", "dst_ip": "10.2.1.2", "src_port": 4000, "dst_port": 80,
                    "protocol": 6},
        "path": [1, 9, 17, 13, 3], "stime_us": 1700000000000000, "etime_us": 1700000000500000,
        "bytes": 12345, "pkts": 12}


class TestForms(ScriptedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tib = os.path.join(cls.folder.name, "tib")
        lines = [f"10.1.1.2 10.2.1.2 {4000 + n} 80 6 1,9,17,13,3 {FLOW['stime_us'] + n} "
                 f"{FLOW['etime_us'] + n} {n * 1000} {n}" for n in range(1, 50)]
        lines += ["10.1.1.3 10.2.1.2 1 2 17 t9,9 5 6 7 8", "fd00::1 fd00::2 0 0 58 1 5 6 70 80"]
        subprocess.run([os.path.join(BIN, "tests/make_tib"), cls.tib],
                       input="\n".join(lines) + "\n", text=True, check=True)

    def test_export_as_csv(self):
        lines = [json.loads(line)
                 for line in self.ok("tib", "export", "--tib", self.tib).splitlines()]
        rows = list(csv.DictReader(io.StringIO(self.ok("tib", "export", "--tib", self.tib, "--csv"),
                                               newline="")))
        self.assertTrue(lines)
        self.assertEqual(len(rows), len(lines))
        for line, row in zip(lines, rows):
            self.assertEqual({name: str(value) for name, value in line["flow_id"].items()},
                             {name: row[name] for name in line["flow_id"]})
            self.assertEqual((int(row["packets"]), int(row["bytes"])),
                             (line["pkts"], line["bytes"]))
        queried = self.ok("query", "--tib", self.tib, "getFlows", "--csv").splitlines()
        self.assertEqual(queried[0].split(","), list(rows[0]))

    def test_ndjson_of_a_store(self):
        whole = self.json("query", "--tib", self.tib, "getFlows")
        *rows, rest = [json.loads(line) for line in self.ok("query", "--tib", self.tib, "getFlows",
                                                            "--ndjson").splitlines()]
        self.assertEqual(rows, whole["flows"])
        self.assertEqual(rest, {name: value for name, value in whole.items() if name != "flows"})

    def test_topology_check_as_json(self):
        good = self.topology()
        answer = self.json("topology", "check", good)
        self.assertEqual((answer["ok"], answer["findings"], answer["switches"], answer["hosts"]),
                         (True, [], 20, 16))
        self.assertEqual(answer["codecs"], ["cherrypick-fat-tree"])
        with open(good, encoding="utf-8") as f:
            document = json.load(f)
        document["links"][0]["target"] = 9999
        document["links"].append({"source": 1, "target": 1})
        bad = self.path("bad.json")
        with open(bad, "w", encoding="utf-8") as f:
            json.dump(document, f)
        got, out, err = pathdump("topology", "check", bad, "--json")
        self.assertEqual((got, err), (1, ""))
        answer = json.loads(out)
        self.assertFalse(answer["ok"])
        self.assertEqual(answer["findings"],
                         [line for line in pathdump("topology", "check", bad)[1].splitlines()])
        self.fails(1, "nowhere", "topology", "check", self.path("nowhere"), "--json")

    def test_tables_of_listings_as_csv(self):
        url = self.serve(
            self.good({"entries": [{"time_us": 1700000000000000, "who": "a,b", "role": "admin",
                                    "what": "install", "hosts": [1, 2]}]}))
        rows = list(csv.DictReader(io.StringIO(self.ok("audit", "--controller", url, "--csv"),
                                               newline="")))
        self.assertEqual((rows[0]["who"], rows[0]["hosts"], rows[0]["time_us"]),
                         ("a,b", "[1,2]", "2023-11-14T22:13:20.000000Z"))

    def test_tables_of_reports_as_csv(self):
        report = {"app": "x", "verdict": "v", "certain": True, "confidence": 1, "links": [],
                  "flows": [{"flow_id": FLOW["flow_id"], "lost": 3}],
                  "results": {"ports": [{"port": 1, "bytes": 2048}], "words": "text"}}
        words = ("app", "top-flows", "--controller", self.serve(self.good(report)), "--csv")
        self.assertEqual(self.ok(*words), "src_ip,src_port,dst_ip,dst_port,protocol,lost\n10.1.1.2,"
                         "4000,10.2.1.2,80,6,3\n")
        self.assertEqual(sorted(self.ok(*words, "--table", "ports").splitlines()[1].split(",")),
                         ["1", "2048"])
        self.fails(1, "flows, ports", *words, "--table", "words")
        del report["flows"], report["results"]["ports"]
        words = ("app", "top-flows", "--controller", self.serve(self.good(report)), "--csv")
        self.fails(1, "no table", *words)

    def test_times_of_this_machine(self):
        url = self.serve(self.good({"flows": [FLOW], "complete": True}))
        words = ("query", "--agent", url, "getFlows")
        self.assertIn("2023-11-14 22:13:20.000000Z", self.ok(*words))
        self.assertIn("2023-11-14 22:13:20.000000Z", self.ok(*words, "--utc", TZ="CET-1"))
        self.assertIn("2023-11-14 23:13:20.000000+01:00", self.ok(*words, "--local", TZ="CET-1"))
        self.assertIn("2023-11-14T22:13:20.000000Z",
                      self.ok(*words, "--local", "--csv", TZ="CET-1"))
        self.fails(2, "--local", *words, "--local", "--utc")


class TestTimesAndNames(ScriptedTest):
    def setUp(self):
        self.url = self.serve(self.good({"flows": [FLOW], "complete": True}))

    def asked(self, *words, **how):
        """parameters of the newest request to an agent"""
        self.ok("query", "--agent", self.url, "getFlows", *words, **how)
        return {name: values[0] for name, values in urllib.parse.parse_qs(
            urllib.parse.urlsplit(self.server.asked[-1]).query).items()}

    def test_relative_times(self):
        for text, ago in (("-5m", 300), ("-2h", 7200), ("-1d12h", 129600), ("-90", 90), ("now", 0)):
            self.assertAlmostEqual(float(self.asked("--from", text)["from"]), time.time() - ago,
                                   delta=5)
        self.assertAlmostEqual(float(self.asked("--from=-5m")["from"]), time.time() - 300, delta=5)
        asked = self.asked("--from", "today", "--to", "now", TZ="CET-1")
        self.assertAlmostEqual(float(asked["to"]), time.time(), delta=5)
        self.assertEqual((int(float(asked["from"])) + 3600) % 86400, 0)

    def test_times_of_the_wall(self):
        self.assertEqual(float(self.asked("--from", "2026-11-22 14:00", TZ="CET-1")["from"]),
                         1795352400)
        self.assertEqual(float(self.asked("--from", "2026-11-22 14:00", TZ="UTC")["from"]),
                         1795356000)
        self.assertEqual(self.asked("--from", "2026-11-22T14:00:00Z")["from"],
                         "2026-11-22T14:00:00Z")
        for words in (("query", "--agent", self.url, "getFlows"),
                      ("audit", "--controller", self.url)):
            self.fails(2, "-5m, now, today", *words, "--from", "teatime")
            self.fails(2, "-5m, now, today", *words, "--from", "2026-02-30 14:00")

    def test_switches_by_name(self):
        topology = self.topology()
        asked = self.asked("--topology", topology, "--link", "tor-1-1:agg-1-1", "--path",
                           "tor-1-1,9,core-1")
        self.assertEqual((asked["link"], asked["path"]), ("1-9", "1,9,17"))
        self.assertEqual(self.asked("--topology", topology, "--link", "*:agg-1-1")["link"], "*-9")
        self.assertEqual(self.asked("--topology", topology, "--link=agg-1-1:*")["link"], "9-*")
        self.assertEqual(self.asked("--link", "9-17")["link"], "9-17")
        self.fails(2, "did you mean tor-1-1?", "query", "--agent", self.url, "getFlows",
                   "--topology", topology, "--link", "tor-11:agg-1-1")
        self.fails(2, "did you mean agg-1-1?", "query", "--agent", self.url, "getFlows",
                   "--topology", topology, "--link", "tor-1-1:agg-11")
        self.fails(2, "expects two switches", "query", "--agent", self.url, "getFlows",
                   "--topology", topology, "--link", "tor-1-1")
        self.fails(2, "names need --topology", "query", "--agent", self.url, "getFlows", "--link",
                   "tor-1-1:agg-1-1")
        self.assertEqual(self.ok("codec", "rules", "--topology", topology, "--switch", "tor-1-1"),
                         self.ok("codec", "rules", "--topology", topology, "--switch", 1))
        self.assertEqual(self.ok("codec", "encode", "--topology", topology, "--src", "10.1.1.2",
                                 "--dst", "10.2.1.2", "--path",
                                 "tor-1-1,agg-1-1,core-1,agg-2-1,tor-2-1"),
                         self.ok("codec", "encode", "--topology", topology, "--src", "10.1.1.2",
                                 "--dst", "10.2.1.2", "--path", "1,9,17,11,3"))

    def test_names_of_a_controller(self):
        def answer(handler):
            route = handler.path.split("?")[0]
            body = json.dumps({
                "/v1/switches": {"switches": [{"id": 1, "name": "tor-1-1"}, {
                    "id": 9, "name": "agg:x"}]}, "/v1/hosts": {"hosts": [{"id": 21, "name": "h"}]},
                "/v1/apps/top-flows": {"app": "x", "verdict": "v", "certain": True, "confidence": 1,
                                       "links": ["1-9"]}}.get(
                                           route, {"flows": [FLOW], "complete": True, "hosts": {
                                               "asked": 1, "answered": 1, "missing": []}})).encode()
            handler.send_response(200)
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)
        url = self.serve(answer)
        out = self.ok("query", "--controller", url, "getFlows", "--link", "tor-1-1:agg:x",
                      "--names")
        self.assertEqual(self.body()["args"] if self.server.requests[-1][0] == "POST" else None,
                         None)
        posted = [json.loads(body) for method, _, _, body in self.server.requests
                  if method == "POST"]
        self.assertEqual(posted[-1]["args"]["link"], "1-9")
        self.assertIn("tor-1-1→agg:x→17→13→3", out)
        self.ok("app", "top-flows", "--controller", url, "--link", "tor-1-1:agg:x")
        self.assertEqual([json.loads(body) for method, _, _, body in self.server.requests
                          if method == "POST"][-1]["link"], "1-9")
        self.fails(1, "connect", "query", "--controller", self.nobody(), "getFlows", "--link",
                   "a:b")


class TestTerminal(ScriptedTest):
    def on_terminal(self, *words, **how):
        terminal = Terminal(*words, **how)
        self.addCleanup(terminal.close)
        return terminal

    def test_narrow_tables(self):
        url = self.serve(self.good({"flows": [FLOW], "complete": True}))
        for columns in (200, 80, 40):
            code, text = self.on_terminal("query", "--agent", url, "getFlows", columns=columns,
                                          PATHDUMP_PAGER="", NO_COLOR="1").end()
            lines = text.replace("\r", "").splitlines()
            self.assertEqual(code, 0, text)
            self.assertLessEqual(max(map(len, lines)), columns, text)
            self.assertEqual("too narrow for" in text, columns < 200, text)
            self.assertIn("10.1.1.2:4000", text)
        self.assertIn("LASTED", text.split("too narrow for")[1])
        self.assertNotIn("too narrow", self.ok("query", "--agent", url, "getFlows", COLUMNS="20"))

    def test_pager(self):
        url = self.serve(self.good({"flows": [FLOW] * 100, "complete": True}))
        words = ("query", "--agent", url, "getFlows")
        code, text = self.on_terminal(*words, PATHDUMP_PAGER="sed s/^/PAGED:/", PAGER="false").end()
        self.assertEqual((code, text.count("PAGED:")), (0, 104), text)
        code, text = self.on_terminal(*words, PAGER="sed s/^/PAGED:/").end()
        self.assertEqual((code, text.count("PAGED:")), (0, 104), text)
        for how in ({"PATHDUMP_PAGER": ""}, {"PATHDUMP_PAGER": "cat"},
                    {"PAGER": "sed s/^/PAGED:/", "TERM": "dumb"}):
            code, text = self.on_terminal(*words, **how).end()
            self.assertEqual((code, text.count("PAGED:")), (0, 0), text)
            self.assertIn("100 flows", text)
        self.assertNotIn("PAGED", self.ok(*words, PATHDUMP_PAGER="sed s/^/PAGED:/"))

    def test_a_pager_that_is_left(self):
        url = self.serve(self.good({"flows": [FLOW] * 5000, "complete": True}))
        code, text = self.on_terminal("query", "--agent", url, "getFlows", PAGER="head -n 2").end()
        self.assertEqual(code, 0, text)
        self.assertNotIn("Broken pipe", text)
        code, text = self.on_terminal("query", "--agent", url, "getFlows",
                                      PAGER="no-such-pager-anywhere").end()
        self.assertEqual(code, 0, text)

    def test_warnings_come_behind_the_pager(self):
        url = self.serve(self.good({"flows": [FLOW], "complete": False}))
        code, text = self.on_terminal("query", "--agent", url, "getFlows",
                                      PAGER="cat; echo LEFT").end()
        self.assertEqual(code, 3, text)
        self.assertLess(text.index("LEFT"), text.index("is not complete"), text)


class TestSlips(ScriptedTest):
    def test_suggestions(self):
        for words, meant in (
            (("querry", "getFlows"), "pathdump query"), (("tib", "exprot"), "pathdump tib export"),
            (("query", "getFlow", "--tib", "x"), "getFlows"),
            (("query", "getFlows", "--agnet", "x"), "--agent"),
            (("app", "silent-drop", "--controller", "http://127.0.0.1:1"), "silent-drops"),
            (("topologie", "check", "x"), "pathdump topology check")):
            code, _, err = pathdump(*words)
            self.assertEqual(code, 2, err)
            self.assertIn("did you mean", err)
            self.assertIn(meant, err)

    def test_no_suggestions_for_nonsense(self):
        for words in (("xyzzy",), ("query", "plugh"), ("query", "getFlows", "--xyzzy", "1")):
            code, _, err = pathdump(*words)
            self.assertEqual(code, 2, err)
            self.assertNotIn("mean", err)

    def test_suggestions_of_daemons(self):
        for program in ("pathdumpd", "pathdump-controller"):
            done = subprocess.run([os.path.join(BIN, program), "--topologi", "x"],
                                  capture_output=True, text=True, timeout=20, check=False)
            self.assertIn("did you mean --topology?", done.stderr)


if __name__ == "__main__":
    main()
