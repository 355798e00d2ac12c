# SPDX-License-Identifier: Apache-2.0
"""What the tests on the test bed share: where things are, probes, and the true table of flows and
paths."""
import json
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "testbed"))

import traffic                                  # noqa: E402  (found by the line above)
from bed import Bed                             # noqa: E402
from keeper import STATE, TOKEN                 # noqa: E402

BINARIES = os.environ.get("PATHDUMP_BIN",
                          os.path.join(HERE, "..", "..", "..", "build", "release", "bin"))
FABRIC = os.environ.get("PATHDUMP_FABRIC", "ovs")
COMMAND = os.path.join(HERE, "..", "..", "testbed", "bed")
# UDP payload that fills an IPv6 packet of 1500 bytes
FULL_SIZE = 1452


def bed(name, fabric=FABRIC, controller=False, owner=os.getpid(), **options):
    """a bed of this process, or of the one that `owner` is, with a name of its own"""
    return Bed(f"{name}{owner}", binaries=BINARIES, fabric=fabric, controller=controller, **options)


def probe(host, addresses, number=1, size=FULL_SIZE):
    """{address: answers} and the source ports of UDP probes from a host"""
    answer = json.loads(start_probe(host, addresses, number, size).communicate()[0])
    return answer["answered"], answer["src_ports"]


def start_probe(host, addresses, number=1, size=FULL_SIZE):
    words = [sys.executable, traffic.__file__, "probe", traffic.PORT, "-n", number, "-s", size,
             *addresses]
    return host.popen(words, stdout=subprocess.PIPE, text=True)


def serve_all(a_bed):
    for host in a_bed.hosts.values():
        traffic.Server(host)


def unreachable(a_bed):
    """pairs (host, address) without an answer, of all pairs of hosts over both families"""
    probes = {h.name: start_probe(h, [a for o in a_bed.hosts.values() if o is not h
                                      for a in o.node.addrs]) for h in a_bed.hosts.values()}
    answers = {name: json.loads(p.communicate()[0])["answered"] for name, p in probes.items()}
    return [(name, address) for name, answered in answers.items()
            for address, got in answered.items() if not got]


def true_paths(a_bed, account):
    """{flow ID: {path: (pkts, bytes)}} from the account of a time in which every flow kept one path
    (AssertionError if one did not); what a busy machine may have lost on the way is not in it"""
    table = {}
    host_of = {a: h.id for h in a_bed.hosts.values() for a in h.node.addrs}
    for flow, links in account.items():
        if flow[1] not in host_of:
            continue                            # multicast that a host sends by itself
        following = {a: b for a, b in links}
        assert len(following) == len(links), f"{flow} took two paths: {links}"
        at, path, counts = host_of[flow[0]], [], []
        while at in following:
            counts.append(links[at, following[at]])
            at = following[at]
            path.append(at)
        assert len(path) == len(links) and counts == sorted(
            counts, reverse=True), f"{flow} took no path: {links}"
        table[flow] = {tuple(path): counts[-1]}
    return table


def merge(tables):
    """the sum of several such tables"""
    total = {}
    for table in tables:
        for flow, paths in table.items():
            for path, (pkts, size) in paths.items():
                before = total.setdefault(flow, {}).get(path, (0, 0))
                total[flow][path] = before[0] + pkts, before[1] + size
    return total


def main():
    if os.geteuid():
        print("skipped: network namespaces need root")
        sys.exit(77)
    unittest.main(verbosity=2)
