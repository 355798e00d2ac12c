# SPDX-License-Identifier: Apache-2.0
"""Switches that run compiled P4 programs: one pathdump-switch for all of them (README.md).

    bed.fabric.counters(9)          {"received": …, "forwarded": …, "punted": …, "dropped": {…}, …}
    bed.fabric.array(9, "clock")    numbers of a program's array

What the schemes look up is what `pathdump p4 tables` says; where packets go is the bed's own affair
(routes.py) and comes by the control socket, while frames pass.
"""
import contextlib
import json
import os
import subprocess
import sys

from commands import inside, port, run_all, wait_for
from fabrics import interface
from fabrics.p4.routes import Names, Table
from faults import WrongTag

START_S = 30
ANSWER_S = 20
FIRST_PREF = 1                  # of our filter
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "../../../shared"))
from control import UnixConnection  # noqa: E402


class Fabric(interface.Fabric):
    """one process in one namespace, a packet socket for each end of a link"""

    name = "p4"
    digests, openflow = True, False

    def __init__(self, bed):
        super().__init__(bed)
        self.socket = os.path.join(bed.folder, "switches.sock")
        self.log = os.path.join(bed.folder, "switches.log")
        self.stripper = os.path.join(bed.folder, "strip.o")
        self.groups, self.installed, self.stripping = {}, {}, set()
        self.names = self.tagging = self.process = None

    def controller_words(self, controller):
        """what needs a plan is the bed's own affair"""
        return [] if self.bed.plan else ["--p4-switches", f"unix:{self.socket}"]

    def need(self):
        if not os.path.exists(self.bed.program_path("pathdump-switch")):
            raise RuntimeError(
                "there is no pathdump-switch: it is built where DPDK's static libraries are there")

    @staticmethod
    def site_of(_):
        return "switches"

    @property
    def program_name(self):
        """the set that is asked for, or the one that fits the topology's codec"""
        if self.bed.program or not self.bed.tags:
            return self.bed.program or "forward"
        with open(self.bed.topology, encoding="utf-8") as file:
            codec = json.load(file)["codec"]
        return codec if codec in ("path-bloom", "pint") else "cherrypick"

    # Start

    def tables_of(self, switch):
        return os.path.join(self.bed.folder, "tables", str(switch))

    def linked(self):
        nodes, program = self.bed.network.switches, self.program_name
        words = [self.bed.program_path("pathdump"), "p4", "tables", "--topology", self.bed.topology,
                 "--program", program, "--routes", "none", "--format", "swx"]
        words += ["--plan", self.bed.plan] if self.bed.plan else []
        run_all([([*words, "--switch", str(n.id), "--out", self.tables_of(n.id)], None, None)
                 for n in nodes])
        self.names = Names(self.spec(program))
        self.read_tagging()
        config = {"control": f"unix:{self.socket}",
                  "switches": [self.switch(n, program) for n in nodes]}
        with open(os.path.join(self.bed.folder, "switches.json"), "w", encoding="utf-8") as file:
            json.dump(config, file)
        self.run(file.name)

    def spec(self, program):
        """text of the compiled program"""
        listed = json.loads(run_all([([self.bed.program_path("pathdump"), "p4", "programs",
                                       "--json"], None, None)])[0])
        file = next(one["file"] for one in listed["programs"]
                    if (one["target"], one["name"]) == ("pna", program))
        p4 = os.environ.get("PATHDUMP_P4") or os.path.join(HERE, "../../../../p4")
        with open(os.path.join(p4, "..", file), encoding="utf-8") as text:
            return text.read()

    def switch(self, node, program):
        ports = {str(n): {"interface": port(node.id, peer)} for n, peer in enumerate(node.peers, 1)}
        return {"id": node.id, "program": program, "tables": self.tables_of(node.id),
                "ports": ports,
                "punts": self.punt_file(node.id)}

    def run(self, config):
        command = inside(self.bed.sites[0].namespace,
                         [self.bed.program_path("pathdump-switch"), config])[0]
        with open(self.log, "a", encoding="utf-8") as log:
            process = subprocess.Popen(command, env=dict(os.environ, **self.bed.mark),
                                       stdin=subprocess.DEVNULL,
                                       stdout=log, stderr=log, start_new_session=True)
        self.bed.started.append(process)
        self.process = process

        def answers():
            if process.poll() is not None:
                with open(self.log, encoding="utf-8") as said:
                    raise RuntimeError(f"the switches do not run: {said.read().strip()}")
            with contextlib.suppress(OSError):
                return bool(self.ask("status"))
            return False
        wait_for(answers, "pathdump-switch", START_S)

    def ask(self, path, document=None):
        """the answer of /v1/PATH; a document is put there"""
        with contextlib.closing(UnixConnection(self.socket, ANSWER_S)) as connection:
            body = None if document is None else json.dumps(document)
            connection.request("GET" if body is None else "PUT", f"/v1/{path}", body,
                               {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read().decode()
        if answer.status != 200:
            raise RuntimeError(f"switches: {path}: {text.strip()}")
        return json.loads(text)

    # Entries

    def program(self, ids):
        routes = self.bed.routes()
        for i in ids:
            table = Table(self.bed, i, routes, self.groups)
            if table.sprays:
                raise RuntimeError("switches of the fabric p4 spread flows: they cannot spray "
                                   "packets, nor tell large flows")
            wanted = {self.names.table("groups"): table.members(self.names),
                      self.names.table("routes"): table.rows(self.names), **self.tag_rows(i)}
            before = self.installed.get(i, {})
            for name, rows in wanted.items():
                if before.get(name) != rows:
                    self.ask(f"switches/{i}/tables/{name}", {"rows": rows})
            self.installed[i] = wanted
        self.strip()

    def read_tagging(self):
        """rows of the codec by switch, which wrong tags change"""
        name = self.names.find_table("rows")
        self.tagging = {}
        for node in self.bed.network.switches if name else ():
            with open(os.path.join(self.tables_of(node.id), f"{name}.swx"),
                      encoding="utf-8") as file:
                self.tagging[node.id] = file.read().splitlines()

    def tag_rows(self, switch):
        if switch not in self.tagging:
            return {}
        node, rows = self.bed.network.nodes[switch], self.tagging[switch]
        for fault in self.bed.faults.all():
            if isinstance(fault, WrongTag) and fault.ends[1] == switch:
                rows = [self.names.with_tag(row, node.port(fault.ends[0]), fault.tag)
                        for row in rows]
        return {self.names.table("rows"): rows}

    def strip(self):
        """hosts that have no agent take off themselves what a switch leaves on"""
        wanted = {i for i in self.bed.hosts if i not in self.bed.tagged}
        if wanted - self.stripping:
            headers = f"/usr/include/{os.uname().machine}-linux-gnu"
            run_all([(["clang", "-target", "bpf", "-mcpu=v2", "-O2", "-g", "-isystem", headers,
                       "-c",
                       os.path.join(HERE, "strip.bpf.c"), "-o", self.stripper], None, None)])
        run_all([self.at_host(i, "qdisc", "add", "dev", "eth0", "clsact")
                 for i in wanted - self.stripping])
        run_all([self.at_host(
            i, "filter", "add", "dev", "eth0", "ingress", "pref", FIRST_PREF, "bpf", "da",
            "object-file", self.stripper, "section", "tc") for i in wanted - self.stripping])
        run_all([self.at_host(i, "filter", "del", "dev", "eth0", "ingress", "pref", FIRST_PREF)
                 for i in self.stripping - wanted])
        self.stripping = wanted

    def at_host(self, host, *words):
        return inside(self.bed.hosts[host].namespace, ["tc", *words])

    # What it did

    def array(self, switch, name):
        return self.ask(f"switches/{switch}/arrays/{name}")["values"]

    def summaries(self):
        return {one["switch"]: one for one in self.ask("switches")["switches"]}

    def counters(self, switch):
        """received = forwarded + punted + all that is in `dropped`"""
        return self.summaries()[switch]

    def punted(self):
        return sum(one["punted"] for one in self.summaries().values())

    def punt_file(self, switch):
        return os.path.join(self.bed.folder, f"punts{switch}.ndjson")

    def punts(self):
        found = []
        for node in self.bed.network.switches:
            if os.path.exists(self.punt_file(node.id)):
                with open(self.punt_file(node.id), encoding="utf-8") as file:
                    found += map(json.loads, file)
        return [dict(one, time_ns=one["time_us"] * 1000, bytes=len(one["frame"]) // 2,
                     frame=bytes.fromhex(one["frame"]))
                for one in sorted(found, key=lambda one: one["time_us"])]

    def save(self):
        return {"installed": self.installed, "stripping": sorted(self.stripping),
                "groups": [*self.groups],
                "program": self.bed.program}

    def load(self, state):
        self.bed.program = state["program"]
        self.installed = {int(i): tables for i, tables in state["installed"].items()}
        self.stripping = set(state["stripping"])
        self.groups = {tuple(slots): number for number, slots in enumerate(state["groups"], 1)}
        self.names = Names(self.spec(self.program_name))
        self.read_tagging()
