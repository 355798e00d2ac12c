#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the tree to its own rules: storeys of the stages, SPDX lines, READMEs, file lengths, links
in the documentation.

Usage: structure.py [ROOT]      prints one line for each finding; exit 1 if there is any
       structure.py --storeys   prints the storeys of the stages, for docs/hacking.md
"""
from hand import Hand, check_columns
import os
import re
import sys

# The storeys, as docs/hacking.md shows them. A stage may use all stages of the storeys before its
# own, and of its own those that stand behind it here.
STOREYS = {
    "ground": {"base": [], "packet": ["base"], "trajectory": ["base", "packet"],
               "meter": ["base"]},
    "network": {"json": [], "topology": [], "telemetry": ["topology"],
                "codec": ["json", "topology", "telemetry"]},
    "sources": {"kernel": [], "intake": ["kernel"], "monitor": ["kernel"], "probe": [],
                "trace": ["monitor"],
                "slow_path": [], "p4": ["probe"]},
    "resolve": {"resolve": []},
    "store": {"tib": []},
    "questions": {"query": [], "program": ["query"]},
    "verdicts": {"evidence": [], "localise": ["evidence"], "apps": ["evidence", "localise"],
                 "sim": ["evidence", "localise", "apps"]},
    "service": {"http": [], "daemon": ["http"], "fleet": ["http"]},
    "programs": {"agent": [], "cli": ["controller"], "controller": [], "swx": []},
}
PAGE = "docs/hacking.md"


def may_use():
    """{stage: all that it may use}"""
    below, of = set(), {}
    for storey in STOREYS.values():
        of |= {stage: below | {stage, *near} for stage, near in storey.items()}
        below = below | set(storey)
    return of


MAY_USE = may_use()
# What a stage's subfolders offer to others. Every other header of a subfolder is that backend's
# own.
OFFERED = {
    "codec/pint/encode.h", "codec/pint/flow.h", "codec/pint/formulas.h", "codec/pint/numbers.h",
    "codec/pint/plan.h", "codec/pint/planner.h",
    "codec/pint/tables.h", "codec/pint/trials.h", "codec/pint/values.h", "codec/tagging/mark.h",
    "codec/tagging/trace.h",
    "probe/plan/plan.h",
    "query/rows/cells.h", "query/rows/out.h", "query/rows/record.h", "query/rows/rows.h",
    "query/rows/text.h",
    "telemetry/int_report/int_report.h", "telemetry/ioam/ioam.h", "telemetry/sr_int/sr_int.h",
}
LIBC_ONLY = {"base", "packet", "trajectory"}        # they are compiled into other people's programs
# tools/ovs compiles them into the switch, with what it names of base
IN_SWITCH = ("packet", "trajectory")
FOLDER = {stage: stage if stage in ("topology", "controller") else f"src/{stage}"
          for stage in MAY_USE}

GENERATED = {"pd_version.h", "pd_extensions.h", "sim_sizes.h"}
LIBC = set("""aio alloca assert byteswap cpuid ctype dirent dlfcn elf endian errno err fcntl
features fenv float fnmatch ftw getopt glob grp ifaddrs inttypes iso646 langinfo libgen limits
link locale malloc math mqueue netdb paths poll pthread pty pwd regex resolv sched search
semaphore setjmp signal spawn stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib
stdnoreturn string strings syscall sysexits syslog termios threads time uchar ucontext unistd
utime utmp wchar wctype wordexp cpuid immintrin nmmintrin smmintrin x86intrin emmintrin
tmmintrin arm_acle arm_neon""".split())
LIBC_FOLDERS = {"sys", "arpa", "net", "netinet", "netpacket", "linux", "asm", "asm-generic", "bits"}

# A change of these headers builds at most so many objects anew: .c files that include it, directly
# or indirectly.
DEPENDENTS_MAX = {"src/tib/tib.h": 90}

# What carries the marks of link tags is known where packets are read and stripped, in the schemes,
# and to who writes rows; beside that where people or a store name these parts. So many files at the
# most.
CARRIER = re.compile(r"\b(vid|dscp|tags_len)\b")
CARRIER_PLACES = ("src/packet/", "src/trajectory/", "src/codec/", "src/intake/",
                  "controller/switches/",
                  "src/cli/codec", "src/cli/pint", "src/cli/telemetry", "src/tib/")
CARRIER_FILES_MAX = 22

MAX_LINES, MAX_README_LINES = 600, 60
SKIP = {"build", ".git", "__pycache__", "corpus"}
CODE = (".c", ".h", ".py", ".sh")
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')


def files(root):
    """paths of all files below root, relative to it, in a fixed order"""
    for at, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in SKIP)
        for name in sorted(names):
            yield os.path.relpath(os.path.join(at, name), root)


def read(root, name):
    with open(os.path.join(root, name), encoding="utf-8", errors="replace") as f:
        return f.read().splitlines()


def stage_of(name):
    for stage, folder in FOLDER.items():
        if name.startswith(folder + "/"):
            return stage
    return None


def is_libc(header):
    folder, _, rest = header.rpartition("/")
    return folder.split("/")[0] in LIBC_FOLDERS if folder else header.removesuffix(".h") in LIBC


def wrong_use(stage, other, header):
    if other not in MAY_USE[stage]:
        return f"{stage} may not use {other}: \"{header}\""
    if other != stage and header.count("/") > 1 and header not in OFFERED:
        return f"\"{header}\" is private to a backend of {other}"
    return None


def include_finding(root, name, kind, header):
    """why this file may not have this include, or None"""
    stage, first = stage_of(name), header.split("/")[0]
    if kind == "<":
        return f"<{header}> is not libc" if stage in LIBC_ONLY and not is_libc(header) else None
    if header in GENERATED:
        return None
    if first in MAY_USE and "/" in header:
        return wrong_use(stage, first, header)
    near = os.path.normpath(os.path.join(os.path.dirname(name), header))
    if stage_of(near) != stage:
        return f"\"{header}\" belongs to no stage"
    return None if os.path.exists(os.path.join(root, near)) else f"\"{header}\" does not exist"


def check_includes(root, name, lines):
    if stage_of(name) is None or not name.endswith((".c", ".h")):
        return
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        finding = match and include_finding(root, name, *match.groups())
        if finding:
            yield f"{name}:{number}: {finding}"


def included(root, name, lines):
    """files of the tree that this one includes"""
    for line in lines:
        match = INCLUDE.match(line)
        if not match or match[1] == "<":
            continue
        near = os.path.normpath(os.path.join(os.path.dirname(name), match[2]))
        yield from (at for at in (f"src/{match[2]}", match[2], near)
                    if os.path.exists(os.path.join(root, at)))


def check_dependents(includes):
    """includes: of each file of the stages those that it includes"""
    for header, most in DEPENDENTS_MAX.items():
        known, new = set(), {header}
        while new:
            known |= new
            new = {name for name, others in includes.items() if name not in known
                   and not new.isdisjoint(others)}
        count = sum(name.endswith(".c") for name in known)
        if count > most:
            yield f"{header}: {count} objects depend on it, more than {most}"


def check_carriers(names):
    """names: the files of the stages that have a word for what carries link tags"""
    for name in names:
        if not name.startswith(CARRIER_PLACES):
            yield (f"{name}: what carries a mark is for packet, the strippers and the scheme's "
                   f"folder to know")
    if len(names) > CARRIER_FILES_MAX:
        yield f"{len(names)} files name what carries link tags, more than {CARRIER_FILES_MAX}"


def check_switch(root, name, lines):
    """what the switch's part includes of base goes along with it: only a build of the switch from
    nothing would tell"""
    if stage_of(name) not in IN_SWITCH or not name.endswith((".c", ".h")):
        return
    build = os.path.join(root, "tools/ovs")
    shared = "\n".join(read(root, "tools/ovs")) if os.path.exists(build) else ""
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if match and match[2].startswith("base/") and f"src/{match[2]}" not in shared:
            yield f"{name}:{number}: {match[2]} is not among what tools/ovs builds into the switch"


def check_link_order(name, lines):
    """the libraries that a stage's CMakeLists.txt names follow the same order"""
    stage = stage_of(name)
    if stage is None or os.path.basename(name) != "CMakeLists.txt":
        return
    for number, line in enumerate(lines, 1):
        for other in re.findall(r"\bpd_(\w+)\b", line.split("#")[0]):
            if other in MAY_USE and other not in MAY_USE[stage]:
                yield f"{name}:{number}: {stage} may not use {other}: pd_{other}"
        if stage in LIBC_ONLY and "PkgConfig::" in line.split("#")[0]:
            yield f"{name}:{number}: {stage} links libc alone"


def is_script(name, lines):
    return "." not in os.path.basename(name) and bool(lines) and lines[0].startswith("#!")


def check_source(name, lines):
    if not name.endswith(CODE) and not is_script(name, lines):
        return
    if not any("SPDX-License-Identifier: Apache-2.0" in line for line in lines[:2]):
        yield f"{name}:1: no SPDX line"
    if len(lines) > MAX_LINES:
        yield f"{name}: {len(lines)} lines, more than {MAX_LINES}"


def check_markdown(root, name, lines):
    """relative links lead somewhere"""
    if not name.endswith(".md"):
        return
    for number, line in enumerate(lines, 1):
        for target in re.findall(r"\]\(([^)\s#]+)[^)]*\)", line):
            near = os.path.join(root, os.path.dirname(name), target)
            if "://" not in target and not target.startswith("mailto:") and not os.path.exists(
                near):
                yield f"{name}:{number}: the link to {target} leads nowhere"


def storeys():
    """the storeys as text, a line each; behind a stage what it may use of its own storey"""
    for storey, stages in STOREYS.items():
        words = [f"{FOLDER[stage]} ({', '.join(near)})" if near else FOLDER[stage]
                 for stage, near in stages.items()]
        yield f"{storey:<12}{'  '.join(words)}"


def check_page(name, lines):
    if name == PAGE and "\n".join(storeys()) not in "\n".join(lines):
        yield f"{PAGE}: the storeys are not those that structure.py --storeys prints"


def check_folders(root):
    for stage, folder in FOLDER.items():
        at = os.path.join(root, folder)
        if not os.path.isdir(at) or not os.listdir(at):
            continue
        if not os.path.exists(os.path.join(at, "README.md")):
            yield f"{folder}: no README.md"
        elif len(read(at, "README.md")) > MAX_README_LINES:
            yield f"{folder}/README.md: more than one screen ({MAX_README_LINES} lines)"
    at = os.path.join(root, "src")
    for name in sorted(os.listdir(at)) if os.path.isdir(at) else []:
        if os.path.isdir(os.path.join(at, name)) and f"src/{name}" not in FOLDER.values():
            yield f"src/{name}: not a stage; put it into a storey in tests/structure/structure.py"


def findings(root):
    hand, includes, carriers = Hand(root), {}, []
    yield from check_folders(root)
    for name in files(root):
        if os.path.islink(os.path.join(root, name)):
            continue
        lines = read(root, name)
        yield from check_includes(root, name, lines)
        yield from check_switch(root, name, lines)
        yield from check_link_order(name, lines)
        yield from check_source(name, lines)
        yield from check_markdown(root, name, lines)
        yield from check_columns(name, lines)
        yield from check_page(name, lines)
        if stage_of(name) and name.endswith((".c", ".h")):
            hand.take(name, "\n".join(lines) + "\n")
            includes[name] = set(included(root, name, lines))
            carriers += [name] if CARRIER.search("\n".join(lines)) else []
    yield from check_dependents(includes)
    yield from check_carriers(carriers)
    yield from hand.findings()


def main(arguments):
    if arguments == ["--storeys"]:
        print("\n".join(storeys()))
        return 0
    root = arguments[0] if arguments else os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                                       "../..")
    found = list(findings(os.path.abspath(root)))
    print("\n".join(found) if found else "the tree keeps its rules")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
