# SPDX-License-Identifier: Apache-2.0
"""The network of the test bed itself: every host reaches every host over both families, with and
without tagging and with links down; ECMP uses all paths; a packet that would need a third tag goes
to the controller."""
import json
import unittest

import scenario                                 # makes the modules of the bed importable
import traffic
from scenario import probe, serve_all, start_probe, true_paths, unreachable
from wire import Account

FAULTS = {"source pod": [(9, 17), (9, 18)], "destination pod": [(11, 3)], "core": [(17, 11)],
          "rack": [(1, 9)]}
FLOWS = 64


class Forwarding(unittest.TestCase):
    def test_reachability_without_tags(self):
        with scenario.bed("plain", tags=False) as bed:
            serve_all(bed)
            self.assertEqual(unreachable(bed), [])

    def test_reachability_with_tags(self):
        with scenario.bed("tags") as bed:
            serve_all(bed)
            self.assertEqual(unreachable(bed), [])
            for name, links in FAULTS.items():
                for link in links:
                    bed.link_down(*link)
                self.assertEqual(unreachable(bed), [], f"with {name} links down")
                for link in links:
                    bed.link_up(*link)
            self.assertEqual(unreachable(bed), [], "with all links up again")

    def test_all_equal_paths_are_used(self):
        """packets take each path that the bed names, and no other"""
        with scenario.bed("ecmp", tags=False) as bed:
            serve_all(bed)
            for links in [[], *FAULTS.values()]:
                for link in links:
                    bed.link_down(*link)
                account, addrs = Account(bed), bed.host(25).node.addrs
                self.assertEqual(probe(bed.host(21), addrs * FLOWS, size=40)[0],
                                 dict.fromkeys(addrs, FLOWS))
                table = true_paths(bed, account.stop())
                for address in addrs:
                    used = {path for flow, paths in table.items() if flow[1] == address
                            for path in paths}
                    self.assertEqual(used, set(bed.paths(21, 25)), f"{address} with {links} down")
                for link in links:
                    bed.link_up(*link)

    def test_third_tag_is_punted(self):
        """a detour in the pod of the source and another one by a second core: the core that would
        push the third tag gives the packet to the controller, and it is not delivered"""
        with scenario.bed("punt") as bed:
            serve_all(bed)
            for link in ((9, 17), (9, 18), (19, 12)):
                bed.link_down(*link)
            account = Account(bed)
            answers = [json.loads(p.communicate()[0]) for p in [
                start_probe(bed.host(21), ["10.2.1.2"], size=40) for _ in range(FLOWS)]]
            links = account.stop()
            ports = {a["src_ports"][0]: a["answered"]["10.2.1.2"] for a in answers}
            long = {flow[2] for flow, seen in links.items() if flow[2] in ports and (9, 2) in seen
                    and (10, 19) in seen}
            self.assertTrue(0 < len(long) < FLOWS, f"{len(long)} flows took the long way")
            self.assertEqual({port for port, answered in ports.items() if not answered}, long)
            self.assertEqual(bed.fabric.punted(), len(long))

    def test_transfer(self):
        """TCP over both families, its payload checked"""
        with scenario.bed("tcp") as bed:
            traffic.Server(bed.host(25))
            for address in bed.host(25).node.addrs:
                sender = traffic.Sender(bed.host(21), address, connections=4)
                self.assertEqual(len(set(sender.send(200_000))), 4)
                sender.close()


if __name__ == "__main__":
    scenario.main()
