# SPDX-License-Identifier: Apache-2.0
"""The program `meters` against the meters in C: marks, buckets, counters. As root, in a network
namespace of its own."""
import ipaddress
import json
import os
import pathlib
import random
import re
import tempfile
import unittest

from one_switch import Switch, read_pcap, tables, write_pcap
from capture import ethernet, packet
from programs import pathdump

SOURCE = pathlib.Path(os.environ.get("PD_SOURCE") or pathlib.Path(__file__).parents[3])
MARK = 1 << 32                  # a filter that is there, among the marks of its codec
TCP, UDP = 6, 17
EPOCH_NS = 100_000_000
ROWS, WIDTH = 3, 1024
BEGIN_NS = 1_700_000_000_000_000_000
COUNTERS = ("counted", "unmarked", "late", "strays", "other")


def names(text, table, action):
    """what the compiler has made of a table's and an action's name"""
    full, body = re.search(rf"^table (_?{table}\w*) \{{\n(.*?)^\}}", text, re.M | re.S).groups()
    return full, re.search(rf"^\s*(_?{action}(_\d+)?)\b", body, re.M).group(1)


def words(address):
    """an address as programs match it"""
    number = int(ipaddress.ip_address(address))
    return (number >> 64, number & (1 << 64) - 1) if ":" in address else (0, 0xFFFF << 32 | number)


def row_of(flow, action):
    source, target = words(flow["src_ip"]), words(flow["dst_ip"])
    fields = [*target, *source, flow["src_port"] << 16 | flow["dst_port"], flow["protocol"]]
    return "match " + " ".join(map(hex, fields)) + f" action {action}\n"


def add_rules(folder, name, flows, program="meters"):
    spec = SOURCE / f"p4/compiled/pna/{program}.spec"
    table, action = names(spec.read_text(), name, "counted")
    with open(f"{folder}/{table}.swx", "w", encoding="utf-8") as out:
        out.writelines(row_of(flow, action) for flow in flows)


def bucket_key(flow):
    """the flow as its bucket holds it"""
    ports = flow["src_port"] << 24 | flow["dst_port"] << 8 | flow["protocol"]
    return (*words(flow["src_ip"]), *words(flow["dst_ip"]), ports)


class MetersTest(unittest.TestCase):
    """flows, frames, and what C makes of them"""

    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.at = held.name
        document = json.loads(pathdump("topology", "generate", "fat-tree", "--k", 4))
        document |= {"codec": "path-bloom", "codec_options": {"carrier": "vlan2", "bits": 32,
                                                             "hashes": 3, "monitors": "tor"}}
        self.topology = f"{self.at}/topology.json"
        with open(self.topology, "w", encoding="utf-8") as out:
            json.dump(document, out)
        self.seed = random.SystemRandom().getrandbits(32)
        print("seed", self.seed)
        self.random = random.Random(self.seed)

    def flows(self, count):
        """from the first rack to the third, of both families and protocols"""
        found = {}
        while len(found) < count:
            six, host = self.random.random() < .5, self.random.choice("23")
            ends = (f"fd00:0:1:1::{host}", "fd00:0:2:1::2") if six else (f"10.1.1.{host}",
                                                                         "10.2.1.2")
            flow = {"src_ip": ends[0], "dst_ip": ends[1], "src_port": self.random.randint(1, 65535),
                    "dst_port": self.random.randint(1, 65535),
                    "protocol": self.random.choice((TCP, UDP))}
            found[bucket_key(flow)] = flow
        return list(found.values())

    def frames(self, flows, count, first_ns, last_ns, filters=(None,)):
        """of all marks, whatever the epoch; filters are those of the carrier of two tags"""
        times = self.random.sample(range(first_ns, last_ns, 1000), count)
        for time_ns in sorted(times):
            flow = self.random.choice(flows)
            raw = packet(flow["src_ip"], flow["dst_ip"], flow["src_port"], flow["dst_port"],
                         bytes(self.random.randint(0, 40)), flow["protocol"],
                         dscp=self.random.randrange(64))
            held = self.random.choice(filters)
            yield time_ns, ethernet(raw, (held & 0xFFFF, held >> 16) if held else ())

    def reference(self, role, rules, frames, monitor):
        write_pcap(f"{self.at}/all.pcap", frames)
        with open(f"{self.at}/rules.json", "w", encoding="utf-8") as out:
            json.dump(rules, out)
        marked = ["--out", f"{self.at}/marked.pcap"] if role == "usm" else []
        return json.loads(pathdump("meters", "count", "--role", role, "--rules",
                                   f"{self.at}/rules.json", "--pcap", f"{self.at}/all.pcap",
                                   "--topology", self.topology, "--monitor", monitor, "--json",
                                   *marked))


class Meters(MetersTest):
    def read(self, switch, role):
        """what `meters count` prints, out of the arrays; only the newest two epochs are left"""
        names = ("epoch", "src_hi", "src_lo", "dst_hi", "dst_lo", "flow", "count", "dirty",
                 "filter")
        arrays = {name: switch.array("bucket_" + name) for name in names}
        newest = switch.array("meter_epochs")[2 * role:2 * role + 2]
        found = {}
        for at in range(role * 8192, role * 8192 + 8192):
            instance, row, place = at >> 12 & 1, at >> 10 & 3, at & 1023
            if arrays["epoch"][at] and arrays["epoch"][at] == newest[instance]:
                key = tuple(arrays[name][at] for name in names[1:6])
                value = "dirty" if arrays["dirty"][at] else (key, arrays["count"][at],
                                                             arrays["filter"][at])
                found[row, place, arrays["epoch"][at] - 1] = value
        counters = switch.array("meter_counters")[8 * role:8 * role + 5]
        return found, dict(zip(COUNTERS, counters)), [one - 1 for one in newest if one]

    def wanted(self, reading, epochs):
        found = {}
        for number, row in enumerate(reading["rows"]):
            for one in row:
                if one["epoch"] in epochs:
                    mark = MARK | one["filter"] if one["filter"] else 0
                    value = "dirty" if one["dirty"] else (bucket_key(one["flow_id"]), one["count"],
                                                          mark)
                    found[number, one["bucket"], one["epoch"]] = value
        return found

    def compare(self, switch, role, reading):
        buckets, counters, epochs = self.read(switch, role)
        self.assertEqual(len(epochs), 2)
        self.assertEqual(counters, {name: reading["counters"][name] for name in COUNTERS})
        self.assertEqual(buckets, self.wanted(reading, epochs))
        self.assertGreater(len(buckets), 100)
        return buckets

    def test_upstream_counts_and_marks_as_in_c(self):
        flows = self.flows(900)
        watched = flows[:600]
        frames = list(self.frames(flows, 6000, BEGIN_NS, BEGIN_NS + 5 * EPOCH_NS // 2))
        reading = self.reference("usm", {"usm": watched, "dsm": []}, frames, 1)
        folder = tables(f"{self.at}/tables", self.topology, 1, "meters")
        add_rules(folder, "meter_up", watched)
        with Switch(self.at, 1, "meters", folder, {3: frames, 1: [], 2: []}) as switch:
            buckets = self.compare(switch, 0, reading)
            self.assertIn("dirty", buckets.values())
            sent = sorted(switch.sent(1) + switch.sent(2))
        self.assertEqual(len(sent), len(frames))
        marks = {time_ns: self.dscp(raw) & 3
                 for time_ns, raw in read_pcap(f"{self.at}/marked.pcap")}
        self.assertEqual({time_ns: self.dscp(raw) & 3 for time_ns, raw in sent}, marks)

    def test_downstream_counts_marks_late_ones_and_strays_as_in_c(self):
        self.downstream("meters", (None,))

    def test_downstream_tells_filters_apart_as_in_c(self):
        """where path filters are written, too: packets of a flow by two ways make its bucket
        dirty"""
        self.downstream("path-bloom+meters", (0x00C10204, 0x00C10204, 0x00C10204, 0x80010204))

    def downstream(self, program, filters):
        flows = self.flows(900)
        watched = flows[:600]
        frames = list(self.frames(flows, 6000, BEGIN_NS, BEGIN_NS + 5 * EPOCH_NS // 2, filters))
        rules = [{"flow_id": flow, "filter": 0} for flow in watched]
        reading = self.reference("dsm", {"usm": [], "dsm": rules}, frames, 3)
        folder = tables(f"{self.at}/tables", self.topology, 3, program)
        add_rules(folder, "meter_down", watched, program)
        with Switch(self.at, 3, program, folder, {1: frames, 3: []}) as switch:
            buckets = self.compare(switch, 1, reading)
            self.assertIn("dirty", buckets.values())
            self.assertEqual({one[2] for one in buckets.values() if one != "dirty"},
                             {MARK | held if held else 0 for held in filters})
            self.assertEqual(switch.summary()["mirrored"], reading["counters"]["strays"])
        for name in ("counted", "unmarked", "late", "strays"):
            self.assertGreater(reading["counters"][name], 0, name)

    @staticmethod
    def dscp(raw):
        return raw[15] >> 2 if raw[12:14] == b"\x08\0" else int.from_bytes(raw[14:18],
                                                                           "big") >> 22 & 63


if __name__ == "__main__":
    unittest.main()
