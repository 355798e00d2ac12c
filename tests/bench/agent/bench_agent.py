#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The daemon as a whole: a capture in the page cache -> TIB, and what an idle daemon holds in
memory. One JSON object a line.

Usage: bench_agent.py [BIN-FOLDER] [--pkts N] [--rounds N]"""
import argparse
import json
import os
import socket
import statistics
import struct
import subprocess
import tempfile
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
START_US = 1_700_000_000_000_000


def pathdump(at, *words):
    return subprocess.run([os.path.join(at, "pathdump"), *map(str, words)], capture_output=True,
                          text=True, check=True).stdout


def topology(at, folder, k):
    name = os.path.join(folder, f"fat{k}.json")
    with open(name, "w", encoding="utf-8") as out:
        out.write(pathdump(at, "topology", "fat-tree", "--k", k))
    return name


def make_frame(port, tags):
    """64 bytes on the wire without the tags: UDP from 10.1.1.2 to 10.2.1.2"""
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 46, 0, 0, 64, 17, 0, bytes((10, 1, 1, 2)),
                     bytes((10, 2, 1, 2)))
    stack = b"".join(struct.pack(">HH", 0x8100, tag) for tag in reversed(tags))
    return bytes(12) + stack + b"\x08\0" + ip + struct.pack(">HHHH", port, 80, 26, 0) + bytes(18)


def write_capture(name, pkts, flows, tags):
    """one packet a microsecond, the flows in turn"""
    frames = [make_frame(1024 + n, tags) for n in range(flows)]
    with open(name, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for begin in range(0, pkts, flows):
            out.write(b"".join(struct.pack("<IIII", (START_US + i) // 1_000_000,
                                           (START_US + i) % 1_000_000, len(raw), len(raw)) + raw
                               for i, raw in enumerate(frames[:pkts - begin], begin)))


def bench_capture(at, folder, pkts, flows, rounds, idle_ms, name="agent_pcap_to_tib", wanted=None):
    tags = json.loads(pathdump(at, "codec", "encode", "--topology", topology(at, folder, 4),
                               "--src", "10.1.1.2", "--dst", "10.2.1.2",
                               "--path", "1,9,17,11,3", "--json"))["tags"]
    capture = os.path.join(folder, "in.pcap")
    write_capture(capture, pkts, flows, tags)
    seconds, processor, records = [], [], 0
    for n in range(rounds):
        tib = os.path.join(folder, f"tib-{flows}-{n}")
        begun, before = time.monotonic(), os.times()
        subprocess.run([os.path.join(at, "pathdumpd"), "--topology", os.path.join(
            folder, "fat4.json"), "--intake", "pcap:" + capture, "--tib", tib,
                        "--listen", "127.0.0.1:0", "--idle-ms", str(idle_ms), "--exit-after-intake",
                        "--log-level", "error"], check=True)
        seconds.append(time.monotonic() - begun)
        after = os.times()
        processor.append(after.children_user + after.children_system - before.children_user
                         - before.children_system)
        assert json.loads(pathdump(at, "query", "--tib", tib, "getCount", "--json"))["pkts"] == pkts
        records = pkts if pkts // flows > 1 and idle_ms * 1000 < flows else flows
    took = statistics.median(seconds)
    print(json.dumps({"bench": name, "pkts": pkts, "records": records, "seconds": round(took, 3),
                      "processor_ns_per_pkt": round(statistics.median(processor) / pkts * 1e9, 1),
                      "mpkts_per_s": round(pkts / took / 1e6, 2),
                      "mrecords_per_s": round(records / took / 1e6, 3),
                      **({"wanted_mpkts_per_s": wanted} if wanted else {}), "rounds": rounds}),
          flush=True)


def resident_bytes(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS:"))


def bench_idle(at, folder, k):
    capture = os.path.join(folder, "empty.pcap")
    write_capture(capture, 0, 1, [])
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with subprocess.Popen([os.path.join(at, "pathdumpd"), "--topology", topology(at, folder, k),
                           "--intake", "pcap:" + capture, "--tib",
                           os.path.join(folder, "idle"), "--listen", f"127.0.0.1:{port}",
                           "--log-level", "error"]) as daemon:
        time.sleep(1)
        fresh = resident_bytes(daemon.pid)
        for target in ("status", "getFlows", "getFlows?live=true", "alarms"):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/{target}").read()
        time.sleep(.5)
        print(json.dumps({"bench": "agent_idle", "k": k, "resident_mib": round(fresh / 2**20, 2),
                          "resident_mib_after_requests": round(resident_bytes(daemon.pid) / 2**20,
                                                               2), "wanted_mib": 12}), flush=True)
        daemon.terminate()


def bench_idle_live(at, folder, k):
    """with a live intake, whose ring counts as resident; in a network of its own, needs root"""
    words = [os.path.join(at, "pathdumpd"), "--topology", topology(at, folder, k), "--intake",
             "live:lo", "--tib", os.path.join(folder, "live"),
             "--listen", "127.0.0.1:0", "--log-level", "error"]
    with subprocess.Popen(["unshare", "--net", "sh", "-c", 'ip link set dev lo up && exec "$@"',
                           "sh", *words]) as daemon:
        time.sleep(1.5)
        print(json.dumps({"bench": "agent_idle_live", "k": k, "resident_mib": round(
            resident_bytes(daemon.pid) / 2**20, 2), "wanted_mib": 12}), flush=True)
        daemon.terminate()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin", nargs="?", default=os.path.join(HERE, "../../../build/release/bin"))
    parser.add_argument("--pkts", type=int, default=6_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pathdump-bench-") as folder:
        bench_idle(given.bin, folder, 16)
        if os.geteuid() == 0:
            bench_idle_live(given.bin, folder, 16)
        bench_capture(given.bin, folder, given.pkts, 4096, given.rounds, 5000, wanted=3)
        bench_capture(given.bin, folder, given.pkts // 4, 60000, given.rounds, 20,
                      name="agent_pcap_to_tib_record_a_packet")


if __name__ == "__main__":
    main()
