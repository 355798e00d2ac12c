# SPDX-License-Identifier: Apache-2.0
"""`strip`: the host's own stack gets packets without tags exactly as long as the agent lives,
however it dies."""
import tempfile
import unittest

import scenario                                 # makes the modules of the bed importable
from agent import Agent
from scenario import probe, serve_all

HOST, OTHER_POD, SAME_RACK = 25, 21, 26


class Strip(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory(prefix="pathdump-strip."))
        self.bed = self.enterContext(scenario.bed("strip", tagged={HOST}))
        serve_all(self.bed)

    def check(self, tagged_packets_arrive):
        addresses = self.bed.host(HOST).node.addrs
        self.assertEqual(set(probe(self.bed.host(OTHER_POD), addresses)[0].values()),
                         {int(tagged_packets_arrive)})
        self.assertEqual(set(probe(self.bed.host(SAME_RACK), addresses)[0].values()), {1},
                         "packets without a tag always arrive")

    def test_ends_with_the_agent(self):
        self.check(False)
        agent = Agent(self.bed.host(HOST), self.folder).start()
        self.check(True)
        agent.stop()
        self.check(False)

    def test_ends_with_a_killed_agent(self):
        agent = Agent(self.bed.host(HOST), self.folder).start()
        self.check(True)
        agent.kill()
        self.check(False)
        agent.start()
        self.check(True)
        agent.stop()
        self.check(False)

    def test_only_when_asked_for(self):
        with Agent(self.bed.host(HOST), self.folder, options=()):
            self.check(False)

    def test_two_tags(self):
        with Agent(self.bed.host(HOST), self.folder) as agent:
            self.bed.link_down(11, 3)           # down by 11 is a detour now, down by 12 is none
            address = self.bed.host(HOST).ipv4
            self.assertEqual(probe(self.bed.host(OTHER_POD), [address] * 32)[0], {address: 32})
            lengths = {len(row["path"]) for row in agent.query("getFlows")["flows"]}
            self.assertEqual(lengths, {5, 7})


if __name__ == "__main__":
    scenario.main()
