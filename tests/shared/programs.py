# SPDX-License-Identifier: Apache-2.0
"""The built programs: the command run once, and the daemon started, asked and ended."""
import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import time

BIN = os.environ.get("PD_BIN") or os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                               "../../build/release/bin")

# Under sanitizers everything takes its time.
PATIENCE_S = 60


def program(name):
    return os.path.join(BIN, name)


def pathdump(*words, code=0):
    done = subprocess.run([program("pathdump"), *map(str, words)], capture_output=True, text=True,
                          timeout=PATIENCE_S, check=False)
    assert done.returncode == code, f"exit {done.returncode}: {words}: {done.stderr}"
    return done.stdout


# ---- the daemon ----

_held = []      # a socket for each port that free_port() gave


def free_port():
    """nobody else is given it until this process ends: a host that is away is no daemon of another
    test. Whoever listens there sets SO_REUSEADDR"""
    held = socket.socket()
    held.bind(("127.0.0.1", 0))
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    _held.append(held)
    return held.getsockname()[1]


class Daemon:
    """pathdumpd with the usual flags; `more` come last and win"""

    def __init__(self, folder, *more, intake=None, topology=None, listen=True, environment=None,
                 launcher=(), name="pathdumpd", port=None):
        self.port = port or free_port()
        self.folder = folder
        self.url = f"http://127.0.0.1:{self.port}"
        self.errors = os.path.join(folder, f"stderr-{self.port}")
        words = [*launcher, program(name)]
        if name == "pathdumpd":
            # what other connections of this machine suffer is no alarm of a test
            words += ["--tcp-monitor", "none"]
        if topology:
            words += ["--topology", topology]
        if intake:
            words += ["--intake", intake, "--tib", os.path.join(folder, "tib")]
        if listen:
            words += ["--listen", f"127.0.0.1:{self.port}"]
        with open(self.errors, "wb") as errors:
            self.process = subprocess.Popen([*words, *more], stdin=subprocess.DEVNULL,
                                            stdout=subprocess.DEVNULL, stderr=errors,
                                            env={**os.environ, **(environment or {})})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def log(self):
        with open(self.errors, errors="replace", encoding="utf-8") as log:
            return log.read()

    def raw(self, target, method="GET", body=None, timeout=PATIENCE_S):
        """(status, headers, body)"""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, target, body=body)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def get(self, target):
        status, _, body = self.raw(target)
        assert status == 200, f"{target}: {status}: {body[:300]}"
        return json.loads(body)

    def status(self):
        return self.get("/v1/status")

    def wait(self, ready, seconds=PATIENCE_S):
        last, until = None, time.monotonic() + seconds
        while time.monotonic() < until:
            if self.process.poll() is not None:
                raise AssertionError(f"exit {self.process.returncode}: {self.log()}")
            try:
                if ready():
                    return
            except (OSError, http.client.HTTPException) as error:
                last = error
            time.sleep(.02)
        raise AssertionError(f"not ready after {seconds} s: {last}: {self.log()}")

    def wait_state(self, state):
        self.wait(lambda: self.status()["intake"]["state"] == state)

    def wait_log(self, text):
        self.wait(lambda: re.search(text, self.log()))

    def end(self, how=signal.SIGTERM):
        """exit status"""
        self.process.send_signal(how)
        return self.process.wait(PATIENCE_S)


def _states(pid):
    """of each thread: R, S, T, …"""
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/stat", encoding="utf-8") as at:
            yield at.read().rpartition(")")[2].split()[0]


@contextlib.contextmanager
def stopped(*daemons):
    """daemons that hang: on a busy machine a thread goes on for a while after the signal"""
    for daemon in daemons:
        daemon.process.send_signal(signal.SIGSTOP)
        while set(_states(daemon.process.pid)) != {"T"}:
            time.sleep(.001)
    try:
        yield
    finally:
        for daemon in daemons:
            daemon.process.send_signal(signal.SIGCONT)


class Controller(Daemon):
    """pathdump-controller; `hosts`: {ID: URL}"""

    def __init__(self, folder, topology, hosts, *more, port=None):
        name = os.path.join(folder, "hosts.json")
        with open(name, "w", encoding="utf-8") as out:
            json.dump([{"id": host, "name": f"h{host}", "url": url} for host, url in hosts.items()],
                      out)
        super().__init__(folder, "--hosts", name, "--state", os.path.join(folder, "state"), *more,
                         topology=topology, name="pathdump-controller",
                         port=port)
