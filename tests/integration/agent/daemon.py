# SPDX-License-Identifier: Apache-2.0
"""A test that has captures and daemons, and namespaces to run them in: what the tests of this
folder share."""
import ctypes
import json
import os
import socket
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../shared"))
from capture import frame, write_pcap
from programs import BIN, Daemon, free_port, pathdump, program

SOURCE = os.environ.get("PD_SOURCE") or os.path.join(HERE, "../../..")
START_US = 1_700_000_000_000_000


class DaemonTest(unittest.TestCase):
    """a folder with a topology (fat-tree, k = 4) for each class, one for each test"""

    @classmethod
    def setUpClass(cls):
        cls.common = tempfile.TemporaryDirectory(prefix="pathdump-agent-")
        cls.topology = os.path.join(cls.common.name, "fat4.json")
        with open(cls.topology, "w", encoding="utf-8") as out:
            out.write(pathdump("topology", "fat-tree", "--k", 4))

    @classmethod
    def tearDownClass(cls):
        cls.common.cleanup()

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="pathdump-agent-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def capture(self, frames, name="in.pcap"):
        write_pcap(self.path(name), frames)
        return "pcap:" + self.path(name)

    def tags(self, path, src="10.1.1.2", dst="10.2.1.2"):
        """of a packet that took this path"""
        words = "--topology", self.topology, "--src", src, "--dst", dst, "--path", ",".join(
            map(str, path)), "--json"
        return json.loads(pathdump("codec", "encode", *words))["tags"]

    def start(self, *more, **options):
        daemon = Daemon(self.folder, *more, topology=options.pop("topology", self.topology),
                        **options)
        self.addCleanup(daemon.__exit__)
        return daemon

    def stored(self, *words):
        return json.loads(pathdump("query", "--tib", self.path("tib"), *words, "--json"))


# ---- namespaces ----

CLONE_NEWNS, CLONE_NEWNET = 0x00020000, 0x40000000


def unshare(flags):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(flags):
        raise OSError(ctypes.get_errno(), "unshare")


def set_up_network():
    """A network of this process and its children alone: a pair of interfaces, tx and rx, and the
    address 10.1.1.2 on rx."""
    unshare(CLONE_NEWNET)
    with open("/proc/sys/net/ipv6/conf/default/disable_ipv6", "w", encoding="ascii") as out:
        out.write("1")              # else the kernel would send frames of its own
    for words in ("link set dev lo up", "link add name tx mtu 1508 type veth peer name rx mtu 1508",
                  "link set dev tx up",
                  "link set dev rx address 02:00:00:00:00:02 up", "addr add 10.2.1.2/24 dev rx"):
        subprocess.run(["ip", *words.split()], check=True)
    for name in ("all", "rx"):
        for key, value in (("rp_filter", "0"), ("accept_local", "1")):
            with open(f"/proc/sys/net/ipv4/conf/{name}/{key}", "w", encoding="ascii") as out:
                out.write(value)
    sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    sender.bind(("tx", 0))
    return sender


class NetworkTest(DaemonTest):
    """in a network of its own; `sender` writes frames to its interface tx"""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.sender = set_up_network()

    @classmethod
    def tearDownClass(cls):
        cls.sender.close()
        super().tearDownClass()


def main():
    if os.geteuid():
        print("needs root: network namespaces, other users", file=sys.stderr)
        sys.exit(1)
    unittest.main(verbosity=2)
