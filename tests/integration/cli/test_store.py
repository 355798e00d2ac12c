#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`pathdump query --tib` against a naive oracle: random records, random questions."""
import csv
import io
import ipaddress
import json
import os
import random
import shutil
import subprocess

from command import BIN, FLOW_ID, CommandTest, main, pathdump

PATHS = ("1", "1,9,2", "1,10,2", "1,9,17,11,3", "1,9,18,11,3", "1,10,19,12,3", "1,9,17,13,18,11,3",
         "3,11,17,9,1", "t9,9", "t14")
BASE_US = 1_700_000_000_000_000


def make_record(rnd):
    n = rnd.randrange(40)
    ends = (f"10.1.1.{n % 5 + 2}",
            f"10.2.{n % 3 + 1}.2") if n % 4 else (f"fd00:0:1:1::{n % 5 + 2:x}", "fd00:0:2:1::2")
    flow = (*ends, 1000 + n % 7, 80 + n % 2, (6, 17, 58)[n % 3])
    stime = BASE_US + rnd.randrange(60_000_000)
    return flow, rnd.choice(PATHS), stime, stime + rnd.randrange(5_000_000), rnd.randrange(
        1, 10**9), rnd.randrange(1, 10**5)


def switches(path):
    return [] if path[0] == "t" else [int(s) for s in path.split(",")]


def crosses(path, link):
    if link in (None, "*", "*-*"):
        return True
    a, b = link.split("-")
    ids = switches(path)
    return any(a in ("*", str(x)) and b in ("*", str(y)) for x, y in zip(ids, ids[1:]))


def matches(record, asked):
    flow, path, stime, etime, *_ = record
    return (all(asked.get(name, "*") in ("*", str(value)) for name, value in zip(FLOW_ID, flow))
            and crosses(path, asked.get("link"))
            and asked.get("path", path) == path and asked.get("from", 0) <= etime
            and stime <= asked.get("to", 1 << 60))


def grouped(records):
    table = {}
    for flow, path, stime, etime, size, pkts in records:
        row = table.setdefault((flow, path), [stime, etime, 0, 0])
        row[:] = [min(row[0], stime), max(row[1], etime), row[2] + size, row[3] + pkts]
    return table


def summed(keyed):
    table = {}
    for key, (*_, size, pkts) in keyed:
        row = table.setdefault(key, [0, 0])
        row[:] = [row[0] + size, row[1] + pkts]
    return table


class Store(CommandTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tib = os.path.join(cls.folder.name, "tib")
        cls.records = [make_record(random) for _ in range(3000)]
        lines = []
        for n, (flow, path, *numbers) in enumerate(cls.records):
            lines.append(" ".join(map(str, (*flow, path, *numbers))))
            if n % 700 == 699:
                lines.append("commit")
        subprocess.run([os.path.join(BIN, "tests/make_tib"), cls.tib],
                       input="\n".join(lines) + "\n", text=True, check=True)

    def ask(self, name, asked):
        words = []
        for key, value in asked.items():
            text = f"{value / 1e6:.6f}" if key in ("from", "to") else value
            words += [f"--{key.replace('_', '-')}", text]
        random.shuffle(pairs := [words[i:i + 2] for i in range(0, len(words), 2)] + [[name]])
        answer = self.json("query", "--tib", self.tib, *[w for pair in pairs for w in pair])
        self.assertEqual(list(answer)[-2:], ["token", "complete"])
        self.assertRegex(answer.pop("token"), "^[A-Za-z0-9.:_-]+$")
        return answer

    def question(self):
        flow, path, stime, etime, *_ = random.choice(self.records)
        asked = {name: str(value) for name, value in zip(FLOW_ID, flow) if random.random() < .3}
        ids = switches(path)
        if random.random() < .5:
            n = random.randrange(max(1, len(ids) - 1))
            a, b = (ids[n], ids[n + 1]) if len(ids) > 1 else (9, 17)
            asked["link"] = random.choice((f"{a}-{b}", f"*-{b}", f"{a}-*", "*-*", "*", f"{b}-{a}"))
        if ids and random.random() < .3:
            asked["path"] = path
        if random.random() < .5:
            asked["from"] = random.choice((stime, etime, etime + 1, BASE_US))
        if random.random() < .5:
            asked["to"] = asked.get("from", stime) + random.choice((0, 1, 10_000_000))
        if "protocol" in asked and random.random() < .5:
            asked["protocol"] = {"6": "tcp", "17": "udp", "58": "icmpv6"}[asked["protocol"]]
        return asked

    def test_random_questions(self):
        for _ in range(60):
            asked = self.question()
            plain = {**asked, **({"protocol": {"tcp": "6", "udp": "17", "icmpv6": "58"}.get(
                asked["protocol"], asked["protocol"])}
                                 if "protocol" in asked else {})}
            found = [record for record in self.records if matches(record, plain)]
            with self.subTest(asked):
                self.check_flows(self.ask("getFlows", asked), grouped(found))
                self.check_paths(self.ask("getPaths", asked), {path for _, path, *_ in found})
                self.assertEqual(self.ask("getCount", asked),
                                 {"bytes": sum(r[4] for r in found),
                                  "pkts": sum(r[5] for r in found), "complete": True})
                first, last = min((r[2] for r in found), default=None), max((r[3] for r in found),
                                                                            default=None)
                self.assertEqual(self.ask("getDuration", asked), {
                    "stime_us": first, "etime_us": last,
                    "duration_us": last - first if found else 0, "complete": True})

    def test_random_larger_questions(self):
        for _ in range(40):
            asked = {key: value for key, value in self.question().items() if key != "protocol"}
            found = [record for record in self.records if matches(record, asked)]
            with self.subTest(asked):
                for by in ("bytes", "pkts"):
                    self.check_tops({**asked, "by": by}, found, 4 if by == "bytes" else 5)
                self.check_sums(asked, found)
                self.check_conformance(asked, found)

    def check_tops(self, asked, found, column):
        """Largest first; which of equal ones come is not asked here."""
        k = random.choice((1, 3, 10, 10_000))
        asked = {**asked, **({"k": str(k)} if k != 10 else {})}
        wanted = {"topRecords": [record[4:] for record in found],
                  "topFlows": summed((r[0], r) for r in found),
                  "topHosts": summed((r[0][0], r) for r in found),
                  "topLinks": summed((link, r) for r in found
                                     for link in zip(switches(r[1]), switches(r[1])[1:]))}
        for name, table in wanted.items():
            rows = self.ask(name, asked)["top"]
            sums = table if name == "topRecords" else [tuple(sums) for sums in table.values()]
            sizes = sorted((s[column - 4] for s in sums), reverse=True)[:k]
            self.assertEqual([row[asked["by"]] for row in rows], sizes, name)
            for row in rows:
                if name == "topRecords":
                    self.assertTrue(any((row["stime_us"], row["etime_us"], row["bytes"], row[
                        "pkts"]) == r[2:] and row["path"] == switches(r[1]) for r in found))
                else:
                    key = {"topFlows": lambda: tuple(
                        row["flow_id"][n] for n in FLOW_ID), "topHosts": lambda: row["src_ip"],
                           "topLinks": lambda: tuple(map(int, row["link"].split("-")))}[name]()
                    self.assertEqual([row["bytes"], row["pkts"]], table[key])

    def check_sums(self, asked, found):
        pairs = summed(((switches(r[1])[0], switches(r[1])[-1]), r) for r in found
                       if switches(r[1]))
        self.assertEqual([(row["src_switch"], row["dst_switch"], row["bytes"], row["pkts"])
                          for row in self.ask("trafficMatrix", asked)["pairs"]],
                         sorted((*key, *sums) for key, sums in pairs.items()))
        paths = summed((r[1], r) for r in found)
        self.assertEqual({",".join(map(str, row["path"]))
                          or "t" + ",".join(map(str, row["tags"])): [row["bytes"], row["pkts"]]
                          for row in self.ask("pathBytes", asked)["paths"]}, paths)
        for of, keys in (("flows", {r[0] for r in found}), ("sources", {r[0][0] for r in found})):
            self.assertEqual(self.ask("distinct", {**asked, "of": of}),
                             {"count": len(keys), "complete": True})
        width, bins = random.choice((1, 1000, 10**9)), {}
        for *_, size, _ in grouped(found).values():
            bins[size // width * width] = bins.get(size // width * width, 0) + 1
        self.assertEqual([(row["from_bytes"], row["flows"]) for row in
                          self.ask("flowSizes", {"link": "*-*", **asked, "bin_bytes": str(width)})[
                              "bins"]], sorted(bins.items()))

    def check_conformance(self, asked, found):
        """The rules once more, over addresses and lists of switches."""
        inside, whole = ipaddress.ip_network("10.1.1.0/24"), ipaddress.ip_network("0.0.0.0/0")
        hops, avoided, passed = random.randrange(6), {17, 77}, {1, 9}
        texts = {"max_hops": str(hops), "avoid": "17,77", "must_pass": "1,9",
                 "allow": f"{inside}>{whole}"}
        rules = {name: texts[name] for name in random.sample(sorted(texts), random.randint(1, 4))}
        wanted, unjudged = set(), set()
        for flow, path, *_ in found:
            ids, ends = switches(path), [ipaddress.ip_address(addr) for addr in flow[:2]]
            broken = {"max_hops": ids and len(ids) - 1 > hops, "avoid": avoided & set(ids),
                      "must_pass": ids and passed - set(ids),
                      "allow": not (ends[0] in inside and ends[1] in whole)}
            wanted |= {(flow, path, rule) for rule in rules if broken[rule]}
            if not ids and set(rules) - {"allow"}:
                unjudged.add((flow, path))
        answer = self.ask("conformance", {**asked, **rules})
        self.assertEqual(answer.pop("infeasible", 0), len(unjudged))
        got = [(tuple(row["flow_id"][n] for n in FLOW_ID), ",".join(map(str, row["path"]))
                or "t" + ",".join(map(str, row["tags"])), row["rule"])
               for row in answer["violations"]]
        self.assertEqual(sorted(got), sorted(wanted))

    def test_tables_of_all_queries(self):
        for name, *words in (("topRecords",), ("topFlows", "--k", "3"),
                             ("topHosts", "--by", "pkts"), ("topLinks",), ("trafficMatrix",),
                             ("pathBytes", "--dst-port", "80"),
                             ("flowSizes", "--link", "9-17", "--bin-bytes", "1000000"),
                             ("distinct", "--of", "sources"),
                             ("conformance", "--allow", "10.1.1.0/24>10.2.0.0/16")):
            answer = self.json("query", "--tib", self.tib, name, *words)
            rows = next(iter(answer.values()))
            lines = self.ok("query", "--tib", self.tib, name, *words).splitlines()
            self.assertEqual(len(lines), len(rows) + 3 if isinstance(rows, list) else 1)

    def test_parameters_of_others(self):
        for named, *words in (("--k", "getFlows", "--k", "1"),
                              ("--bin-bytes", "flowSizes", "--link", "9-17"), ("--of", "distinct"),
                              ("--link", "flowSizes", "--bin-bytes", "9"),
                              ("--by", "topFlows", "--by", "size"),
                              ("--bin-bytes", "topHosts", "--bin-bytes", "1"),
                              ("--since", "getFlows", "--since", '"')):
            self.fails(2, named, "query", "--tib", self.tib, *words)
        self.fails(1, "since", "query", "--tib", self.tib, "getFlows", "--since",
                   "0123456789abcdef-7", "--json")

    def check_flows(self, answer, wanted):
        got = {}
        for row in answer["flows"]:
            flow = tuple(row["flow_id"][name] for name in FLOW_ID)
            path = ",".join(map(str, row["path"])) or "t" + ",".join(map(str, row["tags"]))
            self.assertNotIn((flow, path), got, "listed twice")
            self.assertEqual("tags" in row, not row["path"])
            got[flow, path] = [row["stime_us"], row["etime_us"], row["bytes"], row["pkts"]]
        self.assertEqual(got, wanted)
        self.assertIs(answer["complete"], True)

    def check_paths(self, answer, wanted):
        self.assertEqual(answer["paths"],
                         sorted(switches(path) for path in wanted if path[0] != "t"))
        infeasible = sorted([int(t) for t in path[1:].split(",")] for path in wanted
                            if path[0] == "t")
        self.assertEqual(sorted(row["tags"] for row in answer.get("infeasible", [])), infeasible)
        self.assertEqual("infeasible" in answer, bool(infeasible))

    def test_tables_show_the_same(self):
        flows = self.json("query", "--tib", self.tib, "getFlows", "--link", "9-17")["flows"]
        lines = self.ok("query", "--tib", self.tib, "getFlows", "--link", "9-17").splitlines()
        self.assertTrue(lines[0].startswith("SOURCE"))
        self.assertEqual(len(lines), len(flows) + 3)
        for row, line in zip(flows, lines[1:]):
            self.assertIn("→".join(map(str, row["path"])), line)
            self.assertIn(f"{row['pkts']:,}", line)
            self.assertIn(row["flow_id"]["src_ip"], line)
        self.assertTrue(lines[-1].startswith(
            f"{len(flows)} flows, {sum(row['pkts'] for row in flows):,} packets, "))
        self.assertNotIn("\033", "".join(lines))
        self.assertTrue(all(line == line.rstrip() for line in lines))
        self.assertIn("9-17-11",
                      self.ok("query", "--tib", self.tib, "getPaths", "--link", "9-17", LC_ALL="C"))

    def csv(self, *words):
        return list(csv.DictReader(io.StringIO(self.ok("query", "--tib", self.tib, *words, "--csv"),
                                               newline="")))

    def test_csv_has_the_same_values(self):
        flows, rows = self.json("query", "--tib", self.tib,
                                "getFlows")["flows"], self.csv("getFlows")
        self.assertEqual(len(rows), len(flows))
        for flow, row in zip(flows, rows):
            self.assertEqual((int(row["packets"]), int(row["bytes"]), int(row["lasted_us"])),
                             (flow["pkts"], flow["bytes"], flow["etime_us"] - flow["stime_us"]))
            self.assertEqual({name: str(value) for name, value in flow["flow_id"].items()},
                             {name: row[name] for name in flow["flow_id"]})
            self.assertIn("-".join(map(str, flow["path"])), row["path"])
        top = self.json("query", "--tib", self.tib, "topHosts", "--k", "3")["top"]
        self.assertEqual([row["bytes"] for row in self.csv("topHosts", "--k", "3")],
                         [str(row["bytes"]) for row in top])
        count = self.json("query", "--tib", self.tib, "getCount")
        self.assertEqual(self.csv("getCount"),
                         [{"packets": str(count["pkts"]), "bytes": str(count["bytes"])}])
        self.assertEqual(self.csv("getFlows", "--src-ip", "192.0.2.1"), [])
        self.fails(2, "--csv", "query", "--tib", self.tib, "getCount", "--csv", "--json")

    def test_times_as_people_write_them(self):
        line = self.ok("query", "--tib", self.tib, "getDuration").splitlines()[0]
        first = line.removeprefix("first packet").strip()
        answer = self.json("query", "--tib", self.tib, "getDuration", "--to", first)
        whole = self.json("query", "--tib", self.tib, "getDuration")
        self.assertEqual(answer["stime_us"], whole["stime_us"])

    def test_no_such_store(self):
        nowhere = self.path("nowhere")
        self.fails(1, nowhere, "query", "--tib", nowhere, "getFlows")
        self.assertFalse(os.path.exists(nowhere))
        self.fails(1, self.folder.name, "query", "--tib", self.folder.name, "getFlows", "--json")
        with open(self.path("file"), "w", encoding="utf-8"):
            pass
        self.fails(1, "file", "query", "--tib", self.path("file"), "getFlows")

    def test_damaged_stores_answer_in_part_or_not_at_all(self):
        """bits turn over in the file: no crash, no row that was never stored, and what is missing
        is said"""
        whole = grouped(self.records)
        damaged, codes = self.path("damaged"), []
        shutil.copytree(self.tib, damaged)
        with open(os.path.join(self.tib, "data.mdb"), "rb") as f:
            good = f.read()
        for _ in range(40):
            bad = bytearray(good)
            bad[random.randrange(len(bad))] ^= 1 << random.randrange(8)
            with open(os.path.join(damaged, "data.mdb"), "wb") as f:
                f.write(bad)
            code, out, err = pathdump("query", "--tib", damaged, "getFlows", "--json")
            self.assertIn(code, (0, 1, 3), err)
            codes.append(code)
            if code == 1:
                self.assertIn(damaged, err)
                continue
            answer = json.loads(out)
            self.assertEqual(answer["complete"], code == 0)
            for row in answer["flows"]:
                flow = tuple(row["flow_id"][name] for name in FLOW_ID)
                path = ",".join(map(str, row["path"])) or "t" + ",".join(map(str, row["tags"]))
                self.assertLessEqual(row["pkts"], whole[flow, path][3])
        self.assertIn(3, codes)

    def test_readers_leave_no_trace(self):
        before = {name: os.stat(os.path.join(self.tib, name)).st_size
                  for name in os.listdir(self.tib)}
        for _ in range(3):
            pathdump("query", "--tib", self.tib, "getCount")
        after = {name: os.stat(os.path.join(self.tib, name)).st_size
                 for name in os.listdir(self.tib)}
        self.assertEqual({n: s for n, s in after.items() if n in before}, before)

    def test_a_reader_that_goes_away(self):
        with subprocess.Popen([os.path.join(BIN, "pathdump"), "query", "--tib", self.tib,
                               "getFlows", "--json"], stdout=subprocess.PIPE) as process:
            process.stdout.read(10)
            process.stdout.close()
            self.assertNotEqual(process.wait(20), 0)


if __name__ == "__main__":
    main()
