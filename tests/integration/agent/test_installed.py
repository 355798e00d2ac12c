# SPDX-License-Identifier: Apache-2.0
"""Queries that are installed in a daemon with a live intake: on first packets, on periods, on
alarms, over a kill, and when they fail."""
import json
import signal

from daemon import NetworkTest, frame, main

GOOD, BAD = (1, 9, 17, 11, 3), (1, 9, 17, 13, 18, 11, 3)    # 4 and 6 hops
HOPS = {"query": "conformance", "args": {"max_hops": 5}, "on": "new_flow"}
COUNT = {"query": "getCount", "args": {"live": True}, "period_ms": 10}


class Installed(NetworkTest):
    def begin(self):
        daemon = self.start("--idle-ms", "300", intake="live:rx")
        daemon.wait_state("running")
        return daemon

    def send(self, path, port):
        self.sender.send(frame("10.1.1.2", "10.2.1.2", port, 80, b"x", self.tags(path)))

    def ask(self, daemon, method, target, document=None, status=200):
        got, _, body = daemon.raw(target, method, json.dumps(document) if document else None)
        self.assertEqual(status, got, body)
        return json.loads(body)

    def install(self, daemon, document):
        return self.ask(daemon, "POST", "/v1/install", document)["id"]

    def one(self, daemon, query):
        return daemon.get(f"/v1/installed/{query}")

    def alarms(self, daemon, reason):
        return [alarm for alarm in daemon.get("/v1/alarms")["alarms"] if alarm["reason"] == reason]

    def test_first_packets(self):
        """one alarm for the flow that took too long a path, none for the other one"""
        daemon = self.begin()
        query = self.install(daemon, HOPS)
        for _ in range(3):
            self.send(GOOD, 1111)
            self.send(BAD, 2222)
        daemon.wait(lambda: self.alarms(daemon, "PC_FAIL"))
        daemon.wait(lambda: self.one(daemon, query)["runs"] >= 2)
        alarm, = self.alarms(daemon, "PC_FAIL")
        self.assertEqual((2222, [list(BAD)], 1),
                         (alarm["flow_id"]["src_port"], alarm["paths"], alarm["count"]))
        self.assertIn("max_hops", alarm["detail"])
        answer = self.one(daemon, query)
        self.assertEqual((1, 0, list(BAD)), (answer["alarms"], answer["failures"],
                                             answer["answer"]["violations"][0]["path"]))
        self.ask(daemon, "DELETE", f"/v1/installed/{query}")
        self.ask(daemon, "DELETE", f"/v1/installed/{query}", status=404)
        self.send(BAD, 3333)
        daemon.wait(lambda: daemon.status()["agent"]["new_flows"] >= 3)
        self.assertEqual(1, len(self.alarms(daemon, "PC_FAIL")))
        self.assertEqual(1, daemon.status()["installed"]["alarms"])     # the sums outlive the query

    def test_kill(self):
        """what was installed is there after kill -9, and works"""
        daemon = self.begin()
        self.ask(daemon, "POST", "/v1/install", {"id": 7, **HOPS})
        self.install(daemon, {**COUNT, "period_ms": 3600000})
        before = [(q["id"], q["query"], q["args"])
                  for q in daemon.get("/v1/installed")["installed"]]
        daemon.end(signal.SIGKILL)
        daemon = self.begin()
        self.assertEqual(before, [(q["id"], q["query"], q["args"])
                                  for q in daemon.get("/v1/installed")["installed"]])
        self.send(BAD, 4444)
        daemon.wait(lambda: self.alarms(daemon, "PC_FAIL"))
        self.assertEqual(0, daemon.end())

    def test_period(self):
        """a hundred times a second, beside a program that takes its time"""
        daemon = self.begin()
        self.send(GOOD, 1)
        daemon.wait(lambda: daemon.status()["agent"]["new_flows"] >= 1)
        count = self.install(daemon, COUNT)
        search = self.install(daemon,
                              {"query": "conformance", "args": {"avoid": [17]}, "period_ms": 50})
        slow = self.install(daemon, {"program": "function run() local n = 0 for i = 1, 2000000 do "
                                     "n = n + i end return n end", "period_ms": 20})
        daemon.wait(lambda: self.one(daemon, count)["runs"] >= 20
                    and self.one(daemon, slow)["runs"] >= 3)
        got = self.one(daemon, count)
        self.assertEqual((0, 1), (got["failures"], got["answer"]["pkts"]))
        self.assertEqual(2000001000000, self.one(daemon, slow)["answer"]["result"])
        # once the record is finished and stored
        daemon.wait(lambda: self.alarms(daemon, "PC_FAIL"))
        self.assertEqual(1, self.one(daemon, search)["alarms"])
        daemon.wait(lambda: daemon.get("/v1/getCount")["pkts"] == 1)    # whoever asks is answered

    def test_failures(self):
        """a program that fails again and again is stopped, says so, and stays so; one on alarms
        hears of it, but not of itself"""
        daemon = self.begin()
        listener = self.install(daemon, {"program": "function run(args) alarm{reason='USER_' .. "
                                         "args.event.reason} return args.event end", "on": "alarm"})
        broken = self.install(daemon, {"program": "function run() return nothing.at_all end",
                                       "period_ms": 10})
        daemon.wait(lambda: self.alarms(daemon, "USER_QUERY_STOPPED"))
        got = self.one(daemon, broken)
        self.assertEqual(("stopped", 5, 5), (got["state"], got["failures"], got["runs"]))
        self.assertIn("nothing", got["error"])
        alarm, = self.alarms(daemon, "QUERY_STOPPED")
        self.assertIn(str(broken), alarm["detail"])
        daemon.wait(lambda: self.one(daemon, listener)["runs"] == 1)
        self.assertEqual("QUERY_STOPPED", self.one(daemon, listener)["answer"]["result"]["reason"])
        self.assertEqual(0, daemon.end())
        daemon = self.begin()
        self.assertEqual("stopped", self.one(daemon, broken)["state"])

    def test_events(self):
        """a program gets each finished record"""
        daemon = self.begin()
        query = self.install(daemon, {"program": "function run(args) return args.event end",
                                      "on": "evicted"})
        self.send(GOOD, 5)
        daemon.wait(lambda: self.one(daemon, query)["runs"] >= 1)
        event = self.one(daemon, query)["answer"]["result"]
        self.assertEqual(("evicted", 5, list(GOOD), 1),
                         (event["on"], event["flow_id"]["src_port"], event["path"], event["pkts"]))

    def test_hostile(self):
        """what cannot be installed is refused in words; a file of rubbish costs the list, not the
        daemon"""
        daemon = self.begin()
        for document in {"query": "getCount"}, {**COUNT, "period_ms": 1}, {**HOPS, "on": "never"}, {
            "program": "x", "period_ms": 10, "hosts": "all"}, {"query": "drop table",
                                                               "period_ms": 10}:
            problem = self.ask(daemon, "POST", "/v1/install", document, status=400)
            self.assertTrue(problem["detail"])
        self.assertEqual([], daemon.get("/v1/installed")["installed"])
        self.assertEqual(0, daemon.end())
        with open(self.path("tib/installed.json"), "wb") as out:
            out.write(b'{"version":1,"installed":[\xff\x00')
        daemon = self.begin()
        self.assertEqual([], daemon.get("/v1/installed")["installed"])
        self.assertIn("installed.json.damaged", daemon.log())


if __name__ == "__main__":
    main()
