# SPDX-License-Identifier: Apache-2.0
"""The switches of a topology as `pathdump-switch` runs them: frames go through one at a time."""
import json
import os
import struct
import subprocess
import sys

SOURCE = os.environ.get("PD_SOURCE") or os.path.join(os.path.dirname(__file__), "../../..")
sys.path.insert(0, os.path.join(SOURCE, "tests/shared"))

import capture  # noqa: E402
from programs import pathdump, program  # noqa: E402

FIRST_US = 1_000_000


def read_pcap(name):
    """time in µs and bytes of each frame"""
    with open(name, "rb") as file:
        data = file.read()
    unit, at, found = 1000 if struct.unpack_from("<I", data)[0] == 0xA1B23C4D else 1, 24, []
    while at < len(data):
        seconds, fraction, size, _ = struct.unpack_from("<IIII", data, at)
        found.append((seconds * 10**6 + fraction // unit, data[at + 16:at + 16 + size]))
        at += 16 + size
    return found


class Network:
    """`topology` is a file; the tables of a switch are made when it gets the first frame"""

    def __init__(self, topology, set_name, folder, *options):
        self.set_name, self.folder, self.runs = set_name, folder, 0
        self.topology, self.options = topology, options
        with open(topology, encoding="utf-8") as file:
            text = json.load(file)
        role = {node["id"]: node["role"] for node in text["nodes"]}
        self.neighbours = {}
        for link in text["links"]:
            for a, b in ((link["source"], link["target"]), (link["target"], link["source"])):
                self.neighbours.setdefault(a, []).append(b)
        self.switches = [node for node in self.neighbours if role[node] != "host"]
        for switch in self.switches:
            self.neighbours[switch].sort(key=lambda node: (role[node] == "host", node))

    def tables(self, switch):
        """the folder of its tables"""
        at = f"{self.folder}/{switch}"
        if not os.path.exists(at):
            pathdump("p4", "tables", "--topology", self.topology, "--switch", switch, "--program",
                     self.set_name, "--format", "swx", "--out", at, *self.options)
        return at

    def port(self, switch, neighbour):
        return self.neighbours[switch].index(neighbour) + 1

    def configuration(self, inputs, at):
        """of all switches that get frames"""
        switches = []
        for switch, by_port in inputs.items():
            ports = {}
            for port in range(1, len(self.neighbours[switch]) + 1):
                name = f"{at}/{switch}-{port}.in.pcap" if port in by_port else None
                if name:
                    capture.write_pcap(name, by_port[port])
                ports[str(port)] = {"pcap": [name, f"{at}/{switch}-{port}.out.pcap"]}
            switches.append({"id": switch, "program": self.set_name,
                             "punts": f"{at}/{switch}.punts",
                             "tables": self.tables(switch), "ports": ports})
        return {"switches": switches}

    def send(self, frames):
        """[(switch, in port, frame)] → [(out port, frame) or None], and a summary a switch"""
        self.runs += 1
        at, inputs = f"{self.folder}/run{self.runs}", {}
        os.mkdir(at)
        for number, (switch, port, raw) in enumerate(frames):
            inputs.setdefault(switch, {}).setdefault(port, []).append((FIRST_US + number, raw))
        with open(f"{at}/config.json", "w", encoding="utf-8") as file:
            json.dump(self.configuration(inputs, at), file)
        done = subprocess.run([program("pathdump-switch"), f"{at}/config.json", "--json"],
                              capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 0, done.stderr
        summaries = {one["switch"]: one for one in map(json.loads, done.stdout.splitlines())}
        return self.results(at, inputs, len(frames)), summaries

    def results(self, at, inputs, count):
        found = [None] * count
        for switch in inputs:
            for port in range(1, len(self.neighbours[switch]) + 1):
                name = f"{at}/{switch}-{port}.out.pcap"
                for time_us, raw in read_pcap(name) if os.path.exists(name) else []:
                    if 0 <= time_us - FIRST_US < count:
                        found[time_us - FIRST_US] = (port, raw)
        return found

    def walk(self, paths, frames):
        """frames along paths, in by the last port, a host's, of the first switch; None: one is
        gone"""
        frames = list(frames)
        for hop in range(max(map(len, paths))):
            numbers = [n for n, path in enumerate(paths) if hop < len(path) and frames[n]]
            batch = []
            for n in numbers:
                path = paths[n]
                port = self.port(path[hop], path[hop - 1]) if hop else len(self.neighbours[path[0]])
                batch.append((path[hop], port, frames[n]))
            for n, result in zip(numbers, self.send(batch)[0]):
                frames[n] = result and result[1]
        return frames
