# SPDX-License-Identifier: Apache-2.0
"""Two network namespaces with a pair of interfaces between them, sockets in them, and a monitor
that watches the first."""
import ctypes
import json
import os
import select
import socket
import struct
import subprocess
import threading
import time

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET = 0x40000000
WAIT_S = 30                     # generous: for two busy cores and a sanitizer
NOWHERE = "02:00:00:00:00:ff"   # frames to it are nobody's


def sh(*args):
    subprocess.run(args, check=True, stdout=subprocess.DEVNULL)


class Within:
    """the calling thread is in another namespace"""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        self.back = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        fd = os.open(f"/run/netns/{self.name}", os.O_RDONLY)
        failed = LIBC.setns(fd, CLONE_NEWNET)
        os.close(fd)
        if failed:
            raise OSError(ctypes.get_errno(), "setns")

    def __exit__(self, *_):
        LIBC.setns(self.back, CLONE_NEWNET)
        os.close(self.back)


class Bed:
    """`here` has 10.9.0.1 and fd09::1; `there` .2 to .9 and ::2 to ::9"""

    def __init__(self):
        self.here, self.there = f"pdtcp{os.getpid()}a", f"pdtcp{os.getpid()}b"
        for name in (self.here, self.there):
            sh("ip", "netns", "add", name)
        sh("ip", "-n", self.here, "link", "add", "v0", "type", "veth", "peer", "name", "v1",
           "netns", self.there)
        for name, dev, numbers in ((self.here, "v0", (1,)), (self.there, "v1", range(2, 10))):
            lines = [f"address add 10.9.0.{n}/24 dev {dev}\naddress add fd09::{n}/64 dev {dev} "
                     f"nodad\n" for n in numbers]
            lines.append(f"link set {dev} up\nlink set lo up\n")
            subprocess.run(["ip", "-n", name, "-batch", "-"], input="".join(lines), text=True,
                           check=True)
        self.mac = json.loads(subprocess.run(["ip", "-n", self.there, "-j", "link", "show", "v1"],
                                             check=True, capture_output=True).stdout)[0]["address"]
        for n in range(2, 10):
            self.lose(n, False)

    def lose(self, number, lost=True):
        """all that is sent to these addresses from now on"""
        for address in (f"10.9.0.{number}", f"fd09::{number}"):
            sh("ip", "-n", self.here, "neighbour", "replace", address, "lladdr",
               NOWHERE if lost else self.mac, "dev", "v0", "nud", "permanent")

    def listen(self, family=socket.AF_INET, name=None):
        """a server that takes all it is sent; its port"""
        with Within(name or self.there):
            server = socket.create_server(("::" if family == socket.AF_INET6 else "0.0.0.0", 0),
                                          family=family, backlog=1024)
        threading.Thread(target=self.swallow, args=(server,), daemon=True).start()
        return server.getsockname()[1]

    @staticmethod
    def swallow(server):
        poll, sockets = select.poll(), {server.fileno(): server}
        poll.register(server, select.POLLIN)
        while True:
            for fd, _ in poll.poll():
                if fd == server.fileno():
                    taken, _ = server.accept()
                    sockets[taken.fileno()] = taken
                    poll.register(taken, select.POLLIN)
                elif not Bed.receive(sockets[fd]):
                    poll.unregister(fd)
                    sockets.pop(fd).close()

    @staticmethod
    def receive(s):
        try:
            return s.recv(1 << 16)
        except ConnectionResetError:
            return b""

    def connect(self, address, port, wait=True, family=None):
        with Within(self.here):
            s = socket.socket(family or (socket.AF_INET6 if ":" in address else socket.AF_INET))
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
        s.setblocking(False)
        s.connect_ex((address, port))
        if wait:
            assert select.select([], [s], [], WAIT_S)[1], "no connection"
            assert s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
        return s

    def close(self):
        for name in (self.here, self.there):
            subprocess.run(["ip", "netns", "del", name], check=False)


def retransmissions(s):
    """the kernel's own count"""
    return struct.unpack_from("I", s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256), 100)[0]


def until(what, condition):
    """what condition() returns, once it is something"""
    end = time.monotonic() + WAIT_S
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.02)


class Monitor:
    def __init__(self, namespace, *args, before=()):
        self.process = subprocess.Popen(["nsenter", f"--net=/run/netns/{namespace}", *before,
                                         f"{os.environ['PD_BIN']}/tests/monitor_probe",
                                         *map(str, args)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.first = json.loads(self.process.stdout.readline())

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def wakes(self, thread):
        """how often the thread of this name has slept"""
        for task in os.listdir(f"/proc/{self.process.pid}/task"):
            with open(f"/proc/{self.process.pid}/task/{task}/status", encoding="ascii") as text:
                lines = dict(line.split(":", 1) for line in text)
            if lines["Name"].strip() == thread:
                return int(lines["voluntary_ctxt_switches"])
        raise AssertionError(f"no thread {thread}")

    def list(self, threshold=0, since_us=0):
        return self.ask(f"list {threshold} {since_us}")

    def flow(self, s, **wish):
        """the flow of a socket of ours, or None"""
        return self.port(s.getsockname()[1], **wish)

    def port(self, port, **wish):
        found = [flow for flow in self.list(**wish)["flows"] if flow["flow_id"]["src_port"] == port]
        assert len(found) < 2, found
        return found[0] if found else None

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(WAIT_S) == 0
