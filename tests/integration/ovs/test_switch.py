#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The daemon and the patched switch: nothing lost, nothing twice, whoever is killed."""
import os
import signal
import time

from case import SwitchTest, main
from peer import LIVE_RECORDS, UPDATES, Peer
from programs import Daemon

# packets that are counted in records before they are in the counters
BURST = 32


class TestSwitch(SwitchTest):
    def test_agent_killed(self):
        """in the middle of endless traffic the agent is killed again and again: what the switch
        counted is what is stored"""
        self.start_switch(**{"trajectory-active-ms": 300})
        pcap, _ = self.traffic("a.pcap", 3000, pkts=1)
        agent = self.agent()
        port = self.switch.replay(pcap, options=",infinite_rx=1")
        for dead_s in (.5, .1, 2):
            time.sleep(.8)
            agent.end(signal.SIGKILL)
            time.sleep(dead_s)
            agent = self.agent()
        time.sleep(.5)
        counted = self.stop_counting(port)
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
        self.kill_switch(agent)
        self.wait_count(agent, pkts)
        self.switch.vsctl("--no-wait", "del-port", port)
        self.switch.boot()
        agent.wait_state("running")
        self.switch.replay(two)
        self.wait_count(agent, pkts + more)
        self.assertEqual(agent.end(), 0)
        self.assertEqual(self.stored("getCount")["pkts"], pkts + more)

    def kill_switch(self, agent):
        self.switch.daemon.kill()
        self.switch.daemon.wait()
        agent.wait_state("waiting")

    def test_switch_killed_under_traffic(self):
        """in the middle of endless traffic: each record that was complete is stored. The truth is
        the dead switch's memory itself"""
        self.start_switch(**{"trajectory-active-ms": 300})
        pcap, _ = self.traffic("a.pcap", 3000, pkts=1)
        self.switch.replay(pcap, options=",infinite_rx=1")
        with Peer(self.switch.socket) as peer:
            regions = peer.attach(self.switch.regions())
        agent = self.agent()
        time.sleep(1)
        self.kill_switch(agent)
        counted = sum(region.word(UPDATES) for region in regions)
        torn = agent.status()["intake"]["torn_records"]
        self.assertEqual(agent.end(), 0)
        stored = self.stored("getCount")["pkts"]
        self.assertGreater(counted, 10000)
        self.assertLessEqual(stored, counted + BURST)
        if torn == 0:
            self.assertGreaterEqual(stored, counted)
        self.assertLessEqual(torn, len(regions))
        live = sum(region.word(LIVE_RECORDS) for region in regions)
        self.assertEqual(live, 3000, "nothing was live when it died")

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

    def test_one_at_a_time(self):
        """an agent waits for the switch, a second one for the first"""
        first = self.start(intake="ovs:" + self.path("trajectory.sock"))
        first.wait_state("waiting")
        self.assertIn("waiting for the switch", first.status()["intake"]["detail"])
        self.start_switch()
        first.wait_state("running")
        other = self.path("other")
        os.mkdir(other)
        with Daemon(other, intake="ovs:" + self.switch.socket, topology=self.topology) as second:
            second.wait(lambda: "another agent" in second.status()["intake"]["detail"])
            self.assertEqual(second.status()["intake"]["state"], "waiting")
            first.end(signal.SIGKILL)
            second.wait_state("running")


if __name__ == "__main__":
    main()
