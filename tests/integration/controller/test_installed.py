# SPDX-License-Identifier: Apache-2.0
"""Queries are installed on hosts through the controller: on those that are there at once, on those
that are away when they come back."""
import http.server
import json
import os
import signal
import threading
import time

from fleet import FleetTest, main, write_pcap
from programs import Controller, Daemon, free_port

COUNT = {"query": "getCount", "args": {}, "period_ms": 50}


class Installed(FleetTest):
    def setUp(self):
        super().setUp()
        self.ports = {host: free_port() for host in sorted(self.hosts)[:3]}

    def agent(self, host):
        at, port = self.path(str(host)), self.ports[host]
        os.makedirs(at, exist_ok=True)
        write_pcap(os.path.join(at, "in.pcap"), [])
        agent = Daemon(at, "--listen", f"127.0.0.1:{port}", topology=self.topology,
                       intake=f"pcap:{at}/in.pcap", listen=False)
        agent.port = port
        self.addCleanup(agent.__exit__)
        agent.wait(agent.status)
        return agent

    def controller(self):
        controller = Controller(self.folder, self.topology, {host: f"http://127.0.0.1:{port}"
                                                             for host, port in self.ports.items()})
        self.addCleanup(controller.__exit__)
        controller.wait(controller.status)
        return controller

    def ask(self, controller, method, target, document=None, status=200):
        got, _, body = controller.raw(target, method, json.dumps(document) if document else None)
        self.assertEqual(status, got, body)
        return json.loads(body)

    def listed(self, daemon):
        return {q["id"]: q for q in daemon.get("/v1/installed")["installed"]}

    def test_all_there(self):
        """installed and uninstalled at once; numbers are sums"""
        agents = [self.agent(host) for host in self.ports]
        controller = self.controller()
        answer = self.ask(controller, "POST", "/v1/install", {"hosts": "all", **COUNT})
        self.assertEqual({"asked": 3, "answered": 3, "missing": []}, answer["hosts"])
        query, first = answer["id"], min(self.ports)
        second = self.ask(controller, "POST", "/v1/install", {
            "hosts": [first], "program": "function run() return 1 end", "on": "alarm"})["id"]
        self.assertGreater(second, query)
        self.assertEqual([{query, second}, {query}, {query}],
                         [set(self.listed(agent)) for agent in agents])
        controller.wait(lambda: self.listed(controller)[query]["runs"] >= 6)
        got = self.listed(controller)
        self.assertEqual(("active", "all", 3, 3), (got[query]["state"], got[query]["hosts"], got[
            query]["on_hosts"]["wanted"], got[query]["on_hosts"]["installed"]))
        self.assertEqual(([first], 1), (got[second]["hosts"], got[second]["on_hosts"]["installed"]))
        self.assertEqual(3, self.ask(controller, "DELETE",
                                     f"/v1/installed/{query}")["hosts"]["answered"])
        self.assertEqual([{second}, set(), set()], [set(self.listed(agent)) for agent in agents])
        self.ask(controller, "DELETE", f"/v1/installed/{query}", status=404)
        self.assertEqual({second}, set(self.listed(controller)))

    def test_away(self):
        """a host that is away is named, gets what is new and loses what is gone when it comes back;
        what was installed there by hand stays"""
        hosts = sorted(self.ports)
        agents = {host: self.agent(host) for host in hosts[:2]}
        controller = self.controller()
        begun = time.monotonic()
        answer = self.ask(controller, "POST", "/v1/install", {"hosts": "all", **COUNT})
        self.assertLess(time.monotonic() - begun, 5)
        self.assertEqual([hosts[2]], [m["id"] for m in answer["hosts"]["missing"]])
        first = answer["id"]
        got = self.listed(controller)[first]
        self.assertEqual(("pending", 2, [hosts[2]]), (got["state"], got["on_hosts"]["installed"], [
            p["id"] for p in got["on_hosts"]["pending"]]))
        self.assertTrue(got["on_hosts"]["pending"][0]["reason"])
        agents[hosts[2]] = self.agent(hosts[2])
        controller.wait(lambda: self.listed(controller)[first]["state"] == "active")
        self.assertEqual({first}, set(self.listed(agents[hosts[2]])))

        own = self.ask(agents[hosts[0]], "POST", "/v1/install", COUNT)["id"]
        agents[hosts[0]].end(signal.SIGKILL)
        second = self.ask(controller, "POST", "/v1/install", {"hosts": "all", **COUNT})["id"]
        self.assertEqual(2, self.ask(controller, "DELETE",
                                     f"/v1/installed/{first}")["hosts"]["answered"])
        back = self.agent(hosts[0])
        back.wait(lambda: set(self.listed(back)) == {own, second})

    def test_controller_killed(self):
        """the list survives; a controller that lost its state takes away what nobody knows of"""
        agent = self.agent(min(self.ports))
        controller = self.controller()
        query = self.ask(controller, "POST", "/v1/install",
                         {"hosts": [min(self.ports)], **COUNT})["id"]
        controller.end(signal.SIGKILL)
        self.ask(agent, "DELETE", f"/v1/installed/{query}")
        controller = self.controller()
        self.assertEqual({query}, set(self.listed(controller)))
        agent.wait(lambda: set(self.listed(agent)) == {query})
        self.assertEqual(0, controller.end())
        with open(self.path("state/installed.json"), "w", encoding="utf-8") as out:
            out.write("{rubbish")
        controller = self.controller()
        self.assertEqual({}, self.listed(controller))
        agent.wait(lambda: not self.listed(agent))

    def test_rude_hosts(self):
        """what a host answers is not believed: rubbish, lists of lists, another host's queries,
        endless errors"""
        answers = {host: body for host, body in zip(sorted(self.ports), (
            b'{"installed":' + b"[" * 100000,
            b'{"installed":[{"id":-1},7,null,{"id":"x"},{"id":1e300}]}', b"\xff\x00"))}

        class Rude(http.server.BaseHTTPRequestHandler):
            def answer(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                body = self.server.body
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_DELETE = answer

            def log_message(self, *_):
                pass

        for host, body in answers.items():
            server = http.server.ThreadingHTTPServer(("127.0.0.1", self.ports[host]), Rude)
            server.body = body
            threading.Thread(target=server.serve_forever, daemon=True).start()
            self.addCleanup(server.server_close)
            self.addCleanup(server.shutdown)
        controller = self.controller()
        query = self.ask(controller, "POST", "/v1/install", {"hosts": "all", **COUNT})["id"]
        controller.wait(lambda: len(self.listed(controller)[query]["on_hosts"]["pending"]) >= 2)
        got = self.listed(controller)[query]
        self.assertEqual(0, got["runs"])
        self.assertIn("cannot be read", got["on_hosts"]["pending"][0]["reason"])
        self.ask(controller, "DELETE", f"/v1/installed/{query}")
        self.assertEqual(0, controller.end())

    def test_refused(self):
        """nonsense is told in words, and nothing is kept of it"""
        controller = self.controller()
        for document in {**COUNT, "hosts": [999]}, {**COUNT, "hosts": "all", "period_ms": 1}, {
            **COUNT, "hosts": "all",
            "id": 4}, {"hosts": "all", "query": "getCount"}, {**COUNT, "hosts": "all", "more": 1}:
            self.assertTrue(self.ask(controller, "POST", "/v1/install", document,
                                     status=400)["detail"])
        self.assertEqual({}, self.listed(controller))
        self.ask(controller, "DELETE", "/v1/installed/x", status=404)


if __name__ == "__main__":
    main()
