# SPDX-License-Identifier: Apache-2.0
"""A test that has a controller and agents of a fat-tree (k = 4), and knows what each of them was
sent."""
import http.client
import json
import os
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../shared"))
from capture import frame, write_pcap
from programs import Controller, Daemon, pathdump

SOURCE = os.environ.get("PD_SOURCE") or os.path.join(HERE, "../../..")
START_US = 1_700_000_000_000_000
HEADERS = 14 + 20 + 8               # of a frame without payload


class FleetTest(unittest.TestCase):
    """a folder with a topology for each class, one for each test"""

    @classmethod
    def setUpClass(cls):
        cls.common = tempfile.TemporaryDirectory(prefix="pathdump-controller-")
        cls.topology = os.path.join(cls.common.name, "fat4.json")
        with open(cls.topology, "w", encoding="utf-8") as out:
            out.write(pathdump("topology", "fat-tree", "--k", 4))
        with open(cls.topology, encoding="utf-8") as at:
            cls.hosts = {node["id"]: node for node in json.load(at)["nodes"]
                         if node["role"] == "host"}

    @classmethod
    def tearDownClass(cls):
        cls.common.cleanup()

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="pathdump-controller-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, document):
        with open(self.path(name), "w", encoding="utf-8") as out:
            out.write(document if isinstance(document, str) else json.dumps(document))
        return self.path(name)


def post(controller, route, body, accept="application/json"):
    """(status, document)"""
    connection = http.client.HTTPConnection("127.0.0.1", controller.port, timeout=60)
    try:
        connection.request("POST", route, body=body if isinstance(body, (str, bytes))
                           else json.dumps(body), headers={"Accept": accept})
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, text if accept != "application/json" else json.loads(text)
    finally:
        connection.close()


def begin_agent(folder, topology, host, flows):
    """An agent that was sent `flows` from the same rack, of 1, 2, … packets of 100 bytes and more
    each: (agent, {source port: (bytes, packets)})"""
    at = os.path.join(folder, str(host["id"]))
    os.mkdir(at)
    address = next(a for a in host["addrs"] if "." in a)
    source = address.rsplit(".", 1)[0] + ".99"
    frames, sent = [], {}
    for n in range(flows):
        port, payload = 1000 * (host["id"] - 20) + n, b"x" * (60 + n)
        packets = 1 + n % 3
        frames += [(START_US + 1000 * len(frames) + i, frame(source, address, port, 80, payload))
                   for i in range(packets)]
        sent[port] = (packets * (len(payload) + HEADERS - 14), packets)
    write_pcap(os.path.join(at, "in.pcap"), frames)
    return Daemon(at, topology=topology, intake="pcap:" + os.path.join(at, "in.pcap")), sent


def main():
    unittest.main(verbosity=2)
