#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `pathdump top` costs on 16 hosts: its first screen, and its share of a core. Prints one JSON
object.

    bench_top.py [BIN]
"""
import contextlib
import fcntl
import json
import os
import pty
import select
import statistics
import struct
import sys
import termios
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BIN = os.environ["PD_BIN"] = os.environ["PATHDUMP_BIN"] = os.path.abspath(
    sys.argv[1]) if len(sys.argv) > 1 else os.path.join(HERE, "../../../build/release/bin")
sys.path.insert(0, os.path.join(HERE, "../../browser"))
import world                                    # noqa: E402

ROUNDS, WATCH_S, WAIT_S = 10, 20, 10
ROWS, COLUMNS = 24, 80
HOSTS = range(21, 37)


@contextlib.contextmanager
def top(url):
    """(process, terminal) of a top in a terminal of its own"""
    pid, terminal = pty.fork()
    if not pid:
        os.environ["TERM"] = "xterm"
        os.execv(os.path.join(BIN, "pathdump"), ["pathdump", "top", "--controller", url, "hosts"])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    try:
        yield pid, terminal
    finally:
        with contextlib.suppress(OSError):
            os.write(terminal, b"q")
        drain(terminal, .5)
        os.close(terminal)
        os.waitpid(pid, 0)


def drain(terminal, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if select.select([terminal], [], [], max(0, end - time.monotonic()))[0]:
            try:
                os.read(terminal, 65536)
            except OSError:
                return


def first_screen_ms(url):
    """until the last host's name is there"""
    begun, seen = time.monotonic(), b""
    with top(url) as (_, terminal):
        while f"h{HOSTS[-1]}".encode() not in seen:
            left = begun + WAIT_S - time.monotonic()
            if left <= 0 or not select.select([terminal], [], [], left)[0]:
                raise RuntimeError(f"no screen within {WAIT_S} s: {seen[-300:]}")
            seen += os.read(terminal, 65536)
        return 1000 * (time.monotonic() - begun)


def cpu_s(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def share(url):
    """of one core, once its first screen is there"""
    with top(url) as (pid, terminal):
        drain(terminal, 2)
        before = cpu_s(pid)
        drain(terminal, WATCH_S)
        return (cpu_s(pid) - before) / WATCH_S


def main():
    for host in HOSTS:                  # those that no test sends anything have nothing
        world.SENT.setdefault(host, ("10.1.2.2", 1, []))
    fleet = world.World(hosts=tuple(HOSTS))
    with contextlib.closing(fleet):
        first = [first_screen_ms(fleet.url) for _ in range(ROUNDS)]
        print(json.dumps({"bench": "map", "name": "pathdump top on 16 hosts",
                          "first_screen_median_ms": round(statistics.median(first)),
                          "rounds": ROUNDS, "core_share": round(share(fleet.url), 4)}), flush=True)


if __name__ == "__main__":
    main()
