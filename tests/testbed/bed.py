# SPDX-License-Identifier: Apache-2.0
"""A test bed: a data-centre network of Open vSwitch bridges and host namespaces on one machine, as
a Python object.

    with Bed(binaries="build/release/bin", tagged=all) as bed:
        bed.host("10.2.1.2").popen(["pathdumpd", "--intake", "live:eth0", ...])
        bed.host("10.1.1.2").run(["ping", "-c", "1", "10.2.1.2"])
        bed.link_down(11, 3)

A bed that such a block brings up lives as long as its process; one that `up(stay=True)` brings up
lives until `down`, and Bed.attach(name) finds it again. Not thread safe: one thread works on a bed
at a time.
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

import fabrics
import keeper
import monitors
from commands import inside, port, run_all, wait_for
from controller import Controller
from edge import UPLINK, VM, Edge
from fabrics import ovs
from keeper import FIRST_FD, STATE, TOKEN
from kit import Kit
from network import Network

HERE = os.path.dirname(os.path.abspath(__file__))
BINARIES = os.path.join(HERE, "..", "..", "build", "release", "bin")
OVS = os.path.join(HERE, "..", "..", "build", "ovs")
MTU = 1508                      # an IP packet of 1500 bytes and two tags
IP_MTU = 1500
DOWN_TIMEOUT_S = 10
OFFLOADS = ("tx", "tso", "gso", "gro")


def mac(host):
    return f"02:00:00:00:{host >> 8:02x}:{host & 255:02x}"


class Host:
    """a server of the bed: a network namespace with one interface, eth0"""

    def __init__(self, bed, node, namespace):
        self.bed, self.node, self.namespace = bed, node, namespace
        self.id, self.name = node.id, node.name
        self.ipv4, self.ipv6 = (next((a for a in node.addrs if (":" in a) == v6), None)
                                for v6 in (False, True))
        self.rack = node.peers[0]
        self.edge = None                        # the Edge that stands before it

    def command(self, args):
        return ["nsenter", f"--net={self.namespace}", "--", *map(str, args)]

    def popen(self, args, **options):
        """starts a program on the host; it ends with the bed at the latest. Its PID is that of the
        program"""
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

    def __init__(self, name=None, topology=None, binaries=BINARIES, tags=True, tagged=(), edges=(),
                 ovs=OVS, controller=False, fabric="ovs", offloads=False, plan=None, program=None,
                 codec=None, monitors="tor"):
        """topology: a file, by default a fat-tree of 4; tags: whether switches tag; tagged: host
        IDs that get frames with their tags on (they run an agent), or the function all; edges: IDs
        of hosts that stand behind a patched switch of their own, of the build in the folder `ovs`;
        controller: the tagging rules are put on the switches by a pathdump-controller of the bed,
        to which its agents belong; fabric: what its switches are (a folder of fabrics/);
        codec: the topology's codec; path-bloom: its filters in one VLAN tag, with IDs that tell
        shortest paths apart; `monitors` names the ends of its segments: "tor" or "tor+top";
        program: the set of programs that the switches of the fabric p4 run, by default that of the
        codec;
        plan: a telemetry plan, by which the switches of the fabrics tc and p4 write digests; the
        codec is then pint, unless the topology names it;
        offloads: hosts send and take packets of up to 64 KB, as network cards let them: for speed,
        where nobody counts packets"""
        self.name = name or f"bed{os.getpid()}"
        self.folder = os.path.join(STATE, self.name)
        self.binaries = os.path.abspath(binaries)
        self.topology, self.tags, self.tagged = topology, tags, tagged
        self.plan, self.program = plan and os.path.abspath(plan), program
        self.codec, self.monitors = codec, monitors
        self.edge_hosts, self.ovs = sorted(edges), os.path.abspath(ovs)
        self.controller = Controller(self) if controller else None
        self.watchers = {}                      # switch -> who answers for its meters
        self.down_links, self.started, self.offloads = set(), [], offloads
        self.fabric = fabrics.find(fabric)(self)
        self.tags &= self.fabric.tags
        self.faulty_links, self.faults = set(), Kit(self)
        self.token, self.keeper, self.keeper_pid = f"{self.name}.{secrets.token_hex(8)}", None, None

    # From nothing to a running network

    def __enter__(self):
        return self.up()

    def __exit__(self, *_):
        self.down()

    def up(self, stay=False):
        keeper.sweep()
        self.fabric.need()
        self.need_edges()
        lock = self.claim()
        try:
            self.make_topology()
            self.read_topology(os.path.join(self.folder, "topology.json"))
            self.start_keeper(lock, stay)
            self.save()
            if self.controller:
                self.controller.list_hosts()
                monitors.write(self)
                self.controller.start()
            ovs.start_sites(self, self.edges())
            self.fabric.start()
            self.connect()
            run_all([edge.bring_up() for edge in self.edges()])
            self.fabric.linked()
            self.watchers = monitors.start(self)
            for edge in self.edges():
                edge.wait_for_socket()
            if self.controller:
                self.controller.ready()
                self.fabric.meet_controller()
            self.program_all()
            if self.controller:
                self.controller.wait_installed()
            self.save()
        except BaseException:
            os.close(lock)
            self.down()
            raise
        os.close(lock)
        return self

    def need_edges(self):
        if self.edge_hosts:
            ovs.need_tun()
        if self.edge_hosts and not os.path.exists(os.path.join(self.ovs, "vswitchd",
                                                               "ovs-vswitchd")):
            raise RuntimeError(
                f"there is no patched switch in {self.ovs}; `tools/ovs build` makes it")

    def claim(self):
        """makes the state folder, locked from the first moment on; two beds of one name: the second
        one fails"""
        new = os.path.join(STATE, f".{self.name}.{os.getpid()}")
        make_folder(new)
        lock = os.open(os.path.join(new, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            os.rename(new, self.folder)
        except OSError:
            os.close(lock)
            shutil.rmtree(new)
            raise RuntimeError(f"there is a bed named {self.name} already; tests/testbed/bed down "
                               f"--name {self.name}") from None
        return lock

    def make_topology(self):
        with open(os.path.join(self.folder, "topology.json"), "w", encoding="utf-8") as file:
            if self.topology:
                with open(self.topology, encoding="utf-8") as given:
                    file.write(given.read())
            else:
                subprocess.run([self.program_path("pathdump"), *self.fabric.topology], stdout=file,
                               check=True)
        self.topology = file.name
        if self.codec:
            self.take_codec()
        if self.plan:
            self.take_plan()

    def take_codec(self):
        """the bed's own topology names it"""
        with open(self.topology, encoding="utf-8") as file:
            topology = json.load(file)
        topology["codec"] = self.codec
        if self.codec == "path-bloom":
            topology["codec_options"] = {"carrier": "vlan", "bits": 15, "hashes": 2,
                                         "monitors": self.monitors}
        with open(self.topology, "w", encoding="utf-8") as file:
            json.dump(topology, file)
        if self.codec == "path-bloom":
            subprocess.run([self.program_path("pathdump"), "codec", "assign", "--topology",
                            self.topology, "--out", f"{self.topology}.new"],
                           stdout=subprocess.DEVNULL, check=True)
            os.replace(f"{self.topology}.new", self.topology)

    def take_plan(self):
        """the bed's own copy, and a topology whose codec reads digests"""
        if not self.fabric.digests:
            raise RuntimeError(f"switches of the fabric {self.fabric.name} cannot write digests: "
                               f"those of tc and p4 can")
        self.plan = shutil.copy(self.plan, os.path.join(self.folder, "plan.json"))
        with open(self.topology, encoding="utf-8") as file:
            topology = json.load(file)
        if "pint" not in topology["codec"]:
            topology["codec"] = "pint"
            with open(self.topology, "w", encoding="utf-8") as file:
                json.dump(topology, file)

    def read_topology(self, path):
        self.network = Network(path)
        self.tagged = {h.id for h in self.network.hosts} if self.tagged is all else {
            *self.tagged, *self.edge_hosts}
        self.mark = {TOKEN: self.token}

    def start_keeper(self, lock, stay):
        sites = {self.fabric.site_of(n) for n in self.network.switches}
        sizes = [str(len(self.network.hosts)), str(len(sites) + len(self.edge_hosts))]
        sysctls = json.dumps(self.fabric.sysctls)
        command = [sys.executable, os.path.join(HERE, "keeper.py"), self.folder, str(lock), *sizes,
                   sysctls]
        self.keeper = subprocess.Popen(
            command + ["--stay"] * stay, stdin=subprocess.DEVNULL if stay else subprocess.PIPE,
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
        self.hosts = {n.id: Host(self, n, next(namespaces)) for n in self.network.hosts}
        members = {}
        for node in self.network.switches:
            members.setdefault(self.fabric.site_of(node), []).append(node)
        environment = dict(os.environ, **self.mark)
        self.sites = [self.fabric.site(name, nodes, next(namespaces), self.folder, environment)
                      for name, nodes in members.items()]
        self.site = {n.id: site for site in self.sites for n in site.switches}
        for i in self.edge_hosts:
            self.host(i).edge = Edge(self.host(i), self.ovs, next(namespaces), self.folder,
                                     environment)

    @property
    def monitors_on(self):
        """whether switches count what segments lose: somebody has to ask them"""
        return bool(self.controller) and self.codec == "path-bloom" and self.fabric.meters

    def all_sites(self):
        return [*self.sites, *self.edges()]

    def edges(self):
        return [self.hosts[i].edge for i in self.edge_hosts]

    def end_of(self, a, b):
        """namespace and interface name of a's end of the link to b"""
        if a not in self.hosts:
            return self.site[a].namespace, port(a, b)
        host = self.hosts[a]
        return (host.edge.namespace, UPLINK) if host.edge else (host.namespace, "eth0")

    def connect(self):
        """one veth pair for each link, made straight inside the namespaces of its ends"""
        lines, batches = [], {site.namespace: ["link set lo up"] for site in self.sites}
        for a, b in self.network.links:
            (ns_a, name_a), (ns_b, name_b) = self.end_of(a, b), self.end_of(b, a)
            lines.append(f"link add {name_a} netns {ns_a} mtu {MTU} type veth peer name {name_b} "
                         f"netns {ns_b} mtu {MTU}")
            for namespace, name in ((ns_a, name_a), (ns_b, name_b)):
                if name != "eth0":
                    batches.setdefault(namespace, []).append(f"link set {name} up")
        for host in map(self.host, self.edge_hosts):
            lines.append(f"link add {VM} netns {host.edge.namespace} mtu {MTU} type veth peer name "
                         f"eth0 netns {host.namespace} mtu {MTU}")
            batches[host.edge.namespace].append(f"link set {VM} up")
        run_all([(["ip", "-batch", "-"], None, "\n".join(lines) + "\n")])
        for host in self.hosts.values():
            batches[host.namespace] = self.host_setup(host)
        wanted = [word for name in OFFLOADS for word in (name, "on" if self.offloads else "off")]
        run_all([inside(h.namespace, ["ethtool", "-K", "eth0", *wanted])
                 for h in self.hosts.values()])
        run_all([inside(ns, ["ip", "-batch", "-"], "\n".join(lines) + "\n")
                 for ns, lines in batches.items()])

    def host_setup(self, host):
        # one segment a packet: else TCP's bursts pass tc as one packet, are cut up after it, and
        # are sprayed over one path
        segments = 65535 if self.offloads else 1
        lines = ["link set lo up", f"link set eth0 address {mac(host.id)} up",
                 f"link set eth0 gso_max_segs {segments}"]
        for addr in host.node.addrs:
            lines.append(f"addr add {addr}/{'128 nodad' if ':' in addr else 32} dev eth0")
        for other in self.hosts.values():
            for addr in other.node.addrs if other is not host else ():
                source = host.ipv6 if ":" in addr else host.ipv4
                lines.append(f"route add {addr} dev eth0 mtu {IP_MTU} src {source}")
                lines.append(f"neigh add {addr} lladdr {mac(other.id)} dev eth0 nud permanent")
        return lines

    def program_all(self):
        self.fabric.program([n.id for n in self.network.switches])

    @property
    def codec_rules(self):
        """the command that prints what switches are to write"""
        return [self.program_path("pathdump"), "codec", "rules", "--topology", self.topology,
                "--depth", "pcp"]

    def program_path(self, program):
        return os.path.join(self.binaries, program)

    # A bed that another process has brought up

    def save(self):
        state = {"fabric": self.fabric.name, "token": self.token, "keeper": self.keeper_pid,
                 "tags": self.tags, "tagged": sorted(self.tagged), "faults": self.faults.save(),
                 "edges": self.edge_hosts, "plan": self.plan, "ovs": self.ovs,
                 "controller": bool(self.controller), "binaries": self.binaries,
                 "down": sorted(map(sorted, self.down_links)),
                 "switches": self.fabric.save()}
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
        bed = Bed(name, fabric=state["fabric"])
        bed.token, bed.keeper_pid, bed.binaries = state["token"], state["keeper"], state["binaries"]
        bed.tags, bed.tagged = state["tags"], state["tagged"]
        bed.edge_hosts, bed.ovs, bed.plan = state["edges"], state["ovs"], state["plan"]
        bed.controller = Controller(bed) if state["controller"] else None
        bed.topology = os.path.join(bed.folder, "topology.json")
        bed.read_topology(bed.topology)
        bed.down_links = {tuple(link) for link in state["down"]}
        bed.place()
        bed.fabric.load(state["switches"])
        bed.faults.load(state["faults"])
        return bed

    def down(self):
        """ends everything that runs in the bed; no more than the keeper's grace period is waited
        for programs"""
        if self.keeper_pid:
            try:
                os.kill(self.keeper_pid, signal.SIGTERM)
            except ProcessLookupError:
                pass
        if self.keeper_pid and not self.keeper:
            wait_for(lambda: not os.path.exists(f"/proc/{self.keeper_pid}"), "the end of the "
                     "bed", DOWN_TIMEOUT_S)
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
        """takes a link out, then repairs the routes: a packet that was on its way is lost, the next
        one is not"""
        self.set_link(a, b, "down")

    def link_up(self, a, b):
        self.set_link(a, b, "up")

    def set_link(self, a, b, state):
        if a not in self.network.nodes or b not in self.network.nodes[a].peers:
            raise KeyError(f"no link {a}-{b}")
        link = (min(a, b), max(a, b))
        self.switch_interface(link, state)
        (self.down_links.add if state == "down" else self.down_links.discard)(link)
        self.program_all()
        self.save()

    def switch_interface(self, link, state):
        namespace, name = self.end_of(*link)
        run_all([inside(namespace, ["ip", "link", "set", name, state])])

    def set_faulty_links(self, links):
        """links that are down because of a fault, beside those of link_down; programs what faults
        have changed in the flow tables"""
        before, self.faulty_links = self.faulty_links, links
        for link in (links ^ before) - self.down_links:
            self.switch_interface(link, "down" if link in links else "up")
        self.program_all()
        self.save()

    def routes(self):
        return self.network.routes(self.down_links | self.faulty_links)

    def tag_of(self, a, b):
        """the tag that switch b writes on what comes from a. RuntimeError when it writes none"""
        rules = run_all([([*self.codec_rules, "--switch", str(b)], None, None)])[0]
        found = re.search(rf"in_port={self.network.nodes[b].port(a)},.*set_field:(\d+)->vlan_vid",
                          rules)
        if not found:
            raise RuntimeError(f"switch {b} writes no tag on what comes from {a}")
        return int(found[1]) & 0xFFF

    def set_tagged(self, hosts):
        """IDs of the hosts that get frames with their tags on from now on; those behind an edge
        always do"""
        self.tagged = {*hosts, *self.edge_hosts}
        self.fabric.program({self.hosts[h].rack for h in self.hosts})
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


def make_folder(path):
    """also when the last bed goes down meanwhile and takes the folder of all beds with it"""
    while True:
        with contextlib.suppress(FileNotFoundError):
            return os.makedirs(path)


def beds():
    """names of the beds that are up"""
    names = sorted(os.listdir(STATE)) if os.path.isdir(STATE) else []
    return [n for n in names if not n.startswith(".")
            and not keeper.is_dead(os.path.join(STATE, n))]
