# SPDX-License-Identifier: Apache-2.0
"""Open vSwitch in a test bed: one ovsdb-server and one ovs-vswitchd for each site (a pod, or the cores), one bridge
for each switch, and the forwarding that is the bed's own.

    table 0   the codec's tagging rules, each ending with goto_table:1
    table 1   forwarding by prefix and by the port that a packet came in by; ECMP is a select group that hashes
              addresses and ports, differently in every switch
    table 2   delivery to the hosts of a rack; the tags are taken off for hosts that have no agent to do it
"""
import os
import subprocess
import time

import traffic

SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
TUN = "/dev/net/tun"
HASHED = "ip_src,ip_dst,ipv6_src,ipv6_dst,tcp_src,tcp_dst,udp_src,udp_dst"
SPRAYED = "eth_src"              # a fault makes its end random
TIMEOUT_S = 20
LARGE = 10                       # what a flow for large flows has more priority
NO_TAGGING = "table=0,priority=0,actions=goto_table:1"


def bridge(switch):
    return f"sw{switch}"


def port(switch, peer):
    """name of the interface by which a switch meets a neighbour"""
    return f"s{switch}-{peer}"


def run_all(commands):
    """runs commands at the same time: (arguments, environment, standard input) each; returns what they write to standard output; raises when one fails"""
    running = [(subprocess.Popen(args, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True), text)
               for args, env, text in commands]
    answers = [(process.args, *process.communicate(text), process.returncode) for process, text in running]
    for args, output, said, code in answers:
        if code:
            raise RuntimeError(f"{' '.join(map(str, args))}: {said.strip()} {output.strip()}")
    return [output for _, output, _, _ in answers]


class Site:
    """the switches of one network namespace, run by one ovs-vswitchd"""

    def __init__(self, name, switches, namespace, folder, environment):
        self.name, self.switches, self.namespace = name, switches, namespace
        self.folder = os.path.join(folder, name)
        self.env = dict(environment, OVS_RUNDIR=self.folder, OVS_DBDIR=self.folder, OVS_LOGDIR=self.folder,
                        OVS_SYSCONFDIR=self.folder)
        self.db = f"unix:{self.folder}/db.sock"

    def program(self, name):
        """the command for a program of Open vSwitch"""
        return name

    def schema(self):
        return SCHEMA

    def start_database(self):
        os.makedirs(self.folder, exist_ok=True)
        file = os.path.join(self.folder, "conf.db")
        run_all([([self.program("ovsdb-tool"), "create", file, self.schema()], self.env, None)])
        process = self.daemon("ovsdb-server", file, f"--remote=punix:{self.folder}/db.sock")
        wait_for(lambda: os.path.exists(f"{self.folder}/db.sock"), f"the database of {self.name}")
        return process

    def start_switches(self):
        return self.daemon("ovs-vswitchd", self.db, "--disable-system")

    def daemon(self, program, *args):
        log = [f"--log-file={self.folder}/{program}.log", "-vconsole:off", "-vsyslog:off", "-vfile:info"]
        command = ["nsenter", f"--net={self.namespace}", "--", self.program(program), *args, f"--unixctl={self.folder}/{program}.ctl", *log]
        return subprocess.Popen(command, env=self.env, start_new_session=True, stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def bring_up(self):
        """the command that makes all bridges in one transaction and waits until the switches have them"""
        words = ["ovs-vsctl", f"--timeout={TIMEOUT_S}", f"--db={self.db}", "--", "set", "Open_vSwitch", ".",
                 "other_config:vlan-limit=2", "other_config:n-revalidator-threads=1"]
        for node in self.switches:
            name = bridge(node.id)
            words += ["--", "add-br", name, "--", "set", "bridge", name, "datapath_type=netdev", "fail_mode=secure",
                      "protocols=OpenFlow13,OpenFlow15", f"other_config:datapath-id={node.id:016x}"]
            for number, peer in enumerate(node.peers, 1):
                end = port(node.id, peer)
                words += ["--", "add-port", name, end, "--", "set", "interface", end, f"ofport_request={number}"]
        return words, self.env, None

    def control(self, *words):
        """arguments of an ovs-ofctl command for this site"""
        return ["ovs-ofctl", f"--timeout={TIMEOUT_S}", *words]


def need_tun():
    """Open vSwitch opens a tap device for every bridge; a bare root folder has no node for it"""
    if not os.path.exists(TUN):
        os.makedirs(os.path.dirname(TUN), exist_ok=True)
        os.mknod(TUN, 0o20666, os.makedev(10, 200))


def wait_for(condition, what, timeout_s=TIMEOUT_S):
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not come up within {timeout_s} s")
        time.sleep(0.01)


class Forwarding:
    """flows and groups of one switch; groups keep their numbers while the bed lives, so flows can be replaced"""

    def __init__(self, fabric, switch):
        self.fabric, self.node = fabric, fabric.nodes[switch]
        self.groups = {}                        # (fields that are hashed, ports) -> group number

    def flows(self, routes, tagging, tagged_hosts, faults):
        """the whole flow table as text; tagging: what belongs into table 0; tagged_hosts: hosts whose tags stay on"""
        lines = [tagging.rstrip("\n")] if tagging else []
        lines += faults.flows(self.node.id)
        weights, large_to = faults.weights(self.node.id), faults.large_to(self.node.id)
        for rack in self.fabric.racks:
            if rack is self.node:
                lines += [f"table=1,priority=200,{m},actions=goto_table:2" for m in matches(rack.prefixes)]
                continue
            for peer in (None, *self.fabric.switch_peers(self.node.id)):
                hops = routes.next_hops(self.node.id, peer, rack.id)
                if hops and (peer or self.node in self.fabric.racks):
                    lines += self.forward(peer, rack, hops, weights, large_to)
        for peer in self.node.peers:
            if self.fabric.nodes[peer].role == "host":
                lines += self.deliver(self.fabric.nodes[peer], peer in tagged_hosts)
        return "\n".join(lines) + "\n"

    def forward(self, peer, rack, hops, weights, large_to):
        """weights: of next hops, when packets are spread one by one; large_to: the next hop that large flows are to take"""
        start = f"in_port={self.node.port(peer)}," if peer else ""
        priority = 100 if peer else 50
        if large_to in hops and len(hops) > 1:
            large, hops = self.action([large_to], None), [hop for hop in hops if hop != large_to]
            lines = [f"table=1,priority={priority + LARGE},{start}{match},actions={large}" for match in large_matches(rack.prefixes)]
        else:
            lines = []
        return lines + [f"table=1,priority={priority},{start}{match},actions={self.action(hops, weights)}" for match in matches(rack.prefixes)]

    def action(self, hops, weights):
        """a bucket of a group that hashes is taken as often as any other, so a weight is a number of buckets"""
        ports = tuple(self.node.port(hop) for hop in hops for _ in range((weights or {}).get(hop, 1)))
        if len(set(ports)) == 1:
            return f"output:{ports[0]}"
        key = HASHED if weights is None else SPRAYED, ports
        return f"group:{self.groups.setdefault(key, len(self.groups) + 1)}"

    def deliver(self, host, keeps_tags):
        lines = []
        for match in matches(host.addrs):
            lines.append(f"table=2,priority=10,{match},actions=output:{self.node.port(host.id)}")
            if not keeps_tags:
                lines.append(f"table=2,priority=20,vlan_tci=0x1000/0x1000,{match},actions=pop_vlan,resubmit(,2)")
        return lines

    def group_text(self):
        start = f"type=select,selection_method=hash,selection_method_param={self.node.id},fields"
        return "".join(f"add_or_mod group_id={number},{start}({hashed}),{','.join(f'bucket=output:{p}' for p in ports)}\n"
                       for (hashed, ports), number in self.groups.items())


def changes(before, after):
    """what turns one flow table into another one, for `ovs-ofctl add-flows`"""
    old, new = ([line for line in text.splitlines() if line and not line.startswith("#")] for text in (before, after))
    taken = {line.partition(",actions=")[0] for line in new}
    gone = [match for match in (line.partition(",actions=")[0] for line in old) if match not in taken]
    known = set(old)
    return "".join([f"delete_strict {match}\n" for match in gone] + [f"add {line}\n" for line in new if line not in known])


def matches(prefixes):
    return [("ipv6,ipv6_dst=" if ":" in prefix else "ip,nw_dst=") + prefix for prefix in prefixes]


def large_matches(prefixes):
    """of flows that traffic.py makes large: they go to a port of their own"""
    return [("tcp6,ipv6_dst=" if ":" in prefix else "tcp,nw_dst=") + f"{prefix},tp_dst={traffic.LARGE_PORT}" for prefix in prefixes]
