#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The controller's life: what it refuses to start with, one for each state directory, reloads all
or nothing, a kill and another start."""
import contextlib
import http.client
import os
import signal
import socket
import subprocess
import threading

from fleet import FleetTest, main, post
from programs import Controller, program


class Life(FleetTest):
    def start(self, hosts=None, *more):
        controller = Controller(self.folder, self.topology,
                                hosts or {21: "http://127.0.0.1:1", 22: "unix:/nowhere"}, *more)
        self.addCleanup(controller.__exit__)
        controller.wait(controller.status)
        return controller

    def run_once(self, *words):
        return subprocess.run([program("pathdump-controller"), *words], capture_output=True,
                              text=True, timeout=60, check=False)

    def words(self, hosts, *more):
        self.files = getattr(self, "files", 0) + 1
        return "--topology", self.topology, "--hosts", self.write(
            f"wrong-{self.files}.json",
            hosts), "--state", self.path("other"), "--listen", "127.0.0.1:0", *more

    def test_refused(self):
        good = [{"id": 21, "url": "http://h:1"}]
        for words, code, text in (
                (["--help"], 0, ""), (["--version"], 0, ""), ([], 1, "topology is missing"),
                (["--colour"], 2, "unknown"),
                (self.words(good, "--check-config"), 0, ""), (self.words(
                    [{"id": 5, "url": "http://h:1"}], "--check-config"), 1, "[0].id: 5 is no host"),
                (self.words([good[0], {"id": 22, "url": "http://h:1/x"}]), 1, "[1].url: expects"),
                (self.words("[{"), 1, "wrong-4.json:1:"),
                (self.words(good, "--state", self.path("a/b/c")), 1, "cannot be made"),
                (self.words(good, "--listen", "10.0.0.1:80"), 1, "loopback"),
                (self.words(good, "--topology", "/nonexistent"), 1, "/nonexistent")):
            done = self.run_once(*words)
            self.assertEqual(done.returncode, code, (words, done.stderr))
            self.assertIn(text, done.stderr)
        self.assertFalse(os.path.exists(self.path("other")), "what was refused has left traces")

    def test_one_for_each_state(self):
        first = self.start()
        done = self.run_once("--topology", self.topology, "--hosts", self.path("hosts.json"),
                             "--state", self.path("state"), "--listen", "127.0.0.1:0")
        self.assertEqual(done.returncode, 1)
        self.assertIn("another controller works with", done.stderr)
        first.end(signal.SIGKILL)
        self.assertEqual(self.start().end(), 0)

    def test_reload(self):
        controller = self.start()
        ids = lambda: [host["id"] for host in controller.get("/v1/hosts")["hosts"]]
        for bad in ("[", [{"id": 21}],
                    [{"id": 21, "url": "http://h:1"}, {"id": 21, "url": "http://h:2"}]):
            before = controller.status()["controller"]["reloads_failed"]
            self.write("hosts.json", bad)
            controller.process.send_signal(signal.SIGHUP)
            controller.wait(lambda: controller.status()["controller"]["reloads_failed"] == before
                            + 1)
            self.assertEqual(ids(), [21, 22])
        controller.wait_log(
            "not reloaded, all stays as it was: .*hosts.json: .1..id: 21 is also the id of .0.")
        self.write("hosts.json", [{"id": 36, "url": "http://127.0.0.1:1"}])
        controller.process.send_signal(signal.SIGHUP)
        controller.wait(lambda: ids() == [36])
        controller.wait(lambda: controller.status()["controller"]["reloads"] == 1)
        status, answer = post(controller, "/v1/execute", {"hosts": "all", "query": "getCount",
                                                          "args": {}, "deadline_ms": 5000})
        self.assertEqual((status, [missing["id"] for missing in answer["hosts"]["missing"]]),
                         (200, [36]), answer)
        self.assertFalse(answer["complete"])
        self.assertEqual(controller.end(), 0)

    def test_stop(self):
        """a host that does not move keeps no controller from ending, whoever waits for it"""
        with socket.create_server(("127.0.0.1", 0)) as silent:
            controller = self.start({21: f"http://127.0.0.1:{silent.getsockname()[1]}"},
                                    "--queries-at-once", "1")
            body = {"hosts": "all", "query": "getCount", "args": {}, "deadline_ms": 600000}
            def ask():
                with contextlib.suppress(OSError, http.client.HTTPException):
                    post(controller, "/v1/execute", body)
            clients = [threading.Thread(target=ask) for _ in range(3)]
            for client in clients:
                client.start()
            controller.wait(lambda: [controller.status()["queries"][n]
                                     for n in ("working", "waiting")] == [1, 2])
            self.assertEqual(controller.end(), 0)
            for client in clients:
                client.join(60)
                self.assertFalse(client.is_alive())

    def test_queue_is_bounded(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            controller = self.start({21: f"http://127.0.0.1:{silent.getsockname()[1]}"},
                                    "--queries-at-once", "1", "--queries-waiting", "1")
            body = {"hosts": "all", "query": "getCount", "args": {}, "deadline_ms": 3000}
            answers = []
            clients = [threading.Thread(target=lambda: answers.append(
                post(controller, "/v1/execute", body)[0])) for _ in range(6)]
            for client in clients:
                client.start()
            for client in clients:
                client.join(60)
            self.assertIn(503, answers)             # no room to wait
            self.assertIn(200, answers)             # nobody answered, and it says so
            self.assertEqual(controller.status()["controller"]["executes_refused"],
                             answers.count(503))

    def test_configuration_file(self):
        hosts = self.write("hosts.json", [])
        text = (f"[controller]\ntopology = {self.topology}\nhosts = {hosts}\nstate = "
                f"{self.path('state')}\nlisten = 127.0.0.1:0\n")
        self.assertEqual(self.run_once("--config", self.write("good.conf", text),
                                       "--check-config").returncode, 0)
        done = self.run_once("--config", self.write("bad.conf", text + "colour = red\n"),
                             "--check-config")
        self.assertEqual(done.returncode, 1)
        self.assertIn("bad.conf:6: colour: unknown key", done.stderr)


if __name__ == "__main__":
    main()
