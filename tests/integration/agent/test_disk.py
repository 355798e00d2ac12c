#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A full disk and a full map: what is stored stays readable, what is lost is counted and alarmed,
and room ends it."""
import os
import subprocess
import time

from daemon import CLONE_NEWNS, START_US, NetworkTest, frame, main, unshare


class Disk(NetworkTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        unshare(CLONE_NEWNS)
        subprocess.run(["mount", "--make-rprivate", "/"], check=True)

    def balance(self, daemon, sent):
        """every record is stored or lost, every packet of a stored record is found"""
        tib = daemon.status()["tib"]
        self.assertEqual(tib["stored"] + tib["lost_full"] + tib["lost_error"], tib["appended"])
        self.assertEqual(daemon.get("/v1/getCount?dst_port=80")["pkts"], sent - tib["lost_full"])
        return tib

    def send(self, daemon, ports):
        """one packet of each flow; waits until their records left the trajectory memory"""
        before = daemon.status()["tib"]
        for port in ports:
            self.sender.send(frame("10.1.1.2", "10.1.1.3", port % 65536, 80, b"x" * 72, ())
                             if port < 65536 else frame(f"10.1.1.{2 + port // 65536}", "10.1.1.3",
                                                        port % 65536, 80, b"x" * 72, ()))
        daemon.wait(lambda: daemon.status()["tib"]["appended"] - before["appended"] >= len(ports))
        # once more, so that the last commit is over: at most a second
        daemon.wait(lambda: (lambda t: t["stored"] + t["lost_full"] + t["lost_error"]
                             == t["appended"])(daemon.status()["tib"]))

    def fill_up(self, daemon):
        """sends until records are lost; returns how many were sent"""
        sent = 0
        while not daemon.status()["tib"]["lost_full"] and sent < 400_000:
            self.send(daemon, range(sent, sent + 10_000))
            sent += 10_000
        return sent

    def test_full_disk(self):
        os.mkdir(self.path("small"))
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3M", "tmpfs", self.path("small")],
                       check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", self.path("small")], check=True)
        with open(self.path("small/filler"), "wb") as filler:
            filler.write(b"x" * 2_000_000)
        with self.start("--idle-ms", "50", "--tib", self.path("small/tib"),
                        intake="live:rx") as daemon:
            daemon.wait_state("running")
            sent = self.fill_up(daemon)
            self.assertGreater(daemon.status()["tib"]["lost_full"], 0)
            self.balance(daemon, sent)
            self.assertIn("TIB_FULL", [a["reason"] for a in daemon.get("/v1/alarms")["alarms"]])
            os.unlink(self.path("small/filler"))
            lost = daemon.status()["tib"]["lost_full"]
            self.send(daemon, range(sent, sent + 1000))
            self.assertEqual(self.balance(daemon, sent + 1000)["lost_full"], lost)
            daemon.wait_log("stored again")
            self.assertEqual(daemon.end(), 0)

    def test_full_map(self):
        packets = [(START_US + n * 100, frame("10.1.1.2", "10.1.1.3", n % 60000 + 1, 80 + n
                                              // 60000, b"x" * 72, ())) for n in range(100_000)]
        intake = self.capture(packets)
        with self.start("--map-bytes", "1M", "--exit-after-intake", intake=intake) as daemon:
            self.assertEqual(daemon.process.wait(120), 1)
            self.assertIn("records could not be stored", daemon.log())
        stored = self.stored("getCount")["pkts"]
        self.assertTrue(0 < stored < len(packets))
        with self.start("--map-bytes", "64M", intake=intake) as daemon:
            daemon.wait_state("finished")
            self.assertEqual(daemon.get("/v1/getCount")["pkts"], stored + len(packets))


if __name__ == "__main__":
    main()
