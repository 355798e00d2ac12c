#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Switches in the kernel write path filters into a VLAN tag; agents read the paths that packets
took."""
import tempfile
import unittest

import scenario
import traffic
from agent import Agent, by_flow
from commands import wait_for
from scenario import probe, true_paths
from wire import Account

RECEIVER, SENDERS = 25, (21, 27, 35)
PROBES = 24


class PathFilters(unittest.TestCase):
    def test_paths(self):
        with tempfile.TemporaryDirectory(prefix="pathdump-filters.") as folder, \
                scenario.bed("filters", fabric="tc", tagged={RECEIVER, *SENDERS},
                             codec="path-bloom") as bed:
            receiver = bed.host(RECEIVER)
            traffic.Server(receiver)
            agents = [Agent(bed.host(i), folder).start() for i in (RECEIVER, *SENDERS)]
            account = Account(bed)
            for sender in SENDERS:
                for _ in range(PROBES):
                    probe(bed.host(sender), [receiver.ipv4, receiver.ipv6])
            truth = {flow: paths for flow, paths in true_paths(bed, account.stop()).items()
                     if flow[1] in receiver.node.addrs}
            self.assertGreaterEqual(len(truth), PROBES)
            self.assertGreater(len({path for paths in truth.values() for path in paths}), 6)

            def told():
                rows = by_flow(agents[0].query("getFlows"))
                return all({path: got[0] for path, got in rows.get(flow, {}).items()} ==
                           {path: got[0] for path, got in paths.items()}
                           for flow, paths in truth.items())
            wait_for(told, "the path of every flow", 20)
            for agent in agents:
                agent.stop()


if __name__ == "__main__":
    unittest.main()
