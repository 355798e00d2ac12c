# SPDX-License-Identifier: Apache-2.0
"""Routers of Linux: each switch is a network namespace that forwards, balances flows by their
five-tuple with a seed of its own, and answers when a TTL ends, IPv4 and IPv6 (README.md).

    bed.fabric.counters(9)          {"forwarded": …, "ttl_exceeded": …}
"""
import json
import os
import re
import subprocess

from commands import inside, port, run_all
from fabrics import interface
from faults import Loop

HERE = os.path.dirname(os.path.abspath(__file__))
ICMP_PER_S, ICMP_BURST = 100000, 50     # what is left of a burst when a limit comes is still sent
NEVER_MS = 3600000                      # between two errors to one address
SEED, ANOTHER = 0x51ED2701, 0x2545F491


def mac(switch):
    """of all ports of a switch"""
    return f"02:fe:00:00:{switch >> 8:02x}:{switch & 255:02x}"


class Fabric(interface.Fabric):
    """nothing runs but the kernel"""

    name = "router"
    tags, openflow = False, False
    topology = ("topology", "generate", "clos", "--pods", "2", "--tors", "2", "--t1", "2", "--t2",
                "2", "--hosts", "2", "--addrs")
    faults = frozenset({"silent", "icmp_per_s", "reroute"})
    sysctls = {"ipv4/ip_forward": "1", "ipv4/conf/all/rp_filter": "0",
               "ipv4/conf/default/rp_filter": "0",
               "ipv4/fib_multipath_hash_policy": "1", "ipv4/icmp_ratelimit": "0",
               "ipv6/conf/all/forwarding": "1", "ipv6/conf/default/forwarding": "1",
               "ipv6/conf/all/accept_dad": "0", "ipv6/conf/default/accept_dad": "0",
               "ipv6/fib_multipath_hash_policy": "1", "ipv6/icmp/ratelimit": "0"}

    def __init__(self, bed):
        super().__init__(bed)
        self.addrs = {}                         # (switch, neighbour) -> addresses of the interface
        self.sids = {}                          # switch -> its prefix of segments
        self.installed, self.settings = {}, {}  # switch -> {prefix: route}, {setting: value}

    @staticmethod
    def site_of(node):
        return node.name

    # Wires

    def read_addrs(self):
        with open(self.bed.topology, encoding="utf-8") as file:
            document = json.load(file)
        self.sids = {node["id"]: node["sid"] for node in document["nodes"] if "sid" in node}
        for link in document["links"]:
            self.addrs[link["source"], link["target"]] = link.get("source_addrs", [])
            self.addrs[link["target"], link["source"]] = link.get("target_addrs", [])
        for switch in self.bed.network.switches:
            for peer in self.bed.network.switch_peers(switch.id):
                if not self.addrs[switch.id, peer]:
                    raise RuntimeError(f"the link {switch.id}-{peer} has no addresses: the "
                                       f"topology is to be generated with --addrs")

    def linked(self):
        self.read_addrs()
        program = os.path.join(self.bed.folder, "forget.o")
        headers = f"/usr/include/{os.uname().machine}-linux-gnu"
        run_all([(["clang", "-target", "bpf", "-mcpu=v2", "-O2", "-g", "-isystem", headers, "-c",
                   os.path.join(HERE, "forget.bpf.c"), "-o", program], None, None)])
        nodes = self.bed.network.switches
        run_all([self.inside(n.id, ["ip", "-batch", "-"], "\n".join(self.interfaces(n)) + "\n")
                 for n in nodes])
        run_all([self.inside(n.id, ["ip", "-batch", "-"], "\n".join(self.neighbours(n)) + "\n")
                 for n in nodes])
        run_all([inside(h.namespace, ["ip", "-batch", "-"], "\n".join(self.gateway(h)) + "\n")
                 for h in self.bed.hosts.values()])
        run_all([command for n in nodes if n.id in self.sids for command in self.segments(n)])
        cards = [(n.id, p) for n in nodes for p in n.peers if self.is_host(p)]
        run_all([self.inside(i, ["tc", "qdisc", "add", "dev", port(i, p), "clsact"])
                 for i, p in cards])
        run_all([self.inside(i, ["tc", "filter", "add", "dev", port(i, p), "ingress", "bpf", "da",
                                 "object-file", program, "section", "tc"]) for i, p in cards])

    def inside(self, switch, words, text=None):
        return inside(self.bed.site[switch].namespace, words, text)

    def is_host(self, node):
        return self.bed.network.nodes[node].role == "host"

    def interfaces(self, node):
        lines = [f"addr add {self.whole(addr)} dev lo" for addr in node.addrs]
        for peer in node.peers:
            lines.append(f"link set {port(node.id, peer)} address {mac(node.id)} up")
            for addr in self.addrs[node.id, peer]:
                lines.append(f"addr add {addr}/{'128 nodad' if ':' in addr else 32} dev "
                             f"{port(node.id, peer)}")
        return lines

    def segments(self, node):
        """what `pathdump probes rules` tells a router so that it takes probes along; there the
        interface at port P is ethP"""
        command = [self.bed.program_path("pathdump"), "probes", "rules", "--carrier", "srv6-ioam",
                   "--topology", self.bed.topology, "--switch", str(node.id)]
        text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        names = {n: port(node.id, peer) for n, peer in enumerate(node.peers, 1)}
        text = re.sub(r"\beth(\d+)\b", lambda found: names[int(found[1])], text)
        text = re.sub(r"^sysctl -w (\S+)=(\S+)$",
                      lambda f: f"echo {f[2]} > /proc/sys/{f[1].replace('.', '/')}", text,
                      flags=re.M)
        return [self.inside(node.id, ["sh", "-e"], text)]

    def neighbours(self, node):
        """no question is asked on the wire: what packets are there are those of the test"""
        lines = []
        for peer in node.peers:
            name, host = port(node.id, peer), self.bed.hosts.get(peer)
            there = host.node.addrs if host else self.addrs[peer, node.id]
            link = f"02:00:00:00:{peer >> 8:02x}:{peer & 255:02x}" if host else mac(peer)
            lines += [f"neigh replace {addr} lladdr {link} dev {name} nud permanent"
                      for addr in there]
        return lines

    def gateway(self, host):
        """hosts know each other's addresses as neighbours of theirs: all of these are the router
        now"""
        others = [h for h in self.bed.hosts.values() if h is not host]
        lines = [f"neigh replace {addr} lladdr {mac(host.rack)} dev eth0 nud permanent"
                 for other in others for addr in other.node.addrs]
        if host.rack in self.sids:
            lines += [f"neigh replace fe80::1 lladdr {mac(host.rack)} dev eth0 nud permanent",
                      *(f"route add {sid} via fe80::1 dev eth0" for sid in self.sids.values())]
        return lines

    # Routes

    def program(self, ids):
        routes, commands = self.bed.routes(), []
        for i in ids:
            lines, before = self.table(i, routes), self.installed.get(i, {})
            text = [f"route replace {prefix} {way}" for prefix, way in lines.items()
                    if before.get(prefix) != way]
            text += [f"route del {prefix}" for prefix in before if prefix not in lines]
            if text:
                commands.append(self.inside(i, ["ip", "-batch", "-"], "\n".join(text) + "\n"))
            self.installed[i] = lines
        run_all(commands)
        run_all([command for i in ids for command in self.set_up(i)])

    def table(self, switch, routes):
        lines, node = {}, self.bed.network.nodes[switch]
        for rack in self.bed.network.racks:
            if rack is not node:
                hops = routes.next_hops(switch, None, rack.id)
                lines.update({prefix: self.way(switch, hops, prefix) for prefix in rack.prefixes})
        for host in (self.bed.hosts[p] for p in node.peers if self.is_host(p)):
            lines.update({self.whole(addr): f"dev {port(switch, host.id)}"
                          for addr in host.node.addrs})
        for fault in self.bed.faults.all():
            if isinstance(fault, Loop) and switch in fault.circle:
                after = fault.circle[(fault.circle.index(switch) + 1) % len(fault.circle)]
                lines.update({self.whole(addr): self.way(switch, (after,), addr)
                              for addr in fault.host.node.addrs})
        return lines

    @staticmethod
    def whole(addr):
        return f"{addr}/{128 if ':' in addr else 32}"

    def way(self, switch, hops, prefix):
        """over all of them, evenly or by weights; to nowhere, and the router says so"""
        shares = self.bed.faults.shares(switch)
        six = ":" in prefix
        nexthops = []
        for hop in hops:
            via = next(a for a in self.addrs[hop, switch] if (":" in a) == six)
            nexthops.append(
                f"nexthop via {via} dev {port(switch, hop)} weight {shares.get(hop, 1)} onlink")
        return " ".join(nexthops) if nexthops else "dev lo metric 4096"

    # Faults

    def set_up(self, switch):
        """settings of a router that differ from what they are"""
        per_s, turns = self.bed.faults.icmp_per_s(switch), self.bed.faults.reroutes(switch)
        wanted = {"ipv4/fib_multipath_hash_seed": (SEED * switch + ANOTHER * turns) % (1 << 32)
                  or 1,
                  "ipv4/icmp_msgs_per_sec": ICMP_PER_S if per_s is None else per_s,
                  "ipv4/icmp_msgs_burst": ICMP_BURST if per_s is None else 1,
                  "ipv4/icmp_ratelimit": NEVER_MS if per_s == 0 else 0,
                  "ipv6/icmp/ratelimit": NEVER_MS if per_s == 0 else 0}
        before, self.settings[switch] = self.settings.get(switch, {}), wanted
        return [self.inside(switch, ["sh", "-c", f"echo {value} > /proc/sys/net/{name}"])
                for name, value in wanted.items() if before.get(name) != value]

    # What it did

    def counters(self, switch):
        text = run_all([self.inside(switch, ["cat", "/proc/net/snmp", "/proc/net/snmp6"])])[0]
        rows = [line.split() for line in text.splitlines()]
        four = {kind: dict(zip(names[1:], map(int, values[1:]))) for kind in ("Ip:", "Icmp:")
                for names, values in [[row for row in rows if row[0] == kind]]}
        six = {row[0]: int(row[1]) for row in rows if len(row) == 2}
        return {"forwarded": four["Ip:"]["ForwDatagrams"] + six.get("Ip6OutForwDatagrams", 0),
                "ttl_exceeded": four["Icmp:"]["OutTimeExcds"] + six.get("Icmp6OutTimeExcds", 0)}

    def punted(self):
        return 0

    def save(self):
        return {"installed": self.installed, "settings": self.settings}

    def load(self, state):
        self.read_addrs()
        self.installed, self.settings = ({int(i): kept for i, kept in state[name].items()}
                                         for name in ("installed", "settings"))
