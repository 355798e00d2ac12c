#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Applications at the controller: run by hand over agents that are there and one that is not,
watched over a kill, started by alarms; what is wrong is refused."""
import contextlib
import http.server
import json
import os
import signal
import threading

from fleet import START_US, FleetTest, begin_agent, main, post
from programs import Controller, free_port, pathdump

THERE, AWAY = (21, 22, 23), 24
FLOWS = 10
WINDOW = {"from": START_US // 1_000_000, "to": START_US // 1_000_000 + 60}
REPORT = {"app", "verdict", "links", "switches", "flows", "certain", "confidence", "evidence",
          "lacks"}


def alarm(seq):
    return {"seq": seq, "time_us": START_US + seq, "reason": "PC_FAIL", "origin": "installed",
            "paths": [[1, 9, 2]], "detail": "max_hops",
            "flow_id": {"src_ip": "10.1.1.2", "dst_ip": "10.1.2.2", "src_port": seq, "dst_port": 80,
                        "protocol": 6}}


FLOW = {"src_ip": "10.1.1.2", "dst_ip": "10.1.2.2", "src_port": 1, "dst_port": 80, "protocol": 6}


def poor(**changed):
    return json.dumps({"flows": [{"flow_id": FLOW, "consecutive": 4}], "complete": True,
                       "source": "bpf", "since_us": 7, "forgotten": 1, **changed})


class Canned(http.server.BaseHTTPRequestHandler):
    """answers everything with what its server has"""

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *_):
        pass


class Apps(FleetTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stack = contextlib.ExitStack()
        cls.agents, cls.sent = {}, {}
        for host in THERE:
            agent, cls.sent[host] = begin_agent(cls.common.name, cls.topology, cls.hosts[host],
                                                FLOWS)
            cls.agents[host] = cls.stack.enter_context(agent)
        for agent in cls.agents.values():
            agent.wait_state("finished")
        cls.urls = {host: agent.url for host, agent in cls.agents.items()}

    @classmethod
    def tearDownClass(cls):
        cls.stack.close()
        super().tearDownClass()

    def start(self, away=False):
        urls = {**self.urls, **({AWAY: f"http://127.0.0.1:{free_port()}"} if away else {})}
        controller = Controller(self.folder, self.topology, urls)
        self.addCleanup(controller.__exit__)
        controller.wait(controller.status)
        return controller

    def ask(self, controller, method, target, document=None, code=200):
        got, _, body = controller.raw(target, method,
                                      json.dumps(document) if document is not None else None)
        self.assertEqual(got, code, body)
        return json.loads(body)

    def run_app(self, controller, name, args, code=200):
        return self.ask(controller, "POST", f"/v1/apps/{name}", args, code)

    def total(self):
        return sum(what[0] for host in THERE for what in self.sent[host].values())

    def watches(self, controller):
        return {watch["id"]: watch for watch in controller.get("/v1/watches")["watches"]}

    def alarms(self, controller, reason):
        return controller.get(f"/v1/alarms?reason={reason}")["alarms"]

    def test_by_hand(self):
        """the report has what was sent; a host that is away is named in it, and nothing is certain
        then"""
        whole, lacking = None, None
        for away in False, True:
            controller = self.start(away)
            report = self.run_app(controller, "traffic-matrix", WINDOW)
            self.assertEqual(REPORT | {"results"} | ({"missing"} if away else set()), set(report))
            self.assertEqual(self.total(),
                             sum(pair["bytes"] for pair in report["results"]["pairs"]))
            if away:
                lacking = report
            else:
                whole = report
            code = 3 if away else 0
            text = pathdump("app", "traffic-matrix", "--controller", controller.url, "--from",
                            WINDOW["from"], "--to", WINDOW["to"],
                            code=code)
            self.assertIn(report["verdict"], text)
            self.assertEqual(away, f"host {AWAY} did not answer" in text)
            self.assertEqual(report, json.loads(
                pathdump("app", "traffic-matrix", "--controller", controller.url, "--json",
                         "--from", WINDOW["from"], "--to", WINDOW["to"], code=code)))
            self.assertEqual(0, controller.end())
        self.assertEqual([], whole["lacks"])
        self.assertIn(f"host {AWAY} did not answer", lacking["lacks"][0])
        self.assertFalse(lacking["certain"])

    def test_list_and_refusals(self):
        """applications with their tables; what they do not take is told by its name"""
        controller = self.start()
        apps = {app["name"]: app for app in controller.get("/v1/apps")["apps"]}
        self.assertIn("max_hops", [param["name"] for param in apps["path-conformance"]["params"]])
        for app in apps.values():
            self.assertTrue(app["help"] and app["section"], app)
        for name, args, code, word in (("nothing", {}, 404, "nothing"),
                                       ("path-conformance", {"max_hops": "many"}, 400, "max_hops"),
                                       ("path-conformance", {"avoid": [999]}, 400, "avoid"),
                                       ("path-conformance", {"link": "1-2"}, 400, "link"),
                                       ("path-conformance", {"more": 1}, 400, "more")):
            self.assertIn(word, self.run_app(controller, name, args, code)["detail"])
        for document in {}, {"app": "nothing"}, {"app": "traffic-matrix", "period_s": 0}, {
            "app": "traffic-matrix",
            "on": "alarm"}, {"app": "path-conformance", "on": "alarm", "period_s": 1}, {
                "app": "path-conformance", "args": {"more": 1}}, {"app": "loop", "id": 4}:
            self.assertTrue(self.ask(controller, "POST", "/v1/watches", document, 400)["detail"])
        self.assertEqual({}, self.watches(controller))
        self.ask(controller, "DELETE", "/v1/watches/1", code=404)
        self.assertIn("--max-hops", pathdump("app", "path-conformance", "--help"))
        pathdump("app", "path-conformance", "--controller", controller.url, "--more", "1", code=2)

    def test_watched(self):
        """each period, also after a kill; until it is unwatched"""
        controller = self.start()
        self.assertEqual("watch 1\n", pathdump("watch", "traffic-matrix", "--controller",
                                               controller.url, "--every", "0.1",
                                               "--from", WINDOW["from"], "--to", WINDOW["to"]))
        controller.wait(lambda: self.watches(controller)[1]["runs"] >= 3)
        watch = self.watches(controller)[1]
        self.assertEqual((0, None, 0.1), (watch["failures"], watch["error"], watch["period_s"]))
        self.assertEqual(self.total(),
                         sum(pair["bytes"] for pair in watch["report"]["results"]["pairs"]))
        controller.end(signal.SIGKILL)
        controller = self.start()
        controller.wait(lambda: self.watches(controller)[1]["runs"] >= 2)
        self.assertIn("every 0.1 s", pathdump("watches", "--controller", controller.url))
        self.assertEqual({"id": 2}, self.ask(controller, "POST", "/v1/watches",
                                             {"app": "loop", "period_s": 60}))
        pathdump("unwatch", "--controller", controller.url, 1)
        self.assertEqual({2}, set(self.watches(controller)))
        self.assertEqual(0, controller.end())
        with open(self.path("state/watches.json"), "w", encoding="utf-8") as out:
            out.write('{"version":1,"watches":[{"id":1,"app":"gone"},7,{"id":3,"app":"loop",'
                      '"period_s":60},{"id":3,"app":"loop","period_s":60}]}')
        controller = self.start()
        self.assertEqual({3}, set(self.watches(controller)))
        self.assertEqual({"id": 4}, self.ask(controller, "POST", "/v1/watches",
                                             {"app": "loop", "period_s": 60}))

    def test_started_by_alarms(self):
        """an alarm starts it, more of them that come at once are one run; what it finds is an
        alarm, once"""
        controller = self.start()
        self.ask(controller, "POST", "/v1/watches",
                 {"app": "path-conformance", "on": "alarm", "args": {**WINDOW, "avoid": [1]}})
        self.assertEqual(0, self.watches(controller)[1]["runs"])
        status, _ = post(controller, "/v1/alarms", {"host": 21, "spool": "0" * 15 + "1",
                                                    "alarms": [alarm(seq) for seq in range(1, 51)]})
        self.assertEqual(200, status)
        controller.wait(lambda: self.watches(controller)[1]["runs"]
                        + self.watches(controller)[1]["coalesced"] >= 50)
        controller.wait(lambda: self.alarms(controller, "APP_PATH_CONFORMANCE"))
        watch = self.watches(controller)[1]
        self.assertEqual((0, [0, watch["report"]["verdict"]]),
                         (watch["failures"], [self.alarms(controller, "APP_PATH_CONFORMANCE")[0][
                             name] for name in ("host", "detail")]))
        self.assertLess(watch["runs"], 50)

    def test_poor_flows(self):
        """getPoorTCPFlows over many hosts, each way: hosts that watch nothing are told so, a host
        that is away is missing"""
        controller = self.start(away=True)
        for more in {"mode": "direct"}, {"mode": "tree", "fanout": 2}:
            status, answer = post(controller, "/v1/execute", {
                "query": "getPoorTCPFlows", "args": {"threshold": 0}, "hosts": "all", **more})
            self.assertEqual(200, status, answer)
            self.assertEqual(([], "none", False),
                             (answer["flows"], answer["source"], answer["complete"]))
            self.assertEqual((4, 3, [AWAY]), (answer["hosts"]["asked"], answer["hosts"]["answered"],
                                              [m["id"] for m in answer["hosts"]["missing"]]))
        for args in {"threshold": -1}, {"from": "never"}, {"link": "1-9"}:
            status, answer = post(controller, "/v1/execute",
                                  {"query": "getPoorTCPFlows", "args": args, "hosts": "all"})
            self.assertEqual(400, status, answer)
            self.assertIn(next(iter(args)), answer["detail"])
        pathdump("query", "getPoorTCPFlows", "--threshold", 1, "--controller", controller.url,
                 code=3)

    def canned(self, body):
        """URL of a host that answers so"""
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Canned)
        server.body = body.encode()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"http://127.0.0.1:{server.server_address[1]}"

    def test_poor_flows_merged(self):
        """flows of all in one list, each with its host; what is true of all of them; hosts that
        answer nonsense or for others are missing"""
        wrong = [poor(flows={}), poor(source=7), poor(since_us=-1), poor(complete="yes"),
                 poor(flows=[{"flow_id": FLOW, "host": 21}]), poor(flows=[7]), "[" * 100000]
        urls = {21: self.canned(poor()),
                22: self.canned(poor(source="inet_diag", since_us=9, flows=[])),
                **{23 + i: self.canned(body) for i, body in enumerate(wrong)}}
        controller = Controller(self.folder, self.topology, urls)
        self.addCleanup(controller.__exit__)
        controller.wait(controller.status)
        status, answer = post(controller, "/v1/execute",
                              {"query": "getPoorTCPFlows", "hosts": "all", "mode": "direct"})
        self.assertEqual(200, status, answer)
        self.assertEqual([{"flow_id": FLOW, "consecutive": 4, "host": 21}], answer["flows"])
        self.assertEqual(("mixed", 9, 2, False), tuple(
            answer[name] for name in ("source", "since_us", "forgotten", "complete")))
        self.assertEqual([23 + i for i in range(len(wrong))],
                         [missing["id"] for missing in answer["hosts"]["missing"]])
        status, answer = post(controller, "/v1/execute",
                              {"query": "getPoorTCPFlows", "hosts": [21, 22]})
        self.assertTrue(status == 200 and answer["complete"], answer)
        text = pathdump("query", "getPoorTCPFlows", "--controller", controller.url, "--hosts",
                        "21,22")
        self.assertIn("10.1.1.2:1", text)
        self.assertIn("1 flow; watched by mixed", text)


if __name__ == "__main__":
    main()
