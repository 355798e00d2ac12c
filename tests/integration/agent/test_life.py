#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Start, wrong starts, signals, reload, kill -9, exit status, word to the service manager."""
import json
import os
import re
import signal
import socket
import subprocess
import time

from daemon import START_US, Daemon, DaemonTest, frame, free_port, main, pathdump, program

PATH = (1, 9, 17, 11, 3)


class Life(DaemonTest):
    def flow(self, n, start_us=START_US, src_port=40000, path=PATH):
        raw = frame("10.1.1.2", "10.2.1.2", src_port, 80, b"x" * 72, self.tags(path))
        return [(start_us + i * 1000, raw) for i in range(n)]

    def test_stores_and_exits(self):
        """--exit-after-intake: everything is stored, exit 0"""
        with self.start("--exit-after-intake", intake=self.capture(self.flow(50))) as daemon:
            self.assertEqual(daemon.process.wait(60), 0)
        flows = self.stored("getFlows")["flows"]
        self.assertEqual([(f["path"], f["pkts"], f["bytes"]) for f in flows],
                         [(list(PATH), 50, 5000)])

    def test_several_intakes(self):
        """two captures at once: both are stored; one that fails does not stop the other"""
        flows, more = self.flow(300), self.flow(200, src_port=40001)
        first, second = self.capture(flows, "a.pcap"), self.capture(more, "b.pcap")
        with open(self.path("a.pcap"), "ab") as out:
            out.write(b"\xff" * 400)
        with self.start("--intake", second, intake=first) as daemon:
            daemon.wait(lambda: [at["state"] for at in daemon.status()["intakes"]]
                        == ["failed", "finished"])
            status = daemon.status()
            self.assertNotIn("intake", status)
            self.assertEqual([at["spec"] for at in status["intakes"]], [first, second])
            self.assertEqual([at["frames"] for at in status["intakes"]], [300, 200])
            self.assertEqual(daemon.get("/v1/getCount?live=true")["pkts"], 500)
            self.assertIn("pathdump_intake_frames_total 500",
                          daemon.raw("/metrics")[2].decode())
            self.assertEqual(daemon.end(), 0)
        with self.start("--intake", second, "--exit-after-intake", intake=first) as daemon:
            self.assertEqual(daemon.process.wait(60), 1)

    def test_no_intake(self):
        """nothing comes in, and all else works"""
        with self.start(intake="none") as daemon:
            daemon.wait(daemon.status)
            self.assertEqual(daemon.status()["intakes"], [])
            self.assertNotIn("intake", daemon.status())
            self.assertEqual(daemon.get("/v1/getCount?live=true")["pkts"], 0)
            self.assertEqual(daemon.end(), 0)
        self.refused("--topology", self.topology, "--tib", self.path("tib"), "--intake", "none",
                     "--exit-after-intake", says="there is no intake")
        self.refused("--topology", self.topology, "--tib", self.path("tib"),
                     *["--intake", "live:lo"] * 2, says="two intakes on one interface")

    def test_cut_capture(self):
        """a capture that is cut off: exit 0, what came before is stored, the cut is reported"""
        intake = self.capture(self.flow(10))
        os.truncate(self.path("in.pcap"), os.path.getsize(self.path("in.pcap")) - 1)
        with self.start(intake=intake) as daemon:
            daemon.wait_state("finished")
            self.assertEqual([a["reason"] for a in daemon.get("/v1/alarms")["alarms"]],
                             ["INTAKE_TRUNCATED"])
            self.assertTrue(daemon.status()["intake"]["detail"])
            self.assertEqual(daemon.get("/v1/getCount")["pkts"], 9)
        with self.start("--exit-after-intake", intake=intake) as daemon:
            self.assertEqual(daemon.process.wait(60), 0)
            self.assertIn("level=warn", daemon.log())

    def test_failed_intake(self):
        """a file that turns into nonsense: exit 1, and without --exit-after-intake the daemon
        serves on"""
        intake = self.capture(self.flow(10))
        with open(self.path("in.pcap"), "ab") as out:
            out.write(b"\xff" * 400)
        with self.start("--exit-after-intake", intake=intake) as daemon:
            self.assertEqual(daemon.process.wait(60), 1)
        with self.start(intake=intake) as daemon:
            daemon.wait_state("failed")
            self.assertEqual(daemon.get("/v1/alarms")["alarms"][0]["reason"], "INTAKE_FAILED")
            self.assertEqual(daemon.get("/v1/getCount")["pkts"], 20)
            self.assertEqual(daemon.end(), 0)

    def refused(self, *words, code=1, says="", launcher=()):
        """one clear line on stderr"""
        done = subprocess.run([*launcher, program("pathdumpd"), *words], capture_output=True,
                              text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn(says, done.stderr)
        self.assertTrue(done.stderr.startswith("pathdumpd: "), done.stderr)

    def words(self, **changes):
        values = {"topology": self.topology, "intake": self.capture(self.flow(1)),
                  "tib": self.path("tib"), "listen": "127.0.0.1:0", **changes}
        return [word for name, value in values.items() if value is not None
                for word in ("--" + name, value)]

    def test_wrong_starts(self):
        self.refused("--nonsense", code=2, says="--nonsense")
        self.refused("word", code=2, says="word")
        self.refused("--idle-ms", "0", code=2, says="--idle-ms")
        self.refused(*self.words(tib=None), says="tib")
        self.refused(*self.words(topology=self.path("none.json")), says="none.json")
        self.refused(*self.words(intake="what:ever"), code=2, says="pcap:FILE")
        self.refused(*self.words(intake="pcap:" + self.path("none.pcap")), says="none.pcap")
        self.refused(*self.words(intake="live:nosuchif0"), says="nosuchif0")
        self.refused(*self.words(listen="0.0.0.0:80"), says="0.0.0.0:80 is not on loopback")
        self.refused(*self.words(tib="/proc/none/tib"), says="/proc/none/tib")
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            self.refused(*self.words(listen=f"127.0.0.1:{port}"), says=f"127.0.0.1:{port}")
        os.chmod(self.folder, 0o755)
        self.refused(*self.words(intake="live:lo", tib="/tmp/pathdump-none"), says="ermi",
                     launcher=("setpriv", "--reuid=64321", "--regid=64321", "--clear-groups", "--"))

    def test_no_codec(self):
        """where no switch marks, the agent runs, with and without an intake, and guesses no path"""
        with open(self.topology, encoding="utf-8") as source:
            document = json.load(source)
        document.pop("codec")
        with open(self.path("bare.json"), "w", encoding="utf-8") as out:
            json.dump(document, out)
        capture, self.topology = self.capture(self.flow(3)), self.path("bare.json")
        for intake, intakes in ((capture, ["pcap"]), ("none", [])):
            with self.start(intake=intake) as daemon:
                daemon.wait(lambda: [i["state"] for i in daemon.status()["intakes"]] == ["finished"]
                            * len(intakes))
                status = daemon.status()
                self.assertEqual((status["topology"]["codec"],
                                  [i["kind"] for i in status["intakes"]]), ("", intakes))
                self.assertEqual(daemon.get("/v1/alarms")["alarms"], [])
                self.assertEqual(daemon.end(), 0)
        self.assertEqual([(f["path"], f["pkts"]) for f in self.stored("getFlows")["flows"]],
                         [([], 3)])

    def config(self, text, name="x.conf"):
        with open(self.path(name), "w", encoding="utf-8") as out:
            out.write(text)
        return self.path(name)

    def good_config(self, more=""):
        return self.config(f"[agent]\ntopology = {self.topology}\n[intake]\nintake = "
                           f"{self.capture(self.flow(5))}\n[tib]\n"
                           f"tib = {self.path('tib')}\n{more}")

    def test_check_config(self):
        check = ["--check-config", "--config"]
        done = subprocess.run([program("pathdumpd"), *check, self.good_config()],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertFalse(os.path.exists(self.path("tib")))
        for text, says in (("# a comment\nno-such-key = 1\n", "x.conf:2: no-such-key: unknown key"),
                           ("[trajectory]\nidle-ms = soon\n", "x.conf:2: idle-ms"),
                           ("\n[agent]\nlisten = nowhere:80\n", "x.conf:3: listen: expects"),
                           ("[intake]\nintake = foo\n", "x.conf:2: intake: expects pcap:FILE"),
                           ("[nothing]\n", "x.conf:1: [nothing]"),
                           ("[agent]\n", "topology is missing")):
            self.refused(*check, self.config(text), says=says)
        with open(self.path("bad.json"), "w", encoding="utf-8") as out:
            out.write('{"nodes": []}')
        self.refused(*check, self.good_config(), "--topology", self.path("bad.json"),
                     says="bad.json")
        self.refused(*check, self.path("none.conf"), says="none.conf")
        self.refused(*check, self.good_config("[security]\ntls-cert = c.pem\n"), "--listen",
                     "0.0.0.0:80", says="nobody could be let in")
        self.refused(*check, self.good_config("[security]\ntoken-file = t\n"), "--listen",
                     "0.0.0.0:80", says="0.0.0.0:80 is not on loopback")

    def test_help(self):
        for word in ("--help", "--version"):
            done = subprocess.run([program("pathdumpd"), word], capture_output=True, text=True,
                                  timeout=60, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertTrue(done.stdout.startswith("pathdumpd 0" if word == "--version"
                                                   else "Usage: pathdumpd"))

    def test_sigterm_flushes(self):
        """what is in the trajectory memory at SIGTERM is in the store afterwards: see test_load for
        a live intake"""
        with self.start(intake=self.capture(self.flow(5))) as daemon:
            daemon.wait_state("finished")
            self.assertEqual(daemon.end(signal.SIGINT), 0)
            self.assertIn("stopped", daemon.log())
        self.assertEqual(self.stored("getCount")["pkts"], 5)

    def test_kill_and_restart(self):
        """killed at any moment: the store opens again, holds a part of what was sent, and takes
        more"""
        frames = [f for port in range(400)
                  for f in self.flow(25, START_US + port * 10_000_000, 1024 + port)]
        intake = self.capture(frames)
        for delay in (0, .005, .02, .05, .1):
            with self.start(intake=intake) as daemon:
                time.sleep(delay)
                daemon.end(signal.SIGKILL)
            if os.path.exists(self.path("tib/data.mdb")):
                for flow in self.stored("getFlows")["flows"]:
                    self.assertEqual(flow["path"], list(PATH))
                    self.assertEqual((flow["pkts"] % 25, flow["bytes"]), (0, 100 * flow["pkts"]))
        with self.start(intake=intake) as daemon:
            before = 0
            daemon.wait_state("finished")
            before = daemon.get("/v1/getCount")["pkts"]
            self.assertGreaterEqual(before, len(frames))
            self.assertEqual(daemon.status()["tib"]["stored"], 400)

    def test_second_daemon(self):
        """one store, one writer"""
        with self.start(intake=self.capture(self.flow(5))) as daemon:
            daemon.wait_state("finished")
            self.refused(*self.words(), says="tib")
            self.assertEqual(self.stored("getCount")["pkts"], 5)

    def test_reload(self):
        config = self.good_config("[log]\nlog-level = info\n")
        other = self.path("other.json")
        with open(other, "w", encoding="utf-8") as out:
            out.write(pathdump("topology", "fat-tree", "--k", 6))
        port = free_port()
        with Daemon(self.folder, "--config", config, "--listen", f"127.0.0.1:{port}",
                    listen=False) as daemon:
            daemon.port = port
            daemon.wait_state("finished")
            self.assertGreater(daemon.status()["tib"]["records"], 0)
            self.good_config(
                "retention-age = 1h\n[trajectory]\nidle-ms = 77\n[log]\nlog-level = warn\n")
            with open(config, encoding="utf-8") as source:
                text = source.read().replace(self.topology, other)
            self.config(text)
            daemon.process.send_signal(signal.SIGHUP)
            daemon.wait(lambda: daemon.status()["topology"]["switches"] == 45)
            self.assertRegex(daemon.log(), "level=warn .*idle-ms has changed")
            self.assertNotIn("retention-age", daemon.log())
            daemon.wait(lambda: daemon.status()["tib"]["records"] == 0)
            self.assertEqual(daemon.status()["agent"]["reloads"], 1)
            self.config("nonsense = 1\n")
            daemon.process.send_signal(signal.SIGHUP)
            daemon.wait_log("x.conf:1: nonsense: unknown key")
            with open(self.path("dscp.json"), "w", encoding="utf-8") as out:
                out.write(pathdump("topology", "vl2", "--k", 4))
            self.config(text.replace(other, self.path("dscp.json")))
            daemon.process.send_signal(signal.SIGHUP)
            daemon.wait_log("restart")
            status = daemon.status()
            self.assertEqual((status["agent"]["reloads"], status["agent"]["reloads_failed"]),
                             (1, 2))
            self.assertEqual(status["topology"]["switches"], 45)
            self.assertEqual(daemon.end(), 0)

    def test_storing_serves_nobody(self):
        """a capture is stored beside an agent that has the usual address"""
        with socket.socket() as usual:
            usual.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                usual.bind(("127.0.0.1", 7411))
                usual.listen()
            except OSError:
                pass  # whoever has it does as well
            with Daemon(self.folder, *self.words(listen=None), "--exit-after-intake",
                        listen=False) as daemon:
                self.assertEqual(daemon.process.wait(60), 0)

    def test_unix_socket(self):
        """served, replaced after a kill, removed at the end"""
        path = self.path("agent.sock")
        for how in (signal.SIGKILL, signal.SIGTERM):
            with self.start("--listen", "unix:" + path, intake=self.capture(self.flow(5)),
                            listen=False) as daemon:
                daemon.wait_log("serves unix:")
                with socket.socket(socket.AF_UNIX) as client:
                    client.connect(path)
                    client.sendall(b"GET /v1/getCount HTTP/1.0\r\n\r\n")
                    self.assertIn(b"200 OK", client.makefile("rb").read())
                daemon.end(how)
                self.assertEqual(os.path.exists(path), how == signal.SIGKILL)

    def test_any_port(self):
        with self.start("--listen", "[::1]:0", intake=self.capture(self.flow(1)),
                        listen=False) as daemon:
            daemon.wait_log(r"serves \[::1\]:\d+")
            port = int(re.search(r"serves \[::1\]:(\d+)", daemon.log()).group(1))
            socket.create_connection(("::1", port)).close()

    def test_notify(self):
        """the service manager hears of readiness, signs of life, reload and end"""
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        manager.bind(self.path("notify"))
        manager.settimeout(60)
        self.addCleanup(manager.close)
        environment = {"NOTIFY_SOCKET": self.path("notify"), "WATCHDOG_USEC": "200000"}
        with self.start(intake=self.capture(self.flow(1)), environment=environment) as daemon:
            heard = []

            def hear(text):
                while not any(text in word for word in heard):
                    heard.append(manager.recv(1000).decode())
            hear("READY=1\nSTATUS=serving 127.0.0.1:")
            for _ in range(3):
                heard.clear()
                hear("WATCHDOG=1")
            daemon.process.send_signal(signal.SIGHUP)
            hear("RELOADING=1\nMONOTONIC_USEC=")
            heard.clear()
            hear("READY=1")
            daemon.process.send_signal(signal.SIGTERM)
            hear("STOPPING=1")
            self.assertEqual(daemon.process.wait(60), 0)


if __name__ == "__main__":
    main()
