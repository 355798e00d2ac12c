# SPDX-License-Identifier: Apache-2.0
"""What p4/compile has made: of the sources as they are, and within what SWX can hold."""
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

SOURCE = pathlib.Path(os.environ.get("PD_SOURCE") or pathlib.Path(__file__).parents[3])
P4 = SOURCE / "p4"

# bytes that an offset of SWX reaches, in metadata, a header, or an action's data
OFFSETS = 256
HASH_OFFSETS = 32   # the same for the result of `hash`


def digest(name):
    return hashlib.sha256((SOURCE / name).read_bytes()).hexdigest()


def programs(target=None):
    listed = json.loads((P4 / "compiled/manifest.json").read_text())["programs"]
    return [one for one in listed if target in (None, one["target"])]


def structs(text):
    """name → [(field, bytes, whether of variable size)] of each struct of a .spec"""
    found = {}
    for name, body in re.findall(r"^struct (\S+) \{\n(.*?)^\}", text, re.M | re.S):
        fields = re.findall(r"^\s*(bit|varbit)<(\d+)> (\S+)", body, re.M)
        found[name] = [(field, int(bits) // 8, kind == "varbit") for kind, bits, field in fields]
    return found


def offsets(fields):
    at, found = 0, {}
    for name, size, _ in fields:
        found[name] = at
        at += size
    return found


class Manifest(unittest.TestCase):
    def test_no_source_is_newer(self):
        for one in programs():
            with self.subTest(one["target"] + "/" + one["name"]):
                stale = [name for name, sha in one["sources"].items() if digest(name) != sha]
                self.assertEqual(stale, [], "run p4/compile")
                self.assertEqual(digest(one["file"]), one["sha256"])

    def test_every_source_and_result_is_listed(self):
        listed = {name for one in programs() for name in one["sources"]}
        there = {str(f.relative_to(SOURCE)) for f in P4.rglob("*.p4") if "compiled" not in f.parts}
        self.assertEqual(there - listed, set())
        files = {one["file"] for one in programs()}
        made = [*P4.glob("compiled/*/*.spec"), *P4.glob("compiled/*/*.json")]
        self.assertEqual({str(f.relative_to(SOURCE)) for f in made} - files, set())

    def test_every_program_is_there(self):
        wanted = {"forward", "cherrypick", "path-bloom", "meters", "pint", "sr-int", "int-md"}
        self.assertEqual(wanted - {one["name"] for one in programs("pna")}, set())

    def test_no_machine_is_named(self):
        for one in programs():
            if one["target"] != "tna":
                self.assertNotRegex((SOURCE / one["file"]).read_text(),
                                    r"/(home|work|tmp|root|usr)/")


class Limits(unittest.TestCase):
    def test_offsets_fit_into_a_byte(self):
        for one in programs("pna"):
            for name, fields in structs((SOURCE / one["file"]).read_text()).items():
                fixed = sum(size for _, size, varies in fields if not varies)
                self.assertLessEqual(fixed, OFFSETS, f"{one['name']}: {name}")

    def test_results_of_hashes_are_in_reach(self):
        for one in programs("pna"):
            text = (SOURCE / one["file"]).read_text()
            metadata = re.search(r"^metadata instanceof (\S+)", text, re.M).group(1)
            at = offsets(structs(text)[metadata])
            for field in re.findall(r"^\s*hash \S+ m\.(\S+)", text, re.M):
                self.assertLess(at[field], HASH_OFFSETS, f"{one['name']}: {field}")

    def test_exact_keys_lie_together(self):
        """or SWX makes ternary ones of them, a hundred times as slow"""
        for one in programs("pna"):
            text = (SOURCE / one["file"]).read_text()
            metadata = re.search(r"^metadata instanceof (\S+)", text, re.M).group(1)
            at, size = offsets(structs(text)[metadata]), {f: s
                                                          for f, s, _ in structs(text)[metadata]}
            for table, body in re.findall(r"^table (\S+) \{\n\s*key \{\n(.*?)\}", text,
                                          re.M | re.S):
                key = re.findall(r"m\.(\S+) (\S+)", body)
                if key and all(kind == "exact" for _, kind in key):
                    fields = sorted((at[f], size[f]) for f, _ in key)
                    together = all(a + n == b for (a, n), (b, _) in zip(fields, fields[1:]))
                    self.assertTrue(together, f"{one['name']}: {table}: {key}")


class Compiler(unittest.TestCase):
    def test_what_actions_set_is_read(self):
        """p4c-dpdk takes for a constant what is set once before a table and copied once behind
        it"""
        for one in programs("pna"):
            text = (SOURCE / one["file"]).read_text()
            actions = re.findall(r"^action \S+ args.*?\{\n(.*?)^\}", text, re.M | re.S)
            written = {field for body in actions for field in re.findall(r"\bmov (m\.\S+) ", body)}
            if not {"pint", "meters", "int-md"} & set(one["sets"]):
                written.discard("m.local_metadata_from_host")   # nobody asks there
            reads = re.sub(r"\b(mov|regrd) m\.\S+ ", r"\1 ", text)
            unread = {field for field in written if not re.search(re.escape(field) + r"\b", reads)}
            self.assertEqual(unread, set(), one["name"])


    def test_keys_are_written(self):
        """p4c-dpdk drops the one copy into a field that a table's key and one instruction read"""
        for one in programs("pna"):
            text = (SOURCE / one["file"]).read_text()
            written = set(re.findall(r"\b(?:mov|rx|hash \S+) (m\.\S+)", text))
            for table, key in re.findall(r"^table (\S+) \{\n\s*key \{\n(.*?)\}", text, re.M | re.S):
                fields = set(re.findall(r"(m\.\S+) ", key))
                self.assertEqual(fields - written, set(), f"{one['name']}: {table}")


class Fates(unittest.TestCase):
    def test_programs_and_switch_mean_the_same(self):
        text = (P4 / "shared/fates.p4").read_text()
        fates = {int(n) for n in re.findall(r"FATE_\w+ = (\d+);", text)}
        header = SOURCE / "src/swx/reasons.h"
        known = {int(n) for n in re.findall(r"X\(\w+, (\d+),", header.read_text())}
        self.assertEqual(fates - known, set())


@unittest.skipUnless(shutil.which("p4c-dpdk"), "no compiler on the PATH")
class Again(unittest.TestCase):
    def test_compiles_to_the_same_bytes(self):
        done = subprocess.run([P4 / "compile", "--check"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
