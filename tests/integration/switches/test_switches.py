# SPDX-License-Identifier: Apache-2.0
"""The OpenFlow endpoint and the switches of a test bed: rules installed, repaired, left alone;
packets in and out."""
import json
import os
import queue
import re
import subprocess
import sys
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "testbed"), os.path.join(HERE, "..", "..", "shared")]

import capture                                  # noqa: E402  (found by the line above)
import scenario                                 # noqa: E402
from commands import port, run_all               # noqa: E402
from fabrics.ovs import bridge                   # noqa: E402

DRIVE = os.path.join(scenario.BINARIES, "tests", "drive_switches")
PATIENCE_S = 60
COOKIE = "0x50617468546167"
STRANGER = 999                                  # a datapath ID that no switch of the topology has
SEND = ("import socket,sys; s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); "
        "s.bind((sys.argv[1], 0)); s.send(bytes.fromhex(sys.argv[2]))")


class Endpoint:
    """the endpoint as a process; a thread of this one sorts its lines into answers and events"""

    def __init__(self, topology, path, *words):
        self.process = subprocess.Popen([DRIVE, topology, f"unix:{path}", *words],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.answers, self.events = queue.Queue(), []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        self.answers.get(timeout=PATIENCE_S)    # its address

    def read(self):
        for line in self.process.stdout:
            said = json.loads(line)
            if "event" in said:
                self.events.append(said)
            else:
                self.answers.put(said)

    def ask(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        return self.answers.get(timeout=PATIENCE_S)

    def status(self):
        return {s["id"]: s for s in self.ask("status")["switches"]}

    def wait(self, condition, what):
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"{what}: {self.status()}, {self.ask('counters')}, {self.events[-20:]}")
            time.sleep(0.05)

    def wait_all(self, state):
        self.wait(lambda: all(s["state"] == state
                              for s in self.status().values()), f"all switches {state}")

    def of(self, event):
        return [e for e in self.events if e["event"] == event]

    def once(self):
        """what it says when no switch has come"""
        with self:
            return self.status()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        code = self.process.wait(PATIENCE_S)
        self.reader.join(PATIENCE_S)
        self.process.stdout.close()
        assert code == 0, f"exit {code}"


def plain(dump, cookies=False):
    """flows of a dump without counters and times, and without cookies unless asked for, sorted"""
    lines = [line.strip() for line in dump.splitlines() if "table=" in line]
    lines = [re.sub(r"(duration|n_packets|n_bytes|idle_age|hard_age)=[^,]*, ", "", line)
             for line in lines]
    return sorted(lines if cookies else [re.sub(r"cookie=[^,]*, ", "", line) for line in lines])


class Switches(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bed = scenario.bed("switches").up()
        try:
            cls.connect()
        except BaseException:
            cls.bed.down()
            raise

    @classmethod
    def tearDownClass(cls):
        cls.bed.down()

    @classmethod
    def connect(cls):
        """a first controller makes Open vSwitch forget all flows, so the bed's come after it"""
        cls.socket, cls.targets = os.path.join(cls.bed.folder, "openflow.sock"), 0
        cls.point_switches()
        cls.bed.fabric.installed = {}
        cls.bed.program_all()
        cls.wanted = {i: plain(cls.dump(i)) for i in cls.bed.site}
        for i in cls.bed.site:
            cls.ofctl(i, "del-flows", "table=0")

    @classmethod
    def point_switches(cls):
        """a switch connects to unix sockets in its own folder only: a link there leads to the
        endpoint's. It tries a target that failed again after up to 8 s, whatever it is told, and a
        new one at once"""
        commands = []
        cls.targets += 1
        for site in cls.bed.all_sites():
            link = cls.link(site)
            os.symlink(cls.socket, link)
            words = ["ovs-vsctl", "--timeout=20", f"--db={site.db}"]
            for node in site.switches:
                words += ["--", "set-controller", bridge(node.id), f"unix:{link}"]
            commands.append((words, site.env, None))
        run_all(commands)

    @classmethod
    def link(cls, site):
        return os.path.join(site.folder, f"openflow{cls.targets}.sock")

    @classmethod
    def ofctl(cls, switch, command, *words):
        site = cls.bed.site[switch]
        return run_all([(site.control("-O", "OpenFlow13", command, bridge(switch), *words),
                         site.env, None)])[0]

    @classmethod
    def dump(cls, switch):
        return cls.ofctl(switch, "dump-flows")

    def endpoint(self, *words, topology=None):
        """an endpoint that the switches connect to at once"""
        endpoint = Endpoint(topology or self.bed.topology, self.socket, *words)
        self.point_switches()
        return endpoint

    def installed(self, **more):
        """an endpoint that has all rules on all switches"""
        endpoint = self.endpoint(**more)
        try:
            endpoint.wait_all("installed")
        except BaseException:
            endpoint.process.kill()
            raise
        return endpoint

    def check_all_wanted(self):
        for i, wanted in self.wanted.items():
            self.assertEqual(plain(self.dump(i)), wanted, f"switch {i}")

    def test_rules_are_those_of_the_bed(self):
        """the same flows as by ovs-ofctl, ours by their cookie; nothing is done the second time"""
        with self.installed() as endpoint:
            self.check_all_wanted()
            for i in self.wanted:
                ours = [line for line in plain(self.dump(i), cookies=True) if COOKIE in line]
                self.assertEqual(len(ours), endpoint.status()[i]["rules"])
                self.assertTrue(all(re.search(r"table=0, ", line) for line in ours))
        with self.installed() as endpoint:
            counters = endpoint.ask("counters")
            self.assertEqual((counters["flows_changed"], counters["repairs"], counters["checks"]),
                             (0, 0, len(self.wanted)))
            self.check_all_wanted()

    def test_repairs_only_what_differs(self):
        """rules that somebody deleted, changed or left behind; a foreign flow stays, and so does
        every flow that is right"""
        self.installed().__exit__()
        rules = [line for line in plain(self.dump(9)) if "push_vlan" in line]
        match = re.search(r"priority=\d+,\S+", rules[0])[0]
        other = re.search(r"priority=\d+,\S+", rules[1])[0]
        self.ofctl(9, "del-flows", "--strict", f"table=0,{match}")
        self.ofctl(9, "mod-flows", "--strict", f"table=0,{other},actions=drop")
        self.ofctl(9, "add-flow", f"cookie={COOKIE},table=0,priority=7,tcp,tp_dst=80,actions=drop")
        self.ofctl(9, "add-flow",
                   "cookie=0x5,table=0,priority=6,udp,tp_dst=53,actions=goto_table:1")
        self.ofctl(9, "add-flow", f"cookie={COOKIE},table=1,priority=6,udp,tp_dst=53,actions=drop")
        foreign = {"cookie=0x5, table=0, priority=6,udp,tp_dst=53 actions=goto_table:1",
                   f"cookie={COOKIE}, table=1, priority=6,udp,tp_dst=53 actions=drop"}
        try:
            with self.installed() as endpoint:
                counters, after = endpoint.ask("counters"), self.dump(9)
                self.assertEqual((counters["flows_changed"], counters["repairs"]), (3, 1))
                self.assertLessEqual(foreign, {re.sub("  +", " ", line)
                                               for line in plain(after, cookies=True)})
                left = [line for line in plain(after) if "tp_dst=53" not in line]
                self.assertEqual(left, self.wanted[9])
                self.assertEqual(endpoint.status()[9]["foreign"], 1)
        finally:
            self.ofctl(9, "del-flows", "table=0,udp")
            self.ofctl(9, "del-flows", "table=1,udp,tp_dst=53")

    def test_dry_run(self):
        """says what it would change and changes nothing; asked again, it looks again"""
        self.installed().__exit__()
        self.ofctl(17, "del-flows", "table=0,ipv6")
        before = plain(self.dump(17), cookies=True)
        with self.endpoint("dry-run") as endpoint:
            endpoint.wait(lambda: {s["state"] for s in endpoint.status().values()}
                          == {"installed", "differing"}, "the checks")
            changes = endpoint.ask("changes", 17)["changes"].splitlines()
            self.assertEqual(len(changes), len([line for line in self.wanted[17]
                                                if "table=0" in line and "ipv6" in line]))
            self.assertTrue(all(line.startswith("add table=0,priority=") and ",ipv6" in line
                                for line in changes), changes)
            self.assertEqual(endpoint.ask("changes", 18), {"error": 0, "changes": ""})
            self.assertEqual(plain(self.dump(17), cookies=True), before)
            self.ofctl(17, "add-flow",
                       f"cookie={COOKIE},table=0,priority=3,tcp,tp_dst=80,actions=drop")
            checks = endpoint.ask("counters")["checks"]
            self.assertEqual(endpoint.ask("check", 17), {"error": 0})
            endpoint.wait(lambda: endpoint.ask("counters")["checks"] > checks
                          and endpoint.status()[17]["surplus"] == 1, "another check")
            self.assertIn("delete table=0,priority=3,", endpoint.ask("changes", 17)["changes"])

    def test_edge(self):
        """held where each row of the edge is there and nobody's flow stands before it; repaired
        like the rest"""
        racks = set(range(1, 9))                  # those with hosts
        self.installed().__exit__()
        self.ofctl(1, "del-flows", "--strict",
                   "table=0,priority=60000,in_port=3,vlan_tci=0x1000/0x1000")
        self.ofctl(2, "add-flow",
                   "cookie=0x5,table=0,priority=60001,in_port=3,actions=goto_table:1")
        try:
            with self.endpoint("dry-run") as endpoint:
                endpoint.wait(lambda: {s["state"] for s in endpoint.status().values()}
                              == {"installed", "differing"}, "the checks")
                self.assertEqual({i: s["edge"] for i, s in endpoint.status().items()},
                                 {i: "open" if i in (1, 2) else "held" for i in self.wanted})
        finally:
            self.ofctl(2, "del-flows", "--strict", "table=0,priority=60001,in_port=3")
        with self.installed() as endpoint:
            self.assertEqual({s["edge"] for s in endpoint.status().values()}, {"held"})
            self.assertEqual({i: s["edge"] for i, s in Endpoint(
                self.bed.topology, f"{self.socket}.other").once().items()},
                             {i: "unknown" if i in racks else "held" for i in self.wanted})
        self.check_all_wanted()

    def test_foreign_flow_in_the_way(self):
        """the rule is not put in its place, and the switch is not called right"""
        self.installed().__exit__()
        self.ofctl(1, "del-flows", "--strict", "table=0,priority=0")
        self.ofctl(1, "add-flow", "cookie=0x5,table=0,priority=0,actions=drop")
        with self.endpoint() as endpoint:
            endpoint.wait(lambda: endpoint.status()[1]["state"] == "differing", "the check")
            self.assertEqual(endpoint.status()[1]["blocked"], 1)
            self.assertIn("somebody else", endpoint.status()[1]["last_error"])
            self.assertEqual(endpoint.ask("changes", 1)["changes"],
                             "blocked table=0,priority=0,actions=goto_table:1\n")
            self.assertTrue([line for line in plain(self.dump(1), cookies=True)
                             if "cookie=0x5, " in line])
            self.ofctl(1, "del-flows", "--strict", "table=0,priority=0")
            endpoint.ask("check", 1)
            endpoint.wait_all("installed")
        self.check_all_wanted()

    def test_unknown_switch(self):
        """a bridge that the topology does not know gets nothing and is reported, once"""
        site = self.bed.site[1]
        name = "stranger"
        vsctl = ["ovs-vsctl", "--timeout=20", f"--db={site.db}"]
        run_all([([*vsctl, "--", "add-br", name, "--", "set", "bridge", name,
                   "datapath_type=netdev", "fail_mode=secure", "protocols=OpenFlow13",
                   f"other_config:datapath-id={STRANGER:016x}"], site.env, None)])
        try:
            with self.installed() as endpoint:
                run_all([([*vsctl, "set-controller", name, f"unix:{self.link(site)}"], site.env,
                          None)])
                endpoint.wait(lambda: endpoint.ask("counters")["unknown_switches"]
                              >= 2, "the stranger, twice")
                self.assertEqual([e["datapath_id"] for e in endpoint.of("unknown")], [STRANGER])
                self.assertEqual(plain(run_all([(site.control("-O", "OpenFlow13", "dump-flows",
                                                              name), site.env, None)])[0]), [])
        finally:
            run_all([([*vsctl, "del-br", name], site.env, None)])

    def test_packets(self):
        """a packet with two tags comes to a core by a wire, and by a packet-out: it would need a
        third tag and comes here"""
        peer, core = 9, 17
        node = self.bed.network.nodes[core]
        frame = capture.ethernet(capture.packet("10.1.1.2", "10.2.1.2", 1000, 2000, b"looping"),
                                 tags=(1 << 13 | 7, 2 << 13 | 9))
        with self.installed() as endpoint:
            sender = self.bed.popen_at(self.bed.site[peer],
                                       [sys.executable, "-c", SEND, port(peer, core), frame.hex()])
            self.assertEqual(sender.wait(PATIENCE_S), 0)
            endpoint.wait(lambda: endpoint.of("packet_in"), "the packet from the wire")
            self.assertEqual(endpoint.ask("out", core, node.port(peer), "table", frame.hex()),
                             {"error": 0})
            endpoint.wait(lambda: len(endpoint.of("packet_in"))
                          == 2, "the packet that was sent out")
            wanted = {"event": "packet_in", "id": core, "in_port": node.port(peer), "reason": 1,
                      "table": 0, "data": frame.hex()}
            self.assertEqual(endpoint.of("packet_in"), [wanted, wanted])
            self.assertEqual(endpoint.status()[core]["packet_ins"], 2)
            self.assertEqual(endpoint.ask("out", STRANGER, 1, "table", "00"),
                             {"error": "no such thing"})

    def test_stripped_packet_goes_on(self):
        """without its tags it is sent on by the way of the rules, with the tag of the link that it
        came by, to its host"""
        peer, core, target = 9, 17, self.bed.host("10.2.1.2")
        node = self.bed.network.nodes[core]
        frame = capture.ethernet(capture.packet("10.1.1.2", "10.2.1.2", 1000, 2000, b"stripped"))
        frame = bytes.fromhex(f"0200000000{target.id:02x}") + frame[6:]
        receive = ("import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
                   "s.bind(('10.2.1.2', 2000)); print('ready', flush=True); "
                   "print(s.recv(99).decode(), flush=True)")
        with self.installed() as endpoint:
            receiver = target.popen([sys.executable, "-c", receive], stdout=subprocess.PIPE,
                                    text=True)
            self.assertEqual(receiver.stdout.readline(), "ready\n")
            self.assertEqual(endpoint.ask("out", core, node.port(peer), "table", frame.hex()),
                             {"error": 0})
            self.assertEqual(receiver.communicate(timeout=PATIENCE_S)[0], "stripped\n")

    def forge(self, frames):
        """sends frames from a host, and tells which of them come out at another one"""
        sender, target = self.bed.host("10.1.1.2"), self.bed.host("10.2.1.2")
        receive = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('10.2.1.2', 2000))
s.settimeout(20); print('ready', flush=True); last = ''
while last != 'last':
    last = s.recv(99).decode(); print(last, flush=True)
"""
        mac = bytes.fromhex(f"0200000000{target.id:02x}0200000000{sender.id:02x}")
        receiver = target.popen([sys.executable, "-c", receive], stdout=subprocess.PIPE, text=True)
        self.assertEqual(receiver.stdout.readline(), "ready\n")
        for frame in [*frames, capture.ethernet(capture.packet("10.1.1.2", "10.2.1.2", 1000, 2000,
                                                               b"last"))]:
            sender.run([sys.executable, "-c", SEND, "eth0", (mac + frame[12:]).hex()], check=True)
        said = receiver.communicate(timeout=PATIENCE_S)[0].split()
        self.assertEqual(said[-1], "last")
        return said[:-1]

    @staticmethod
    def forged(*tags):
        return capture.ethernet(capture.packet("10.1.1.2", "10.2.1.2", 1000, 2000,
                                               f"tags{len(tags)}".encode()), tags=tags)

    def test_tags_of_hosts_go_no_further(self):
        """one to three tags, as of a loop and of no link at all: dropped at the rack; nothing comes
        here"""
        frames = [self.forged(9).replace(b"\x81\x00", b"\x91\x00", 1)]
        frames += [self.forged(*tags)
                   for tags in ((1 << 13 | 9,), (9,), (1 << 13 | 9, 2 << 13 | 14),
                                (2 << 13 | 9, 2 << 13 | 9), (9, 14, 11), (4095, 4095, 4095))]
        with self.installed() as endpoint:
            self.assertEqual(self.forge(frames), [])
            self.assertEqual(endpoint.of("packet_in"), [])

    def test_tags_of_hosts_are_taken_off(self):
        """where the topology says so: one or two tags; with three, which the switch cannot read, it
        is dropped"""
        with open(self.bed.topology, encoding="utf-8") as file:
            topology = json.load(file)
        topology["codec_options"] = {"edge": "strip"}
        name = os.path.join(self.bed.folder, "strip.json")
        with open(name, "w", encoding="utf-8") as file:
            json.dump(topology, file)
        with self.installed(topology=name) as endpoint:
            self.assertEqual(self.forge([self.forged(9), self.forged(1 << 13 | 9, 2 << 13 | 14),
                                         self.forged(9, 9, 9)]), ["tags1", "tags2"])
            self.assertEqual(endpoint.of("packet_in"), [])
        self.installed().__exit__()
        self.check_all_wanted()


if __name__ == "__main__":
    scenario.main()
