# SPDX-License-Identifier: Apache-2.0
"""Faults of a test bed: what goes wrong in a network, on purpose, and taken back again.

    number = bed.faults.add("loss", 9, 17, 0.1)      every tenth packet from switch 9 to switch 17
    is lost, the other direction is well
    bed.faults.list()                                {1: "loss: of packets from 9 to 17, 10 % are
    lost"}
    bed.faults.clear(number)                         clear() takes all of them back

A fault says only what it wants: filters and queues on sending interfaces, links that are down, and
what the fabric makes entries of (circles, weights, large flows, wrong tags). kit.py sums that up
over all faults that are on.

Where packets are lost, they are lost on the *sender's* egress: Open vSwitch reads frames before the
ingress hooks of an interface see them.
"""
import traffic

QUEUE_PKTS, BURST_BYTES, FRAME_BYTES = 16, 3100, 1522
MOST_RATE_MBIT = 1000
# TC_ACT_STOLEN: lost, but the sender is not told: Open vSwitch would drop the rest of its batch;
# TC_ACT_UNSPEC
STOLEN, GO_ON = 4, 0xFFFFFFFF
# classic BPF: BPF_LD | BPF_W | BPF_ABS, SKF_AD_OFF + SKF_AD_RANDOM
LOAD_RANDOM = "32 0 0 4294963256"


def lose(rate):
    """a classic BPF program for tc that loses this fraction of the packets, at random"""
    if rate >= 1:
        return f"1,6 0 0 {STOLEN}"
    return f"4,{LOAD_RANDOM},53 1 0 {round(rate * 2**32)},6 0 0 {STOLEN},6 0 0 {GO_ON}"


def number(text, least, most, what):
    """a number as it came from the command line or from a test"""
    value = float(text)
    if not least <= value <= most:
        raise RuntimeError(f"{what} is from {least} to {most}, not {text}")
    return value


class Fault:
    """what one fault does; `words` are its arguments, which are kept in the bed's state"""

    # {router: errors a second}; the router with another seed of ECMP
    icmp, rerouted = {}, None

    def __init__(self, bed, *words):
        self.bed, self.words = bed, [str(word) for word in words]
        self.read(*words)

    def read(self, *words):
        raise NotImplementedError

    def text(self):
        raise NotImplementedError

    def filters(self):
        """{(node, neighbour): tc words of a filter on what the node sends there}"""
        return {}

    def queues(self):
        """{(node, neighbour): tc words of the queue before what the node sends there}"""
        return {}

    def sprays(self):
        """{switch: {neighbour: weight}}: packets are spread over equal paths one by one; a
        neighbour that is not named has weight 1"""
        return {}

    def shares(self):
        """{switch: {neighbour: weight}}: flows are spread over equal paths by weight; a neighbour
        that is not named has weight 1"""
        return {}

    def by_size(self):
        """{switch: neighbour}: large flows go there, all others elsewhere"""
        return {}

    def down(self):
        """links that are down"""
        return set()

    def virtuals(self):
        """{virtual address: (addresses behind it, "dnat" or "slb", what the balancer does)}"""
        return {}

    def link(self, a, b):
        """two neighbours, a switch or a host each"""
        a, b = int(a), int(b)
        if a not in self.bed.network.nodes or b not in self.bed.network.nodes[a].peers:
            raise RuntimeError(f"no link {a}-{b}")
        return a, b

    def switch(self, which):
        found = next((n for n in self.bed.network.switches if n.id == int(which)), None)
        if not found:
            raise RuntimeError(f"no switch {which}")
        return found


class Loss(Fault):
    """loss A B RATE: a fraction of the packets from A to B is lost, at random"""

    def read(self, a, b, rate):
        self.ends, self.rate = self.link(a, b), number(rate, 0, 1, "a loss rate")

    def text(self):
        return f"of packets from {self.ends[0]} to {self.ends[1]}, {100 * self.rate:g} % are lost"

    def filters(self):
        return {self.ends: ["bytecode", lose(self.rate)]}


class Blackhole(Loss):
    """blackhole A B: all packets from A to B are lost, and nobody is told"""

    def read(self, a, b):
        super().read(a, b, 1)

    def text(self):
        return f"all packets from {self.ends[0]} to {self.ends[1]} are lost"


class LinkDown(Fault):
    """link-down A B: the link is down, and the switch before it repairs its routes"""

    def read(self, a, b):
        self.ends = self.link(a, b)

    def text(self):
        return f"the link {self.ends[0]}-{self.ends[1]} is down"

    def down(self):
        return {tuple(sorted(self.ends))}


class Loop(Fault):
    """loop A,B,C,… HOST: packets for a host go round in a circle of switches once they are at the
    first one"""

    def read(self, circle, to):
        self.circle = [int(i) for i in str(circle).split(",")]
        for a, b in self.steps():
            self.link(self.switch(a).id, self.switch(b).id)
        if len(self.circle) < 4 or len(set(self.steps())) < len(self.circle):
            raise RuntimeError(
                f"a loop has 4 switches or more and crosses each link once, not {circle}")
        self.host = self.bed.host(to)

    def text(self):
        return (f"packets for {self.host.ipv4} go round "
                f"{'-'.join(map(str, self.circle + self.circle[:1]))}: {len(self.circle)} hops")

    def steps(self):
        return list(zip(self.circle, self.circle[1:] + self.circle[:1]))


class SizeHash(Fault):
    """size-hash A B: a bad hash in switch A sends large flows to B, all others elsewhere"""

    def read(self, a, b):
        self.ends = self.link(self.switch(a).id, self.switch(b).id)

    def text(self):
        return (f"{self.ends[0]} sends large flows (to TCP port {traffic.LARGE_PORT}) to "
                f"{self.ends[1]}, all others elsewhere")

    def by_size(self):
        return dict([self.ends])


class Spray(Fault):
    """spray all|SWITCHES [PEER=WEIGHT,…]: packets, not flows, are spread over equal paths, by
    weight"""

    def read(self, which, weights=""):
        ids = [n.id for n in self.bed.network.switches] if which == "all" else [
            self.switch(i).id for i in str(which).split(",")]
        self.which, self.spread = which, {i: {} for i in ids}
        for peer, _, weight in (word.partition("=") for word in weights.split(",") if word):
            beside = [i for i in ids if int(peer) in self.bed.network.switch_peers(i)]
            if not beside:
                raise RuntimeError(f"no neighbour {peer} of these switches")
            for i in beside:
                self.spread[i][int(peer)] = int(number(weight, 1, 16, "a weight"))

    def text(self):
        weights = {peer: weight for spread in self.spread.values()
                   for peer, weight in spread.items()}
        unequal = "".join(f", towards {peer} with weight {weight}"
                          for peer, weight in sorted(weights.items()))
        return (f"packets of a flow are spread over equal paths one by one by "
                f"{f'switches {self.which}' if self.which != 'all' else 'all switches'}{unequal}")

    def sprays(self):
        return self.spread

    def filters(self):
        words = self.bed.fabric.spray_filter()
        return {(h.id, h.rack): words for h in self.bed.hosts.values()} if words else {}


class RateLimit(Fault):
    """rate-limit A B MBIT [PKTS]: what A sends to B has so much room, behind a short queue that
    drops at its tail (incast, outcast)"""

    def read(self, a, b, mbit, pkts=QUEUE_PKTS):
        self.ends, self.mbit = self.link(a, b), number(mbit, 0.1, MOST_RATE_MBIT, "a rate in Mb/s")
        self.pkts = int(number(pkts, 1, 10000, "a queue in packets"))

    def text(self):
        return (f"from {self.ends[0]} to {self.ends[1]} there are {self.mbit:g} Mb/s behind a "
                f"queue of {self.pkts} packets")

    def queues(self):
        return {self.ends: ["tbf", "rate", f"{round(self.mbit * 1e6)}bit", "burst",
                            str(BURST_BYTES), "limit", str(self.pkts * FRAME_BYTES)]}


class WrongTag(Fault):
    """wrong-tag A B TAG: on packets that come from A, switch B writes this tag in place of its own
    for that link"""

    def read(self, a, b, tag):
        self.ends, self.tag = self.link(self.switch(a).id,
                                        self.switch(b).id), int(number(tag, 1, 4094, "a tag"))

    def text(self):
        return f"switch {self.ends[1]} writes tag {self.tag} on what comes from {self.ends[0]}"
