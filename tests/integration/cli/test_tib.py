#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`pathdump tib …`: what is in a store, whether it is sound, out and in again."""
import json
import os
import pty
import random
import resource
import subprocess
import time

from command import BIN, FLOW_ID, CommandTest, main
from test_store import make_record, switches


def line_of(record):
    flow, path, stime, etime, size, pkts = record
    members = {"flow_id": dict(zip(FLOW_ID, flow)), "path": switches(path)}
    if path[0] == "t":
        members["tags"] = [int(tag) for tag in path[1:].split(",")]
        if flow[4] == 58:
            members["dscp"] = 7
        members["state"] = "infeasible"
    members |= {"stime_us": stime, "etime_us": etime, "bytes": size, "pkts": pkts}
    return json.dumps(members, separators=(",", ":"))


def run(*words, stdin="", **options):
    done = subprocess.run([os.path.join(BIN, "pathdump"), *words], input=stdin, capture_output=True,
                          text=True, timeout=120,
                          check=False, **options)
    return done.returncode, done.stdout, done.stderr


def has_open(pid, name):
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            if os.path.basename(os.readlink(f"/proc/{pid}/fd/{fd}")) == name:
                return True
        except FileNotFoundError:
            pass
    return False


class Tib(CommandTest):
    def setUp(self):
        self.tib = self.path(f"tib-{self._testMethodName}")
        self.lines = [line_of(make_record(random)) for _ in range(3000)]

    def fill(self, lines=None):
        return run("tib", "import", "--tib", self.tib, stdin="\n".join(lines or self.lines) + "\n")

    def exported(self, tib=None):
        return sorted(self.ok("tib", "export", "--tib", tib or self.tib).splitlines())

    def test_round_trip(self):
        """every record, IPv6 and infeasible ones as well, through two stores, and packets beyond
        what JavaScript counts"""
        self.lines += ['{"flow_id":{"src_ip":"10.1.1.2","dst_ip":"10.2.1.2","src_port":0,'
                       '"dst_port":65535,"protocol":255},'
                       '"path":[4294967295],"stime_us":0,"etime_us":9007199254740991,'
                       '"bytes":9223372036854775807,"pkts":0}'] * 2
        code, out, err = self.fill()
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out.split(), ["records", "3,002"])
        self.assertEqual(self.exported(), sorted(self.lines))
        again = self.path("again")
        code, out, err = run("tib", "import", "--tib", again, "--json",
                             stdin=self.ok("tib", "export", "--tib", self.tib))
        self.assertEqual((code, json.loads(out), err), (0, {"records": 3002}, ""))
        self.assertEqual(self.exported(again), sorted(self.lines))

    def test_imports_add_up(self):
        self.fill()
        self.fill(self.lines[:10])
        self.assertEqual(self.exported(), sorted(self.lines + self.lines[:10]))

    def test_shared_stores_are_not_for_writing(self):
        """what writes asks for a folder, at once and in words, and shows no password"""
        for word in ("import", "compact"):
            code, out, err = run(
                "tib", word, "--tib",
                "mongodb://wolf:s3cr3t@127.0.0.1:1/db?serverSelectionTimeoutMS=100")
            self.assertEqual((code, out), (1, ""))
            self.assertNotIn("s3cr3t", err)
        code, _, err = run("tib", "import", "--tib", "mongodb://127.0.0.1:1/db")
        self.assertIn("this needs a folder", err)
        self.assertNotIn("host-id", err)

    def test_rows_of_an_answer_are_lines(self):
        self.fill()
        top = self.json("query", "--tib", self.tib, "topRecords", "--k", "5")["top"]
        self.assertEqual(len(top), 5)
        for row in top:
            self.assertIn(json.dumps(row, separators=(",", ":")), self.lines)

    def test_since(self):
        """what was stored after an answer is what a store of that alone would say, for each query;
        asked again, it is the same"""
        queries = (("getFlows",), ("getPaths", "--dst-port", "80"), ("getCount", "--link", "9-*"),
                   ("getDuration",), ("topRecords", "--k", "50"),
                   ("topFlows", "--by", "pkts"), ("topHosts",), ("topLinks",),
                   ("flowSizes", "--link", "9-17", "--bin-bytes", "100000000"),
                   ("trafficMatrix",), ("pathBytes", "--src-ip", "10.1.1.3"),
                   ("distinct", "--of", "flows"))
        alone = self.path("alone")
        self.fill(self.lines[:2000])
        tokens = [self.json("query", "--tib", self.tib, *query)["token"] for query in queries]
        self.assertEqual(len(set(tokens)), 1)
        self.fill(self.lines[2000:])
        run("tib", "import", "--tib", alone, stdin="\n".join(self.lines[2000:]) + "\n")
        for query in queries:
            with self.subTest(query):
                later = self.json("query", "--tib", self.tib, *query, "--since", tokens[0])
                self.assertNotEqual(later.pop("token"), tokens[0])
                wanted = self.json("query", "--tib", alone, *query)
                del wanted["token"]
                self.assertEqual(later, wanted)
        self.fails(1, "since", "query", "--tib", alone, "getFlows", "--since", tokens[0])

    def test_stat(self):
        self.fill()
        records = [json.loads(line) for line in self.lines]
        stat = self.json("tib", "stat", "--tib", self.tib)
        self.assertEqual(list(stat), ["records", "segments", "paths", "bytes_used", "bytes_file",
                                      "min_stime_us", "max_etime_us"])
        self.assertEqual(stat["records"], len(records))
        self.assertEqual(stat["min_stime_us"], min(r["stime_us"] for r in records))
        self.assertEqual(stat["max_etime_us"], max(r["etime_us"] for r in records))
        self.assertTrue(0 < stat["bytes_used"] <= stat["bytes_file"])
        self.assertIn("3,000", self.ok("tib", "stat", "--tib", self.tib))

    def test_nothing_half(self):
        """a wrong line is named, what stood before it is stored, and nothing behind it"""
        at = random.randrange(1, 3000)
        wrong = self.lines[at].replace('"bytes":', '"bytes":-')
        code, out, err = self.fill(self.lines[:at] + [wrong] + self.lines[at:])
        self.assertEqual((code, out), (1, ""))
        self.assertIn(f'line {at + 1}: bytes:', err)
        self.assertIn(f"; {at} records were stored before", err)
        self.assertEqual(len(err.splitlines()), 1)
        self.assertEqual(self.exported(), sorted(self.lines[:at]))

    def test_hostile_lines(self):
        self.fill(self.lines[:1])
        for line in ("\0" * 100, "{" * 100000, "[" * 60000, "\x7fELF", '{"flow_id":' * 3000,
                     '"' + "a" * 70000, "{}", "null", "\\"):
            code, out, err = self.fill([line])
            self.assertEqual((code, out), (1, ""), line[:20])
            self.assertIn("line 1: ", err)
        self.assertEqual(self.exported(), self.lines[:1])
        self.assertEqual(self.fill([""])[0], 0)

    def test_no_room(self):
        """a store that cannot grow says how many records are in it, and they are"""
        limit = 400_000

        def small():
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        lines = self.lines * 40
        code, _, err = run("tib", "import", "--tib", self.tib, stdin="\n".join(lines) + "\n",
                           preexec_fn=small,
                           env={**os.environ, "LC_ALL": "C.UTF-8"})
        self.assertEqual(code, 1, err)
        self.assertIn("records were stored before", err)
        stored = int(err.split(";")[-1].split()[0])
        self.assertEqual(len(self.exported()), stored)
        self.assertEqual(self.json("tib", "check", "--tib", self.tib)["damaged"], [])

    def test_a_writer_keeps_others_out(self):
        self.fill(self.lines[:5])
        with subprocess.Popen([os.path.join(BIN, "pathdump"), "tib", "import", "--tib", self.tib],
                              stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as writer:
            while not has_open(writer.pid, "data.mdb"):
                time.sleep(.01)
            code, _, err = self.fill(self.lines[:1])
            self.assertEqual(code, 1, err)
            self.fails(1, self.tib, "tib", "compact", "--tib", self.tib)
            self.assertEqual(len(self.exported()), 5)
            writer.communicate(self.lines[5] + "\n")
            self.assertEqual(writer.returncode, 0)
        self.assertEqual(self.exported(), sorted(self.lines[:6]))

    def test_compact(self):
        """what is packed and moved is still there, and the file is no larger"""
        self.fill(self.lines * 22)
        before = self.json("tib", "stat", "--tib", self.tib)
        answer = self.json("tib", "compact", "--tib", self.tib)
        self.assertEqual(list(answer), ["records", "bytes_before", "bytes_after"])
        self.assertEqual((answer["records"], answer["bytes_before"]),
                         (66_000, before["bytes_file"]))
        self.assertLess(answer["bytes_after"], answer["bytes_before"])
        self.assertEqual(self.exported(), sorted(self.lines * 22))
        self.assertEqual(self.json("tib", "check", "--tib", self.tib)["damaged"], [])
        self.assertIn("66,000", self.ok("tib", "compact", "--tib", self.tib))

    def test_check(self):
        self.fill()
        self.assertEqual(self.json("tib", "check", "--tib", self.tib),
                         {"segments": 0, "records": 3000, "damaged": []})
        self.assertEqual(self.ok("tib", "check", "--tib", self.tib),
                         "0 segments, 3,000 records, no damage\n")
        name, turned = os.path.join(self.tib, "data.mdb"), 0
        with open(name, "rb") as f:
            whole = f.read()
        for _ in range(25):
            spoilt = bytearray(whole)
            at = random.randrange(len(spoilt) * 8)
            spoilt[at // 8] ^= 1 << at % 8
            with open(name, "wb") as f:
                f.write(spoilt)
            code, out, err = run("tib", "check", "--tib", self.tib, "--json")
            self.assertIn(code, (0, 1))
            self.assertEqual(err, "")
            self.assertEqual(bool(json.loads(out)["damaged"]), code == 1)
            if code:
                turned += 1
                code, out, _ = run("tib", "check", "--tib", self.tib)
                self.assertEqual(code, 1)
                self.assertIn("damaged", out)
            code, out, _ = run("tib", "export", "--tib", self.tib)
            self.assertIn(code, (0, 1, 3))
            self.assertLessEqual(set(out.splitlines()), set(self.lines))
        self.assertGreater(turned, 2)

    def test_a_file_that_is_no_store(self):
        self.fill()
        for size in (0, 1, 4096, 8191):
            os.truncate(os.path.join(self.tib, "data.mdb"), size)
            answer = self.json("tib", "check", "--tib", self.tib, code=1)
            self.assertEqual((answer["segments"], answer["records"]), (0, 0))
            self.assertEqual(len(answer["damaged"]), 1)
            self.assertIn("data.mdb", answer["damaged"][0])
        nowhere = self.path("nowhere")
        for name in ("stat", "check", "export", "compact"):
            self.fails(1, nowhere, "tib", name, "--tib", nowhere)
            self.fails(2, "--tib", "tib", name)
        self.assertFalse(os.path.exists(nowhere))

    def test_a_bar_on_a_terminal_alone(self):
        with open(self.path("lines"), "w", encoding="utf-8") as f:
            f.write("\n".join(self.lines) + "\n")
        ours, theirs = pty.openpty()
        with open(self.path("lines"), encoding="utf-8") as f, subprocess.Popen(
                [os.path.join(BIN, "pathdump"), "tib", "import", "--tib", self.tib], stdin=f,
                stderr=theirs, stdout=subprocess.PIPE,
                text=True) as process:
            os.close(theirs)
            shown = b""
            try:
                while piece := os.read(ours, 1 << 16):
                    shown += piece
            except OSError: # how a terminal says that nobody writes any more
                pass
            self.assertEqual(process.communicate()[0].split(), ["records", "3,000"])
        os.close(ours)
        self.assertRegex(shown.decode(), r"^\rimport \[#* *\] +\d+ %")
        self.assertTrue(shown.endswith(b"\r\033[K"), shown[-40:])


if __name__ == "__main__":
    main()
