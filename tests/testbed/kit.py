# SPDX-License-Identifier: Apache-2.0
"""The faults of a test bed that are on: the Kit sums up what all of them want, and changes what
differs from before; so any two go together, and each can be taken back alone."""
import json
import time

from commands import inside, run_all
from faults import Blackhole, LinkDown, Loop, Loss, RateLimit, SizeHash, Spray, WrongTag
from notation import Noted
import virtual

FIRST_PREF = 40000              # of our tc filters
KINDS = {"loss": Loss, "blackhole": Blackhole, "link-down": LinkDown, "loop": Loop,
         "size-hash": SizeHash, "spray": Spray,
         "rate-limit": RateLimit, "wrong-tag": WrongTag, "noted": Noted, "vip": virtual.Virtual}


def noted(given):
    """(kind, words) of a fault as scenarios write it"""
    text = given if isinstance(given, str) else json.dumps(given)
    try:
        document = json.loads(text)
    except ValueError as error:
        raise RuntimeError(f"a fault: {error}") from None
    if isinstance(document, dict) and "vip" in document:
        return "vip", [text]
    return "noted", [text, time.monotonic_ns()]


class Kit:
    """the faults of a bed that are on, by number, and what was done for them"""

    def __init__(self, bed):
        self.bed, self.on, self.next = bed, {}, 1
        self.filters, self.queues = {}, {}      # {(node, neighbour): what is there now}
        self.virtuals = {}                      # {virtual address: what is there now}

    def add(self, kind, *words):
        """puts a fault on; returns its number. `kind`: a word of KINDS, or a fault as scenarios
        write it, as an object or as text. RuntimeError in words when that cannot be"""
        if isinstance(kind, dict) or kind.startswith("{"):
            kind, words = noted(kind)
        if kind not in KINDS:
            raise RuntimeError(f"no fault {kind}; there are {', '.join(KINDS)}")
        try:
            fault = KINDS[kind](self.bed, *words)
        except (TypeError, ValueError):
            raise RuntimeError(
                f"a fault is given as: {KINDS[kind].__doc__.partition(':')[0]}") from None
        self.check_room(fault)
        mine, self.next = self.next, self.next + 1
        before, self.on = self.on, {**self.on, mine: (kind, fault)}
        self.apply(before)
        return mine

    def check_room(self, fault):
        """RuntimeError: what it needs is taken by another one"""
        taken = set(fault.queues()) & set(self.queues)
        if taken:
            raise RuntimeError("there is a queue on {}-{} already".format(*min(taken)))
        if set(fault.virtuals()) & set(self.virtuals):
            raise RuntimeError("there is this virtual address already")
        virtuals = (*self.virtuals.values(), *fault.virtuals().values())
        if sum(how[1] == "slb" for how in virtuals) > 1:
            raise RuntimeError("there is a balancer already")

    def clear(self, *numbers):
        """takes these faults back; all without a number"""
        missing = [str(n) for n in numbers if n not in self.on]
        if missing:
            raise RuntimeError(f"no fault {', '.join(missing)}")
        before, self.on = self.on, {n: entry for n, entry in self.on.items() if numbers
                                    and n not in numbers}
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
        self.make_virtuals()
        self.bed.set_faulty_links(set().union(*(fault.down() for fault in self.all())))

    def make_virtuals(self):
        wanted = {vip: how for fault in self.all() for vip, how in fault.virtuals().items()}
        for vip in [*self.virtuals]:
            if wanted.get(vip) != self.virtuals[vip]:
                virtual.take_down(self.bed, vip, self.virtuals.pop(vip))
        for vip, how in wanted.items():
            if vip not in self.virtuals:
                virtual.set_up(self.bed, vip, how)
                self.virtuals[vip] = how

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
        words = ["tc", *words[:2], "dev", name, *words[2:]]
        try:
            run_all([inside(namespace, words)])
        except RuntimeError:
            if not missing_is_fine:
                raise

    def set_filters(self, ends, wanted):
        """an agent may have a clsact of its own on the interface: only our filters come and go"""
        for at in range(len(self.filters.get(ends, []))):
            self.tc(ends, "filter", "del", "egress", "pref", str(FIRST_PREF + at),
                    missing_is_fine=True)
        if wanted:
            self.tc(ends, "qdisc", "add", "clsact", missing_is_fine=True)
        for at, words in enumerate(wanted):
            self.tc(ends, "filter", "add", "egress", "pref", str(FIRST_PREF + at), "bpf", "da",
                    *words)

    def set_queue(self, ends, wanted):
        self.tc(ends, "qdisc", "del", "root", missing_is_fine=True)
        if wanted:
            self.tc(ends, "qdisc", "add", "root", *wanted)

    # What the flow tables ask

    def weights(self, switch):
        """{neighbour: weight} of a switch that sprays, None of one that does not"""
        found = [fault.sprays()[switch] for fault in self.all() if switch in fault.sprays()]
        return {peer: weight for weights in found
                for peer, weight in weights.items()} if found else None

    def shares(self, switch):
        """{neighbour: weight} of a switch that spreads flows unevenly"""
        found = [fault.shares()[switch] for fault in self.all() if switch in fault.shares()]
        return {peer: weight for weights in found for peer, weight in weights.items()}

    def icmp_per_s(self, switch):
        """how many errors a router may tell of a second, None when nobody limits it"""
        limits = [fault.icmp[switch] for fault in self.all() if switch in fault.icmp]
        return min(limits, default=None)

    def reroutes(self, switch):
        """how often a router has taken another seed of ECMP"""
        return sum(fault.rerouted == switch for fault in self.all())

    def large_to(self, switch):
        """where a switch sends large flows, None when they are like all others"""
        return next((fault.by_size()[switch] for fault in self.all() if switch in fault.by_size()),
                    None)

    # The bed's state

    def save(self):
        return {"next": self.next,
                "on": [[n, kind, *fault.words] for n, (kind, fault) in self.on.items()]}

    def load(self, state):
        self.next = state["next"]
        self.on = {n: (kind, KINDS[kind](self.bed, *words)) for n, kind, *words in state["on"]}
        self.filters, self.queues = self.wanted()
        self.virtuals = {vip: how for fault in self.all() for vip, how in fault.virtuals().items()}
        self.bed.faulty_links = set().union(*(fault.down() for fault in self.all()))
