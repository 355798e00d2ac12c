# SPDX-License-Identifier: Apache-2.0
"""What the modules of a test bed share: running commands, waiting, names of interfaces."""
import subprocess
import time

TIMEOUT_S = 20


def port(switch, peer):
    """name of the interface by which a switch meets a neighbour"""
    return f"s{switch}-{peer}"


def run_all(commands):
    """runs commands at the same time: (arguments, environment, standard input) each; returns what
    they write to standard output; raises when one fails"""
    running = [(subprocess.Popen(args, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True), text)
               for args, env, text in commands]
    answers = [(process.args, *process.communicate(text), process.returncode)
               for process, text in running]
    for args, output, said, code in answers:
        if code:
            raise RuntimeError(f"{' '.join(map(str, args))}: {said.strip()} {output.strip()}")
    return [output for _, output, _, _ in answers]


def inside(namespace, words, text=None):
    """a command in a network namespace, as run_all takes it"""
    return ["nsenter", f"--net={namespace}", "--", *map(str, words)], None, text


def wait_for(condition, what, timeout_s=TIMEOUT_S):
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not come up within {timeout_s} s")
        time.sleep(0.01)
