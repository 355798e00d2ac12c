#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pathdump top and status: their tables, the screen and its keys, what is left of the terminal."""
import csv
import io
import json
import os
import signal
import subprocess
import termios
import time

from command import BIN, main, pathdump
from scripted import ScriptedTest
from terminal import Terminal

NOW_US = int(time.time() * 1e6)
FLOW = {"src_ip": "10.1.1.2", "dst_ip": "10.2.1.2", "src_port": 4000, "dst_port": 80, "protocol": 6}
ANSWERS = {
    "/v1/status": {"version": "1", "uptime_s": 100, "host": "c",
                   "hosts": {"all": 2, "up": 1, "missing": 1}, "alarms": {"kept": 7},
                   "topology": {"name": "t", "codec": "c", "switches": 2, "hosts": 2},
                   "queries": {"working": 1, "waiting": 0}},
    "/v1/hosts": {"hosts": [{"id": 21, "name": "h-one", "url": "http://a:1", "state": "up",
                             "last_seen_us": NOW_US, "error": None},
                            {"id": 22, "name": "h-two", "url": "http://b:1", "state": "missing",
                             "last_seen_us": None, "error": "refused"}]},
    "/v1/switches": {"switches": [{"id": 1, "name": "tor-1-1", "state": "away", "edge": "unknown"},
                                  {"id": 9, "name": "agg-1-1", "state": "away",
                                   "edge": "unknown"}]},
    "/v1/alarms": {"alarms": [{"id": 5, "time_us": NOW_US, "host": 21, "reason": "PC_FAIL",
                               "detail": "too \x1b[31mlong", "count": 3,
                               "flow_id": FLOW, "paths": [[1, 9, 3]]}]},
    "/v1/watches": {"watches": [
        {"id": 1, "app": "silent-drops", "args": {}, "error": None, "last_us": NOW_US,
         "report": {"verdict": "1-9 loses packets", "certain": True, "confidence": 0.9,
                    "links": ["1-9"]}},
        {"id": 2, "app": "loop", "args": {}, "error": "no packet-ins", "report": None}]},
    "/v1/links": {
        "links": [{"link": "1-9", "load_bps": 2.5e9, "use": .25, "alarms": 1, "suspicion": .9},
                  {"link": "9-17", "load_bps": 1e6, "use": .001, "alarms": 0, "suspicion": None}],
        "complete": True},
    "linkLoad": {"links": [{"link": "1-9", "bytes": 1250000, "pkts": 10}], "complete": True},
    "topRecords": {"top": [{"flow_id": FLOW, "path": [1, 9, 3], "stime_us": NOW_US,
                            "etime_us": NOW_US + 1999999, "bytes": 250000, "pkts": 20}],
                   "complete": True},
}


class TopTest(ScriptedTest):
    def answer(self, handler):
        """as ANSWERS and self.changed have it; what is None there is not found"""
        route = handler.path.split("?")[0]
        if route in ("/v1/execute", "/v1/query"):
            route = json.loads(self.server.requests[-1][3])["query"]
        answers = {**ANSWERS, **self.changed}
        found = answers.get(route)
        body = json.dumps(found if found is not None else {"title": "Not found"}).encode()
        handler.send_response(200 if found is not None else 404)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def setUp(self):
        self.changed = {}
        self.url = self.serve(self.answer)

    def top(self, *words, code=0, **how):
        return self.ok("top", "--controller", self.url, *words, code=code, **how)


class Tables(TopTest):
    def test_links(self):
        lines = self.top().splitlines()
        self.assertEqual(lines[0],
                         "hosts 1 up, 1 missing  1 alarms/min  2.5 Gbit/s  hottest 1-9 2.5 Gbit/s")
        self.assertEqual(lines[2].split(), ["LINK", "LOAD", "USE", "ALARMS", "SUSPICION"])
        self.assertEqual([line.split()[0] for line in lines[3:5]], ["1-9", "9-17"])
        self.assertEqual([line.split()[0] for line in self.top("--sort", "LINK").splitlines()[3:5]],
                         ["1-9", "9-17"])
        self.assertEqual([line.split()[0] for line in self.top("--sort", "use", "--filter",
                                                               "9-1").splitlines()[3:4]], ["9-17"])
        self.assertIn("tor-1-1:agg-1-1", self.top("--names"))

    def test_links_of_a_server_without_metrics(self):
        self.changed = {"/v1/links": None}
        self.assertIn("1.0 Mbit/s", self.top())

    def test_the_others(self):
        self.assertIn("1.0 Mbit/s", self.top("flows"))
        self.assertIn("tor-1-1:agg-1-1:3", self.top("flows", "--names"))
        self.assertEqual([line.split()[1] for line in self.top("hosts").splitlines()[3:5]],
                         ["h-two", "h-one"])
        alarms = self.top("alarms")
        self.assertIn("PC_FAIL", alarms)
        self.assertNotIn("\x1b", alarms)
        self.assertIn("10.1.1.2:4000 > 10.2.1.2:80", alarms)
        verdicts = self.top("verdicts")
        self.assertIn("1-9 loses packets", verdicts)
        self.assertIn("failed: no packet-ins", verdicts)

    def test_for_programs(self):
        answer = json.loads(self.top("--json", "hosts"))
        self.assertEqual((answer["table"], [row["id"] for row in answer["rows"]]),
                         ("hosts", [22, 21]))
        self.assertEqual(answer["header"]["hosts"], {"all": 2, "up": 1, "missing": 1})
        rows = list(csv.DictReader(io.StringIO(self.top("--csv"), newline="")))
        self.assertEqual([(row["link"], float(row["load_bps"])) for row in rows],
                         [("1-9", 2.5e9), ("9-17", 1e6)])

    def test_an_agent(self):
        self.changed = {"/v1/status": {"host": "h"}}
        self.assertIn("1.0 Mbit/s", self.ok("top", "--agent", self.url))
        self.assertIn(self.url, self.ok("top", "--agent", self.url, "hosts"))
        self.assertIn("0 verdicts", self.ok("top", "--agent", self.url, "verdicts"))

    def test_slips(self):
        url = self.url
        self.fails(2, "did you mean links?", "top", "--controller", url, "link")
        self.fails(2, "no column", "top", "--controller", url, "--sort", "colour")
        self.fails(2, "--every", "top", "--controller", url, "--every", "0.1")
        self.fails(2, "either", "top", "--controller", url, "--agent", url)
        self.fails(1, "connect", "top", "--controller", self.nobody())


class Screen(TopTest):
    def start(self, *words, **how):
        terminal = Terminal("top", "--controller", self.url, *words, **how)
        self.addCleanup(terminal.close)
        return terminal

    def shows(self, terminal, *texts):
        lines = terminal.until_shown(*texts)
        for text in texts:
            self.assertTrue(any(text in line for line in lines),
                            f"{text!r} is not on the screen: {lines}")
        self.assertEqual(terminal.grid.outside, [])

    def left_as_it_was(self, terminal):
        self.assertEqual(termios.tcgetattr(terminal.fd), terminal.before)
        end = terminal.text.rindex("\x1b[?1049l")       # from the second screen to the first one
        self.assertNotIn("\x1b[?1049h", terminal.text[end:])
        self.assertGreater(terminal.text.rindex("\x1b[?25h"), terminal.text.rindex("\x1b[?25l"))

    def test_keys(self):
        terminal = self.start()
        self.shows(terminal, "live links", "2.5 Gbit/s", "9-17", "q quit")
        terminal.type("3")
        self.shows(terminal, "hosts", "h-two", "refused")
        terminal.type("/one\r")
        self.shows(terminal, "only one")
        terminal.type("p")
        self.shows(terminal, "paused")
        terminal.type("?")
        self.shows(terminal, "any key: back", "quit")
        terminal.type("x\x1b")
        time.sleep(.2)
        terminal.type("5")
        self.shows(terminal, "silent-drops")
        terminal.type("s")
        self.shows(terminal, "by VERDICT")
        terminal.type("\r")
        self.shows(terminal, "confidence", "0.9")
        terminal.type("x1")
        self.shows(terminal, "live links", "9-17")
        terminal.type("\r")
        self.shows(terminal, "10.1.1.2:4000")
        self.assertIn("topRecords", [json.loads(body)[
            "query"] for _, path, _, body in self.server.requests if path == "/v1/execute"])
        terminal.type("q")
        code, _ = terminal.end()
        self.assertEqual(code, 0)
        self.left_as_it_was(terminal)

    def test_small_and_resized(self):
        terminal = self.start(rows=10, columns=40)
        self.shows(terminal, "live links", "2.5 Gbit/s", "1-9", "LOAD")
        terminal.type("4")
        self.shows(terminal, "PC_FAIL")
        terminal.resize(30, 120)
        self.shows(terminal, "10.1.1.2:4000 > 10.2.1.2:80", "Enter details")
        for rows, columns in ((5, 20), (2, 3), (1, 1)):
            terminal.resize(rows, columns)
            terminal.read(.3)
        terminal.resize(10, 40)
        self.shows(terminal, "PC_FAIL", "q quit")
        terminal.type("q")
        self.assertEqual(terminal.end()[0], 0)
        self.left_as_it_was(terminal)

    def test_signals_leave_the_terminal_as_it_was(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            terminal = self.start()
            self.shows(terminal, "live links")
            self.assertNotEqual(termios.tcgetattr(terminal.fd), terminal.before)
            terminal.signal(number)
            code, _ = terminal.end()
            self.assertEqual(code, -number)
            self.left_as_it_was(terminal)

    def test_a_controller_that_goes_and_comes(self):
        terminal = self.start("--every", "0.2")
        self.shows(terminal, "live links")
        self.changed = {"/v1/status": None}
        self.shows(terminal, "lost")
        self.changed = {}
        self.shows(terminal, "live")

    def test_no_screen(self):
        terminal = self.start(TERM="dumb", PATHDUMP_PAGER="")
        code, text = terminal.end()
        self.assertEqual(code, 0)
        self.assertIn("2 links", text)
        self.assertNotIn("\x1b", text)
        terminal = self.start("--once", PATHDUMP_PAGER="", NO_COLOR="1")
        self.assertIn("2 links", terminal.end()[1])


class Status(TopTest):
    def test_something_is_wrong(self):
        out = self.ok("status", "--controller", self.url, code=1)
        self.assertIn("1 of 2 up", out)
        self.assertIn("host 22 (h-two) is missing: refused", out)
        self.assertIn("watch 2 (loop) failed: no packet-ins", out)
        self.assertIn("silent-drops: 1-9 loses packets", out)
        self.assertLessEqual(len(out.splitlines()), 24)
        answer = json.loads(self.ok("status", "--controller", self.url, "--json", code=1))
        self.assertEqual((answer["of"], answer["ok"], len(answer["wrong"])),
                         ("controller", False, 3))
        self.assertEqual(answer["alarms"], {"last_minute": 1, "kept": 7})

    def test_nothing_is_wrong(self):
        self.changed = {"/v1/hosts": {"hosts": ANSWERS["/v1/hosts"]["hosts"][:1]},
                        "/v1/watches": {"watches": []}}
        self.assertIn("nothing is wrong", self.ok("status", "--controller", self.url))
        self.assertIn("nothing is wrong", self.ok("status", PATHDUMP_CONTROLLER=self.url))
        self.assertEqual(self.json("status", "--controller", self.url)["wrong"], [])

    def test_switches(self):
        switches = [{"id": 1, "name": "a", "state": "differing", "edge": "open"},
                    {"id": 2, "name": "b", "state": "away", "edge": "unknown"}]
        self.changed = {"/v1/hosts": {"hosts": []}, "/v1/watches": {"watches": []},
                        "/v1/switches": {"switches": switches}}
        out = self.ok("status", "--controller", self.url, code=1)
        self.assertIn("1 switch differs", out)
        self.assertIn("1 of 2 switches are not connected", out)

    def test_an_agent(self):
        self.changed = {"/v1/status": {
            "version": "1", "uptime_s": 1, "topology": {},
            "intakes": [{"spec": "live:eth0", "state": "failed", "detail": "gone"}],
            "tib": {"state": "ok", "records": 5, "bytes_file": 4096},
            "alarms": {"kept": 1, "delivery": {"state": "reached", "waiting": 0}},
            "installed": {"active": 1, "stopped": 0}, "trajectory": {"live_records": 1}}}
        out = self.ok("status", "--agent", self.url, code=1)
        self.assertIn("intake live:eth0 is failed: gone", out)
        self.assertIn("1 record in memory", out)
        self.fails(2, "either", "status", "--agent", self.url, "--controller", self.url)
        self.fails(1, "connect", "status", "--agent", self.nobody())


class OneBinary(ScriptedTest):
    def test_top_is_linked(self):
        needed = subprocess.run(["ldd", os.path.join(BIN, "pathdump")], capture_output=True,
                                text=True, check=True).stdout
        code, out, _ = pathdump("top", "--help")
        self.assertEqual(code, 0)
        self.assertIn("--filter", out)
        self.assertIn("libncursesw", needed)


if __name__ == "__main__":
    main()
