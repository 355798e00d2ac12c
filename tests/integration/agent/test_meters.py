#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A daemon beside a switch with meters: flags that do not fit, and a switch whose control lies."""
import contextlib
import http.server
import json
import os
import re
import socketserver
import subprocess
import tempfile
import threading
import time
import unittest

from daemon import BIN, main
from control import UnixConnection
from programs import PATIENCE_S, pathdump

EPOCH_MS = 1000
HONEST = "honest"


def values(text):
    """what the control of a switch that has counted nothing answers, or with other values"""
    def answer(count, _):
        return json.dumps({"values": text(count)})
    return answer


LIES = {
    "no JSON": lambda count, _: "{\"values\":[",
    "nothing": lambda count, _: "",
    "a list": lambda count, _: "[]",
    "too few values": values(lambda count: [0] * (count - 1)),
    "too many values": values(lambda count: [0] * (count + 1)),
    "words": values(lambda count: ["0"] * count),
    "parts of numbers": values(lambda count: [.5] * count),
    "null": values(lambda count: None),
    "more than is taken": lambda count, _: " " * (2 << 20),
    "nested": lambda count, _: "[" * 100000,
    "an error": lambda count, handler: handler.refuse(),
}


class Control(http.server.BaseHTTPRequestHandler):
    """of a switch"""
    protocol_version = "HTTP/1.1"
    says = HONEST

    def address_string(self):
        return "unix"

    def log_message(self, *_):
        pass

    def refuse(self):
        self.status = 500
        return "{}"

    def do_GET(self):
        self.status = 200
        count = int(re.search(r"count=(\d+)", self.path)[1])
        answer = values(lambda count: [0] * count) if Control.says == HONEST else LIES[Control.says]
        self.give(answer(count, self))

    def do_PUT(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.status = 200
        self.give("{}")

    def give(self, text):
        self.send_response(self.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(text.encode())


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


class Meters(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.at = held.name
        self.topology = self.write("topology.json", "path-bloom")
        Control.says = HONEST

    def write(self, name, codec):
        document = json.loads(pathdump("topology", "generate", "fat-tree", "--k", 4))
        document |= {"codec": codec}
        with open(f"{self.at}/{name}", "w", encoding="utf-8") as file:
            json.dump(document, file)
        return f"{self.at}/{name}"

    def command(self, *words):
        return [f"{BIN}/pathdumpd", "--topology", self.topology, "--intake", "none",
                "--tcp-monitor", "none", "--tib", f"{self.at}/tib", "--listen",
                f"unix:{self.at}/socket", *map(str, words)]

    def test_flags_that_do_not_fit(self):
        for words, wanted in (
                (("--monitor", 1), "both, or neither"),
                (("--meters", "tc:/nowhere"), "both, or neither"),
                (("--monitor", 999, "--meters", "tc:/nowhere"), "no switch"),
                (("--monitor", 1, "--meters", "bogus:x"), "expects tc:FOLDER"),
                (("--monitor", 1, "--meters", "tc:/nowhere"), "No such file"),
                (("--monitor", 1, "--meters", f"tc:{self.at}"), "No such file"),
                (("--monitor", 1, "--meters", "swx:unix:/nowhere:1"), "swx")):
            done = subprocess.run(self.command(*words), capture_output=True, text=True,
                                  timeout=PATIENCE_S)
            self.assertEqual(done.returncode, 1, words)
            self.assertIn(wanted, done.stderr, words)
            self.assertFalse(os.path.exists(f"{self.at}/tib"), "the store was made")

    def ask(self, method, path, body=None):
        with contextlib.closing(UnixConnection(f"{self.at}/socket", PATIENCE_S)) as connection:
            connection.request(method, f"/v1/{path}", body and json.dumps(body),
                               {"Content-Type": "application/json"} if body else {})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

    def read_now(self):
        """an epoch that can be read at this moment"""
        phase = time.time() * 1000 % EPOCH_MS
        time.sleep(max(0, .3 * EPOCH_MS - phase) / 1000 if phase < .5 * EPOCH_MS
                   else (1.3 * EPOCH_MS - phase) / 1000)
        return self.ask("GET", f"meters?epoch={int(time.time() * 1000) // EPOCH_MS - 1}")

    def test_a_switch_that_lies(self):
        server = Server(f"{self.at}/control", Control)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with open(f"{self.at}/log", "w", encoding="utf-8") as log:
            daemon = subprocess.Popen(self.command(
                "--monitor", 1, "--meters", f"swx:unix:{self.at}/control:1"), stdout=log,
                                      stderr=log)
        self.addCleanup(daemon.wait, PATIENCE_S)
        self.addCleanup(daemon.terminate)
        deadline = time.monotonic() + PATIENCE_S
        while not os.path.exists(f"{self.at}/socket"):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(.05)
        self.assertEqual(self.ask("GET", "meters?epoch=5")[0], 409, "there are no rules yet")
        for role in ("dsm", "usm"):
            self.assertEqual(self.ask("PUT", "meters/rules", {
                "version": 3, "epoch_ms": EPOCH_MS, role: []})[0], 200)
        for lie in (HONEST, *LIES, HONEST):
            with self.subTest(lie):
                Control.says = lie
                status, answer = self.read_now()
                self.assertEqual(status == 200 and "meters" in answer, lie == HONEST, answer)
        self.assertIsNone(daemon.poll())


if __name__ == "__main__":
    main()
