#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The completion in bash itself, the man page in mandoc, colour on a terminal."""
import json
import os
import pty
import re
import shutil
import subprocess
import unittest

from command import BIN, SOURCE, CommandTest, main
from scripted import ScriptedTest
from terminal import Terminal

COMPLETION = os.path.join(SOURCE, "completion/pathdump.bash")
ASK = """source "$1"
COMP_LINE=$2
COMP_POINT=${#COMP_LINE}
_pathdump
printf '%s\\n' "${COMPREPLY[@]}"
"""
PATH = f"{BIN}:{os.environ['PATH']}"
COMMANDS = ["topology", "codec", "meters", "monitors", "segments", "pint", "p4", "probes",
            "telemetry", "trace", "query", "install", "uninstall", "installed", "alarms", "status",
            "top",
            "hosts", "switches", "links", "audit", "apps", "app", "watch", "watches", "unwatch",
            "tib", "simulate", "localise", "ca", "complete", "help"]


class Completion(ScriptedTest):
    def complete(self, line, **environment):
        done = subprocess.run(
            ["bash", "--norc", "-c", ASK, "bash", COMPLETION, line], capture_output=True, text=True,
            check=True, cwd=self.folder.name, env={**os.environ, "PATH": PATH, **environment})
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_words(self):
        for line, wanted in {
                "": [*COMMANDS, "--help", "--version"], "co": ["codec", "complete"],
                "codec ": ["verify", "encode", "decode", "rules", "assign", "--help"],
                "topology f": ["fat-tree"],
                "query getPa": ["getPaths"], "install --on n": ["new_flow"],
                "query --tib x getC": ["getCount"], "help to": ["topology", "top"],
                "codec rules --depth p": ["pcp", "plain"], "codec rules --depth=pl": ["plain"],
                "codec rules --depth=": ["pcp", "plain"],
                "query --src": ["--src-ip", "--src-port"], "codec encode --s": ["--src"],
                "query --link ": [], "app silent": ["silent-drops"],
                "app top-flows --li": ["--link"], "top h": ["hosts"], "unwatch ": [],
                "fly ": []}.items():
            with self.subTest(line):
                self.assertEqual(self.complete("pathdump " + line), wanted)

    def test_every_flag_is_offered(self):
        for command in ("topology fat-tree", "topology leaf-spine", "codec verify", "codec encode",
                        "codec decode", "codec rules", "codec assign", "query", "install", "alarms",
                        "tib check", "tib export", "top", "status"):
            flags = re.findall(r"^  (--[a-z-]+)", self.ok("help", *command.split()), re.M)
            self.assertTrue(flags)
            self.assertEqual(self.complete(f"pathdump {command} --"), flags + ["--help"])

    def test_files_and_folders(self):
        os.makedirs(self.path("tib-here"), exist_ok=True)
        with open(self.path("tip.json"), "w", encoding="utf-8"):
            pass
        self.assertEqual(sorted(self.complete("pathdump codec verify --topology ti")),
                         ["tib-here", "tip.json"])
        self.assertEqual(sorted(self.complete("pathdump codec verify --topology=ti")),
                         ["tib-here", "tip.json"])
        self.assertEqual(self.complete("pathdump query --tib ti"), ["tib-here"])
        self.assertEqual(sorted(self.complete("pathdump topology check ti")),
                         ["tib-here", "tip.json"])

    def test_daemons(self):
        with open(self.path("tip.json"), "w", encoding="utf-8"):
            pass
        for program in ("pathdumpd", "pathdump-controller"):
            done = subprocess.run([os.path.join(BIN, program), "--help"], capture_output=True,
                                  text=True, check=True)
            flags = re.findall(r"^  (--[a-z0-9-]+)", done.stdout, re.M)
            self.assertEqual(self.complete(f"{program} --"), flags)
            self.assertEqual(self.complete(f"{program} --topology x --lis"), ["--listen"])
            self.assertIn("tip.json", self.complete(f"{program} --topology "))
        self.assertEqual(self.complete("pathdumpd --trace s"), ["suffering"])

    def test_names_of_a_topology(self):
        topology = self.topology()
        links = self.complete(f"pathdump query --topology {topology} getFlows --link tor-1-1:")
        # bash replaces what stands behind the colon
        self.assertEqual(links, ["agg-1-1", "agg-1-2"])
        self.assertEqual(self.complete(f"pathdump codec rules --topology {topology} --switch "
                                       f"core-"), [f"core-{n}" for n in range(1, 5)])
        self.assertEqual(self.complete(f"pathdump query --topology {topology} getFlows --path "
                                       f"tor-1-1,core-1"), ["tor-1-1,core-1"])

    def test_names_of_a_controller(self):
        with open(self.topology(), encoding="utf-8") as f:
            answers = {"/v1/topology": json.load(f), "/v1/watches": {
                "watches": [{"id": 7, "app": "loop"}, {"id": 71, "app": "silent-drops"}]},
                       "/v1/installed": {"installed": [{"id": 4, "query": "getFlows"}]}}

        def answer(handler):
            body = json.dumps(answers.get(handler.path.split("?")[0], {})).encode()
            handler.send_response(200)
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)
        url = self.serve(answer)
        self.assertEqual(self.complete("pathdump query getFlows --link tor-2-1:",
                                       PATHDUMP_CONTROLLER=url), ["agg-2-1", "agg-2-2"])
        self.assertEqual(self.complete("pathdump unwatch 7", PATHDUMP_CONTROLLER=url), ["7", "71"])
        self.assertEqual(self.complete("pathdump uninstall ", PATHDUMP_CONTROLLER=url), ["4"])
        hosts = self.complete("pathdump query getFlows --hosts ", PATHDUMP_CONTROLLER=url)
        self.assertEqual((hosts[0], len(hosts)), ("all", 17))
        self.assertEqual(self.complete("pathdump app top-flows --link core-1:agg-1",
                                       PATHDUMP_CONTROLLER=url), ["agg-1-1"])
        self.assertEqual(self.complete("pathdump unwatch ", PATHDUMP_CONTROLLER=self.nobody()), [])

    def test_the_command_prints_them(self):
        for shell, name in (("bash", "pathdump.bash"), ("zsh", "_pathdump"),
                            ("fish", "pathdump.fish")):
            with open(os.path.join(SOURCE, "completion", name), encoding="utf-8") as f:
                self.assertEqual(self.ok("help", "--completion", shell), f.read())
        self.assertEqual(self.ok("help", "--bash-completion"),
                         self.ok("help", "--completion", "bash"))
        self.fails(1, "zsh or fish", "help", "--completion", "csh")


class OtherShells(ScriptedTest):
    @unittest.skipUnless(shutil.which("fish"), "fish is missing")
    def test_fish(self):
        def complete(line):
            done = subprocess.run(["fish", "--no-config", "-c", f"source "
                                   f"{SOURCE}/completion/pathdump.fish; complete -C'{line}'"],
                                  capture_output=True, text=True,
                                  check=True, timeout=30, cwd=self.folder.name,
                                  env={**os.environ, "PATH": PATH, "HOME": self.folder.name})
            return [candidate.split("\t")[0] for candidate in done.stdout.splitlines()]
        topology = self.topology()
        self.assertEqual(complete("pathdump query getPa"), ["getPaths"])
        self.assertEqual(complete("pathdump codec rules --depth p"), ["pcp", "plain"])
        self.assertEqual(complete("pathdump codec rules --depth=pl"), ["--depth=plain"])
        self.assertEqual(complete(f"pathdump query --topology {topology} getFlows --link tor-1-1:"),
                         ["tor-1-1:agg-1-1", "tor-1-1:agg-1-2"])
        self.assertIn("fat-tree-4.json", complete("pathdump topology check fat"))
        self.assertEqual(complete("pathdumpd --trace-r"), ["--trace-rate", "--trace-resolver"])
        self.assertEqual(complete("pathdumpd --trace s"), ["suffering"])
        self.assertIn("--openflow", complete("pathdump-controller --open"))

    @unittest.skipUnless(shutil.which("zsh"), "zsh is missing")
    def test_zsh(self):
        topology = self.topology()
        for line, wanted in (("pathdump query getPa", "pathdump query getPaths "), (
            "pathdump codec rules --depth=pl", "pathdump codec rules --depth=plain "),
                             (f"pathdump query --topology {topology} getFlows --link core-1:agg-1",
                              f"--link core-1:agg-1-1 "),
                             ("pathdumpd --trace s", "pathdumpd --trace suffering "),
                             ("pathdump topology check fat", "check fat-tree-4.json ")):
            terminal = Terminal("-f", program=shutil.which("zsh"), columns=200, PATH=PATH,
                                HOME=self.folder.name)
            self.addCleanup(terminal.close)
            terminal.type(f"cd {self.folder.name}; fpath=({SOURCE}/completion $fpath); autoload -U "
                          f"compinit; compinit -u -D; PS1='READY> '\r")
            self.assertTrue(terminal.until_shown("READY> "))
            terminal.type(line + "\t")
            lines = terminal.until_shown(wanted.rstrip())
            self.assertTrue(any(wanted.rstrip() in shown for shown in lines), lines)


class Pages(CommandTest):
    @unittest.skipUnless(shutil.which("mandoc"), "mandoc is missing")
    def test_man_page_is_well_formed(self):
        done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning",
                               os.path.join(SOURCE, "docs/man/pathdump.1")], capture_output=True,
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
        subprocess.run([os.path.join(BIN, "tests/make_tib"), cls.tib],
                       input="10.1.1.2 10.1.2.2 1 2 6 1,9,2 10 20 100 1\n", text=True, check=True)

    def on_terminal(self, **environment):
        ours, theirs = pty.openpty()
        process = subprocess.Popen([os.path.join(BIN, "pathdump"), "query", "--tib", self.tib,
                                    "getFlows"], stdout=theirs, stderr=theirs,
                                   env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8",
                                        "TERM": "xterm", "PATHDUMP_PAGER": "", **environment})
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
