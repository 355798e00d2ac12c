# SPDX-License-Identifier: Apache-2.0
"""pathdumpd on a host of a test bed, and what one asks it."""
import json
import os
import subprocess
import time

from controller import agent_socket

PORT = 7411
START_S = 15
STOP_S = 20
FLOW_ID = ("src_ip", "dst_ip", "src_port", "dst_port", "protocol")


def by_flow(document):
    """the answer of getFlows as {flow ID: {path: (pkts, bytes)}}"""
    found = {}
    for row in document["flows"]:
        paths = found.setdefault(tuple(row["flow_id"][name] for name in FLOW_ID), {})
        assert tuple(row["path"]) not in paths, f"{row} is listed twice"
        paths[tuple(row["path"])] = row["pkts"], row["bytes"]
    return found


def flow_flags(flow):
    """flags of `pathdump query` that name exactly this flow"""
    return [word for name, value in zip(FLOW_ID, flow)
            for word in ("--" + name.replace("_", "-"), str(value))]


class Agent:
    """one agent with its own store and log in a folder; also a context, at whose end it is stopped.
    Where the bed has a controller, the agent belongs to it and listens on a unix socket, since the
    controller is in another network namespace"""

    def __init__(self, host, folder, intake="live:eth0", options=("--strip",)):
        self.host, self.folder = host, folder
        self.tib, self.log = os.path.join(folder, f"tib{host.id}"), os.path.join(
            folder, f"agent{host.id}.log")
        self.command = [host.bed.program_path("pathdumpd"), "--topology", host.bed.topology,
                        "--intake", intake,
                        "--tib", self.tib, *self.place(host.bed.controller), *options]
        self.process = None

    def place(self, controller):
        """where it listens, and to whom it belongs"""
        self.socket = agent_socket(self.host.bed.folder, self.host.id) if controller else None
        self.url = f"unix:{self.socket}" if controller else f"http://127.0.0.1:{PORT}"
        if not controller:
            return ["--listen", f"127.0.0.1:{PORT}"]
        return ["--listen", self.url, "--host-id", self.host.id, "--controller", controller.url]

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    def start(self):
        return self.launch().ready()

    def launch(self):
        """does not wait until it receives: ready() does"""
        with open(self.log, "a", encoding="utf-8") as log:
            self.process = self.host.popen(self.command, stdout=log, stderr=log)
        return self

    def ready(self):
        deadline = time.monotonic() + START_S
        while not self.receiving():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(
                    f"pathdumpd on {self.host.name} does not run: {self.last_lines()}")
            time.sleep(0.05)
        return self

    def receiving(self):
        answer = self.curl("status")
        return bool(answer) and json.loads(answer)["intake"]["state"] == "running"

    def last_lines(self):
        with open(self.log, encoding="utf-8") as log:
            return "".join(log.readlines()[-5:]).strip()

    def curl(self, route):
        """what a GET of /v1/ROUTE answers, "" when nobody does"""
        where = ["--unix-socket", self.socket,
                 f"http://localhost/v1/{route}"] if self.socket else [f"{self.url}/v1/{route}"]
        return self.host.run(["curl", "-s", "--max-time", "10", *where], stdout=subprocess.PIPE,
                             text=True).stdout

    def query(self, *words):
        """an answer of the running agent, what is still in its trajectory memory included"""
        return self.ask("--agent", self.url, *words, "--live")

    def stored(self, *words):
        """an answer of its store"""
        return self.ask("--tib", self.tib, *words)

    def ask(self, *words):
        command = [self.host.bed.program_path("pathdump"), "query", *words, "--json"]
        done = self.host.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            raise RuntimeError(
                f"{' '.join(map(str, command))}: exit {done.returncode}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def stop(self):
        """ends it as an operator would: what it holds goes into its store. RuntimeError if it does
        not end well"""
        if self.process.poll() is None:
            self.process.terminate()
        if self.process.wait(STOP_S):
            raise RuntimeError(f"pathdumpd on {self.host.name}: exit {self.process.returncode}: "
                               f"{self.last_lines()}")

    def kill(self):
        self.process.kill()
        self.process.wait()


def start_all(bed, options=("--strip",)):
    """{host ID: its agent} on all hosts of a bed that get tags, when they receive"""
    agents = {i: Agent(host, bed.folder, options=options).launch() for i, host in bed.hosts.items()
              if i in bed.tagged}
    for agent in agents.values():
        agent.ready()
    return agents
