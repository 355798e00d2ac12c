#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that structure.py can fail: each case spoils a good little tree in one way and expects
that one finding."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import structure  # noqa: E402
import threats  # noqa: E402

LINE = "tests/structure/exceptions.txt"
SPDX = "/* SPDX-License-Identifier: Apache-2.0 */\n"
GOOD = {
    "src/base/error.h": SPDX + "#include <errno.h>\n#include <sys/types.h>\n",
    "src/base/error.c": SPDX + '#include "base/error.h"\n#include "error.h"\n',
    "src/base/README.md": "Errors. [the header](error.h), "
    "[elsewhere](https://www.rfc-editor.org/)\n",
    "src/tib/tib.h": SPDX
    + '#include "base/error.h"\n#include "topology/topology.h"\n#include <lmdb.h>\n',
    "src/tib/CMakeLists.txt": "pd_library(pd_tib SOURCES tib.c DEPENDS pd_codec)  # not pd_agent\n",
    "src/tib/README.md": "The store.\n",
    "topology/topology.h": SPDX + '#include "base/error.h"\n',
    "topology/README.md": "The model.\n",
    "tests/unit/base/corpus/x.c": "not a source\n",
    "docs/hacking.md": "\n".join(["```", *structure.storeys(), "```"]),
    "tools/demo": "#!/bin/bash\n# SPDX-License-Identifier: Apache-2.0\n",
    "build/junk.c": '#include "nothing/here.h"\n',
}
BAD = {
    "an include of a later stage": ("src/base/error.c", SPDX + '#include "tib/tib.h"\n',
                                    "base may not use tib"),
    "with blanks in it": ("topology/topology.h", SPDX + '  #  include "agent/rest.h"\n',
                          "topology may not use agent"),
    "a controller below the agent": ("src/agent/rest.c", SPDX + '#include "controller/tree.h"\n',
                                     "agent may not use controller"),
    "an agent below the controller": ("controller/tree.c", SPDX + '#include "agent/rest.h"\n',
                                      "controller may not use agent"),
    "a neighbour that is not declared": ("src/tib/x.c", SPDX + '#include "query/query.h"\n',
                                         "tib may not use query"),
    "one of its own storey": ("topology/x.c", SPDX + '#include "codec/codec.h"\n',
                              "topology may not use codec"),
    "a backend's own header": ("controller/x.c", SPDX + '#include "tib/lmdb/chunk.h"\n',
                               "is private to a backend of tib"),
    "a scheme's word elsewhere": ("src/base/error.c", SPDX + "int dscp;\n",
                                  "is for packet, the strippers and"),
    "storeys of yesterday": ("docs/hacking.md", "ground  src/base\n", "the storeys are not those"),
    "a library in base": ("src/base/error.c", SPDX + "#include <jansson.h>\n",
                          "<jansson.h> is not libc"),
    "a library's folder in trajectory": ("src/trajectory/t.c", SPDX + "#include <bpf/libbpf.h>\n",
                                         "is not libc"),
    "a header that the switch lacks": ("src/packet/p.c", SPDX + '#include "base/error.h"\n',
                                       "not among what tools/ovs builds"),
    "an include out of the tree": ("src/base/error.c", SPDX + '#include "../../tests/x.h"\n',
                                   "belongs to no stage"),
    "an include of nothing": ("src/base/error.c", SPDX + '#include "eror.h"\n', "does not exist"),
    "a link to a later stage": ("src/tib/CMakeLists.txt", "pd_library(pd_tib DEPENDS\n  "
                                "pd_agent)\n", "tib may not use agent: pd_agent"),
    "a library linked to base": ("src/base/CMakeLists.txt", "pd_library(pd_base DEPENDS "
                                 "PkgConfig::BPF)\n", "base links libc alone"),
    "no SPDX line in C": ("tests/unit/base/t.c", "int x;\n", "no SPDX line"),
    "no SPDX line in a script": ("tools/deps", "#!/bin/bash\nexit 0\n", "no SPDX line"),
    "a long file": ("tests/x.py", "# SPDX-License-Identifier: Apache-2.0\n" * 601, "601 lines"),
    "no README": ("src/query/plan.h", SPDX, "src/query: no README.md"),
    "a long README": ("src/base/README.md", "word\n" * 61, "more than one screen"),
    "a dead link": ("docs/a.md", "see [b](b.md#place)\n", "the link to b.md leads nowhere"),
    "a wide comment": ("src/base/error.c", SPDX + "/* " + 100 * "x" + " */\n",
                       "more than 100 columns"),
    "a wide statement": ("tests/a.py", "# SPDX-License-Identifier: Apache-2.0\nA = '" + 99 * "x"
                         + "'\n", "tests/a.py:2: more than 100 columns"),
    "a wide view": ("web/a.js", "const a = '" + 99 * "x" + "';\n", "web/a.js:1: more than 100"),
    "a wide list of sources": ("src/tib/CMakeLists.txt", "pd_library(" + 30 * "a.c " + ")\n",
                               "src/tib/CMakeLists.txt:1: more than 100 columns"),
    "a wide paragraph": ("docs/a.md", "word " * 21, "docs/a.md:1: more than 100 columns"),
    "a tag of another stage": ("src/tib/t.h", SPDX + "struct pd_x {\n};\nstruct pd_x {\n",
                               "the tag pd_x is there twice"),
    "a symbol of somebody else": ("src/codec/t.c", SPDX + "int pd_find(int a)\n{\n}\n",
                                  "src/codec: symbols begin with pd_codec"),
    "an error code by another name": ("src/base/error.c", SPDX + "    int rc = f();\n",
                                      "is not called err"),
    "a table in order": ("src/base/error.c", SPDX + "static const struct a b[] = {\n    {1},\n};\n",
                         "without designated"),
    "a torn member": ("src/base/error.c",
                      SPDX + "struct a {\n    const char *\n        name;\n};\n", "is torn in two"),
    "a kind by its name": ("src/base/error.c", SPDX + 'x = !strcmp(status.kind, "ovs");\n',
                           "known by its name"),
    "an array that grows by hand": ("src/base/error.c", SPDX + "    a = realloc(a, 2 * len);\n",
                                    "not by PD_GROW"),
    "another word for it": ("src/base/error.c", SPDX + 'fail("x: out of memory");\n',
                            'the wording is "no memory"'),
    "an exception of nobody": (LINE, "torn src/base/error.c 1\n", "is down to 0, no longer 1"),
    "an unknown stage": ("src/misc/README.md", "things\n", "src/misc: not a stage"),
}


def tree(at, contents):
    for name, text in contents.items():
        os.makedirs(os.path.dirname(os.path.join(at, name)), exist_ok=True)
        with open(os.path.join(at, name), "w", encoding="utf-8") as f:
            f.write(text)


class Structure(unittest.TestCase):
    def findings(self, *contents):
        with tempfile.TemporaryDirectory() as at:
            for more in contents:
                tree(at, more)
            return list(structure.findings(at))

    def test_good_tree(self):
        self.assertEqual(self.findings(GOOD), [])

    def test_each_rule_can_fail(self):
        for what, (name, text, wanted) in BAD.items():
            with self.subTest(what):
                found = self.findings(GOOD, {name: text})
                self.assertTrue(any(wanted in finding for finding in found),
                                f"{wanted!r} is not in {found}")

    def test_dependents(self):
        near, far = '#include "tib/tib.h"\n', '#include "query/x.h"\n'
        many = {f"src/query/{n}.c": SPDX + (far if n % 2 else near) for n in range(91)}
        many |= {"src/query/x.h": SPDX + near, "src/query/README.md": "Queries.\n"}
        self.assertEqual(self.findings(GOOD, many),
                         ["src/tib/tib.h: 91 objects depend on it, more than 90"])
        many.pop("src/query/90.c")
        self.assertEqual(self.findings(GOOD, many), [])

    def test_carriers(self):
        many = {f"src/codec/{n}.c": SPDX + "int vid;\n"
                for n in range(23)} | {"src/codec/README.md": "Codecs.\n"}
        self.assertEqual(self.findings(GOOD, many),
                         ["23 files name what carries link tags, more than 22"])
        many.pop("src/codec/22.c")
        self.assertEqual(self.findings(GOOD, many), [])

    def test_threats(self):
        page = "| who | test |\n|---|---|\n| all | {} |\n"
        good = {"docs/security.md": page.format("`front_door`, `test_inn` `no_key`"),
                "tests/CMakeLists.txt": "foreach(part door)\nadd_test(NAME front_${part})\n"
                "pd_unit_test(test_inn)\n", "tests/x.c": "static void no_key(void **state)\n"}
        cases = {"`front_door` `no_key`": [], "`test_inn`": [], "": ["a threat without a test"],
                 "`no_key`": ["a threat without a test"],
                 "`test_inn` `key`": ["there is no test key"],
                 "`front_yard`": ["a threat without a test", "there is no test front_yard"]}
        for cell, wanted in cases.items():
            with tempfile.TemporaryDirectory() as at:
                tree(at, {**good, "docs/security.md": page.format(cell)})
                self.assertEqual([f.split(": ")[1] for f in threats.findings(at)], wanted)
        with tempfile.TemporaryDirectory() as at:
            tree(at, {**good, "docs/security.md": "no table\n"})
            self.assertEqual(len(list(threats.findings(at))), 1)

    def test_exit_code(self):
        with tempfile.TemporaryDirectory() as at:
            tree(at, GOOD)
            self.assertEqual(structure.main([at]), 0)
            tree(at, {"src/base/x.c": "int x;\n"})
            self.assertEqual(structure.main([at]), 1)


if __name__ == "__main__":
    unittest.main()
