# SPDX-License-Identifier: Apache-2.0
"""pathdump-switch on captures: order, counters, punts, refusals."""
import json
import os
import random
import tempfile
import unittest

from switch import SPEC, read_pcap, run, write_config, write_pcap, write_tables

S = 10**9
PUNT, EDGE, DIE, MISS = 0x9001, 0x9002, 0x9003, 0x9004
FATES = ["match 0x9001/0xffff priority 0 action send port 256",
         "match 0x9002/0xffff priority 0 action send port 264",
         "match 0x9003/0xffff priority 0 action die",
         "match 0x9004/0xffff priority 0 action send port 77"]
PORTS = ["match 1 action send port 2", "match 2 action send port 1", "match 3 action send port 3"]


def frame(kind, size=60, number=0):
    return bytes(6) + number.to_bytes(6, "big") + kind.to_bytes(2, "big") + bytes(
        n % 251 for n in range(size - 14))


class Captures(unittest.TestCase):
    def setUp(self):
        self.held = tempfile.TemporaryDirectory()
        self.addCleanup(self.held.cleanup)
        self.at = self.held.name
        self.tables = write_tables(f"{self.at}/tables", ports__swx=PORTS, fates__swx=FATES)

    def config(self, ports=None, **more):
        one = {"id": 9, "program": "cross", "spec": SPEC, "tables": self.tables,
               "punts": f"{self.at}/punts",
               "ports": ports or {"1": {"pcap": [f"{self.at}/in1", f"{self.at}/out1"]},
                                  "2": {"pcap": [f"{self.at}/in2", f"{self.at}/out2"]}}}
        return write_config(self.at, switches=[one | more])

    def check_sum(self, one):
        self.assertEqual(one["received"],
                         one["forwarded"] + sum(one["dropped"].values()) + one["punted"], one)

    def test_frames_go_in_the_order_of_their_times_and_keep_them(self):
        write_pcap(f"{self.at}/in1", [(S + 2 * n, frame(0x800, number=n)) for n in range(100)])
        write_pcap(f"{self.at}/in2",
                   [(S + 2 * n + 1, frame(0x800, number=1000 + n)) for n in range(100)])
        tables = write_tables(f"{self.at}/one", ports__swx=["match 1 action send port 1",
                                                            "match 2 action send port 1"])
        code, found, errors = run(self.config(tables=tables), "--json")
        self.assertEqual((code, errors), (0, ""))
        out = read_pcap(f"{self.at}/out1")
        self.assertEqual([time for time, _ in out], [S + n for n in range(200)])
        self.assertEqual([int.from_bytes(raw[6:12], "big") for _, raw in out],
                         [n // 2 + n % 2 * 1000 for n in range(200)])
        self.assertEqual(found[9]["tables"]["ports"], {"entries": 2, "hits": 200})
        self.assertEqual(read_pcap(f"{self.at}/out2"), [])

    def test_every_frame_is_counted_once(self):
        rnd = random.Random(11)
        kinds = [rnd.choice((PUNT, EDGE, DIE, MISS, 0x800)) for _ in range(500)]
        write_pcap(f"{self.at}/in1", [(S + n, frame(kind, rnd.choice((14, 15, 60, 1514, 9000))))
                                      for n, kind in enumerate(kinds)])
        write_pcap(f"{self.at}/in2", [(S, b""), (S, b"short"), (S, bytes(9216)), (S, bytes(9217))])
        code, found, _ = run(self.config(), "--json")
        self.assertEqual(code, 0)
        one = found[9]
        self.assertEqual((one["received"], one["punted"]), (504, kinds.count(PUNT)))
        self.assertEqual(one["dropped"], {"edge": kinds.count(EDGE), "program": kinds.count(DIE),
                                          "no_port": kinds.count(MISS),
                                          "too_short": 2, "too_long": 1})
        self.assertEqual(one["forwarded"], kinds.count(0x800) + 1)
        self.check_sum(one)

    def test_punts_are_the_frames_that_came_in(self):
        sent = [frame(PUNT, size) for size in (14, 59, 60, 639, 640, 641, 900, 1514, 9000)]
        write_pcap(f"{self.at}/in1", [(S + 1000 * n, raw) for n, raw in enumerate(sent)])
        self.assertEqual(run(self.config(ports={"1": {"pcap": [f"{self.at}/in1", None]}}),
                             "--json")[0], 0)
        with open(f"{self.at}/punts", encoding="utf-8") as file:
            punts = [json.loads(line) for line in file]
        self.assertEqual(punts, [{"switch": 9, "in_port": 1, "time_us": 10**6 + n,
                                  "reason": "long_path", "frame": raw.hex()}
                                 for n, raw in enumerate(sent)])

    def test_switches_hand_frames_to_each_other(self):
        chain, number = [], 40
        for n in range(1, number + 1):
            ports = {"1": {"pcap": [f"{self.at}/in1", None]} if n == 1 else {"to": f"{n - 1}:2"},
                     "2": {"pcap": [None, f"{self.at}/out2"]} if n == number
                     else {"to": f"{n + 1}:1"}}
            chain.append({"id": n, "program": "cross", "spec": SPEC, "tables": self.tables,
                          "ports": ports})
        sent = [(S + n, frame(0x800, 100, n)) for n in range(50)]
        write_pcap(f"{self.at}/in1", sent)
        code, found, errors = run(write_config(self.at, switches=chain), "--json")
        self.assertEqual((code, errors), (0, ""))
        self.assertEqual(read_pcap(f"{self.at}/out2"), sent)
        self.assertEqual({one["forwarded"] for one in found.values()}, {50})

    def test_a_mirror_is_counted_beside(self):
        tables = write_tables(f"{self.at}/mirror", ports__swx=["match 1 action copy port 2"])
        write_pcap(f"{self.at}/in1", [(S, frame(0x800))])
        write_pcap(f"{self.at}/in2", [])
        one = run(self.config(tables=tables), "--json")[1][9]
        self.assertEqual((one["received"], one["forwarded"], one["mirrored"]), (1, 1, 1))

    def refused(self, words, config):
        code, _, errors = run(config)
        self.assertEqual(code, 1, errors)
        self.assertEqual(len(errors.splitlines()), 1, errors)
        for word in words:
            self.assertIn(word, errors)

    def test_refusals_name_file_and_line(self):
        write_pcap(f"{self.at}/in1", [])
        write_pcap(f"{self.at}/in2", [])
        for tables, words in (
                ({"ports__swx": ["match 1 action send port 2", "match 2 action sent port 2"]},
                 ["ports.swx:2:", "action send port V"]),
                ({"ports__swx": ["match 1 2 action send port 2"]}, ["ports.swx:1:"]),
                ({"port__swx": ["match 1 action send port 2"]}, ["port.swx", "no table port"]),
                ({"seen__array": ["0 5", "16 1"]}, ["seen.array:2:", "ends at 15"]),
                ({"seen__array": ["0"]}, ["seen.array:1:", "INDEX VALUE"]),
                ({"sean__array": ["0 1"]}, ["sean.array", "no array sean"]),
                ({"interfaces__swx": ["match 1 action address v4 0x1 v6_hi 0x0 v6_lo 0x0",
                                      "match 0x2 action address v4 0x1 v6_hi 0x0 v6_lo 0x0",
                                      "match 300"]}, ["interfaces.swx:3:"])):
            with self.subTest(tables=tables):
                folder = write_tables(tempfile.mkdtemp(dir=self.at), **tables)
                self.refused(words, self.config(tables=folder))

    def test_a_program_of_another_kind_is_refused(self):
        write_pcap(f"{self.at}/in1", [])
        with open(SPEC, encoding="utf-8") as file:
            text = file.read()
        for change, words in ((("tx m.port_out", "txx m.port_out"), ["bad.spec"]),
                              (("bit<32> zero", "bit<2048> zero"), ["bytes of metadata"]),
                              (("table fates {", "tabel fates {"), ["bad.spec:"])):
            with self.subTest(change=change):
                with open(f"{self.at}/bad.spec", "w", encoding="utf-8") as out:
                    out.write(text.replace(*change))
                self.refused(words, self.config(spec=f"{self.at}/bad.spec",
                                                ports={"1": {"pcap": [f"{self.at}/in1", None]}}))
        self.refused(["nowhere.spec"], self.config(spec=f"{self.at}/nowhere.spec"))

    def test_configurations_are_checked(self):
        good = {"id": 9, "program": "cross", "spec": SPEC, "tables": self.tables, "ports": {}}
        for config, words in (
                ({"switches": []}, ["switches"]),
                ({"switches": [good], "contorl": "x"}, ["contorl"]),
                ({"switches": [good, good]}, ["switches[1].id"]),
                ({"switches": [good | {"colour": 1}]}, ["switches[0]", "colour"]),
                ({"switches": [good | {"ports": {"0": {"tap": "x"}}}]}, ["switches[0].ports.0"]),
                ({"switches": [good | {"ports": {"256": {"tap": "x"}}}]}, ["ports.256"]),
                ({"switches": [good | {"ports": {"1": {"to": "10:1"}}}]}, ["ports.1.to"]),
                ({"switches": [good | {"ports": {"1": {"to": "9:2"}}}]}, ["ports.1.to"]),
                ({"switches": [good | {"ports": {"1": {"pcap": ["x"]}}}]}, ["ports.1.pcap"]),
                ({"switches": [good | {"ports": {"1": {"pcap": ["/nowhere", None]}}}]},
                 ["/nowhere"])):
            with self.subTest(config=config):
                self.refused(words, write_config(self.at, **config))
        with open(f"{self.at}/config.json", "w", encoding="utf-8") as out:
            out.write('{\n"switches": [\n}')
        self.refused(["config.json:3"], f"{self.at}/config.json")

    def test_help_and_version(self):
        self.assertEqual(run("--help")[0], 0)
        self.assertEqual(run("--version")[0], 0)
        self.assertEqual(run()[0], 2)
        self.assertEqual(run("--no-such-flag")[0], 2)


if __name__ == "__main__":
    unittest.main()
