#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same questions to a store and to the agent that serves it give the same bytes."""
import os
import random
import socket
import struct
import subprocess
import time

from command import BIN, CommandTest, main, pathdump

PATHS = ("1", "1,9,2", "1,9,17,11,3", "1,9,17,13,18,11,3", "t9,9")
QUESTIONS = (("getFlows",), ("getFlows", "--link", "9-17"),
             ("getFlows", "--link", "*-11", "--protocol", "udp"), ("getPaths", "--dst-port", "81"),
             ("getPaths",), ("getCount", "--path", "1,9,17,11,3"),
             ("getCount", "--src-ip", "10.1.1.3"), ("getDuration", "--link", "*-*"),
             ("getDuration", "--dst-ip", "fd00::9"),
             ("getFlows", "--from", "1700000010", "--to", "2023-11-14T22:13:50.5Z"))


class Daemon(CommandTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tib, capture = (os.path.join(cls.folder.name, name) for name in ("tib", "empty.pcap"))
        lines = [f"10.1.1.{random.randrange(2, 6)} 10.2.1.2 {1000 + n % 50} {80 + n % 2} "
                 f"{6 if n % 3 else 17} {random.choice(PATHS)} "
                 f"{1_700_000_000_000_000 + n * 100_000} {1_700_000_000_500_000 + n * 100_000} "
                 f"{n + 1} 1" for n in range(500)]
        subprocess.run([os.path.join(BIN, "tests/make_tib"), cls.tib],
                       input="\n".join(lines) + "\n", text=True, check=True)
        with open(capture, "wb") as f:
            f.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        topology = os.path.join(cls.folder.name, "topology.json")
        with open(topology, "w", encoding="utf-8") as f:
            f.write(pathdump("topology", "fat-tree", "--k", 4)[1])
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            cls.port = s.getsockname()[1]
        cls.daemon = subprocess.Popen(
            [os.path.join(BIN, "pathdumpd"), "--topology", topology, "--intake", f"pcap:{capture}",
             "--tib", cls.tib, "--listen",
             f"127.0.0.1:{cls.port}"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        cls.url = f"http://127.0.0.1:{cls.port}"
        until = time.monotonic() + 20
        while pathdump("query", "--agent", cls.url,
                       "getCount")[0] and time.monotonic() < until and cls.daemon.poll() is None:
            time.sleep(.05)

    @classmethod
    def tearDownClass(cls):
        cls.daemon.terminate()
        _, err = cls.daemon.communicate(timeout=20)
        super().tearDownClass()
        assert cls.daemon.returncode == 0, err

    def test_answers_are_the_same(self):
        for question in QUESTIONS:
            for how in ((), ("--json",)):
                with self.subTest(question + how):
                    self.assertEqual(pathdump("query", "--agent", self.url, *question, *how),
                                     pathdump("query", "--tib", self.tib, *question, *how))

    def test_live_is_understood(self):
        self.assertEqual(self.ok("query", "--agent", self.url, "getCount", "--live"),
                         self.ok("query", "--agent", self.url, "getCount"))


if __name__ == "__main__":
    main()
