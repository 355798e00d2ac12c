#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Traffic that nobody waits for, on a test bed: what a network carries all day, many senders to one
receiver, and datagrams in one direction.

The first is done by generator/; here are the class that runs it on the hosts of a bed, and the
other two:

    background.py press ADDRESS PORT SECONDS             one connection that sends as much as the
    network takes; prints {"bytes": …}
    background.py flood ADDRESS PORT [-n N] [-f FLOWS]   N datagrams of 100 bytes in each of so many
    flows; prints {"src_ports": […]}

Transfers that fail are counted, no more: networks with faults are what this is for.
"""
import argparse
import contextlib
import json
import os
import socket
import subprocess
import time

import traffic

SIZES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "generator", "short.csv")
WAIT_S = 10                     # for a transfer
MESH_MBIT = 0.4                 # of one host
DATAGRAM, FLOOD_PPS = bytes(100), 4000


def press(options):
    sent, until = 0, time.monotonic() + options.seconds
    with socket.create_connection((options.address, options.port), timeout=WAIT_S) as connection:
        connection.sendall((1 << 40).to_bytes(8, "big"))
        while time.monotonic() < until:
            try:
                sent += connection.send(bytes(traffic.CHUNK))
            except TimeoutError:
                pass
    print(json.dumps({"bytes": sent}))


def flood(options):
    ports = []
    for _ in range(options.flows):
        with socket.socket(socket.AF_INET6 if ":" in options.address else socket.AF_INET,
                           socket.SOCK_DGRAM) as sock:
            started = time.monotonic()
            for n in range(1, options.number + 1):
                sock.sendto(DATAGRAM, (options.address, options.port))
                time.sleep(max(0.0, n / FLOOD_PPS - (time.monotonic() - started)))
            ports.append(sock.getsockname()[1])
    print(json.dumps({"src_ports": ports}))


class Background:
    """transfers between these hosts of a bed, from each to each other one over both families
    (generator/), so many Mb/s of each host, and at most flow_mbit of each transfer; also a context,
    at whose end they are stopped"""

    def __init__(self, hosts, rate_mbit=MESH_MBIT, sizes=SIZES, udp=0, flow_mbit=None):
        hosts = list(hosts)
        self.processes = []
        for host in hosts:
            others = [address for other in hosts if other is not host
                      for address in other.node.addrs]
            program = host.bed.program_path(os.path.join("tests", "testbed_traffic"))
            words = [program, "--rate", rate_mbit, "--sizes", sizes, "--udp", udp, "--report",
                     report(host), *(["--flow-rate", flow_mbit] if flow_mbit else []), *others]
            self.processes.append(host.popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                             stderr=subprocess.DEVNULL, text=True))
        for process in self.processes:
            if process.stdout.readline() != "ready\n":
                raise RuntimeError("no transfers between the hosts: are the ports free?")
        for process in self.processes:
            process.stdin.close()
            process.stdin = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """what was carried: the sum of what the hosts say of themselves"""
        for process in self.processes:
            process.terminate()
        ends = [json.loads(process.communicate()[0].splitlines()[-1]) for process in self.processes]
        self.processes = []
        return total(ends)


def report(host):
    """where a host's generator says each second what it has carried"""
    return os.path.join(host.bed.folder, f"traffic{host.id}.json")


def total(ends):
    """one for all hosts; `mbit_s`: payload that has arrived"""
    found = {name: sum(end[name] for end in ends) for name in ends[0]
             if name != "seconds"} if ends else {}
    return found and dict(found, seconds=max(end["seconds"] for end in ends),
                          mbit_s=sum(mbit_s(end) for end in ends))


def mbit_s(end):
    return round(end["received_bytes"] * 8e-6 / max(end["seconds"], 1e-9), 3)


def carried(bed):
    """what the generators of a bed have carried up to now, {} when there are none"""
    ends = []
    for host in bed.hosts.values():
        with contextlib.suppress(FileNotFoundError), open(report(host), encoding="utf-8") as file:
            ends.append(json.load(file))
    return total(ends)


def main():
    parser = argparse.ArgumentParser(description="traffic that nobody waits for, on a test bed")
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("press")
    command.set_defaults(run=press)
    command.add_argument("address")
    command.add_argument("port", type=int)
    command.add_argument("seconds", type=float)
    command = commands.add_parser("flood")
    command.set_defaults(run=flood)
    command.add_argument("address")
    command.add_argument("port", type=int)
    command.add_argument("-n", "--number", type=int, default=1)
    command.add_argument("-f", "--flows", type=int, default=1)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
