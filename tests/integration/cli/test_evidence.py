#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`pathdump localise --evidence` with many lines: read as they come, in memory that does not grow.

Usage: test_evidence.py [LINES]      100,000 if not told; PD_BIN names the folder of the programs
"""
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.join(os.environ["PD_BIN"], "pathdump")
LINES = int(sys.argv.pop()) if len(sys.argv) > 1 and sys.argv[-1].isdigit() else 100_000
MEMORY_KB_MAX = 64 << 10        # resident; a tenth of what 10^7 lines take on the disk
LOCALISERS = "evidence", "votes", "max-coverage", "binary"
FAULTY = 9, 17
with open(PROGRAM, "rb") as binary:
    SANITIZED = b"__asan_init" in binary.read()


def path(rng):
    """of the fat-tree of 4, from a pod to another"""
    pod, group = rng.randrange(4), rng.randrange(2)
    other = (pod + 1 + rng.randrange(3)) % 4
    return [1 + 2 * pod + rng.randrange(2), 9 + 2 * pod + group, 17 + 2 * group + rng.randrange(2),
            9 + 2 * other + group, 1 + 2 * other + rng.randrange(2)]


def line(rng, i):
    """every second line a flow, the others packets of a path"""
    way = path(rng)
    lost = 2 if tuple(way[1:3]) == FAULTY else 0
    if i % 2:
        return f'{{"path":{way},"pkts":100,"lost":{lost}}}\n'
    flow = (f'{{"src_ip":"10.{i >> 22 & 255}.{i >> 14 & 255}.2","dst_ip":"10.1.0.2",'
            f'"src_port":{i & 16383},"dst_port":80,"protocol":6}}')
    return (f'{{"flow_id":{flow},"retransmissions":{lost},"pkts":57,'
            f'"paths":[{{"path":{way},"pkts":57}}]}}\n')


class Evidence(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="pathdump-evidence-")
        cls.addClassCleanup(folder.cleanup)
        cls.topology = os.path.join(folder.name, "t.json")
        with open(cls.topology, "wb") as out:
            subprocess.run([PROGRAM, "topology", "fat-tree", "--k", "4"], stdout=out, check=True)

    def localise(self, localiser, lines):
        """(exit code, stdout, stderr, resident memory in KB)"""
        command = [PROGRAM, "localise", "--topology", self.topology, "--evidence", "-",
                   "--localiser", localiser, "--json"]
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=out, stderr=err,
                                  text=True) as child:
                try:
                    child.stdin.writelines(lines)
                    child.stdin.close()
                except BrokenPipeError:
                    pass
                _, status, usage = os.wait4(child.pid, 0)
                child.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            err.seek(0)
            return child.returncode, out.read(), err.read(), usage.ru_maxrss

    def replay(self, lines):
        """(exit code, lines of stdout, stderr) of a replay period by period"""
        done = subprocess.run([PROGRAM, "localise", "--topology", self.topology, "--evidence", "-",
                               "--each-period", "--json"], input="".join(lines),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        return done.returncode, [json.loads(text) for text in done.stdout.splitlines()], done.stderr

    def test_each_period(self):
        """a verdict for each time of the file; what has not come yet is not in it"""
        rng, lines = random.Random(2), []
        for period in range(1, 31):
            for i in range(200):
                lost = FAULTY if period > 10 else (0, 0)
                row = json.loads(line(rng, i))
                if lost != FAULTY:
                    row.update({name: 0 for name in ("lost", "retransmissions") if name in row})
                lines.append(json.dumps(dict(row, t_s=period / 5)) + "\n")
        code, verdicts, err = self.replay(lines)
        self.assertEqual((code, err), (0, ""))
        self.assertEqual([round(v["t_s"] * 5) for v in verdicts], list(range(1, 31)))
        self.assertFalse(any(v["links"] for v in verdicts[:10]))
        self.assertEqual(verdicts[-1]["links"], ["9-17"])

    def test_each_period_wants_rising_times(self):
        rng = random.Random(3)
        rows = [json.loads(line(rng, i)) for i in range(2)]
        for times in ((2, 1), (None, None)):
            lines = [json.dumps(dict(row, t_s=t) if t else row) + "\n"
                     for row, t in zip(rows, times)]
            code, _, err = self.replay(lines)
            self.assertNotEqual(code, 0)
            self.assertIn("rising times", err)

    def test_many_lines(self):
        for localiser in LOCALISERS[:1] if LINES > 1_000_000 else LOCALISERS:
            with self.subTest(localiser):
                rng = random.Random(1)
                code, out, err, memory_kb = self.localise(
                    localiser, (line(rng, i) for i in range(LINES)))
                self.assertEqual((code, err), (0, ""))
                answer = json.loads(out)
                self.assertEqual(answer["flows"]["seen"], LINES // 2)
                self.assertEqual(answer["paths"]["seen"], LINES // 2)
                self.assertEqual(answer["links"], ["{}-{}".format(*FAULTY)])
                if not SANITIZED:           # freed memory is kept there
                    self.assertLess(memory_kb, MEMORY_KB_MAX)

    def test_several_at_one_file(self):
        """all localisers read one file at once, and each says what it says alone; it is left as it
        was"""
        rng = random.Random(3)
        name = os.path.join(os.path.dirname(self.topology), "shared.ndjson")
        with open(name, "w", encoding="utf-8") as out:
            out.writelines(line(rng, i) for i in range(2000))
        with open(name, "rb") as file:
            before = file.read()
        commands = [[PROGRAM, "localise", "--topology", self.topology, "--evidence", name,
                     "--localiser", localiser, "--json"] for localiser in LOCALISERS]
        alone = [subprocess.run(one, check=True, capture_output=True).stdout for one in commands]
        running = [subprocess.Popen(one, stdout=subprocess.PIPE) for one in 2 * commands]
        for process, wanted in zip(running, 2 * alone):
            said = process.communicate()[0]
            self.assertEqual(process.returncode, 0)
            self.assertEqual(*({**json.loads(text), "took_ms": 0} for text in (said, wanted)))
        with open(name, "rb") as file:
            self.assertEqual(file.read(), before)

    def test_the_last_line_is_bad(self):
        def lines():
            rng = random.Random(2)
            yield from (line(rng, i) for i in range(LINES))
            yield '{"path":[1,9],"pkts":1,"lost":2}\n'

        code, out, err, _ = self.localise("evidence", lines())
        self.assertEqual((code, out), (1, ""))
        self.assertIn(f":{LINES + 1}: ", err)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    unittest.main(verbosity=2)
