# SPDX-License-Identifier: Apache-2.0
"""Frames built byte by byte, and capture files of them: what tests send into the programs."""
import ipaddress
import struct

ICMP, TCP, UDP, IPV6_FRAGMENT, ICMPV6 = 1, 6, 17, 44, 58
TCP_FLAGS = {"FIN": 1, "SYN": 2, "RST": 4, "PSH": 8, "ACK": 16, "URG": 32}
DOT1Q, QINQ = 0x8100, 0x88A8
MACS = b"\x02\0\0\0\0\2\x02\0\0\0\0\1"


def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


# ---- frames ----

def transport(protocol, src_port, dst_port, payload, flags=TCP_FLAGS["ACK"]):
    """header and payload of TCP and UDP; of another protocol eight bytes that look like an ICMP
    header"""
    if protocol == TCP:
        return struct.pack(">HHIIBBHHH", src_port, dst_port, 1, 1, 5 << 4, flags, 65535, 0,
                           0) + payload
    if protocol == UDP:
        return struct.pack(">HHHH", src_port, dst_port, 8 + len(payload), 0) + payload
    return struct.pack(">BBHHH", 8, 0, 0, 0, 1) + payload


def ipv4(src, dst, protocol, data, dscp=0, fragment=None):
    """`fragment`: (offset in bytes, whether more follow)"""
    offset, more = fragment or (0, False)
    head = struct.pack(">BBHHHBBH4s4s", 0x45, dscp << 2, 20 + len(data), 1,
                       more << 13 | offset // 8, 64, protocol, 0, src.packed, dst.packed)
    return head[:10] + struct.pack(">H", checksum(head)) + head[12:] + data


def ipv6(src, dst, protocol, data, dscp=0, fragment=None):
    if fragment:
        data = struct.pack(">BBHI", protocol, 0, fragment[0] | fragment[1], 1) + data
        protocol = IPV6_FRAGMENT
    return struct.pack(">IHBB16s16s", 6 << 28 | dscp << 22, len(data), protocol, 64, src.packed,
                       dst.packed) + data


def packet(src, dst, src_port, dst_port, payload=b"", protocol=UDP, dscp=0, flags=TCP_FLAGS["ACK"],
           fragment=None):
    """the IP packet; a fragment that is not the first has nothing but the payload"""
    src, dst = ipaddress.ip_address(src), ipaddress.ip_address(dst)
    later = fragment and fragment[0]
    data = payload if later else transport(protocol, src_port, dst_port, payload, flags)
    return (ipv4 if src.version == 4 else ipv6)(src, dst, protocol, data, dscp, fragment)


def ethernet(ip, tags=(), outer=DOT1Q):
    """`tags` are whole TCIs, innermost first; `outer` is the type of the outermost"""
    kinds = [DOT1Q] * (len(tags) - 1) + [outer]
    stack = b"".join(struct.pack(">HH", kind, tag)
                     for kind, tag in reversed(list(zip(kinds, tags))))
    return MACS + stack + (b"\x08\0" if ip[0] >> 4 == 4 else b"\x86\xDD") + ip


def frame(src, dst, src_port, dst_port, payload=b"", tags=(), dscp=0, protocol=UDP):
    """the usual case in one call"""
    return ethernet(packet(src, dst, src_port, dst_port, payload, protocol, dscp), tags)


# ---- files: frames are (time in us, bytes) ----

def write_pcap(path, frames):
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for time_us, raw in frames:
            out.write(struct.pack("<IIII", time_us // 1_000_000, time_us % 1_000_000, len(raw),
                                  len(raw)) + raw)


def block(kind, body):
    body += bytes(-len(body) % 4)
    size = struct.pack("<I", 12 + len(body))
    return struct.pack("<I", kind) + size + body + size


def write_pcapng(path, frames):
    """one section, one interface, times in nanoseconds"""
    with open(path, "wb") as out:
        out.write(block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)))
        out.write(block(1,
                        struct.pack("<HHI", 1, 0, 65535) + struct.pack("<HHB3xHH", 9, 1, 9, 0, 0)))
        for time_us, raw in frames:
            high, low = divmod(time_us * 1000, 1 << 32)
            out.write(block(6, struct.pack("<IIIII", 0, high, low, len(raw), len(raw)) + raw))
