# SPDX-License-Identifier: Apache-2.0
"""Where packets go, as rows of a compiled program's tables `routes` and `groups`."""
import ipaddress
import re

from faults import Loop

ALL = (1 << 64) - 1
MAPPED = 0xFFFF << 32           # of IPv4 addresses in 64 bits
ANY_PORT = "0x0/0x0"
NO_ROUTE = 265                  # an out port that stands for this fate
SPREAD = 8                      # slots for each way at least, where they do not come out even
SHIFTS = {"tor": 0, "agg": 8, "leaf": 8}
OTHER_SHIFT = 16
LOOPS, HOSTS, BY_PORT, RACKS = range(4)     # the smaller priority wins


class Names:
    """what the compiler has made of the source's names"""

    def __init__(self, spec):
        self.tables = dict(re.findall(r"^table (\S+) \{\n(.*?)^\}", spec, re.M | re.S))

    def find_table(self, name):
        return next((full for full in self.tables if re.fullmatch(rf"_?{name}(_\d+)?", full)), None)

    def table(self, name):
        full = self.find_table(name)
        if not full:
            raise RuntimeError(f"the program has no table {name}")
        return full

    def action(self, table, name):
        """in the table's own list"""
        return re.search(rf"^\s*(_?{name}(_\d+)?)\b", self.tables[self.table(table)], re.M)[1]

    def with_tag(self, row, in_port, tag):
        """a row that pushes another tag on what comes in by this port; all others as they are"""
        if not re.match(rf"match {in_port:#x}/", row):
            return row
        return re.sub(r" tci (0x[0-9a-f]+)",
                      lambda tci: f" tci {int(tci[1], 16) & 0xF000 | tag:#x}", row)


def destination(prefix):
    """the two halves of an address with their masks"""
    net = ipaddress.ip_network(prefix)
    number, mask = int(net.network_address), int(net.netmask)
    if net.version == 4:
        number, mask = MAPPED | number, ALL << 64 | ALL ^ 0xFFFFFFFF | mask
    return f"{number >> 64:#x}/{mask >> 64:#x} {number & ALL:#x}/{mask & ALL:#x}"


def whole(addr):
    return f"{addr}/{128 if ':' in addr else 32}"


class Table:
    """what one switch has to know; `groups` is that of the fabric: ways in slots -> number"""

    def __init__(self, bed, switch, routes, groups):
        self.bed, self.node, self.routes, self.groups = bed, bed.network.nodes[
            switch], routes, groups
        self.shares = bed.faults.shares(switch)
        self.sprays = bed.faults.weights(switch) is not None or bed.faults.large_to(
            switch) is not None
        self.used = set()
        self.found = {}                         # (priority, in port, prefix) -> ports in slots
        self.make()

    def make(self):
        for rack in self.bed.network.racks:
            for prefix in rack.prefixes if rack is not self.node else ():
                self.ways(rack, prefix, RACKS)
        for host in map(self.bed.network.nodes.get, self.node.peers):
            for addr in host.addrs if host.role == "host" else ():
                self.found[HOSTS, ANY_PORT, whole(addr)] = (self.node.port(host.id),)
        for fault in self.bed.faults.all():
            if isinstance(
                fault, Loop) and self.node.id in fault.circle and self.node.id != fault.host.rack:
                self.loop(fault)

    def in_port(self, peer):
        return f"{self.node.port(peer):#x}/0xffffffff"

    def ways(self, rack, prefix, priority):
        """a packet of a host goes by the row of any port; one of a switch by that of its own"""
        for peer in (None, *self.bed.network.switch_peers(self.node.id)):
            hops = self.routes.next_hops(self.node.id, peer, rack.id)
            if peer:
                self.found[min(priority, BY_PORT), self.in_port(peer), prefix] = self.slots(hops)
            elif self.node in self.bed.network.racks:
                self.found[priority, ANY_PORT, prefix] = self.slots(hops)

    def slots(self, hops):
        """as many as a power of two; a weight is a number of them"""
        ports = [self.node.port(hop) for hop in hops for _ in range(self.shares.get(hop, 1))]
        if len(ports) < 2 or len(set(ports)) < 2:
            return tuple(ports[:1]) or (NO_ROUTE,)
        count = 1
        while count < (len(ports) if len(ports) & len(ports) - 1 == 0 else SPREAD * len(ports)):
            count *= 2
        return tuple(ports[slot * len(ports) // count] for slot in range(count))

    def loop(self, fault):
        """packets for one host go round; where the circle begins, also those that come from
        elsewhere"""
        for addr in map(whole, fault.host.node.addrs):
            if fault.circle[0] == self.node.id:
                self.found[HOSTS, ANY_PORT, addr] = (self.node.port(fault.circle[1]),)
            steps = fault.steps()
            for (before, here), (_, after) in zip(steps, steps[1:] + steps[:1]):
                if here == self.node.id:
                    self.found[LOOPS, self.in_port(before), addr] = (self.node.port(after),)

    def rows(self, names):
        to_port, to_group = (names.action("routes", name) for name in ("to_port", "to_group"))
        shift, rows = SHIFTS.get(self.node.role, OTHER_SHIFT), []
        for (priority, in_port, prefix), slots in sorted(self.found.items()):
            way = f"{to_port} port {slots[0]:#x}"
            if len(slots) > 1:
                way = (f"{to_group} group {self.group(slots):#x} mask {len(slots) - 1:#x} shift "
                       f"{shift:#x}")
            rows.append(f"match {in_port} {destination(prefix)} priority {priority} action {way}")
        return rows

    def group(self, slots):
        return self.groups.setdefault(slots, len(self.groups) + 1)

    def members(self, names):
        """of all groups that this switch has now, and of those before: no row names one that is
        gone"""
        member, rows = names.action("groups", "member"), []
        for slots in {slots for slots in self.found.values() if len(slots) > 1}:
            self.group(slots)
        for slots, number in self.groups.items():
            if max(slots) <= len(self.node.peers):
                rows += [f"match {number:#x} {slot:#x} action {member} port {to:#x}"
                         for slot, to in enumerate(slots)]
        return rows
