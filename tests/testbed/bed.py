# SPDX-License-Identifier: Apache-2.0
"""A test bed: a data-centre network of Open vSwitch bridges and host namespaces on one machine, as a Python object.

    with Bed(binaries="build/release/bin", tagged=all) as bed:
        bed.host("10.2.1.2").popen(["pathdumpd", "--intake", "live:eth0", ...])
        bed.host("10.1.1.2").run(["ping", "-c", "1", "10.2.1.2"])
        bed.link_down(11, 3)

A bed that such a block brings up lives as long as its process; one that `up(stay=True)` brings up lives until
`down`, and Bed.attach(name) finds it again. Not thread safe: one thread works on a bed at a time.
"""
import contextlib
import fcntl
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import time

import keeper
import switches
from controller import Controller
from edge import UPLINK, VM, Edge
from fabric import Fabric
from faults import Kit
from keeper import FIRST_FD, STATE, TOKEN
from switches import Forwarding, Site, port, run_all

HERE = os.path.dirname(os.path.abspath(__file__))
BINARIES = os.path.join(HERE, "..", "..", "build", "release", "bin")
OVS = os.path.join(HERE, "..", "..", "build", "ovs")
MTU = 1508                      # an IP packet of 1500 bytes and two tags
IP_MTU = 1500
DOWN_TIMEOUT_S = 10


def mac(host):
    return f"02:00:00:00:{host >> 8:02x}:{host & 255:02x}"


class Host:
    """a server of the bed: a network namespace with one interface, eth0"""

    def __init__(self, bed, node, namespace):
        self.bed, self.node, self.namespace = bed, node, namespace
        self.id, self.name = node.id, node.name
        self.ipv4, self.ipv6 = (next((a for a in node.addrs if (":" in a) == v6), None) for v6 in (False, True))
        self.rack = node.peers[0]
        self.edge = None                        # the Edge that stands before it

    def command(self, args):
        return ["nsenter", f"--net={self.namespace}", "--", *map(str, args)]

    def popen(self, args, **options):
        """starts a program on the host; it ends with the bed at the latest. Its PID is that of the program"""
        options.setdefault("start_new_session", True)
        environment = dict(options.pop("env", None) or os.environ, **self.bed.mark)
        process = subprocess.Popen(self.command(args), env=environment, **options)
        self.bed.started.append(process)
        return process

    def run(self, args, **options):
        """runs a program on the host to its end; options are those of subprocess.run"""
        environment = dict(options.pop("env", None) or os.environ, **self.bed.mark)
        return subprocess.run(self.command(args), env=environment, **options)


class Bed:
    """owns the state folder STATE/NAME while it is up; see the file's head"""

    kind = "ovs"                                # what its switches are

    def __init__(self, name=None, topology=None, binaries=BINARIES, tags=True, tagged=(), edges=(), ovs=OVS, controller=False):
        """topology: a file, by default a fat-tree of 4; tags: whether switches tag; tagged: host IDs that get frames
        with their tags on (they run an agent), or the function all; edges: IDs of hosts that stand behind a patched
        switch of their own, of the build in the folder `ovs`; controller: the tagging rules are put on the switches by a
        pathdump-controller of the bed, to which its agents belong"""
        self.name = name or f"bed{os.getpid()}"
        self.folder = os.path.join(STATE, self.name)
        self.binaries = os.path.abspath(binaries)
        self.topology, self.tags, self.tagged = topology, tags, tagged
        self.edge_hosts, self.ovs = sorted(edges), os.path.abspath(ovs)
        self.controller = Controller(self) if controller else None
        self.down_links, self.tagging, self.installed, self.started = set(), {}, {}, []
        self.faulty_links, self.faults = set(), Kit(self)
        self.token, self.keeper, self.keeper_pid = f"{self.name}.{secrets.token_hex(8)}", None, None

    # From nothing to a running network

    def __enter__(self):
        return self.up()

    def __exit__(self, *_):
        self.down()

    def up(self, stay=False):
        keeper.sweep()
        switches.need_tun()
        self.need_ovs()
        lock = self.claim()
        try:
            self.make_topology()
            self.read_topology(os.path.join(self.folder, "topology.json"))
            self.start_keeper(lock, stay)
            self.save()
            if self.controller:
                self.controller.list_hosts()
                self.controller.start()
            self.start_sites()
            self.connect()
            run_all([site.bring_up() for site in self.all_sites()])
            for i in self.edge_hosts:
                self.hosts[i].edge.wait_for_socket()
            if self.controller:                 # a first controller makes Open vSwitch forget all flows, so those of the bed come after it
                self.controller.ready().point_switches()
            self.read_tagging()
            self.program(self.forwarding)
            if self.controller:
                self.controller.wait_installed()
            self.save()
        except BaseException:
            os.close(lock)
            self.down()
            raise
        os.close(lock)
        return self

    def need_ovs(self):
        if self.edge_hosts and not os.path.exists(os.path.join(self.ovs, "vswitchd", "ovs-vswitchd")):
            raise RuntimeError(f"there is no patched switch in {self.ovs}; `tools/ovs build` makes it")

    def claim(self):
        """makes the state folder, locked from the first moment on; two beds of one name: the second one fails"""
        new = os.path.join(STATE, f".{self.name}.{os.getpid()}")
        make_folder(new)
        lock = os.open(os.path.join(new, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            os.rename(new, self.folder)
        except OSError:
            os.close(lock)
            shutil.rmtree(new)
            raise RuntimeError(f"there is a bed named {self.name} already; tests/testbed/bed down --name {self.name}") from None
        return lock

    def make_topology(self):
        with open(os.path.join(self.folder, "topology.json"), "w", encoding="utf-8") as file:
            if self.topology:
                with open(self.topology, encoding="utf-8") as given:
                    file.write(given.read())
            else:
                subprocess.run([self.program_path("pathdump"), "topology", "fat-tree", "--k", "4"], stdout=file, check=True)
        self.topology = file.name

    def read_topology(self, path):
        self.fabric = Fabric(path)
        self.tagged = {h.id for h in self.fabric.hosts} if self.tagged is all else {*self.tagged, *self.edge_hosts}
        self.forwarding = {n.id: Forwarding(self.fabric, n.id) for n in self.fabric.switches}
        self.mark = {TOKEN: self.token}

    def start_keeper(self, lock, stay):
        sites = {self.site_of(n) for n in self.fabric.switches}
        sizes = [str(len(self.fabric.hosts)), str(len(sites) + len(self.edge_hosts))]
        command = [sys.executable, os.path.join(HERE, "keeper.py"), self.folder, str(lock), *sizes]
        self.keeper = subprocess.Popen(command + ["--stay"] * stay, stdin=subprocess.DEVNULL if stay else subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, pass_fds=[lock],
                                       start_new_session=True, text=True)
        answer = self.keeper.stdout.readline().strip()
        if answer != "ready":
            raise RuntimeError(f"no network namespaces (is this root?): {answer}")
        self.keeper_pid = self.keeper.pid
        self.place()

    def place(self):
        """which namespace each host and each site has"""
        namespaces = (f"/proc/{self.keeper_pid}/fd/{fd}" for fd in range(FIRST_FD, 1 << 16))
        self.hosts = {n.id: Host(self, n, next(namespaces)) for n in self.fabric.hosts}
        members = {}
        for node in self.fabric.switches:
            members.setdefault(self.site_of(node), []).append(node)
        environment = dict(os.environ, **self.mark)
        self.sites = [Site(name, nodes, next(namespaces), self.folder, environment) for name, nodes in members.items()]
        self.site = {n.id: site for site in self.sites for n in site.switches}
        for i in self.edge_hosts:
            self.host(i).edge = Edge(self.host(i), self.ovs, next(namespaces), self.folder, environment)

    def all_sites(self):
        return [*self.sites, *(self.hosts[i].edge for i in self.edge_hosts)]

    @staticmethod
    def site_of(node):
        return f"pod{node.pod}" if node.pod is not None else node.role

    def start_sites(self):
        sites = self.all_sites()
        for site in sites:
            self.started.append(site.start_database())
        run_all([(["ovs-vsctl", "--no-wait", f"--timeout={switches.TIMEOUT_S}", f"--db={s.db}", "init"], s.env, None) for s in sites])
        for site in sites:
            self.started.append(site.start_switches())

    def end_of(self, a, b):
        """namespace and interface name of a's end of the link to b"""
        if a not in self.hosts:
            return self.site[a].namespace, port(a, b)
        host = self.hosts[a]
        return (host.edge.namespace, UPLINK) if host.edge else (host.namespace, "eth0")

    def connect(self):
        """one veth pair for each link, made straight inside the namespaces of its ends"""
        lines, inside = [], {}
        for a, b in self.fabric.links:
            (ns_a, name_a), (ns_b, name_b) = self.end_of(a, b), self.end_of(b, a)
            lines.append(f"link add {name_a} netns {ns_a} mtu {MTU} type veth peer name {name_b} netns {ns_b} mtu {MTU}")
            for namespace, name in ((ns_a, name_a), (ns_b, name_b)):
                if name != "eth0":
                    inside.setdefault(namespace, []).append(f"link set {name} up")
        for host in map(self.host, self.edge_hosts):
            lines.append(f"link add {VM} netns {host.edge.namespace} mtu {MTU} type veth peer name eth0 netns {host.namespace} mtu {MTU}")
            inside[host.edge.namespace].append(f"link set {VM} up")
        run_all([(["ip", "-batch", "-"], None, "\n".join(lines) + "\n")])
        for host in self.hosts.values():
            inside[host.namespace] = self.host_setup(host)
        enter = {ns: ["nsenter", f"--net={ns}", "--"] for ns in inside}
        run_all([(enter[h.namespace] + "ethtool -K eth0 tx off tso off gso off gro off".split(), None, None) for h in self.hosts.values()])
        run_all([(enter[ns] + ["ip", "-batch", "-"], None, "\n".join(batch) + "\n") for ns, batch in inside.items()])

    def host_setup(self, host):
        # one segment a packet: else TCP's bursts pass tc as one packet, are cut up after it, and are sprayed over one path
        lines = ["link set lo up", f"link set eth0 address {mac(host.id)} up", "link set eth0 gso_max_segs 1"]
        for addr in host.node.addrs:
            lines.append(f"addr add {addr}/{'128 nodad' if ':' in addr else 32} dev eth0")
        for other in self.hosts.values():
            for addr in other.node.addrs if other is not host else ():
                source = host.ipv6 if ":" in addr else host.ipv4
                lines.append(f"route add {addr} dev eth0 mtu {IP_MTU} src {source}")
                lines.append(f"neigh add {addr} lladdr {mac(other.id)} dev eth0 nud permanent")
        return lines

    def read_tagging(self):
        """what the bed itself puts into table 0 of every switch: the codec's rules, nothing where the controller does it"""
        ids = [n.id for n in self.fabric.switches]
        if self.controller or not self.tags:
            self.tagging = dict.fromkeys(ids, "" if self.controller else switches.NO_TAGGING)
        else:
            command = [self.program_path("pathdump"), "codec", "rules", "--topology", self.topology, "--depth", "pcp", "--switch"]
            self.tagging = dict(zip(ids, run_all([(command + [str(i)], None, None) for i in ids])))

    def program_path(self, program):
        return os.path.join(self.binaries, program)

    def program(self, ids):
        """installs groups and flows of these switches; flows that have not changed keep their counters, those of others stay"""
        routes = self.routes()
        groups, flows = [], []
        for i in ids:
            text, before = self.forwarding[i].flows(routes, self.tagging[i], self.tagged, self.faults), self.installed.get(i, "")
            if text != before:
                site, self.installed[i] = self.site[i], text
                groups.append((site.control("-O", "OpenFlow15", "add-groups", switches.bridge(i), "-"), site.env, self.forwarding[i].group_text()))
                flows.append((site.control("-O", "OpenFlow13", "--bundle", "add-flows", switches.bridge(i), "-"), site.env, switches.changes(before, text)))
        run_all(groups)
        run_all(flows)

    # A bed that another process has brought up

    def save(self):
        state = {"kind": self.kind, "token": self.token, "keeper": self.keeper_pid, "tags": self.tags, "tagged": sorted(self.tagged), "faults": self.faults.save(),
                 "edges": self.edge_hosts, "ovs": self.ovs, "controller": bool(self.controller), "binaries": self.binaries, "down": sorted(map(sorted, self.down_links)),
                 "tagging": self.tagging, "installed": self.installed,
                 "groups": {i: [[*key, number] for key, number in f.groups.items()] for i, f in self.forwarding.items()}}
        new = os.path.join(self.folder, "state.new")
        with open(new, "w", encoding="utf-8") as file:
            json.dump(state, file)
        os.replace(new, os.path.join(self.folder, "state.json"))

    @staticmethod
    def attach(name):
        """the running bed of this name; FileNotFoundError when there is none"""
        folder = os.path.join(STATE, name)
        if keeper.is_dead(folder):
            raise FileNotFoundError(f"no bed named {name} is up")
        with open(os.path.join(folder, "state.json"), encoding="utf-8") as file:
            state = json.load(file)
        bed = fabric_class(state["kind"])(name)
        bed.token, bed.keeper_pid, bed.binaries = state["token"], state["keeper"], state["binaries"]
        bed.tags, bed.tagged = state["tags"], state["tagged"]
        bed.edge_hosts, bed.ovs = state["edges"], state["ovs"]
        bed.controller = Controller(bed) if state["controller"] else None
        bed.topology = os.path.join(bed.folder, "topology.json")
        bed.read_topology(bed.topology)
        bed.down_links = {tuple(link) for link in state["down"]}
        bed.tagging = {int(i): text for i, text in state["tagging"].items()}
        for i, groups in state["groups"].items():
            bed.forwarding[int(i)].groups = {(hashed, tuple(ports)): number for hashed, ports, number in groups}
        bed.installed = {int(i): text for i, text in state["installed"].items()}
        bed.place()
        bed.faults.load(state["faults"])
        return bed

    def down(self):
        """ends everything that runs in the bed; no more than the keeper's grace period is waited for programs"""
        if self.keeper_pid:
            try:
                os.kill(self.keeper_pid, signal.SIGTERM)
            except ProcessLookupError:
                pass
        if self.keeper_pid and not self.keeper:
            switches.wait_for(lambda: not os.path.exists(f"/proc/{self.keeper_pid}"), "the end of the bed", DOWN_TIMEOUT_S)
        for process in filter(None, [self.keeper, *self.started]):
            process.wait(DOWN_TIMEOUT_S)
            for pipe in filter(None, (process.stdin, process.stdout, process.stderr)):
                with contextlib.suppress(OSError):
                    pipe.close()
        self.keeper, self.keeper_pid, self.started = None, None, []
        keeper.sweep()

    # What a test does with it

    def popen_at(self, site, args, **options):
        """starts a program beside the switches of a site"""
        command = ["nsenter", f"--net={site.namespace}", "--", *map(str, args)]
        process = subprocess.Popen(command, env=site.env, start_new_session=True, **options)
        self.started.append(process)
        return process

    def host(self, which):
        """a host by its ID, its name or one of its addresses"""
        for host in self.hosts.values():
            if str(which) in (str(host.id), host.name, *host.node.addrs):
                return host
        raise KeyError(f"no host {which}")

    def link_down(self, a, b):
        """takes a link out, then repairs the routes: a packet that was on its way is lost, the next one is not"""
        self.set_link(a, b, "down")

    def link_up(self, a, b):
        self.set_link(a, b, "up")

    def set_link(self, a, b, state):
        if a not in self.fabric.nodes or b not in self.fabric.nodes[a].peers:
            raise KeyError(f"no link {a}-{b}")
        link = (min(a, b), max(a, b))
        self.switch_interface(link, state)
        (self.down_links.add if state == "down" else self.down_links.discard)(link)
        self.program(self.forwarding)
        self.save()

    def switch_interface(self, link, state):
        namespace, name = self.end_of(*link)
        run_all([(["nsenter", f"--net={namespace}", "--", "ip", "link", "set", name, state], None, None)])

    def set_faulty_links(self, links):
        """links that are down because of a fault, beside those of link_down; programs what faults have changed in the flow tables"""
        before, self.faulty_links = self.faulty_links, links
        for link in (links ^ before) - self.down_links:
            self.switch_interface(link, "down" if link in links else "up")
        self.program(self.forwarding)
        self.save()

    def routes(self):
        return self.fabric.routes(self.down_links | self.faulty_links)

    def tag_of(self, a, b):
        """the tag that switch b writes on what comes from a. RuntimeError when it writes none"""
        command = [self.program_path("pathdump"), "codec", "rules", "--topology", self.topology, "--depth", "pcp", "--switch", str(b)]
        rules = run_all([(command, None, None)])[0]
        found = re.search(rf"in_port={self.fabric.nodes[b].port(a)},.*set_field:(\d+)->vlan_vid", rules)
        if not found:
            raise RuntimeError(f"switch {b} writes no tag on what comes from {a}")
        return int(found[1]) & 0xFFF

    def spray_object(self):
        """the compiled program that numbers packets at random (spray.bpf.c)"""
        made = os.path.join(self.folder, "spray.o")
        if not os.path.exists(made):
            headers = f"/usr/include/{os.uname().machine}-linux-gnu"
            words = ["clang", "-target", "bpf", "-mcpu=v2", "-O2", "-g", "-isystem", headers, "-c", os.path.join(HERE, "spray.bpf.c"), "-o", made]
            run_all([(words, None, None)])
        return made

    def set_tagged(self, hosts):
        """IDs of the hosts that get frames with their tags on from now on; those behind an edge always do"""
        self.tagged = {*hosts, *self.edge_hosts}
        self.program({self.hosts[h].rack for h in self.hosts})
        self.save()

    def restart_edge(self, which):
        """kills the switch before a host and starts another one; packets are lost meanwhile"""
        edge = self.host(which).edge
        edge.switch.kill()
        edge.switch.wait()
        self.started.append(edge.start_switches())

    def paths(self, source, target):
        """every path that a packet may take now from a host to a host, as tuples of switch IDs"""
        return self.routes().paths(self.host(source).id, self.host(target).id)

    def punted(self):
        """how many packets the switches have sent to a controller because they had a tag too many"""
        return sum(int(number) for text in self.flow_counts(*self.site) for number in re.findall(r"n_packets=(\d+).*CONTROLLER", text))

    def flow_counts(self, *ids):
        """the flow tables of these switches with their counters, as ovs-ofctl prints them"""
        return run_all([(self.site[i].control("-O", "OpenFlow13", "dump-flows", switches.bridge(i)), self.site[i].env, None) for i in ids])


def make_folder(path):
    """also when the last bed goes down meanwhile and takes the folder of all beds with it"""
    while True:
        with contextlib.suppress(FileNotFoundError):
            return os.makedirs(path)


def fabric_class(kind):
    """the class of beds whose switches are of this kind: Open vSwitch, or tc-BPF programs in the kernel"""
    if kind == Bed.kind:
        return Bed
    from kernel import TcBed                    # it is made from this file
    return TcBed


def beds():
    """names of the beds that are up"""
    names = sorted(os.listdir(STATE)) if os.path.isdir(STATE) else []
    return [n for n in names if not n.startswith(".") and not keeper.is_dead(os.path.join(STATE, n))]
