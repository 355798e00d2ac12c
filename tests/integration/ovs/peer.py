# SPDX-License-Identifier: Apache-2.0
"""An agent's end of the switch's socket, byte by byte as docs/formats/shared-memory.md says: for
agents that do what pathdumpd would not."""
import mmap
import os
import socket
import struct

MESSAGE = struct.Struct("<IIQQQ")               # type, version, instance, region, value
HELLO, REGION, GONE, BUSY, FLUSH, FLUSHING = range(1, 7)
PAGE = 4096
RING_WRITE, LIVE_RECORDS, UPDATES = 128, 192, 296       # offsets in a region's header


class Region:
    """a region and its index page, mapped as far as the switch allows"""

    def __init__(self, region_fd, index_fd):
        self.fds = region_fd, index_fd
        self.header = mmap.mmap(region_fd, PAGE, prot=mmap.PROT_READ)
        self.index = mmap.mmap(index_fd, PAGE)

    def word(self, offset):
        return struct.unpack_from("<Q", self.header, offset)[0]

    def set_index(self, value):
        struct.pack_into("<Q", self.index, 0, value & (1 << 64) - 1)

    def close(self):
        self.header.close()
        self.index.close()
        for fd in self.fds:
            os.close(fd)


class Peer:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(10)
        self.socket.connect(path)

    def receive(self):
        """(type, version, instance, region, value) and the descriptors; None at the end"""
        data, fds, _, _ = socket.recv_fds(self.socket, MESSAGE.size, 2)
        return (MESSAGE.unpack(data), fds) if data else None

    def attach(self, regions=1):
        """the first so many regions"""
        (kind, *_), _ = self.receive()
        assert kind == HELLO, f"message {kind}"
        found = []
        while len(found) < regions:
            (kind, *_), fds = self.receive()
            if kind == REGION:
                found.append(Region(*fds))
        return found

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, data):
        self.socket.send(data)

    def close(self):
        self.socket.close()
