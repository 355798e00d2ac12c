#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The telemetry plan reaches all hosts, also those that were away; it survives a restart; only
admins change it."""
import json
import os
import unittest

from fleet import FleetTest, main, write_pcap
from programs import Controller, Daemon, free_port, pathdump

PLAN = {
    "version": 1, "seed": 7, "carrier": "tag", "bits": 16, "settle_ms": 50,
    "queries": [{"name": "path", "aggregation": "static", "value": "switch-id", "coding": "hash",
                 "bits": 8, "instances": 1, "tau": 0, "xor": [65536]}],
    "sets": [{"weight": 65536, "queries": ["path"]}]}


class Telemetry(FleetTest):
    def setUp(self):
        super().setUp()
        self.ports = {host: free_port() for host in sorted(self.hosts)[:3]}
        with open(self.topology, encoding="utf-8") as file:
            topology = json.load(file)
        topology["codec"] = "pint"
        self.pint = self.path("pint.json")
        with open(self.pint, "w", encoding="utf-8") as file:
            json.dump(topology, file)

    def agent(self, host, topology=None):
        at, port = self.path(str(host)), self.ports[host]
        os.makedirs(at, exist_ok=True)
        write_pcap(os.path.join(at, "in.pcap"), [])
        agent = Daemon(at, "--listen", f"127.0.0.1:{port}", topology=topology or self.pint,
                       intake=f"pcap:{at}/in.pcap", listen=False)
        agent.port = port
        self.addCleanup(agent.__exit__)
        agent.wait(agent.status)
        return agent

    def controller(self):
        controller = Controller(self.folder, self.topology, {host: f"http://127.0.0.1:{port}"
                                                             for host, port in self.ports.items()})
        self.addCleanup(controller.__exit__)
        controller.wait(controller.status)
        return controller

    def put(self, daemon, plan, status=200):
        got, _, body = daemon.raw("/v1/telemetry/plan", "PUT", json.dumps(plan))
        self.assertEqual(got, status, body)
        return json.loads(body)

    def states(self, controller):
        return {host["id"]: host["state"]
                for host in controller.get("/v1/telemetry/status")["hosts"]}

    def test_plan(self):
        first, second, third = sorted(self.ports)
        agents = [self.agent(first), self.agent(second, self.topology)]
        controller = self.controller()
        self.assertEqual(controller.get("/v1/telemetry/plan"), {"plan": None, "hash": None})
        self.assertEqual(agents[0].get("/v1/telemetry/plan")["plan"], None)
        self.assertIn("sets", self.put(controller, {**PLAN, "sets": 7}, 400)["detail"])
        self.put(controller, PLAN)
        self.assertEqual(self.states(controller),
                         {first: "current", second: "failed", third: "failed"})
        there = agents[0].get("/v1/telemetry/plan")
        self.assertEqual(there, controller.get("/v1/telemetry/plan"))
        self.assertEqual((there["plan"]["seed"], there["plan"]["settle_ms"]), (7, 50))
        reasons = {host["id"]: host["reason"]
                   for host in controller.get("/v1/telemetry/status")["hosts"]}
        self.assertIn("codec", reasons[second])
        agents.append(self.agent(third))  # away until now
        controller.wait(lambda: self.states(controller)[third] == "current", 15)
        controller.__exit__()
        controller = self.controller()  # knows it over a restart
        controller.wait(lambda: self.states(controller).get(first) == "current", 15)
        self.put(agents[0], {**PLAN, "seed": 9})  # by hand: set right again
        controller.wait(lambda: agents[0].get("/v1/telemetry/plan")["plan"]["seed"] == 7, 15)

    def test_commands(self):
        first = min(self.ports)
        self.ports = {first: self.ports[first]}
        self.agent(first)
        controller = self.controller()
        where = "--controller", f"http://127.0.0.1:{controller.port}"
        with open(self.path("plan.json"), "w", encoding="utf-8") as file:
            json.dump(PLAN, file)
        pathdump("telemetry", "plan", *where, code=1)
        self.assertEqual(pathdump("telemetry", "plan", *where, self.path("plan.json")),
                         "1 of 1 hosts have taken it over\n")
        self.assertEqual(json.loads(pathdump("telemetry", "plan", *where))["seed"], 7)
        self.assertIn("current", pathdump("telemetry", "status", *where))


if __name__ == "__main__":
    main()
