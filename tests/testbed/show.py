# SPDX-License-Identifier: Apache-2.0
"""How a demonstration speaks: titles, sentences, and commands that it really runs, with their
answers."""
import subprocess
import sys

BOLD, GREEN, PLAIN = ("\033[1m", "\033[32m", "\033[0m") if sys.stdout.isatty() else ("", "", "")


def title(text):
    print(f"\n{BOLD}{text}{PLAIN}", flush=True)


def say(text):
    print(f"   {text}", flush=True)


def run(where, command, shown=None):
    """prints a command and its answer; where: a host, or None for this machine"""
    print(f"{GREEN}   {where.ipv4 if where else 'here'}$ {shown or command}{PLAIN}".replace(
        "\n", "\n      "), flush=True)
    words, options = ["bash", "-c", command], {"stdout": subprocess.PIPE,
                                               "stderr": subprocess.STDOUT, "text": True}
    done = where.run(words, **options) if where else subprocess.run(words, **options)
    for line in done.stdout.rstrip().splitlines():
        print(f"   {line}".rstrip(), flush=True)
    if done.returncode:
        raise RuntimeError(f"that command failed with exit {done.returncode}")
    return done.stdout
