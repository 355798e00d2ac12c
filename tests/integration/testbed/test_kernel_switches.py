# SPDX-License-Identifier: Apache-2.0
"""The second fabric: switches as tc-BPF programs forward, tag, punt and fail as those of Open
vSwitch do, an agent tells the paths of what they have tagged, and a controller tells them their
rules."""
import contextlib
import json
import os
import struct
import subprocess
import sys
import time
import unittest

import scenario                                 # makes the modules of the bed importable
import traffic
from agent import Agent, by_flow
from scenario import probe, serve_all, true_paths, unreachable
from commands import run_all, wait_for
from wire import Account, packet
from switches import PROBES, RECEIVER, SENDER, UNKNOWN_TAG, SwitchesTest
import capture                                  # found by the line above

HEAR = """
import json, socket, sys
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
sock = socket.socket(family, socket.SOCK_DGRAM)
level, option = socket.IPPROTO_IP, 12  # IP_RECVTTL
if ":" in sys.argv[1]:
    level, option = socket.IPPROTO_IPV6, socket.IPV6_RECVHOPLIMIT
sock.setsockopt(level, option, 1)
sock.bind((sys.argv[1], 5009))
print("ready", flush=True)
data, extra, _, _ = sock.recvmsg(100, 100)
print(json.dumps([int(data), int.from_bytes(extra[0][2][:4], sys.byteorder)]), flush=True)
"""
SEND = """
import socket, sys
address, ttls = sys.argv[1], [int(word) for word in sys.argv[2:]]
sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
for ttl in ttls:
    level, option = socket.IPPROTO_IP, socket.IP_TTL
    if ":" in address:
        level, option = socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS
    sock.setsockopt(level, option, ttl)
    sock.sendto(str(ttl).encode(), (address, 5009))
"""
SWITCHES_ON_WAY = 5             # between hosts of two pods
SUMMANDS = ("forwarded", "delivered", "punted", "punts_lost", "no_route", "not_ip", "failed",
            "expired", "edge")


def vids(frame):
    """VLAN IDs of a frame in the order in which they were pushed"""
    found = []
    while frame[12 + 4 * len(found):14 + 4 * len(found)] == b"\x81\x00":
        found.append(int.from_bytes(frame[14 + 4 * len(found):16 + 4 * len(found)], "big") & 0xFFF)
    return found[::-1]


def pcapng(data):
    """(frame, comment) of each packet"""
    at, found = 0, []
    while at < len(data):
        kind, size = struct.unpack_from("II", data, at)
        assert size >= 12 and size % 4 == 0 and struct.unpack_from("I", data, at + size
                                                                   - 4)[0] == size, f"block at {at}"
        if kind == 6:
            captured, = struct.unpack_from("I", data, at + 20)
            option = at + 28 + captured + -captured % 4
            code, length = struct.unpack_from("HH", data, option)
            assert code == 1
            found.append((data[at + 28:at + 28 + captured],
                          data[option + 4:option + 4 + length].decode()))
        at += size
    return found


class KernelSwitches(SwitchesTest):
    name, fabric = "kernel", "tc"

    def test_every_host_reaches_every_host(self):
        self.assertEqual(unreachable(self.bed), [])

    def test_agent_tells_the_paths(self):
        """of four hops, and of a detour of six: to the packet and the byte what was on the wires"""
        for detour in [], [(11, 3)]:
            for link in detour:
                self.bed.faults.add("link-down", *link)
            self.tells_the_paths(bool(detour))

    def test_third_tag(self):
        """it is pushed, and the next switch gives the packet with all three to the controller:
        nobody else gets it"""
        for link in ((9, 17), (9, 18), (19, 12)):
            self.bed.faults.add("link-down", *link)
        before, links = len(self.bed.fabric.punts()), self.shoot(PROBES)
        long = {port: seen for port, seen in links.items() if (9, 2) in seen and (10, 19) in seen}
        self.assertTrue(0 < len(long) < len(links),
                        f"{len(long)} of {len(links)} flows took the long way")
        self.assertEqual({port for port, seen in links.items() if not seen & {(11, 3), (12, 3)}},
                         set(long))
        wait_for(lambda: len(self.bed.fabric.punts()) >= before + len(long), "the punted packets")
        punts = self.bed.fabric.punts()[before:]
        self.assertEqual(len(punts), len(long))
        for punt in punts:
            udp = 12 + 3 * 4 + 2 + 20
            seen = long[int.from_bytes(punt["frame"][udp:udp + 2], "big")]
            (over,) = (a for a, b in seen if b == 20)
            self.assertEqual(vids(punt["frame"]),
                             [self.bed.tag_of(*link) for link in ((9, 2), (10, 19), (over, 20))])
            self.assertEqual(punt["bytes"], udp + 8 + 40)
            self.assertIn((20, punt["switch"]), seen)

    def test_loop(self):
        """of four hops: the first and the third tag are those of the same link"""
        before = len(self.bed.fabric.punts())
        self.bed.faults.add("loop", "1,9,2,10", RECEIVER)
        self.shoot(1)
        wait_for(lambda: len(self.bed.fabric.punts()) > before, "the looping packet")
        (punt,) = self.bed.fabric.punts()[before:]
        tags = vids(punt["frame"])
        self.assertEqual((len(tags), tags[0] == tags[2], tags[0] == tags[1]), (3, True, False))
        self.bed.faults.clear()
        self.assertEqual(set(probe(self.sender, self.receiver.node.addrs)[0].values()), {1})

    def test_tags_of_hosts_go_no_further(self):
        """one to three tags of a host's own, of either type: dropped at its rack, in no record"""
        rack, before = 1, self.bed.fabric.counters(1)["edge"]
        frames = [capture.ethernet(capture.packet(self.sender.ipv4, self.receiver.ipv4, 7777, n,
                                                  b"forged"), tags, outer)
                  for n, tags in enumerate(((1 << 13 | 9,), (1 << 13 | 9, 2 << 13 | 14),
                                            (9, 14, 11), (4095,))) for outer in (0x8100, 0x88A8)]
        shoot = ("import socket,sys\ns=socket.socket(socket.AF_PACKET,socket.SOCK_RAW)\n"
                 "s.bind(('eth0',0))\nfor f in sys.argv[1:]: s.send(bytes.fromhex(f))")
        self.sender.run([sys.executable, "-c", shoot, *(frame.hex() for frame in frames)],
                        check=True)
        truth = true_paths(self.bed, self.send(4))
        self.assertEqual(self.answer(truth), truth)
        self.assertEqual(self.bed.fabric.counters(rack)["edge"] - before, len(frames))
        self.assertEqual([f for f in by_flow(self.agent.query("getFlows")) if f[2] == 7777], [])

    def test_blackhole(self):
        self.bed.faults.add("blackhole", 1, 9)
        self.bed.faults.add("blackhole", 1, 10)
        links = self.shoot(PROBES)
        self.assertEqual({link for seen in links.values() for link in seen}, {(SENDER, 1)})
        self.bed.faults.clear()
        self.assertEqual(set(probe(self.sender, self.receiver.node.addrs)[0].values()), {1})

    def test_wrong_tag(self):
        """its packets are counted under no path"""
        self.bed.faults.add("wrong-tag", 9, 17, UNKNOWN_TAG)
        truth = true_paths(self.bed, self.send())
        wrong = {flow for flow, paths in truth.items() for path in paths
                 if (9, 17) in zip(path, path[1:])}
        self.assertTrue(0 < len(wrong) < len(truth))
        self.assertEqual(self.answer(truth), {flow: {(): next(iter(paths.values()))} if flow
                                              in wrong else paths for flow, paths in truth.items()})

    def test_spray(self):
        """packets of one flow take all paths, more of them where the weight says so"""
        self.bed.faults.add("spray", "all", "9=3")
        links = self.send(1, 400_000)
        found = self.answer(links)
        self.assertEqual(set(found), set(links))
        for flow, paths in found.items():
            self.assertLessEqual(set(paths), set(self.bed.paths(SENDER, RECEIVER)))
            self.assertEqual(len(paths), 4)
            by_9, by_10 = (sum(pkts for path, (pkts, _) in paths.items() if hop in path)
                           for hop in (9, 10))
            self.assertGreater(by_9, by_10)

    def test_large_flows(self):
        """a bad hash: those to one port go one way, all others the other"""
        self.bed.faults.add("size-hash", 1, 9)
        server = traffic.Server(self.receiver, traffic.LARGE_PORT)
        self.addCleanup(server.close)
        for port, hop in ((traffic.PORT, 10), (traffic.LARGE_PORT, 9)):
            truth = true_paths(self.bed, self.send(4, port=port))
            self.assertEqual({path[1] for paths in truth.values() for path in paths}, {hop})

    def log(self, method, route, document=None, **options):
        """what the receiver's agent answers on /v1/ROUTE"""
        words = [] if document is None else ["-H", "Content-Type: application/json", "-d",
                                             json.dumps(document)]
        command = ["curl", "-s", "-X", method, "--max-time", "20", *words,
                   f"{self.agent.url}/v1/{route}"]
        return self.receiver.run(command, stdout=subprocess.PIPE, **options).stdout

    def test_packet_log(self):
        """what a filter wants is in a capture file, each packet with the path that it took"""
        wish = {"link": "9-17", "dst_ip": self.receiver.ipv4, "protocol": "tcp",
                "max_packets": 100_000, "seconds": 60}
        mine = json.loads(self.log("POST", "logs", wish))["id"]
        truth = true_paths(self.bed, self.send(16))
        expected = {flow: (path, count[0]) for flow, paths in truth.items()
                    for path, count in paths.items()
                    if (9, 17) in zip(path, path[1:]) and flow[1] == self.receiver.ipv4}
        self.assertTrue(expected)
        wanted = sum(pkts for _, pkts in expected.values())
        wait_for(lambda: self.entry(mine)["packets"] >= wanted, "the packets")
        entry = json.loads(self.log("GET", f"logged/{mine}"))
        self.assertEqual((entry["state"], entry["packets"], entry["dropped"], len(entry["rows"])),
                         ("running", wanted, 0, min(wanted, 1000)))
        found = {}
        for frame, comment in pcapng(self.log("GET", f"logs/{mine}")):
            flow = packet(frame)[0]
            found[flow] = comment, found.get(flow, ("", 0))[1] + 1
        self.assertEqual(found, {flow: (f"path {','.join(map(str, path))}", pkts)
                                 for flow, (path, pkts) in expected.items()})
        self.assertEqual(json.loads(self.log("DELETE", f"logs/{mine}")), {"id": mine})
        self.assertEqual(json.loads(self.log("GET", f"logs/{mine}"))["status"], 404)

    def entry(self, mine):
        return next(e for e in json.loads(self.log("GET", "logs"))["logs"] if e["id"] == mine)

    def test_ttl(self):
        """each switch takes one off, of both families, and a packet that has none left goes no
        further"""
        before = sum(self.bed.fabric.counters(i)["expired"] for i in self.bed.site)
        for address in self.receiver.node.addrs:
            hearer = self.receiver.popen([sys.executable, "-c", HEAR, address],
                                         stdout=subprocess.PIPE, text=True)
            hearer.stdout.readline()
            self.sender.run([sys.executable, "-c", SEND, address, 1, SWITCHES_ON_WAY,
                             SWITCHES_ON_WAY + 1], check=True)
            self.assertEqual(json.loads(hearer.stdout.readline()), [SWITCHES_ON_WAY + 1, 1])
            hearer.wait()
        after = sum(self.bed.fabric.counters(i)["expired"] for i in self.bed.site)
        self.assertEqual(after - before, 2 * len(self.receiver.node.addrs))

    def test_sums(self):
        """every packet that came in went somewhere"""
        for switch in self.bed.site:
            wait_for(lambda: self.adds_up(self.bed.fabric.counters(switch)), f"the sum of switch "
                     f"{switch}")

    @staticmethod
    def adds_up(counters):
        """also while packets come in: then at one of many readings"""
        return counters["received"] == sum(counters[name] for name in SUMMANDS) > 0

    def test_bad_commands(self):
        for line, words in {"route 9 1 3 = hash 64": "no route",
                            "route 9 1 3 = hash 1*65": "no route", "route 9 1 3 =": "no value",
                            "place 9 10.0.0.0/33 = 3": "no prefix",
                            "place 9 house/3 = 3 inside": "no prefix", "tag 9 1 = 4095": "no tag",
                            "route 99 1 3 = hash 1": "no such", "dance 9 1": "no such",
                            "x": "no command", "route 9 64 3 = hash 1": "no port"}.items():
            with self.assertRaisesRegex(RuntimeError, words, msg=line):
                self.bed.fabric.ask([line])

    def test_attached(self):
        """another process finds the same bed"""
        found = scenario.Bed.attach(self.bed.name)
        self.assertEqual((found.fabric.name, found.fabric.counters(9).keys()),
                         ("tc", self.bed.fabric.counters(9).keys()))
        self.assertTrue(os.path.exists(found.fabric.punt_file)
                        and found.fabric.program([9]) is None)


class Controlled(unittest.TestCase):
    """rules that a controller has told; what packets meet there is in test_paths.py"""

    def test_rules(self):
        """all are installed; they stay while the controller is away, and it finds nothing to change
        when it is back"""
        with scenario.bed("told", fabric="tc", controller=True) as bed:
            serve_all(bed)
            told, wanted = bed.controller.switches(), {}
            for i in bed.site:
                rules = run_all([([*bed.codec_rules[:-1], "plain", "--switch", str(i)], None,
                                  None)])[0]
                wanted[i] = sum(line.startswith("table=0") for line in rules.splitlines())
            self.assertEqual({i: (s["state"], s["rules"]) for i, s in told.items()},
                             {i: ("installed", n) for i, n in wanted.items()})
            bed.controller.kill()
            account = Account(bed)
            self.assertEqual(set(probe(bed.host(SENDER),
                                       bed.host(RECEIVER).node.addrs)[0].values()), {1})
            self.assertTrue(account.stop())
            self.assertTrue(any(bed.fabric.counters(i)["tagged"] for i in bed.site))
            bed.controller.start().ready().wait_installed()
            self.assertEqual(bed.controller.counters()["flows_changed"], 0)


class Answers(unittest.TestCase):
    """packets carry tags and can be traced: a switch tells whose TTL has ended there"""

    FLOWS, LIMIT, FLOOD_S = 4, 10, 2

    @classmethod
    def setUpClass(cls):
        cls.bed = scenario.bed("answers", fabric="tc", controller=True, tagged=(SENDER, RECEIVER))
        cls.enterClassContext(cls.bed)
        cls.sender, cls.receiver = cls.bed.host(SENDER), cls.bed.host(RECEIVER)
        cls.agents = [Agent(host, cls.bed.folder, options=(
            "--strip", "--trace", "suffering", "--trace-rate", "100")).launch()
                      for host in (cls.sender, cls.receiver)]
        for agent in cls.agents:
            agent.ready()
        cls.enterClassContext(contextlib.closing(traffic.Server(cls.receiver)))

    def setUp(self):
        self.addCleanup(self.bed.faults.clear)

    def trace(self, address, port):
        words = ["trace", "--agent", self.agents[0].url, "--src-ip", self.sender.ipv6
                 if ":" in address else self.sender.ipv4, "--dst-ip", address, "--src-port", port,
                 "--dst-port", traffic.PORT, "--json"]
        return json.loads(run_all([([self.bed.program_path("pathdump"), *map(str, words)], None,
                                    None)])[0])

    def flows(self):
        """[(trace, what the tags of its packets say)] of both families"""
        found = []
        for address in self.receiver.node.addrs:
            sender = traffic.Sender(self.sender, address, self.FLOWS)
            ports = sender.send(20_000)
            known = {flow[2]: [*paths] for flow, paths in by_flow(
                self.agents[1].query("getFlows")).items()}
            found += [(self.trace(address, port), known[port]) for port in ports]
            sender.close()
        return found

    def test_traces_agree_with_tags(self):
        ways = set()
        for turn in range(2):
            for trace, tags in self.flows():
                self.assertEqual([tuple(trace["path"])], tags, trace)
                self.assertTrue(trace["reached"] and trace["consistent"], trace)
                ways.update(tags)
            for switch in (1, 2):
                self.bed.faults.add({"switch": switch, "reroute": True})
        self.assertGreater(len(ways), 1)

    def test_a_silent_switch_is_a_gap(self):
        rack = self.receiver.rack
        above = self.bed.network.switch_peers(self.sender.rack)
        for switch in above:
            self.bed.faults.add({"switch": switch, "silent": True})
        for trace, (tags,) in self.flows():
            self.assertEqual((trace["path"][1], trace["path"][-1]), (0, rack))
            self.assertEqual([*trace["path"][2:]], [*tags[2:]])

    def test_answers_are_limited(self):
        rack = self.sender.rack
        for limit in (None, self.LIMIT):
            if limit:
                self.bed.faults.add({"switch": rack, "icmp_per_s": limit})
            before, begun = self.bed.fabric.counters(rack), time.monotonic()
            for _ in range(4 * self.FLOOD_S):
                self.sender.run([sys.executable, "-c", SEND, self.receiver.ipv4, *[1] * 20],
                                check=True)
                time.sleep(.25)
            after = self.bed.fabric.counters(rack)
            most = 1 + self.LIMIT * (time.monotonic() - begun)
            told, ended = (after[name] - before[name] for name in ("ttl_exceeded", "expired"))
            self.assertEqual(ended, 80 * self.FLOOD_S)
            if limit:
                self.assertTrue(4 * self.FLOOD_S <= told <= min(most, ended - 1), told)
            else:
                self.assertEqual(told, ended)


if __name__ == "__main__":
    scenario.main()
