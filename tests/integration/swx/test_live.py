# SPDX-License-Identifier: Apache-2.0
"""pathdump-switch on interfaces, in a network namespace of this test's own, and its control socket.
As root, by `unshare --net`."""
import json
import os
import select
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

from control import UnixConnection
from programs import PATIENCE_S, program
from switch import SPEC, write_config, write_tables

PUNT = 0x9001


def frame(kind, number=0, size=200):
    return bytes.fromhex("02000000000a02000000000b") + kind.to_bytes(2, "big") + number.to_bytes(
        4, "big") + bytes(size - 18)


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True)


class Live(unittest.TestCase):
    def setUp(self):
        self.held = tempfile.TemporaryDirectory()
        self.addCleanup(self.held.cleanup)
        self.at = self.held.name
        self.ends = {}
        for name in ("a", "b"):
            ip("link", "add", f"{name}0", "type", "veth", "peer", "name", f"{name}1")
            self.addCleanup(subprocess.run, ["ip", "link", "del", f"{name}0"], capture_output=True)
            for end in "01":
                with open(f"/proc/sys/net/ipv6/conf/{name}{end}/disable_ipv6", "w",
                          encoding="ascii") as out:
                    out.write("1")
                ip("link", "set", f"{name}{end}", "mtu", "1508", "up")
            end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
            end.setsockopt(263, 23, 1)                 # SOL_PACKET, PACKET_IGNORE_OUTGOING
            end.setsockopt(263, 8, 1)                  # PACKET_AUXDATA
            end.setsockopt(socket.SOL_SOCKET, 33, 16 << 20)     # SO_RCVBUFFORCE
            end.bind((f"{name}0", 0))
            self.addCleanup(end.close)
            self.ends[name] = end
        self.start()

    def start(self):
        tables = write_tables(f"{self.at}/tables", ports__swx=["match 1 action send port 2",
                                                               "match 2 action send port 1"],
                              fates__swx=["match 0x9001/0xffff priority 0 action send port 256"])
        config = write_config(self.at, control=f"unix:{self.at}/control", switches=[
            {"id": 9, "program": "cross", "spec": SPEC, "tables": tables,
             "punts": f"{self.at}/punts",
             "ports": {"1": {"interface": "a1"}, "2": {"interface": "b1"}}}])
        self.process = subprocess.Popen([program("pathdump-switch"), config, "--json"],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end)
        deadline = time.monotonic() + PATIENCE_S
        while not os.path.exists(f"{self.at}/control"):
            self.assertIsNone(self.process.poll())
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        out, errors = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, out, errors

    def ask(self, path, body=None):
        connection = UnixConnection(f"{self.at}/control", PATIENCE_S)
        try:
            connection.request("PUT" if body is not None else "GET", f"/v1/{path}",
                               json.dumps(body) if body is not None else None,
                               {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read().decode()
            return answer.status, text if "ndjson" in answer.headers[
                "Content-Type"] else json.loads(text)
        finally:
            connection.close()

    def receive(self, name, count, wait_s=PATIENCE_S):
        """frames with the outer tag put back"""
        found, deadline = [], time.monotonic() + wait_s
        while len(found) < count and select.select([self.ends[name]], [], [],
                                                   max(0, deadline - time.monotonic()))[0]:
            raw, parts, _, _ = self.ends[name].recvmsg(10000, 100)
            for level, kind, data in parts:
                if (level, kind) == (263, 8) and int.from_bytes(data[:4], "little") & 16:
                    raw = raw[:12] + int.from_bytes(data[18:20], "little").to_bytes(
                        2, "big") + int.from_bytes(data[16:18], "little").to_bytes(2,
                                                                                   "big") + raw[12:]
            found.append(raw)
        return found

    def test_frames_cross_with_their_tags(self):
        tagged = bytes.fromhex("02000000000a02000000000b8100e00788a8ffff0800") + bytes(range(100))
        plain = [frame(0x800, n) for n in range(300)]
        for raw in [*plain, tagged]:
            self.ends["a"].send(raw)
        self.assertEqual(self.receive("b", 301), [*plain, tagged])
        self.ends["b"].send(tagged)
        self.assertEqual(self.receive("a", 1), [tagged])
        self.ends["a"].send(frame(PUNT, 5))
        deadline = time.monotonic() + PATIENCE_S
        while self.ask("switches")[1]["switches"][0]["punted"] < 1:
            self.assertLess(time.monotonic(), deadline)
        punt = json.loads(self.ask("switches/9/punts")[1])
        self.assertEqual((punt["in_port"], punt["reason"], punt["frame"]),
                         (1, "long_path", frame(PUNT, 5).hex()))
        code, out, errors = self.end()
        self.assertEqual((code, errors), (0, ""))
        one = json.loads(out)
        self.assertEqual((one["received"], one["forwarded"], one["punted"]), (303, 302, 1))

    def test_a_frame_too_long_for_the_interface_is_counted(self):
        ip("link", "set", "b1", "mtu", "600")
        self.ends["a"].send(frame(0x800, 1, 1000))
        self.ends["a"].send(frame(0x800, 2, 500))
        self.assertEqual(self.receive("b", 1), [frame(0x800, 2, 500)])
        self.assertEqual(self.ask("switches")[1]["switches"][0]["dropped"], {"too_long": 1})

    def test_an_interface_that_vanishes_is_counted(self):
        ip("link", "del", "b0")
        self.ends["a"].send(frame(0x800))
        deadline = time.monotonic() + PATIENCE_S
        while not sum(self.ask("switches")[1]["switches"][0]["dropped"].values()):
            self.assertLess(time.monotonic(), deadline)
        self.assertIsNone(self.process.poll())

    def test_tables_change_while_frames_pass_and_each_sees_one_state(self):
        states = (["match 1 action send port 2", "match 2 action send port 1"],
                  ["match 1 action send port 1", "match 2 action send port 2"])
        done = threading.Event()

        def load():
            number = 0
            while not done.is_set():
                self.ends["a"].send(frame(0x800, number))
                number += 1
                time.sleep(0.0005)
            self.sent = number

        sender = threading.Thread(target=load)
        sender.start()
        try:
            for n in range(60):
                status, answer = self.ask("switches/9/tables/ports", {"rows": states[n % 2]})
                self.assertEqual((status, sorted(answer["rows"])), (200, sorted(states[n % 2])))
        finally:
            done.set()
            sender.join()
        came = self.receive("b", self.sent, 0.5) + self.receive("a", self.sent, 0.5)
        self.assertEqual({int.from_bytes(raw[14:18], "big") for raw in came}, set(range(self.sent)))
        self.assertEqual(len(came), self.sent)
        one = self.ask("switches")[1]["switches"][0]
        self.assertEqual((one["received"], one["forwarded"], one["dropped"]),
                         (self.sent, self.sent, {}))

    def test_arrays_are_read_and_written(self):
        self.assertEqual(self.ask("switches/9/arrays/seen?from=2", {"values": [7, 2**40]})[0], 200)
        self.assertEqual(self.ask("switches/9/arrays/seen?from=1&count=3")[1]["values"],
                         [0, 7, 2**40])
        self.assertEqual(len(self.ask("switches/9/arrays/seen")[1]["values"]), 16)

    def test_what_is_wrong_changes_nothing(self):
        before = self.ask("switches/9/tables/ports")
        for path, body, status in (("switches/9/tables/ports",
                                    {"rows": ["match 1 action send port 2", "match x"]}, 400),
                                   ("switches/9/tables/ports", {"rows": ["match 1\nmatch 2"]}, 400),
                                   ("switches/9/tables/ports", {}, 400),
                                   ("switches/9/tables/none", {"rows": []}, 404),
                                   ("switches/8/tables/ports", {"rows": []}, 404),
                                   ("switches/9/arrays/seen?from=15", {"values": [1, 2]}, 400),
                                   ("switches/9/arrays/seen?from=x", None, 400),
                                   ("switches/9/arrays/seen?till=1", None, 400),
                                   ("switches/9/punts", {}, 404), ("nothing", None, 404)):
            with self.subTest(path=path, body=body):
                answer = self.ask(path, body)
                self.assertEqual(answer[0], status, answer)
        self.assertEqual(self.ask("switches/9/tables/ports"), before)
        self.assertEqual(self.ask("status")[1], {"switches": 1, "captures": False})

    def test_it_sleeps_while_there_is_nothing_to_do(self):
        def processor_s():
            with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:
                fields = file.read().rsplit(")", 1)[1].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

        time.sleep(0.3)
        before = processor_s()
        time.sleep(2)
        self.assertLess(processor_s() - before, 0.04)


if __name__ == "__main__":
    unittest.main()
