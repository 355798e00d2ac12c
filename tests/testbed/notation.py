# SPDX-License-Identifier: Apache-2.0
"""Faults as scenarios write them (docs/simulator.md), on a test bed: one notation for both.

    bed.faults.add('{"link": "9-17", "loss": 0.02, "burst": {"mean_pkts": 20}, "end_s": 30}')

Each becomes a program on what interfaces send (fault.bpf.c): of a link one, of a switch all that it
sends into, so that a packet that passes is at risk once, of a line card both ends of its links.
"""
import hashlib
import ipaddress
import json
import os

from commands import run_all
from faults import Fault

HERE = os.path.dirname(os.path.abspath(__file__))
MEMBERS = {"link", "switch", "card", "loss", "blackhole", "prefix", "hash", "burst", "start_s",
           "end_s", "weights"}
ROUTERS = {"silent", "icmp_per_s", "reroute"}      # what only routers have
ALL = 1 << 32
FOREVER_NS = (1 << 63) - 1
SECONDS_MAX, BURST_MAX, HASH_MAX, WEIGHT_MAX, ICMP_MAX = 86400, 1_000_000, 0xFFFF, 16, 100_000


def number(given, name, least, most):
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not least <= given <= most:
        raise RuntimeError(
            f"{name}: expected a number from {least} to {most}, not {json.dumps(given)}")
    return given


def parse(text):
    """the faults of a JSON text: an object, or a list of them"""
    try:
        document = json.loads(text)
    except ValueError as error:
        raise RuntimeError(f"a fault: {error}") from None
    return document if isinstance(document, list) else [document]


class Noted(Fault):
    """{"link"|"switch"[,"card"],"loss"|"blackhole"[,"prefix"|"hash"][,"burst"][,"start_s"]
    [,"end_s"]}: as in a scenario"""

    def read(self, text, since_ns):
        self.given, self.since_ns = json.loads(text), int(since_ns)
        if not isinstance(self.given, dict):
            raise RuntimeError("a fault: expected an object")
        for name in self.given:
            if name not in MEMBERS | ROUTERS:
                raise RuntimeError(f"{name}: unknown member")
        if ROUTERS & set(self.given):
            self.read_router()
        elif "weights" in self.given:
            self.read_weights()
        else:
            self.ends, self.loss = self.read_where(), self.read_loss()
            self.read_choice()
        self.start_s = number(self.given.get("start_s", 0), "start_s", 0, SECONDS_MAX)
        self.end_s = number(self.given.get("end_s", SECONDS_MAX), "end_s", 0, SECONDS_MAX)
        if self.end_s <= self.start_s:
            raise RuntimeError("end_s: it is not after start_s")

    # Where

    def read_where(self):
        """[(node, neighbour)] that sends into what loses"""
        if ("link" in self.given) == (
            "switch" in self.given) or "link" in self.given and "card" in self.given:
            raise RuntimeError(
                'expected "link": two IDs, or "switch": its ID, with "card" or without')
        if "link" not in self.given:
            return self.read_switch()
        ids = str(self.given["link"]).split("-")
        if len(ids) != 2 or not all(i.isdecimal() for i in ids):
            raise RuntimeError('link: expected two IDs as in "9-17"')
        return [self.link(*ids)]

    def read_switch(self):
        if isinstance(self.given["switch"], bool) or not isinstance(self.given["switch"], int):
            raise RuntimeError("switch: expected the ID of a switch")
        node, card = self.switch(self.given["switch"]), self.given.get("card")
        if "card" not in self.given:
            return [(node.id, peer) for peer in node.peers]
        peers = [peer for peer in node.peers
                 if node.cards.get(peer) == number(card, "card", 1, HASH_MAX)]
        if not peers:
            raise RuntimeError(f"card: switch {node.id} has no port on it")
        return [ends for peer in peers for ends in ((node.id, peer), (peer, node.id))]

    # What

    def read_loss(self):
        if ("loss" in self.given) == ("blackhole" in self.given) or self.given.get(
            "blackhole", True) is not True:
            raise RuntimeError('expected "loss": a number, or "blackhole": true')
        loss, burst = number(self.given.get("loss", 1), "loss", 0, 1), self.given.get("burst")
        self.mean_pkts = 0
        if "burst" in self.given:
            if not isinstance(burst, dict) or set(burst) != {"mean_pkts"} or not 0 < loss < 1:
                raise RuntimeError('burst: expected {"mean_pkts":N}, with a loss between 0 and 1')
            self.mean_pkts = number(burst["mean_pkts"], "mean_pkts", 1, BURST_MAX)
            if loss > (1 - loss) * self.mean_pkts:
                raise RuntimeError("burst: longer ones are needed for this loss")
        return loss

    def read_choice(self):
        self.prefix, self.bits = bytes(16), 0
        self.hashes = self.given.get("hash", [0, HASH_MAX])
        if "prefix" in self.given:
            try:
                prefix = ipaddress.ip_network(self.given["prefix"])
            except ValueError:
                raise RuntimeError('prefix: expected a prefix as in "10.2.1.0/24"') from None
            start = bytes(10) + b"\xff\xff" if prefix.version == 4 else b""
            self.prefix, self.bits = start + prefix.network_address.packed, 8 * len(
                start) + prefix.prefixlen
        good = isinstance(self.hashes, list) and len(self.hashes) == 2 and all(
            type(value) is int for value in self.hashes)
        if not good or not 0 <= self.hashes[0] <= self.hashes[1] <= HASH_MAX:
            raise RuntimeError(f"hash: expected two numbers from 0 to {HASH_MAX}, in order")

    def read_weights(self):
        """of the next switches, for flows"""
        self.ends, self.loss = [], 0
        node, weights = self.switch(self.given.get("switch", 0)), self.given["weights"]
        if set(self.given) - {"switch", "weights"} or not isinstance(weights, dict) or not weights:
            raise RuntimeError(
                'weights: expected {"switch":ID,"weights":{"17":3,"18":1}}, from the start on')
        self.parts = {int(peer): int(number(weight, "weights", 1, WEIGHT_MAX))
                      for peer, weight in weights.items()
                      if self.link(node.id, peer)}

    def read_router(self):
        """of a fabric of routers"""
        self.ends, self.loss = [], 0
        name = min(ROUTERS & set(self.given))
        if name not in self.bed.fabric.faults:
            raise RuntimeError(f"{name}: the fabric {self.bed.fabric.name} has no such fault")
        if set(self.given) != {"switch",
                               name} or name != "icmp_per_s" and self.given[name] is not True:
            raise RuntimeError(
                'expected {"switch":ID} with "silent":true, "icmp_per_s":N or "reroute":true')
        switch = self.switch(self.given["switch"]).id
        if name == "reroute":
            self.rerouted = switch
        else:
            per_s = 0 if name == "silent" else number(self.given[name], name, 1, ICMP_MAX)
            self.icmp = {switch: int(per_s)}

    # What is done for it

    def text(self):
        return json.dumps(self.given)

    def shares(self):
        return {self.given["switch"]: self.parts} if "weights" in self.given else {}

    def filters(self):
        words = ["object-file", self.program(), "section", "tc"] if self.ends else []
        return {ends: words for ends in self.ends}

    def macros(self):
        ends = round(ALL / self.mean_pkts) if self.mean_pkts else 0
        begins = round(ends * self.loss / (1 - self.loss)) if self.mean_pkts else 0
        end_ns = self.since_ns + round(self.end_s * 1e9) if "end_s" in self.given else FOREVER_NS
        return {
            "LOSS": f"{round(self.loss * ALL)}ull", "BURST_ENDS": f"{ends}ull",
            "BURST_BEGINS": f"{begins}ull",
            "PREFIX": "{" + ",".join(map(str, self.prefix)) + "}", "PREFIX_BITS": self.bits,
            "HASH_FROM": self.hashes[0], "HASH_TO": self.hashes[1],
            "START_NS": f"{self.since_ns + round(self.start_s * 1e9) if self.start_s else 0}ull",
            "END_NS": f"{end_ns}ull"}

    def program(self):
        """the compiled program of this fault; each interface loads it for itself, and has bursts of
        its own"""
        macros = [f"-D{name}={value}" for name, value in self.macros().items()]
        made = os.path.join(self.bed.folder,
                            f"fault-{hashlib.sha256(' '.join(macros).encode()).hexdigest()[:16]}.o")
        if not os.path.exists(made):
            headers = f"/usr/include/{os.uname().machine}-linux-gnu"
            words = ["clang", "-target", "bpf", "-mcpu=v2", "-O2", "-g", "-isystem", headers,
                     *macros,
                     "-c", os.path.join(HERE, "fault.bpf.c"), "-o", made]
            run_all([(words, None, None)])
        return made
