#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A daemon with a telemetry plan: what hops measured is asked for live and stored, exported and
read again."""
import json
import subprocess
import unittest

from daemon import BIN, START_US, DaemonTest, frame, main, pathdump

PLAN = {
    "version": 1, "seed": 7, "carrier": "tag", "bits": 16,
    "queries": [
        {"name": "path", "aggregation": "static", "value": "switch-id", "coding": "hash", "bits": 8,
         "instances": 1, "tau": 0, "xor": [65536]},
        {"name": "latency", "aggregation": "dynamic", "value": "hop-latency-ns", "bits": 8,
         "rounding": "nearest",
         "values": [1000 * code for code in range(256)],
         "bounds": [0] + [1000 * code - 500 for code in range(1, 256)]}],
    "sets": [{"weight": 65536, "queries": ["path", "latency"]}]}
PATH = [1, 9, 17, 11, 3]
PACKETS = 600


class Telemetry(DaemonTest):
    def setUp(self):
        super().setUp()
        with open(self.topology, encoding="utf-8") as file:
            topology = json.load(file)
        topology["codec"] = "pint"
        for name, what in ("pint.json", topology), ("plan.json", PLAN):
            with open(self.path(name), "w", encoding="utf-8") as file:
                json.dump(what, file)

    def packets(self, tags=()):
        """a flow's frames as they arrive: switch s adds s microseconds"""
        items = []
        for number in range(PACKETS):
            raw = frame("10.1.1.2", "10.2.1.2", 40000, 80,
                        number.to_bytes(8, "big") + b"x" * 20, tags)
            items.append({"frame": raw.hex(), "path": PATH,
                          "values": {"latency": [1000 * switch for switch in PATH]}})
        words = "pint", "encode", "--topology", self.path("pint.json"), "--plan", self.path(
            "plan.json")
        done = subprocess.run([BIN + "/pathdump", *words], input="".join(
            json.dumps(item) + "\n" for item in items), capture_output=True, text=True,
                              check=True)
        return [(START_US + i * 1000, bytes.fromhex(json.loads(line)["frame"]))
                for i, line in enumerate(done.stdout.splitlines())]

    def check(self, answer):
        """each port of the path, with the latency of its switch"""
        self.assertTrue(answer["complete"])
        rows = {(row["switch"], row["to"]): row for row in answer["rows"]}
        self.assertEqual(set(rows), set(zip(PATH, PATH[1:] + [25])))
        for (switch, _), row in rows.items():
            self.assertEqual(row["quantiles"], {"0.5": 1000 * switch})
            self.assertEqual((row["low"], row["high"], row["max"]), (1000 * switch,) * 3)
            self.assertEqual(row["values"], [[1000 * switch, row["samples"]]])
        self.assertEqual(sum(row["samples"] for row in rows.values()), PACKETS)

    def test_beside_link_tags(self):
        """CherryPick's tags tell the path of each record, digests what its hops measured"""
        with open(self.path("pint.json"), encoding="utf-8") as file:
            topology = json.load(file)
        topology["codec"] = ["cherrypick-fat-tree", "pint"]
        with open(self.path("both.json"), "w", encoding="utf-8") as file:
            json.dump(topology, file)
        daemon = self.start("--telemetry", self.path("plan.json"), topology=self.path("both.json"),
                            intake=self.capture(self.packets(self.tags(PATH))))
        daemon.wait_state("finished")
        live = daemon.get("/v1/getTelemetry?name=latency&quantiles=0.5&live=true")
        self.check(live)
        flow, = daemon.get("/v1/getFlows")["flows"]
        self.assertEqual((flow["path"], flow["pkts"]), (PATH, PACKETS))
        self.assertNotIn("state", flow)
        daemon.end()
        stored = pathdump("query", "--tib", self.path("tib"), "getTelemetry", "--name", "latency",
                          "--quantiles", "0.5", "--json")
        self.check(json.loads(stored))

    def test_live_and_stored(self):
        daemon = self.start("--telemetry", self.path("plan.json"), topology=self.path("pint.json"),
                            intake=self.capture(self.packets()))
        daemon.wait_state("finished")
        answer = daemon.get("/v1/getTelemetry?name=latency&quantiles=0.5&live=true")
        self.check(answer)
        token = daemon.get("/v1/getTelemetry?name=latency")["token"]
        self.assertEqual(daemon.get(f"/v1/getTelemetry?name=latency&since={token}")["rows"], [])
        self.assertEqual(len(daemon.get("/v1/getTelemetry?name=latency&link=9-17")["rows"]), 1)
        self.assertEqual(daemon.get("/v1/getTelemetry?name=other")["rows"], [])
        flow, = daemon.get("/v1/getTelemetry?name=latency&by=flow")["rows"]
        self.assertEqual((flow["path"], flow["flow_id"]["src_port"], flow["samples"]),
                         (PATH, 40000, PACKETS))
        status, _, _ = daemon.raw("/v1/getTelemetry?name=latency&by=bytes")
        self.assertEqual(status, 400)
        status, _, program = daemon.raw("/v1/query", "POST", json.dumps({"program": """
            function run(args)
              local worst = 0
              for row in get_telemetry{name = "latency", quantiles = "0.99"} do
                worst = math.max(worst, row.quantiles["0.99"])
              end
              return worst
            end"""}).encode())
        self.assertEqual((status, json.loads(program)["result"]), (200, 17000))
        daemon.__exit__()
        asked = "getTelemetry", "--name", "latency", "--by", "port", "--quantiles", "0.5"
        self.check(self.stored(*asked))
        exported = pathdump("tib", "export", "--tib", self.path("tib"))
        line, = [json.loads(text) for text in exported.splitlines()]
        self.assertEqual([(one["name"], one["hop"], one["switch"]) for one in line["telemetry"]],
                         [("latency", hop + 1, switch) for hop, switch in enumerate(PATH)])
        self.assertNotIn("extra", line)
        subprocess.run([BIN + "/pathdump", "tib", "import", "--tib", self.path("again")],
                       input=exported, text=True, check=True, capture_output=True)
        self.check(json.loads(pathdump("query", "--tib", self.path("again"), *asked, "--json")))
        line["telemetry"][0]["switch"] = 2
        refused = subprocess.run([BIN + "/pathdump", "tib", "import", "--tib", self.path("more")],
                                 input=json.dumps(line), text=True,
                                 capture_output=True)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("telemetry", refused.stderr)

    def test_another_plan(self):
        """digests of another plan raise an alarm, and no path is stored"""
        with open(self.path("other.json"), "w", encoding="utf-8") as file:
            json.dump({**PLAN, "seed": 8}, file)
        daemon = self.start("--telemetry", self.path("other.json"), topology=self.path("pint.json"),
                            intake=self.capture(self.packets()))
        daemon.wait_state("finished")
        alarms = {alarm["reason"]: alarm for alarm in daemon.get("/v1/alarms")["alarms"]}
        self.assertIn("another telemetry plan", alarms["TELEMETRY_PLAN"]["detail"])
        rows = daemon.get("/v1/getFlows")["flows"]
        self.assertEqual(sum(row["pkts"] for row in rows), PACKETS)
        self.assertEqual({tuple(row["path"]) for row in rows}, {()})
        self.assertEqual(daemon.get("/v1/getTelemetry?name=latency")["rows"], [])

    def test_no_alarm_by_the_right_plan(self):
        daemon = self.start("--telemetry", self.path("plan.json"), topology=self.path("pint.json"),
                            intake=self.capture(self.packets()))
        daemon.wait_state("finished")
        self.assertEqual(daemon.get("/v1/alarms")["alarms"], [])


if __name__ == "__main__":
    main()
