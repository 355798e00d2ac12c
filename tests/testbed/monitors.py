# SPDX-License-Identifier: Apache-2.0
"""Monitors of a bed: beside each switch at the end of segments a pathdumpd that answers for its
meters, which the bed's controller asks.

Switches pin their meters' maps in PINS/BED/SWITCH (src/meter/kernel.h). The monitors run in the
namespace of the machine: maps belong to none.
"""
import json
import os
import subprocess

from commands import wait_for
from keeper import PINS

START_S = 30
TOPS = ("core", "intermediate", "spine")


def pins(bed):
    return os.path.join(PINS, bed.name)


def listed(bed):
    """the file that tells the controller its monitors"""
    return os.path.join(bed.folder, "monitors.json")


def socket(bed, switch):
    return os.path.join(bed.folder, f"monitor{switch}.sock")


def switches(bed):
    """IDs of those at the ends of segments"""
    racks = {rack.id for rack in bed.network.racks}
    tops = {n.id for n in bed.network.switches if n.role in TOPS and bed.monitors == "tor+top"}
    return sorted(racks | tops)


def write(bed):
    if bed.monitors_on:
        os.makedirs(PINS, mode=0o700, exist_ok=True)
        with open(listed(bed), "w", encoding="utf-8") as file:
            json.dump([{"id": i, "url": f"unix:{socket(bed, i)}"} for i in switches(bed)], file)


def start(bed):
    """{switch: its Monitor}, when all of them answer"""
    found = {i: Monitor(bed, i).launch() for i in (switches(bed) if bed.monitors_on else ())}
    for monitor in found.values():
        wait_for(monitor.answers, f"the monitor of switch {monitor.switch}", START_S)
    return found


class Monitor:
    """one of them, with a log and a store that nothing comes to in the bed's folder"""

    def __init__(self, bed, switch):
        self.bed, self.switch, self.process = bed, switch, None
        self.socket = socket(bed, switch)
        self.log = os.path.join(bed.folder, f"monitor{switch}.log")

    def launch(self):
        command = [self.bed.program_path("pathdumpd"), "--topology", self.bed.topology, "--intake",
                   "none", "--tcp-monitor", "none", "--tib",
                   os.path.join(self.bed.folder, f"monitor{self.switch}"), "--listen",
                   f"unix:{self.socket}", "--monitor", str(self.switch), "--meters",
                   f"tc:{pins(self.bed)}/{self.switch}"]
        with open(self.log, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                command, env=dict(os.environ, **self.bed.mark), stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, start_new_session=True)
        self.bed.started.append(self.process)
        return self

    def answers(self):
        if self.process.poll() is not None:
            with open(self.log, encoding="utf-8", errors="replace") as log:
                raise RuntimeError(f"the monitor of switch {self.switch} does not run: "
                                   f"{''.join(log.readlines()[-3:]).strip()}")
        return bool(self.get("status"))

    def get(self, route):
        """what a GET of /v1/ROUTE answers, None when nobody does"""
        done = subprocess.run(["curl", "-s", "--max-time", "10", "--unix-socket", self.socket,
                               f"http://localhost/v1/{route}"], stdout=subprocess.PIPE, text=True)
        return json.loads(done.stdout) if done.stdout else None

    def kill(self):
        self.process.kill()
        self.process.wait()
