#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Servers that go away, stall, cut connections in the middle of a bulk, refuse the user: no record
lost, none twice, no call hangs."""
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from servers import BIN, Proxy, servers_or_skip

STORE = os.path.join(BIN, "tests/numbered_store")
PATIENCE_S = 120
# A busy machine may take seconds for a bulk; who shall notice a stalled server is less patient.
PATIENT = "serverSelectionTimeoutMS=1500&connectTimeoutMS=5000&socketTimeoutMS=30000"
QUICK = "serverSelectionTimeoutMS=1500&connectTimeoutMS=1000&socketTimeoutMS=2000"


class Faults(unittest.TestCase):
    start_server = None
    databases = 0

    def setUp(self):
        self.server = self.start_server()
        self.addCleanup(self.server.close)
        self.proxy = Proxy(self.server.port)
        self.addCleanup(self.proxy.close)
        self.spool = tempfile.TemporaryDirectory(prefix="pd-spool-")
        self.addCleanup(self.spool.cleanup)
        Faults.databases += 1
        self.database = f"faults_{Faults.databases}"

    def location(self, port, options=PATIENT):
        return f"mongodb://127.0.0.1:{port}/{self.database}?{options}"

    def writer(self, end, first=0, batch=50, pause_ms=5, **more):
        return subprocess.Popen([STORE, "write", self.location(self.proxy.port), self.spool.name,
                                 "7", str(first), str(end), str(batch),
                                 str(pause_ms)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, **more)

    def finish(self, writer):
        out, err = writer.communicate(timeout=PATIENCE_S)
        self.assertEqual(writer.returncode, 0, err)
        return out, err

    def drain(self):
        """a writer without records sends what the spool holds"""
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            _, err = self.finish(self.writer(0))
            if self.spooled() == 0:
                return
        self.fail(f"the spool does not run empty: {err}")

    def spooled(self):
        out, _ = self.finish(self.writer(0, pause_ms=0))
        return int(next(line for line in out.splitlines() if line.startswith("spooled")).split()[1])

    def stored(self):
        """(first, end) of the numbers that a reader finds, each once and whole"""
        done = subprocess.run([STORE, "read", self.location(self.server.port)], capture_output=True,
                              text=True, timeout=PATIENCE_S,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return tuple(map(int, done.stdout.split()))

    def test_gone(self):
        """the server is away while records are committed, from before the start; then it comes
        back"""
        self.server.kill()
        out, err = self.finish(self.writer(500, pause_ms=1))
        self.assertIn("committed 500", out)
        self.assertIn("spooled 500 lost 0", out)
        self.assertLess(int(out.split("slowest ")[1]), 1000, "a commit waited for the server")
        self.assertIn("records wait in the spool", err)
        self.server.start()
        self.drain()  # FerretDB that is killed while it makes a collection never recovers
        writer = self.writer(1000, first=500)
        time.sleep(.1)
        self.server.kill()
        time.sleep(1)
        self.server.start()
        self.finish(writer)
        self.drain()
        self.assertEqual(self.stored(), (0, 1000))

    def test_cuts(self):
        """connections end within bulks, over and over"""
        rnd = random.Random(int(os.environ.get("PD_SEED", time.time_ns() % 10**6)))
        self.proxy.cut_after = 40000
        writer = self.writer(2000, batch=100, pause_ms=20)
        until = time.monotonic() + 60
        while writer.poll() is None and time.monotonic() < until and self.proxy.cuts < 5:
            time.sleep(.05)
            self.proxy.cut_after = rnd.randrange(5000, 80000)
        self.assertGreater(self.proxy.cuts, 0)
        self.proxy.cut_after = None
        self.finish(writer)
        self.drain()
        self.assertEqual(self.stored(), (0, 2000))

    def test_lost_answers(self):
        """the server has the bulk, but its answer does not arrive: sent twice, there once"""
        writer = self.writer(1000, batch=100, pause_ms=30)
        for _ in range(10):
            time.sleep(.1)
            self.proxy.delay = .05
            time.sleep(.05)
            self.proxy.drop()
            self.proxy.delay = 0
        self.finish(writer)
        self.drain()
        self.assertEqual(self.stored(), (0, 1000))

    def test_stalled(self):
        """connections stay open and nothing comes back: commits go on, readers get an error in
        time"""
        writer = self.writer(600, pause_ms=100)
        writer.stdout.readline()
        self.proxy.stall = True
        start = time.monotonic()
        done = subprocess.run([STORE, "count", self.location(self.proxy.port, QUICK)],
                              capture_output=True, text=True, timeout=PATIENCE_S,
                              check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("does not answer", done.stderr)
        self.assertLess(time.monotonic() - start, 30)
        time.sleep(1)
        self.proxy.stall = False
        self.proxy.drop()
        out, _ = self.finish(writer)
        self.assertLess(int(out.split("slowest ")[1]), 1000, "a commit waited for the server")
        self.drain()
        self.assertEqual(self.stored(), (0, 600))

    def test_killed(self):
        """a writer that is killed, with the server there or away: all that was committed arrives,
        and nothing twice"""
        rnd = random.Random(int(os.environ.get("PD_SEED", time.time_ns() % 10**6)))
        committed = 0
        for turn in range(6):
            self.proxy.refuse = turn % 3 == 1
            self.proxy.drop()
            writer = self.writer(committed + 5000, first=committed, batch=30, pause_ms=3)
            timer = threading.Timer(.2 + rnd.random() * .5, writer.send_signal, (signal.SIGKILL,))
            timer.start()
            out, _ = writer.communicate(timeout=PATIENCE_S)
            timer.join()
            lines = [int(line.split()[1]) for line in out.splitlines()
                     if line.startswith("committed")]
            # The kill may come between a commit and its line: the spool knows.
            self.proxy.refuse = False
            self.drain()
            first, end = self.stored() if lines or committed else (0, 0)
            self.assertEqual(first, 0)
            self.assertGreaterEqual(end, lines[-1] if lines else committed)
            self.assertLessEqual(end, (lines[-1] if lines else committed) + 30)
            committed = end
        self.assertGreater(committed, 0)

    def test_full(self):
        """a spool that is full loses new records, counted, and none of the old ones"""
        self.server.kill()
        writer = self.writer(20000, batch=1000, pause_ms=0,
                             env={**os.environ, "SPOOL_BYTES": "400000"})
        out, err = writer.communicate(timeout=PATIENCE_S)
        self.assertEqual(writer.returncode, 1)
        self.assertIn("no room left", err)
        kept = [line for line in out.splitlines() if line.startswith("committed")]
        spooled, lost = [int(word) for word in out.split("spooled ")[1].split()[::2][:2]]
        self.assertEqual(spooled + lost, 20000)
        self.assertEqual(spooled, 1000 * len(kept))
        self.server.start()
        self.drain()
        self.assertEqual(self.stored(), (0, spooled))

    def test_two_hosts(self):
        """hosts of one store do not meet, and a reader sees them all"""
        self.finish(self.writer(100, pause_ms=0))
        with tempfile.TemporaryDirectory() as other:
            done = subprocess.run([STORE, "write", self.location(self.proxy.port), other, "8",
                                   "100", "250", "50", "0"],
                                  capture_output=True, text=True, timeout=PATIENCE_S, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            # The spool of a host that was lost: the new one is another writer.
        with tempfile.TemporaryDirectory() as other:
            done = subprocess.run([STORE, "write", self.location(self.proxy.port), other, "8",
                                   "250", "300", "50", "0"],
                                  capture_output=True, text=True, timeout=PATIENCE_S, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.stored(), (0, 300))

    def test_second_writer(self):
        writer = self.writer(50, pause_ms=1500)
        writer.stdout.readline()
        second = self.writer(1)
        _, err = second.communicate(timeout=PATIENCE_S)
        self.assertEqual(second.returncode, 1)
        self.assertIn("in use by another process", err)
        self.finish(writer)

    def test_other_host_of_spool(self):
        self.server.kill()
        self.finish(self.writer(10, pause_ms=0))
        done = subprocess.run([STORE, "write", self.location(self.proxy.port), self.spool.name, "8",
                               "0", "1", "1", "0"],
                              capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("another host ID", done.stderr)


# ---- a server that refuses the user ----

def bson(**members):
    body = b""
    for name, value in members.items():
        key = name.encode() + b"\0"
        if isinstance(value, bool):
            body += b"\x08" + key + bytes([value])
        elif isinstance(value, int):
            body += b"\x10" + key + struct.pack("<i", value)
        elif isinstance(value, float):
            body += b"\x01" + key + struct.pack("<d", value)
        else:
            text = value.encode() + b"\0"
            body += b"\x02" + key + struct.pack("<i", len(text)) + text
    return struct.pack("<i", len(body) + 5) + body + b"\0"


HELLO = bson(ismaster=True, isWritablePrimary=True, maxBsonObjectSize=16777216,
             maxMessageSizeBytes=48000000, maxWriteBatchSize=100000,
             minWireVersion=0, maxWireVersion=17, readOnly=False, ok=1.0)
REFUSAL = bson(ok=0.0, errmsg="Authentication failed for wolf with s3cr3t/word", code=18,
               codeName="AuthenticationFailed")


def refuse_users(listener):
    """answers every hello, and refuses everything else"""
    def serve(client):
        with client:
            while True:
                head = client.recv(16, 0x100)
                if len(head) < 16:
                    return
                size, request, _, opcode = struct.unpack("<iiii", head)
                body = client.recv(size - 16, 0x100)
                known = any(name in body for name in (b"isMaster", b"ismaster", b"hello\0"))
                answer = HELLO if known else REFUSAL
                if opcode == 2004:
                    payload = struct.pack("<iqii", 8, 0, 0, 1) + answer
                    client.sendall(struct.pack("<iiii", 16 + len(payload), 1, request, 1) + payload)
                else:
                    payload = struct.pack("<i", 0) + b"\0" + answer
                    client.sendall(struct.pack("<iiii", 16 + len(payload), 1, request,
                                               2013) + payload)
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=serve, args=(client,), daemon=True).start()


class Refusal(unittest.TestCase):
    def setUp(self):
        import socket
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(self.listener.close)
        threading.Thread(target=refuse_users, args=(self.listener,), daemon=True).start()
        port = self.listener.getsockname()[1]
        self.location = (
            f"mongodb://wolf:s3cr3t%2Fword@127.0.0.1:{port}/db?{QUICK}&authMechanism=SCRAM-SHA-256")

    def assert_secret(self, *texts):
        for text in texts:
            for secret in ("wolf", "s3cr3t"):
                self.assertNotIn(secret, text)

    def test_reader(self):
        done = subprocess.run([STORE, "count", self.location], capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("refuses this user", done.stderr)
        self.assert_secret(done.stdout, done.stderr)

    def test_writer(self):
        with tempfile.TemporaryDirectory() as spool:
            done = subprocess.run([STORE, "write", self.location, spool, "7", "0", "100", "10",
                                   "20"], capture_output=True, text=True,
                                  timeout=PATIENCE_S, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("spooled 100 lost 0", done.stdout)
            self.assertIn("refuses this user", done.stderr)
            self.assert_secret(done.stdout, done.stderr)

    def test_malformed(self):
        for location in ("mongodb://wolf:s3cr3t@", "mongodb://wolf:s3cr3t@h:x/db",
                         "mongodb://wolf:s3/cr3t@h/db", "mongodb://wolf:s3cr3t@h",
                         "other://wolf:s3cr3t@h/db", "mongodb://wolf:s3cr3t?@h/db",
                         "mongodb://wolf:s3cr3t@h/db?nonsense=s3cr3t&tls=maybe"):
            done = subprocess.run([STORE, "count", location], capture_output=True, text=True,
                                  timeout=PATIENCE_S, check=False)
            self.assertEqual(done.returncode, 1, location)
            self.assert_secret(done.stderr)


def load_tests(loader, _tests, _pattern):
    suite = unittest.TestSuite([loader.loadTestsFromTestCase(Refusal)])
    for start in servers_or_skip():
        kind = type("Faults", (Faults,), {"start_server": staticmethod(start)})
        suite.addTests(loader.loadTestsFromTestCase(kind))
    return suite


if __name__ == "__main__":
    print("PD_SEED=" + os.environ.setdefault("PD_SEED", str(time.time_ns() % 10**6)))
    sys.stdout.flush()
    unittest.main(verbosity=2)
