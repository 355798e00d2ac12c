#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the tree to its own rules: order of the stages, SPDX lines, READMEs, file lengths, links in the documentation.

Usage: structure.py [ROOT]      prints one line for each finding; exit 1 if there is any
"""
from hand import Hand, check_columns
import os
import re
import sys

CHAIN = ["base", "packet", "trajectory", "topology", "telemetry", "codec", "probe", "trace", "intake", "resolve", "tib", "query", "evidence", "localise", "apps", "sim", "program", "http", "daemon", "fleet", "monitor", "agent", "cli"]
MAY_USE = {stage: set(CHAIN[:n + 1]) for n, stage in enumerate(CHAIN)}
MAY_USE["controller"] = MAY_USE["fleet"] | {"controller"}
LIBC_ONLY = {"base", "packet", "trajectory"}        # they are compiled into other people's programs
IN_SWITCH = ("packet", "trajectory")                # tools/ovs compiles them into the switch, with what it names of base
FOLDER = {stage: stage if stage in ("topology", "controller") else f"src/{stage}" for stage in MAY_USE}

GENERATED = {"pd_version.h", "pd_extensions.h", "sim_sizes.h"}
LIBC = set("""aio alloca assert byteswap cpuid ctype dirent dlfcn elf endian errno err fcntl features fenv float fnmatch
ftw getopt glob grp ifaddrs inttypes iso646 langinfo libgen limits link locale malloc math mqueue netdb paths poll pthread
pty pwd regex resolv sched search semaphore setjmp signal spawn stdalign stdarg stdatomic stdbool stddef stdint stdio
stdlib stdnoreturn string strings syscall sysexits syslog termios threads time uchar ucontext unistd utime utmp wchar
wctype wordexp cpuid immintrin nmmintrin smmintrin x86intrin emmintrin tmmintrin arm_acle arm_neon""".split())
LIBC_FOLDERS = {"sys", "arpa", "net", "netinet", "netpacket", "linux", "asm", "asm-generic", "bits"}

MAX_LINES, MAX_README_LINES = 640, 60
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


def include_finding(root, name, kind, header):
    """why this file may not have this include, or None"""
    stage, first = stage_of(name), header.split("/")[0]
    if kind == "<":
        return f"<{header}> is not libc" if stage in LIBC_ONLY and not is_libc(header) else None
    if header in GENERATED:
        return None
    if first in MAY_USE and "/" in header:
        return None if first in MAY_USE[stage] else f"{stage} comes before {first} and cannot include \"{header}\""
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


def check_switch(root, name, lines):
    """what the switch's part includes of base goes along with it: only a build of the switch from nothing would tell"""
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
                yield f"{name}:{number}: {stage} comes before {other} and cannot link pd_{other}"
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
            if "://" not in target and not target.startswith("mailto:") and not os.path.exists(near):
                yield f"{name}:{number}: the link to {target} leads nowhere"


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
            yield f"src/{name}: not a stage; put it into the order in tests/structure/structure.py"


def findings(root):
    hand = Hand(root)
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
        if stage_of(name) and name.endswith((".c", ".h")):
            hand.take(name, "\n".join(lines) + "\n")
    yield from hand.findings()


def main(arguments):
    root = arguments[0] if arguments else os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
    found = list(findings(os.path.abspath(root)))
    print("\n".join(found) if found else "the tree keeps its rules")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
