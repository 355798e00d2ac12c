#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles every header of the stages alone, so that each can be included first and twice.

Usage: headers.py ROOT COMPILER [FLAG …]      prints what the compiler says; exit 1 if a header
fails
"""
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
import structure  # noqa: E402


def compile_alone(root, command, header):
    """what the compiler says about a file that includes only this header, twice; empty if it is
    content"""
    name = header.removeprefix("src/")
    text = f'#include "{name}"\n#include "{name}"\n'
    done = subprocess.run([*command, "-x", "c", "-fsyntax-only", "-"], input=text, text=True,
                          cwd=root,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return f"{header}: does not compile alone\n{done.stdout}" if done.returncode else ""


def main(root, *compiler):
    command = [*compiler, "-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-Isrc",
               "-I."]
    headers = [name for name in structure.files(root) if name.endswith(".h")
               and structure.stage_of(name)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        said = [text for text in pool.map(lambda header: compile_alone(root, command,
                                                                       header), headers) if text]
    print("\n".join(said) if said else f"{len(headers)} headers compile alone")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
