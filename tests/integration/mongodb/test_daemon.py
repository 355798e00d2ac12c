#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The daemon and the command with a shared store: the same answers as from a directory, and a
server that is away for a while."""
import json
import os
import signal
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../agent"))
from daemon import START_US, DaemonTest, frame, pathdump

from servers import servers_or_skip

PATHS = ((1, 9, 17, 11, 3), (1, 10, 19, 12, 3))
QUESTIONS = (
    ("getFlows",), ("getFlows", "--link", "9-17"), ("getFlows", "--link", "*-3"),
    ("getFlows", "--link", "1-*"), ("getPaths",),
    ("getCount", "--src-ip", "10.1.1.2"), ("getDuration", "--link", "10-19"),
    ("topRecords", "--k", 3, "--by", "bytes"),
    ("topFlows", "--k", 2, "--by", "pkts"), ("topHosts", "--k", 5, "--by", "bytes"),
    ("topLinks", "--k", 5, "--by", "bytes"),
    ("flowSizes", "--link", "9-17", "--bin-bytes", 500), ("trafficMatrix",),
    ("pathBytes", "--src-port", 40001),
    ("distinct", "--of", "flows"), ("distinct", "--of", "sources", "--link", "9-17"))


class SharedStore(DaemonTest):
    start_server = None

    def setUp(self):
        super().setUp()
        self.server = self.start_server()
        self.addCleanup(self.server.close)
        spool = tempfile.TemporaryDirectory(prefix="pd-spool-")
        self.addCleanup(spool.cleanup)
        self.spool = spool.name
        self.location = (
            f"mongodb://127.0.0.1:{self.server.port}/pathdump?serverSelectionTimeoutMS=2000")
        frames = []
        for n in range(60):
            path = PATHS[n % 2]
            frames.append((START_US + n * 1000, frame("10.1.1.2", "10.2.1.2", 40000 + n % 7, 80,
                                                      b"x" * (n % 5 * 100), self.tags(path))))
        self.intake = self.capture(frames)

    def shared(self, *more, **options):
        return self.start("--tib", self.location, "--host-id", "7", "--tib-spool", self.spool,
                          *more, intake=self.intake, **options)

    def ask(self, location, *words):
        answer = json.loads(pathdump("query", "--tib", location, *words, "--json"))
        answer.pop("token", None)
        return answer

    def test_same_answers(self):
        with self.start("--exit-after-intake", intake=self.intake, listen=False) as daemon:
            self.assertEqual(daemon.process.wait(60), 0)
        with self.shared("--exit-after-intake", listen=False) as daemon:
            self.assertEqual(daemon.process.wait(60), 0, daemon.log())
        for question in QUESTIONS:
            answer = self.ask(self.location, *question)
            self.assertEqual(answer, self.ask(self.path("tib"), *question), question)
            self.assertTrue(answer["complete"], question)
        token = json.loads(pathdump("query", "--tib", self.location, "getCount", "--json"))["token"]
        self.assertEqual(self.ask(self.location, "getCount", "--since", token)["pkts"], 0)

    def test_server_away(self):
        """the daemon starts without its server, keeps what comes, answers what needs no server, and
        delivers when it is back"""
        self.server.kill()
        with self.shared() as daemon:
            daemon.wait_state("finished")
            tib = daemon.status()["tib"]
            self.assertGreater(tib["spooled"], 0)
            self.assertEqual(tib["lost_full"] + tib["lost_error"], 0)
            status, _, body = daemon.raw("/v1/getCount")
            self.assertEqual(status, 503, body)
            self.assertIn(b"server of the store", body)
            status, _, body = daemon.raw("/metrics")
            self.assertIn(b"tib_spooled", body)
            self.server.start()
            daemon.wait(lambda: daemon.status()["tib"]["spooled"] == 0)
            self.assertEqual(daemon.get("/v1/getCount")["pkts"], 60)
            self.assertIn(daemon.end(), (0, -signal.SIGTERM))
        self.assertEqual(self.ask(self.location, "getCount")["pkts"], 60)

    def test_words(self):
        """what is missing or wrong is told, and no password with it"""
        for more, words in ((("--tib", "mongodb://wolf:s3cr3t@127.0.0.1:1/db"), "host-id"),
                            (("--tib", "mongodb://wolf:s3cr3t@127.0.0.1:1", "--host-id", "7"),
                             "expected mongodb://")):
            with self.start("--tib-spool", self.spool, *more, intake=self.intake) as daemon:
                self.assertNotEqual(daemon.process.wait(60), 0)
                self.assertIn(words, daemon.log())
                self.assertNotIn("s3cr3t", daemon.log())
        location = "mongodb://wolf:s3cr3t@127.0.0.1:1/db?serverSelectionTimeoutMS=500"
        with self.start("--tib", location, "--host-id", "7", "--tib-spool", self.spool,
                        intake=self.intake) as daemon:
            daemon.wait_state("finished")
            daemon.wait_log("records wait in the spool")
            self.assertFalse(os.path.exists(f"/dev/shm/mongoc-{daemon.process.pid}"),
                             "left behind when it is killed")
            status, _, body = daemon.raw("/v1/status")
            self.assertEqual(status, 200)
            for text in (daemon.log(), body.decode(), daemon.raw("/metrics")[2].decode(),
                         daemon.raw("/v1/getCount")[2].decode()):
                self.assertNotIn("s3cr3t", text)


def load_tests(loader, _tests, _pattern):
    suite = unittest.TestSuite()
    for start in servers_or_skip():
        kind = type("SharedStore", (SharedStore,), {"start_server": staticmethod(start)})
        suite.addTests(loader.loadTestsFromTestCase(kind))
    return suite


if __name__ == "__main__":
    unittest.main(verbosity=2)
