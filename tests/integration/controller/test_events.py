#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One stream of what is new: types, states of hosts, verdicts, reloads, alarms that resume by
ID."""
import http.client
import json
import signal
import socket
import time

from fleet import FleetTest, main, post
from programs import Controller

WAIT_S = 60
FIRST, SECOND = 21, 22
ALL = "alarm,host,switch,verdict,reload"


class Events:
    """a reader of one stream"""

    def __init__(self, controller, target, last=None):
        self.socket = socket.create_connection(("127.0.0.1", controller.port), timeout=WAIT_S)
        header = f"Last-Event-ID: {last}\r\n" if last is not None else ""
        request = f"GET {target} HTTP/1.1\r\nHost: localhost\r\n{header}\r\n"
        self.socket.sendall(request.encode())
        self.answer = http.client.HTTPResponse(self.socket)
        self.answer.begin()
        self.answer.readline()

    def next(self):
        """(type, ID or None, data)"""
        event = {}
        while True:
            line = self.answer.readline().decode()
            name, _, value = line.rstrip("\n").partition(": ")
            if line == "\n" and "data" in event:
                number = event.get("id")
                return event["event"], number and int(number), json.loads(event["data"])
            if not line:
                raise AssertionError("the stream has ended")
            event[name] = value

    def close(self):
        self.answer.close()
        self.socket.close()


class EventsTest(FleetTest):
    def setUp(self):
        super().setUp()
        urls = {FIRST: "http://127.0.0.1:1", SECOND: "http://127.0.0.1:2"}
        self.controller = Controller(self.folder, self.topology, urls)
        self.addCleanup(self.controller.__exit__)
        self.controller.wait(self.controller.status)

    def follow(self, types=ALL, **more):
        events = Events(self.controller, f"/v1/events?types={types}" if types else "/v1/events",
                        **more)
        self.addCleanup(events.close)
        return events

    def send_alarms(self, seqs):
        flow = {"src_ip": "10.0.0.1", "dst_ip": "10.0.0.2", "src_port": 1, "dst_port": 80,
                "protocol": 6}
        alarms = [{"seq": n, "time_us": n, "reason": "PC_FAIL", "flow_id": flow, "paths": [],
                   "detail": f"n{n}"} for n in seqs]
        body = {"host": FIRST, "spool": "0" * 15 + "1", "alarms": alarms}
        self.assertEqual(post(self.controller, "/v1/alarms", body)[0], 200)

    def ask(self):
        body = {"hosts": "all", "query": "getCount", "args": {}, "deadline_ms": 5000}
        post(self.controller, "/v1/execute", body)

    @staticmethod
    def until(events, kind):
        """the next event of this type"""
        event = events.next()
        while event[0] != kind:
            event = events.next()
        return event

    def test_types(self):
        everything, hosts, without = self.follow(), self.follow("host"), self.follow(None)
        self.write("hosts.json", [{"id": host, "url": f"http://127.0.0.1:{host}"}
                                  for host in (FIRST, SECOND)])
        self.controller.process.send_signal(signal.SIGHUP)
        self.controller.wait(lambda: self.controller.status()["controller"]["reloads"])
        self.ask()
        for events in (hosts, everything, without):  # its own rounds ask hosts, too, at any time
            seen, wanted = set(), {FIRST, SECOND} | ({"reload"} if events is not hosts else set())
            while seen != wanted:
                kind, number, data = events.next()
                self.assertIsNone(number)
                self.assertIn(kind, ("host", "reload"))
                if kind == "reload":
                    self.assertEqual(data["hosts"], 2)
                else:
                    self.assertEqual(data["state"], "missing")
                    columns = set(data)
                seen.add(data["id"] if kind == "host" else kind)
        listed = {host["id"]: host for host in self.controller.get("/v1/hosts")["hosts"]}
        self.assertEqual(set(listed[FIRST]), columns)
        fresh = self.follow()
        self.ask()  # nothing has changed
        self.send_alarms([1])
        kind, number, alarm = fresh.next()
        self.assertEqual((kind, number, alarm["id"], alarm["host"]), ("alarm", 1, 1, FIRST))
        self.assertEqual(alarm, self.controller.get("/v1/alarms")["alarms"][0])
        self.until(without, "alarm")
        counted = self.controller.status()["events"]
        self.assertEqual((counted["streams"], counted["lost"]), (4, 0))
        self.assertGreaterEqual(counted["published"], 3)
        self.assertEqual(self.controller.end(), 0)

    def test_verdicts(self):
        events = self.follow("verdict")
        status, answer = post(self.controller, "/v1/watches", {"app": "top-flows", "period_s": 0.2})
        self.assertEqual(status, 200, answer)
        kind, number, data = events.next()
        self.assertEqual((kind, number), ("verdict", None))
        self.assertEqual((data["app"], data["id"]), ("top-flows", answer["id"]))
        listed = self.controller.get("/v1/watches")["watches"][0]
        self.assertEqual(set(listed), set(data))

    def crowd(self, number):
        """streams that nobody reads"""
        sockets = []
        for _ in range(number):
            one = socket.socket()
            self.addCleanup(one.close)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            one.settimeout(WAIT_S)
            one.connect(("127.0.0.1", self.controller.port))
            one.sendall(b"GET /v1/events?types=alarm,host HTTP/1.1\r\nHost: localhost\r\n\r\n")
            sockets.append(one)
        return sockets

    def test_unread(self):
        """512 streams that nobody reads: as many as may be are kept, the others are told so, and
        questions are answered as before; gone, they leave nothing behind"""
        crowd = self.crowd(512)
        status = [one.recv(12) for one in crowd]
        self.assertEqual(set(status), {b"HTTP/1.1 200", b"HTTP/1.1 503"})
        self.assertEqual(self.controller.status()["events"]["streams"],
                         status.count(b"HTTP/1.1 200"))
        for n in range(20):
            self.send_alarms(range(250 * n + 1, 250 * n + 251))
        begun = time.monotonic()
        self.assertEqual(len(self.controller.get("/v1/alarms?newest=2000")["alarms"]), 2000)
        self.assertEqual(len(self.controller.get("/v1/hosts")["hosts"]), 2)
        self.assertLess(time.monotonic() - begun, 2)
        for one in crowd:
            one.close()
        self.controller.wait(lambda: not self.controller.status()["events"]["streams"])
        self.assertEqual(self.follow("alarm", last=4999).next()[1], 5000)
        self.assertEqual(self.controller.end(), 0)

    def test_resume(self):
        self.send_alarms(range(1, 201))
        new, resumed = self.follow("alarm,host"), self.follow("alarm", last=40)
        self.assertEqual([resumed.next()[1] for _ in range(160)], list(range(41, 201)))
        self.send_alarms([201])
        self.assertEqual((new.next()[1], resumed.next()[1]), (201, 201))

    def test_refused(self):
        for target, parameter in (("?types=alarm,colour", "types"), ("?types=", "types"),
                                  ("?types=host&types=host", "types"), ("?since=1", "since")):
            status, _, text = self.controller.raw("/v1/events" + target)
            self.assertEqual(status, 400, target)
            self.assertEqual(json.loads(text)["parameter"], parameter)


if __name__ == "__main__":
    main()
