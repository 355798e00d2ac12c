#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The quick look at the patched switch works as README.md prints it (what it builds is taken as
built)."""
import os
import re
import subprocess
import unittest

from case import OVS, main
from daemon import CLONE_NEWNS, SOURCE, unshare
from programs import BIN

HEADING = "## A quick look at the patched switch"
CONNECTIONS = 4
PATIENCE_S = 200


def commands():
    """the lines from the one that brings the bed up"""
    with open(os.path.join(SOURCE, "README.md"), encoding="utf-8") as readme:
        block = readme.read().split(HEADING)[1].split("```")[1]
    lines = block[block.index("tests/testbed/bed up"):]
    lines = lines.replace("build/release/bin", BIN).replace("build/ovs/", f"{OVS}/")
    return lines.replace("bed up", f"bed up --bin {BIN} --ovs {OVS}")


class TestReadme(unittest.TestCase):
    def test_quick_look(self):
        unshare(CLONE_NEWNS)                    # a bed that somebody has brought up is another one
        for words in (("--make-rprivate", "/"), ("-t", "tmpfs", "none", "/run")):
            subprocess.run(["mount", *words], check=True)
        done = subprocess.run(["bash", "-ec", commands()], cwd=SOURCE, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(len(re.findall(r"^10\.1\.1\.2:\d+ +10\.2\.1\.2:5001 +tcp +1→", done.stdout,
                                        re.M)), CONNECTIONS, done.stdout)
        flows, pkts = self.totals(done.stdout)
        self.assertEqual(flows, CONNECTIONS)
        self.assertIn(f"packets counted in a record: {pkts}\n", done.stdout)
        dumped = re.findall(r"^src=10\.1\.1\.2,dst=10\.2\.1\.2,sport=\d+,dport=5001,proto=6,"
                            r"tags=\d+,", done.stdout, re.M)
        # fewer on a slow machine: those that have ended leave the memory
        self.assertLessEqual(len(dumped), CONNECTIONS)
        self.assertFalse(os.path.exists("/run/pathdump-testbed"), "something is left")

    @staticmethod
    def totals(text):
        """of the table: flows and packets"""
        flows, pkts = re.search(r"^(\d+) flows, ([\d,]+) packets", text, re.M).groups()
        return int(flows), int(pkts.replace(",", ""))


if __name__ == "__main__":
    main()
