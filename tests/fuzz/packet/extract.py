#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what lib/trajectory.c of the patched switch does with packets into a file that a test can include.

    extract.py PATCH FILE
"""
import re
import sys

ADDED = "+++ b/lib/trajectory.c\n"
CONSTANT = re.compile(r"#define [A-Z_]+ \d")
FIRST, BEHIND = "/* Packets. */\n", "take_settings("


def main(patch, target):
    with open(patch, encoding="utf-8") as file:
        lines = file.readlines()
    lines = [line[1:] for line in lines[lines.index(ADDED) + 1:] if line.startswith("+")]
    first = lines.index(FIRST)
    behind = next(i for i in range(first, len(lines)) if lines[i].startswith(BEHIND)) - 1      # without its return type
    with open(target, "w", encoding="utf-8") as out:
        out.writelines(line for line in lines[:first] if CONSTANT.match(line))
        out.writelines(lines[first:behind])


if __name__ == "__main__":
    main(*sys.argv[1:])
