#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`pathdump topology` and `pathdump codec`, help, exit codes."""
import json
import os
import random
import subprocess

from command import BIN, CommandTest, main, pathdump

FAR = ("--src", "10.1.1.2", "--dst", "10.2.1.2")


class Topology(CommandTest):
    def test_generated_files_are_good(self):
        for words in (("fat-tree", "--k", 4), ("fat-tree", "--k=8"), ("vl2", "--k", 4),
                      ("leaf-spine", "--leaves", 4, "--spines", 2, "--hosts", 3),
                      ("generate", "fat-tree", "--k", 4, "--addrs"),
                      ("generate", "clos", "--pods=2", "--tors", 3, "--t1", 2, "--t2", 2, "--hosts",
                       1)):
            name = self.path("made.json")
            with open(name, "w", encoding="utf-8") as f:
                f.write(self.ok("topology", *words))
            out = self.ok("topology", "check", name)
            self.assertIn(f"{name}: ok", out)
            self.assertEqual(len(out.splitlines()), 1)

    def test_wrong_sizes(self):
        for k in (5, 2, 0, 74, 10**12):
            self.assertIn(pathdump("topology", "fat-tree", "--k", k)[0], (1, 2))
        for k in (3, 64):
            self.assertIn(pathdump("topology", "vl2", "--k", k)[0], (1, 2))
        self.fails(2, "--t2 is missing", "topology", "generate", "clos", "--pods", 1, "--tors", 1,
                   "--t1", 1, "--hosts", 1)
        self.fails(2, "--k", "topology", "generate", "fat-tree", "--k", "four")
        self.fails(2, "clos", "topology", "generate", "closed")
        self.fails(1, "4094", "topology", "leaf-spine", "--leaves", 4000, "--spines", 4000,
                   "--hosts", 1)

    def test_broken_files_are_named_with_the_place(self):
        with open(self.topology(), encoding="utf-8") as f:
            document = json.load(f)
        document["nodes"].append(dict(document["nodes"][3]))
        name = self.path("broken.json")
        with open(name, "w", encoding="utf-8") as f:
            json.dump(document, f)
        code, out, err = pathdump("topology", "check", name)
        self.assertEqual(code, 1)
        self.assertIn("broken.json", out)
        self.assertIn(str(document["nodes"][3]["id"]), out)
        self.assertIn("finding", err)
        with open(name, "w", encoding="utf-8") as f:
            f.write("{")
        self.assertEqual(pathdump("topology", "check", name)[0], 1)
        self.fails(1, "nothing.json", "topology", "check", self.path("nothing.json"))
        for change, says in ((lambda t: t.update(codec="foo"), "there is no codec `foo`"),
                             (lambda t: t["links"][0].update(tag=4), "the link between 9 and 1 has "
                              "the tag 4")):
            document = json.loads(self.ok("topology", "fat-tree", "--k", "4"))
            change(document)
            with open(name, "w", encoding="utf-8") as file:
                json.dump(document, file)
            self.fails(1, says, "topology", "check", name)


class Codec(CommandTest):
    def encode(self, path, *ends):
        return self.json("codec", "encode", "--topology", self.topology(), *(ends or FAR), "--path",
                         ",".join(map(str, path)))

    def decode(self, tags, *ends):
        return self.json("codec", "decode", "--topology", self.topology(), *(ends or FAR), "--tags",
                         ",".join(map(str, tags)))

    def test_a_core_detour(self):
        path = [1, 9, 17, 13, 18, 11, 3]
        self.assertEqual(self.encode(path), {"tags": [9, 14], "dscp": 0, "punted": False})
        self.assertEqual(self.decode([9, 14]), {"path": path})

    def test_a_rack_needs_no_tag(self):
        ends = ("--src", "10.1.1.2", "--dst", "10.1.1.3")
        self.assertEqual(self.encode([1], *ends), {"tags": [], "dscp": 0, "punted": False})
        self.assertEqual(self.decode([], *ends), {"path": [1]})

    def test_infeasible_tags_are_refused_with_the_reason(self):
        for tags in ("4000", "9,9", "1,1,1", "14,9", "0", "4095"):
            self.fails(1, "codec decode", "codec", "decode", "--topology", self.topology(), *FAR,
                       "--tags", tags, "--json")

    def test_the_path_fits_its_ends(self):
        encode = ("codec", "encode", "--topology", self.topology(), *FAR, "--path")
        self.fails(1, "10.1.1.2", *encode, "2,9,17,11,3")
        self.fails(1, "10.2.1.2", *encode, "1,9,17,11,4")
        self.fails(1, "", *encode, "1,17,11,3")
        self.fails(1, "10.9.1.2", "codec", "encode", "--topology", self.topology(), "--src",
                   "10.9.1.2", "--dst", "10.1.1.2", "--path", "1")

    def test_a_host_at_two_leaves(self):
        """both are tried: one fit is the path, two are ambiguous"""
        nodes = [{"id": i, "role": "leaf", "prefixes": [f"10.0.{1 if i == 2 else i}.0/24"]}
                 for i in (1, 2, 3)]
        nodes += [{"id": i, "role": "spine"} for i in (4, 5)]
        nodes += [{"id": 9, "role": "host", "addrs": ["10.0.1.9"]},
                  {"id": 10, "role": "host", "addrs": ["10.0.3.9"]}]
        links = [(leaf, spine) for leaf in (1, 2, 3) for spine in (4, 5)] + [(9, 1), (9, 2),
                                                                             (10, 3)]
        name = self.path("mlag.json")
        with open(name, "w", encoding="utf-8") as out:
            json.dump({"codec": "cherrypick-leaf-spine", "nodes": nodes,
                       "links": [{"source": a, "target": b} for a, b in links]}, out)
        ends = "--topology", name, "--src", "10.0.1.9", "--dst"
        for path in ([1, 4, 3], [2, 5, 3]):
            tags = json.loads(self.ok("codec", "encode", *ends, "10.0.3.9", "--path",
                                      ",".join(map(str, path)), "--json"))["tags"]
            made = self.ok("codec", "decode", *ends, "10.0.3.9", "--tags", ",".join(map(str, tags)),
                           "--json")
            self.assertEqual(json.loads(made)["path"], path)
        self.fails(1, "2 paths", "codec", "decode", *ends, "10.0.1.9", "--tags", "")
        self.fails(1, "whose ToR is 1", "codec", "encode", *ends, "10.0.3.9", "--path", "3,5,3")

    def test_verify(self):
        got = self.json("codec", "verify", "--topology", self.topology(), "--max-hops", 6)
        self.assertEqual(set(got), {"paths", "by_hops", "ambiguous", "undecodable", "punted",
                                    "shortest", "misread", "edge"})
        self.assertEqual(got["edge"], {"ports": 16, "rows": 32, "leaks": 0})
        self.assertEqual(got["paths"], sum(got["by_hops"].values()))
        self.assertEqual(got["by_hops"]["2"], 16)
        self.assertEqual((got["ambiguous"], got["undecodable"]), (0, 0))
        out = self.ok("codec", "verify", "--topology", self.topology())
        self.assertIn(f"{got['paths']:,}", out)

    def test_tags_of_the_file_that_no_switch_writes(self):
        with open(self.topology(), encoding="utf-8") as f:
            document = json.load(f)
        for link in document["links"]:
            link["tag"] = 77
        name = self.path("tags.json")
        with open(name, "w", encoding="utf-8") as f:
            json.dump(document, f)
        self.fails(1, "tags.json", "codec", "verify", "--topology", name)

    def test_rules(self):
        rules = self.ok("codec", "rules", "--topology", self.topology(), "--switch", 9)
        self.assertIn("push_vlan", rules)
        self.assertNotEqual(rules, self.ok("codec", "rules", "--topology", self.topology(),
                                           "--switch", 9, "--depth", "plain"))
        self.assertEqual(rules, self.ok("codec", "rules", "--topology", self.topology(),
                                        "--switch=9", "--depth=pcp"))
        self.fails(1, "99", "codec", "rules", "--topology", self.topology(), "--switch", 99)

    def test_text_and_json_agree(self):
        decode = ("codec", "decode", "--topology", self.topology(), *FAR, "--tags", "9,14")
        self.assertEqual(self.ok(*decode), "1→9→17→13→18→11→3\n")
        self.assertEqual(self.ok(*decode, LC_ALL="C"), "1-9-17-13-18-11-3\n")


class Usage(CommandTest):
    WRONG = (  # what the error names, the words
        ("--no-such-flag", "--no-such-flag"), ("fly", "fly"), ("fly", "topology", "fly"),
        ("--k", "topology", "fat-tree"),
        ("--k", "topology", "fat-tree", "--k", "four"),
        ("--j", "topology", "fat-tree", "--k", "4", "--j", "1"),
        ("more", "topology", "fat-tree", "--k", "4", "more"), ("FILE", "topology", "check"),
        ("--topology", "codec", "verify"),
        ("--max-hops", "codec", "verify", "--topology", "x", "--max-hops", "0"),
        ("--src", "codec", "decode", "--topology", "x", "--src", "ten"),
        ("--tags", "codec", "decode", "--topology", "x", "--tags", "9,14,"),
        ("--tags", "codec", "decode", "--topology", "x", "--tags", "1,2,3,4,5"),
        ("--tags", "codec", "decode", "--topology", "x", "--tags", "5000"),
        ("--path", "codec", "encode", "--topology", "x", "--path", "1;2"),
        ("--dscp", "codec", "decode", "--topology", "x", "--dscp", "64"),
        ("--depth", "codec", "rules", "--topology", "x", "--depth", "deep"),
        ("getFlows", "query", "--tib", "x"), ("getNothing", "query", "--tib", "x", "getNothing"),
        ("--tib", "query", "getFlows"),
        ("--tib", "query", "--tib", "x", "--agent", "http://x", "getFlows"),
        ("--live", "query", "--tib", "x", "getFlows", "--live"),
        ("--agent", "query", "--agent", "ftp://x", "getFlows"),
        ("--agent", "query", "--agent", "http://", "getFlows"),
        ("--link", "query", "--tib", "x", "getFlows", "--link", "nine-17"),
        ("--src-ip", "query", "--tib", "x", "getFlows", "--src-ip", "10.1.1"),
        ("--src-port", "query", "--tib", "x", "getFlows", "--src-port", "70000"),
        ("--path", "query", "--tib", "x", "getCount", "--path", "1,x"),
        ("--to", "query", "--tib", "x", "getFlows", "--from", "20", "--to", "10"),
        ("--from", "query", "--tib", "x", "getFlows", "--from", "teatime"),
        ("--dst-ip", "query", "--tib", "x", "getFlows", "--src-ip", "10.1.1.2", "--dst-ip",
         "fd00::2"),
        ("--bogus", "query", "--tib", "x", "getFlows", "--bogus=1"),
        ("--link", "query", "--tib", "x", "getFlows", "--link"),
        ("--link", "query", "--tib", "x", "getFlows", "--link", "1-2", "--link", "1-3"))

    def test_slips_are_named(self):
        for naming, *words in self.WRONG:
            with self.subTest(" ".join(words)):
                self.assertEqual(self.fails(2, naming, *words), "")

    def test_nothing_asked(self):
        for words in ((), ("topology",), ("codec",)):
            code, out, err = pathdump(*words)
            self.assertEqual((code, out), (2, ""))
            self.assertIn("Usage: pathdump", err)

    def test_help(self):
        listed = self.ok("help")
        self.assertEqual(listed, self.ok("--help"))
        for name in ("topology generate", "topology fat-tree", "topology vl2",
                     "topology leaf-spine", "topology check", "codec verify", "codec encode",
                     "codec decode", "codec rules", "query"):
            self.assertIn(name, listed)
            text = self.ok("help", *name.split())
            self.assertEqual(text, self.ok(*name.split(), "--help"))
            self.assertTrue(text.startswith(f"Usage: pathdump {name}"))
        self.assertIn("codec verify", self.ok("help", "codec"))
        self.fails(1, "fly", "help", "fly")

    def test_version(self):
        self.assertRegex(self.ok("--version"), r"^pathdump \d+\.\d+\.\d+\n$")

    def test_an_answer_that_cannot_be_written_is_a_failure(self):
        for words in (("topology", "fat-tree", "--k", "4"), ("help",),
                      ("codec", "decode", "--topology", self.topology(), *FAR, "--tags", "9,14",
                       "--json")):
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run([os.path.join(BIN, "pathdump"), *words], stdout=full,
                                      stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual(done.returncode, 1, words)
            self.assertIn("No space left", done.stderr)

    def test_random_words_never_crash(self):
        words = ["topology", "codec", "query", "help", "check", "verify", "--topology", "--json",
                 "--", "-", "", "--k", "4", "--link", "*-*",
                 "getFlows", "--tib", self.folder.name, "--agent", "unix:/nowhere", "--from",
                 "\N{SNOWMAN}", "--to=", "=", "--=", "--help"]
        for _ in range(150):
            line = random.choices(words, k=random.randrange(7))
            self.assertIn(pathdump(*line)[0], (0, 1, 2), line)


if __name__ == "__main__":
    main()
