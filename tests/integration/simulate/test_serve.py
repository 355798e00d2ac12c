#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`pathdump simulate --serve`: a controller without a network. What it answers, what it refuses,
what it leaves behind."""
import http.client
import json
import os
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from test_simulate import BIN, SMALL

FAULT = "9-17"
SCENARIO = {**SMALL, "duration_s": 600, "load": 0.3, "faults": [{"link": FAULT, "loss": .05}]}
PATIENCE_S = 60


class Served:
    """the command at work"""

    def __init__(self, folder, scenario, *flags):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.folder, name = folder, os.path.join(folder, "scenario.json")
        with open(name, "w", encoding="utf-8") as out:
            json.dump(scenario, out)
        self.temporary = os.path.join(folder, "tmp")
        os.mkdir(self.temporary)
        words = [os.path.join(BIN, "pathdump"), "simulate", name, "--seed", "5", "--serve",
                 f"127.0.0.1:{self.port}", *flags]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True,
                                        env={**os.environ, "TMPDIR": self.temporary})
        self.line = self.process.stdout.readline()

    def end(self):
        """(exit code, what it said on stderr)"""
        self.process.send_signal(signal.SIGTERM)
        _, errors = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, errors

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

    def ask(self, target, method="GET", body=None, code=200):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        try:
            connection.request(method, target, body=body and json.dumps(body))
            answer = connection.getresponse()
            text = answer.read()
            assert answer.status == code, (answer.status, text)
            return json.loads(text)
        finally:
            connection.close()

    def until(self, ready):
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            got = ready()
            if got:
                return got
            time.sleep(.1)
        raise AssertionError("not in time")


class Serve(unittest.TestCase):
    def serve(self, scenario, *flags):
        folder = tempfile.TemporaryDirectory(prefix="pathdump-serve-")
        self.addCleanup(folder.cleanup)
        served = Served(folder.name, scenario, *flags)
        self.addCleanup(served.kill)
        return served

    def test_serves(self):
        served = self.serve(SCENARIO)
        self.assertIn("20 switches and 16 hosts", served.line)
        self.assertIn(f"http://127.0.0.1:{served.port}/map", served.line)
        self.assertEqual(os.listdir(served.temporary), [])
        self.assertEqual(len(served.ask("/v1/topology?hosts=false")["links"]), 32)
        hosts = served.ask("/v1/hosts")["hosts"]
        self.assertEqual({h["state"] for h in hosts}, {"up"})
        self.assertEqual(len(hosts), 16)
        row = served.until(lambda: [r for r in served.ask("/v1/links?metrics=load_bps,use")["links"]
                                    if r["load_bps"]])[0]
        self.assertAlmostEqual(row["use"] * SMALL["link_mbps"] * 1e6, row["load_bps"],
                               delta=row["load_bps"] * 1e-5)
        self.assertLess(max(r["use"] for r in served.ask("/v1/links?metrics=use")["links"]), 1.1)
        answer = served.ask("/v1/execute", "POST",
                            {"query": "topLinks", "hosts": "all", "mode": "auto", "args": {"k": 3}})
        self.assertEqual((len(answer["top"]), answer["complete"], answer["hosts"]["answered"]),
                         (3, True, 16))
        served.ask("/v1/execute", "POST", {"query": "nonsense", "hosts": "all"}, code=400)
        code, errors = served.end()
        self.assertEqual(code, 0, errors)
        self.assertEqual(os.listdir(served.temporary), [])

    def test_verdict(self):
        """the application is watched, its verdict is a link metric, alarms reach the store"""
        served = self.serve(SCENARIO, "--speed", "5")
        rows = served.until(lambda: [r for r in served.ask("/v1/links?metrics=suspicion")["links"]
                                     if r["suspicion"] > .9])
        self.assertEqual([r["link"] for r in rows], [FAULT])
        watch = served.ask("/v1/watches")["watches"][0]
        self.assertEqual((watch["app"], watch["failures"]), ("silent-drops", 0))
        alarm = served.until(lambda: served.ask("/v1/alarms")["alarms"])[0]
        self.assertEqual(alarm["reason"], "POOR_PERF")
        self.assertGreater(alarm["host"], 20)
        self.assertLess(abs(alarm["time_us"] / 1e6 - time.time()), 600)

    def test_windows_adjoin(self):
        """a moment that is over has the same load whenever it is asked for, and halves make a
        whole"""
        served = self.serve(SCENARIO, "--app", "none")
        newest = served.until(lambda: [a for a in [served.ask("/v1/links?metrics=load_bps")]
                                       if a["links"]])[0]

        def load(first_us, last_us):
            answer = served.ask(
                f"/v1/links?metrics=load_bps&from={first_us / 1e6:.6f}&to={last_us / 1e6:.6f}")
            return {r["link"]: r["load_bps"] for r in answer["links"]}
        first, last = newest["from_us"], newest["to_us"]
        time.sleep(.5)          # its last records are there
        whole, middle = load(first, last), (first + last) // 2
        parts = [load(first, middle), load(middle, last)]
        self.assertEqual(set(whole), set(parts[0]) | set(parts[1]))
        for link, bps in whole.items():
            self.assertAlmostEqual(bps, sum(p.get(link, 0) for p in parts) / 2,
                                   delta=1 + bps * 1e-6)

    def test_read_only(self):
        served = self.serve(SCENARIO, "--app", "none")
        served.ask("/v1/watches", "POST", {"app": "top-flows"}, code=403)
        served.ask("/v1/install", "POST", {"query": "getCount"}, code=403)
        served.ask("/v1/alarms", "POST", {}, code=403)
        served.ask("/v1/audit", code=403)
        self.assertEqual(served.ask("/v1/watches")["watches"], [])

    def test_the_end(self):
        """at the end of the scenario time stands still, and what was is still told"""
        served = self.serve({**SCENARIO, "duration_s": 2}, "--speed", "10", "--app", "none")
        served.until(lambda: served.ask("/v1/links")["links"])
        time.sleep(1)
        first, again = (served.ask("/v1/links?metrics=load_bps") for _ in range(2))
        self.assertEqual(first, again)

    def test_wrong_use(self):
        for address in ("nonsense", "0.0.0.0:1", "127.0.0.1:99999"):
            with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
                json.dump(SCENARIO, f)
                f.flush()
                done = subprocess.run(
                    [os.path.join(BIN, "pathdump"), "simulate", f.name, "--serve", address],
                    capture_output=True, text=True, timeout=PATIENCE_S, check=False)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertTrue(done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
