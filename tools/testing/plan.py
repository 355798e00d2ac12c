#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tools/test runs, in which order, and what may run beside what.

Called by tools/test, which says how. Beds, kills and timeouts wait; compilers compute: so the tests
of the programs as a whole have a lane to themselves, beside builds, analysis and fuzzing.
"""
import argparse
import json
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from steps import COMPUTES, JOBS, ROOT, WAITS, Run, Step, Tests  # noqa: E402

CHECKS = "tools/testing/checks"
FUZZ_S = 7
# Tests of the programs mostly wait. A test bed counts for two (PROCESSORS in its CMakeLists.txt).
WAITING = 2 * JOBS
PARTS = ("all", "quick", "sources", "release", "asan", "tsan", "analysis", "fuzz", "deep", "faults",
         "browser")


def build(preset):
    return Step(f"build-{preset}", [CHECKS, "build", preset])


def check(name, *words, needs=()):
    return Step(name, [CHECKS, *(words or [name])], needs=needs)


def units(preset, *options, needs=()):
    return Tests(f"tests-{preset}", preset, options, needs=needs)


def programs(name, preset, *options, after=()):
    """tests of the programs as a whole"""
    return Tests(name, preset, ["-L", "integration", *options], WAITS, WAITING, after=after)


# ---- parts ----

def sources(_):
    return [check("format"), check("shellcheck"), check("python"),
            Step("vendor", ["tools/vendor"])]


def quick(options):
    """without what waits long, needs a bed or another switch, or builds the product once more"""
    fast = programs("integration-release", "release", "-LE", "slow|bed|patched|rebuild")
    return [build("release"), units("release", "-LE", "integration"), fast, *sources(options)]


def release(_):
    """the switch and FerretDB are built while other tests run; tests that lack them are skipped"""
    return [
        build("release"), units("release", "-LE", "integration"),
        programs("integration-release", "release", "-LE", "patched|mongodb"),
        Step("build-ovs", ["tools/ovs", "build"]),
        programs("integration-ovs", "release", "-L", "patched", after=["build-ovs"]),
        Tests("build-ferretdb", "release", ["-R", "^mongodb_build$"]),
        programs("integration-mongodb", "release", "-L", "mongodb", "-E", "^mongodb_build$",
                 "-FA", "mongodb_servers", after=["build-ferretdb"]),
    ]


def asan(_):
    return [build("asan"), units("asan", "-LE", "integration|structure"),
            programs("integration-asan", "asan", "-LE", "slow", after=["build-ovs"])]


def tsan(_):
    return [build("tsan"), units("tsan", "-L", "threads")]


def analysis(_):
    return [build("clang"), units("clang", "-L", "unit"),
            check("clang-tidy", "tidy", "--checks=-clang-analyzer-*", needs=["build-clang"]),
            check("cppcheck", needs=["build-clang"])]


def deep(_):
    return [build("clang"), check("clang-analyzer", "tidy", needs=["build-clang"])]


def fuzz(options):
    seconds = options.seconds or FUZZ_S
    return [build("fuzz"), Tests("fuzz-corpora", "fuzz", []),
            check(f"fuzz-{seconds}-seconds", "fuzz", str(seconds), needs=["build-fuzz"])]


def faults(_):
    at = "build/release/bin/tests"
    runs = {"tib-500-writers-killed": ["test_tib_kill", "--rounds", "500"],
            "tib-1000-flips-and-cuts": ["test_tib_damage", "1000"],
            "tib-full": ["test_tib_full"], "tib-clock-and-upkeep": ["test_tib_parts"],
            "tib-two-writers": ["test_tib_processes"],
            "tib-24M-converted": ["test_tib_convert_large", "24000000", "20"]}
    steps = {name: [f"{at}/{program}", *words] for name, (program, *words) in runs.items()}
    steps["evidence-10M-lines"] = ["env", "PD_BIN=build/release/bin", "python3",
                                   "tests/integration/cli/test_evidence.py", "10000000"]
    return [build("release"), *(Step(name, command, needs=["build-release"])
                                for name, command in steps.items())]


def browser(_):
    """the page of the map in Chromium, alone"""
    return [build("release"), Tests("browser", "release", ["-L", "browser"], WAITS, WAITING)]


def everything(options):
    """the longest waits begin first; what nothing waits for comes last"""
    parts = (release, asan, analysis, tsan, fuzz, sources)
    return [step for part in parts for step in part(options)]


# ---- names ----

def tests_of(preset):
    """[(name, folder below tests/)] of all tests that ctest knows"""
    words = ["ctest", "--test-dir", f"build/{preset}", "--show-only=json-v1"]
    shown = json.loads(subprocess.run(words, cwd=ROOT, capture_output=True, check=True).stdout)
    graph = shown["backtraceGraph"]
    return [(test["name"], folder_of(graph, test["backtrace"])) for test in shown["tests"]]


def folder_of(graph, at):
    """the folder of the CMakeLists.txt that has made a test"""
    while at is not None:
        file = graph["files"][graph["nodes"][at]["file"]]
        below = os.path.relpath(os.path.join(ROOT, file), os.path.join(ROOT, "tests"))
        if not below.startswith(".."):
            return os.path.dirname(below)
        at = graph["nodes"][at].get("parent")
    return ""


def is_of(test, folder, name):
    """whether a test belongs to a name: it is called so, or lies in a folder of that name"""
    below = folder.partition("/")[2]
    return name.replace("/", "_") in test or name in (folder, below) or below.startswith(name + "/")


def select(tests, name):
    """names of tests; a folder without tests of its own has those of the one above"""
    while name:
        found = {test for test, folder in tests if is_of(test, folder, name)}
        if found:
            return found
        name = name.rpartition("/")[0]
    return set()


def named(options):
    """tests of what was named, of the release build, which is made first"""
    first = Run([build("release")])
    if first.all(last=False):
        sys.exit(1)
    tests, wanted = tests_of("release"), set()
    for name in options.names:
        found = select(tests, re.sub("^(src|tests|tools)/", "", name.strip("/")))
        if not found:
            print(f"tools/test: no test belongs to {name}", file=sys.stderr)
            sys.exit(2)
        wanted |= found
    pattern = "^(" + "|".join(map(re.escape, sorted(wanted))) + ")$"
    return [Tests("tests-named", "release", ["-R", pattern], WAITS, JOBS)]


PLANS = {"all": everything, "quick": quick, "sources": sources, "release": release, "asan": asan,
         "tsan": tsan, "analysis": analysis, "fuzz": fuzz, "deep": deep, "faults": faults,
         "browser": browser}


def arguments():
    parser = argparse.ArgumentParser(prog="tools/test", description="Runs tests; see tools/test.")
    parser.add_argument("names", nargs="*", default=["all"], metavar="PART|NAME",
                        help=f"{', '.join(PARTS)}, or what to test: agent, tib/lmdb, …")
    parser.add_argument("--within", type=int, metavar="MINUTES",
                        help="what has not ended by then has failed")
    options = parser.parse_args()
    options.seconds = None
    if options.names[0] == "fuzz" and len(options.names) == 2 and options.names[1].isdigit():
        options.seconds = int(options.names.pop())
    return options


def wanted(options):
    if any(name not in PLANS for name in options.names):
        return named(options)
    return [step for name in options.names for step in PLANS[name](options)]


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    options = arguments()
    steps = {}
    for step in wanted(options):
        steps.setdefault(step.name, step)
    return Run(steps.values(), options.within and 60 * options.within).all()


if __name__ == "__main__":
    sys.exit(main())
