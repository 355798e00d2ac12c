#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ends of the daemon in awkward moments: frames still with the kernel, writers that stand still,
more stored than is to be kept."""
import fcntl
import os
import re
import signal
import subprocess
import termios
import time

from daemon import START_US, NetworkTest, frame, main

PATH = (1, 9, 17, 11, 3)
ROUNDS, PKTS = 10, 200


class End(NetworkTest):
    def raw_frame(self, src_port=40000):
        return frame("10.1.1.2", "10.2.1.2", src_port, 80, b"x" * 72, self.tags(PATH))

    def fifo(self):
        os.mkfifo(self.path("fifo"))
        return self.path("fifo")

    def test_frames_right_before_the_end(self):
        """what came before SIGTERM is stored, also what the kernel had not handed over yet"""
        raw = self.raw_frame()
        for n in range(1, ROUNDS + 1):
            with self.start(intake="live:rx") as daemon:
                daemon.wait_state("running")
                for _ in range(PKTS):
                    self.sender.send(raw)
                self.assertEqual(daemon.end(), 0)
            self.assertEqual(self.stored("getCount", "--dst-port", 80, "--src-ip",
                                         "10.1.1.2")["pkts"], n * PKTS)

    def test_no_writer(self):
        """a FIFO that nobody has opened for writing: both signals end the daemon"""
        path = self.fifo()
        for how in (signal.SIGTERM, signal.SIGINT):
            with self.start(intake="pcap:" + path) as daemon:
                daemon.wait(lambda: os.path.exists(self.path("tib/data.mdb")))
                time.sleep(.2)
                self.assertEqual(daemon.end(how), -how)

    def test_writer_stands_still(self):
        """a writer that stops in the middle of a record: SIGTERM ends the daemon, what came before
        is stored"""
        path = self.fifo()
        self.capture([(START_US + n * 1000, self.raw_frame()) for n in range(10)])
        with open(self.path("in.pcap"), "rb") as source:
            content = source.read()
        with self.start(intake="pcap:" + path) as daemon, open(path, "wb", buffering=0) as writer:
            writer.write(content[:-20])
            daemon.wait(lambda: fcntl.ioctl(writer, termios.FIONREAD, bytes(4)) == bytes(4))
            time.sleep(.2)
            begun = time.monotonic()
            self.assertEqual(daemon.end(), 0)
            self.assertLess(time.monotonic() - begun, 30)
            self.assertIn("in a record at byte", daemon.log())
        self.assertEqual(self.stored("getCount")["pkts"], 9)

    def store(self, *more, first_us=START_US, flows=20_000, src="10.1.1.2"):
        """stores a capture of that many flows at once; returns how many flows are in the store
        then"""
        tags = self.tags(PATH)
        packets = [(first_us + n, frame(src, "10.2.1.2", 1024 + n, 80, b"x" * 72, tags))
                   for n in range(flows)]
        with self.start("--exit-after-intake", *more, intake=self.capture(packets),
                        listen=False) as daemon:
            self.assertEqual(daemon.process.wait(60), 0)
        return self.stored("getCount")["pkts"]

    def test_age_is_kept_to(self):
        """a capture that ends at once: what of it is too old is gone when the daemon is"""
        now_us = time.time_ns() // 1000
        self.assertEqual(self.store("--retention-age", "1h", first_us=now_us - 7_200_000_000), 0)
        self.assertEqual(self.store("--retention-age", "1h", first_us=now_us - 60_000_000,
                                    flows=1000), 1000)

    def test_size_is_kept_to(self):
        """the oldest goes until the store is small enough, however many calls of the store that
        takes"""
        for n in range(20):
            self.store(first_us=START_US + n * 60_000_000, flows=2000)
        self.assertEqual(self.stored("getCount")["pkts"], 40_000)
        self.assertLessEqual(self.store("--retention-bytes", "64K",
                                        first_us=START_US + 86_400_000_000, flows=10), 6010)

    def test_failure_is_told(self):
        """a failed intake: the log does not say that all of it is stored"""
        intake = self.capture([(START_US, self.raw_frame())])
        with open(self.path("in.pcap"), "ab") as out:
            out.write(b"\xff" * 400)
        with self.start("--exit-after-intake", intake=intake) as daemon:
            self.assertEqual(daemon.process.wait(60), 1)
            self.assertRegex(daemon.log(),
                             "the intake has failed, what was counted before is stored")
            self.assertNotIn("all of it", daemon.log())

    def test_loss_is_told(self):
        """a trajectory memory too small for the capture, and frames that are none: the end says so,
        and not that all is stored"""
        packets = [(START_US + n, self.raw_frame(40000 + n % 3))
                   for n in range(30)] + [(START_US + 30, b"\x02" * 60)] * 5
        capture = self.capture(packets)
        with self.start("--exit-after-intake", "--max-records", "1", intake=capture,
                        listen=False) as daemon:
            self.assertEqual(daemon.process.wait(60), 1)
            self.assertIn("20 packets could not be counted", daemon.log())
            self.assertIn("5 of 35 frames are not counted: not_ip 5", daemon.log())
            self.assertNotIn("all of it", daemon.log())
        self.assertEqual(self.stored("getCount")["pkts"], 10)

    def test_waiting_is_told(self):
        """an interface that goes and comes back, a switch that is not there: the log says when
        nothing is counted, and why"""
        with self.start(intake="live:rx") as daemon:
            daemon.wait_state("running")
            for state, words in (("down", "level=warn .*nothing is counted: rx is down"),
                                 ("up", "packets are counted")):
                subprocess.run(["ip", "link", "set", "rx", state], check=True)
                daemon.wait(lambda: re.search(words, daemon.log()))
            self.assertEqual(daemon.end(), 0)
        with self.start(intake="ovs:" + self.path("socket")) as daemon:
            daemon.wait(lambda: re.search(
                "level=warn .*nothing is counted: .*waiting for the switch", daemon.log()))
            self.assertEqual(daemon.end(), 0)


if __name__ == "__main__":
    main()
