# SPDX-License-Identifier: Apache-2.0
"""A test that has a patched switch, captures to feed it, ports to watch it by, and agents: what the
tests of this folder share."""
import os
import re
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ("../agent", "../../testbed")]
import wire
from daemon import CLONE_NEWNET, START_US, DaemonTest, frame, pathdump, unshare, write_pcap
from switch import OVS, Switch

PATHS = ((1, 9, 17, 11, 3), (1, 10, 19, 12, 3))
DETOUR = (1, 9, 17, 11, 4, 12, 3)
SKIPPED = 77
PATIENCE_S, QUIET_S = 20, .05


class SwitchTest(DaemonTest):
    def setUp(self):
        super().setUp()
        self.switch = None

    def start_switch(self, **settings):
        self.switch = Switch(self.folder, **settings)
        self.addCleanup(self.switch.stop)

    def agent(self, **options):
        daemon = self.start(intake="ovs:" + self.switch.socket, **options)
        daemon.wait_state("running")
        return daemon

    def traffic(self, name, flows, pkts=3, first_port=10000):
        """a capture of so many flows on both paths; its path in the file system, and its packets"""
        frames, tags = [], [self.tags(path) for path in PATHS]
        for n in range(flows):
            raw = frame("10.1.1.2", "10.2.1.2", first_port + n, 80, b"x" * (20 + n % 50),
                        tags[n % 2])
            frames += [(START_US + i, raw) for i in range(pkts)]
        write_pcap(self.path(name), frames)
        return self.path(name), len(frames)

    @staticmethod
    def counts(answer):
        """each flow and path with its packets and bytes, in order"""
        return sorted((*flow["flow_id"].values(), flow["path"], flow["pkts"], flow["bytes"])
                      for flow in answer["flows"])

    def wait_count(self, agent, pkts):
        """exactly so many packets are known, stored or not"""
        agent.wait(lambda: agent.get("/v1/getCount?live=true")["pkts"] >= pkts)
        self.assertEqual(agent.get("/v1/getCount?live=true")["pkts"], pkts)

    def stop_counting(self, port):
        """packets that the switch has counted when it counts no more; the port's traffic does not
        end"""
        self.switch.vsctl("set", "interface", port, "other_config:trajectory=false")
        before = self.switch.received()
        # so the burst that had begun then is over
        self.switch.until(lambda: self.switch.received() > before + 1000)
        return self.switch.show("packets counted in a record")

    def tap(self, name, trajectory="false"):
        """a port of the switch that the main thread polls, and a packet socket at its other end"""
        # Open vSwitch leaves it behind when it is killed
        self.addCleanup(run, "ip", "link", "del", name)
        self.switch.vsctl("add-port", "br0", name, "--", "set", "interface", name, "type=tap",
                          f"other_config:trajectory={trajectory}")
        return self.packet_socket(name)

    def veth(self, name):
        """a pair of interfaces of which one is a port of type system; a packet socket on the other
        one"""
        run("ip", "link", "add", name, "mtu", 1508, "type", "veth", "peer", "name", f"{name}-far",
            "mtu", 1508)
        self.addCleanup(run, "ip", "link", "del", name)
        run("ip", "link", "set", name, "up")
        self.switch.vsctl("add-port", "br0", name, "--", "set", "interface", name,
                          "other_config:trajectory=true")
        return self.packet_socket(f"{name}-far")

    def packet_socket(self, name):
        run("ip", "link", "set", name, "up")
        end = wire.listen(name)
        self.addCleanup(end.close)
        return end


def run(*words):
    subprocess.run([*map(str, words)], check=True)


def heard(end, count=0):
    """frames that arrive: `count` at least, however long they take, then until it is quiet"""
    frames = []
    while True:
        end.settimeout(PATIENCE_S if len(frames) < count else QUIET_S)
        try:
            frames.append(wire.read(end)[2])
        except TimeoutError:
            return frames


def metrics(agent):
    """({name with labels: value}, {name: help}) of /metrics, without the prefix"""
    text = agent.raw("/metrics")[2].decode()
    values = {name: int(value) for name, value in re.findall(r"^pathdump_(\S+) (\d+)$", text, re.M)}
    return values, dict(re.findall(r"^# HELP pathdump_(\S+) (.*)$", text, re.M))


def main():
    if not os.path.exists(f"{OVS}/vswitchd/ovs-vswitchd"):
        print("tools/ovs build was not run")
        sys.exit(SKIPPED)
    if os.geteuid():
        print("needs root: network namespaces")
        sys.exit(1)
    unshare(CLONE_NEWNET)           # taps and bridges of the switch are seen by nobody else
    run("ip", "link", "set", "dev", "lo", "up")
    with open("/proc/sys/net/ipv6/conf/default/disable_ipv6", "w", encoding="ascii") as out:
        out.write("1")              # else the kernel would send frames of its own
    unittest.main(verbosity=2)
