#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Agents that the switch must not trust, and switches that the agent must not: who may attach, and
what one that lies can reach."""
import mmap
import os
import random
import socket
import threading
import time

from case import SwitchTest, main
from peer import FLUSH, HELLO, MESSAGE, REGION, RING_WRITE, Peer

STRANGER = 65530                                # a user and a group that owns nothing
SEED = int(os.environ.get("PD_SEED") or time.time_ns() % 1_000_000)


class TestPeers(SwitchTest):
    def attach_as(self, user, group):
        """the type of the first message of the switch to an agent of this user and group, 0 when it
        closes"""
        child = os.fork()
        if not child:
            try:
                os.setgroups([])
                os.setresgid(group, group, group)
                os.setresuid(user, user, user)
                with Peer(self.switch.socket) as peer:
                    said = peer.receive()
                os._exit(said[0][0] if said else 0)
            finally:
                os._exit(255)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    def forwarded(self):
        ports = self.switch.appctl("dpctl/show", "-s", "netdev@ovs-netdev").split("  port ")
        return next(int(port.split("TX packets:")[1].split()[0]) for port in ports
                    if ": out " in port)

    def add_out(self):
        """a port that takes everything and gives nothing"""
        self.switch.vsctl("add-port", "br0", "out", "--", "set", "interface", "out", "type=dpdk",
                          'options:dpdk-devargs="net_null0,no-rx=1"')

    def endless(self, flows=3000):
        """traffic that goes in at one port and out at another; the name of the first"""
        self.add_out()
        return self.switch.replay(self.traffic("endless.pcap", flows, pkts=1)[0],
                                  options=",infinite_rx=1")

    def check_goes_on(self):
        """packets are counted and forwarded"""
        counted, forwarded = self.switch.show("packets counted in a record"), self.forwarded()
        self.switch.until(lambda: self.switch.show("packets counted in a record") > counted + 10000)
        self.switch.until(lambda: self.forwarded() > forwarded + 10000)

    def test_who_may_attach(self):
        """the switch's own user, root and the group of the socket; nobody else, though the socket's
        mode would let him"""
        self.start_switch()
        self.switch.replay(self.traffic("a.pcap", 10)[0])
        self.switch.until(lambda: os.path.exists(self.switch.socket))
        os.chmod(self.folder, 0o755)
        os.chmod(self.switch.socket, 0o777)
        self.assertEqual(self.attach_as(STRANGER, STRANGER), 0)
        self.switch.until(lambda: f"of user {STRANGER} is not allowed" in self.switch.log())
        self.assertEqual(self.attach_as(0, STRANGER), HELLO)
        os.chown(self.switch.socket, -1, STRANGER)
        self.assertEqual(self.attach_as(STRANGER, STRANGER), HELLO)
        self.assertEqual(self.attach_as(STRANGER, STRANGER + 1), 0)

    def test_index_scribbled(self):
        """nonsense in the index page, and messages that there are not: the switch goes on, and an
        honest agent after it has it exact"""
        print("seed", SEED, flush=True)
        self.start_switch(**{"trajectory-active-ms": 200})
        port = self.endless()
        peer = Peer(self.switch.socket)
        regions = peer.attach(self.switch.regions())
        for region in regions:
            self.check_sealed(region)
            region.set_index(1 << 63)
        self.check_figures()
        ended = threading.Event()

        def scribble():
            rng = random.Random(SEED)
            while not ended.is_set():
                region = rng.choice(regions)
                written = region.word(RING_WRITE)
                region.set_index(rng.choice((0, 1, -1, 1 << 63, written, written + 1,
                                             written - 65536, rng.getrandbits(64))))

        thread = threading.Thread(target=scribble)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(ended.set)
        self.check_goes_on()
        ended.set()
        thread.join()
        self.stop_counting(port)
        peer.send(b"what is this")
        self.assertIsNone(peer.receive(), "the switch talks to one that talks nonsense")
        peer.close()
        for region in regions:
            region.close()
        with self.agent() as agent:
            agent.wait(lambda: self.switch.figures()["ring"] == 0)
            known = agent.get("/v1/getCount?live=true")["pkts"]
            pcap, pkts = self.traffic("later.pcap", 500, first_port=20000)
            self.switch.replay(pcap)
            self.wait_count(agent, known + pkts)

    def check_sealed(self, region):
        """an agent cannot write to the region, nor change the size of either"""
        for work in (lambda: mmap.mmap(region.fds[0],
                                       mmap.PAGESIZE), lambda: os.pwrite(region.fds[0], b"x", 0)):
            self.assertRaises(PermissionError, work)
        for fd in region.fds:
            for size in (0, 1 << 33):
                self.assertRaises(PermissionError, os.ftruncate, fd, size)

    def check_figures(self):
        """trajectory/show does not believe it either"""
        for line in self.switch.appctl("trajectory/show").splitlines():
            if line.strip().startswith("ring: "):
                used, slots = int(line.split()[1]), int(line.split()[3])
                self.assertLessEqual(used, slots, line)

    def test_agent_that_never_reads(self):
        """its ring fills, records stay in the table and nothing is lost; the next agent stores
        all"""
        self.start_switch(**{"trajectory-active-ms": 100})
        port = self.endless(20000)
        peer = Peer(self.switch.socket)
        self.switch.until(lambda: self.switch.show("ring full") > 0)
        self.check_goes_on()
        counted = self.stop_counting(port)
        self.assertEqual(self.switch.show("packets not counted"), 0)
        peer.close()
        agent = self.agent()
        self.wait_count(agent, counted)
        self.assertEqual(agent.end(), 0)
        self.assertEqual(self.stored("getCount")["pkts"], counted)

    def test_flood_of_flushes(self):
        """an agent that asks for a flush all the time"""
        self.start_switch()
        port = self.endless()
        peer = Peer(self.switch.socket)
        peer.attach()[0].close()
        peer.socket.setblocking(False)
        until = time.monotonic() + .5
        while time.monotonic() < until:
            try:
                peer.send(MESSAGE.pack(FLUSH, 1, 0, 0, 0))
            except BlockingIOError:
                pass
        self.check_goes_on()
        peer.close()
        counted = self.stop_counting(port)
        self.wait_count(self.agent(), counted)

    def test_no_room(self):
        """more flows than trajectory-max-records: what the table did not take is counted as such,
        packets and bytes"""
        self.start_switch(**{"trajectory-max-records": 1000})
        pcap, pkts = self.traffic("a.pcap", 5000)
        agent = self.agent()
        self.switch.replay(pcap)
        self.switch.until(lambda: self.switch.show("frames ok") == pkts)
        counted, lost = self.switch.show("packets counted in a record"), self.switch.show(
            "packets not counted")
        self.assertEqual(counted + lost, pkts)
        self.assertEqual(self.switch.show("live records"), 1000)
        self.wait_count(agent, counted)
        trajectory = agent.status()["trajectory"]
        self.assertEqual((trajectory["updates"], trajectory["lost_full_pkts"]), (counted, lost))
        self.assertEqual(trajectory["lost_full_bytes"], self.switch.show("bytes not counted"))

    def test_versions(self):
        """a switch of another version is refused, and the operator told both; one that talks
        nonsense as well"""
        path = self.path("other.sock")
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(path)
            listener.listen()
            agent = self.start(intake="ovs:" + path)
            for first, detail in ((MESSAGE.pack(HELLO, 7, 1, 0, 0),
                                   "the switch speaks version 7, this agent version 2"),
                                  (MESSAGE.pack(HELLO, 1, 1, 0, 0),
                                   "the switch speaks version 1, this agent version 2"),
                                  (b"nonsense", "what came from the switch is not a message")):
                switch, _ = listener.accept()
                switch.send(first)
                self.switch_refused(agent, detail)
                switch.close()
            switch, _ = listener.accept()
            self.lie(switch)
            self.switch_refused(agent, "the switch's shared memory cannot be mapped")
            switch.close()

    def switch_refused(self, agent, detail):
        agent.wait(lambda: detail in agent.status()["intake"]["detail"])
        self.assertEqual(agent.status()["intake"]["state"], "waiting")

    @staticmethod
    def lie(switch):
        """a region that is none, in files that could shrink"""
        files = [os.memfd_create("lie") for _ in range(2)]
        switch.send(MESSAGE.pack(HELLO, 2, 1, 0, 0))
        socket.send_fds(switch, [MESSAGE.pack(REGION, 1, 1, 1, 0)], files)
        for fd in files:
            os.close(fd)


if __name__ == "__main__":
    main()
