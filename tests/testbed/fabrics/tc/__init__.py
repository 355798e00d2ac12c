# SPDX-License-Identifier: Apache-2.0
"""Switches in the kernel: each is a tc-BPF program on the ingress of its ports (README.md).

    bed.fabric.counters(9)          {"received": …, "tagged": …, "punted": …, …}
    bed.fabric.punts()              packets that were given to a controller

Namespaces, links, hosts, routes and faults are those of every fabric; this file says where packets
go as lines of control.c.
"""
import json
import os
import socket
import subprocess

import monitors
import traffic
from fabrics import interface
from faults import Loop, WrongTag

ANSWER_S = 20
OWN = 255                                       # PORT_OWN of tables.h


class Fabric(interface.Fabric):
    """one process, testbed_switches, loads the switches and takes commands for them; where the bed
    has a controller, it speaks OpenFlow with it for each of them"""

    name = "tc"
    depth = "plain"
    digests, meters = True, True
    topology = ("topology", "fat-tree", "--k", "4", "--addrs")
    faults = frozenset({"silent", "icmp_per_s", "reroute"})

    def __init__(self, bed):
        super().__init__(bed)
        self.socket, self.punt_file = (os.path.join(bed.folder, name)
                                       for name in ("switches.sock", "punts.ndjson"))
        self.installed = {}                     # switch -> {key: value} of commands
        self.addrs = {}                         # (switch, neighbour) -> addresses of the interface
        self.openflow = bed.codec != "path-bloom"   # rules of that are told by the codec's library

    @property
    def helper(self):
        return os.path.join(self.bed.binaries, "tests", "testbed_switches")

    def need(self):
        if not os.path.exists(self.helper):
            raise RuntimeError(
                f"{self.helper} is missing: it is built where libbpf and clang are there")

    def read_addrs(self):
        with open(self.bed.topology, encoding="utf-8") as file:
            for link in json.load(file)["links"]:
                self.addrs[link["source"], link["target"]] = link.get("source_addrs", [])
                self.addrs[link["target"], link["source"]] = link.get("target_addrs", [])

    def linked(self):
        self.read_addrs()
        command = [self.helper, "--topology", self.bed.topology, "--control", self.socket,
                   "--punts", self.punt_file, *self.rows_from()]
        if self.bed.plan:
            command += ["--plan", self.bed.plan]
        if self.bed.monitors_on:
            command += ["--meters", monitors.pins(self.bed)]
            command += ["--top"] * (self.bed.monitors == "tor+top")
        for site in self.bed.sites:
            command += ["--site", f"{site.namespace}={','.join(str(n.id) for n in site.switches)}"]
        process = subprocess.Popen(command, env=dict(os.environ, **self.bed.mark),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, start_new_session=True, text=True)
        self.bed.started.append(process)
        answer = process.stdout.readline().strip()
        if answer != "ready":
            raise RuntimeError(f"the switches do not run: {answer}")

    def rows_from(self):
        """who tells the switches what to write: a controller, the codec's library, or nobody"""
        if self.bed.controller and self.openflow:
            return ["--openflow", self.bed.controller.openflow]
        return ["--no-tags"] * (not self.bed.tags)

    def ask(self, lines):
        """has commands executed; returns what they say"""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(ANSWER_S)
            connection.connect(self.socket)
            connection.sendall("\n".join(lines).encode())
            connection.shutdown(socket.SHUT_WR)
            answer = b"".join(iter(lambda: connection.recv(1 << 16), b"")).decode()
        if answer.startswith("error: "):
            raise RuntimeError(answer[len("error: "):].strip())
        return answer

    def program(self, ids):
        routes, commands = self.bed.routes(), []
        for i in ids:
            lines, before = Table(self.bed, i, routes).lines(), self.installed.get(i, {})
            commands += [
                f"{key} = {value}" for key, value in lines.items() if before.get(key) != value]
            commands += [f"gone {key}" for key in before if key not in lines]
            self.installed[i] = lines
        self.ask(commands)

    def counters(self, switch):
        """those it received are the sum of all others but `tagged`"""
        return json.loads(self.ask([f"counters {switch}"]))

    def punted(self):
        return sum(self.counters(n.id)["punted"] for n in self.bed.network.switches)

    def punts(self):
        if not os.path.exists(self.punt_file):
            return []
        with open(self.punt_file, encoding="utf-8") as file:
            return [dict(entry, frame=bytes.fromhex(entry["frame"]))
                    for entry in map(json.loads, file)]

    def save(self):
        return {"installed": self.installed}

    def load(self, state):
        self.read_addrs()
        self.installed = {int(i): lines for i, lines in state["installed"].items()}


class Table:
    """what a switch has to know, as {key: value} of commands"""

    def __init__(self, bed, switch, routes):
        self.bed, self.node, self.routes = bed, bed.network.nodes[switch], routes
        self.start = f"route {switch}"
        self.weights, self.large_to = bed.faults.weights(switch), bed.faults.large_to(switch)
        self.shares = bed.faults.shares(switch) if self.weights is None else self.weights

    def lines(self):
        lines = {}
        for rack in self.bed.network.racks:
            for prefix in rack.prefixes:
                lines[f"place {self.node.id} {prefix}"] = str(rack.id)
            lines.update(self.hosts() if rack is self.node else self.ways(rack, rack.id))
        for fault in self.bed.faults.all():
            if isinstance(fault, Loop) and self.node.id in set(fault.circle) - {fault.host.rack}:
                lines.update(self.loop(fault))
            elif isinstance(fault, WrongTag) and self.node.id == fault.ends[1]:
                lines[f"tag {self.node.id} {self.node.port(fault.ends[0])}"] = str(fault.tag)
        return {**lines, **self.answers()}

    def answers(self):
        """what it says when a TTL ends, how often, and the seed of its hash"""
        lines, switch, faults = {}, self.node.id, self.bed.faults
        for peer in self.node.peers:
            addrs = self.bed.fabric.addrs[switch, peer] or [
                *{":" in a: a for a in reversed(self.node.addrs)}.values()]
            if addrs:
                lines[f"address {switch} {self.node.port(peer)}"] = ",".join(addrs)
        if faults.icmp_per_s(switch) is not None:
            lines[f"answers {switch}"] = str(faults.icmp_per_s(switch))
        if faults.reroutes(switch):
            lines[f"seed {switch}"] = str(faults.reroutes(switch))
        return lines

    def places(self, host):
        """a host that is more to this switch than one of its rack"""
        return {f"place {self.node.id} {addr}/{128 if ':' in addr else 32}": str(host.id)
                for addr in host.addrs}

    def hosts(self):
        """those of this rack: tags are taken off for hosts that have no agent to do it"""
        lines = {}
        for host in (self.bed.network.nodes[peer] for peer in self.node.peers):
            if host.role != "host":
                continue
            tags = "keep" if host.id in self.bed.tagged else "strip"
            lines.update(self.places(host))
            if host.id in self.bed.tagged:
                lines[f"probes {self.node.id} {self.node.port(host.id)}"] = "take"
            lines[f"{self.start} 0 {host.id}"] = f"{tags} {self.node.port(host.id)}"
        return lines

    def ways(self, rack, target):
        """towards a rack, by the port that a packet came in by; 0 is for what hosts send, OWN for
        what the switch says itself"""
        lines = {}
        for peer in (None, *self.bed.network.switch_peers(self.node.id)):
            hops = self.routes.next_hops(self.node.id, peer, rack.id)
            if hops:
                lines[self.route(peer, target)] = self.way(hops)
        return lines

    def route(self, peer, target):
        """to what is known as target, of what comes from a peer (None: its own, or from hosts)"""
        own = 0 if self.node in self.bed.network.racks else OWN
        return f"{self.start} {self.node.port(peer) if peer else own} {target}"

    def way(self, hops):
        """a slot is taken as often as any other, so a weight is a number of slots"""
        large = ""
        if self.large_to in hops and len(hops) > 1:
            large = f" large {traffic.LARGE_PORT} {self.node.port(self.large_to)}"
        others = [hop for hop in hops if not large or hop != self.large_to]
        slots = ",".join(f"{self.node.port(hop)}*{self.shares.get(hop, 1)}" for hop in others)
        return f"{'hash' if self.weights is None else 'spray'} {slots}{large}"

    def loop(self, fault):
        """packets for one host go round; where the circle begins, also those from elsewhere"""
        rack, target = self.bed.network.nodes[fault.host.rack], fault.host.id
        lines = {**self.places(fault.host.node), **self.ways(rack, target)}
        if fault.circle[0] == self.node.id:
            for peer in (None, *self.node.peers):
                lines[self.route(peer, target)] = f"hash {self.node.port(fault.circle[1])}"
        steps = fault.steps()
        for (before, here), (_, after) in zip(steps, steps[1:] + steps[:1]):
            if here == self.node.id:
                lines[self.route(before, target)] = f"hash {self.node.port(after)}"
        return lines
