# SPDX-License-Identifier: Apache-2.0
"""Running the command, and what its tests share."""
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import unittest

BIN = os.environ.get("PD_BIN") or os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                               "../../../build/release/bin")
SOURCE = os.environ.get("PD_SOURCE") or os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                                     "../../..")

SEED = int(os.environ.get("PD_SEED", time.time()))
FLOW_ID = ("src_ip", "dst_ip", "src_port", "dst_port", "protocol")


def pathdump(*words, timeout=60, **environment):
    """(exit code, stdout, stderr)"""
    done = subprocess.run([os.path.join(BIN, "pathdump"), *map(str, words)], capture_output=True,
                          text=True, timeout=timeout,
                          check=False, stdin=subprocess.DEVNULL,
                          env={**os.environ, "LC_ALL": "C.UTF-8", **environment})
    return done.returncode, done.stdout, done.stderr


class CommandTest(unittest.TestCase):
    """a test with a folder of its own"""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="pathdump-cli-")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def ok(self, *words, code=0, **options):
        """stdout of a command that ends with this code"""
        got, out, err = pathdump(*words, **options)
        self.assertEqual(got, code, f"{words}: {err}")
        return out

    def json(self, *words, code=0):
        return json.loads(self.ok(*words, "--json", code=code))

    def fails(self, code, naming, *words, **options):
        """a command that fails says why in one line, and on a slip of usage where to look"""
        got, out, err = pathdump(*words, **options)
        self.assertEqual(got, code, f"{words}: {out} {err}")
        self.assertIn(naming, err)
        self.assertEqual(len(err.splitlines()), 2 if code == 2 else 1, err)
        self.assertTrue(err.startswith("pathdump"), err)
        return out

    def topology(self, k=4):
        name = self.path(f"fat-tree-{k}.json")
        if not os.path.exists(name):
            with open(name, "w", encoding="utf-8") as f:
                f.write(self.ok("topology", "fat-tree", "--k", k))
        return name


def main():
    print(f"PD_SEED={SEED}", file=sys.stderr)
    random.seed(SEED)
    unittest.main(verbosity=2)
