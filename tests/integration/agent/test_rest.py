#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""REST over HTTP: every route, every kind of error, long answers, slow and rude clients."""
import contextlib
import json
import os
import resource
import socket
import time

from daemon import START_US, DaemonTest, frame, main

PATH = (1, 9, 17, 11, 3)
FLOWS = 3000
CROWD = 3300  # more than one address may have
CHUNK = b"10000\r\n" + b"x" * 65536 + b"\r\n"
CHUNKS = (b"POST /v1/getCount HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
          + 2 * CHUNK)
# What is no request, but might become one: a server can but wait for its end.
NO_REQUESTS = (b"", b"GET /v1/status HTTP/1.1\r\nHost:", b"\0" * 100, CHUNKS,
               b"\x16\x03\x01\x02\0\x01" + b"\0" * 500)


class Rest(DaemonTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        self = cls()
        self.folder = cls.common.name
        tags = self.tags(PATH)
        frames = [(START_US + i * 1000, frame("10.1.1.2", "10.2.1.2", 1024 + i, 80, b"x" * 72,
                                              tags)) for i in range(FLOWS)]
        frames.append((START_US, frame("10.1.1.2", "10.2.1.2", 9, 80, b"", (4000,))))
        frames.append((START_US, frame("192.0.2.1", "10.2.1.2", 9, 80, b"", ())))
        cls.daemon = self.start(intake=self.capture(frames))
        cls.daemon.wait_state("finished")
        cls.silent = [cls.half(cls.daemon.port, request) for request in NO_REQUESTS]

    @staticmethod
    def half(port, request):
        """a connection that says this and no more"""
        client = socket.create_connection(("127.0.0.1", port), timeout=60)
        client.sendall(request)
        return client

    @classmethod
    def tearDownClass(cls):
        for client in cls.silent:
            client.close()
        alive = cls.daemon.process.poll() is None
        cls.daemon.__exit__()
        super().tearDownClass()
        assert alive, "the daemon died"

    def problem(self, target, http_status, method="GET", names=None, body=None):
        status, headers, answer = self.daemon.raw(target, method, body)
        self.assertEqual(status, http_status, answer[:300])
        self.assertEqual(headers["Content-Type"], "application/problem+json")
        document = json.loads(answer)
        self.assertEqual(document["status"], http_status)
        self.assertEqual(document.get("parameter"), names)
        self.assertTrue(document["title"] and document["detail"])
        return headers, document

    def test_queries(self):
        flows = self.daemon.get("/v1/getFlows?link=9-17")
        self.assertEqual(len(flows["flows"]), FLOWS)
        self.assertTrue(flows["complete"])
        self.assertEqual(self.daemon.get("/v1/getPaths?src_port=1024&link=*-*")["paths"],
                         [list(PATH)])
        count = self.daemon.get("/v1/getCount?src_ip=10.1.1.2&path=1,9,17,11,3")
        self.assertEqual((count["bytes"], count["pkts"]), (100 * FLOWS, FLOWS))
        rules = "max_hops=3&must_pass=9,17&allow=10.1.1.0/24%3E10.2.1.0/24,fd00::/8%3E::/0"
        broken = self.daemon.get(f"/v1/conformance?src_port=1024&{rules}")
        self.assertEqual([(row["path"], row["rule"]) for row in broken["violations"]],
                         [(list(PATH), "max_hops")])
        self.assertEqual(self.daemon.get("/v1/conformance?max_hops=4&src_port=9")["infeasible"], 2)
        duration = self.daemon.get("/v1/getDuration?dst_port=80&protocol=udp&link=1-9")
        self.assertEqual((duration["stime_us"], duration["duration_us"]),
                         (START_US, (FLOWS - 1) * 1000))
        inside = self.daemon.get(
            "/v1/getFlows?from=2023-11-14T22:13:20.5Z&to=2023-11-14T23:13:20.6%2B01:00&link=9-17")
        self.assertEqual(len(inside["flows"]), 101)

    def test_alarms(self):
        alarms = {a["reason"]: a for a in self.daemon.get("/v1/alarms")["alarms"]}
        self.assertEqual(set(alarms), {"INFEASIBLE_PATH", "UNKNOWN_HOST"})
        self.assertEqual(alarms["INFEASIBLE_PATH"]["tags"], [4000])
        self.assertEqual(alarms["UNKNOWN_HOST"]["flow_id"]["src_ip"], "192.0.2.1")
        undecoded = [f for f in self.daemon.get("/v1/getFlows?src_port=9")["flows"]
                     if not f["path"]]
        self.assertEqual(sorted(f["tags"] for f in undecoded), [[], [4000]])

    def test_no_frame_is_lost(self):
        """frames = verdicts; ok frames = packets in the store"""
        status = self.daemon.status()
        self.assertEqual(sum(status["intake"]["verdicts"].values()), status["intake"]["frames"])
        self.assertEqual(status["intake"]["frames"], FLOWS + 2)
        self.assertEqual(self.daemon.get("/v1/getCount")["pkts"], FLOWS + 2)
        self.assertEqual(status["tib"]["stored"], status["tib"]["appended"])

    def test_problems(self):
        for target, name in (("getFlows?link=nine-17", "link"), ("getFlows?from=yesterday", "from"),
                             ("getFlows?src_port=70000", "src_port"),
                             ("getCount?path=1,x", "path"), ("getFlows?bogus=1", "bogus"),
                             ("getFlows?from=20&to=10", "to"),
                             ("getFlows?link=1-2&link=1-2", "link"),
                             ("getFlows?link=1-2%00", "link"), ("getFlows?src_ip=%ff", "src_ip"),
                             ("status?x=1", "x")):
            self.problem("/v1/" + target, 400, names=name)
        for target in ("/", "/v1", "/v1/getNothing", "/v1/getFlows/", "/v1/../v1/getFlows",
                       "/favicon.ico"):
            self.problem(target, 404)
        for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
            headers, _ = self.problem("/v1/getFlows", 405, method, body="{}")
            self.assertEqual(headers["Allow"], "GET, HEAD")

    def test_too_long(self):
        self.problem("/v1/getFlows?link=" + "9" * 70_000, 414)
        self.problem("/v1/getFlows", 413, "POST", body="x" * 1_000_000)
        self.assertEqual(self.rude(CHUNKS + b"0\r\n\r\n"), b"413")
        self.assertEqual(self.rude(b"POST /v1/query HTTP/1.1\r\nHost: localhost\r\n"
                                   b"Transfer-Encoding: chunked\r\n\r\n" + 400 * CHUNK), b"")
        for size in (200_000, 3_000_000):           # beyond what is read of a request at all
            self.assertIn(self.rude(b"GET /" + b"a" * size + b" HTTP/1.1\r\nHost: localhost\r\n"
                                    b"\r\n"), (b"414", b"431", b"413", b""))
            self.assertIn(self.rude(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * size
                                    + b"\r\n\r\n"), (b"431", b"413", b""))
        self.assertEqual(self.daemon.get("/v1/getCount?src_port=1024")["pkts"], 1)

    def test_framing(self):
        """a length that is told twice, a server that is not: what two readers could understand in
        two ways is refused"""
        post = b"POST /v1/query HTTP/1.1\r\nHost: localhost\r\n"
        body = b'{"query": "getCount", "args": {}}'
        pieces = b"".join(b"%x\r\n%c\r\n" % (1, byte) for byte in body) + b"0\r\n\r\n"
        length = b"Content-Length: %d\r\n" % len(body)
        for request, status in (
            (post + b"Transfer-Encoding: chunked\r\n\r\n" + pieces, b"200"),
            (post + b"Transfer-Encoding: Chunked\r\n\r\n" + pieces, b"200"),
            (post + length + b"\r\n" + body, b"200"), (post + 2 * length + b"\r\n" + body, b"400"),
            (post + length + b"Transfer-Encoding: chunked\r\n\r\n" + pieces, b"400"),
            (post + b"Transfer-Encoding: gzip\r\n\r\n" + body, b"501"),
            (post + b"Host: localhost\r\n\r\n", b"400"),
            (b"GET /v1/status HTTP/1.1\r\n\r\n", b"400"),
            (b"GET /v1/status HTTP/1.0\r\n\r\n", b"200"),
            (b"GET /v1/status HTTP/1.1\r\nHost: rebound.example\r\n\r\n", b"421"),
            (b"GET /v1/status HTTP/1.1\r\nHost: 127.0.0.1.rebound.example\r\n\r\n", b"421")):
            self.assertEqual(self.rude(request), status, request)
        self.assertEqual(self.daemon.get("/v1/getCount?src_port=1024")["pkts"], 1)

    def rude(self, request):
        """status of the answer to these bytes; empty when the connection just ends"""
        with socket.create_connection(("127.0.0.1", self.daemon.port), timeout=60) as client:
            try:
                client.sendall(request)
                client.shutdown(socket.SHUT_WR)
                return client.recv(12).partition(b" ")[2][:3]
            except OSError:
                return b""

    def test_rude(self):
        for request in (b"GET\r\n\r\n", b"GET /v1/status HTTP/9.9\r\n\r\n",
                        b"GET /v1/status HTTP/1.1\r\nContent-Length: x\r\n\r\n",
                        b"POST /v1/status HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: "
                        b"chunked\r\n\r\nzz\r\n"):
            self.assertNotEqual(self.rude(request)[:1], b"2", request)
        self.daemon.status()

    def test_head(self):
        for target, expected in (("/v1/getFlows", 200), ("/metrics", 200),
                                 ("/v1/getFlows?x=1", 400)):
            _, headers, body = self.daemon.raw(target, "GET")
            status, head_headers, head_body = self.daemon.raw(target, "HEAD")
            self.assertEqual((status, head_body), (expected, b""))
            self.assertEqual(head_headers["Content-Type"], headers["Content-Type"])
            if "metrics" not in target:
                self.assertEqual(int(head_headers["Content-Length"]), len(body))

    def test_long_answer_to_slow_client(self):
        """an answer beyond what is kept in memory, read slowly, holds nobody up"""
        _, _, whole = self.daemon.raw("/v1/getFlows")
        self.assertGreater(len(whole), 400_000)
        with socket.create_connection(("127.0.0.1", self.daemon.port)) as slow:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            slow.sendall(b"GET /v1/getFlows HTTP/1.0\r\n\r\n")
            got = slow.recv(1000)
            for _ in range(20):
                self.assertEqual(self.daemon.get("/v1/getCount?src_port=1024")["pkts"], 1)
                time.sleep(.01)
            # a window smaller than a segment is sent by the persist timer, some bytes at a time
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
            slow.setsockopt(socket.IPPROTO_TCP, socket.TCP_WINDOW_CLAMP, 1 << 20)
            got += slow.makefile("rb").read()
        self.assertEqual(got.partition(b"\r\n\r\n")[2], whole)

    def test_idle_connections(self):
        """many that say nothing: there are others left"""
        idle = [socket.create_connection(("127.0.0.1", self.daemon.port)) for _ in range(40)]
        self.daemon.status()
        idle += [socket.create_connection(("127.0.0.1", self.daemon.port)) for _ in range(60)]
        for client in idle:
            client.close()
        self.daemon.wait(lambda: self.daemon.raw("/v1/status", timeout=5)[0] == 200)

    def crowd(self, daemon, request):
        """more connections of one address than there may be, which have sent this"""
        clients = []
        for _ in range(CROWD):
            clients.append(socket.create_connection(("127.0.0.1", daemon.port)))
            self.addCleanup(clients[-1].close)
            with contextlib.suppress(ConnectionError):  # another one came
                clients[-1].sendall(request)
        return clients

    def test_slow_requests(self):
        """crowds that bring half a request, or nothing after an answer, displace themselves: who
        has something to say is served at once"""
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        with self.start(intake="pcap:" + os.path.join(self.common.name, "in.pcap")) as daemon:
            daemon.wait_state("finished")
            ended = 0
            for request in (b"GET /v1/status HTTP/1.1\r\nX: ",
                            b"GET /v1/alarms HTTP/1.1\r\nHost: localhost\r\n\r\n"):
                clients = self.crowd(daemon, request)
                begin = time.monotonic()
                for _ in range(20):
                    self.assertEqual(daemon.raw("/v1/status", timeout=5)[0], 200)
                self.assertLess(time.monotonic() - begin, 4)
                agent = daemon.status()["agent"]
                self.assertGreater(agent["http_ended"], ended)
                # of requests that are whole some may be too many at once
                if not request.endswith(b"\r\n\r\n"):
                    self.assertEqual(agent["http_refused"], 0)
                ended = agent["http_ended"]
                for client in clients:
                    client.close()

    def test_zz_silence_ends(self):
        """connections that say nothing, or half a request, or something else, are closed after a
        while; opened before the other tests, judged after them"""
        for client, request in zip(self.silent, NO_REQUESTS):
            answer = client.makefile("rb").read()
            self.assertNotEqual(answer.partition(b" ")[2][:1], b"2", (request, answer[:100]))

    def test_metrics(self):
        status, headers, body = self.daemon.raw("/metrics")
        self.assertEqual(status, 200)
        self.assertTrue(headers["Content-Type"].startswith("text/plain; version=0.0.4"))
        lines, typed = body.decode().splitlines(), None
        for line in lines:
            if line.startswith("# TYPE "):
                typed = line.split()[2]
            elif not line.startswith("# HELP "):
                name, _, value = line.rpartition(" ")
                self.assertEqual(name.partition("{")[0], typed)
                float(value)
        self.assertIn(f"pathdump_intake_frames_total {FLOWS + 2}", lines)

    def test_no_room_for_the_answer(self):
        """what cannot be kept goes out as it is made"""
        with self.start(intake="pcap:" + os.path.join(self.common.name, "in.pcap"),
                        environment={"TMPDIR": "/nonexistent"}) as daemon:
            daemon.wait_state("finished")
            status, headers, body = daemon.raw("/v1/getFlows")
            self.assertEqual((status, headers["Transfer-Encoding"], len(json.loads(body)["flows"])),
                             (200, "chunked", FLOWS + 2))
            self.assertEqual(daemon.get("/v1/getCount")["pkts"], FLOWS + 2)


if __name__ == "__main__":
    main()
