#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An extension of each kind is a folder and a line: built with the product, listed, and it answers.
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.environ["PD_SOURCE"]
BUILD = os.environ["PD_BUILD"]
os.environ["PD_BIN"] = os.path.join(BUILD, "bin")
sys.path.insert(0, os.path.join(SOURCE, "tests", "shared"))
from capture import frame, write_pcap  # noqa: E402
from programs import Controller, Daemon, pathdump, program  # noqa: E402

PROGRAMS = "pathdump", "pathdumpd", "pathdump-controller", "pathdump-program"


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, timeout=840, check=False)
    if done.returncode:
        raise AssertionError(f"{words}: {done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def setUpModule():
    more = [f"-DCMAKE_C_COMPILER_LAUNCHER={os.environ['PD_LAUNCHER']}"] \
        if os.environ.get("PD_LAUNCHER") else []
    run("cmake", "-G", "Ninja", "-S", SOURCE, "-B", BUILD, "-DPD_EXTENSIONS=tests/extension",
        "-DPD_TESTS=OFF", "-DPD_BENCH=OFF", "-DPD_WERROR=ON", "-DCMAKE_BUILD_TYPE=Release",
        f"-DCMAKE_C_COMPILER={os.environ['PD_CC']}", *more)
    run("cmake", "--build", BUILD, "--target", *PROGRAMS)


class Extension(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="pathdump-extension-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.topology = os.path.join(cls.folder, "t.json")
        cls.write(cls.topology, pathdump("topology", "fat-tree", "--k", 4))
        cls.agent = Daemon(cls.folder, "--toy-greeting", "good morning", "--host-id", "21",
                           "--toy-twice", topology=cls.topology, intake="toy:5")
        cls.addClassCleanup(cls.agent.__exit__)
        cls.agent.wait_state("finished")
        cls.controller = Controller(cls.folder, cls.topology, {21: cls.agent.url})
        cls.addClassCleanup(cls.controller.__exit__)
        cls.controller.wait(cls.controller.status)

    @staticmethod
    def write(name, text):
        with open(name, "w", encoding="utf-8") as out:
            out.write(text)

    def test_help(self):
        for name in "pathdumpd", "pathdump-controller":
            text = run(program(name), "--help")
            self.assertIn("--toy-greeting WORDS", text)
            self.assertIn("what the toy says (default: hello)", text)
        text = run(program("pathdumpd"), "--help")
        self.assertIn("--toy-twice", text)
        self.assertIn("toy:N", text)

    def test_intake(self):
        self.assertEqual(self.agent.get("/v1/getCount")["pkts"], 10)
        self.assertEqual(self.agent.status()["intake"]["kind"], "toy")

    def test_part(self):
        for daemon, words, metric in (
                (self.agent, "good morning", "pathdump_toy_greeted_total"),
                (self.controller, "hello", "pathdump_controller_toy_greeted_total")):
            before = daemon.status()["toy"]["greeted"]
            self.assertEqual(daemon.get("/v1/toy/you"), {"greeting": words, "to": "you"})
            self.assertEqual(daemon.status()["toy"]["greeted"], before + 1)
            self.assertIn(f"{metric} {before + 1}", daemon.raw("/metrics")[2].decode())
            self.assertIn("/v1/toy/{id}", daemon.get("/openapi.json")["paths"])
            self.assertEqual(daemon.raw("/v1/toy/you?a=1")[0], 400)

    def test_question(self):
        self.assertEqual(self.agent.get("/v1/toyHosts?least=10"),
                         {"seen": 1, "enough": 1, "complete": True})
        self.assertEqual(self.agent.raw("/v1/toyHosts?most=10")[0], 400)
        self.assertIn("/v1/toyHosts", self.agent.get("/openapi.json")["paths"])
        answer = json.loads(pathdump("query", "--controller", self.controller.url, "toyHosts",
                                     "--arg", "least=11", "--json"))
        self.assertEqual((answer["seen"], answer["enough"], answer["complete"]), (1, 0, True))

    def test_application(self):
        self.assertIn("toy", [app["name"] for app in self.controller.get("/v1/apps")["apps"]])
        report = json.loads(pathdump("app", "--controller", self.controller.url, "toy", "--json"))
        self.assertEqual(report["verdict"], "1 hosts answer")

    def start_controller(self, name, *more):
        folder = os.path.join(self.folder, name)
        os.mkdir(folder)
        controller = Controller(folder, self.topology, {21: self.agent.url}, *more)
        self.addCleanup(controller.__exit__)
        controller.wait(controller.status)
        return controller

    def test_switches(self):
        controller = self.start_controller("toy", "--toy-switches")
        document = controller.get("/v1/switches")
        self.assertEqual(document["providers"], [{"name": "toy", "state": "open"}])
        self.assertEqual({(at["state"], at["provider"]) for at in document["switches"]},
                         {("installed", "toy")})
        self.assertEqual(controller.end(), 0)

    def test_switches_that_hang(self):
        """a provider that never opens keeps nobody from anything"""
        controller = self.start_controller("hang", "--toy-switches", "--toy-switches-hang")
        document = controller.get("/v1/switches")
        self.assertEqual(document["providers"], [{"name": "toy", "state": "hangs"}])
        self.assertEqual({at["state"] for at in document["switches"]}, {"away"})
        self.assertEqual(controller.end(), 0)

    def test_localiser(self):
        name = os.path.join(self.folder, "evidence.ndjson")
        rows = [{"path": [1, 9, 17], "pkts": 100, "lost": 3},
                {"path": [9, 17], "pkts": 10, "lost": 2},
                {"path": [2, 9, 1], "pkts": 100, "lost": 0}]
        self.write(name, "".join(json.dumps(row) + "\n" for row in rows))
        answer = json.loads(pathdump("localise", "--topology", self.topology, "--evidence", name,
                                     "--localiser", "toy", "--json"))
        self.assertEqual((answer["localiser"], answer["links"]), ("toy", ["9-17"]))

    def test_generator(self):
        self.assertIn("toy-ring", run(program("pathdump"), "topology", "generate", "--help"))
        made = json.loads(pathdump("topology", "generate", "toy-ring", "--racks", 5))
        self.assertEqual((len(made["nodes"]), len(made["links"])), (10, 10))

    def test_codec(self):
        topology = json.loads(pathdump("topology", "fat-tree", "--k", 4))
        topology["codec"] = "toy-ranks"
        name = os.path.join(self.folder, "ranks.json")
        self.write(name, json.dumps(topology))
        found = json.loads(pathdump("codec", "verify", "--topology", name, "--json"))
        self.assertGreater(found["paths"], 0)
        self.assertEqual((found["ambiguous"], found["undecodable"]), (0, 0))

    def test_codec_of_samples(self):
        topology = json.loads(pathdump("topology", "fat-tree", "--k", 4))
        topology["codec"] = "toy-samples"
        name = os.path.join(self.folder, "samples.json")
        self.write(name, json.dumps(topology))
        found = json.loads(pathdump("codec", "verify", "--topology", name, "--json"))
        self.assertEqual((found["trials"], found["undecided"], found["wrong"]), (1000, 0, 0))
        # paths of 2 or 4 hops, each told by one packet in twelve: 18 and 25 packets in the mean
        self.assertTrue(17 < found["decided"]["mean"] < 26, found["decided"])

    def test_samples_are_received(self):
        """frames' samples pass the ring and tell their flows' paths, as records are stored"""
        topology = json.loads(pathdump("topology", "fat-tree", "--k", 4))
        topology["codec"] = "toy-samples"
        folder = os.path.join(self.folder, "received")
        os.mkdir(folder)
        name = os.path.join(folder, "samples.json")
        self.write(name, json.dumps(topology))
        # over aggs 9 and 10: the ranks of the agg at rack 1, and of rack 2 at the agg, from 1 on
        told = {1000: [(0, 2, 1), (1, 2, 2)], 1001: [(0, 2, 2), (1, 2, 2)], 1002: [(1, 2, 2)],
                1003: [(0, 2, 1), (0, 2, 2), (1, 2, 2)], 1004: []}
        payloads = [(port, b"toy" + bytes(sample))
                    for port, samples in told.items() for sample in samples] + [(1004, b"nothing")]
        write_pcap(os.path.join(folder, "t.pcap"), [
            (at, frame("10.1.1.2", "10.1.2.2", port, 80, payload))
            for at, (port, payload) in enumerate(payloads)])
        with Daemon(folder, "--host-id", "21", topology=name,
                    intake="pcap:" + os.path.join(folder, "t.pcap")) as agent:
            agent.wait_state("finished")
            records = agent.get("/v1/topRecords?k=10")["top"]
            found = {record["flow_id"]["src_port"]: (record.get("path"), record.get("state"))
                     for record in records}
            status = agent.status()
        self.assertEqual(found, {1000: ([1, 9, 2], None), 1001: ([1, 10, 2], None),
                                 1002: ([], "undecided"), 1003: ([], "infeasible"),
                                 1004: ([], "infeasible")})
        counters = status["agent"]
        self.assertEqual((counters["samples"], counters["samples_full"],
                          counters["samples_unread"]), (8, 0, 0))


if __name__ == "__main__":
    unittest.main(verbosity=2)
