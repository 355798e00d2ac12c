# SPDX-License-Identifier: Apache-2.0
"""Captures and configurations for pathdump-switch, and what it says of them."""
import json
import os
import struct
import subprocess

from programs import program

HERE = os.path.dirname(os.path.abspath(__file__))
SPEC = os.path.join(HERE, "cross.spec")
MAGIC = 0xA1B23C4D


def write_pcap(path, timed):
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", MAGIC, 2, 4, 0, 0, 262144, 1))
        for time_ns, raw in timed:
            out.write(struct.pack("<IIII", *divmod(time_ns, 10**9), len(raw), len(raw)) + raw)


def read_pcap(path):
    with open(path, "rb") as file:
        data = file.read()
    assert struct.unpack_from("<I", data)[0] == MAGIC
    at, found = 24, []
    while at < len(data):
        seconds, ns, size, whole = struct.unpack_from("<IIII", data, at)
        assert size == whole
        found.append((seconds * 10**9 + ns, data[at + 16:at + 16 + size]))
        at += 16 + size
    return found


def write_tables(folder, **tables):
    os.makedirs(folder, exist_ok=True)
    for name, lines in tables.items():
        with open(os.path.join(folder, name.replace("__", ".")), "w", encoding="utf-8") as out:
            out.writelines(line + "\n" for line in lines)
    return folder


def write_config(folder, **config):
    path = os.path.join(folder, "config.json")
    with open(path, "w", encoding="utf-8") as out:
        json.dump(config, out)
    return path


def run(*words, timeout=60):
    """(exit code, summaries by switch, stderr)"""
    done = subprocess.run([program("pathdump-switch"), *words], capture_output=True, text=True,
                          timeout=timeout, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines()] if "--json" in words else []
    return done.returncode, {one["switch"]: one for one in lines}, done.stderr
