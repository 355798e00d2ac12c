# SPDX-License-Identifier: Apache-2.0
"""`pathdump p4 tables`: rows are executed here and compared with the reference encoder; every form
holds the same rows."""
import hashlib
import ipaddress
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from programs import program
from switch import HERE, run, write_config, write_pcap

FULL = {8: 0xFF, 16: 0xFFFF, 32: 0xFFFFFFFF, 64: 0xFFFFFFFFFFFFFFFF}


def words(address):
    """an address as the two numbers that programs match"""
    number = int(address)
    return (0, 0xFFFF << 32 | number) if address.version == 4 else (number >> 64, number & FULL[64])


def matches(row, fields):
    for name, wanted in row["match"].items():
        value, _, mask = wanted.partition("/")
        if fields[name.split(".")[-1]] & int(mask or hex(FULL[64]), 16) != int(value, 16):
            return False
    return True


def look_up(rows, fields):
    found = [row for row in rows if matches(row, fields)]
    best = max((row.get("priority", 0) for row in found), default=None)
    found = [row for row in found if row.get("priority", 0) == best]
    assert len(found) < 2, f"{fields}: several rows of one priority: {found}"
    return found[0] if found else None


class Tables(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.held = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.held.cleanup)
        cls.at = cls.held.name
        os.makedirs(f"{cls.at}/p4/compiled/pna")
        cls.programs = []
        for name in ("cherrypick", "forward"):
            cls.add_program(name, f"{HERE}/tables.spec")
        cls.environment = os.environ | {"PATHDUMP_P4": f"{cls.at}/p4"}
        cls.topology = f"{cls.at}/topology.json"
        with open(cls.topology, "w", encoding="utf-8") as out:
            out.write(cls.pathdump("topology", "fat-tree", "--k", "4"))
        with open(cls.topology, encoding="utf-8") as file:
            text = json.load(file)
        cls.nodes = {node["id"]: node for node in text["nodes"]}
        cls.near = {}
        for link in text["links"]:
            cls.near.setdefault(link["source"], []).append(link["target"])
            cls.near.setdefault(link["target"], []).append(link["source"])
        for ids in cls.near.values():
            ids.sort(key=lambda n: (cls.nodes[n]["role"] == "host", n))
        cls.switches = [n for n in cls.near if cls.nodes[n]["role"] != "host"]

    @classmethod
    def add_program(cls, name, spec):
        file = f"p4/compiled/pna/{name}.spec"
        shutil.copy(spec, f"{cls.at}/{file}")
        with open(spec, "rb") as source:
            digest = hashlib.sha256(source.read()).hexdigest()
        cls.programs.append({"name": name, "sets": [name], "target": "pna", "file": file,
                             "sha256": digest, "compiler": "by hand"})
        with open(f"{cls.at}/p4/compiled/manifest.json", "w", encoding="utf-8") as out:
            json.dump({"programs": cls.programs}, out)

    @classmethod
    def pathdump(cls, *arguments, code=0):
        done = subprocess.run([program("pathdump"), *map(str, arguments)], capture_output=True,
                              text=True, check=False, timeout=60,
                              env=getattr(cls, "environment", os.environ))
        assert done.returncode == code, f"exit {done.returncode}: {arguments}: {done.stderr}"
        return done.stdout if code == 0 else done.stderr

    def tables(self, switch, *more, set_name="cherrypick", form="json"):
        text = self.pathdump("p4", "tables", "--topology", self.topology, "--switch", switch,
                             "--program", set_name, "--format", form, *more)
        return json.loads(text) if form == "json" else text

    def hosts(self):
        return [node for node in self.nodes.values() if node["role"] == "host"]

    def test_routes_lead_every_packet_by_a_shortest_path(self):
        tables = {switch: self.tables(switch)["tables"] for switch in self.switches}
        taken = {}
        for source in self.hosts():
            for target in self.hosts():
                if source["id"] == target["id"]:
                    continue
                for text in target["addrs"]:
                    lengths = self.follow(tables, source["id"], target["id"],
                                          ipaddress.ip_address(text), taken)
                    same_tor = self.near[source["id"]] == self.near[target["id"]]
                    same_pod = self.pod(source) == self.pod(target)
                    self.assertEqual(lengths, {1 if same_tor else 3 if same_pod else 5})
        self.assertEqual({len(ports) for ports in taken.values()}, {1, 2})

    def pod(self, host):
        return self.nodes[self.near[host["id"]][0]]["pod"]

    def follow(self, tables, source, target, address, taken):
        """lengths of all ways that groups allow, in switches"""
        hi, lo = words(address)
        ways, lengths = [(self.near[source][0], 1)], set()
        while ways:
            switch, length = ways.pop()
            row = look_up(tables[switch]["routes"], {"in_port": 1, "dst_hi": hi, "dst_lo": lo})
            self.assertIsNotNone(row, f"{switch} has no route to {address}")
            for port in self.ports_of(tables[switch], row):
                taken.setdefault((switch, target), set()).add(port)
                neighbour = self.near[switch][port - 1]
                if neighbour == target:
                    lengths.add(length)
                else:
                    self.assertNotEqual(self.nodes[neighbour]["role"], "host")
                    self.assertLess(length, 6)
                    ways.append((neighbour, length + 1))
        return lengths

    def ports_of(self, tables, row):
        arguments = {name: int(value, 16) for name, value in row["args"].items()}
        if row["action"] == "to_port":
            return {arguments["port"]}
        slots = [look_up(tables["groups"], {"group": arguments["group"], "slot": slot})
                 for slot in range(arguments["mask"] + 1)]
        ports = [int(slot["args"]["port"], 16) for slot in slots]
        counts = {port: ports.count(port) for port in ports}
        self.assertLess(max(counts.values()) - min(counts.values()), 2)
        return set(ports)

    def test_rows_write_what_the_encoder_writes(self):
        tables = {switch: self.tables(switch)["tables"].get("rows", []) for switch in self.switches}
        for path in ((1, 9, 17, 11, 3), (1, 9, 2), (1, 9, 2, 10, 19, 12, 3),
                     (1, 9, 17, 13, 18, 11, 3), (1, 10, 20, 12, 4, 11, 3)):
            ends = [self.nodes[self.near[tor][-1]]["addrs"][0] for tor in (path[0], path[-1])]
            answer = json.loads(self.pathdump("codec", "encode", "--topology", self.topology,
                                              "--src", ends[0], "--dst", ends[1],
                                              "--path", ",".join(map(str, path)), "--json"))
            for version in (4, 6):
                with self.subTest(path=path, version=version):
                    self.assertEqual(self.walk(tables, path, version), answer.get("tags"))

    def walk(self, tables, path, version):
        """tags in the order pushed"""
        ends = [next(
            ipaddress.ip_address(address) for address in self.nodes[self.near[tor][-1]]["addrs"]
            if ipaddress.ip_address(address).version == version) for tor in (path[0], path[-1])]
        (src_hi, src_lo), (dst_hi, dst_lo) = map(words, ends)
        tags, outer, tci = [], 0, 0
        for before, switch in zip((self.near[path[0]][-1], *path), path):
            row = look_up(tables[switch],
                          {"in_port": self.near[switch].index(before) + 1, "outer": outer,
                           "tci": tci, "family": version, "dscp": 0,
                           "src_hi": src_hi, "src_lo": src_lo, "dst_hi": dst_hi, "dst_lo": dst_lo})
            if row and row["action"].startswith("push"):
                outer, tci = (int(row["args"][name], 16) for name in ("tpid", "tci"))
                tags.append(tci & 0xFFF)
                self.assertEqual(tci >> 13, len(tags))
            elif row:
                self.assertEqual(row["action"], "pass")
        return tags

    def test_hosts_ports_are_the_edge(self):
        edge = self.tables(1)["tables"]["edge"]
        self.assertEqual([int(row["match"]["m.in_port"], 16) for row in edge], [3, 4])
        self.assertEqual({tuple(row["args"].items()) for row in edge},
                         {(("drop", "0x1"), ("strip", "0x0"), ("type", "0x0"), ("clear", "0x0"))})
        self.assertNotIn("edge", self.tables(9)["tables"])

    def test_every_form_holds_the_same_rows(self):
        tables = self.tables(9)
        rows = sum(len(found) for found in tables["tables"].values())
        swx = self.tables(9, form="swx")
        self.assertEqual(len(re.findall("^match ", swx, re.M)), rows)
        self.assertEqual(len(re.findall("^table_add ", self.tables(9, form="bmv2"), re.M)), rows)
        bfrt = json.loads(self.tables(9, form="bfrt"))
        self.assertEqual({name: len(found) for name, found in tables["tables"].items()},
                         {name: len(found) for name, found in bfrt.items()
                          if name in tables["tables"]})
        names = sorted(os.listdir(self.out(9)))
        self.assertEqual(names, sorted([f"{name}.swx" for name in tables["tables"]]
                                       + [f"{name}.array" for name in tables["arrays"]]))
        self.assertEqual(tables["arrays"], {"id": {"0": 9}})

    def out(self, switch):
        folder = f"{self.at}/tables-{switch}"
        self.pathdump("p4", "tables", "--topology", self.topology, "--switch", switch, "--program",
                      "cherrypick", "--format", "swx", "--out", folder)
        return folder

    def test_p4runtime_has_the_numbers_of_the_p4info(self):
        self.assertIn("p4info", self.pathdump("p4", "tables", "--topology", self.topology,
                                              "--switch", 9, "--program", "forward",
                                              "--format", "p4runtime", code=1))
        parts = {"routes": ("in_port", "dst_hi", "dst_lo"), "groups": ("group", "slot"),
                 "ports": ("out_port",), "edge": ("in_port",),
                 "rows": ("in_port", "outer", "tci", "family", "dscp", "src_hi", "src_lo", "dst_hi",
                          "dst_lo")}
        actions = {"send": ("port",), "to_port": ("port",), "to_group": ("group", "mask", "shift"),
                   "member": ("port",), "pass": (), "punt": (),
                   "push": ("tpid", "tci"), "host": ("drop", "strip", "type", "clear")}
        with open(f"{self.at}/p4/compiled/pna/forward.p4info.txt", "w", encoding="utf-8") as out:
            for section, part, objects in (("tables", "match_fields", parts),
                                           ("actions", "params", actions)):
                for number, (name, names) in enumerate(objects.items(), 100):
                    out.write(f'{section} {{\n  preamble {{\n    id: {number}\n    name: "{name}"\n'
                              f'    alias: "{name}"\n  }}\n')
                    for nth, field in enumerate(names, 1):
                        out.write(f'  {part} {{\n    id: {nth}\n    name: "m.{field}"\n    '
                                  f'bitwidth: 32\n  }}\n')
                    out.write("}\n")
        text = self.tables(1, set_name="forward", form="p4runtime")
        updates = text.splitlines()[1:]
        rows = self.tables(1, set_name="forward")["tables"]
        self.assertEqual(len(updates), sum(map(len, rows.values())))
        first = next(line for line in updates if "table_id: 102 " in line)
        self.assertIn("match { field_id: 1 exact { value: ", first)
        self.assertIn("action { action { action_id: 100 params { param_id: 1 value: ", first)
        for line in updates:
            self.assertEqual(line.count("{"), line.count("}"))

    def test_every_switch_takes_its_tables(self):
        write_pcap(f"{self.at}/none", [])
        switches = [{"id": switch, "program": "cherrypick", "spec": f"{HERE}/tables.spec",
                     "tables": self.out(switch),
                     "ports": {"1": {"pcap": [f"{self.at}/none", None]}}}
                    for switch in self.switches]
        code, found, errors = run(write_config(self.at, switches=switches), "--json")
        self.assertEqual((code, errors), (0, ""))
        for switch in self.switches:
            tables = self.tables(switch)["tables"]
            self.assertEqual({name: entries["entries"]
                              for name, entries in found[switch]["tables"].items()},
                             {name: len(tables.get(name, [])) for name in found[switch]["tables"]})

    def test_what_cannot_be_is_refused_in_words(self):
        topology = ["--topology", self.topology]
        for arguments, words_wanted in ((["--switch", 99, "--program", "cherrypick"], ["99"]),
                                        (["--switch", 9, "--program", "cherry"], ["cherry"]),
                                        (["--switch", 9, "--program", "pint"], ["--plan"]),
                                        (["--switch", 9, "--program", "path-bloom"], [])):
            with self.subTest(arguments=arguments):
                error = self.pathdump("p4", "tables", *topology, *arguments, code=1)
                for word in words_wanted:
                    self.assertIn(word, error)

    def test_programs_are_stale_when_they_change(self):
        listed = json.loads(self.pathdump("p4", "programs", "--json"))["programs"]
        self.assertEqual([(one["name"], one["target"], one["stale"]) for one in listed],
                         [("cherrypick", "pna", False), ("forward", "pna", False)])
        file = f"{self.at}/p4/compiled/pna/forward.spec"
        with open(file, encoding="utf-8") as source:
            text = source.read()
        try:
            with open(file, "a", encoding="utf-8") as out:
                out.write("; changed\n")
            listed = json.loads(self.pathdump("p4", "programs", "--json"))["programs"]
            self.assertEqual([one["stale"] for one in listed], [False, True])
        finally:
            with open(file, "w", encoding="utf-8") as out:
                out.write(text)


if __name__ == "__main__":
    unittest.main()
