#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`pathdump query --agent` against agents that answer well, badly, in part, or not at all."""
import json
import os
import socket
import time
import urllib.parse

from command import main, pathdump
from scripted import Handler, ScriptedTest, Unix

FLOWS = {"flows": [{"flow_id": {"src_ip": "10.1.1.2", "dst_ip": "10.2.1.2", "src_port": 1,
                                "dst_port": 2, "protocol": 6}, "path": [1, 9, 2],
                    "stime_us": 10, "etime_us": 20, "bytes": 100, "pkts": 2}], "complete": True}


class Agent(ScriptedTest):
    def test_parameters_arrive(self):
        url = self.serve(self.good(FLOWS))
        got = self.json("query", "--agent", url + "/", "getFlows", "--link", "*-17", "--src-ip",
                        "fd00::2", "--protocol", "tcp",
                        "--from", "2026-11-21T01:02:03+02:00", "--live")
        self.assertEqual(got, FLOWS)
        asked = urllib.parse.urlsplit(self.server.asked[0])
        self.assertEqual(asked.path, "/v1/getFlows")
        self.assertEqual(urllib.parse.parse_qs(asked.query, strict_parsing=True), {
            "link": ["*-17"], "src_ip": ["fd00::2"], "protocol": ["tcp"],
            "from": ["2026-11-21T01:02:03+02:00"], "live": ["true"]})

    def test_no_parameters(self):
        url = self.serve(self.good({"paths": [], "complete": True}))
        self.assertEqual(self.ok("query", "--agent", url, "getPaths"), "0 paths\n")
        self.assertEqual(self.server.asked, ["/v1/getPaths"])

    def test_slips_never_reach_the_agent(self):
        url = self.serve(self.good(FLOWS))
        self.fails(2, "--link", "query", "--agent", url, "getFlows", "--link", "9")
        self.assertEqual(self.server.asked, [])

    def test_tables(self):
        url = self.serve(self.good(FLOWS, indent=2))
        out = self.ok("query", "--agent", url, "getFlows")
        self.assertIn("10.1.1.2:1", out)
        self.assertIn("1→9→2", out)
        self.assertIn("1 flow, 2 packets, 100 B", out)

    def test_unix_socket(self):
        name = self.path("agent.sock")
        self.serve(self.good(FLOWS), Unix(name, Handler))
        self.assertEqual(self.json("query", "--agent", "unix:" + name, "getFlows"), FLOWS)
        self.fails(1, "unix:/nowhere", "query", "--agent", "unix:/nowhere", "getFlows")

    def test_json_is_passed_on_byte_by_byte(self):
        body = json.dumps(FLOWS, indent=3).encode() + b"\n"
        url = self.serve((200, "application/json", body))
        self.assertEqual(self.ok("query", "--agent", url, "getFlows", "--json").encode(), body)

    def test_partial_answers_exit_with_3(self):
        for how in ({}, {"indent": 1}, {"separators": (",", ":")}):
            url = self.serve(self.good({**FLOWS, "complete": False}, **how))
            for words in ((), ("--json",)):
                code, out, err = pathdump("query", "--agent", url, "getFlows", *words)
                self.assertEqual(code, 3)
                self.assertIn("10.1.1.2", out)
                self.assertIn("not complete", err)

    def test_problems_are_one_line(self):
        for status in (400, 404, 413, 500, 503):
            url = self.serve(self.problem({"title": "Bad link", "detail": "link: nine\nis\x1b[31m "
                                           "no switch", "status": status}))
            out = self.fails(1, "Bad link: link: nine?is?[31m no switch", "query", "--agent", url,
                             "getFlows", "--json")
            self.assertEqual(out, "")

    def test_problems_without_words(self):
        for body in (b"", b"<html>", b"[]", b'{"title": 7}', b"\xff" * 100, b"x" * 1_000_000):
            url = self.serve((502, "text/html", body))
            self.fails(1, "502", "query", "--agent", url, "getFlows")

    def test_redirects_are_not_followed(self):
        def away(handler):
            handler.send_response(302)
            handler.send_header("Location", "/v1/elsewhere")
            handler.end_headers()
        url = self.serve(away)
        self.fails(1, "302", "query", "--agent", url, "getFlows", "--json")
        self.assertEqual(len(self.server.asked), 1)

    def test_answers_that_break_off(self):
        def half(handler):
            handler.send_response(200)
            handler.send_header("Content-Length", "1000")
            handler.end_headers()
            handler.wfile.write(b'{"flows":[')
        url = self.serve(half)
        for words in ((), ("--json",)):
            self.fails(1, "breaks off", "query", "--agent", url, "getFlows", *words)

    def test_answers_that_end_early(self):
        url = self.serve((200, "application/json", b'{"flows":[]}'))
        self.fails(1, "complete", "query", "--agent", url, "getFlows", "--json")
        self.fails(1, "complete", "query", "--agent", url, "getFlows")
        url = self.serve((200, "application/json", b""))
        self.fails(1, "complete", "query", "--agent", url, "getFlows", "--json")
        self.fails(1, "not JSON", "query", "--agent", url, "getFlows")

    def test_answers_too_long_for_a_table(self):
        def flood(handler):
            handler.send_response(200)
            handler.end_headers()
            try:
                for _ in range(80):
                    handler.wfile.write(b" " * (1 << 20))
            except OSError:
                pass
        url = self.serve(flood)
        self.fails(1, "--json", "query", "--agent", url, "getFlows")

    def test_silence(self):
        def sleep(_):
            time.sleep(20)
        url = self.serve(sleep)
        begin = time.monotonic()
        self.fails(1, "in time", "query", "--agent", url, "getFlows", "--timeout", "1")
        self.assertLess(time.monotonic() - begin, 10)

    def test_nobody_there(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        self.fails(1, f"127.0.0.1:{port}", "query", "--agent", f"http://127.0.0.1:{port}",
                   "getFlows")

    def test_proxies_are_not_asked(self):
        url = self.serve(self.good(FLOWS))
        self.ok("query", "--agent", url, "getFlows", http_proxy="http://127.0.0.1:1",
                all_proxy="http://127.0.0.1:1")


if __name__ == "__main__":
    main()
