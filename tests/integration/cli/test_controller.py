#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is asked of a controller: execute, install, lists, alarms; a scripted server is the
controller, good or bad."""
import json
import os
import pty
import subprocess
import threading

from command import BIN, main, pathdump
from scripted import ScriptedTest

FLOW_ID = {"src_ip": "10.1.1.2", "dst_ip": "10.2.1.2", "src_port": 2222, "dst_port": 80,
           "protocol": 6}
HOSTS = {"asked": 3, "answered": 3, "missing": []}
COUNT = {"bytes": 1536, "pkts": 2, "mode": "tree", "why": "3 hosts below 2 nodes", "hosts": HOSTS,
         "complete": True}
MISSING = {**COUNT, "complete": False, "hosts": {
    "asked": 3, "answered": 2, "missing": [{"id": 22, "reason": "refused\x1b[2J by it"}]}}
INSTALLED = {"installed": [{"id": 7, "query": "conformance", "args": {"max_hops": 5},
                            "on": "new_flow", "hosts": [21, 22], "state": "running",
                            "runs": 12345, "busy_us": 1500, "alarms": 1, "skipped": 0,
                            "failures": 0},
                           {"id": 8, "program": "function run() end", "args": {}, "period_ms": 10,
                            "hosts": "all", "state": "st\x1bopped"}]}


def alarm(number, reason="PC_FAIL"):
    return {"id": number, "host": 21, "time_us": 1790000000000000 + number, "reason": reason,
            "flow_id": FLOW_ID, "paths": [[1, 9, 17, 13, 18, 11, 3]],
            "detail": "max\x1b_hops"}


HOSTILE = [b"", b"[]", b"{", b'"x"', b"\xff\x1b[2J", b'{"alarms":7,"hosts":7,"installed":7,'
           b'"switches":7}', b'{"alarms":[1],"hosts":[1],"installed":[1],"switches":[1]}',
           b'{"hosts":[],"hosts":[]}', b"[" * 3000,
           b'{"alarms":[{"id":-1}],"hosts":[[]],"installed":["\\u001b"],"switches":[null]}']


class Execute(ScriptedTest):
    def ask(self, answer, *words, code=0):
        url = self.serve(answer)
        return self.ok("query", "--controller", url, *words, code=code)

    def test_parameters_arrive(self):
        self.ask(self.good(COUNT), "--hosts", "21,22", "--mode", "tree", "--fanout", "4",
                 "--deadline-ms", "5000", "getCount", "--link", "9-17",
                 "--live")
        self.assertEqual(self.server.requests[-1][:2], ("POST", "/v1/execute"))
        self.assertEqual(self.body(), {"hosts": [21, 22], "query": "getCount", "args": {
            "link": "9-17", "live": "true"}, "mode": "tree", "fanout": 4,
                                       "deadline_ms": 5000})
        self.ask(self.good(COUNT), "getCount")
        self.assertEqual(self.body(), {"hosts": "all", "query": "getCount", "args": {}})
        self.ask(self.good(COUNT), "getCount", "--hosts", "rack:3")
        self.assertEqual(self.body()["hosts"], "rack:3")

    def test_the_environment_names_the_controller(self):
        url = self.serve(self.good(COUNT))
        self.assertIn("3 of 3 hosts", self.ok("query", "getCount", PATHDUMP_CONTROLLER=url))
        self.fails(1, "nowhere", "query", "--agent", "unix:/nowhere", "getCount",
                   PATHDUMP_CONTROLLER=url)
        self.fails(2, "PATHDUMP_CONTROLLER", "hosts", PATHDUMP_CONTROLLER="gopher://x")
        self.fails(2, "PATHDUMP_CONTROLLER", "alarms", PATHDUMP_CONTROLLER="")

    def test_answers_say_who_answered(self):
        out = self.ask(self.good(COUNT), "getCount")
        self.assertEqual(out.splitlines()[-1],
                         "3 of 3 hosts answered; asked along a tree: 3 hosts below 2 nodes")
        code, out, err = pathdump("query", "--controller", self.serve(self.good(MISSING)),
                                  "getCount")
        self.assertEqual(code, 3)
        self.assertIn("bytes    1,536", out)
        self.assertIn("missing: 22: refused?[2J by it", out)
        self.assertIn("1 of 3 hosts did not answer", err)

    def test_json_is_passed_on_byte_by_byte(self):
        for document, code in ((COUNT, 0), (MISSING, 3)):
            body = json.dumps(document, indent=2).encode()
            self.assertEqual(self.ask((200, "application/json", body), "getCount", "--json",
                                      code=code).encode(), body + b"\n")

    def test_lines_of_json(self):
        body = b'{"flow_id":{"complete":false}}\n{"bytes":1}\n' + json.dumps(
            {"complete": True, "hosts": HOSTS}).encode() + b"\n"
        self.assertEqual(self.ask((200, "application/x-ndjson", body), "getFlows",
                                  "--ndjson").encode(), body)
        self.assertEqual(self.server.requests[-1][2]["Accept"], "application/x-ndjson")
        for broken in (body[:-4], body.splitlines(True)[0], b"", b'{"complete":true}\n'
                       b'{"bytes":1}\n', b'{"x":"complete\\":true"}', b'{"a":{"complete":true}}'):
            self.fails(1, "complete", "query", "--controller",
                       self.serve((200, "application/x-ndjson", broken)), "getFlows", "--ndjson")

    def test_programs(self):
        name = self.path("count.lua")
        with open(name, "w", encoding="utf-8") as f:
            f.write("function run(args) return 1 end -- ⟨⟩\n")
        answer = self.good({**COUNT, "result": {"n": 5, "text": "\x1b[2J\x9b"}})
        out = self.ask(answer, "--program", name, "--arg", "k=5", "--arg", "name=all hosts",
                       "--arg", 'links=["9-17"]')
        self.assertIn('"text": "\\u001B[2J\\u009B"', out)
        self.assertIn("3 of 3 hosts", out)
        self.assertEqual(self.body(),
                         {"hosts": "all", "program": "function run(args) return 1 end -- ⟨⟩\n",
                          "args": {"k": 5, "name": "all hosts", "links": ["9-17"]}})
        self.ask(answer, "--program", name, "--args", '{"a":{"b":[1]}}', "--json")
        self.assertEqual(self.body()["args"], {"a": {"b": [1]}})

    def test_a_program_at_one_agent(self):
        name = self.path("one.lua")
        with open(name, "w", encoding="utf-8") as f:
            f.write("function run() return 1 end\n")
        url = self.serve(self.good({"result": [1]}))
        self.assertEqual(self.ok("query", "--agent", url, "--program", name, "--deadline-ms",
                                 "100"), "[\n  1\n]\n")
        self.assertEqual(self.server.requests[-1][:2], ("POST", "/v1/query"))
        self.assertEqual(self.body(), {"program": "function run() return 1 end\n", "args": {},
                                       "deadline_ms": 100})
        self.assertEqual(self.ok("query", "--agent", url, "--program", name, "--json"),
                         '{"result": [1]}\n')
        url = self.serve(self.problem({"title": "The program failed",
                                       "detail": "program:1: no\nsuch\x1b thing", "status": 422}))
        self.fails(1, "program:1: no?such? thing", "query", "--agent", url, "--program", name)

    def test_slips(self):
        url = self.serve(self.good(COUNT))
        binary = self.path("binary.lua")
        with open(binary, "wb") as f:
            f.write(b"\x1bLua\0")
        ask = ("query", "--controller", url)
        for naming, words in {
                "--hosts": (*ask, "getCount", "--hosts", "21,x:y"),
                "query: --hosts: expected": (*ask, "getCount", "--hosts", "0"),
                "rack": (*ask, "getCount", "--hosts", "rack:"),
                "--mode": (*ask, "getCount", "--mode", "fast"),
                "--fanout": (*ask, "getCount", "--fanout", "0"),
                "only one": (*ask, "getCount", "--agent", url),
                "--controller": ("query", "--agent", url, "getCount", "--mode", "tree"),
                "--live": ("query", "--tib", "x", "getCount", "--live"),
                "--ndjson": (*ask, "getCount", "--ndjson", "--json"), "is missing": ask,
                "--program": (*ask, "getCount", "--arg", "a=1"),
                "either a query or": (*ask, "getCount", "--program", "x"),
                "--arg link=": (*ask, "--program", "x", "--link", "9-17"),
                "KEY=VALUE": (*ask, "--program", "x", "--arg", "=1"),
                "--args JSON or": (*ask, "--program", "x", "--arg", "a=1", "--args", "{}"),
                "expects http": ("query", "--controller", "ftp://x", "getCount")}.items():
            with self.subTest(naming):
                self.fails(2, naming, *words)
        for naming, words in {
            "no-such": ("--program", "no-such.lua"),
            "an object": ("--program", binary, "--args", "[]"), "not a text": ("--program", binary),
            "given twice": ("--program", binary, "--arg", "a=1", "--arg", "a=2")}.items():
            with self.subTest(naming):
                self.fails(1, naming, *ask, *words)
        self.assertEqual(self.server.asked, [])

    def test_bad_answers(self):
        for document in ({**COUNT, "hosts": []},
                         {**COUNT, "hosts": {"asked": 1, "answered": 2, "missing": []}},
                         {**COUNT, "hosts": {"asked": 1, "answered": 1}},
                         {**COUNT, "complete": 1}):
            self.fails(1, "the answer:", "query", "--controller", self.serve(self.good(document)),
                       "getCount")
        self.fails(1, "Too busy", "query", "--controller",
                   self.serve(self.problem({"title": "Too busy", "status": 503})), "getCount")
        self.fails(1, "127.0.0.1", "query", "--controller", self.nobody(), "getCount")

    def test_a_terminal_shows_that_it_waits(self):
        release = threading.Event()

        def late(handler):
            release.wait(30)
            body = json.dumps(COUNT).encode()
            handler.send_response(200)
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)
        ours, theirs = pty.openpty()
        process = subprocess.Popen([os.path.join(BIN, "pathdump"), "query", "--controller",
                                    self.serve(late), "getCount"], stderr=theirs,
                                   stdout=subprocess.PIPE)
        os.close(theirs)
        seen = b""
        while b"waiting for the hosts" not in seen:
            seen += os.read(ours, 4096)
        release.set()
        self.assertIn(b"3 of 3 hosts", process.communicate(timeout=60)[0])
        self.assertEqual(process.returncode, 0)
        os.close(ours)


class Install(ScriptedTest):
    def test_installs(self):
        url = self.serve(self.good({"id": 7}))
        self.assertEqual(self.ok("install", "--controller", url, "getFlows", "--on", "new_flow"),
                         "7\n")
        self.assertEqual(self.body()["on"], "new_flow")
        self.assertEqual(self.body()["hosts"], "all")
        for text, period_ms in {"10ms": 10, "5s": 5000, "2m": 120000, "24h": 86400000}.items():
            self.assertEqual(self.ok("install", "--controller", url, "getCount", "--hosts", "21",
                                     "--period", text, "--link", "9-17", "--json"), '{"id": 7}\n')
            self.assertEqual(self.body(), {"hosts": [21], "query": "getCount",
                                           "args": {"link": "9-17"}, "period_ms": period_ms})
        self.assertEqual(self.server.requests[-1][:2], ("POST", "/v1/install"))
        name = self.path("watch.lua")
        with open(name, "w", encoding="utf-8") as f:
            f.write("function run() end")
        self.ok("install", "--controller", url, "--program", name, "--on", "evicted", "--arg",
                "k=1")
        self.assertEqual(self.body(), {"hosts": "all", "program": "function run() end",
                                       "args": {"k": 1}, "on": "evicted"})

    def test_hosts_that_did_not_take_it(self):
        url = self.serve(self.good({"id": 7, "hosts": {"asked": 2, "answered": 1, "missing": [
            {"id": 21, "reason": "d\x1bead"}]}, "complete": False}))
        code, out, err = pathdump("install", "--controller", url, "getCount", "--period", "1s")
        self.assertEqual((code, out), (3, "7\n"))
        self.assertIn("missing: 21: d?ead", err)

    def test_slips(self):
        url = self.serve(self.good({"id": 7}))
        for naming, words in {
            "either --period": ("getCount",),
            "either --period TIME": ("getCount", "--period", "1s", "--on", "alarm"),
            "--period": ("getCount", "--period", "9ms"),
            "--period:": ("getCount", "--period", "25h"), "ms, s": ("getCount", "--period", "10"),
            "--on": ("getCount", "--on", "rain"), "is missing": ("--on", "alarm")}.items():
            with self.subTest(naming):
                self.fails(2, naming, "install", "--controller", url, *words)
        self.fails(2, "ID", "uninstall", "--controller", url, "7x")
        self.fails(2, "ID is missing", "uninstall", "--controller", url)
        self.assertEqual(self.server.asked, [])

    def test_bad_answers(self):
        for document in ({}, {"id": -1}, {"id": "7"}, {"id": 7, "hosts": 3}):
            self.fails(1, "the answer:", "install", "--controller", self.serve(self.good(document)),
                       "getCount", "--period", "1s")

    def test_uninstalls(self):
        for answer in ((204, "text/plain", b""), self.good({}), self.good({"hosts": HOSTS})):
            url = self.serve(answer)
            self.assertEqual(self.ok("uninstall", "--controller", url, "7"), "")
            self.assertEqual(self.server.requests[-1][:2], ("DELETE", "/v1/installed/7"))
        url = self.serve(self.good({"hosts": {"asked": 2, "answered": 1,
                                              "missing": [{"id": 21, "reason": "dead"}]}}))
        code, _, err = pathdump("uninstall", "--controller", url, "7")
        self.assertEqual(code, 3)
        self.assertIn("missing: 21: dead", err)
        self.fails(1, "no such thing", "uninstall", "--controller",
                   self.serve(self.problem({"title": "no such thing", "status": 404})), "7")

    def test_lists(self):
        url = self.serve(self.good(INSTALLED))
        self.assertEqual(self.json("installed", "--controller", url), INSTALLED)
        lines = self.ok("installed", "--controller", url).splitlines()
        self.assertEqual(lines[1].split(),
                         ["7", "conformance", '{"max_hops":5}', "on", "new_flow", "[21,22]",
                          "running", "12,345", "1.500", "ms", "1", "0", "0"])
        self.assertEqual(lines[2].split(), ["8", "program", "every", "10.000", "ms", "all",
                                            "st?opped", "-", "-", "-", "-", "-"])
        self.assertEqual(lines[-1], "2 installed queries")


class Lists(ScriptedTest):
    def test_hosts_and_switches(self):
        hosts = {"hosts": [{"id": 21, "name": "h\x1b1", "url": "http://127.0.0.1:8001", "rack": 1,
                            "state": "up", "last_seen_us": 1790000000000000, "error": None}]}
        url = self.serve(self.good(hosts))
        self.assertEqual(self.json("hosts", "--controller", url), hosts)
        out = self.ok("hosts", "--controller", url)
        self.assertIn("h?1", out)
        self.assertIn("1 host\n", out)
        switches = {"openflow": None,
                    "switches": [{"id": 9, "name": "agg", "role": "agg", "state": "installed",
                                  "rules": 1234, "missing": 0}] * 2}
        out = self.ok("switches", "--controller", self.serve(self.good(switches)))
        self.assertIn("1,234", out)
        self.assertIn("2 switches\n", out)
        self.assertEqual(self.server.asked, ["/v1/switches"])

    def test_hostile_answers(self):
        for command in ("hosts", "switches", "installed", "alarms"):
            for body in HOSTILE:
                with self.subTest(command=command, body=body[:40]):
                    url = self.serve((200, "application/json", body))
                    out = self.fails(1, url, command, "--controller", url)
                    self.assertEqual(out, "")
            self.fails(1, "127.0.0.1", command, "--controller", self.nobody())
            self.fails(1, "No?t now", command, "--controller",
                       self.serve(self.problem({"title": "No\x1bt now", "status": 503})))


class Alarms(ScriptedTest):
    def test_lists(self):
        document = {"alarms": [alarm(3), {**alarm(4, "QUERY_STOPPED"), "flow_id": None, "paths": [],
                                          "detail": ""}]}
        url = self.serve(self.good(document))
        self.assertEqual(self.json("alarms", "--controller", url, "--since", "2", "--reason",
                                   "PC_FAIL"), document)
        self.assertEqual(self.server.asked, ["/v1/alarms?since=2&reason=PC_FAIL"])
        lines = self.ok("alarms", "--controller", url).splitlines()
        self.assertIn("10.1.1.2:2222", lines[1])
        self.assertIn("1→9→17→13→18→11→3  max?_hops", lines[1])
        self.assertEqual(lines[2].split()[3:], ["21", "QUERY_STOPPED", "-", "-", "-", "-", "-"])
        self.assertEqual(lines[-1], "2 alarms")
        self.assertEqual(self.server.asked[-1], "/v1/alarms?newest=50")
        for by in ("reason", "host", "link"):
            lines = self.ok("alarms", "--controller", url, "--by", by).splitlines()
            self.assertEqual(lines[-1], "2 alarms")
        self.fails(2, "--by", "alarms", "--controller", url, "--by", "switch")
        self.fails(2, "--by", "alarms", "--controller", url, "--by", "host", "--follow")
        code, out, err = pathdump("alarms", "--controller", self.serve(
            self.good({**document, "last": 4, "more": True})), "--limit", "2")
        self.assertEqual((code, out.splitlines()[-1], err),
                         (0, "2 alarms", "pathdump alarms: there are more: go on with --since 4\n"))
        self.assertEqual(self.server.asked, ["/v1/alarms?limit=2"])
        self.fails(2, "--limit", "alarms", "--controller", url, "--limit", "2", "--follow")
        self.fails(2, "--reason", "alarms", "--controller", url, "--reason", "pc")
        self.fails(2, "--since", "alarms", "--controller", url, "--since", "-1")

    def follow(self, streams, *words):
        """starts it against a server that sends these streams, one for each connection, then keeps
        the last one open"""
        done = threading.Event()
        self.addCleanup(done.set)
        left = list(streams)

        def stream(handler):
            handler.send_response(200)
            handler.send_header("Content-Type", "text/event-stream")
            handler.end_headers()
            for piece in left.pop(0):
                handler.wfile.write(piece)
                handler.wfile.flush()
            if not left:
                done.wait(60)
        url = self.serve(stream)
        process = subprocess.Popen([os.path.join(BIN, "pathdump"), "alarms", "--controller", url,
                                    "--follow", *words], text=True, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env={**os.environ, "LC_ALL": "C.UTF-8"})
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def event(self, number, reason="PC_FAIL"):
        return f"id: {number}\ndata: {json.dumps(alarm(number, reason))}\n\n".encode()

    def test_follows_and_comes_back(self):
        torn = self.event(6)
        process = self.follow([(self.event(4), torn[:30]), (
            torn[:9], torn[9:], b": still here\r\n\r\n", self.event(7, "TIB_FULL"), self.event(8))],
                              "--since", "3", "--json", "--reason", "PC_FAIL")
        self.assertEqual([json.loads(process.stdout.readline())["id"] for _ in range(3)], [4, 6, 8])
        self.assertEqual([r[2]["Last-Event-ID"] for r in self.server.requests], ["3", "4"])
        self.assertEqual(self.server.asked, ["/v1/alarms/stream?reason=PC_FAIL"] * 2)

    def test_lines_for_people(self):
        process = self.follow([(self.event(4),)])
        line = process.stdout.readline()
        self.assertIn("host 21  PC_FAIL  10.1.1.2:2222 → 10.2.1.2:80  path 1→9→17→13→18→11→3  "
                      "max?_hops", line)
        self.assertNotIn("Last-Event-ID", self.server.requests[0][2])

    def test_bad_streams(self):
        for piece in (b"data: 7\n\n", b"data: {}\n\n", b"data: {\"id\": 1,\ndata: \"id\": 2}\n\n",
                      b"data: " + b"x" * (1 << 20) + b"\n\n"):
            process = self.follow([(piece,)])
            self.assertEqual(process.wait(60), 1)
            self.assertRegex(process.stderr.read(), "event|alarm")
        self.fails(1, "127.0.0.1", "alarms", "--controller", self.nobody(), "--follow")
        self.fails(1, "no alarms here", "alarms", "--controller", self.serve(
            self.problem({"title": "no alarms here", "status": 404})), "--follow", "--since", "3")


if __name__ == "__main__":
    main()
