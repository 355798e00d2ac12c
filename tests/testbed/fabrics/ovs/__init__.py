# SPDX-License-Identifier: Apache-2.0
"""Open vSwitch in a test bed: one ovsdb-server and one ovs-vswitchd for each site (a pod, or the
cores), one bridge for each switch, and the forwarding that is the bed's own."""
import os
import re
import subprocess

from commands import TIMEOUT_S, port, run_all, wait_for
from fabrics import interface
from fabrics.ovs.flows import Forwarding, changes

HERE = os.path.dirname(os.path.abspath(__file__))

SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
TUN = "/dev/net/tun"
CONTROLLER_S = 30
NO_TAGGING = "table=0,priority=0,actions=goto_table:1"


def bridge(switch):
    return f"sw{switch}"


class Site(interface.Site):
    """the switches of one network namespace, run by one ovs-vswitchd"""

    def __init__(self, name, switches, namespace, folder, environment):
        super().__init__(name, switches, namespace, folder, environment)
        self.env = dict(environment, OVS_RUNDIR=self.folder, OVS_DBDIR=self.folder,
                        OVS_LOGDIR=self.folder,
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
        log = [f"--log-file={self.folder}/{program}.log", "-vconsole:off", "-vsyslog:off",
               "-vfile:info"]
        command = ["nsenter", f"--net={self.namespace}", "--", self.program(program), *args,
                   f"--unixctl={self.folder}/{program}.ctl", *log]
        return subprocess.Popen(command, env=self.env, start_new_session=True,
                                stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def bring_up(self):
        """the command that makes all bridges in one transaction and waits until the switches have
        them"""
        words = ["ovs-vsctl", f"--timeout={TIMEOUT_S}", f"--db={self.db}", "--", "set",
                 "Open_vSwitch", ".",
                 "other_config:vlan-limit=2", "other_config:n-revalidator-threads=1"]
        for node in self.switches:
            name = bridge(node.id)
            words += ["--", "add-br", name, "--", "set", "bridge", name, "datapath_type=netdev",
                      "fail_mode=secure",
                      "protocols=OpenFlow13,OpenFlow15", f"other_config:datapath-id={node.id:016x}"]
            for number, peer in enumerate(node.peers, 1):
                end = port(node.id, peer)
                words += ["--", "add-port", name, end, "--", "set", "interface", end,
                          f"ofport_request={number}"]
        return words, self.env, None

    def control(self, *words):
        """arguments of an ovs-ofctl command for this site"""
        return ["ovs-ofctl", f"--timeout={TIMEOUT_S}", *words]


def start_sites(bed, sites):
    """databases first, then the switches that read them"""
    for site in sites:
        bed.started.append(site.start_database())
    run_all([(["ovs-vsctl", "--no-wait", "--retry", f"--timeout={TIMEOUT_S}", f"--db={site.db}",
               "init"], site.env, None) for site in sites])
    for site in sites:
        bed.started.append(site.start_switches())


def need_tun():
    """Open vSwitch opens a tap device for every bridge; a bare root folder has no node for it"""
    if not os.path.exists(TUN):
        os.makedirs(os.path.dirname(TUN), exist_ok=True)
        os.mknod(TUN, 0o20666, os.makedev(10, 200))


class Fabric(interface.Fabric):
    """one bridge for each switch; tables and groups are changed by ovs-ofctl, the tagging table by
    a controller where there is one"""

    name = "ovs"
    site = Site

    def __init__(self, bed):
        super().__init__(bed)
        self.tagging, self.installed, self.targets = {}, {}, 0
        self.forwarding = {}

    def need(self):
        need_tun()

    def start(self):
        start_sites(self.bed, self.bed.sites)

    def linked(self):
        self.forwarding = {n.id: Forwarding(self.bed.network, n.id)
                           for n in self.bed.network.switches}
        run_all([site.bring_up() for site in self.bed.sites])
        self.read_tagging()

    def read_tagging(self):
        """what the bed itself puts into table 0 of every switch: the codec's rules, nothing where
        the controller does it"""
        ids = [n.id for n in self.bed.network.switches]
        if self.bed.controller or not self.bed.tags:
            self.tagging = dict.fromkeys(ids, "" if self.bed.controller else NO_TAGGING)
        else:
            command = [*self.bed.codec_rules, "--switch"]
            self.tagging = dict(zip(ids, run_all([(command + [str(i)], None, None) for i in ids])))

    def meet_controller(self):
        """makes all switches connect at once: one tries a target that has failed again after up to
        8 s, whatever it is told, and a new one at once. A first controller makes Open vSwitch
        forget all flows, so those of the bed come after it"""
        self.targets += 1
        commands = []
        for site in self.bed.sites:
            words = ["ovs-vsctl", f"--timeout={CONTROLLER_S}", f"--db={site.db}"]
            for node in site.switches:
                words += ["--", "set-controller", bridge(node.id), f"unix:{self.link(site)}"]
            commands.append((words, site.env, None))
        run_all(commands)

    def link(self, site):
        """a switch connects to unix sockets in its own folder only: a link there leads to the
        controller's"""
        name = os.path.join(site.folder, f"openflow{self.targets}.sock")
        if not os.path.islink(name):
            os.symlink(self.bed.controller.openflow, name)
        return name

    def program(self, ids):
        """flows that have not changed keep their counters, those of others stay"""
        routes = self.bed.routes()
        groups, flows = [], []
        for i in ids:
            text = self.forwarding[i].flows(routes, self.tagging[i], self.bed.tagged,
                                            self.bed.faults)
            before = self.installed.get(i, "")
            if text != before:
                site, self.installed[i] = self.bed.site[i], text
                groups.append((site.control("-O", "OpenFlow15", "add-groups", bridge(i), "-"),
                               site.env, self.forwarding[i].group_text()))
                flows.append((site.control("-O", "OpenFlow13", "--bundle", "add-flows", bridge(i),
                                           "-"),
                              site.env, changes(before, text)))
        run_all(groups)
        run_all(flows)

    def flow_counts(self, *ids):
        """the flow tables of these switches with their counters, as ovs-ofctl prints them"""
        commands = []
        for i in ids:
            site = self.bed.site[i]
            words = site.control("-O", "OpenFlow13", "dump-flows", bridge(i))
            commands.append((words, site.env, None))
        return run_all(commands)

    def counters(self, switch):
        """packets of its flows, by what the flow does"""
        rows = [re.search(r"n_packets=(\d+),.* actions=(\S+)", line)
                for line in self.flow_counts(switch)[0].splitlines()]
        found = {"received": 0, "punted": 0}
        for row in filter(None, rows):
            found["punted"] += int(row[1]) if "CONTROLLER" in row[2] else 0
            found["received"] += int(row[1]) if "table=0" in row.string else 0
        return found

    def punted(self):
        return sum(int(number) for text in self.flow_counts(*self.bed.site)
                   for number in re.findall(r"n_packets=(\d+).*CONTROLLER", text))

    def spray_filter(self):
        """tc words of what hosts do while switches spray (spray.bpf.c)"""
        made = os.path.join(self.bed.folder, "spray.o")
        if not os.path.exists(made):
            headers = f"/usr/include/{os.uname().machine}-linux-gnu"
            words = ["clang", "-target", "bpf", "-mcpu=v2", "-O2", "-g", "-isystem", headers,
                     "-c", os.path.join(HERE, "spray.bpf.c"), "-o", made]
            run_all([(words, None, None)])
        return ["object-file", made, "section", "tc"]

    def save(self):
        return {"tagging": self.tagging, "installed": self.installed,
                "groups": {i: [[*key, number] for key, number in f.groups.items()]
                           for i, f in self.forwarding.items()}}

    def load(self, state):
        self.forwarding = {n.id: Forwarding(self.bed.network, n.id)
                           for n in self.bed.network.switches}
        self.tagging = {int(i): text for i, text in state["tagging"].items()}
        self.installed = {int(i): text for i, text in state["installed"].items()}
        for i, groups in state["groups"].items():
            self.forwarding[int(i)].groups = {(hashed, tuple(ports)): number
                                              for hashed, ports, number in groups}
