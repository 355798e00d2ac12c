#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what lib/trajectory.c of the patched switch does with packets into a file that a test can
include.

    extract.py FILE PATCH …
"""
import re
import sys

SOURCE = "+++ b/lib/trajectory.c\n"
HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
CONSTANT = re.compile(r"#define [A-Z_]+ \d")
FIRST, BEHIND = "/* Packets. */\n", "take_settings("


def number(text):
    return 1 if text is None else int(text)


def apply(patch, source):
    """what the patch makes of the lines of SOURCE"""
    with open(patch, encoding="utf-8") as file:
        lines = file.readlines()
    at = lines.index(SOURCE) + 1 if SOURCE in lines else len(lines)
    while at < len(lines) and (hunk := HUNK.match(lines[at])):
        old, new, left, body = [], [], [number(hunk[1]), number(hunk[3])], iter(lines[at + 1:])
        at += 1
        while any(left):
            line = next(body)
            at += 1
            for side, other, i in ((old, "+", 0), (new, "-", 1)):
                if line[0] != other:
                    side.append(line[1:])
                    left[i] -= 1
        start = max(int(hunk[2]) - 1, 0)
        assert source[start:start + len(old)] == old, f"{patch}: does not fit"
        source[start:start + len(old)] = new
    return source


def main(target, *patches):
    lines = []
    for patch in sorted(patches):
        lines = apply(patch, lines)
    first = lines.index(FIRST)
    # without its return type
    behind = next(i for i in range(first, len(lines)) if lines[i].startswith(BEHIND)) - 1
    with open(target, "w", encoding="utf-8") as out:
        out.writelines(line for line in lines[:first] if CONSTANT.match(line))
        out.writelines(lines[first:behind])


if __name__ == "__main__":
    main(*sys.argv[1:])
