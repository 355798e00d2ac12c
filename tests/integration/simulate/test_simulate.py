#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`pathdump simulate` as a whole: the lines it prints, files beside a scenario, seeds, errors and
exit codes."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

BIN = os.environ.get("PD_BIN") or os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                               "../../../build/release/bin")
SMALL = {"topology": {"fat_tree": 4}, "link_mbps": 200, "flow_sizes": "hadoop", "duration_s": 4}
FAULT = {"faults": [{"link": "9-17", "loss": .04}]}
PLAN = {"version": 1, "seed": 7, "carrier": "tag", "bits": 16, "queries": [
    {"name": "path", "aggregation": "static", "value": "switch-id", "coding": "hash", "bits": 8,
     "instances": 1, "tau": 32768, "xor": [65536]},
    {"name": "latency", "aggregation": "dynamic", "value": "hop-latency-ns", "bits": 8,
     "rounding": "nearest", "values": [0] + [500 * 2 ** i for i in range(20)],
     "bounds": [0] + [400 * 2 ** i for i in range(20)]}],
    "sets": [{"weight": 65536, "queries": ["path", "latency"]}]}


def simulate(scenario, *flags):
    """(exit code, stdout, stderr); `scenario` is what stands in its file, or the name of one"""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        if not isinstance(scenario, str):
            json.dump(scenario, f)
            f.flush()
        done = subprocess.run([os.path.join(BIN, "pathdump"), "simulate",
                               scenario if isinstance(scenario, str) else f.name, *flags],
                              capture_output=True, text=True, timeout=200, check=False)
    return done.returncode, done.stdout, done.stderr


def events(scenario, *flags):
    code, out, err = simulate(scenario, *flags, "--json")
    assert code == 0, err
    return [json.loads(line) for line in out.splitlines()]


def last_report(scenario, app, *flags):
    """of an application's last change"""
    return [event for event in events(scenario, "--app", app, *flags)
            if event["event"] == "verdict"][-1]


class Simulate(unittest.TestCase):
    def test_lines(self):
        *verdicts, end = events({**SMALL, **FAULT}, "--seed", "3")
        self.assertEqual(end["event"], "end")
        self.assertEqual({"t_s", "flows", "packet_hops", "alarms", "wall_s"} - end.keys(), set())
        for verdict in verdicts:
            self.assertEqual({"event", "t_s", "links", "certain", "confidence"} - verdict.keys(),
                             set())
            self.assertTrue(not verdict["certain"] or verdict["links"] == ["9-17"], verdict)
        self.assertTrue([v for v in verdicts if v["certain"]])
        self.assertEqual(verdicts, sorted(verdicts, key=lambda v: v["t_s"]))

    def test_quiet(self):
        *verdicts, _ = events(SMALL)
        self.assertFalse([v for v in verdicts if v["links"]])

    def test_seed(self):
        one, same, other = (events({**SMALL, **FAULT}, "--seed", seed) for seed in ("5", "5", "6"))
        for run in (one, same, other):
            del run[-1]["wall_s"]
        self.assertEqual(one, same)
        self.assertNotEqual(one[-1], other[-1])

    def test_apps(self):
        *verdicts, _ = events({**SMALL, **FAULT}, "--app", "max-coverage")
        self.assertIn("9-17", verdicts[-1]["links"])
        self.assertFalse([v for v in verdicts if v["certain"]])
        self.assertEqual(len(events({**SMALL, **FAULT}, "--app", "none")), 1)

    def test_fault_that_ended(self):
        """large flows and a load that changes: what the first periods of a fault told of its rate
        does not hide that it has ended"""
        mended = {"topology": {"fat_tree": 4}, "load": .1, "duration_s": 20,
                  "faults": [{"link": "9-2", "loss": .02, "start_s": 4, "end_s": 14}]}
        for seed in ("2", "4", "6"):
            *verdicts, _ = events(mended, "--seed", seed, "--link-mbps", "1000")
            self.assertTrue([v for v in verdicts if v["certain"] and v["links"] == ["9-2"]])
            self.assertEqual(verdicts[-1]["links"], [], seed)
            self.assertLess(verdicts[-1]["t_s"], 19)

    def test_transports(self):
        """flows that end, with their times; PINT leaves more to data than INT, acknowledgements
        and all"""
        took = {}
        for transport in ("tcp", "hpcc-int", "hpcc-pint"):
            with tempfile.NamedTemporaryFile("r", suffix=".ndjson") as f:
                scenario = {"topology": {"fat_tree": 4}, "link_mbps": 10000, "hop_ns": 1000,
                            "load": 0, "duration_s": .05, "period_ms": 10, "level": "packet",
                            "transport": transport,
                            "flows": [{"src": 21, "dst": 36, "bytes": 1e6}]}
                events(scenario, "--app", "none", "--flows", f.name)
                flow, = [json.loads(line) for line in f]
            self.assertEqual((flow["src"], flow["dst"]), ("10.1.1.2", "10.4.2.3"))
            self.assertLess(flow["alone_ns"], flow["took_ns"])
            self.assertLess(flow["took_ns"], 1.5 * flow["alone_ns"])
            took[transport] = flow["took_ns"]
        self.assertLess(took["hpcc-pint"], took["hpcc-int"])
        code, _, err = simulate({**SMALL, "transport": "hpcc-int"})
        self.assertEqual(code, 1)
        self.assertIn("level of packets", err)

    def test_measured_latency(self):
        """tail-latency names the port before a narrow link by what digests tell, and no other"""
        with tempfile.TemporaryDirectory() as at:
            done = subprocess.run([os.path.join(BIN, "pathdump"), "topology", "generate",
                                   "fat-tree", "--k", "4"], capture_output=True, text=True,
                                  check=True)
            topology = json.loads(done.stdout)
            for link in topology["links"]:
                if (link["source"], link["target"]) == (11, 3):
                    link["mbps"] = 20
                elif {link["source"], link["target"]} == {3, 11}:
                    link["mbps"] = 20
            with open(os.path.join(at, "narrow.json"), "w") as f:
                json.dump(topology, f)
            with open(os.path.join(at, "scenario.json"), "w") as f:
                json.dump({"topology": "narrow.json", "level": "packet", "link_mbps": 1000,
                           "load": 0, "duration_s": 2, "telemetry": PLAN,
                           "flows": [{"src": 21 + i % 4, "dst": 25, "src_port": 2000 + i,
                                      "bytes": 30000, "start_s": .008 * i}
                                     for i in range(200)]}, f)
            report = [event for event in events(os.path.join(at, "scenario.json"), "--app",
                                                "tail-latency") if event["event"] == "verdict"][-1]
            self.assertEqual(report["links"], ["11-3"])

    def test_blackhole(self):
        """paper 000, section 4.4: a sprayed flow of 100 kB leaves 3 suspects, or 4, and none
        without a fault"""
        flow = {**SMALL, "link_mbps": 1000, "load": 0, "level": "packet", "spray": True,
                "flows": [{"src": 21, "dst": 30, "bytes": 100000}]}
        for link, suspects in (("9-17", {9, 17, 13}), ("1-10", {1, 10, 14, 5})):
            report = last_report({**flow, "faults": [{"link": link, "blackhole": True}]},
                                 "blackhole")
            self.assertEqual(set(report["switches"]), suspects)
            self.assertLess(report["t_s"], 1.01)
            self.assertFalse(report["certain"])
        self.assertEqual(len(events(flow, "--app", "blackhole")), 1)

    def test_load_imbalance(self):
        """section 4.2: a hash by size is named for certain; a fair one is not"""
        fabric = {**SMALL, "flow_sizes": "web-search", "link_mbps": 1000, "load": .3}
        report = last_report({**fabric, "faults": [{"switch": 9, "split_bytes": 1000000}]},
                             "load-imbalance", "--switch", "9")
        self.assertEqual((report["links"], report["switches"], report["certain"]),
                         (["9-17"], [9], True))
        self.assertEqual(last_report(fabric, "load-imbalance", "--switch", "9")["links"], [])

    def test_measurements(self):
        """section 2.3 and Table 2: what all hosts counted, whole; full links are named at a high
        load alone"""
        fabric = {**SMALL, "flow_sizes": "web-search", "link_mbps": 1000, "load": .3}
        for app, rows in ("traffic-matrix", "pairs"), ("top-flows", "flows"), (
            "congested-link", "links"), ("ddos", "sources"):
            report = last_report(fabric, app)
            self.assertEqual((report["links"], report["lacks"], report["certain"]), ([], [], True),
                             report["verdict"])
            self.assertTrue(report["results"][rows])
        full = last_report({**fabric, "load": .9}, "congested-link")
        self.assertTrue(full["links"] and full["results"]["moves"], full["verdict"])

    def test_incast_and_outcast(self):
        """section 4.6: 15 senders to one receiver, one of them in its rack; or each to a receiver
        of its own; or everybody to everybody, without a fault"""
        flows = [{"src": host, "dst": 21, "bytes": 20000000, "src_port": host}
                 for host in range(22, 37)]
        fabric = {"topology": {"fat_tree": 4}, "link_mbps": 1000, "duration_s": 2, "load": 0,
                  "level": "packet", "buffer_pkts": 64}
        apart = [{**flow, "dst": flow["src"] - 1} for flow in flows]
        for app in ("incast", "outcast"):
            report = last_report({**fabric, "flows": flows}, app)
            self.assertEqual((report["links"], report["certain"]), (["1-21"], True),
                             report["verdict"])
            self.assertEqual(len(events({**fabric, "flows": apart}, "--app", app)), 1)
            busy = events({**fabric, "duration_s": 1.5, "load": .7, "buffer_pkts": 256}, "--seed",
                          "2", "--app", app, "--every-run")
            self.assertEqual([v["verdict"] for v in busy[:-1] if v["links"] or v["certain"]], [])
            self.assertGreater(busy[-1]["runs"], 10)

    def test_every_run_and_arguments(self):
        every = events({**SMALL, "duration_s": 2}, "--app", "silent-drops", "--every-run",
                       "--method=max-coverage")
        self.assertEqual([round(e["t_s"], 1) for e in every],
                         [.2, .4, .6, .8, 1, 1.2, 1.4, 1.6, 1.8, 2, 2])
        self.assertEqual(every[-1]["runs"], 10)
        for flags in (("--metod", "x"), ("--method",), ("--app", "none", "--method", "x"),
                      ("--method", "a", "--method", "b")):
            code, out, err = simulate(SMALL, *flags)
            self.assertEqual((code, out), (2, ""))
            self.assertIn("met", err)

    def test_vl2(self):
        *verdicts, _ = events({"topology": {"vl2": 4}, "load": .04, "duration_s": 4,
                               "faults": [{"link": "1-5", "loss": .05}]})
        self.assertTrue([v for v in verdicts if v["certain"]])
        for verdict in verdicts:
            self.assertTrue(not verdict["certain"] or verdict["links"] == ["1-5"], verdict)

    def test_text(self):
        code, out, _ = simulate({**SMALL, **FAULT})
        self.assertEqual(code, 0)
        self.assertIn("certain", out)
        self.assertIn("9-17", out)
        self.assertIn("packet-hops", out.splitlines()[-1])

    def test_files_beside_the_scenario(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "net.json"), "wb") as f:
                f.write(subprocess.run([os.path.join(BIN, "pathdump"), "topology", "vl2", "--k",
                                        "4"], capture_output=True,
                                       check=True).stdout)
            with open(os.path.join(folder, "sizes.csv"), "w", encoding="utf-8") as f:
                f.write("bytes,share\n1000,0\n100000,1\n")
            with open(os.path.join(folder, "x.json"), "w", encoding="utf-8") as f:
                json.dump({"topology": "net.json", "flow_sizes": "sizes.csv", "duration_s": .5,
                           "link_mbps": 10}, f)
            self.assertGreater(events(os.path.join(folder, "x.json"))[-1]["flows"], 10)

    def test_errors(self):
        for scenario, words in (
            ({}, "topology: "), ({**SMALL, "topology": {"fat_tree": 74}},
                                 "topology: fat-tree: k = 74, expected 4 to 72"),
            ({**SMALL, "lod": 1}, "lod: unknown member"), ("/nowhere.json", "/nowhere.json: "),
            ({**SMALL, "faults": [{"link": "9-99", "loss": .1}]}, "faults[0]: link: ")):
            code, out, err = simulate(scenario)
            self.assertEqual((code, out), (1, ""))
            self.assertIn(words, err)
            self.assertEqual(err.count("\n"), 1)
        code, _, err = simulate(SMALL, "--app", "magic")
        self.assertEqual(code, 2)
        self.assertIn("--app", err.replace("app:", "--app:"))


if __name__ == "__main__":
    sys.exit(unittest.main())
