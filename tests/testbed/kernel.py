# SPDX-License-Identifier: Apache-2.0
"""The second fabric of a test bed: every switch is a tc-BPF program on the ingress of its ports, in the kernel (tcbpf/README.md).

    with TcBed(binaries="build/release/bin", tagged=all) as bed: …          the same as Bed in all else
    bed.counters(9)                             {"received": …, "tagged": …, "punted": …, …}
    bed.punts()                                 packets that came with three tags: what a controller would get

The namespaces, links, hosts, routes and faults are those of the other fabric; this file only says where packets go as lines of tcbpf/control.c.
"""
import json
import os
import socket
import subprocess

import traffic
from bed import Bed
from faults import Loop, WrongTag
from switches import run_all

ANSWER_S = 20
OFFLOADS = ("tx", "tso", "gso", "gro")


class TcBed(Bed):
    kind = "tc"

    def __init__(self, *words, offloads=False, **options):
        """offloads: hosts send and take packets of up to 64 KB, as network cards let them: for speed, where nobody counts packets"""
        super().__init__(*words, **options)
        if self.controller:
            raise RuntimeError("switches in the kernel speak no OpenFlow: no --controller with --fabric tc")
        self.offloads = offloads
        self.socket, self.punt_file = (os.path.join(self.folder, name) for name in ("switches.sock", "punts.ndjson"))

    def all_sites(self):
        """those that have daemons: only the edges"""
        return [self.hosts[i].edge for i in self.edge_hosts]

    def connect(self):
        super().connect()
        if self.offloads:
            words = ["ethtool", "-K", "eth0", *(word for name in OFFLOADS for word in (name, "on"))]
            run_all([(host.command(words), None, None) for host in self.hosts.values()])
            run_all([(host.command("ip link set eth0 gso_max_segs 65535".split()), None, None) for host in self.hosts.values()])
        self.start_switches()

    def start_switches(self):
        program = os.path.join(self.binaries, "tests", "testbed_switches")
        if not os.path.exists(program):
            raise RuntimeError(f"{program} is missing: it is built where libbpf and clang are there")
        command = [program, "--topology", self.topology, "--control", self.socket, "--punts", self.punt_file, *["--no-tags"] * (not self.tags)]
        for site in self.sites:
            command += ["--site", f"{site.namespace}={','.join(str(node.id) for node in site.switches)}"]
        process = subprocess.Popen(command, env=dict(os.environ, **self.mark), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, start_new_session=True, text=True)
        self.started.append(process)
        answer = process.stdout.readline().strip()
        if answer != "ready":
            raise RuntimeError(f"the switches do not run: {answer}")

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

    def read_tagging(self):
        """the switches have the codec's rules from its library"""
        self.tagging = dict.fromkeys((n.id for n in self.fabric.switches), "")

    def program(self, ids):
        routes, commands = self.routes(), []
        for i in ids:
            lines, before = Table(self, i, routes).lines(), json.loads(self.installed.get(i, "{}"))
            commands += [f"{key} = {value}" for key, value in lines.items() if before.get(key) != value]
            commands += [f"gone {key}" for key in before if key not in lines]
            self.installed[i] = json.dumps(lines)
        self.ask(commands)

    def counters(self, switch):
        """what a switch did with its packets: those it received are the sum of all others but `tagged`"""
        return json.loads(self.ask([f"counters {switch}"]))

    def punted(self):
        return sum(self.counters(n.id)["punted"] for n in self.fabric.switches)

    def punts(self):
        """[{"switch", "in_port", "time_ns", "bytes", "frame"}] of packets that switches could not parse"""
        if not os.path.exists(self.punt_file):
            return []
        with open(self.punt_file, encoding="utf-8") as file:
            return [dict(entry, frame=bytes.fromhex(entry["frame"])) for entry in map(json.loads, file)]


class Table:
    """what a switch has to know, as {key: value} of commands"""

    def __init__(self, bed, switch, routes):
        self.bed, self.node, self.routes = bed, bed.fabric.nodes[switch], routes
        self.start = f"route {switch}"
        self.weights, self.large_to = bed.faults.weights(switch), bed.faults.large_to(switch)

    def lines(self):
        lines = {}
        for rack in self.bed.fabric.racks:
            for prefix in rack.prefixes:
                lines[f"place {self.node.id} {prefix}"] = f"{rack.id} {self.side(rack)}"
            lines.update(self.hosts() if rack is self.node else self.ways(rack, rack.id))
        for fault in self.bed.faults.all():
            if isinstance(fault, Loop) and self.node.id in fault.circle and self.node.id != fault.host.rack:
                lines.update(self.loop(fault))
            elif isinstance(fault, WrongTag) and self.node.id == fault.ends[1]:
                lines[f"tag {self.node.id} {self.node.port(fault.ends[0])}"] = str(fault.tag)
        return lines

    def side(self, rack):
        return "inside" if rack.pod == self.node.pod and rack.pod is not None else "outside"

    def places(self, host, rack):
        """a host that is more to this switch than one of its rack"""
        return {f"place {self.node.id} {addr}/{128 if ':' in addr else 32}": f"{host.id} {self.side(rack)}" for addr in host.addrs}

    def hosts(self):
        """those of this rack: tags are taken off for hosts that have no agent to do it"""
        lines = {}
        for host in (self.bed.fabric.nodes[p] for p in self.node.peers if self.bed.fabric.nodes[p].role == "host"):
            lines.update(self.places(host, self.node))
            lines[f"{self.start} 0 {host.id}"] = f"{'keep' if host.id in self.bed.tagged else 'strip'} {self.node.port(host.id)}"
        return lines

    def ways(self, rack, target):
        """towards a rack, by the port that a packet came in by; 0 is for what hosts send"""
        lines = {}
        for peer in (None, *self.bed.fabric.switch_peers(self.node.id)):
            hops = self.routes.next_hops(self.node.id, peer, rack.id)
            if hops and (peer or self.node in self.bed.fabric.racks):
                lines[f"{self.start} {self.node.port(peer) if peer else 0} {target}"] = self.way(hops)
        return lines

    def way(self, hops):
        """a slot is taken as often as any other, so a weight is a number of slots"""
        large = f" large {traffic.LARGE_PORT} {self.node.port(self.large_to)}" if self.large_to in hops and len(hops) > 1 else ""
        others = [hop for hop in hops if not large or hop != self.large_to]
        slots = ",".join(f"{self.node.port(hop)}*{(self.weights or {}).get(hop, 1)}" for hop in others)
        return f"{'hash' if self.weights is None else 'spray'} {slots}{large}"

    def loop(self, fault):
        """packets for one host go round; where the circle begins, also those that come from elsewhere"""
        rack, target = self.bed.fabric.nodes[fault.host.rack], fault.host.id
        lines = {**self.places(fault.host.node, rack), **self.ways(rack, target)}
        if fault.circle[0] == self.node.id:
            for peer in (None, *self.node.peers):
                lines[f"{self.start} {self.node.port(peer) if peer else 0} {target}"] = f"hash {self.node.port(fault.circle[1])}"
        steps = fault.steps()
        for (before, here), (_, after) in zip(steps, steps[1:] + steps[:1]):
            if here == self.node.id:
                lines[f"{self.start} {self.node.port(before)} {target}"] = f"hash {self.node.port(after)}"
        return lines
