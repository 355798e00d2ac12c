# SPDX-License-Identifier: Apache-2.0
"""Compiled programs on pathdump-switch: their frames are those of the reference encoders in C."""
import ipaddress
import itertools
import json
import random
import struct
import subprocess
import tempfile
import unittest

import capture
from network import Network, pathdump, program

PATHS = [(1, 9, 17, 11, 3), (1, 10, 20, 12, 4), (1, 9, 2), (2, 10, 19, 16, 8),
         (1, 9, 2, 10, 19, 12, 3)]
TCP, UDP = 6, 17
QUERIES = [("tag", 16, {"coding": "hash", "bits": 8, "instances": 2, "tau": 20000,
                        "xor": [30000, 50000, 65536]}),
           ("tag", 16, {"coding": "fragment", "value_bits": 32, "bits": 5, "instances": 1,
                        "tau": 30000, "xor": [40000]}),
           ("dscp", 6, {"coding": "hash", "bits": 6, "instances": 1, "tau": 32768, "xor": [30000]})]


def fat_tree(folder, **keys):
    """the file of a fat-tree of 4, with these keys"""
    text = json.loads(pathdump("topology", "generate", "fat-tree", "--k", "4"))
    text.update(keys)
    name = f"{folder}/topology.json"
    with open(name, "w", encoding="utf-8") as file:
        json.dump(text, file)
    return name


def address(tor, host, family=4):
    """of a host of a rack, as the generator gives them"""
    pod, place = (tor - 1) // 2 + 1, (tor - 1) % 2 + 1
    return f"10.{pod}.{place}.{host}" if family == 4 else f"fd00:0:{pod}:{place}::{host}"


def tags_of(raw):
    """(type, TCI) of each tag, the outermost first"""
    at, tags = 12, []
    while raw[at:at + 2] in (b"\x81\0", b"\x88\xa8"):
        tags.append((int.from_bytes(raw[at:at + 2], "big"),
                     int.from_bytes(raw[at + 2:at + 4], "big")))
        at += 4
    return tags


def split(raw):
    """a frame without its link tags, and their VIDs, the innermost first"""
    at, tags, others = 12, [], raw[:12]
    for kind, tci in tags_of(raw):
        if kind == capture.DOT1Q:
            tags.insert(0, tci & 0xFFF)
        else:
            others += raw[at:at + 4]
        at += 4
    return others + raw[at:], tags


def routed(raw, hops):
    """an untagged frame with its TTL so many lower, and a checksum that is as right as it was"""
    raw = bytearray(raw)
    if raw[12:14] == b"\x08\0":
        raw[22] -= hops
        raw[24:26] = b"\0\0"
        raw[24:26] = struct.pack("!H", capture.checksum(bytes(raw[14:34])))
    else:
        raw[21] -= hops
    return bytes(raw)


class Walks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        seed = random.SystemRandom().getrandbits(32)
        print("seed", seed)
        self.random = random.Random(seed)

    def network(self, topology, set_name, *options):
        return Network(topology, set_name, tempfile.mkdtemp(dir=self.folder), *options)

    def encoded(self, topology, path, *ends):
        return json.loads(pathdump("codec", "encode", "--topology", topology, "--src", ends[0],
                                   "--dst",
                                   ends[1], "--path", ",".join(map(str, path)), "--json"))

    @staticmethod
    def of_all_kinds(payload, **keys):
        """(paths, frames): along each path one of each family and protocol"""
        kinds = list(itertools.product(PATHS, (4, 6), (TCP, UDP)))
        return [path for path, _, _ in kinds], [
            capture.ethernet(capture.packet(address(path[0], 2, family),
                                            address(path[-1], 3, family), 1000, 80, payload,
                                            protocol, **keys)) for path, family, protocol in kinds]

    def test_forwarding(self):
        net = self.network(fat_tree(self.folder), "forward")
        paths, sent = self.of_all_kinds(b"x" * 20)
        for path, before, after in zip(paths, sent, net.walk(paths, sent)):
            self.assertEqual(after, routed(before, len(path)), path)

    def test_time_exceeded(self):
        """the answer comes from the address of the link that the packet came in by, of its
        family"""
        topology = f"{self.folder}/addrs.json"
        with open(topology, "w", encoding="utf-8") as file:
            file.write(pathdump("topology", "generate", "fat-tree", "--k", "4", "--addrs"))
        net = self.network(topology, "forward")
        for family, kind in ((4, 11), (6, 3)):
            raw = capture.ethernet(capture.packet(address(1, 2, family), address(3, 3, family), 7,
                                                  80, b"x" * 20))
            raw = routed(raw, 63)                           # TTL 1
            (result,), summaries = net.send([(9, net.port(9, 1), raw)])
            self.assertEqual((summaries[9]["punted"], summaries[9]["answered"]), (1, 1))
            self.assertEqual(result[0], net.port(9, 1))
            answer = result[1]
            begin, end, body = (26, 30, 34) if family == 4 else (22, 38, 54)
            self.assertEqual(answer[begin:end], self.link_address(topology, family))
            self.assertEqual(answer[end:2 * end - begin], raw[begin:end])
            self.assertEqual(answer[body], kind)
            self.assertIn(raw[14:42], answer)

    @staticmethod
    def link_address(topology, family):
        """of switch 9 towards rack 1"""
        with open(topology, encoding="utf-8") as file:
            link = next(one for one in json.load(file)["links"]
                        if {one["source"], one["target"]} == {1, 9})
        addrs = link["source_addrs"] if link["source"] == 9 else link["target_addrs"]
        return next(ip.packed for ip in map(ipaddress.ip_address, addrs) if ip.version == family)

    def check_link_tags(self, net, topology):
        paths = PATHS * 2
        ends = [(address(p[0], 2, family), address(p[-1], 3, family))
                for family in (4, 6) for p in PATHS]
        sent = [capture.frame(*pair, 1000, 80, b"x" * 20) for pair in ends]
        for path, pair, raw in zip(paths, ends, net.walk(paths, sent)):
            wanted = self.encoded(topology, path, *pair)["tags"]
            found = [tci & 0xFFF for kind, tci in reversed(tags_of(raw)) if kind == capture.DOT1Q]
            self.assertEqual(found, wanted, path)

    def test_link_tags(self):
        topology = fat_tree(self.folder)
        self.check_link_tags(self.network(topology, "cherrypick"), topology)

    def test_link_tags_beside_probes_and_stacks(self):
        topology = fat_tree(self.folder)
        net = self.network(topology, "cherrypick+sr-int+int-md")
        self.check_link_tags(net, topology)
        self.check_probe(net, topology)

    def test_path_filters(self):
        options = {"carrier": "vlan2", "bits": 32, "hashes": 3, "monitors": "tor", "edge": "strip"}
        for order in (False, True):
            topology = fat_tree(self.folder, codec="path-bloom",
                                codec_options={**options, "order": order})
            net = self.network(topology, "path-bloom")
            ends = [(address(p[0], 2), address(p[-1], 3)) for p in PATHS]
            sent = [capture.frame(*pair, 1000, 80, b"x" * 20, tags=(0xFFF, 7)) for pair in ends]
            for path, pair, raw in zip(PATHS, ends, net.walk(PATHS, sent)):
                high, low = (tci for _, tci in tags_of(raw))
                self.assertEqual(high << 16 | low, self.encoded(topology, path, *pair)["filter"],
                                 path)

    def encode(self, topology, plan, sent, paths):
        """what the reference makes of each: the frame, or None of one that looped"""
        lines = "\n".join(json.dumps({"frame": raw.hex(), "path": path, "values": {}})
                          for raw, path in zip(sent, paths))
        done = subprocess.run([program("pathdump"), "pint", "encode", "--topology", topology,
                               "--plan", plan],
                              input=lines, capture_output=True, text=True, check=True)
        return [json.loads(line)["frame"] for line in done.stdout.splitlines()]

    def plan(self, carrier, bits, query):
        """the file of a plan with one query"""
        query = {"aggregation": "static", "value": "switch-id", "name": "path"} | query
        plan = {"version": 1, "seed": self.random.getrandbits(31), "carrier": carrier, "bits": bits,
                "queries": [query], "sets": [{"weight": 60000, "queries": ["path"]}]}
        with open(f"{self.folder}/plan.json", "w", encoding="utf-8") as file:
            json.dump(plan, file)
        return file.name

    def digests(self, topology, set_name, query):
        """(path, the reference's frame, the switches'), and the network; IDs and TTLs differ"""
        plan = self.plan(*query)
        net = self.network(topology, set_name, "--plan", plan)
        paths = [self.random.choice(PATHS) for _ in range(200)]
        sent = [self.packet(path) for path in paths]
        wanted = self.encode(topology, plan, sent, paths)
        walked = net.walk(paths, sent)
        return [(path, want and bytes.fromhex(want), got)
                for path, want, got in zip(paths, wanted, walked)], net

    def test_digests(self):
        topology = fat_tree(self.folder)
        for query in QUERIES:
            for path, want, got in self.digests(topology, "pint", query)[0]:
                self.assertEqual(got, want, (path, query))

    def test_digests_beside_link_tags_and_probes(self):
        """neither of the two writes or reads the other's tag, wherever it stands"""
        topology = fat_tree(self.folder)
        found, net = self.digests(topology, "cherrypick+pint+sr-int", QUERIES[0])
        for path, want, got in found:
            ours, link_tags = split(got)
            self.assertEqual(ours, want, path)
            family = 4 if ours[16:18] == b"\x08\0" else 6
            self.assertEqual(link_tags, self.encoded(
                topology, path, address(path[0], 2, family), address(path[-1], 3, family))["tags"],
                path)
        self.check_link_tags(net, topology)
        self.check_probe(net, topology)

    def packet(self, path):
        family = self.random.choice((4, 6))
        raw = bytearray(capture.ethernet(capture.packet(
            address(path[0], 2, family), address(path[-1], 3, family),
            self.random.randint(1, 65535),
            80, self.random.randbytes(30), self.random.choice((TCP, UDP)))))
        ttl = self.random.choice((64, 128, 255, self.random.randint(8, 255),
                                  self.random.randint(65, 70)))
        if family == 6:
            raw[21] = ttl
            return bytes(raw)
        raw[18:20] = self.random.randbytes(2)
        raw[22] = ttl
        return routed(raw, 0)

    def test_probes(self):
        topology = fat_tree(self.folder)
        self.check_probe(self.network(topology, "sr-int"), topology)

    def check_probe(self, net, topology):
        path = (1, 9, 17, 13, 18, 11, 3)
        raw = bytes.fromhex(json.loads(pathdump(
            "probes", "encode", "--topology", topology, "--carrier", "sr-int", "--path",
            ",".join(map(str, path)), "--src", address(1, 2), "--dst", address(3, 2),
            "--json"))["frame"])
        body = 14 + 20 + 8
        labels = list(raw[body + 32:body + 96])
        came = len(net.neighbours[1])
        for hop, switch in enumerate(path):
            (result,), _ = net.send([(switch, came, raw)])
            self.assertIsNotNone(result, f"it did not leave {switch}")
            out, raw = result
            ip = 14 + 4 * len(tags_of(raw))
            body = ip + 20 + 8
            self.assertEqual(out, labels[hop])
            self.assertEqual(list(raw[body + 32:body + 96]), labels[hop + 1:] + [0] * (hop + 1))
            self.assertEqual(struct.unpack_from("!IBB", raw, body + 96), (switch, came, out))
            self.assertEqual(capture.checksum(raw[ip:ip + 20]), 0)
            if hop + 1 < len(path):
                came = net.port(path[hop + 1], switch)
        self.assertEqual(len(raw), body + 96 + 22 * len(path))

    def test_stacks(self):
        """telemetry decode reads the path out of what arrives at the sink, which hands on the
        host's frame"""
        topology = fat_tree(self.folder)
        net = self.network(topology, "int-md")
        paths, sent = self.of_all_kinds(b"x" * 37, dscp=5)
        before = net.walk([path[:-1] for path in paths], sent)
        last = [(path[-1], net.port(path[-1], path[-2]), raw) for path, raw in zip(paths, before)]
        for path, raw, result in zip(paths, sent, net.send(last)[0]):
            self.assertEqual(result[1], routed(raw, len(path)), path)


if __name__ == "__main__":
    unittest.main()
