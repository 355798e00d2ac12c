# SPDX-License-Identifier: Apache-2.0
"""The runner itself: a mistake in a scenario is named with its place, and an answer that is not as
expected is a finding."""
import unittest
from unittest import mock

import run
from grammar import ScenarioError, parse

NEWLINE = "\n"
GOOD = """topology fat-tree --k 4
at 0 udp 10.1.1.2:1 > 10.2.1.2:2 via 1,9,17,11,3 payload 72 x2 every 0.5
at 1 udp 10.1.1.2:1 > 10.2.1.2:2 tags 1000 payload 72
expect getFlows
    udp 10.1.1.2:1 > 10.2.1.2:2 via 1,9,17,11,3 2 pkts 200 bytes 0..0.5
    udp 10.1.1.2:1 > 10.2.1.2:2 tags 1000 1 pkts 100 bytes 1..1
expect getPaths
    via 1,9,17,11,3
    tags 1000
expect getCount --link 9-17
    2 pkts 200 bytes
expect getDuration
    0..1
expect getFlows --link 17-9
expect alarms
    INFEASIBLE_PATH udp 10.1.1.2:1 > 10.2.1.2:2 tags 1000 times 1
expect status
    decoder.infeasible 1
"""

# what is replaced, by what, and how often it is found: by both runs, or by the one that has an
# agent
WRONG = [
    ("via 1,9,17,11,3 2 pkts", "via 1,9,18,11,3 2 pkts", 2),
    ("2 pkts 200 bytes 0", "3 pkts 200 bytes 0", 2),
    ("200 bytes 0..", "201 bytes 0..", 2),
    ("0..0.5", "0..0.500001", 2),
    ("tags 1000 1 pkts", "tags 1001 1 pkts", 2),
    ("    via 1,9,17,11,3\n", "", 2),
    ("    tags 1000\n", "    tags 1000\n    tags 999\n", 2),
    ("    2 pkts 200 bytes\n", "    2 pkts 199 bytes\n", 2),
    ("    0..1\n", "    0..2\n", 2),
    ("17-9\n", "17-9\n    udp 10.1.1.2:1 > 10.2.1.2:2 via 1 1 pkts 1 bytes 0..0\n", 2),
    ("times 1", "times 2", 1),
    ("expect alarms\n    INFEASIBLE_PATH udp 10.1.1.2:1 > 10.2.1.2:2 tags 1000 times 1\n", "", 1),
    ("infeasible 1", "infeasible 0", 1),
]

# a line, and what is said about it
MISTAKES = [
    ("ta 0 udp", "expected topology, set, at, then or expect"),
    ("at x udp 10.1.1.2:1 > 10.2.1.2:2 tags 1", "expected seconds"),
    ("at 0.0000001 udp 10.1.1.2:1 > 10.2.1.2:2 tags 1", "at most 6 decimals"),
    ("at 0 udq 10.1.1.2:1 > 10.2.1.2:2 tags 1", "expected a number"),
    ("at 0 udp 10.1.1:1 > 10.2.1.2:2 tags 1", "10.1.1"),
    ("at 0 udp 10.1.1.2:65536 > 10.2.1.2:2 tags 1", "65535"),
    ("at 0 icmp 10.1.1.2:1 > 10.2.1.2 tags 1", "only tcp and udp have ports"),
    ("at 0 udp 10.1.1.2:1 - 10.2.1.2:2 tags 1", "expected `>`"),
    ("at 0 udp 10.1.1.2:1 > 10.2.1.2:2", "either `via` or `tags`"),
    ("at 0 udp 10.1.1.2:1 > 10.2.1.2:2 via 1 tags 1", "either `via` or `tags`"),
    ("at 0 udp 10.1.1.2:1 > 10.2.1.2:2 tags 4096", "4095"),
    ("at 0 udp 10.1.1.2:1 > 10.2.1.2:2 tags 1 flags SYN", "TCP"),
    ("at 0 udp 10.1.1.2:1 > 10.2.1.2:2 tags 1 x5", "expected `every`"),
    ("at 0 udp 10.1.1.2:1 > 10.2.1.2:2 tags 1 fragment 7", "multiple of 8"),
    ("at 0 udp 10.1.1.2:1 > 10.2.1.2:2 tags 1 outer 9100", "8100 or 88a8"),
    ("at 0 udp 10.1.1.2:1 > 10.2.1.2:2 tags 1 size 5", "`size`"),
    ("set idle-ms", "expected a value"),
    ("then 5", "one word too many"),
    ("expect getFlow", "expected one of"),
    ("    decoder.infeasible", "expected a value"),
    ("    decoder.infeasible 1 2", "one word too many"),
]


class RunnerTest(unittest.TestCase):
    def test_good(self):
        self.assertEqual(run.run_text("good", GOOD), [])

    def test_wrong_expectations_are_found(self):
        for old, new, times in WRONG:
            with self.subTest(new=new):
                self.assertEqual(GOOD.count(old), 1)
                self.assertEqual(len(run.run_text("wrong", GOOD.replace(old, new))), times)

    def test_packet_too_few_is_found(self):
        send = run.Sender.run

        def lose_one(sender):
            send(sender).frames.pop(0)
            return sender

        with mock.patch.object(run.Sender, "run", lose_one):
            findings = run.run_text("lost", GOOD)
        self.assertEqual(sum("sent (3, 300) packets and bytes, stored (2, 200)" in finding
                             for finding in findings), 2)

    def test_mistakes_have_a_place(self):
        for line, text in MISTAKES:
            with self.subTest(line=line):
                with self.assertRaises(ScenarioError) as caught:
                    parse("some.scenario", GOOD + line + "\n")
                self.assertTrue(
                    str(caught.exception).startswith(f"some.scenario:{GOOD.count(NEWLINE) + 1}: "))
                self.assertIn(text, str(caught.exception))

    def test_row_without_expect(self):
        with self.assertRaisesRegex(ScenarioError, "^a:1: .*belongs below"):
            parse("a", "    1,9\n")

    def test_query_that_is_none(self):
        with self.assertRaisesRegex(ScenarioError, "^a:10: .*--link"):
            run.run_text("a", GOOD.replace("getCount --link 9-17", "getCount --link 9"))

    def test_path_that_is_none(self):
        with self.assertRaisesRegex(ScenarioError, "^a:2: .*no link joins 17 and 12"):
            run.run_text("a", GOOD.replace("via 1,9,17,11,3 payload", "via 1,9,17,12,3 payload"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
