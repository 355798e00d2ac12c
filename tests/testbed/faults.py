# SPDX-License-Identifier: Apache-2.0
"""Faults of a test bed: what goes wrong in a network, on purpose, and taken back again.

    number = bed.faults.add("loss", 9, 17, 0.1)      every tenth packet from switch 9 to switch 17 is lost, the other direction is well
    bed.faults.list()                                {1: "loss: of packets from 9 to 17, 10 % are lost"}
    bed.faults.clear(number)                         clear() takes all of them back

A fault says only what it wants: filters and queues on sending interfaces, flows of table 1, groups that hash differently, links that are down.
The Kit sums that up over all faults that are on, and changes what differs from before; so any two go together, and each can be taken back alone.

Where packets are lost, they are lost on the *sender's* egress: Open vSwitch reads frames before the ingress hooks of an interface see them.
"""
import traffic
from switches import matches, run_all

FIRST_PREF = 40000              # of our tc filters
LOOP_PRIORITY, TAG_PRIORITY = 160, 300
QUEUE_PKTS, BURST_BYTES, FRAME_BYTES = 16, 3100, 1522
MOST_RATE_MBIT = 1000
STOLEN, GO_ON = 4, 0xFFFFFFFF   # TC_ACT_STOLEN: lost, but the sender is not told: Open vSwitch would drop the rest of its batch; TC_ACT_UNSPEC
LOAD_RANDOM = "32 0 0 4294963256"   # classic BPF: BPF_LD | BPF_W | BPF_ABS, SKF_AD_OFF + SKF_AD_RANDOM


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

    def flows(self, _switch):
        """lines for the flow table of a switch"""
        return []

    def sprays(self):
        """{switch: {neighbour: weight}}: packets are spread over equal paths one by one; a neighbour that is not named has weight 1"""
        return {}

    def by_size(self):
        """{switch: neighbour}: large flows go there, all others elsewhere"""
        return {}

    def down(self):
        """links that are down"""
        return set()

    def link(self, a, b):
        """two neighbours, a switch or a host each"""
        a, b = int(a), int(b)
        if a not in self.bed.fabric.nodes or b not in self.bed.fabric.nodes[a].peers:
            raise RuntimeError(f"no link {a}-{b}")
        return a, b

    def switch(self, which):
        found = next((n for n in self.bed.fabric.switches if n.id == int(which)), None)
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
    """loop A,B,C,… HOST: packets for a host go round in a circle of switches once they are at the first one"""

    def read(self, circle, to):
        self.circle = [int(i) for i in str(circle).split(",")]
        for a, b in self.steps():
            self.link(self.switch(a).id, self.switch(b).id)
        if len(self.circle) < 4 or len(set(self.steps())) < len(self.circle):
            raise RuntimeError(f"a loop has 4 switches or more and crosses each link once, not {circle}")
        self.host = self.bed.host(to)

    def text(self):
        return f"packets for {self.host.ipv4} go round {'-'.join(map(str, self.circle + self.circle[:1]))}: {len(self.circle)} hops"

    def steps(self):
        return list(zip(self.circle, self.circle[1:] + self.circle[:1]))

    def flows(self, switch):
        """a switch may be in the circle twice, so what comes in by which port decides; the first one also takes what comes from elsewhere.
        A fat-tree of 4 has no circle of 6 different switches: there, one of them sends back what it gets"""
        lines, node = [], self.bed.fabric.nodes[switch]
        for (before, here), (_, after) in zip(self.steps(), self.steps()[1:] + self.steps()[:1]):
            if here == switch:
                lines += self.send(f"{LOOP_PRIORITY},in_port={node.port(before)}", f"output:{node.port(after)}" if after != before else "in_port")
        if self.circle[0] == switch:
            lines += self.send(f"{LOOP_PRIORITY - 1}", f"output:{node.port(self.circle[1])}")
        return lines

    def send(self, start, action):
        return [f"table=1,priority={start},{match},actions={action}" for match in matches(self.host.node.addrs)]


class SizeHash(Fault):
    """size-hash A B: a bad hash in switch A sends large flows to B, all others elsewhere"""

    def read(self, a, b):
        self.ends = self.link(self.switch(a).id, self.switch(b).id)

    def text(self):
        return f"{self.ends[0]} sends large flows (to TCP port {traffic.LARGE_PORT}) to {self.ends[1]}, all others elsewhere"

    def by_size(self):
        return dict([self.ends])


class Spray(Fault):
    """spray all|SWITCHES [PEER=WEIGHT,…]: packets, not flows, are spread over equal paths, by weight"""

    def read(self, which, weights=""):
        ids = [n.id for n in self.bed.fabric.switches] if which == "all" else [self.switch(i).id for i in str(which).split(",")]
        self.which, self.spread = which, {i: {} for i in ids}
        for peer, _, weight in (word.partition("=") for word in weights.split(",") if word):
            beside = [i for i in ids if int(peer) in self.bed.fabric.switch_peers(i)]
            if not beside:
                raise RuntimeError(f"no neighbour {peer} of these switches")
            for i in beside:
                self.spread[i][int(peer)] = int(number(weight, 1, 16, "a weight"))

    def text(self):
        weights = {peer: weight for spread in self.spread.values() for peer, weight in spread.items()}
        unequal = "".join(f", towards {peer} with weight {weight}" for peer, weight in sorted(weights.items()))
        return f"packets of a flow are spread over equal paths one by one by {f'switches {self.which}' if self.which != 'all' else 'all switches'}{unequal}"

    def sprays(self):
        return self.spread

    def filters(self):
        return {(h.id, h.rack): ["object-file", self.bed.spray_object(), "section", "tc"] for h in self.bed.hosts.values()}


class RateLimit(Fault):
    """rate-limit A B MBIT [PKTS]: what A sends to B has so much room, behind a short queue that drops at its tail (incast, outcast)"""

    def read(self, a, b, mbit, pkts=QUEUE_PKTS):
        self.ends, self.mbit = self.link(a, b), number(mbit, 0.1, MOST_RATE_MBIT, "a rate in Mb/s")
        self.pkts = int(number(pkts, 1, 10000, "a queue in packets"))

    def text(self):
        return f"from {self.ends[0]} to {self.ends[1]} there are {self.mbit:g} Mb/s behind a queue of {self.pkts} packets"

    def queues(self):
        return {self.ends: ["tbf", "rate", f"{round(self.mbit * 1e6)}bit", "burst", str(BURST_BYTES), "limit", str(self.pkts * FRAME_BYTES)]}


class WrongTag(Fault):
    """wrong-tag A B TAG: on packets that come from A, switch B writes this tag in place of its own for that link"""

    def read(self, a, b, tag):
        self.ends, self.tag = self.link(self.switch(a).id, self.switch(b).id), int(number(tag, 1, 4094, "a tag"))

    def text(self):
        return f"switch {self.ends[1]} writes tag {self.tag} on what comes from {self.ends[0]}"

    def flows(self, switch):
        """the tag is changed after it was written: table 0 may belong to a controller"""
        before, here = self.ends
        if switch != here:
            return []
        start = f"table=1,priority={TAG_PRIORITY},in_port={self.bed.fabric.nodes[here].port(before)}"
        right = self.bed.tag_of(before, here)
        if right == self.tag:
            raise RuntimeError(f"{right} is the right tag of the link {before}-{here}")
        return [f"{start},dl_vlan={right},actions=set_field:{0x1000 | self.tag}->vlan_vid,resubmit(,1)"]


KINDS = {"loss": Loss, "blackhole": Blackhole, "link-down": LinkDown, "loop": Loop, "size-hash": SizeHash, "spray": Spray,
         "rate-limit": RateLimit, "wrong-tag": WrongTag}


class Kit:
    """the faults of a bed that are on, by number, and what was done for them"""

    def __init__(self, bed):
        self.bed, self.on, self.next = bed, {}, 1
        self.filters, self.queues = {}, {}      # {(node, neighbour): what is there now}

    def add(self, kind, *words):
        """puts a fault on; returns its number. RuntimeError in words when that cannot be"""
        if kind not in KINDS:
            raise RuntimeError(f"no fault {kind}; there are {', '.join(KINDS)}")
        try:
            fault = KINDS[kind](self.bed, *words)
        except (TypeError, ValueError):
            raise RuntimeError(f"a fault is given as: {KINDS[kind].__doc__.partition(':')[0]}") from None
        taken = set(fault.queues()) & set(self.queues)
        if taken:
            raise RuntimeError("there is a queue on {}-{} already".format(*min(taken)))
        mine, self.next = self.next, self.next + 1
        before, self.on = self.on, {**self.on, mine: (kind, fault)}
        self.apply(before)
        return mine

    def clear(self, *numbers):
        """takes these faults back; all without a number"""
        missing = [str(n) for n in numbers if n not in self.on]
        if missing:
            raise RuntimeError(f"no fault {', '.join(missing)}")
        before, self.on = self.on, {n: entry for n, entry in self.on.items() if numbers and n not in numbers}
        self.apply(before)

    def list(self):
        return {n: f"{kind}: {fault.text()}" for n, (kind, fault) in self.on.items()}

    def all(self):
        return [fault for _, fault in self.on.values()]

    def apply(self, before):
        """makes the bed what the faults want; when that fails, as it was"""
        try:
            self.make()
        except BaseException:
            self.on = before
            self.make()
            raise

    def make(self):
        (filters, queues), before = self.wanted(), (self.filters, self.queues)
        for ends in {*filters, *before[0]}:
            if filters.get(ends) != before[0].get(ends):
                self.set_filters(ends, filters.get(ends, []))
        for ends in {*queues, *before[1]}:
            if queues.get(ends) != before[1].get(ends):
                self.set_queue(ends, queues.get(ends))
        self.filters, self.queues = filters, queues
        self.bed.set_faulty_links(set().union(*(fault.down() for fault in self.all())))

    def wanted(self):
        filters, queues = {}, {}
        for fault in self.all():
            for ends, words in fault.filters().items():
                if words not in filters.setdefault(ends, []):
                    filters[ends].append(words)
            queues.update(fault.queues())
        return filters, queues

    def tc(self, ends, *words, missing_is_fine=False):
        namespace, name = self.bed.end_of(*ends)
        command = ["nsenter", f"--net={namespace}", "--", "tc", *words]
        command[6:6] = ["dev", name]
        try:
            run_all([(command, None, None)])
        except RuntimeError:
            if not missing_is_fine:
                raise

    def set_filters(self, ends, wanted):
        """an agent may have a clsact of its own on the interface: only our filters come and go"""
        for at in range(len(self.filters.get(ends, []))):
            self.tc(ends, "filter", "del", "egress", "pref", str(FIRST_PREF + at), missing_is_fine=True)
        if wanted:
            self.tc(ends, "qdisc", "add", "clsact", missing_is_fine=True)
        for at, words in enumerate(wanted):
            self.tc(ends, "filter", "add", "egress", "pref", str(FIRST_PREF + at), "bpf", "da", *words)

    def set_queue(self, ends, wanted):
        self.tc(ends, "qdisc", "del", "root", missing_is_fine=True)
        if wanted:
            self.tc(ends, "qdisc", "add", "root", *wanted)

    # What the flow tables ask

    def flows(self, switch):
        return [line for fault in self.all() for line in fault.flows(switch)]

    def weights(self, switch):
        """{neighbour: weight} of a switch that sprays, None of one that does not"""
        found = [fault.sprays()[switch] for fault in self.all() if switch in fault.sprays()]
        return {peer: weight for weights in found for peer, weight in weights.items()} if found else None

    def large_to(self, switch):
        """where a switch sends large flows, None when they are like all others"""
        return next((fault.by_size()[switch] for fault in self.all() if switch in fault.by_size()), None)

    # The bed's state

    def save(self):
        return {"next": self.next, "on": [[n, kind, *fault.words] for n, (kind, fault) in self.on.items()]}

    def load(self, state):
        self.next = state["next"]
        self.on = {n: (kind, KINDS[kind](self.bed, *words)) for n, kind, *words in state["on"]}
        self.filters, self.queues = self.wanted()
        self.bed.faulty_links = set().union(*(fault.down() for fault in self.all()))
