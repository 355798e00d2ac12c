#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many clients while packets come in, from a capture and from a live interface: every answer is
whole, every sum exact."""
import threading
import time

from daemon import START_US, NetworkTest, frame, main

PATHS = ((1, 9, 17, 11, 3), (1, 10, 19, 12, 3), (1, 9, 17, 13, 18, 11, 3))
FLOWS, PKTS = 300, 30


class Load(NetworkTest):
    def flows(self):
        """{source port: (path, frame)}"""
        tags = {path: self.tags(path) for path in PATHS}
        return {1024 + n: (PATHS[n % 3], frame("10.1.1.2", "10.2.1.2", 1024 + n, 80, b"x" * 72,
                                               tags[PATHS[n % 3]])) for n in range(FLOWS)}

    def clients(self, daemon, until):
        """starts clients that ask until the event; returns them and the list of what they found
        wrong"""
        wrong, totals = [], []

        def ask():
            before = 0
            while not until.is_set():
                try:
                    now = daemon.get("/v1/getCount?live=true")["pkts"]
                    if now < before:
                        wrong.append(f"{now} packets after {before}")
                    before = now
                    for flow in daemon.get("/v1/getFlows?src_port=1030&live=true")["flows"]:
                        if flow["path"] != list(PATHS[0]) or flow["bytes"] != 100 * flow["pkts"]:
                            wrong.append(str(flow))
                    status = daemon.status()
                    if sum(status["intake"]["verdicts"].values()) != status["intake"]["frames"]:
                        wrong.append(str(status["intake"]))
                    for target in ("/metrics", "/v1/alarms", "/v1/getFlows?bogus=1"):
                        daemon.raw(target)
                except AssertionError as error:
                    if " 503: " not in str(error):
                        wrong.append(str(error))
            totals.append(before)

        threads = [threading.Thread(target=ask) for _ in range(6)]
        for thread in threads:
            thread.start()
        return threads, wrong

    def ask_during(self, daemon, work):
        until = threading.Event()
        threads, wrong = self.clients(daemon, until)
        try:
            work()
        finally:
            until.set()
            for thread in threads:
                thread.join()
        self.assertEqual(wrong, [])

    def expect(self, answer):
        got = {f["flow_id"]["src_port"]: (tuple(f["path"]), f["pkts"], f["bytes"])
               for f in answer["flows"]}
        self.assertEqual(got, {port: (path, PKTS, 100 * PKTS)
                               for port, (path, _) in self.flows().items()})
        self.assertEqual(len(answer["flows"]), FLOWS)

    def test_capture(self):
        packets = [(START_US + n * 40_000 + port, raw) for n in range(PKTS)
                   for port, (_, raw) in self.flows().items()]
        with self.start("--idle-ms", "30", intake=self.capture(packets)) as daemon:
            daemon.wait(daemon.status)
            self.ask_during(daemon, lambda: daemon.wait_state("finished"))
            self.expect(daemon.get("/v1/getFlows"))
            self.assertEqual(daemon.end(), 0)
        self.expect(self.stored("getFlows"))

    def send_all(self):
        for _ in range(PKTS):
            for _, raw in self.sent.values():
                self.sender.send(raw)
            time.sleep(.02)

    def test_live(self):
        """records are stored while others are still live; SIGTERM stores the rest"""
        self.sent = self.flows()
        with self.start("--idle-ms", "100", "--active-ms", "200", intake="live:rx") as daemon:
            daemon.wait_state("running")
            self.ask_during(daemon, self.send_all)
            daemon.wait(lambda: daemon.status()["intake"]["frames"] >= FLOWS * PKTS)
            self.expect(
                daemon.get("/v1/getFlows?live=true&dst_port=80&protocol=17&src_ip=10.1.1.2"))
            self.assertEqual(daemon.status()["intake"]["kernel_drops"], 0)
            for _, raw in self.sent.values():
                self.sender.send(raw)
            daemon.wait(lambda: daemon.status()["intake"]["frames"] >= FLOWS * (PKTS + 1))
            self.assertEqual(daemon.end(), 0)
        self.assertEqual(self.stored("getCount", "--dst-port", 80, "--src-ip", "10.1.1.2")["pkts"],
                         FLOWS * (PKTS + 1))


if __name__ == "__main__":
    main()
