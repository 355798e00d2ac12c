#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From a fault of the network to the verdict that names it, on the test bed: routing loops,
blackholes. One JSON object a line. As root, with Open vSwitch.

Usage: bench_faults.py [BIN-FOLDER] [--rounds N] [loop4] [loop6] [agg-core] [tor-agg]

Blackholes: all packets are sprayed; a connection is open when the link goes black, and then sends
100 KB. From its alarm at the controller until the alarm APP_BLACKHOLE of a watch; "exact" is the
share of rounds in which exactly the expected switches were named, "within" the share in which that
was in time."""
import argparse
import http.client
import itertools
import json
import math
import os
import random
import socket
import statistics
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "testbed"))

from agent import start_all                     # noqa: E402  (found by the line above)
import traffic                                  # noqa: E402
from bed import BINARIES, Bed                   # noqa: E402
from commands import wait_for                   # noqa: E402

WAIT_S = 20
SENDER, RECEIVER = 21, 25
TRANSFER_BYTES, TRANSFER_MBIT = 100_000, 10
LOOK_BACK_S, SLACK_S = 2, 0.1   # of the watch: rounds do not see each other's alarms
BLACKHOLES = {"agg-core": ((9, 17), [9, 11, 17]), "tor-agg": ((1, 9), [1, 3, 9, 11])}
BLACKHOLE_WANTED_MS = 1000
# twelve loops of 4 hops are different ones; one that was seen less than 2 s ago is no news
PAUSE_S = 0.2


class Stream(threading.Thread):
    """the alarms that a controller streams: [(heard at, alarm)], wall time in seconds"""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.connection = http.client.HTTPConnection("localhost")
        self.connection.sock = socket.socket(socket.AF_UNIX)
        self.connection.sock.connect(path)
        self.connection.request("GET", "/v1/alarms/stream")
        self.answer, self.heard = self.connection.getresponse(), []
        self.start()

    def run(self):
        for line in self.answer:
            if line.startswith(b"data:"):
                self.heard.append((time.time(), json.loads(line[5:])))

    def wait(self, reason, since, timeout_s=WAIT_S):
        """(when it was heard, the alarm) of the first alarm with this reason that was heard since
        then"""
        def found():
            return next((entry for entry in list(self.heard) if entry[0] >= since
                         and entry[1]["reason"] == reason), None)
        wait_for(found, f"an alarm {reason}", timeout_s)
        return found()


def show(name, values_ms, wanted_ms, **more):
    values = sorted(values_ms)
    print(json.dumps({"bench": name, "rounds": len(values), "median_ms": round(statistics.median(
        values), 2), "min_ms": round(values[0], 2), "max_ms": round(values[-1], 2),
                      "wanted_ms": wanted_ms, **more}), flush=True)


# ---- loops ----

def loops_of_4():
    """circles of an agg, a core, an agg and a core, each with a host of the first one's pod and one
    of the second one's"""
    pairs = list(itertools.combinations(range(4), 2))
    for (p, q), group in itertools.product(pairs + [(q, p) for p, q in pairs], (0, 1)):
        cores = (17 + 2 * group, 18 + 2 * group)
        yield (9 + 2 * p + group, cores[p < q], 9 + 2 * q + group, cores[p > q]), p, q


def loops_of_6():
    """agg, core, agg, core, agg and the first core again"""
    for group, (p, q, r) in itertools.product((0, 1), itertools.permutations(range(4), 3)):
        first, second = 17 + 2 * group, 18 + 2 * group
        yield (9 + 2 * p + group, first, 9 + 2 * q + group, second, 9 + 2 * r + group, first), p, q


def looping_packet(bed, circle, p, q):
    """sends one packet into the circle; returns the time just before"""
    sender, receiver = bed.hosts[21 + 4 * p], bed.hosts[21 + 4 * q]
    other = next(peer for peer in bed.network.switch_peers(sender.rack) if peer != circle[0])
    words = [bed.faults.add("link-down", sender.rack, other),
             bed.faults.add("loop", ",".join(map(str, circle)), receiver.id)]
    code = (f"import socket, time; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
            f"print(time.time()); s.sendto(bytes(64), ('{receiver.ipv4}', "
            f"{random.randint(20000, 60000)}))")
    sent = float(sender.run([sys.executable, "-c", code], capture_output=True, text=True,
                            check=True).stdout)
    return sent, words


def bench_loop(bed, stream, name, loops, wanted_ms, rounds):
    raised, heard = [], []
    for circle, p, q in itertools.islice(itertools.cycle(loops()), rounds):
        sent, faults = looping_packet(bed, circle, p, q)
        at, alarm = stream.wait("APP_LOOP", sent)
        raised.append(1000 * (alarm["time_us"] / 1e6 - sent))
        heard.append(1000 * (at - sent))
        bed.faults.clear(*faults)
        time.sleep(PAUSE_S)
    show(name, heard, wanted_ms, median_until_alarm_ms=round(statistics.median(raised), 2))


# ---- blackholes ----

def one_blackhole(bed, stream, link):
    """milliseconds from the alarm of the flow to the finding of the watch, and its report; None
    when nothing was found in time"""
    sender = traffic.Sender(bed.host(SENDER), bed.host(RECEIVER).ipv4, rate_mbit=TRANSFER_MBIT)
    sender.send(1)                              # the connection is open
    watch = bed.controller.ask("watches", {"app": "blackhole", "on": "alarm", "args": {
        "seconds": LOOK_BACK_S, "slack": SLACK_S}})["id"]
    fault, started = bed.faults.add("blackhole", *link), time.time()
    try:
        sender.start(TRANSFER_BYTES)
        alarmed = stream.wait("POOR_PERF", started)[0]
        found = stream.wait("APP_BLACKHOLE", alarmed, 2 * LOOK_BACK_S)[0]
        report = next(w for w in bed.controller.ask("watches")["watches"]
                      if w["id"] == watch)["report"]
        return 1000 * (found - alarmed), report
    except TimeoutError as error:
        print(error, file=sys.stderr)
        return None, None
    finally:
        bed.faults.clear(fault)
        sender.wait()
        sender.close()
        bed.controller.raw(f"/v1/watches/{watch}", "-X", "DELETE")


def bench_blackholes(bed, stream, name, rounds):
    (link, expected), values, right = BLACKHOLES[name], [], 0
    spray, server = bed.faults.add("spray", "all"), traffic.Server(bed.host(RECEIVER))
    for _ in range(rounds):
        value, report = one_blackhole(bed, stream, link)
        if report and sorted(report["switches"]) == expected:
            right += 1
            values.append(value)
        elif report:
            print(f"{name}: {report['switches']} {report['evidence']}", file=sys.stderr)
        time.sleep(LOOK_BACK_S + SLACK_S + PAUSE_S)
    server.close()
    bed.faults.clear(spray)
    in_time, values = sum(value <= BLACKHOLE_WANTED_MS for value in values), sorted(values)
    if values:
        show(f"blackhole_{name}", values, BLACKHOLE_WANTED_MS,
             p95_ms=round(values[math.ceil(0.95 * len(values)) - 1], 2), tried=rounds,
             exact=round(right / rounds, 2), within=round(in_time / rounds, 2))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("words", nargs="*")
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_intermixed_args()
    binaries = [word for word in options.words if os.path.isdir(word)] or [BINARIES]
    names = [word for word in options.words if word not in binaries] or ["loop4", "loop6",
                                                                         *BLACKHOLES]
    with Bed(binaries=binaries[0], tagged=all, controller=True) as bed:
        start_all(bed)
        stream = Stream(bed.controller.socket)
        for name in names:
            if name == "loop4":
                bench_loop(bed, stream, "loop_4_hops", loops_of_4, 10, options.rounds)
            elif name == "loop6":
                bench_loop(bed, stream, "loop_6_hops", loops_of_6, 25, options.rounds)
            elif name in BLACKHOLES:
                bench_blackholes(bed, stream, name, options.rounds)


if __name__ == "__main__":
    main()
