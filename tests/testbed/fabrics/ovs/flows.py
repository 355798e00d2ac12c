# SPDX-License-Identifier: Apache-2.0
"""Flows and groups of a switch of Open vSwitch: the forwarding that is the bed's own, and what
faults do to it.

    table 0   the codec's tagging rules, each ending with goto_table:1
    table 1   forwarding by prefix and by the port that a packet came in by; ECMP is a select group
    that hashes
              addresses and ports, differently in every switch
    table 2   delivery to the hosts of a rack; the tags are taken off for hosts that have no agent
    to do it
"""
import traffic
from faults import Loop, WrongTag

HASHED = "ip_src,ip_dst,ipv6_src,ipv6_dst,tcp_src,tcp_dst,udp_src,udp_dst"
SPRAYED = "eth_src"              # a fault makes its end random
LARGE = 10                       # what a flow for large flows has more priority
LOOP_PRIORITY, TAG_PRIORITY = 160, 300


class Forwarding:
    """flows and groups of one switch; groups keep their numbers while the bed lives, so flows can
    be replaced"""

    def __init__(self, network, switch):
        self.network, self.node = network, network.nodes[switch]
        self.groups = {}                        # (fields that are hashed, ports) -> group number
        self.shares = {}                        # of next hops, where they are not even

    def flows(self, routes, tagging, tagged_hosts, faults):
        """the whole flow table as text; tagging: what belongs into table 0; tagged_hosts: hosts
        whose tags stay on"""
        lines = [tagging.rstrip("\n")] if tagging else []
        lines += [line for fault in faults.all() for line in fault_flows(fault, self.node)]
        weights, large_to = faults.weights(self.node.id), faults.large_to(self.node.id)
        self.shares = faults.shares(self.node.id) if weights is None else weights
        for rack in self.network.racks:
            if rack is self.node:
                lines += [f"table=1,priority=200,{m},actions=goto_table:2"
                          for m in matches(rack.prefixes)]
                continue
            for peer in (None, *self.network.switch_peers(self.node.id)):
                hops = routes.next_hops(self.node.id, peer, rack.id)
                if hops and (peer or self.node in self.network.racks):
                    lines += self.forward(peer, rack, hops, weights, large_to)
        for peer in self.node.peers:
            if self.network.nodes[peer].role == "host":
                lines += self.deliver(self.network.nodes[peer], peer in tagged_hosts)
        return "\n".join(lines) + "\n"

    def forward(self, peer, rack, hops, weights, large_to):
        """weights: of next hops, when packets are spread one by one; large_to: the next hop that
        large flows are to take"""
        start = f"in_port={self.node.port(peer)}," if peer else ""
        priority = 100 if peer else 50
        if large_to in hops and len(hops) > 1:
            large, hops = self.action([large_to], None), [hop for hop in hops if hop != large_to]
            lines = [f"table=1,priority={priority + LARGE},{start}{match},actions={large}"
                     for match in large_matches(rack.prefixes)]
        else:
            lines = []
        return lines + [f"table=1,priority={priority},{start}{match},"
                        f"actions={self.action(hops, weights)}" for match in matches(rack.prefixes)]

    def action(self, hops, weights):
        """a bucket of a group that hashes is taken as often as any other, so a weight is a number
        of buckets"""
        ports = tuple(self.node.port(hop) for hop in hops for _ in range(self.shares.get(hop, 1)))
        if len(set(ports)) == 1:
            return f"output:{ports[0]}"
        key = HASHED if weights is None else SPRAYED, ports
        return f"group:{self.groups.setdefault(key, len(self.groups) + 1)}"

    def deliver(self, host, keeps_tags):
        lines = []
        for match in matches(host.addrs):
            lines.append(f"table=2,priority=10,{match},actions=output:{self.node.port(host.id)}")
            if not keeps_tags:
                lines.append(f"table=2,priority=20,vlan_tci=0x1000/0x1000,{match},actions=pop_vlan,"
                             f"resubmit(,2)")
        return lines

    def group_text(self):
        start = f"type=select,selection_method=hash,selection_method_param={self.node.id},fields"
        return "".join(f"add_or_mod group_id={number},{start}({hashed}),"
                       f"{','.join(f'bucket=output:{p}' for p in ports)}\n"
                       for (hashed, ports), number in self.groups.items())


def fault_flows(fault, node):
    """lines for the flow table of a switch"""
    if isinstance(fault, Loop):
        return loop_flows(fault, node)
    return wrong_tag_flows(fault, node) if isinstance(fault, WrongTag) else []


def loop_flows(fault, node):
    """a switch may be in the circle twice, so what comes in by which port decides; the first one
    also takes what comes from elsewhere. A fat-tree of 4 has no circle of 6 different switches:
    there, one of them sends back what it gets"""
    lines, steps = [], fault.steps()

    def send(start, action):
        return [f"table=1,priority={start},{match},actions={action}"
                for match in matches(fault.host.node.addrs)]
    for (before, here), (_, after) in zip(steps, steps[1:] + steps[:1]):
        if here == node.id:
            out = f"output:{node.port(after)}" if after != before else "in_port"
            lines += send(f"{LOOP_PRIORITY},in_port={node.port(before)}", out)
    if fault.circle[0] == node.id:
        lines += send(f"{LOOP_PRIORITY - 1}", f"output:{node.port(fault.circle[1])}")
    return lines


def wrong_tag_flows(fault, node):
    """the tag is changed after it was written: table 0 may belong to a controller"""
    before, here = fault.ends
    if node.id != here:
        return []
    right = fault.bed.tag_of(before, here)
    if right == fault.tag:
        raise RuntimeError(f"{right} is the right tag of the link {before}-{here}")
    start = f"table=1,priority={TAG_PRIORITY},in_port={node.port(before)}"
    return [
        f"{start},dl_vlan={right},actions=set_field:{0x1000 | fault.tag}->vlan_vid,resubmit(,1)"]


def changes(before, after):
    """what turns one flow table into another one, for `ovs-ofctl add-flows`"""
    old, new = ([line for line in text.splitlines() if line and not line.startswith("#")]
                for text in (before, after))
    taken = {line.partition(",actions=")[0] for line in new}
    gone = [match for match in (line.partition(",actions=")[0] for line in old)
            if match not in taken]
    known = set(old)
    return "".join([f"delete_strict {match}\n" for match in gone]
                   + [f"add {line}\n" for line in new if line not in known])


def matches(prefixes):
    return [("ipv6,ipv6_dst=" if ":" in prefix else "ip,nw_dst=") + prefix for prefix in prefixes]


def large_matches(prefixes):
    """of flows that traffic.py makes large: they go to a port of their own"""
    return [("tcp6,ipv6_dst=" if ":" in prefix else "tcp,nw_dst=")
            + f"{prefix},tp_dst={traffic.LARGE_PORT}" for prefix in prefixes]
