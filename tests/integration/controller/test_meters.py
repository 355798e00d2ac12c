#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The loop of the meters over monitors made here: rules come, losses are told on the right
segments, a monitor that is silent or was restarted makes no loss."""
import http.server
import json
import os
import socketserver
import threading
import time
import unittest
import zlib

from fleet import FleetTest, main
from programs import Controller, pathdump

EPOCH_MS = 200
WIDTH = 1 << 16
PKTS = 200
FLOWS = 6
FLOW_ID = ("src_ip", "dst_ip", "src_port", "dst_port", "protocol")


def bucket(flow):
    """of the first row: CRC-32 of the key"""
    address = b"".join(bytes(map(int, flow[name].split("."))) for name in FLOW_ID[:2])
    return zlib.crc32(address + flow["src_port"].to_bytes(2, "big")
                      + flow["dst_port"].to_bytes(2, "big") + bytes([flow["protocol"]])) % WIDTH


class Monitor:
    """answers for one switch as pathdumpd does; `sends` and `hears` are {flow number: packets} of
    an epoch"""

    def __init__(self, at, switch, flows, filter_):
        self.switch, self.flows, self.filter, self.folder = switch, flows, filter_, at
        self.rules, self.version, self.silent, self.lost, self.broken, self.dead = {
            "usm": [], "dsm": []}, 0, False, 0, None, False
        self.socket, self.puts = os.path.join(at, f"m{switch}.sock"), 0
        monitor = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def address_string(self):
                return "unix"

            def log_message(self, *_):
                pass

            def give(self, document, status=200):
                text = document if isinstance(document, bytes) else json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def do_GET(self):
                if monitor.silent:
                    self.give({"detail": "not now"}, 503)
                else:
                    epoch = int(self.path.split("=")[1])
                    self.give(monitor.broken(epoch) if callable(monitor.broken)
                              else monitor.broken or monitor.reading(epoch))

            def do_PUT(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                monitor.version, monitor.puts = body["version"], monitor.puts + 1
                monitor.rules.update({role: body[role] for role in ("usm", "dsm") if role in body})
                self.give({})

        class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
            daemon_threads = True

        self.server = Server(self.socket, Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def meter(self, role, epoch):
        """every flow with a rule sends PKTS; of the first flow `lost` are lost on the way"""
        rows = []
        for flow in self.rules[role]:
            count = PKTS - (self.lost if role == "dsm" and flow == self.flows[0] else 0)
            if count and not (self.dead and role == "dsm"):
                rows.append({"bucket": bucket(flow), "epoch": epoch, "dirty": False,
                             "flow_id": flow, "count": count,
                             "filter": self.filter if role == "dsm" else None})
        return {"monitor": self.switch, "role": role, "width": WIDTH, "epoch_ms": EPOCH_MS,
                "rows": [rows], "strays": [], "counters": {}}

    def reading(self, epoch):
        largest = [{"flow_id": flow, "filter": self.filter, "count": PKTS}
                   for flow in self.flows] if self.filter and not self.dead else []
        return {"monitor": self.switch, "epoch": epoch, "version": self.version,
                "meters": [self.meter("usm", epoch), self.meter("dsm", epoch)],
                "largest": largest, "counters": {"late": 0, "strays": 0, "disagree": 0, "full": 0}}


class Meters(FleetTest):
    def setUp(self):
        super().setUp()
        with open(self.topology, encoding="utf-8") as file:
            topology = json.load(file)
        topology["codec"], topology["codec_options"] = "path-bloom", {"carrier": "vlan2",
                                                                      "bits": 32, "hashes": 3}
        plain, self.bloom = self.path("plain.json"), self.path("bloom.json")
        with open(plain, "w", encoding="utf-8") as file:
            json.dump(topology, file)
        pathdump("codec", "assign", "--topology", plain, "--out", self.bloom)
        self.flows = [dict(zip(FLOW_ID, ("10.1.1.2", "10.2.1.2", 1000 + n, 80, 17)))
                      for n in range(FLOWS)]
        told = pathdump("codec", "encode", "--topology", self.bloom, "--src", "10.1.1.2", "--dst",
                        "10.2.1.2", "--path", "1,9,17,11,3", "--json")
        self.up = Monitor(self.folder, 1, self.flows, 0)
        self.down = Monitor(self.folder, 3, self.flows, json.loads(told)["filter"])
        self.list = self.path("monitors.json")
        with open(self.list, "w", encoding="utf-8") as file:
            json.dump([{"id": m.switch, "url": f"unix:{m.socket}"} for m in (self.up, self.down)],
                      file)

    def controller(self, *more):
        controller = Controller(self.folder, self.bloom, {}, *more)
        self.addCleanup(controller.__exit__)
        controller.wait(controller.status)
        self.where = "--controller", f"http://127.0.0.1:{controller.port}"
        return controller

    def segment(self, controller):
        found = controller.get("/v1/segments")
        self.assertLessEqual(len(found), 1)
        return found[0] if found else {"sent": 0, "lost": 0, "state": "unknown", "epochs": 0}

    def links(self):
        return json.loads(pathdump("app", "silent-drops", "--kinds", "paths", *self.where,
                                   "--json"))["links"]

    def test_loop(self):
        controller = self.controller("--monitors", self.list)
        self.assertEqual(controller.get("/v1/monitors")["running"], False)
        self.assertEqual(pathdump("monitors", "start", "--alpha", "400", "--beta", "2",
                                  "--epoch-ms", str(EPOCH_MS), *self.where),
                         "2 monitors, counting\n")
        controller.wait(lambda: self.segment(controller)["epochs"] >= 3, 10)
        self.assertEqual(sorted(map(json.dumps, self.up.rules["usm"])),
                         sorted(map(json.dumps, self.down.rules["dsm"])))
        self.assertEqual(self.up.rules["dsm"], [])
        segment = self.segment(controller)
        self.assertEqual((segment["path"], segment["lost"], segment["state"]),
                         ([1, 9, 17, 11, 3], 0, "measured"))
        self.assertEqual(self.links(), [])
        self.assertIn("1,9,17,11,3", pathdump("segments", *self.where))

        self.down.lost = 40                                  # of each epoch
        controller.wait(lambda: self.segment(controller)["lost"] >= 120, 10)
        controller.wait(lambda: controller.get("/v1/alarms?reason=SEGMENT_LOSS")["alarms"], 5)
        alarms = controller.get("/v1/alarms?reason=SEGMENT_LOSS")["alarms"]
        self.assertEqual((alarms[0]["paths"], alarms[0]["origin"]), ([[1, 9, 17, 11, 3]], "app"))

        self.down.lost, self.down.silent = 0, True           # unknown, not lossless, not lossy
        lost = self.segment(controller)["lost"]
        controller.wait(lambda: self.segment(controller)["state"] == "unknown", 5)
        self.assertLessEqual(self.segment(controller)["lost"], lost)
        status = pathdump("monitors", "status", *self.where)
        self.assertIn("silent", status)
        self.down.silent = False
        # restarted
        self.down.rules, self.down.version, puts = {"usm": [], "dsm": []}, 0, self.down.puts
        controller.wait(lambda: self.down.puts > puts and self.down.rules["dsm"], 5)
        controller.wait(lambda: self.segment(controller)["state"] == "measured", 5)

        self.assertEqual(pathdump("monitors", "stop", *self.where), "2 monitors, stopped\n")
        controller.wait(lambda: not self.up.rules["usm"] and not self.down.rules["dsm"], 5)

    def test_dead(self):
        """nothing arrives any more: named within five epochs"""
        controller = self.controller("--monitors", self.list)
        pathdump("monitors", "start", "--alpha", "400", "--beta", "2", "--epoch-ms", str(EPOCH_MS),
                 *self.where)
        controller.wait(lambda: self.segment(controller)["epochs"] >= 3, 10)
        self.down.dead, begun = True, time.monotonic()
        controller.wait(lambda: controller.get("/v1/alarms?reason=SEGMENT_LOSS")["alarms"], 10)
        self.assertLess(time.monotonic() - begun, 6 * EPOCH_MS / 1000 + 1)

    def test_hostile(self):
        controller = self.controller("--monitors", self.list)
        for broken in (b"{", b"[]", {"monitor": 3}, {"monitor": 1, "epoch": 7, "meters": []}):
            self.down.broken = broken
            pathdump("monitors", "start", "--epoch-ms", str(EPOCH_MS), *self.where)
            controller.wait(lambda: [m["reason"] for m in controller.get("/v1/monitors")["monitors"]
                                     if m["id"] == 3 and m["reason"]], 5)
        self.assertEqual(controller.get("/v1/segments"), [])
        for body, word in (({"alpha": -1}, "alpha"), ({"epochs": 3, "epochs_min": 4}, "epochs_min"),
                           ({"more": 1}, "more")):
            status, _, text = controller.raw("/v1/monitors", "POST", json.dumps(body))
            self.assertEqual(status, 400)
            self.assertIn(word, text.decode() if isinstance(text, bytes) else text)

    def test_nothing_of_a_bad_answer_counts(self):
        """nor what stands in it before what is bad: strays of others' flows"""
        other = Monitor(self.folder, 2, self.flows, 0)

        def strays(epoch):
            meter = {**other.meter("dsm", epoch),
                     "strays": [{"flow_id": flow, "epoch": epoch} for flow in self.flows]}
            return {**other.reading(epoch), "meters": [meter, {**meter, "monitor": 1}]}

        other.broken = strays
        with open(self.list, "w", encoding="utf-8") as file:
            json.dump([{"id": m.switch, "url": f"unix:{m.socket}"}
                       for m in (self.up, self.down, other)], file)
        controller = self.controller("--monitors", self.list)
        pathdump("monitors", "start", "--alpha", "400", "--beta", "2", "--epoch-ms", str(EPOCH_MS),
                 *self.where)
        controller.wait(lambda: self.segment(controller)["epochs"] >= 3, 10)
        self.assertEqual(controller.status()["meters"]["undetermined"], 0)

    def test_none(self):
        controller = self.controller()
        status, _, _ = controller.raw("/v1/monitors", "POST", "{}")
        self.assertIn(status, (400, 404, 409, 422))
        self.assertEqual(controller.get("/v1/monitors")["monitors"], [])


if __name__ == "__main__":
    main()
