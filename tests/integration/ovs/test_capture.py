#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same capture through the patched switch and through the pcap intake: the same records, the
same verdicts; and what the switch hands on."""
import contextlib
import json
import os
import random
import time

from case import DETOUR, PATHS, START_US, SwitchTest, main, metrics, pathdump, write_pcap
# found by the line above
from capture import DOT1Q, QINQ, TCP, TCP_FLAGS, UDP, ethernet, packet
from programs import Daemon

SEED = int(os.environ.get("PD_SEED") or time.time_ns() % 1_000_000)
FLOWS, FRAMES = 400, 6000
UNKNOWN_TAG = 4000
# text in trajectory/show: metric of the agent, besides those that say so themselves
FIGURES = {
    "live records": "trajectory_live_records", "frames": "intake_frames_total",
    "frame bytes": "intake_frame_bytes_total",
    "ring": "intake_ring_events", "ring full": "intake_ring_full_total",
    "new flows not announced": "intake_ring_unheard_total",
}


class TestCapture(SwitchTest):
    def setUp(self):
        super().setUp()
        self.rng = random.Random(SEED)
        print("seed", SEED, flush=True)

    # What is in the capture

    def make_flow(self, n, marks):
        """what makes the frames of flow n; marks: (tags, dscp) of the paths there are"""
        rng, six = self.rng, self.rng.random() < .4
        protocol = rng.choice((TCP, TCP, UDP, 1, 132))
        ends = ("fd00:0:1:1::2", "fd00:0:2:1::2") if six else ("10.1.1.2", "10.2.1.2")
        tags, dscp = rng.choice(marks)
        return {"ends": (*ends, 1000 + n, 80), "protocol": protocol, "tags": tags, "dscp": dscp,
                "outer": rng.choice((DOT1Q, QINQ))}

    def make_frame(self, flow, last):
        rng, fragment = self.rng, None
        if flow["protocol"] == UDP and rng.random() < .2:
            fragment = rng.choice(((0, True), (1480, False)))
        flags = TCP_FLAGS["FIN"] if last else TCP_FLAGS["ACK"]
        ip = packet(*flow["ends"], b"x" * rng.choice((0, 1, 20, 60, 700, 1200)), flow["protocol"],
                    flow["dscp"], flags, fragment)
        return ethernet(ip, flow["tags"], flow["outer"])

    def make_bad(self, flow):
        """a frame that no flow is counted for, or one that is cut somewhere"""
        rng, raw = self.rng, bytearray(self.make_frame(flow, False))
        kind = rng.randrange(4)
        if kind == 0:
            return bytes(raw[:rng.randrange(14, len(raw))])
        if kind == 1:
            return bytes(raw[:12]) + b"\x08\x06" + bytes(46)
        if kind == 2:
            return bytes(raw[:12]) + b"\x81\x00\x00\x07" * 5 + bytes(raw[12:])
        at = rng.randrange(12, min(len(raw), 60))
        raw[at] ^= 1 << rng.randrange(8)
        return bytes(raw)

    def make_capture(self, name, marks):
        flows = [self.make_flow(n, marks) for n in range(FLOWS)]
        order = [self.rng.randrange(FLOWS) for _ in range(FRAMES)]
        last = {n: i for i, n in enumerate(order)}
        frames = []
        for i, n in enumerate(order):
            raw = self.make_bad(flows[n]) if self.rng.random() < .05 else self.make_frame(
                flows[n], last[n] == i)
            frames.append((START_US + i, raw))
        write_pcap(self.path(name), frames)
        return self.path(name)

    def marks(self, topology, paths):
        """what the switches of each path write: (tags, dscp)"""
        found = []
        for path in paths:
            words = ("--topology", topology, "--src", "10.1.1.2", "--dst", "10.2.1.2", "--path",
                     ",".join(map(str, path)), "--json")
            answer = json.loads(pathdump("codec", "encode", *words))
            found.append((answer["tags"], answer["dscp"]))
        return found

    # Both ways

    def through_switch(self, pcap, topology, *more):
        """records, status and alarms"""
        agent = self.agent(topology=topology)
        self.switch.replay(pcap, *more)
        agent.wait(lambda: agent.status()["intake"]["frames"] >= FRAMES)
        return self.all_of(agent, self.path("tib"))

    def through_pcap(self, pcap, topology):
        folder = self.path("other")
        os.mkdir(folder)
        with Daemon(folder, intake="pcap:" + pcap, topology=topology) as agent:
            agent.wait_state("finished")
            return self.all_of(agent, os.path.join(folder, "tib"))

    def all_of(self, agent, tib):
        status = agent.status()
        self.assertEqual(agent.end(), 0)
        flows = json.loads(pathdump("query", "--tib", tib, "getFlows", "--json"))
        return {"records": self.counts(flows), "verdicts": status["intake"]["verdicts"],
                "frames": status["intake"]["frames"],
                "frame_bytes": status["intake"]["frame_bytes"], "updates": status["trajectory"][
                    "updates"], "begun": status["trajectory"]["inserts"]}

    def check_same(self, topology, paths, *more):
        pcap = self.make_capture("a.pcap",
                                 [*self.marks(topology, paths), ([], 0), ([UNKNOWN_TAG], 0)])
        switch, file = self.through_switch(pcap, topology, *more), self.through_pcap(pcap, topology)
        self.assertEqual(switch, file)
        self.assertEqual(file["frames"], FRAMES)
        self.assertGreater(len(file["records"]), FLOWS // 2)
        self.assertGreater(file["verdicts"]["too_many_tags"], 0)
        return file

    def test_tags(self):
        """a fat-tree: both IP versions, fragments, one and two tags, tags of no link, frames that
        are damaged"""
        self.start_switch()
        file = self.check_same(self.topology, (*PATHS, DETOUR))
        self.assertLessEqual({tuple(DETOUR), *PATHS, ()},
                             {tuple(row[5]) for row in file["records"]})

    def test_dscp(self):
        """VL2, which also writes the DSCP: with trajectory-dscp it is part of the key"""
        self.start_switch()
        topology = self.path("vl2.json")
        with open(topology, "w", encoding="utf-8") as out:
            out.write(pathdump("topology", "vl2", "--k", 4))
        paths = [(1, a, i, b, 3) for a in (5, 6) for i in (9, 10) for b in (7, 8)]
        file = self.check_same(topology, paths, "other_config:trajectory-dscp=true")
        self.assertLessEqual(set(paths), {tuple(row[5]) for row in file["records"]})

    def test_padding(self):
        """a tagged frame as long as the padding of the one that had its buffer before: what is
        known of that one is not looked at"""
        self.start_switch()
        short = packet("10.1.1.2", "10.2.1.2", 1000, 80, b"", UDP)
        tagged = ethernet(packet("10.1.1.2", "10.2.1.2", 1001, 80, b"x" * 160, UDP),
                          self.marks(self.topology, PATHS)[0][0])
        padded = [ethernet(short, []) + bytes(len(tagged) - cut) for cut in (0, 1, 2, 3)]
        frames = [frame for each in padded for frame in [each] * 256 + [tagged] * 256]
        write_pcap(self.path("a.pcap"), [(START_US + i, raw) for i, raw in enumerate(frames)])
        agent = self.agent()
        self.switch.replay(self.path("a.pcap"))
        agent.wait(lambda: agent.status()["intake"]["frames"] >= len(frames))
        self.assertIsNone(self.switch.daemon.poll())

    # Looking in

    def test_figures(self):
        """trajectory/show, coverage/show and the agent's metrics give the same figures;
        trajectory/dump shows the records"""
        # nothing moves while one after the other is asked
        self.start_switch(**{"trajectory-idle-ms": 60000})
        agent = self.agent()
        pcap = self.make_capture("a.pcap", self.marks(self.topology, (*PATHS, DETOUR)))
        self.switch.replay(pcap)
        agent.wait(lambda: agent.status()["intake"]["frames"] >= FRAMES)
        self.assertEqual(self.last_differences(agent), [])
        self.check_dump()

    def last_differences(self, agent):
        """what is not the same in the end; never asked once more after it was the same, since
        records with FIN or RST go one after the other"""
        rows = []

        def same():
            rows[:] = self.differences(agent)
            return not rows

        with contextlib.suppress(AssertionError):
            self.switch.until(same)
        return rows

    def differences(self, agent):
        """(text of the switch, its figure, that of the agent) where they are not the same"""
        figures, (values, helps) = self.switch.figures(), metrics(agent)
        counters = [f"trajectory_{name}_total" for name in agent.status()["trajectory"]
                    if name != "live_records"]
        pairs = {helps[name]: values[name] for name in counters}
        pairs |= {f"frames {name}": values[f'intake_verdicts_total{{verdict="{name}"}}']
                  for name in agent.status()["intake"]["verdicts"]}
        pairs |= {text: values[name] for text, name in FIGURES.items()}
        shown = [(text, figures.get(text), value) for text, value in pairs.items()]
        shown.append(("trajectory_packets", self.switch.coverage("trajectory_packets"),
                      pairs["frames ok"]))
        shown.append(("trajectory_not_counted", self.switch.coverage("trajectory_not_counted"),
                      pairs["frames"] - pairs["frames ok"]))
        return [row for row in shown if row[1] != row[2]]

    def check_dump(self):
        # those with FIN may still go
        self.switch.until(lambda: len(self.dump()) == self.switch.figures()["live records"])
        lines = self.dump()
        chosen = [line for line in lines if "sport=1007," in line]
        self.assertEqual(self.dump("sport=1007,"), chosen)
        self.assertEqual(self.dump("no such record"), [])

    def dump(self, *choice):
        return self.switch.appctl("trajectory/dump", *choice).splitlines()


if __name__ == "__main__":
    main()
