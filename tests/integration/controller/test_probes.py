#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Probes of a controller whose hosts are made here: who says that another plan is higher."""
import http.server
import json
import threading
import time

from fleet import FleetTest, main
from programs import Controller, free_port

HIGHEST = 2 ** 32 - 1


class Host:
    """says that it can take part, and takes its orders or refuses them"""

    def __init__(self, port, refuses):
        self.orders, self.refuses = 0, refuses
        host = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def give(self, status, document):
                text = json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def do_GET(self):
                self.give(200, {"able": True})

            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                host.orders += 1
                detail = f"plan: {HIGHEST} is in force here"
                self.give(*((409, {"detail": detail}) if host.refuses else (200, {})))

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        threading.Thread(target=self.server.serve_forever, args=(.05,), daemon=True).start()

    def end(self):
        self.server.shutdown()
        self.server.server_close()


class Probes(FleetTest):
    def begin(self, refusing):
        """(controller, hosts); so many of them refuse"""
        ports = {host: free_port() for host in self.hosts}
        hosts = {host: Host(port, n < refusing) for n, (host, port) in enumerate(ports.items())}
        for host in hosts.values():
            self.addCleanup(host.end)
        urls = {host: f"http://127.0.0.1:{port}" for host, port in ports.items()}
        controller = Controller(self.folder, self.topology, urls)
        self.addCleanup(controller.__exit__)
        controller.wait(controller.status)
        status, _, body = controller.raw("/v1/probes", "POST", "{}")
        self.assertEqual(status, 200, body)
        controller.wait(lambda: all(host.orders for host in hosts.values()))
        return controller, hosts

    def test_one_host_lies(self):
        """it is left out, in its own words; the probes of all others go on"""
        controller, hosts = self.begin(refusing=1)
        liar = min(hosts, key=lambda host: not hosts[host].refuses)

        def left_out():
            return {host["id"]: host["reason"]
                    for host in controller.get("/v1/probes")["hosts_left_out"]}

        controller.wait(lambda: liar in left_out())
        self.assertIn(str(HIGHEST), left_out()[liar])
        until = time.monotonic() + 1
        while time.monotonic() < until:
            document = controller.get("/v1/probes")
            self.assertFalse(document["overruled"])
            self.assertIsNotNone(document["plan"])

    def test_most_hosts_are_another_controllers(self):
        """then its plan goes on, and this one ends"""
        controller, _ = self.begin(refusing=len(self.hosts) // 2 + 1)
        controller.wait(lambda: controller.get("/v1/probes")["overruled"])
        controller.wait(lambda: controller.get("/v1/probes")["plan"] is None)


if __name__ == "__main__":
    main()
