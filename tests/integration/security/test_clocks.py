#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clocks of controller and agents are ten minutes apart: who is asked directly answers, orders are
refused, in words that name the difference."""
import glob
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../shared"))
from capture import write_pcap
from programs import PATIENCE_S, Daemon, free_port, pathdump, program

APART_S = 600
HOSTS = (21, 22, 23)


def clock(seconds):
    """the environment of a daemon whose clock is so far ahead"""
    library = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
    assert library, "libfaketime is not there: tools/deps test"
    return {"LD_PRELOAD": library[0], "FAKETIME": f"{seconds:+d}s",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1"}


class Clocks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        common = tempfile.TemporaryDirectory(prefix="pathdump-clocks-")
        cls.addClassCleanup(common.cleanup)
        cls.folder = common.name
        with open(cls.at("topology.json"), "w", encoding="utf-8") as out:
            out.write(pathdump("topology", "fat-tree", "--k", 4))
        write_pcap(cls.at("none.pcap"), [])
        ports = {host: free_port() for host in HOSTS}
        with open(cls.at("hosts.json"), "w", encoding="utf-8") as out:
            json.dump([{"id": h, "url": f"https://127.0.0.1:{p}"} for h, p in ports.items()], out)
        pathdump("ca", cls.at("ca"), "--controller", "127.0.0.1", "--hosts", cls.at("hosts.json"))
        cls.agents = [cls.start("pathdumpd", port, f"host-{host}", 0, "--host-id", str(host),
                                "--intake", "pcap:" + cls.at("none.pcap"), "--tib",
                                cls.at(f"tib-{host}")) for host, port in ports.items()]

    @classmethod
    def at(cls, *names):
        return os.path.join(cls.folder, *names)

    @classmethod
    def tls(cls, name):
        return ("--tls-cert", cls.at("ca", name + ".pem"), "--tls-key", cls.at("ca", name + ".key"),
                "--tls-ca", cls.at("ca", "ca.pem"))

    @classmethod
    def start(cls, name, port, certificate, ahead_s, *words):
        daemon = Daemon(cls.folder, *cls.tls(certificate), *words, name=name, port=port,
                        topology=cls.at("topology.json"),
                        environment=clock(ahead_s) if ahead_s else None)
        cls.addClassCleanup(daemon.__exit__)
        return daemon

    def ask(self, controller, mode):
        """(exit code, the answer, what was said)"""
        words = ("--mode", mode) if mode == "direct" else ("--mode", mode, "--fanout", "2")
        done = subprocess.run(
            [program("pathdump"), "query", "getCount", "--controller",
             f"https://127.0.0.1:{controller.port}", "--hosts", "all", *words, "--json",
             *self.tls("read")], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        return done.returncode, json.loads(done.stdout or "{}"), done.stderr

    def all_answer(self, controller):
        until = time.monotonic() + PATIENCE_S
        while (got := self.ask(controller, "direct"))[0]:
            self.assertLess(time.monotonic(), until, got)
            time.sleep(.1)

    def judge(self, name, ahead_s, words):
        controller = self.start("pathdump-controller", free_port(), "controller", ahead_s,
                                "--hosts", self.at("hosts.json"), "--state", self.at(name))
        self.all_answer(controller)
        code, answer, _ = self.ask(controller, "tree")
        self.assertEqual(code, 3 if words else 0)
        missing = answer["hosts"]["missing"]
        self.assertEqual(len(missing), 1 if words else 0)
        for host in missing:
            self.assertRegex(host["reason"], words)
        controller.end()

    def test_together(self):
        self.judge("together", 0, None)

    def test_ahead(self):
        self.judge("ahead", APART_S, r"made (599|600)\.\d s ahead of this host's clock")
        self.assertRegex("".join(agent.log() for agent in self.agents),
                         r"refused a question of 127.0.0.1: Pathdump-Order: made (599|600)\.\d s")

    def test_behind(self):
        self.judge("behind", -APART_S, r"over for 5\d\d\.\d s.*(599|600)\.\d s apart")


if __name__ == "__main__":
    unittest.main(verbosity=2)
