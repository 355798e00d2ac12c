# SPDX-License-Identifier: Apache-2.0
"""A test bed comes up and goes away in time, several live side by side, and nothing is left behind
however one ends."""
import os
import re
import signal
import subprocess
import sys
import time
import unittest

import scenario                                 # makes the modules of the bed importable
import keeper
from scenario import BINARIES, COMMAND, STATE, TOKEN, probe, serve_all

UP_S, DOWN_S = 15, 5
HOLD_A_BED = """
import subprocess, sys
sys.path.insert(0, sys.argv[1])
import scenario
bed = scenario.bed("held", owner=sys.argv[2], tags=False).up()
bed.host(21).popen(["sleep", "1000"], stdout=subprocess.DEVNULL)
print(bed.name, bed.keeper_pid, flush=True)
sys.stdin.read()
"""


BEFORE = set(os.listdir("/sys/class/net"))  # a switch that somebody else runs leaves its tap behind


def traces():
    """all that beds of this test could leave: processes, state folders, interfaces"""
    mine, processes = str(os.getpid()), []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as environ, open(f"/proc/{pid}/cmdline",
                                                                     "rb") as command:
                marks = [mark for mark in environ.read().split(b"\0")
                         if mark.startswith(TOKEN.encode() + b"=")]
                if any(mine.encode() in mark for mark in marks) or re.search(
                    f"{STATE}/[a-z]+{mine}".encode(), command.read()):
                    processes.append(pid)
        except OSError:
            pass
    folders = [name for name in os.listdir(STATE) if mine in name] if os.path.isdir(STATE) else []
    interfaces = [name for name in os.listdir("/sys/class/net")
                  if re.fullmatch(r"s\d+-\d+|sw\d+|ovs-netdev", name) and name not in BEFORE]
    return {"processes": processes, "folders": folders, "interfaces": interfaces}


NOTHING = {"processes": [], "folders": [], "interfaces": []}


class BringUp(unittest.TestCase):
    def setUp(self):
        self.assertEqual(traces(), NOTHING)

    def check_nothing_left(self, within_s=DOWN_S):
        deadline = time.monotonic() + within_s
        while traces() != NOTHING and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(traces(), NOTHING)

    def test_in_time_and_nothing_left(self):
        start = time.monotonic()
        bed = scenario.bed("timed").up()
        self.assertLess(time.monotonic() - start, UP_S)
        self.assertEqual((len(bed.network.switches), len(bed.hosts)), (20, 16))
        bed.host(21).popen(["sleep", "1000"])
        start = time.monotonic()
        bed.down()
        self.assertLess(time.monotonic() - start, DOWN_S)
        self.check_nothing_left(0)

    def test_two_beds_do_not_meet(self):
        with scenario.bed("one", tags=False) as one, scenario.bed("two", tags=False) as two:
            for bed in (one, two):
                serve_all(bed)
            two.link_down(3, 25)
            target = one.host(25).node.addrs
            self.assertEqual(set(probe(one.host(21), target)[0].values()), {1})
            self.assertEqual(set(probe(two.host(21), target)[0].values()), {0})
        self.check_nothing_left(0)

    def test_second_bed_of_a_name_fails(self):
        with scenario.bed("same", tags=False) as first:
            with self.assertRaisesRegex(RuntimeError, "already"):
                scenario.bed("same", tags=False).up()
            serve_all(first)
            self.assertEqual(probe(first.host(21), ["10.2.1.2"])[0], {"10.2.1.2": 1})
        self.check_nothing_left(0)

    def hold(self):
        owner = subprocess.Popen([sys.executable, "-c", HOLD_A_BED, scenario.HERE,
                                  str(os.getpid())], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                 env=dict(os.environ, PATHDUMP_BIN=BINARIES))
        name, pid = owner.stdout.readline().split()
        return owner, name, int(pid)

    def test_owner_killed(self):
        """its keeper notices and takes the bed down"""
        owner, _, _ = self.hold()
        owner.kill()
        owner.communicate()
        self.check_nothing_left()

    def test_owner_and_keeper_killed(self):
        """nobody is left to clean up: the next sweep does"""
        owner, name, pid = self.hold()
        os.kill(pid, signal.SIGKILL)
        owner.kill()
        owner.communicate()
        deadline = time.monotonic() + DOWN_S
        while not keeper.is_dead(os.path.join(STATE, name)) and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertNotEqual(traces()["processes"], [])
        self.assertIn(name, keeper.sweep())
        self.check_nothing_left()

    def test_failing_start_leaves_nothing(self):
        with self.assertRaises(OSError):
            scenario.bed("broken", topology="/nonexistent").up()
        self.check_nothing_left(0)

    def bed(self, *words):
        done = subprocess.run([sys.executable, COMMAND, *words], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout

    def test_command(self):
        name = ["--name", f"command{os.getpid()}"]
        code, text = self.bed("up", *name, "--bin", BINARIES)
        self.assertEqual((code, "20 switches, 16 hosts" in text), (0, True), text)
        try:
            self.assertIn("02:00:00:00:00:19", self.bed("exec", *name, "10.2.1.2", "ip", "-br",
                                                        "link", "show", "eth0")[1])
            self.assertEqual(self.bed("link", *name, "down", "11", "3"), (0, ""))
            self.assertIn("1,9,17,11,4,12,3", self.bed("paths", *name, "21", "25")[1].split())
            self.assertIn("links down: 3-11", self.bed("status", *name)[1])
            self.assertEqual(self.bed("link", *name, "up", "11", "3"), (0, ""))
            self.assertNotIn("1,9,17,11,4,12,3", self.bed("paths", *name, "21", "25")[1].split())
            self.assertEqual(self.bed("link", *name, "down", "1", "77"), (1, "bed: no link 1-77\n"))
        finally:
            self.assertEqual(self.bed("down", *name), (0, ""))
        self.assertEqual(self.bed("down", *name)[0], 1)
        self.check_nothing_left(0)


if __name__ == "__main__":
    scenario.main()
