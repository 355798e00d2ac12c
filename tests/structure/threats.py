#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each threat in docs/security.md names a test that there is: the last column of the tables that
end with "test" has names of ctest and of functions in these tests.

Usage: threats.py [ROOT]"""
import os
import re
import sys

PAGE = "docs/security.md"
HEADS = ("test", "tested by")


def rows_of(text):
    """(line number, last cell) of each row of such tables; (0, "") where there is no table"""
    wanted, found = False, False
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            wanted = False
        elif cells[-1] in HEADS:
            wanted = found = True
        elif wanted and not set(line) <= set("|- :"):
            yield number, cells[-1]
    if not found:
        yield 0, ""


def sources(root, ends):
    for folder, names, files in os.walk(os.path.join(root, "tests")):
        names[:] = [name for name in names if name != "corpus"]
        for name in files:
            if name.endswith(ends):
                with open(os.path.join(folder, name), encoding="utf-8") as at:
                    yield at.read()


def build_files(root):
    """each with the names of the files beside it, which it may make tests of"""
    for folder, _, files in os.walk(os.path.join(root, "tests")):
        if "CMakeLists.txt" in files:
            with open(os.path.join(folder, "CMakeLists.txt"), encoding="utf-8") as at:
                yield "\n".join([at.read(), *files])


def is_test(name, lists):
    """by its whole name, or made of a folder's prefix and a rest from a list or of files:
    "controller_${part}", "test_apps_\\\\1" """
    for text in lists:
        if re.search(rf"(?<![\w/]){re.escape(name)}(?!\w)", text):
            return True
        for at in (i for i, c in enumerate(name) if c == "_"):
            first, rest = name[:at + 1], name[at + 1:]
            if first + "${" in text and re.search(rf"(?<!\w){rest}(?!\w)", text):
                return True
            if first + r"\\1" in text and f"test_{rest}.c" in text:
                return True
    return False


def findings(root):
    with open(os.path.join(root, PAGE), encoding="utf-8") as at:
        rows = list(rows_of(at.read()))
    lists = list(build_files(root))
    functions = {name for text in sources(root, (".c", ".py"))
                 for name in re.findall(r"^ *(?:def|static void) (\w+)\(", text, re.M)}
    for number, cell in rows:
        names = re.findall(r"`([^`]+)`", cell)
        tests = [name for name in names if is_test(name, lists)]
        if not tests:
            yield f"{PAGE}:{number}: a threat without a test"
        yield from (f"{PAGE}:{number}: there is no test {name}" for name in names
                    if name not in tests and name not in functions)


def main(arguments):
    root = arguments[0] if arguments else os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                                       "../..")
    found = list(findings(root))
    print("\n".join(found) if found else "each threat has its test")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
