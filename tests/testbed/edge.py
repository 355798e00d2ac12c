# SPDX-License-Identifier: Apache-2.0
"""The edge of a server: a patched Open vSwitch of its own between the rack and the host, as on a
server whose traffic all passes its virtual switch. It takes the tags off and counts; an agent
attaches to its socket, the host gets plain packets.

    rack switch ── uplink [edge: ovs-vswitchd] vm ── eth0 of the host
"""
import os

from commands import TIMEOUT_S, run_all, wait_for
from fabrics.ovs import Site

UPLINK, VM = "uplink", "vm"
BRIDGE = "edge"
WHERE = {"ovsdb-server": "ovsdb", "ovsdb-tool": "ovsdb", "ovs-vswitchd": "vswitchd"}


class Edge(Site):
    """a site with one bridge of two ports, run by the switch that `tools/ovs build` leaves in the
    folder `build`"""

    def __init__(self, host, build, namespace, folder, environment):
        super().__init__(f"edge{host.id}", [], namespace, folder, environment)
        self.build = build
        self.socket = os.path.join(self.folder, "trajectory.sock")
        self.switch = None                      # the process, in the process that has started it

    def start_switches(self):
        self.switch = super().start_switches()
        return self.switch

    def program(self, name):
        """the patched programs; ovs-vsctl and ovs-ofctl are those of the machine"""
        return os.path.join(self.build, WHERE[name], name) if name in WHERE else name

    def schema(self):
        return os.path.join(self.build, "vswitchd", "vswitch.ovsschema")

    def bring_up(self):
        """a bridge that learns addresses, so that it needs nothing more after a restart either"""
        words = ["ovs-vsctl", f"--timeout={TIMEOUT_S}", f"--db={self.db}", "--", "set",
                 "Open_vSwitch", ".",
                 "other_config:n-revalidator-threads=1",
                 f'other_config:trajectory-socket="{self.socket}"',
                 "--", "add-br", BRIDGE, "--", "set", "bridge", BRIDGE, "datapath_type=netdev"]
        words += ["--", "add-port", BRIDGE, UPLINK, "--", "set", "interface", UPLINK,
                  "other_config:trajectory=true", "--", "add-port", BRIDGE, VM]
        return words, self.env, None

    def ask(self, *words):
        """what `ovs-appctl` says"""
        command = [os.path.join(self.build, "utilities", "ovs-appctl"), "-t",
                   f"{self.folder}/ovs-vswitchd.ctl", *words]
        return run_all([(command, self.env, None)])[0]

    def wait_for_socket(self):
        wait_for(lambda: os.path.exists(self.socket), f"the socket of {self.name}")
