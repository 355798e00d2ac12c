#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Traffic that nobody waits for, on a test bed: what a network carries all day, many senders to one receiver, and datagrams in one direction.

    background.py mesh [-r MBIT] [-w N] ADDRESS…         serves transfers, and makes short ones to addresses chosen at random, N at a time, from the
                                                         end of a line of input on, until it is ended
    background.py press ADDRESS PORT SECONDS             one connection that sends as much as the network takes; prints {"bytes": …}
    background.py flood ADDRESS PORT [-n N] [-f FLOWS]   N datagrams of 100 bytes in each of so many flows; prints {"src_ports": […]}

Transfers that fail are counted, no more: networks with faults are what this is for. `mesh` prints {"done": N, "failed": N} when it ends.
"""
import argparse
import json
import random
import signal
import socket
import subprocess
import sys
import threading
import time

import traffic

SMALL_BYTES, LARGE_BYTES = (2_000, 40_000), (60_000, 120_000)
LARGE_SHARE = 0.1               # of transfers: they go to traffic.LARGE_PORT, as if a switch knew the size of a flow from its port
WAIT_S = 10                     # for a transfer
MESH_MBIT = 0.4                 # of one host
DATAGRAM, FLOOD_PPS = bytes(100), 4000


class Mesh:
    """the transfers of one host; its numbers belong to several threads, which hold the lock"""

    def __init__(self, options):
        self.options, self.lock = options, threading.Lock()
        self.done = self.failed = 0

    def run(self):
        threading.Thread(target=traffic.serve_on, args=(traffic.PORT, traffic.LARGE_PORT), daemon=True).start()
        sys.stdin.readline()                    # until all others serve, too
        for _ in range(self.options.workers):
            threading.Thread(target=self.work, daemon=True).start()
        signal.sigwait({signal.SIGTERM, signal.SIGINT})
        with self.lock:
            print(json.dumps({"done": self.done, "failed": self.failed}), flush=True)

    def work(self):
        while True:
            large = random.random() < LARGE_SHARE
            size, started = random.randint(*(LARGE_BYTES if large else SMALL_BYTES)), time.monotonic()
            right = self.transfer(random.choice(self.options.addresses), large, size)
            with self.lock:
                self.done, self.failed = self.done + right, self.failed + (not right)
            share_s = size * 8e-6 * self.options.workers / self.options.rate
            time.sleep(max(0.0, share_s * random.uniform(0.5, 1.5) - (time.monotonic() - started)))

    def transfer(self, address, large, size):
        try:
            with socket.create_connection((address, traffic.LARGE_PORT if large else traffic.PORT), timeout=WAIT_S) as connection:
                return traffic.transfer([connection], size, traffic.RATE_MBIT) == 1
        except OSError:
            return False


def mesh(options):
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})      # in all threads: Mesh.run waits for them
    Mesh(options).run()


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
        with socket.socket(socket.AF_INET6 if ":" in options.address else socket.AF_INET, socket.SOCK_DGRAM) as sock:
            started = time.monotonic()
            for n in range(1, options.number + 1):
                sock.sendto(DATAGRAM, (options.address, options.port))
                time.sleep(max(0.0, n / FLOOD_PPS - (time.monotonic() - started)))
            ports.append(sock.getsockname()[1])
    print(json.dumps({"src_ports": ports}))


class Background:
    """`mesh` on these hosts of a bed, from each to each other one over both families; also a context, at whose end it is stopped"""

    def __init__(self, hosts, rate_mbit=MESH_MBIT, workers=2):
        hosts = list(hosts)
        self.processes = []
        for host in hosts:
            others = [address for other in hosts if other is not host for address in other.node.addrs]
            words = [sys.executable, __file__, "mesh", "-r", rate_mbit, "-w", workers, *others]
            self.processes.append(host.popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True))
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
        """(transfers that went well, transfers that failed)"""
        for process in self.processes:
            process.terminate()
        ends = [json.loads(process.communicate()[0].splitlines()[-1]) for process in self.processes]
        self.processes = []
        return sum(end["done"] for end in ends), sum(end["failed"] for end in ends)


def main():
    parser = argparse.ArgumentParser(description="traffic that nobody waits for, on a test bed")
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("mesh")
    command.set_defaults(run=mesh)
    command.add_argument("-r", "--rate", type=float, default=MESH_MBIT, help="of this host, in Mb/s")
    command.add_argument("-w", "--workers", type=int, default=2, help="transfers at a time")
    command.add_argument("addresses", nargs="+")
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
