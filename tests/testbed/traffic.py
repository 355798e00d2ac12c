#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Real traffic between the hosts of a test bed: TCP and UDP over IPv4 and IPv6, every payload
checked.

    traffic.py serve PORT                                answers TCP transfers and UDP probes until
    it is ended
    traffic.py send ADDRESS PORT [-c N] [-r MBIT]        opens N connections; for each line on
    standard input, a
                                                         number of bytes, sends as many over every
                                                         connection and prints what happened as a
                                                         line of JSON; ends with its input
    traffic.py probe PORT [-n N] [-s SIZE] ADDRESS…      N UDP datagrams of SIZE bytes to each
    address, each of them
                                                         echoed; prints the answers that came, as
                                                         JSON

A transfer is a length of 8 bytes, that many random bytes, and their SHA-256, which the receiver
checks and answers.
"""
import argparse
import hashlib
import json
import os
import selectors
import socket
import subprocess
import sys
import time

PORT = 5001
LARGE_PORT = 5002       # of flows that a bad hash takes for large
CHUNK = 16384
RATE_MBIT = 20          # the whole bed is run by a machine of two cores: more makes it lose packets
PROBE_WAIT_S = 2
SERVER_WAIT_S = 5


class Transfer:
    """the receiving end of one connection: length, payload and digest come in, the digest goes
    back"""

    def __init__(self, connection):
        self.connection, self.held, self.left, self.digest = connection, b"", None, None

    def ready(self):
        """takes what has arrived; False at the end of the connection"""
        try:
            data = self.connection.recv(1 << 18)
        except ConnectionError:
            return False
        self.held += data
        while self.step():
            pass
        return bool(data)

    def step(self):
        if self.left is None and len(self.held) >= 8:
            self.left, self.digest, self.held = int.from_bytes(
                self.held[:8], "big"), hashlib.sha256(), self.held[8:]
        elif self.left:
            part, self.held = self.held[:self.left], self.held[self.left:]
            self.digest.update(part)
            self.left -= len(part)
            return bool(part)
        elif self.left == 0 and len(self.held) >= 32:
            right = self.digest.digest() == self.held[:32]
            self.connection.sendall(self.held[:32] if right else bytes(32))
            self.left, self.held = None, self.held[32:]
        else:
            return False
        return True


def serve(options):
    serve_on(options.port)


def serve_on(*ports):
    """answers at these ports for ever; prints "ready" """
    selector, listeners, echoes = selectors.DefaultSelector(), [], []
    for port in ports:
        listeners.append(socket.create_server(("::", port), family=socket.AF_INET6,
                                              dualstack_ipv6=True, backlog=128))
        echoes.append(socket.socket(socket.AF_INET6, socket.SOCK_DGRAM))
        echoes[-1].setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        echoes[-1].bind(("::", port))
    for sock in listeners + echoes:
        selector.register(sock, selectors.EVENT_READ)
    print("ready", flush=True)
    while True:
        for key, _ in selector.select():
            if key.fileobj in listeners:
                connection, _ = key.fileobj.accept()
                selector.register(connection, selectors.EVENT_READ, Transfer(connection))
            elif key.fileobj in echoes:
                datagram, sender = key.fileobj.recvfrom(65536)
                key.fileobj.sendto(datagram, sender)
            elif not key.data.ready():
                selector.unregister(key.fileobj)
                key.fileobj.close()


def receive(connection, size):
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise ConnectionError("the receiver has closed the connection")
        data += part
    return data


def transfer(connections, size, rate_mbit):
    """sends `size` random bytes over each connection, all of them by turns; returns how many
    digests were right"""
    digests = [hashlib.sha256() for _ in connections]
    started, sent = time.monotonic(), 0
    for connection in connections:
        connection.sendall(size.to_bytes(8, "big"))
    for offset in range(0, size, CHUNK):
        for connection, digest in zip(connections, digests):
            part = os.urandom(min(CHUNK, size - offset))
            connection.sendall(part)
            digest.update(part)
            sent += len(part)
            time.sleep(max(0.0, sent * 8 / (rate_mbit * 1e6) - (time.monotonic() - started)))
    for connection, digest in zip(connections, digests):
        connection.sendall(digest.digest())
    return sum(receive(c, 32) == d.digest() for c, d in zip(connections, digests))


def connect(address, port):
    """the server may have been started a moment ago"""
    until = time.monotonic() + SERVER_WAIT_S
    while True:
        try:
            return socket.create_connection((address, port), timeout=30)
        except ConnectionRefusedError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


def send(options):
    connections = [connect(options.address, options.port) for _ in range(options.connections)]
    for connection in connections:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for line in sys.stdin:
        right = transfer(connections, int(line), options.rate)
        print(json.dumps({"connections": len(connections), "right": right, "bytes": int(line),
                          "src_ports": [c.getsockname()[1] for c in connections]}), flush=True)
    for connection in connections:
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)
        connection.close()


def probe(options):
    """one socket for each address, so that flows are told apart by their source port; nothing is
    sent twice"""
    sockets = []
    for address in options.addresses:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        sockets.append(socket.socket(family, socket.SOCK_DGRAM))
        sockets[-1].connect((address, options.port))
    answered = dict.fromkeys(options.addresses, 0)
    for _ in range(options.number):
        for address, sock in zip(options.addresses, sockets):
            datagram = os.urandom(options.size)
            sock.send(datagram)
            sock.settimeout(PROBE_WAIT_S)
            try:
                answered[address] += sock.recv(65536) == datagram
            except (TimeoutError, ConnectionError):
                pass
    print(json.dumps({"answered": answered, "src_ports": [s.getsockname()[1] for s in sockets]}))


class Server:
    """`serve` on a host of a bed"""

    def __init__(self, host, port=PORT):
        self.process = host.popen([sys.executable, __file__, "serve", port], stdout=subprocess.PIPE)
        if self.process.stdout.readline() != b"ready\n":
            raise RuntimeError(f"no server on {host.name}")

    def close(self):
        self.process.terminate()
        self.process.wait()


class Sender:
    """`send` on a host of a bed: connections that stay open between transfers, so that a path can
    change between two"""

    def __init__(self, host, address, connections=1, port=PORT, rate_mbit=RATE_MBIT):
        words = [sys.executable, __file__, "send", address, port, "-c", connections, "-r",
                 rate_mbit]
        self.process = host.popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def send(self, size):
        """sends so many bytes over each connection; returns the source ports. RuntimeError if a
        byte was wrong"""
        self.start(size)
        return self.wait()

    def start(self, size):
        """the first half of `send`: does not wait for its end"""
        self.process.stdin.write(f"{size}\n")
        self.process.stdin.flush()

    def wait(self):
        answer = json.loads(self.process.stdout.readline() or "{}")
        if not answer or answer["right"] != answer["connections"]:
            raise RuntimeError(f"transfer failed: {answer or 'the sender has ended'}")
        return answer["src_ports"]

    def close(self):
        self.process.stdin.close()
        if self.process.wait(30):
            raise RuntimeError("the sender has failed")


def main():
    parser = argparse.ArgumentParser(description="traffic between the hosts of a test bed")
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("serve")
    command.set_defaults(run=serve)
    command.add_argument("port", type=int)
    command = commands.add_parser("send")
    command.set_defaults(run=send)
    command.add_argument("address")
    command.add_argument("port", type=int)
    command.add_argument("-c", "--connections", type=int, default=1)
    command.add_argument("-r", "--rate", type=float, default=RATE_MBIT,
                         help="in Mb/s, all connections together")
    command = commands.add_parser("probe")
    command.set_defaults(run=probe)
    command.add_argument("port", type=int)
    command.add_argument("-n", "--number", type=int, default=1)
    command.add_argument("-s", "--size", type=int, default=100)
    command.add_argument("addresses", nargs="+")
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
