# SPDX-License-Identifier: Apache-2.0
"""Faults as scenarios write them, on a test bed: which packets are lost, as their receivers number
them; and what is refused."""
import json
import subprocess
import sys
import time
import unittest

import scenario                                 # makes the modules of the bed importable

SENDER, NEIGHBOUR, RECEIVER, OTHER = 21, 22, 25, 29
PORT = 5011
RECEIVE = f"""
import json, socket
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
sock.bind(("", {PORT}))
print("ready", flush=True)
heard = []
while True:
    data = sock.recv(100)
    if data == b"end":
        break
    heard.append([int(word) for word in data.split()])
print(json.dumps(heard), flush=True)
"""
SEND = f"""
import socket, sys, time
address, flows, number = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(flows)]
for n in range(number):
    for flow, sock in enumerate(sockets):
        sock.sendto(b"%d %d" % (flow, n), (address, {PORT}))
        if (n * flows + flow) % 8 == 7:
            time.sleep(0.004)
"""
BAD = ({"link": "9-3", "loss": .1}, {"link": "9-17", "loss": 2}, {"switch": 99, "loss": .1},
       {"link": "9-17"},
       {"link": "9-17", "loss": .1, "burst": {"mean_pkts": 0}},
       {"link": "9-17", "loss": .1, "colour": 1},
       {"switch": 9, "card": 1, "loss": .1}, {"link": "9-17", "loss": .1, "blackhole": True},
       {"link": 917, "loss": .1},
       {"link": "9-17", "blackhole": True, "hash": [2, 1]},
       {"link": "9-17", "blackhole": True, "prefix": "10.2.1.1/24"},
       {"link": "9-17", "loss": .1, "start_s": 3, "end_s": 2}, {"link": "9-17", "loss": True}, {})


WHOLE = .95                     # of what nothing takes: a busy machine loses some by itself


class Notation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bed = scenario.bed("noted")
        cls.enterClassContext(cls.bed)

    def setUp(self):
        self.addCleanup(self.bed.faults.clear)

    def send(self, number, flows=1, to=RECEIVER):
        """{flow: [numbers that arrived]} of so many datagrams in each of so many flows"""
        receiver = self.bed.host(to)
        process = receiver.popen([sys.executable, "-c", RECEIVE], stdout=subprocess.PIPE, text=True)
        process.stdout.readline()
        self.bed.host(SENDER).run([sys.executable, "-c", SEND, receiver.ipv4, flows, number],
                                  check=True)
        time.sleep(0.3)
        end = ("import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'end', "
               "('127.0.0.1', %d))" % PORT)
        receiver.run([sys.executable, "-c", end], check=True)
        heard = {flow: [] for flow in range(flows)}
        for flow, n in json.loads(process.stdout.readline()):
            heard[flow].append(n)
        process.wait()
        return heard

    def share(self, number=2000, to=RECEIVER):
        return len(self.send(number, to=to)[0]) / number

    def test_host_links(self):
        """each direction by itself"""
        self.bed.faults.add({"link": f"{SENDER}-1", "loss": .3})
        self.assertAlmostEqual(self.share(), .7, delta=.06)
        self.bed.faults.clear()
        self.bed.faults.add({"link": f"1-{SENDER}", "loss": .3})
        self.assertGreater(self.share(), WHOLE)
        self.bed.faults.clear()
        self.bed.faults.add({"link": f"3-{RECEIVER}", "loss": .3})
        self.assertAlmostEqual(self.share(), .7, delta=.06)

    def test_switch(self):
        """once for each packet, whether it goes on or is delivered there"""
        for switch in 1, 3:
            self.bed.faults.add({"switch": switch, "loss": .3})
            self.assertAlmostEqual(self.share(), .7, delta=.06)
            self.bed.faults.clear()
        self.bed.faults.add({"switch": 1, "loss": .3})
        self.assertAlmostEqual(self.share(to=NEIGHBOUR), .7, delta=.06)

    def test_prefix(self):
        """what is for others passes"""
        for link in "1-9", "1-10":
            self.bed.faults.add({"link": link, "blackhole": True, "prefix": "10.2.1.0/24"})
        self.assertEqual(self.share(200), 0)
        self.assertGreater(self.share(200, to=OTHER), WHOLE)

    def test_hash(self):
        """a flow is lost or it is not"""
        self.bed.faults.add({"link": f"{SENDER}-1", "blackhole": True, "hash": [0, 16383]})
        heard = [len(numbers) for numbers in self.send(20, flows=200).values()]
        self.assertGreater(min(filter(None, heard)), 10)
        self.assertGreater(sum(heard), WHOLE * 20 * sum(map(bool, heard)))
        self.assertAlmostEqual(heard.count(0) / 200, .25, delta=.1)

    def test_burst(self):
        """what is missing is missing in a row"""
        self.bed.faults.add({"link": f"{SENDER}-1", "loss": .2, "burst": {"mean_pkts": 20}})
        heard = set(self.send(12000)[0])
        lost = [n for n in range(12000) if n not in heard]
        bursts = sum(n - 1 not in lost for n in lost)
        self.assertAlmostEqual(len(lost) / 12000, .2, delta=.08)
        self.assertAlmostEqual(len(lost) / bursts, 20, delta=7)

    def test_times(self):
        """begins and ends by itself"""
        since = time.monotonic()
        self.bed.faults.add({"link": f"{SENDER}-1", "loss": 1, "start_s": 3, "end_s": 6})
        self.assertGreater(self.share(50), WHOLE)
        time.sleep(max(0, since + 3.2 - time.monotonic()))
        self.assertEqual(self.share(50), 0)
        time.sleep(max(0, since + 6.2 - time.monotonic()))
        self.assertGreater(self.share(50), WHOLE)

    def test_several(self):
        """two on one link take what each of them takes; taken back one by one"""
        first = self.bed.faults.add({"link": f"{SENDER}-1", "loss": .3})
        self.bed.faults.add({"link": f"{SENDER}-1", "loss": .4})
        self.assertAlmostEqual(self.share(), .42, delta=.06)
        self.bed.faults.clear(first)
        self.assertAlmostEqual(self.share(), .6, delta=.06)

    def test_refused(self):
        for fault in BAD:
            with self.assertRaises(RuntimeError, msg=fault):
                self.bed.faults.add(fault)
        self.assertEqual(self.bed.faults.list(), {})

    def test_command(self):
        """several at once, all or none; another process finds them"""
        def command(*words):
            done = subprocess.run([scenario.COMMAND, "fault", "--name", self.bed.name, *words],
                                  capture_output=True, text=True)
            return done.returncode, done.stdout
        good, bad = '{"link":"9-17","loss":0.1}', '{"link":"9-3","loss":0.1}'
        self.assertEqual(command("add", good, bad)[0], 1)
        self.assertEqual(command("add", f"[{good}", good)[0], 1)
        self.assertEqual(command("add", f"[{good}]", good)[0], 0)
        self.assertEqual(command("list")[1].count('"9-17"'), 2)
        self.assertEqual(command("clear"), (0, ""))


if __name__ == "__main__":
    scenario.main()
