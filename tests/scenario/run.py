#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Replays scenarios: a capture of the packets, pathdumpd on it, and its answers against what is
expected.

Usage: run.py FILE.scenario …                   exit 1 if anything is not as expected; PD_BIN names
the folder of the programs
       run.py --capture FILE.scenario OUT.pcap  only writes the packets, as the receiving server
       would have captured them
"""
import difflib
import json
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../shared"))
import capture
import grammar
from grammar import EPOCH_US, QUERIES, Flow, ScenarioError
from programs import PATIENCE_S, Daemon, pathdump


# ---- packets -> capture ----

class Sender:
    """frames of a scenario, and the account of what was sent"""

    def __init__(self, scenario, topology):
        self.scenario, self.topology, self.known = scenario, topology, {}
        self.pkts = self.bytes = 0
        self.frames = []

    def encode(self, flow, path):
        """what switches along the path write: (tags, DSCP)"""
        words = ["--topology", self.topology, "--src", flow.src_ip, "--dst", flow.dst_ip, "--path",
                 grammar.list_text(path), "--json"]
        answer = json.loads(pathdump("codec", "encode", *words))
        if answer["punted"]:
            raise AssertionError("a packet on this path is punted, it never arrives")
        return answer["tags"], answer["dscp"]

    def marks(self, packets):
        if packets.path is None:
            return packets.tags, packets.dscp
        key = packets.flow.src_ip, packets.flow.dst_ip, tuple(packets.path)
        try:
            if key not in self.known:
                self.known[key] = self.encode(packets.flow, packets.path)
        except AssertionError as error:
            raise ScenarioError(f"{self.scenario.place(packets.line)}: {error}") from None
        tags, dscp = self.known[key]
        return tags, dscp or packets.dscp

    def send(self, packets):
        """[(time, frame)]; the priority of a tag says how deep the stack was, as switches write
        it"""
        tags, dscp = self.marks(packets)
        flow = packets.flow
        ip = capture.packet(flow.src_ip, flow.dst_ip, flow.src_port, flow.dst_port,
                            bytes(packets.payload_bytes), flow.protocol, dscp,
                            packets.flags, packets.fragment)
        raw = capture.ethernet(ip, [depth << 13 | tag for depth, tag in enumerate(tags, 1)],
                               packets.outer)
        self.pkts += packets.times
        self.bytes += packets.times * len(ip)
        return [(EPOCH_US + packets.time_us + n * packets.every_us, raw)
                for n in range(packets.times)]

    def run(self):
        """sections one after the other; within one, packets are captured in the order of their
        times"""
        for section in sorted({packets.section for packets in self.scenario.packets}):
            frames = [frame for packets in self.scenario.packets if packets.section == section
                      for frame in self.send(packets)]
            self.frames += sorted(frames, key=lambda frame: frame[0])
        return self


# ---- answers -> rows ----

def flow_of(document):
    return Flow(*(document[name] for name in Flow._fields))


def counts(row):
    return grammar.counts_text(row["pkts"], row["bytes"])


def span(row):
    return grammar.span_text(row["stime_us"] - EPOCH_US, row["etime_us"] - EPOCH_US)


def trail(row):
    return grammar.trail_text(row.get("path"), row.get("tags", ()), row.get("dscp", 0))


def rows_of(name, answer):
    """the answer to a query in the words of a scenario"""
    if name == "getFlows":
        return [f"{grammar.flow_text(flow_of(row['flow_id']))} {trail(row)} {counts(row)} "
                f"{span(row)}" for row in answer["flows"]]
    if name == "getPaths":
        return [grammar.trail_text(path)
                for path in answer["paths"]] + [trail(row) for row in answer.get("infeasible", ())]
    if name == "getCount":
        return [counts(answer)]
    return [span(answer)] if answer["stime_us"] is not None else []


def alarm_rows(answer):
    return [f"{one['reason']} {grammar.flow_text(flow_of(one['flow_id']))} {trail(one)} times "
            f"{one['count']}" for one in answer["alarms"]]


def status_row(status, key):
    for part in key.split("."):
        status = status[part] if isinstance(status, dict) and part in status else "is not there"
    return f"{key} {status}"


# ---- runs ----

class Stored:
    """the capture is stored, the daemon has gone, and the TIB is asked; there is no one to tell of
    alarms"""
    name = "pcap, TIB"

    def __init__(self, folder, topology, settings, frames):
        capture.write_pcap(os.path.join(folder, "in.pcap"), frames)
        with Daemon(folder, "--exit-after-intake", *settings, intake=f"pcap:{folder}/in.pcap",
                    topology=topology, listen=False) as daemon:
            if daemon.process.wait(PATIENCE_S):
                raise AssertionError(f"pathdumpd: {daemon.log()}")
        self.where = "--tib", os.path.join(folder, "tib")

    def ask(self, *words):
        answer = json.loads(pathdump("query", *self.where, *words, "--json"))
        assert answer["complete"], f"{words}: the answer is not complete"
        return answer

    def rows(self, expectation):
        name = expectation.words[0]
        return rows_of(name, self.ask(*expectation.words)) if name in QUERIES else None

    def close(self):
        pass


class Served(Stored):
    """the same as pcapng, the daemon serves on, and is asked itself"""
    name = "pcapng, agent"

    def __init__(self, folder, topology, settings, frames):
        capture.write_pcapng(os.path.join(folder, "in.pcapng"), frames)
        self.daemon = Daemon(folder, *settings, intake=f"pcap:{folder}/in.pcapng",
                             topology=topology)
        self.where = "--agent", f"http://127.0.0.1:{self.daemon.port}"
        try:
            self.daemon.wait_state("finished")
            self.status = self.daemon.status()
        except AssertionError:
            self.daemon.__exit__()
            raise

    def rows(self, expectation):
        if expectation.words[0] == "alarms":
            return alarm_rows(self.daemon.get("/v1/alarms"))
        if expectation.words[0] == "status":
            return [status_row(self.status, row.split()[0]) for row in expectation.rows]
        return super().rows(expectation)

    def close(self):
        with self.daemon:
            if self.daemon.end():
                raise AssertionError(f"pathdumpd: {self.daemon.log()}")


# ---- checks ----

def difference(wanted, got):
    lines = difflib.unified_diff(sorted(wanted), sorted(got), "expected", "came", lineterm="", n=99)
    return "\n".join("    " + line for line in list(lines)[3:])


def check_rows(scenario, run):
    """alarms are always expected: none where the scenario names none"""
    expectations = list(scenario.expectations)
    if not any(expectation.words == ["alarms"] for expectation in expectations):
        expectations.append(grammar.Expectation(0, ["alarms"], []))
    for expectation in expectations:
        place = scenario.place(expectation.line)
        try:
            got = run.rows(expectation)
        except AssertionError as error:
            raise ScenarioError(f"{place}: {error}") from None
        if got is not None and sorted(got) != sorted(expectation.rows):
            yield (f"{place}: ({run.name}) {' '.join(expectation.words)}\n"
                   f"{difference(expectation.rows, got)}")


def check_sums(scenario, run, sender):
    """what came in equals what is in the store, exactly"""
    flows = run.ask("getFlows")["flows"]
    stored = sum(row["pkts"] for row in flows), sum(row["bytes"] for row in flows)
    if stored != (sender.pkts, sender.bytes):
        yield (f"{scenario.name}: ({run.name}) sent {sender.pkts, sender.bytes} packets and bytes, "
               f"stored {stored}")


def check_same(scenario, runs):
    answers = [run.ask("getFlows")["flows"] for run in runs]       # tokens are a store's own
    if answers[0] != answers[1]:
        yield f"{scenario.name}: pcap and pcapng differ: {answers[0]} and {answers[1]}"


def sent(scenario, folder):
    """what was sent, and the file of the topology that it was sent through"""
    topology = os.path.join(folder, "topology.json")
    with open(topology, "w", encoding="utf-8") as out:
        out.write(pathdump("topology", *scenario.topology))
    return Sender(scenario, topology).run(), topology


def replay(scenario, folder):
    """findings"""
    sender, topology = sent(scenario, folder)
    findings, runs = [], []
    try:
        for kind in (Stored, Served):
            place = os.path.join(folder, kind.__name__)
            os.mkdir(place)
            run = kind(place, topology, scenario.settings, sender.frames)
            runs.append(run)
            findings += [*check_sums(scenario, run, sender), *check_rows(scenario, run)]
        if runs[1].status["intake"]["frames"] != len(sender.frames):
            findings.append(f"{scenario.name}: frames in the status are not those that were sent")
        findings += check_same(scenario, runs)
    finally:
        for run in runs:
            run.close()
    return findings


def run_text(name, text):
    """findings for the text of a scenario; ScenarioError if it is none"""
    scenario = grammar.parse(name, text)
    with tempfile.TemporaryDirectory(prefix="pathdump-scenario-") as folder:
        return replay(scenario, folder)


def write_capture(name, out):
    with open(name, encoding="utf-8") as file, tempfile.TemporaryDirectory(
        prefix="pathdump-scenario-") as folder:
        capture.write_pcap(out, sent(grammar.parse(name, file.read()), folder)[0].frames)


def main(names):
    failed = 0
    for name in names:
        try:
            with open(name, encoding="utf-8") as file:
                findings = run_text(os.path.relpath(name), file.read())
        except (ScenarioError, AssertionError) as error:
            findings = [str(error) if isinstance(error, ScenarioError)
                        else f"{os.path.relpath(name)}: {error}"]
        print("\n".join(findings) if findings else f"{os.path.relpath(name)}: as expected")
        failed += bool(findings)
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if sys.argv[1] == "--capture" and len(sys.argv) == 4:
        sys.exit(write_capture(*sys.argv[2:]))
    sys.exit(main(sys.argv[1:]))
