#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The systemd unit: hardened enough by systemd's own judgement, and the daemon does its whole work
under it.

There is no systemd to boot here, so what the unit says is done by hand: its user, its capabilities,
its system call filter, no new privileges, a file system that is read-only but for the store, and a
/proc that shows processes only."""
import json
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
import time
import unittest

from daemon import BIN, CLONE_NEWNS, NetworkTest, frame, main, program, unshare

UNIT = os.environ.get("PD_UNIT") or os.path.join(BIN,
                                                 "../tests/integration/agent/pathdumpd.service")
UID = 64123
# one that every user may run
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
PATH = (1, 9, 17, 11, 3)


def setting(name):
    """all values of a key of the unit, in their order"""
    with open(UNIT, encoding="utf-8") as unit:
        return [line.partition("=")[2].strip() for line in unit if line.startswith(name + "=")]


def group(name):
    """system calls of a group as systemd lists them, groups inside it included"""
    listed = subprocess.run(["systemd-analyze", "syscall-filter", name], capture_output=True,
                            text=True, check=True).stdout
    calls = set()
    for word in re.findall(r"^    ([@\w-]+)$", listed, re.M):
        calls |= group(word) if word[0] == "@" else {word}
    return calls


def allowed_calls():
    calls = set()
    for value in setting("SystemCallFilter"):
        named = set().union(*(group(word) if word[0] == "@" else {word}
                              for word in value.lstrip("~").split()))
        calls = calls - named if value[0] == "~" else calls | named
    return sorted(calls)


class Judgement(unittest.TestCase):
    def test_exposure(self):
        done = subprocess.run(["systemd-analyze", "security", "--offline=true", UNIT],
                              capture_output=True, text=True, check=False)
        found = re.search(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)
        self.assertTrue(found, done.stdout + done.stderr)
        self.assertLessEqual(float(found.group(1)), 2.0)

    def test_verify(self):
        """systemd understands every line (the program and the manual page need not be installed)"""
        done = subprocess.run(["systemd-analyze", "verify", UNIT], capture_output=True, text=True,
                              check=False)
        self.assertEqual([line for line in done.stderr.splitlines() if "pathdumpd" in line
                          and "not executable" not in line and "man pathdumpd" not in line], [])

    def test_capabilities(self):
        self.assertEqual(setting("AmbientCapabilities"), setting("CapabilityBoundingSet"))
        self.assertEqual(setting("User"), ["pathdump"])
        with open(os.path.join(os.environ.get("PD_SOURCE", os.path.join(BIN, "../../..")),
                               "dist/pathdump.sysusers"), encoding="utf-8") as users:
            self.assertRegex(users.read(), r"(?m)^u pathdump ")


class Work(NetworkTest):
    """as the unit's user in the unit's world, on an interface, with the tags stripped"""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        unshare(CLONE_NEWNS)
        subprocess.run(["mount", "--make-rprivate", "/"], check=True)
        subprocess.run(["mount", "-t", "proc", "-o", "hidepid=invisible,subset=pid", "proc",
                        "/proc"], check=True)

    def launcher(self):
        """words in front of the daemon's that make the unit's world around it"""
        capabilities = ",".join("+" + name.lower().removeprefix("cap_")
                                for name in setting("AmbientCapabilities")[0].split())
        with open(self.path("calls"), "w", encoding="ascii") as out:
            out.write("\n".join(allowed_calls()))
        return ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups",
                f"--inh-caps=-all,{capabilities}", f"--ambient-caps=-all,{capabilities}",
                f"--bounding-set=-all,{capabilities}", "--no-new-privs", "--", PYTHON,
                os.path.join(self.folder, "filtered.py"), self.path("calls")]

    def make_world(self):
        """a copy of what the daemon reads where everybody may read, a store that its user may
        write, the rest read-only"""
        os.chmod(self.folder, 0o755)
        for name in (program("pathdumpd"), self.topology,
                     os.path.join(os.path.dirname(os.path.abspath(__file__)), "filtered.py")):
            shutil.copy(name, self.folder)
            os.chmod(self.path(os.path.basename(name)), 0o755)
        os.mkdir(self.path("state"))
        os.chown(self.path("state"), UID, UID)
        subprocess.run(["mount", "--bind", self.path("state"), self.path("state")], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", self.path("state")], check=True)
        with open(self.path("x.conf"), "w", encoding="utf-8") as out:
            out.write(f"[agent]\ntopology = {self.path('fat4.json')}\n[intake]\nintake = live:rx\n"
                      f"strip = true\n[tib]\ntib = {self.path('state/tib')}\n"
                      "[trajectory]\nidle-ms = 200\n")

    def test_whole_work(self):
        self.make_world()
        calls = self.launcher()
        words = [*calls, self.path("pathdumpd"), "--config", self.path("x.conf"), "--listen",
                 "unix:" + self.path("state/sock"), "--log-level", "info"]
        remount = subprocess.run(["mount", "-o", "remount,bind,ro", "/"], check=False)
        with open(self.path("state/stderr") if remount.returncode == 0 else self.path("stderr"),
                  "w+", encoding="utf-8") as log:
            # A build with sanitizers cannot look for leaks in a world without ptrace.
            environment = {**os.environ,
                           "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=log, env=environment)
            try:
                self.work(process, log)
            finally:
                if process.poll() is None:
                    process.kill()
                process.wait()
                subprocess.run(["mount", "-o", "remount,bind,rw", "/"], check=False)

    def ask(self, target):
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(30)
            client.connect(self.path("state/sock"))
            client.sendall(f"GET {target} HTTP/1.0\r\n\r\n".encode())
            head, _, body = client.makefile("rb").read().partition(b"\r\n\r\n")
        self.assertIn(b" 200 ", head.splitlines()[0])
        return json.loads(body)

    def wait_for(self, process, log, ready):
        until = time.monotonic() + 60
        while time.monotonic() < until:
            if process.poll() is not None:
                break
            try:
                if ready():
                    return
            except OSError:
                pass
            time.sleep(.05)
        log.seek(0)
        self.fail(f"exit {process.poll()}: {log.read()}")

    def work(self, process, log):
        self.wait_for(process, log, lambda: self.ask("/v1/status")["intake"]["state"] == "running")
        self.check_identity(process.pid)
        self.assertEqual(self.ask("/v1/status")["tcp"]["source"], "bpf")
        receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        receiver.bind(("10.2.1.2", 80))
        receiver.settimeout(30)
        raw = frame("10.1.1.2", "10.2.1.2", 40000, 80, b"x" * 72, self.tags(PATH))
        for _ in range(20):
            self.sender.send(raw)
        for _ in range(20):
            # the host's own stack gets them without tags
            self.assertEqual(receiver.recv(100), b"x" * 72)
        receiver.close()
        self.wait_for(process, log,
                      lambda: self.ask("/v1/getCount?link=9-17&live=true")["pkts"] == 20)
        self.wait_for(process, log, lambda: self.ask("/v1/getCount?link=9-17")["pkts"] == 20)
        process.send_signal(1)
        self.wait_for(process, log, lambda: self.ask("/v1/status")["agent"]["reloads"] == 1)
        self.sender.send(raw)
        self.wait_for(process, log, lambda: self.ask("/v1/status")["trajectory"]["updates"] >= 21)
        process.terminate()
        self.assertEqual(process.wait(60), 0)
        self.assertEqual(self.stored_count(), 21)

    def check_identity(self, pid):
        """it really runs as the unit says"""
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            fields = dict(line.rstrip("\n").split(":\t", 1) for line in status if ":\t" in line)
        # NET_ADMIN, NET_RAW, PERFMON, BPF
        wanted = sum(1 << number for number in (12, 13, 38, 39))
        self.assertEqual(fields["Uid"].split()[0], str(UID))
        self.assertEqual([int(fields[name], 16)
                          for name in ("CapEff", "CapPrm", "CapBnd", "CapAmb")], [wanted] * 4)
        self.assertEqual((fields["NoNewPrivs"], fields["Seccomp"]), ("1", "2"))

    def stored_count(self):
        done = subprocess.run([program("pathdump"), "query", "--tib", self.path("state/tib"),
                               "getCount", "--link", "9-17", "--json"],
                              capture_output=True, text=True, check=True)
        self.assertEqual(stat.S_IMODE(os.stat(self.path("state/tib")).st_mode) & 0o007, 0)
        return json.loads(done.stdout)["pkts"]


if __name__ == "__main__":
    main()
