#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Topology and link metrics: forms, windows that adjoin, events, one question a period for all,
history, images, reloads."""
import contextlib
import gzip
import http.client
import json
import os
import signal
import struct
import time
import zlib

from fleet import START_US, FleetTest, frame, main, post, write_pcap
from programs import Controller, Daemon, pathdump
from test_events import Events

# and who sends to them, from the other rack of the pod
HOSTS = {21: "10.1.2.2", 22: "10.1.2.2", 25: "10.2.2.2"}
LINKS = {21: ("2-9", "9-1"), 22: ("2-10", "10-1"), 25: ("4-11", "11-3")}
TAGS = {21: 3, 22: 4, 25: 3}        # second rack of the pod, first or second aggregation switch
PERIOD_S = 0.2
START_S = START_US // 1_000_000


def begin_agent(folder, topology, host):
    """an agent that was sent a flow for 7 s"""
    at = os.path.join(folder, str(host["id"]))
    os.mkdir(at)
    address = next(a for a in host["addrs"] if "." in a)
    frames = [(START_US + 70_001 * n, frame(HOSTS[host["id"]], address, 1000, 80, b"x" * (200 + n),
                                            tags=(TAGS[host["id"]],)))
              for n in range(100)]
    write_pcap(os.path.join(at, "in.pcap"), frames)
    return Daemon(at, topology=topology, intake="pcap:" + os.path.join(at, "in.pcap"))


class LinksTest(FleetTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stack = contextlib.ExitStack()
        agents = {}
        for host in HOSTS:
            agents[host] = begin_agent(cls.common.name, cls.topology, cls.hosts[host])
            cls.stack.enter_context(agents[host])
        for agent in agents.values():
            agent.wait_state("finished")
        urls = {host: agent.url for host, agent in agents.items()}
        cls.controller = cls.stack.enter_context(Controller(
            cls.common.name, cls.topology, urls, "--map-period", "200", "--link-mbps", "10"))
        cls.controller.wait(cls.controller.status)

    @classmethod
    def tearDownClass(cls):
        cls.stack.close()
        super().tearDownClass()

    def get(self, target, code=200, **headers):
        """(headers, bytes)"""
        connection = http.client.HTTPConnection("127.0.0.1", self.controller.port, timeout=60)
        try:
            connection.request("GET", target,
                               headers={k.replace("_", "-"): v for k, v in headers.items()})
            answer = connection.getresponse()
            body = answer.read()
            self.assertEqual(answer.status, code, body)
            return answer.headers, body
        finally:
            connection.close()

    def ask(self, target, code=200):
        return json.loads(self.get(target, code)[1])

    def asked(self):
        return self.ask("/v1/status")["links"]["hosts_asked"]

    def quiet(self):
        """until nobody is asked any more: a stream that is gone is noticed by its sign of life"""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            before = self.asked()
            time.sleep(1)
            if self.asked() == before:
                return before
        self.fail("hosts are asked though nobody looks")

    # ---- topology ----

    def test_topology(self):
        headers, body = self.get("/v1/topology?hosts=false")
        topology = json.loads(body)
        self.assertEqual(len(topology["nodes"]), 20)
        self.assertEqual({n["hosts"] for n in topology["nodes"] if n["role"] == "tor"}, {2})
        self.assertFalse([n for n in topology["nodes"] if n["role"] != "tor" and "hosts" in n])
        self.assertEqual(len(topology["links"]), 32)
        packed, body_gz = self.get("/v1/topology?hosts=false", Accept_Encoding="gzip")
        self.assertEqual(packed["Content-Encoding"], "gzip")
        self.assertEqual(gzip.decompress(body_gz), body)
        self.assertEqual(self.get("/v1/topology?hosts=false", code=304,
                                  If_None_Match=headers["ETag"])[1], b"")
        whole, text = self.get("/v1/topology")
        self.assertNotEqual(whole["ETag"], headers["ETag"])
        with open(self.topology, "rb") as at:
            self.assertEqual(text, at.read())
        for bad in ("hosts=maybe", "host=false"):
            self.get(f"/v1/topology?{bad}", code=400)

    # ---- values ----

    def test_table(self):
        metrics = {m["name"]: m for m in self.ask("/v1/links/metrics")["metrics"]}
        self.assertLessEqual({"load_bps", "use", "alarms", "suspicion"}, set(metrics))
        self.assertEqual(metrics["use"]["max"], 1)
        self.assertIsNone(metrics["load_bps"]["max"])
        self.assertTrue(all(m["period_ms"] == 200 for m in metrics.values()))

    def load(self, first, last):
        args = {"from": str(first), "to": str(last)}
        answer = post(self.controller, "/v1/execute",
                      {"query": "linkLoad", "hosts": "all", "args": args})[1]
        return {row["link"]: row["bytes"] for row in answer["links"]}

    def test_windows(self):
        """the whole is the sum of windows that adjoin, and of what linkLoad says"""
        whole = self.ask(f"/v1/links?metrics=load_bps,use&from={START_S}&to={START_S + 8}")
        self.assertTrue(whole["complete"])
        self.assertEqual(whole["hosts"], {"asked": 3, "answered": 3, "missing": []})
        wanted = {link: n for link, n in self.load(START_S, START_S + 8).items() if n}
        self.assertEqual(set(wanted), {link for links in LINKS.values() for link in links})
        got = {row["link"]: row["load_bps"] for row in whole["links"]}
        self.assertEqual(set(got), set(wanted))
        for link, bps in got.items():
            self.assertAlmostEqual(bps, wanted[link], delta=wanted[link] * 1e-6)
        for row in whole["links"]:
            self.assertAlmostEqual(row["use"] * 10e6, row["load_bps"], delta=1)
        parts = {}
        for n in range(8):
            for row in self.ask(
                f"/v1/links?metrics=load_bps&from={START_S + n}&to={START_S + n + 1}")["links"]:
                parts[row["link"]] = parts.get(row["link"], 0) + row["load_bps"] / 8
        self.assertEqual(set(parts), set(wanted))
        for link, n in parts.items():
            self.assertAlmostEqual(n, wanted[link], delta=1e-3 + wanted[link] * 1e-6)

    def test_binary(self):
        links = self.ask("/v1/topology?hosts=false")["links"]
        target = f"/v1/links?metrics=load_bps&from={START_S}&to={START_S + 8}"
        values = {row["link"]: row["load_bps"] for row in self.ask(target)["links"]}
        headers, body = self.get(target, Accept="application/vnd.pathdump.links")
        self.assertEqual(headers["Content-Type"], "application/vnd.pathdump.links")
        self.assertEqual(struct.unpack("<4sIQQII", body[:32]),
                         (b"PDLY", 1, START_US, START_US + 8_000_000, 64, 0))
        numbers = struct.unpack("<64f", body[32:])
        for i, link in enumerate(links):
            a, b = link["source"], link["target"]
            self.assertAlmostEqual(numbers[2 * i], values.get(f"{a}-{b}", 0), delta=.1)
            self.assertAlmostEqual(numbers[2 * i + 1], values.get(f"{b}-{a}", 0), delta=.1)
        self.get("/v1/links?metrics=load_bps,use", code=400,
                 Accept="application/vnd.pathdump.links")

    def test_refused(self):
        for bad in ("metrics=nonsense", "from=2&to=1", "from=x", "step_ms=5", "metrics="):
            self.assertIn("detail", self.ask(f"/v1/links?{bad}", code=400))
        for bad in ("1-2/history?metric=use", "x/history?metric=use", "1-21/history?metric=use"):
            self.ask(f"/v1/links/{bad}", code=404)
        for bad in ("1-9/history", "1-9/history?metric=use&from=0&to=9&step_ms=1", "image",
                    "image?metric=use&format=gif"):
            self.ask(f"/v1/links/{bad}", code=400)

    # ---- the command ----

    def command(self, *words, code=0):
        return pathdump("links", "--controller", f"http://127.0.0.1:{self.controller.port}",
                        "--from", START_S, "--to", START_S + 8, *words, code=code)

    def test_command(self):
        """rows sorted by a metric, as a table, CSV and JSON"""
        answer = json.loads(self.command("--json"))
        wanted = {row["link"]: row["load_bps"] for row in answer["links"]}
        rows = [line.split(",") for line in self.command("--csv", "--metrics", "load_bps,use",
                                                         "--sort", "load_bps").splitlines()]
        self.assertEqual(rows[0], ["link", "load_bps", "use"])
        self.assertEqual({row[0]: float(row[1]) for row in rows[1:]}, wanted)
        self.assertEqual([float(row[1]) for row in rows[1:]], sorted(wanted.values(), reverse=True))
        lines = self.command("--sort", "use", "--k=2").splitlines()
        self.assertEqual(lines[0].split(), ["LINK", "LOAD_BPS", "USE", "ALARMS"])
        self.assertRegex(lines[1], r"^\d+-\d+ .* kbit/s .* 0\.\d %")
        self.assertIn("3 of 3 hosts answered", lines[-1])
        self.assertEqual(len([line for line in lines if "kbit/s" in line]), 2)
        self.command("--sort", "nonsense", code=1)
        self.command("--from", "yesterdaY", code=2)

    # ---- now ----

    def send_alarm(self, seq):
        flow = {"src_ip": "10.1.1.2", "dst_ip": "10.2.1.2", "src_port": seq, "dst_port": 80,
                "protocol": 6}
        alarm = {"seq": seq, "time_us": time.time_ns() // 1000, "reason": "PC_FAIL",
                 "flow_id": flow, "paths": [[1, 9, 17, 11, 3]], "detail": "x"}
        self.assertEqual(post(self.controller, "/v1/alarms",
                              {"host": 21, "spool": "00000000000000aa", "alarms": [alarm]})[0], 200)

    def test_alarms_and_events(self):
        """an alarm is counted on the links of its path; streams hear of it; streams share what is
        asked"""
        first = Events(self.controller, "/v1/events?types=link&metrics=alarms")
        self.addCleanup(first.close)
        kind, _, event = first.next()
        self.assertEqual((kind, event["metric"], event["full"]), ("link", "alarms", True))
        self.assertEqual(event["generation"], self.ask("/v1/links")["generation"])
        self.send_alarm(1)
        wanted = {("1-9", 1), ("9-17", 1), ("17-11", 1), ("11-3", 1)}
        end, seen = time.monotonic() + 20, set()
        while not wanted <= seen and time.monotonic() < end:
            event = first.next()[2]
            self.assertFalse(event["full"])
            seen |= {(link, value) for link, value in event["values"]}
        self.assertLessEqual(wanted, seen)
        rows = {row["link"]: row["alarms"] for row in self.ask("/v1/links?metrics=alarms")["links"]}
        self.assertEqual(rows, dict(wanted))

    def test_one_question_for_all(self):
        """as many streams as may be: the hosts are asked once a period; nobody looks: nobody is
        asked"""
        streams = [Events(self.controller, "/v1/events?types=link&metrics=load_bps,use")
                   for _ in range(20)]
        for stream in streams:
            stream.next()
        before, begun = self.asked(), time.monotonic()
        time.sleep(2)
        for stream in streams:
            self.ask("/v1/links")
        asked, periods = self.asked() - before, (time.monotonic() - begun) / PERIOD_S
        self.assertLessEqual(asked, len(HOSTS) * (periods + 2))
        self.assertGreater(asked, 0)
        for stream in streams:
            stream.close()
        self.quiet()

    def test_all_events_without_it(self):
        """link is followed by name alone: it costs the hosts something"""
        before = self.quiet()
        events = Events(self.controller, "/v1/events")
        self.addCleanup(events.close)
        time.sleep(4 * PERIOD_S)
        self.assertEqual(self.asked(), before)

    # ---- the past ----

    def test_history(self):
        link = LINKS[22][0]
        window = f"from={START_S}&to={START_S + 8}&step_ms=1000"
        target = f"/v1/links/{link}/history?metric=load_bps&{window}"
        answer = self.ask(target)
        self.assertEqual((answer["link"], answer["unit"], answer["from_us"], answer["step_ms"]),
                         (link, "bit/s", START_US, 1000))
        self.assertEqual(len(answer["values"]), 8)
        self.assertTrue(answer["complete"])
        for n, value in enumerate(answer["values"]):
            rows = self.ask(f"/v1/links?metrics=load_bps&from={START_S + n}&to={START_S + n + 1}")[
                "links"]
            wanted = {row["link"]: row["load_bps"] for row in rows}.get(link, 0)
            self.assertAlmostEqual(value, wanted, delta=1e-3 + wanted * 1e-6)
        verdicts = self.ask(f"/v1/links/{link}/history?metric=suspicion&{window}")
        self.assertEqual(verdicts["values"], [None] * 8)
        self.assertEqual(len(self.ask(f"/v1/links/{link}/history?metric=use")["values"]), 60)

    def test_history_of_now(self):
        """what samples cover is told without a question to hosts"""
        stream = Events(self.controller, "/v1/events?types=link&metrics=load_bps")
        self.addCleanup(stream.close)
        before, event = {"to_us": 0}, stream.next()[2]
        while event["from_us"] != before["to_us"]:          # a busy machine misses periods
            before, event = event, stream.next()[2]
        first, last = before["from_us"] / 1e6, event["to_us"] / 1e6
        answer = self.ask(
            f"/v1/links/1-9/history?metric=suspicion&from={first:.6f}&to={last:.6f}&step_ms=200")
        self.assertEqual(answer["values"], [0, 0])

    # ---- images ----

    def image(self, form):
        return self.get(
            f"/v1/links/image?metric=load_bps&from={START_S}&to={START_S + 8}&format={form}")

    def test_images(self):
        """png, npy and json say the same"""
        values = {row["link"]: row["load_bps"] for row in
                  self.ask(f"/v1/links?metrics=load_bps&from={START_S}&to={START_S + 8}")["links"]}
        picture = json.loads(self.image("json")[1])
        order = picture["switches"]
        self.assertEqual(sorted(order), list(range(1, 21)))
        self.assertEqual(order[-4:], [17, 18, 19, 20])
        self.assertEqual(dict(map(tuple, picture["windows"][0]["values"])), values)
        _, npy = self.image("npy")
        head = 10 + struct.unpack("<H", npy[8:10])[0]
        self.assertEqual((npy[:8], head % 64), (b"\x93NUMPY\x01\x00", 0))
        self.assertIn(b"(1, 20, 20)", npy[:head])
        floats = struct.unpack("<400f", npy[head:])
        pixels = self.pixels(self.image("png")[1])
        for row, a in enumerate(order):
            for column, b in enumerate(order):
                value = floats[20 * row + column]
                if value != value:                      # not a number: no link
                    self.assertEqual(pixels[row][column], 0)
                    continue
                self.assertAlmostEqual(value, values.get(f"{a}-{b}", 0), delta=.1)
                self.assertEqual(pixels[row][column], 2 + round(value / max(values.values()) * 253))

    def pixels(self, png):
        self.assertEqual(png[:8], b"\x89PNG\r\n\x1a\n")
        at, chunks = 8, {}
        while at < len(png):
            size, kind = struct.unpack(">I4s", png[at:at + 8])
            chunks[kind] = chunks.get(kind, b"") + png[at + 8:at + 8 + size]
            at += 12 + size
        self.assertEqual(struct.unpack(">IIBB", chunks[b"IHDR"][:10]), (20, 20, 8, 3))
        raw = zlib.decompress(chunks[b"IDAT"])
        rows = [raw[21 * n:21 * n + 21] for n in range(20)]
        self.assertEqual({row[0] for row in rows}, {0}, "filters are not read here")
        return [row[1:] for row in rows]

    def test_images_of_time(self):
        _, npy = self.get(
            f"/v1/links/image?metric=use&from={START_S}&to={START_S + 8}&step_ms=1000&format=npy")
        self.assertIn(b"(8, 20, 20)", npy[:128])
        self.assertEqual(len(npy), 10 + struct.unpack("<H", npy[8:10])[0] + 4 * 8 * 400)


class ReloadTest(FleetTest):
    def test_generation(self):
        """another topology is another generation, and the stream goes on with it"""
        with open(self.topology, encoding="utf-8") as at:
            topology = self.write("topology.json", at.read())
        with Controller(self.folder, topology, {21: "http://127.0.0.1:1"}, "--map-period",
                        "200") as controller:
            controller.wait(controller.status)
            stream = Events(controller, "/v1/events?types=link&metrics=load_bps")
            first = stream.next()[2]
            self.assertFalse(first["complete"])
            with open(topology, encoding="utf-8") as at:
                document = json.load(at)
            document["links"] = [link for link in document["links"]
                                 if (link["source"], link["target"]) != (9, 18)]
            document["codec"] = "telemetry"
            self.write("topology.json", document)
            controller.process.send_signal(signal.SIGHUP)
            end = time.monotonic() + 20
            while time.monotonic() < end:
                event = stream.next()[2]
                if event["generation"] != first["generation"]:
                    break
            self.assertNotEqual(event["generation"], first["generation"])
            self.assertTrue(event["full"])
            stream.close()


if __name__ == "__main__":
    main()
