#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The completion in bash itself, the man page in mandoc, colour on a terminal."""
import os
import pty
import re
import shutil
import subprocess
import unittest

from command import BIN, SOURCE, CommandTest, main

COMPLETION = os.path.join(SOURCE, "completion/pathdump.bash")
ASK = """source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_pathdump
printf '%s\\n' "${COMPREPLY[@]}"
"""


class Completion(CommandTest):
    def complete(self, *words):
        done = subprocess.run(["bash", "--norc", "-c", ASK, "bash", COMPLETION, "pathdump", *words], capture_output=True, text=True,
                              check=True, cwd=self.folder.name)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_words(self):
        for words, wanted in {
                ("",): ["topology", "codec", "meters", "pint", "p4", "probes", "telemetry", "trace", "query", "install", "uninstall", "installed", "alarms",
                        "status", "top", "hosts", "switches", "links", "audit", "apps", "app", "watch", "watches", "unwatch", "tib", "simulate", "localise", "ca", "help",
                        "--help", "--version"], ("co",): ["codec"],
                ("codec", ""): ["verify", "encode", "decode", "rules", "assign", "--help"], ("topology", "f"): ["fat-tree"],
                ("query", "getPa"): ["getPaths"], ("install", "--on", "n"): ["new_flow"], ("query", "--tib", "x", "getC"): ["getCount"], ("help", "to"): ["topology", "top"],
                ("codec", "rules", "--depth", "p"): ["pcp", "plain"], ("codec", "rules", "--depth", "=", "pl"): ["plain"],
                ("codec", "rules", "--depth", "="): ["pcp", "plain"], ("query", "--src"): ["--src-ip", "--src-port"],
                ("codec", "encode", "--s"): ["--src"], ("query", "--link", ""): [],
                ("fly", ""): []}.items():
            with self.subTest(words):
                self.assertEqual(self.complete(*words), wanted)

    def test_every_flag_is_offered(self):
        for command in ("topology fat-tree", "topology leaf-spine", "codec verify", "codec encode", "codec decode", "codec rules", "codec assign", "query", "install", "alarms",
                        "tib check", "tib export"):
            text = self.ok("help", *command.split())
            flags = re.findall(r"^  (--[a-z-]+)", text, re.M)
            self.assertTrue(flags)
            self.assertEqual(self.complete(*command.split(), "--"), flags + ["--help"])

    def test_files_and_folders(self):
        os.makedirs(self.path("tib-here"), exist_ok=True)
        with open(self.path("tip.json"), "w", encoding="utf-8"):
            pass
        self.assertEqual(sorted(self.complete("codec", "verify", "--topology", "ti")), ["tib-here", "tip.json"])
        self.assertEqual(self.complete("query", "--tib", "ti"), ["tib-here"])
        self.assertEqual(sorted(self.complete("topology", "check", "ti")), ["tib-here", "tip.json"])

    def test_the_command_prints_it(self):
        with open(COMPLETION, encoding="utf-8") as f:
            self.assertEqual(self.ok("help", "--bash-completion"), f.read())


class Pages(CommandTest):
    @unittest.skipUnless(shutil.which("mandoc"), "mandoc is missing")
    def test_man_page_is_well_formed(self):
        done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", os.path.join(SOURCE, "docs/man/pathdump.1")], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.stdout + done.stderr, "")

    def test_man_page_is_what_the_command_prints(self):
        with open(os.path.join(SOURCE, "docs/man/pathdump.1"), encoding="utf-8") as f:
            self.assertEqual(self.ok("help", "--man"), f.read())


class Colour(CommandTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tib = os.path.join(cls.folder.name, "tib")
        subprocess.run([os.path.join(BIN, "tests/make_tib"), cls.tib], input="10.1.1.2 10.1.2.2 1 2 6 1,9,2 10 20 100 1\n", text=True, check=True)

    def on_terminal(self, **environment):
        ours, theirs = pty.openpty()
        process = subprocess.Popen([os.path.join(BIN, "pathdump"), "query", "--tib", self.tib, "getFlows"], stdout=theirs, stderr=theirs,
                                   env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TERM": "xterm", "PATHDUMP_PAGER": "", **environment})
        os.close(theirs)
        text = b""
        try:
            while piece := os.read(ours, 4096):
                text += piece
        except OSError:                 # the terminal's way to say end of file
            pass
        os.close(ours)
        self.assertEqual(process.wait(20), 0)
        return text

    def test_terminals_alone_are_coloured(self):
        self.assertIn(b"\x1b[1mSOURCE", self.on_terminal())
        self.assertNotIn(b"\x1b", self.on_terminal(NO_COLOR="1"))
        self.assertNotIn(b"\x1b", self.on_terminal(TERM="dumb"))
        self.assertIn(b"\x1b[1m", self.on_terminal(NO_COLOR=""))
        self.assertNotIn("\x1b", self.ok("query", "--tib", self.tib, "getFlows"))


if __name__ == "__main__":
    main()
