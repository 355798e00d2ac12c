#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""POST /v1/execute: every way gives the same answer, equal to what was sent; whoever is missing is
named; what is wrong is refused."""
import contextlib
import http.client
import json
import os
import time

from fleet import SOURCE, FleetTest, begin_agent, main, post
from programs import Controller, stopped

HOSTS = range(21, 29)               # two pods
FLOWS = 20


class Execute(FleetTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.agents, cls.sent = {}, {}
        cls.stack = contextlib.ExitStack()
        for host in HOSTS:
            agent, sent = begin_agent(cls.common.name, cls.topology, cls.hosts[host], FLOWS)
            cls.agents[host] = cls.stack.enter_context(agent)
            cls.sent[host] = sent
        for agent in cls.agents.values():
            agent.wait_state("finished")
        cls.controller = cls.stack.enter_context(
            Controller(cls.common.name, cls.topology, {h: a.url for h, a in cls.agents.items()}))
        cls.controller.wait(cls.controller.status)

    @classmethod
    def tearDownClass(cls):
        alive = cls.controller.process.poll() is None
        cls.stack.close()
        super().tearDownClass()
        assert alive, "the controller died: " + cls.controller.log()

    def execute(self, query, hosts="all", code=200, **more):
        args = more.pop("args", {})
        status, answer = post(self.controller, "/v1/execute", {
            "hosts": hosts, "query": query, "args": args, "deadline_ms": 20000, **more})
        self.assertEqual(status, code, answer)
        return answer

    def rows(self, answer):
        return {flow["flow_id"]["src_port"]: (flow["bytes"], flow["pkts"])
                for flow in answer["flows"]}

    def everything(self, hosts=HOSTS):
        return {port: what for host in hosts for port, what in self.sent[host].items()}

    def whole(self, answer, asked=len(HOSTS)):
        self.assertEqual(answer["hosts"], {"asked": asked, "answered": asked, "missing": []})
        self.assertTrue(answer["complete"])

    def test_modes(self):
        largest = sorted((what[0] for what in self.everything().values()), reverse=True)
        for more in ({"mode": "direct"}, {"mode": "tree"}, {"mode": "auto"}, {},
                     {"mode": "tree", "fanout": 2}, {"fanout": 3}):
            answer = self.execute("getFlows", **more)
            self.whole(answer)
            self.assertEqual(self.rows(answer), self.everything(), more)
            self.assertIn(answer["mode"], ("direct", "tree"))
            self.assertIn(more.get("mode", "auto"), ("auto", answer["mode"]))
            self.assertTrue(answer["why"].startswith(answer["mode"]) and "8 hosts" in answer["why"],
                            answer["why"])
            self.assertTrue(answer["cost"]["bytes"] > 0)
            answer = self.execute("topFlows", args={"k": 7, "by": "bytes"}, **more)
            self.whole(answer)
            self.assertEqual([row["bytes"] for row in answer["top"]], largest[:7])
        count = self.execute("getCount", args={"dst_port": 80}, mode="tree")
        self.assertEqual((count["bytes"], count["pkts"]),
                         tuple(map(sum, zip(*self.everything().values()))))

    def test_selection(self):
        for hosts, meant in (("rack:1", (21, 22)), ("rack:tor-1-2", (23, 24)),
                             ([22, "h28", 22], (22, 28)), ("h25", (25,)),
                             (["rack:1", "rack:3"], (21, 22, 25, 26))):
            answer = self.execute("getFlows", hosts, mode="tree")
            self.whole(answer, len(meant))
            self.assertEqual(self.rows(answer), self.everything(meant))

    def test_ndjson(self):
        status, text = post(self.controller, "/v1/execute", {"hosts": "all", "query": "getFlows",
                                                             "args": {}}, "application/x-ndjson")
        self.assertEqual(status, 200)
        *rows, last = map(json.loads, text.splitlines())
        self.assertEqual(self.rows({"flows": rows}), self.everything())
        self.whole(last)

    def test_program(self):
        count = ("function run(args) local n = args.plus for f in get_flows{} do n = n + 1 end "
                 "return n end")
        merge = " function merge(a, b) return a + b end"
        for mode in ("direct", "tree"):
            body = {"hosts": "all", "program": count + merge, "args": {"plus": 1}, "mode": mode}
            status, answer = post(self.controller, "/v1/execute", body)
            self.assertEqual((status, answer.get("result")), (200, (FLOWS + 1) * len(HOSTS)),
                             answer)
            self.whole(answer)
        status, answer = post(self.controller, "/v1/execute",
                              {"hosts": [21, 28], "program": count, "args": {"plus": 0}})
        self.assertEqual((status, answer["result"]),
                         (200, [{"host": 21, "result": FLOWS}, {"host": 28, "result": FLOWS}]))
        status, answer = post(self.controller, "/v1/execute",
                              {"hosts": "all", "program": "function run( return"})
        self.assertEqual(status, 422, answer)

    def test_refused(self):
        good = {"hosts": "all", "query": "getFlows", "args": {}}
        for body, status, names in (
                ("", 400, None), ("{", 400, None), ("[]", 400, None), (b"\xff{}", 400, None),
                ('{"hosts":"all","hosts":"all"}', 400, None),
                ("[" * 100000, 400, None), ({}, 400, None), ({"hosts": "all"}, 400, None),
                ({**good, "query": "getNothing"}, 400, "query"),
                ({**good, "query": 7}, 400, None), ({**good, "program": "x"}, 400, None),
                ({**good, "colour": 1}, 400, "colour"),
                ({**good, "args": {"colour": 1}}, 400, "args.colour"),
                ({**good, "args": 3}, 400, None), ({**good, "hosts": []}, 400, "hosts"),
                ({**good, "hosts": [99]}, 400, "hosts[0]"),
                ({**good, "hosts": "rack:9"}, 400, "hosts"),
                ({**good, "mode": "fast"}, 400, "mode"),
                ({**good, "fanout": 1}, 400, "fanout"), ({**good, "fanout": "2"}, 400, "fanout"),
                ({**good, "mode": "direct", "fanout": 2}, 400, "fanout"),
                ({**good, "deadline_ms": 0}, 400, "deadline_ms"),
                ({**good, "args": {"since": "x"}}, 400, None),
                ({**good, "args": {"link": "x" * (5 << 20)}}, 413, None)):
            got, problem = post(self.controller, "/v1/execute", body)
            self.assertEqual(got, status, (str(body)[:100], problem))
            self.assertTrue(problem["detail"])
            if names:
                self.assertEqual(problem.get("parameter"), names)
        for method, target, status in (("GET", "/v1/execute", 405), ("DELETE", "/v1/hosts", 405),
                                       ("GET", "/v1/nothing", 404), ("GET", "/v1/status?x=1", 400)):
            self.assertEqual(self.controller.raw(target, method)[0], status, (method, target))

    def test_hanging(self):
        """an agent that does not move costs no more than the deadline, whether it is asked first or
        by another one"""
        for host in (28, 21):
            with stopped(self.agents[host]):
                for mode in ("direct", "tree"):
                    begun = time.monotonic()
                    answer = self.execute("getFlows", mode=mode, deadline_ms=2500)
                    self.assertEqual([missing["id"] for missing in answer["hosts"]["missing"]],
                                     [host], (mode, answer["hosts"]))
                    self.assertTrue(answer["hosts"]["missing"][0]["reason"])
                    self.assertEqual(self.rows(answer),
                                     self.everything([h for h in HOSTS if h != host]))
                    self.assertFalse(answer["complete"])
                    self.assertLess(time.monotonic() - begun, 30)
                states = {known["id"]: known for known in self.controller.get("/v1/hosts")["hosts"]}
            self.back()
        self.assertEqual(states[21]["state"], "missing")
        self.assertTrue(states[21]["error"] and states[21]["error_us"]
                        and states[22]["state"] == "up" and states[22]["last_seen_us"])
        self.assertEqual(states[28]["rack"], 4)
        known = self.controller.get("/v1/hosts")
        self.assertEqual({host["state"] for host in known["hosts"]}, {"up"})
        self.assertEqual(known["all"], len(known["hosts"]))
        self.assertEqual(self.controller.get("/v1/hosts?state=up"), known)
        self.assertEqual(self.controller.get("/v1/hosts?state=missing"),
                         {"hosts": [], "all": known["all"]})
        for wrong in ("state=away", "status=up"):
            self.assertEqual(self.controller.raw(f"/v1/hosts?{wrong}")[0], 400)

    def back(self):
        """until all answer again"""
        until = time.monotonic() + 10
        while not self.execute("getCount")["complete"]:
            self.assertLess(time.monotonic(), until, "a host that goes on is not asked again")
            time.sleep(.05)

    def test_silent(self):
        """hosts that hang cost the first question about a second and the next ones nothing; a leaf,
        the head of a rack and the head of a pod"""
        for mode in ("direct", "tree"):
            for hosts in ((22,), (21, 26), (21, 23, 28)):
                with self.subTest(mode=mode,
                                  hosts=hosts), stopped(*[self.agents[host] for host in hosts]):
                    begun, first = time.monotonic(), self.execute("getFlows", mode=mode)
                    # 2 s on a machine that is not busy; the deadline is 20
                    self.assertLess(time.monotonic() - begun, 8)
                    later = self.execute("getFlows", mode=mode)
                    for answer in (first, later):
                        self.assertFalse(answer["complete"])
                        self.assertEqual([m["id"] for m in answer["hosts"]["missing"]], list(hosts))
                        self.assertEqual(answer["hosts"]["answered"], len(HOSTS) - len(hosts))
                        self.assertEqual(self.rows(answer),
                                         self.everything(set(HOSTS) - set(hosts)))
                    for missing in later["hosts"]["missing"]:
                        self.assertTrue(missing["reason"].startswith("silent: "), missing)
                        self.assertLess(abs(missing["since_us"] / 1e6 - time.time()), 30)
                    self.assertIn("silent host", later["why"])
                    begun = time.monotonic()
                    self.execute("getFlows", mode=mode)
                    self.assertLess(time.monotonic() - begun, .6)       # nobody waits for them
                self.back()

    def test_rows_come(self):
        """rows of hosts that have answered do not wait for one that does not, in lines and in
        events; an end says who is missing"""
        for mode, accept in (("direct", "application/x-ndjson"), ("tree", "text/event-stream")):
            with self.subTest(mode=mode, accept=accept), stopped(self.agents[28]):
                first, last, blocks = self.read_rows(accept, mode)
                self.assertGreater(last - first, .2)            # it is given up after .8 s
            self.back()
            if accept == "text/event-stream":
                self.assertEqual(blocks[-1][:18], "event: end\ndata: {")
                blocks = [block.split("data: ", 1)[1] for block in blocks]
            *rows, end = map(json.loads, blocks)
            self.assertEqual(self.rows({"flows": rows}), self.everything(set(HOSTS) - {28}))
            self.assertEqual([m["id"] for m in end["hosts"]["missing"]], [28])
            self.assertFalse(end["complete"])

    def read_rows(self, accept, mode):
        """when the first row and the end came, and all of them"""
        connection = http.client.HTTPConnection("127.0.0.1", self.controller.port, timeout=60)
        body = {"hosts": "all", "query": "getFlows", "args": {}, "mode": mode,
                "deadline_ms": 20000}
        connection.request("POST", "/v1/execute", json.dumps(body), {"Accept": accept})
        answer = connection.getresponse()
        self.assertEqual((answer.status, answer.headers["Content-Type"]), (200, accept))
        text, first = answer.readline(), time.monotonic()
        text += answer.read()
        last = time.monotonic()
        connection.close()
        end = "\n\n" if accept == "text/event-stream" else "\n"
        self.assertTrue(text.decode().endswith(end))
        return first, last, text.decode().split(end)[:-1]

    def test_partial(self):
        """what is there by then, and no more"""
        with stopped(self.agents[24]):
            begun, answer = time.monotonic(), self.execute("getFlows", mode="direct",
                                                           partial_after_ms=150)
            self.assertLess(time.monotonic() - begun, 5)
            self.assertFalse(answer["complete"])
            self.assertIn(24, [m["id"] for m in answer["hosts"]["missing"]])
        self.back()
        for wrong in (0, -1, "1", 1.5, 3600001):
            self.execute("getCount", code=400, partial_after_ms=wrong)

    def test_told(self):
        """the status document is what controller.json says, and every counter is a metric"""
        with open(os.path.join(SOURCE, "docs/api/controller.json"), encoding="utf-8") as at:
            schemas = json.load(at)["components"]["schemas"]

        def same(where, schema, document):
            self.assertEqual(set(schema["properties"]), set(document), where)
            for name, value in document.items():
                if "properties" in schema["properties"][name]:
                    same(name, schema["properties"][name], value)
        status = self.controller.status()
        same("status", schemas["Status"], status)
        same("host", schemas["Host"], self.controller.get("/v1/hosts")["hosts"][0])
        same("answer", {"properties": {**schemas["Gathered"]["properties"], "bytes": {},
                                       "pkts": {}}}, self.execute("getCount"))
        metrics = self.controller.raw("/metrics")[2].decode()
        for name in status["controller"]:
            self.assertIn(f"\n# TYPE pathdump_controller_{name}_total counter\n", metrics)
        self.assertEqual(status["hosts"]["all"], len(HOSTS))


if __name__ == "__main__":
    main()
