#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tools/lib.sh promises: commands run interruptibly, and clean-up happens however a tool ends.
And tools/deps' table."""
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

TOOLS = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../../tools"))


def tool(script, at):
    """a tool that sources lib.sh and then does this, started in a session of its own"""
    with open(os.path.join(at, "tool"), "w", encoding="utf-8") as f:
        f.write(f"source {TOOLS}/lib.sh\nat={at}\n{script}\n")
    return subprocess.Popen(["bash", f"{at}/tool"], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True,
                            start_new_session=True)


def wait_for(condition):
    end = time.monotonic() + 10
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(.02)


def alive(pid):
    """a process that runs: not gone, and not a zombie"""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


class Lib(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.at = folder.name

    def outcome(self, script):
        process = tool(script, self.at)
        said, _ = process.communicate(timeout=30)
        return process.returncode, said

    def test_run_gives_the_code(self):
        self.assertEqual(self.outcome(
            "run true; echo $?; run bash -c 'exit 7'; echo $?; run cat; echo $?"), (0, "0\n7\n0\n"))

    def test_clean_up_in_reverse_order_keeps_the_code(self):
        self.assertEqual(self.outcome("at_exit 'echo first'; at_exit 'echo second; false'; exit 5"),
                         (5, "second\nfirst\n"))

    def test_die_is_one_line(self):
        self.assertEqual(self.outcome("at_exit 'echo clean'; die nothing works"),
                         (1, "tools/tool: nothing works\nclean\n"))

    def interrupted(self, number):
        """(exit code, output) of a tool that is interrupted while its command runs, after the
        command's processes are gone"""
        process = tool('at_exit "echo clean"\n'
                       "run bash -c 'trap \"sleep .3; echo polite; exit\" TERM INT; sleep 60 & "
                       "echo $! $$ >$0/part; mv $0/part $0/pids; wait' $at\n"
                       "echo not reached", self.at)
        pids = os.path.join(self.at, "pids")
        wait_for(lambda: os.path.exists(pids))
        with open(pids, encoding="ascii") as f:
            children = [int(pid) for pid in f.read().split()]
        process.send_signal(number)
        said, _ = process.communicate(timeout=30)
        wait_for(lambda: not any(map(alive, children)))
        return process.returncode, said

    def test_interrupted(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(number.name):
                os.path.exists(f"{self.at}/pids") and os.remove(f"{self.at}/pids")
                self.assertEqual(self.interrupted(number), (128 + number, "polite\nclean\n"))


class Deps(unittest.TestCase):
    def deps(self, *words, **options):
        return subprocess.run([f"{TOOLS}/deps", *words], capture_output=True, text=True, timeout=60,
                              check=False, **options)

    def names(self, task):
        done = self.deps(task, "--list")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split()

    def test_tasks_include_each_other(self):
        build, demo, test, everything = (set(self.names(task))
                                         for task in ("build", "demo", "test", "all"))
        self.assertTrue(build < demo < test < everything)
        self.assertEqual(len(self.names("all")), len(everything),
                         "a package stands twice in the table")

    def test_unknown_task(self):
        for words in ((), ("everything",)):
            done = self.deps(*words)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
    def test_not_root(self):
        with tempfile.TemporaryDirectory() as at:
            os.chmod(at, 0o755)
            with open(f"{at}/dpkg-query", "w", encoding="utf-8") as f:
                f.write("#!/bin/sh\nexit 1\n")
            os.chmod(f"{at}/dpkg-query", 0o755)
            shutil.copytree(TOOLS, f"{at}/tools")       # the checkout may be closed to other users
            done = subprocess.run([f"{at}/tools/deps", "fresh"], capture_output=True, text=True,
                                  timeout=60, check=False,
                                  user=65534, group=65534, env={"PATH": f"{at}:/usr/bin:/bin"})
        self.assertEqual(done.returncode, 1)
        self.assertIn("must run as root to install: mmdebstrap", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


if __name__ == "__main__":
    unittest.main()
