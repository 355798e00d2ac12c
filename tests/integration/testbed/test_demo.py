# SPDX-License-Identifier: Apache-2.0
"""The demonstration ends well and in time, and leaves nothing behind: not after its end, and not
when it is interrupted."""
import os
import re
import signal
import subprocess
import sys
import time
import unittest

import scenario                                 # makes the modules of the bed importable
from keeper import STATE, TOKEN
from scenario import BINARIES, HERE

DEMO = os.path.join(HERE, "..", "..", "testbed", "demo.py")
MOST_S, CLEAN_UP_S = 120, 5


class Demo(unittest.TestCase):
    def setUp(self):
        self.demo = subprocess.Popen([sys.executable, DEMO, "--bin", BINARIES],
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT, text=True)
        self.addCleanup(self.demo.stdout.close)
        self.addCleanup(self.demo.wait)
        self.addCleanup(self.demo.kill)

    def left(self):
        """processes and folders of the demonstration's beds"""
        beds = [f"{kind}{self.demo.pid}" for kind in ("bed", "silent", "untagged", "digested")]
        return [left for name in beds for left in self.left_of(name)]

    @staticmethod
    def left_of(name):
        processes = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as environ, open(f"/proc/{pid}/cmdline",
                                                                         "rb") as command:
                    if (f"{TOKEN}={name}.".encode() in environ.read()
                        or f"{STATE}/{name}\0".encode() in command.read()):
                        processes.append(pid)
            except OSError:
                pass
        return processes + [name] * os.path.isdir(os.path.join(STATE, name))

    def read_until(self, text):
        for line in self.demo.stdout:
            if text in line:
                return
        self.fail(f"ended without {text!r}")

    def test_shows_everything(self):
        started = time.monotonic()
        output = self.demo.communicate(timeout=2 * MOST_S)[0]
        self.assertEqual(self.demo.returncode, 0, output)
        self.assertLess(time.monotonic() - started, MOST_S)
        for question in ("getFlows --link", "getPaths", "getCount", "curl -s"):
            self.assertRegex(output, rf"\d\$ .*{re.escape(question)}")
        for command in ("switches", "install conformance", "alarms",
                        "query --hosts all --mode tree"):
            self.assertRegex(output, rf"here\$ pathdump {command}")
        self.assertRegex(output, r"PC_FAIL.*\d+((→|->)\d+){6}")
        self.assertRegex(output, r"here\$ pathdump alarms --reason POOR_PERF")
        for fault, app in (("loss", "silent-drops"), ("blackhole", "probe-faults")):
            link = re.search(rf"add {fault} (\d+) (\d+)", output)
            self.assertRegex(output, rf"here\$ pathdump app {app}[^$]*\n *certain +yes[^$]*\n"
                                     rf" *links +{link[1]}-{link[2]}\n")
        untagged = re.search(r"It is the link from switch (\d+) to switch (\d+)\. Below", output)
        # It leads: others may follow, since who loses acknowledgements sends again, too.
        self.assertRegex(output, rf"here\$ pathdump app drop-causes[^$]*\n *links "
                         rf"+{untagged[1]}-{untagged[2]}(, |\n)")
        slow = re.search(r"It is the port of switch (\d+) towards (\d+)", output)
        self.assertRegex(output, rf"here\$ pathdump app tail-latency[^$]*\n"
                                 rf" *links +{slow[1]}-{slow[2]}\n")
        self.assertIn("What to try next", output)
        self.assertEqual(self.left(), [])

    def check_interrupted(self, number, code):
        self.read_until("3. ")
        self.assertTrue(self.left())
        self.demo.send_signal(number)
        self.demo.stdout.read()
        self.assertEqual(self.demo.wait(), code)
        deadline = time.monotonic() + CLEAN_UP_S * (code < 0)
        while self.left() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(self.left(), [])

    def test_interrupted(self):
        self.check_interrupted(signal.SIGINT, 130)

    def test_terminated(self):
        self.check_interrupted(signal.SIGTERM, 130)

    def test_killed(self):
        """its keeper cleans up"""
        self.check_interrupted(signal.SIGKILL, -signal.SIGKILL)


if __name__ == "__main__":
    scenario.main()
