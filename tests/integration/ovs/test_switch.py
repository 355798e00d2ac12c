#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The daemon and the patched switch: nothing lost, nothing twice, whoever is killed; and the same records as from a capture."""
import json
import os
import signal
import socket
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../agent"))
from daemon import CLONE_NEWNET, START_US, Daemon, DaemonTest, frame, pathdump, unshare, write_pcap
from switch import OVS, Switch

PATHS = ((1, 9, 17, 11, 3), (1, 10, 19, 12, 3))


class TestSwitch(DaemonTest):
    def setUp(self):
        super().setUp()
        self.switch = None

    def start_switch(self, **settings):
        self.switch = Switch(self.folder, **settings)
        self.addCleanup(self.switch.stop)

    def agent(self):
        daemon = self.start(intake="ovs:" + self.switch.socket)
        daemon.wait_state("running")
        return daemon

    def traffic(self, name, flows, pkts=3, first_port=10000):
        """a capture of so many flows on both paths; its path in the file system, and its packets"""
        frames, tags = [], [self.tags(path) for path in PATHS]
        for n in range(flows):
            raw = frame("10.1.1.2", "10.2.1.2", first_port + n, 80, b"x" * (20 + n % 50), tags[n % 2])
            frames += [(START_US + i, raw) for i in range(pkts)]
        write_pcap(self.path(name), frames)
        return self.path(name), len(frames)

    @staticmethod
    def counts(answer):
        return sorted((f["flow_id"]["src_port"], tuple(f["path"]), f["pkts"], f["bytes"]) for f in answer["flows"])

    def wait_count(self, agent, pkts):
        agent.wait(lambda: agent.get("/v1/getCount?live=true")["pkts"] >= pkts)
        self.assertEqual(agent.get("/v1/getCount?live=true")["pkts"], pkts)

    def test_same_as_capture(self):
        """a capture through the switch and through the pcap intake: the same records"""
        self.start_switch()
        pcap, pkts = self.traffic("a.pcap", 500)
        agent = self.agent()
        self.switch.replay(pcap)
        self.wait_count(agent, pkts)
        self.assertEqual(agent.end(), 0)
        other = self.path("other")
        os.mkdir(other)
        with Daemon(other, "--exit-after-intake", intake="pcap:" + pcap, topology=self.topology) as daemon:
            self.assertEqual(daemon.process.wait(60), 0)
        theirs = pathdump("query", "--tib", os.path.join(other, "tib"), "getFlows", "--json")
        self.assertEqual(self.counts(self.stored("getFlows")), self.counts(json.loads(theirs)))

    def test_agent_killed(self):
        """in the middle of endless traffic the agent is killed again and again: what the switch counted is what is stored"""
        self.start_switch(**{"trajectory-active-ms": 300})
        pcap, _ = self.traffic("a.pcap", 3000, pkts=1)
        agent = self.agent()
        port = self.switch.replay(pcap, options=",infinite_rx=1")
        for _ in range(3):
            time.sleep(1.2)
            agent.end(signal.SIGKILL)
            time.sleep(.5)
            agent = self.agent()
        time.sleep(1)
        self.switch.vsctl("set", "interface", port, "other_config:trajectory=false")
        time.sleep(.2)
        counted = self.switch.show("packets counted in a record")
        self.assertGreater(counted, 10000)
        self.assertEqual(self.switch.show("packets not counted"), 0)
        time.sleep(.3)
        self.assertEqual(self.switch.show("packets counted in a record"), counted)
        self.wait_count(agent, counted)
        self.assertEqual(agent.end(), 0)
        self.assertEqual(self.stored("getCount")["pkts"], counted)

    def test_switch_killed(self):
        """what was counted is stored, and the agent attaches to the next one"""
        self.start_switch()
        one, pkts = self.traffic("a.pcap", 2000)
        two, more = self.traffic("b.pcap", 2000, first_port=20000)
        agent = self.agent()
        port = self.switch.replay(one)
        self.wait_count(agent, pkts)
        self.switch.daemon.kill()
        self.switch.daemon.wait()
        agent.wait_state("waiting")
        self.wait_count(agent, pkts)
        self.switch.vsctl("--no-wait", "del-port", port)
        self.switch.boot()
        agent.wait_state("running")
        self.switch.replay(two)
        self.wait_count(agent, pkts + more)
        self.assertEqual(agent.end(), 0)
        self.assertEqual(self.stored("getCount")["pkts"], pkts + more)

    def test_threads_come_and_go(self):
        """PMD threads move to another core and go: their records stay"""
        self.start_switch(**{"pmd-cpu-mask": "1"})
        pcap, pkts = self.traffic("a.pcap", 1000)
        agent = self.agent()
        port = self.switch.replay(pcap)
        self.wait_count(agent, pkts)
        self.switch.vsctl("set", "Open_vSwitch", ".", 'other_config:pmd-cpu-mask="2"')
        self.wait_count(agent, pkts)
        self.switch.vsctl("del-port", port)
        self.wait_count(agent, pkts)
        agent.wait(lambda: "closed" not in self.switch.appctl("trajectory/show"))
        self.wait_count(agent, pkts)

    def test_one_at_a_time_and_looking_in(self):
        """a second agent waits; show, dump and the metrics tell the same"""
        self.start_switch()
        pcap, pkts = self.traffic("a.pcap", 100)
        agent = self.agent()
        self.switch.replay(pcap)
        self.wait_count(agent, pkts)
        other = self.path("other")
        os.mkdir(other)
        with Daemon(other, intake="ovs:" + self.switch.socket, topology=self.topology) as second:
            second.wait(lambda: "another agent" in second.status()["intake"]["detail"])
            self.assertEqual(second.status()["intake"]["state"], "waiting")
        self.assertEqual(self.switch.show("packets counted in a record"), pkts)
        self.assertEqual(self.switch.show("live records"), 100)
        self.assertEqual(len(self.switch.appctl("trajectory/dump").splitlines()), 100)
        self.assertEqual(len(self.switch.appctl("trajectory/dump", "sport=10007,").splitlines()), 1)
        self.assertEqual(agent.status()["trajectory"]["updates"], pkts)
        self.assertIn(f"pathdump_trajectory_updates_total {pkts}\n", agent.raw("/metrics")[2].decode())

    def test_main_thread_ports(self):
        """a port that the main thread polls (tap) counts and strips as well; one that does not ask for it is left alone"""
        self.start_switch()
        agent = self.agent()
        for name, wanted in (("counted", "true"), ("plain", "false")):
            self.switch.vsctl("add-port", "br0", name, "--", "set", "interface", name, "type=tap", f"other_config:trajectory={wanted}")
            subprocess.run(["ip", "link", "set", name, "up"], check=True)
        raw = frame("10.1.1.2", "10.2.1.2", 4000, 80, b"x" * 72, self.tags(PATHS[0]))
        heard = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        heard.bind(("plain", 0))
        heard.settimeout(.1)
        for name, count in (("counted", 20), ("plain", 7)):
            sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
            sender.bind((name, 0))
            for _ in range(count):
                sender.send(raw)
            sender.close()
        self.wait_count(agent, 20)
        self.assertEqual(self.switch.show("frames ok"), 20)
        self.assertTrue(any(frame_ == frame("10.1.1.2", "10.2.1.2", 4000, 80, b"x" * 72) for frame_ in self.received(heard)))
        heard.close()

    @staticmethod
    def received(heard):
        while True:
            try:
                yield heard.recv(2000)
            except TimeoutError:
                return


if __name__ == "__main__":
    if not os.path.exists(f"{OVS}/vswitchd/ovs-vswitchd"):
        print("tools/ovs build was not run")
        sys.exit(77)
    if os.geteuid():
        print("needs root: network namespaces")
        sys.exit(1)
    unshare(CLONE_NEWNET)           # taps and bridges of the switch are seen by nobody else
    subprocess.run(["ip", "link", "set", "dev", "lo", "up"], check=True)
    with open("/proc/sys/net/ipv6/conf/default/disable_ipv6", "w", encoding="ascii") as out:
        out.write("1")              # else the kernel would send frames of its own
    unittest.main(verbosity=2)
