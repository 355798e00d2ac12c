#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Applications that localise, on routers that tag nothing: hosts count what they receive, and trace
what they have to send again. With a fault they name it, without one nothing. One bed for all."""
import subprocess
import sys
import time
import unittest

import scenario                                 # makes the modules of the bed importable
import background
import traffic
from agent import Agent
from background import Background
from commands import wait_for

LINK, WAIT_S, LOOK_S = "5-9", 40, 6
RECEIVER, ACCESS_MBPS, PRESS_S, SENDERS = 15, 8, 8, 5
DROP = ("add table inet drops; add chain inet drops in {{ type filter hook input priority 0; }}; "
        "add rule inet drops in tcp dport {} numgen random mod 100 < 20 drop")
# what each is asked; the first three name links by votes or by evidence
ASKED = {"drop-causes": {}, "silent-drops": {"seconds": LOOK_S, "link_mbps": 1000},
         "protocol-bugs": {"seconds": LOOK_S, "link_mbps": 1000},
         "server-drops": {"seconds": LOOK_S}, "incast": {"senders": SENDERS, "link_mbps": 8},
         "blackhole": {"seconds": LOOK_S}}


class Untagged(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bed = scenario.bed("plain", fabric="router", controller=True)
        cls.enterClassContext(cls.bed)
        agents = [Agent(host, cls.bed.folder, options=(
            "--trace", "suffering", "--trace-rate", "100")).launch()
            for host in cls.bed.hosts.values()]
        for agent in agents:
            agent.ready()
        cls.receiver = cls.bed.hosts[RECEIVER]
        cls.access = f"{cls.receiver.rack}-{RECEIVER}"

    def setUp(self):
        self.addCleanup(self.bed.faults.clear)

    def ask(self, name, since=None, **more):
        arguments = {**ASKED[name], **more}
        if name == "blackhole" and since:
            arguments["seconds"] = time.time() - since
        if name == "drop-causes":
            arguments["from"] = f"{since or time.time() - LOOK_S:.3f}"
        return self.bed.controller.app(name, **arguments)

    def wait_report(self, name, condition, **arguments):
        last = []

        def wanted():
            last[:] = [self.ask(name, **arguments)]
            return condition(last[0])
        try:
            wait_for(wanted, f"the verdict of {name}", WAIT_S)
        except TimeoutError as error:
            self.fail(f"{error}: {last[0]}")
        return last[0]

    # numbered: what was lost before is told of, too

    def test_1_nothing_is_named_where_nothing_is_lost(self):
        with Background(self.bed.hosts.values(), rate_mbit=1):
            time.sleep(4)
            for name in ASKED:
                report = self.ask(name)
                self.assertEqual((report["links"], report["certain"]), ([], False), report)
            self.assertEqual(self.ask("blackhole")["switches"], [])
            report = self.ask("silent-drops", method="votes")
            self.assertEqual(report["links"], [], report)

    def test_2_a_link_that_loses_packets(self):
        """by votes, by evidence, with the flows that it hurt; protocol-bugs and incast leave it"""
        since = time.time()
        with Background(self.bed.hosts.values(), rate_mbit=1):
            self.bed.faults.add("loss", *LINK.split("-"), "0.05")
            report = self.wait_report("silent-drops", lambda r: r["links"] == [LINK])
            self.assertTrue(report["evidence"], report)
            report = self.wait_report("silent-drops", lambda r: r["links"][:1] == [LINK],
                                      method="votes")
            self.assertFalse(report["certain"], report)
            report = self.wait_report("drop-causes", lambda r: r["links"][:1] == [LINK],
                                      since=since, flows=True)
            self.assertEqual(report["results"]["ranking"][0]["link"], LINK)
            for name in ("protocol-bugs", "incast"):
                self.assertEqual(self.ask(name)["links"], [], name)

    def test_3_a_server_that_drops(self):
        """what was sent again had arrived: the host drops it, the links before it are sound"""
        time.sleep(LOOK_S)
        server = traffic.Server(self.receiver)
        self.addCleanup(server.close)
        self.receiver.run(["nft", DROP.format(traffic.PORT)], check=True)
        self.addCleanup(self.receiver.run, ["nft", "delete table inet drops"])
        begun = time.time()
        senders = [traffic.Sender(host, self.receiver.ipv4, 2, rate_mbit=4)
                   for host in self.bed.hosts.values() if host is not self.receiver]
        for sender in senders:
            self.addCleanup(lambda p=sender.process: (p.kill(), p.communicate()))
            sender.start(400_000)
        report = self.wait_report("server-drops", lambda r: any(
            row["lost_by"] == "server" for row in r.get("results", {}).get("servers", ())),
            server=RECEIVER)
        self.assertEqual({row["server"] for row in report["results"]["servers"]}, {RECEIVER})
        # who sees only what was sent again sees where it was lost: at this host's link or behind
        self.wait_report("drop-causes", lambda r: r["links"][:1] == [self.access], since=begun)

    def test_4_incast(self):
        """many senders, a slow access link with a short queue: their traced paths have nothing else
        in common"""
        server = traffic.Server(self.receiver)
        self.addCleanup(server.close)
        self.bed.faults.add("rate-limit", self.receiver.rack, RECEIVER, ACCESS_MBPS)
        for host in self.bed.hosts.values():
            if host is not self.receiver:
                process = host.popen([sys.executable, background.__file__, "press",
                                      self.receiver.ipv4, traffic.PORT, PRESS_S],
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                self.addCleanup(lambda p=process: (p.kill(), p.wait()))
        report = self.wait_report("incast", lambda r: r["links"] == [self.access])
        self.assertTrue(any(len(flow["path"]) > 1 for flow in report["flows"]), report)

    def test_5_a_blackhole(self):
        """traces end at the switch before it: what is suspected are its links onwards and, unless
        the next switches are known to answer, what is behind them; nothing is certain"""
        time.sleep(LOOK_S)
        near, far = (int(end) for end in LINK.split("-"))
        network = self.bed.network
        onwards = {peer for peer in network.switch_peers(near) if peer > near}
        behind = {peer for switch in onwards for peer in network.switch_peers(switch)}
        behind -= {node.id for node in network.switches if node.pod == network.nodes[near].pod}
        with Background(self.bed.hosts.values(), rate_mbit=1):
            begun = time.time()
            self.bed.faults.add("blackhole", near, far)
            # before the first trace has ended, silence alone suspects switches
            report = self.wait_report("blackhole", lambda r: (
                {near, far} <= set(r["switches"]) <= {near} | onwards | behind
                and "traces of their flows end" in r["verdict"]), since=begun)
        self.assertFalse(report["certain"], report)
        self.assertLessEqual(report["confidence"], .5)
        ended = [what for what in report["evidence"]
                 if f"answered by switch {near}, and by none behind" in what]
        self.assertTrue(ended, report)


if __name__ == "__main__":
    scenario.main()
