#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What really was on the wires of a test bed, seen by packet sockets: the account that answers are
compared with.

    wire.py count                counts packets and bytes by flow and by receiving interface, all
    interfaces
    wire.py pcap FILE [IFACE]    writes what an interface receives, tags and all, to a capture file
    (and counts it)

Either prints "ready", listens until its standard input ends and the wire is quiet, and prints its
counts as JSON: {"lost": packets that the socket had no room for, "counts": [[interface, flow ID…,
packets, bytes], …]}. Bytes are those of the IP packet. It knows nothing of tags but how to skip
them: the parser is deliberately its own.
"""
import json
import os
import select
import socket
import struct
import subprocess
import sys

SOL_PACKET, PACKET_STATISTICS, PACKET_AUXDATA, PACKET_IGNORE_OUTGOING = 263, 6, 8, 23
SO_TIMESTAMPNS, SO_RCVBUFFORCE = 35, 33
ETH_P_ALL = 3
TP_STATUS_VLAN_VALID = 0x10
BUFFER_BYTES = 64 << 20
QUIET_S = 0.3
TAG_TYPES = (0x8100, 0x88A8)
TCP, UDP, FRAGMENT = 6, 17, 44
HOP_BY_HOP, ROUTING = 0, 43


def listen(interface=None):
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                         socket.htons(ETH_P_ALL) if interface is None else 0)
    sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
    for level, name in ((SOL_PACKET, PACKET_AUXDATA), (SOL_PACKET, PACKET_IGNORE_OUTGOING),
                        (socket.SOL_SOCKET, SO_TIMESTAMPNS)):
        sock.setsockopt(level, name, 1)
    if interface:
        sock.bind((interface, ETH_P_ALL))
    return sock


def read(sock):
    """(interface, time in ns, frame as it was on the wire): the kernel hands the outer tag over
    beside the frame"""
    frame, extra, _, sender = sock.recvmsg(65536, 256)
    time_ns = 0
    for level, kind, data in extra:
        if level == SOL_PACKET and kind == PACKET_AUXDATA:
            status, _, _, _, _, tci, tpid = struct.unpack("IIIHHHH", data[:20])
            if status & TP_STATUS_VLAN_VALID:
                frame = frame[:12] + struct.pack("!HH", tpid or 0x8100, tci) + frame[12:]
        elif level == socket.SOL_SOCKET and kind == SO_TIMESTAMPNS:
            seconds, ns = struct.unpack("qq", data[:16])
            time_ns = seconds * 10**9 + ns
    return sender[0], time_ns, frame


def packet(frame):
    """(flow ID, bytes) of a frame, or None if it holds no IP; fragments but the first have no
    ports"""
    at = 12
    while (kind := int.from_bytes(frame[at:at + 2], "big")) in TAG_TYPES:
        at += 4
    ip = frame[at + 2:]
    if kind == 0x0800:
        family, addrs, protocol, size, l4 = socket.AF_INET, ip[12:20], ip[9], int.from_bytes(
            ip[2:4], "big"), (ip[0] & 15) * 4
        offset = int.from_bytes(ip[6:8], "big") & 0x1FFF
    elif kind == 0x86DD:
        family, addrs, protocol, size, l4, offset = socket.AF_INET6, ip[8:40], ip[
            6], 40 + int.from_bytes(ip[4:6], "big"), 40, 0
        while protocol in (HOP_BY_HOP, ROUTING):
            protocol, l4 = ip[l4], l4 + 8 * (ip[l4 + 1] + 1)
        if protocol == FRAGMENT:
            protocol, l4, offset = ip[40], 48, int.from_bytes(ip[42:44], "big") >> 3
    else:
        return None
    half = len(addrs) // 2
    ports = struct.unpack("!HH", ip[l4:l4 + 4]) if protocol in (TCP, UDP) and not offset else (0, 0)
    return (socket.inet_ntop(family, addrs[:half]), socket.inet_ntop(family, addrs[half:]), *ports,
            protocol), size


def main(mode, file=None, interface="eth0"):
    sock = listen(interface if mode == "pcap" else None)
    capture = open(file, "wb") if file else None
    if capture:
        capture.write(struct.pack("IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1))
    counts, ending = {}, False
    print("ready", flush=True)
    while True:
        ready = select.select([sock] if ending else [sock, 0], [], [],
                              QUIET_S if ending else None)[0]
        if sock in ready:
            name, time_ns, frame = read(sock)
            if capture:
                capture.write(struct.pack("IIII", time_ns // 10**9, time_ns % 10**9, len(frame),
                                          len(frame)) + frame)
            if found := packet(frame):
                count = counts.setdefault((name, *found[0]), [0, 0])
                count[0] += 1
                count[1] += found[1]
        elif ending:
            break
        ending = ending or (0 in ready and not os.read(0, 1))
    if capture:
        capture.close()
    lost = struct.unpack("II", sock.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))[1]
    print(json.dumps({"lost": lost, "counts": [[*key, *count] for key, count in counts.items()]}))


class Watch:
    """one wire.py in a namespace; `command` starts a program there (Host.popen, or Bed.popen_at)"""

    def __init__(self, start, *words):
        self.process = start([sys.executable, __file__, *words], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()

    def end(self):
        """the first half of `stop`: several end at the same time"""
        if self.process.stdin:
            self.process.stdin.close()
            self.process.stdin = None

    def stop(self):
        """{(interface, flow ID): (packets, bytes)}; RuntimeError if it is not the whole truth"""
        self.end()
        answer = json.loads(self.process.communicate()[0])
        if answer["lost"]:
            raise RuntimeError(f"the account has lost {answer['lost']} packets")
        return {(c[0], tuple(c[1:6])): (c[6], c[7]) for c in answer["counts"]}


class Account:
    """all wires between switches, and those from a host to its switch: `stop` gives {flow ID:
    {link: (pkts, bytes)}}"""

    def __init__(self, bed):
        self.watches = [Watch(lambda args, site=site, **options: bed.popen_at(
            site, args, **options), "count") for site in bed.sites]

    def stop(self):
        found = {}
        for watch in self.watches:
            watch.end()
        for watch in self.watches:
            for (interface, flow), count in watch.stop().items():
                if interface.startswith("s") and "-" in interface:
                    to, come_from = map(int, interface[1:].split("-"))
                    found.setdefault(flow, {})[come_from, to] = count
        return found


if __name__ == "__main__":
    main(*sys.argv[1:])
