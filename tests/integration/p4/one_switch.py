# SPDX-License-Identifier: Apache-2.0
"""One switch with a compiled program between captures, and its arrays behind them. As root, by
`unshare --net`."""
import contextlib
import json
import os
import signal
import struct
import subprocess
import time

from control import UnixConnection
from programs import PATIENCE_S, pathdump, program

MAGIC = 0xA1B23C4D


def write_pcap(path, timed):
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", MAGIC, 2, 4, 0, 0, 262144, 1))
        for time_ns, raw in timed:
            head = struct.pack("<IIII", *divmod(time_ns, 10**9), len(raw), len(raw))
            out.write(head + raw)


def read_pcap(path):
    """[(time in ns, frame)] of either precision"""
    with open(path, "rb") as file:
        data = file.read()
    unit = 1 if struct.unpack_from("<I", data)[0] == MAGIC else 1000
    at, found = 24, []
    while at < len(data):
        seconds, fraction, size, _ = struct.unpack_from("<IIII", data, at)
        found.append((seconds * 10**9 + fraction * unit, data[at + 16:at + 16 + size]))
        at += 16 + size
    return found


def tables(folder, topology, switch, name, *more):
    pathdump("p4", "tables", "--topology", topology, "--switch", switch, "--program", name,
             "--format", "swx", "--out", folder, *more)
    return folder


class Switch:
    """a switch that has seen its captures and goes on, for another one has a tap"""

    def __init__(self, at, number, name, folder, ports):
        """ports: {port: frames with their times, or none}"""
        self.at, self.number = at, number
        config = {"control": f"unix:{at}/control", "switches": [
            {"id": number, "program": name, "tables": folder, "punts": f"{at}/punts",
             "ports": {}},
            {"id": number + 1, "program": name, "tables": folder,
             "ports": {"1": {"tap": "stays"}}}]}
        for port, frames in ports.items():
            if frames:
                write_pcap(f"{at}/{port}.in", frames)
            files = [f"{at}/{port}.in" if frames else None, f"{at}/{port}.out"]
            config["switches"][0]["ports"][str(port)] = {"pcap": files}
        with open(f"{at}/config.json", "w", encoding="utf-8") as out:
            json.dump(config, out)
        self.came = sum(map(len, ports.values()))

    def __enter__(self):
        command = [program("pathdump-switch"), f"{self.at}/config.json", "--json"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True)
        deadline = time.monotonic() + PATIENCE_S
        while self.summary().get("received") != self.came:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"it does not get through: {self.end()}")
            time.sleep(0.02)
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.communicate(timeout=PATIENCE_S)

    def ask(self, path):
        with contextlib.closing(UnixConnection(f"{self.at}/control", PATIENCE_S)) as connection:
            connection.request("GET", f"/v1/{path}")
            return json.loads(connection.getresponse().read())

    def summary(self):
        if not os.path.exists(f"{self.at}/control"):
            return {}
        try:
            return self.ask("switches")["switches"][0]
        except OSError:
            return {}

    def array(self, name):
        """JSON's numbers have a sign, those of the program none"""
        values = self.ask(f"switches/{self.number}/arrays/{name}")["values"]
        return [value & (1 << 64) - 1 for value in values]

    def sent(self, port):
        """all that left by a port, once the process has ended"""
        self.end()
        return read_pcap(f"{self.at}/{port}.out")
