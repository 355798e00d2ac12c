# SPDX-License-Identifier: Apache-2.0
"""The matrix: what goes wrong in which network. A case is a scenario whose faults are drawn by the
seed; the same scenario is simulated and put on a test bed."""
import json
import os
import random
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "testbed"))
from network import Network                     # noqa: E402  (found by the line above)

SIZES = os.path.join(HERE, "..", "..", "testbed", "generator", "short.csv")
START_S = 5                                     # of faults, so that what is said before is seen
SECONDS = 40
LINK_MBPS = 100                                 # 16 hosts at 35 % are the 560 Mb/s of the fast bed
FAT_TREE = ("fat-tree", "--k", 4)
UP, DOWN, ACROSS, BACK = ("tor", "agg"), ("agg", "tor"), ("agg", "core"), ("core", "agg")
TIERS = (UP, DOWN, ACROSS, BACK)


class Draw:
    """what a seed chooses in a network"""

    def __init__(self, network, seed):
        self.network, self.random = network, random.Random(seed)

    def links(self, count=1, tiers=TIERS):
        """directed links between switches of these roles, different ones; of any where none has
        such"""
        nodes, role = self.network.nodes, lambda i: self.network.nodes[i].role
        every = [(a, b) for a in nodes for b in self.network.switch_peers(a)
                 if nodes[a].role != "host"]
        wanted = [(a, b) for a, b in every if (role(a), role(b)) in tiers] or every
        return [f"{a}-{b}" for a, b in self.random.sample(wanted, count)]

    def switch(self, roles):
        return self.random.choice([n.id for n in self.network.switches if n.role in roles])

    def host(self):
        return self.random.choice(self.network.hosts)


def lose(*rates, tiers=TIERS, **more):
    """so many links, each with its rate"""
    def faults(draw):
        links = draw.links(len(rates), tiers)
        return [dict({"link": link, "loss": rate, "start_s": START_S}, **more)
                for link, rate in zip(links, rates)]
    return faults


def lose_at_host(up):
    def faults(draw):
        host = draw.host()
        link = f"{host.id}-{host.peers[0]}" if up else f"{host.peers[0]}-{host.id}"
        return [{"link": link, "loss": .01, "start_s": START_S}]
    return faults


def lose_in_switch(*roles, **more):
    return lambda draw: [dict({"switch": draw.switch(roles), "loss": .01, "start_s": START_S},
                              **more)]


def swallow(choice):
    """a link that swallows all, or what is for a rack of another pod, or some of the flows"""
    def faults(draw):
        link = draw.links(1, (ACROSS,))[0]
        pod = draw.network.nodes[int(link.split("-")[0])].pod
        prefix = next((n.prefixes[0] for n in draw.network.racks if n.pod != pod), None)
        more = {"prefix": {"prefix": prefix}, "hash": {"hash": [0, 16383]}}.get(choice, {})
        fault = {"link": link, "blackhole": True, "start_s": START_S, **more}
        back = "-".join(reversed(link.split("-")))
        return [fault, dict(fault, link=back)] if choice == "port" else [fault]
    return faults


def move(draw):
    first, second = draw.links(2, (ACROSS,))
    return [{"link": first, "loss": .01, "start_s": START_S, "end_s": 15},
            {"link": second, "loss": .01, "start_s": 25}]


def skew(weight):
    """the thin one of two ways loses"""
    def faults(draw):
        link = draw.links(1, (ACROSS,))[0]
        a, b = map(int, link.split("-"))
        others = [p for p in draw.network.switch_peers(a) if draw.network.nodes[p].role == "core"
                  and p != b]
        return [{"switch": a, "weights": {str(b): 1, **{str(o): weight for o in others}}},
                {"link": link, "loss": .01, "start_s": START_S}]
    return faults


def nothing(_draw):
    return []


def incast(draw):
    """one rack's host is sent to by all hosts of other racks at once, again and again"""
    host = draw.host()
    far = [other for other in draw.network.hosts if other.peers[0] != host.peers[0]]
    return [{"src": other.id, "dst": host.id, "bytes": 100000, "start_s": START_S + .5 * i}
            for i in range(2 * (SECONDS - START_S)) for other in far]


class Case:
    """`bed`: whether a test bed can do it; `cards`: line cards are written into the topology
    file"""

    def __init__(self, name, faults=nothing, topology=FAT_TREE, load=.35, app="silent-drops",
                 bed=True, cards=False, seconds=SECONDS, flows=None, **members):
        self.name, self.faults, self.words, self.load, self.app = name, faults, topology, load, app
        self.flows = flows
        self.bed, self.cards, self.seconds, self.members = bed, cards, seconds, members

    def topology(self, binaries, folder):
        """the file, and the network in it"""
        file = os.path.join(folder, f"{'-'.join(map(str, self.words))}{'-cards' * self.cards}.json")
        if not os.path.exists(file):
            command = [os.path.join(binaries, "pathdump"), "topology", *map(str, self.words)]
            document = json.loads(subprocess.run(command, stdout=subprocess.PIPE,
                                                 check=True).stdout)
            for link in document["links"] if self.cards else ():
                link["target_card"] = 1 + link["source"] // 2 % 2
            with open(file, "w", encoding="utf-8") as out:
                json.dump(document, out)
        return file, Network(file)

    def scenario(self, binaries, folder, seed):
        """the scenario of a seed, as simulate reads it, and its network"""
        file, network = self.topology(binaries, folder)
        scenario = {"topology": os.path.abspath(file), "link_mbps": LINK_MBPS, "load": self.load,
                    "duration_s": self.seconds,
                    "flow_sizes": os.path.abspath(SIZES),
                    "faults": self.faults(Draw(network, f"{self.name} {seed}")), **self.members}
        if self.flows:
            scenario["flows"] = self.flows(Draw(network, f"{self.name} flows {seed}"))
        return scenario, network


def matrix():
    """all cases; the order is that of the tables"""
    cases = [Case(f"none-load-{percent}", load=percent / 100, bed=percent <= 50,
                  seconds=SECONDS if percent <= 50 else 10) for percent in (10, 35, 50, 70, 90)]
    cases += [Case("none-spray", spray=True), Case("none-vl2", topology=(
        "vl2", "--k", 4), load=.05), Case("none-k6", topology=("fat-tree", "--k", 6), load=.1),
              Case("none-leaf-spine",
                   topology=("leaf-spine", "--leaves", 4, "--spines", 4, "--hosts", 4))]
    cases += [Case(f"loss-{rate:g}", lose(rate / 100), seconds=SECONDS if rate >= .3 else 80)
              for rate in (.05, .1, .3, 1, 3, 20)]
    cases += [Case("two-equal", lose(.01, .01)), Case("three-equal", lose(.01, .01, .01)),
              Case("five-equal", lose(*[.01] * 5)),
              Case("mixed-2-0.3", lose(.02, .003), load=.5),
              Case("mixed-5-0.05", lose(.05, .0005), load=.5, seconds=80)]
    cases += [Case("burst-20", lose(.01, burst={"mean_pkts": 20})),
              Case("burst-100", lose(.02, burst={"mean_pkts": 100}))]
    cases += [Case("core", lose_in_switch("core")), Case("agg", lose_in_switch("agg")),
              Case("card", lose_in_switch("core", card=1), cards=True)]
    cases += [Case("host-up", lose_at_host(True)), Case("host-down", lose_at_host(False))]
    cases += [Case(f"blackhole-{kind}{name}", swallow(kind), app="blackhole", seconds=15,
                   flow_sizes=sizes) for kind in ("link", "port", "prefix", "hash")
              for name, sizes in (("", "web-search"), ("-short", os.path.abspath(SIZES)))]
    cases += [Case("none-incast", flows=incast, level="packet", buffer_pkts=128, bed=False),
              Case("incast", lose(.01), flows=incast, level="packet", buffer_pkts=128, bed=False)]
    cases += [Case("late", lose(.01, start_s=15)), Case("ends", lose(.01, end_s=20)),
              Case("moves", move, seconds=50),
              Case("late-large", lose(.01, start_s=15), flow_sizes="web-search"),
              Case("ends-large", lose(.01, start_s=5, end_s=20), flow_sizes="web-search")]
    cases += [Case(f"load-{percent}", lose(.01), load=percent / 100, bed=percent <= 50,
                   seconds=SECONDS if percent <= 50 else 15) for percent in (10, 30, 50, 70, 90)]
    cases += [Case("ecmp-3", skew(3)), Case("ecmp-9", skew(9)),
              Case("spray", lose(.01), spray=True)]
    cases += [Case("packets-128", lose(.01), level="packet", buffer_pkts=128, load=.5, bed=False),
              Case("packets-64", lose(.01), level="packet", buffer_pkts=64, load=.5, bed=False)]
    cases += [Case("k6", lose(.01), topology=("fat-tree", "--k", 6), load=.1),
              Case("vl2-4", lose(.01), topology=("vl2", "--k", 4), load=.05),
              Case("leaf-spine", lose(.01),
                   topology=("leaf-spine", "--leaves", 4, "--spines", 4, "--hosts", 4))]
    cases += [Case("k8", lose(.01), topology=("fat-tree", "--k", 8), bed=False, seconds=20),
              Case("k16", lose(.01), topology=("fat-tree", "--k", 16), bed=False, seconds=10)]
    return cases
