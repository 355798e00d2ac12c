# SPDX-License-Identifier: Apache-2.0
"""pathdump-controller of a test bed: it puts the tagging rules on the switches, and the agents of
the bed belong to it.

Hosts and switches live in network namespaces of their own, so everybody meets on unix sockets in
the bed's folder: switches at openflow.sock, agents at agentN.sock, and people, programs and agents
ask the controller at controller.sock.
"""
import json
import os
import subprocess
import sys

import door
import monitors
from commands import wait_for

START_S = 30
STOP_S = 20
FOUND = 3                       # exit of an application that could not ask everybody


def agent_socket(folder, host):
    return os.path.join(folder, f"agent{host}.sock")


class Controller:
    """one controller with its state and log in a bed's folder; Bed(controller=True) makes it and
    starts it; its switches connect to `openflow`"""

    def __init__(self, bed):
        self.bed = bed
        self.socket, self.openflow = (os.path.join(bed.folder, name)
                                      for name in ("controller.sock", "openflow.sock"))
        self.url = f"unix:{self.socket}"
        self.state, self.log, self.inventory = (os.path.join(bed.folder, name) for name in (
            "controller", "controller.log", "hosts.json"))
        self.process = None

    def command(self, *words):
        return [self.bed.program_path("pathdump-controller"), "--topology", self.bed.topology,
                "--hosts", self.inventory, "--state", self.state,
                *self.switches_at(), *self.monitors_at(), *words]

    def monitors_at(self):
        """switches that count, if there are any"""
        return ["--monitors", monitors.listed(self.bed)] if self.bed.monitors_on else []

    def switches_at(self):
        """where switches meet it, or it them"""
        words = self.bed.fabric.controller_words(self)
        return [*words, "--openflow-depth", self.bed.fabric.depth] if words else []

    def list_hosts(self):
        """the hosts that have an agent: those that get tags, all when there are none"""
        hosts = [h for h in self.bed.hosts.values()
                 if h.id in self.bed.tagged] or list(self.bed.hosts.values())
        with open(self.inventory, "w", encoding="utf-8") as file:
            json.dump([{"id": h.id, "name": h.name,
                        "url": f"unix:{agent_socket(self.bed.folder, h.id)}"} for h in hosts], file,
                      indent=1)

    def start(self):
        """does not wait: ready() does"""
        with open(self.log, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(self.command("--listen", self.url), env=dict(
                os.environ, **self.bed.mark), stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, start_new_session=True)
        self.bed.started.append(self.process)
        return self

    def door(self):
        """URL at which browsers of this machine find it, for as long as the bed is up"""
        command = [sys.executable, door.__file__, self.socket]
        process = subprocess.Popen(command, env=dict(os.environ, **self.bed.mark),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, text=True, start_new_session=True)
        self.bed.started.append(process)
        return process.stdout.readline().strip()

    def ready(self):
        """waits until it answers"""
        def answers():
            if self.process.poll() is not None:
                raise RuntimeError(f"pathdump-controller does not run: {self.last_lines()}")
            return self.raw("/v1/status").returncode == 0
        wait_for(answers, "pathdump-controller", START_S)
        return self

    def last_lines(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return "".join(log.readlines()[-5:]).strip()

    def raw(self, route, *words):
        command = ["curl", "-s", "--max-time", "20", "--unix-socket", self.socket, *words,
                   f"http://localhost{route}"]
        return subprocess.run(command, stdout=subprocess.PIPE, text=True)

    def ask(self, route, document=None):
        """the answer of /v1/ROUTE; a document is sent by POST"""
        words = [] if document is None else ["-H", "Content-Type: application/json", "-d",
                                             json.dumps(document)]
        done = self.raw(f"/v1/{route}", "--fail-with-body", *words)
        if done.returncode:
            raise RuntimeError(
                f"the controller on {route}: "
                f"{done.stdout.strip() or f'curl: exit {done.returncode}'} {self.last_lines()}")
        return json.loads(done.stdout)

    def app(self, name, **arguments):
        """the report of one run of an application"""
        return self.ask(f"apps/{name}", arguments)

    def evidence(self, file, app="silent-drops", seconds=60):
        """writes what an application judges of the last seconds, for replay; returns how many
        rows"""
        command = [self.bed.program_path("pathdump"), "app", app, "--controller", self.url,
                   "--json", "--seconds", f"{seconds:g}", "--evidence", file]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode not in (0, FOUND):
            raise RuntimeError(
                f"{' '.join(command)}: exit {done.returncode}: {done.stderr.strip()}")
        with open(file, encoding="utf-8") as rows:
            return sum(1 for _ in rows)

    def switches(self):
        return {s["id"]: s for s in self.ask("switches")["switches"]}

    def counters(self):
        return self.ask("switches")["counters"]

    def wait_installed(self):
        if not self.switches_at():
            return
        try:
            wait_for(lambda: all(s["state"] == "installed" for s in self.switches().values()),
                     "the rules of all switches", START_S)
        except TimeoutError as error:
            raise RuntimeError(
                f"{error}: "
                f"{[s for s in self.switches().values() if s['state'] != 'installed']}") from None

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
        if self.process.wait(STOP_S):
            raise RuntimeError(
                f"pathdump-controller: exit {self.process.returncode}: {self.last_lines()}")

    def kill(self):
        self.process.kill()
        self.process.wait()
