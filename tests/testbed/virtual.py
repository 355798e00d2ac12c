# SPDX-License-Identifier: Apache-2.0
"""Virtual addresses (VIPs) on a test bed, as scenarios write them:

    bed.faults.add('{"vip": "10.200.0.1", "hosts": [24, 25], "by": "dnat"}')
    bed.faults.add('{"vip": "10.200.0.1", "hosts": [24, 25], "by": "slb", "slb": "lies"}')

Every host rewrites what its own connections send to the address to one of these hosts (nftables, as
kube-proxy does), evenly over source ports. The kernel knows whom each connection got: the resolver
`conntrack` asks it. With "slb" a small balancer beside it answers the resolver `http`, at SLB_URL:
what is true, or as the fault says.
"""
import ipaddress
import json
import os
import subprocess
import sys

from commands import inside, run_all
from faults import Fault

MEMBERS = {"vip", "hosts", "by", "slb"}
MODES = ("fails", "slow", "lies")
SLB_PORT, SLB_URL = 5998, "http:127.0.0.1:5998/dip"
FIRST_PORT, LAST_PORT = 32768, 60999            # what Linux takes for connections
TARGETS_MAX, IP_MTU = 64, 1500


class Virtual(Fault):
    """{"vip":ADDRESS,"hosts":[IDs],"by":"dnat|slb"[,"slb":"fails|slow|lies"]}: connections to the
    address go to these hosts"""

    def read(self, text):
        self.given = json.loads(text)
        if set(self.given) - MEMBERS:
            raise RuntimeError(f"{min(set(self.given) - MEMBERS)}: unknown member")
        try:
            self.vip = ipaddress.ip_address(self.given["vip"])
        except ValueError:
            raise RuntimeError('vip: expected an address as in "10.200.0.1"') from None
        if any(str(self.vip) in host.node.addrs for host in self.bed.hosts.values()):
            raise RuntimeError("vip: it is the address of a host")
        self.targets = self.read_targets(self.given.get("hosts"))
        self.by, self.mode = self.given.get("by"), self.given.get("slb", "")
        well = "slb" not in self.given or self.by == "slb" and self.mode in MODES
        if self.by not in ("dnat", "slb") or not well:
            raise RuntimeError(
                f'by: expected "dnat", or "slb" with "slb" {", ".join(MODES)} or none')

    def read_targets(self, ids):
        listed = isinstance(ids, list) and 0 < len(ids) <= TARGETS_MAX
        if not listed or any(type(i) is not int or i not in self.bed.hosts for i in ids):
            raise RuntimeError(f"hosts: expected 1 to {TARGETS_MAX} IDs of hosts")
        found = [address_of(self.bed.hosts[i], str(self.vip)) for i in ids]
        if None in found:
            raise RuntimeError("hosts: one of them has no address of this family")
        return found

    def text(self):
        how = f", and the balancer {self.mode}" if self.mode else ", by a balancer"
        return (f"connections to {self.vip} go to {', '.join(self.targets)}"
                f"{how if self.by == 'slb' else ''}")

    def virtuals(self):
        return {str(self.vip): (self.targets, self.by, self.mode)}


def address_of(host, vip):
    """of the family of a virtual address"""
    return host.ipv6 if ":" in vip else host.ipv4


def parts(targets):
    """[(first port, last port, address)]: which source ports get whom"""
    each = (LAST_PORT - FIRST_PORT + 1) / len(targets)
    starts = [0, *(FIRST_PORT + round(each * n) for n in range(1, len(targets)))]
    return list(zip(starts, [start - 1 for start in starts[1:]] + [65535], targets))


def table_of(vip):
    return f"testbed_{int(ipaddress.ip_address(vip)):x}"


def rules(vip, targets):
    """of one host, as nft reads them"""
    family = "ip6" if ":" in vip else "ip"
    shares = ", ".join(f"{first}-{last} : {target}" for first, last, target in parts(targets))
    return (f"table {family} {table_of(vip)} {{\nchain out {{\n"
            f"type nat hook output priority -100;\n{family} daddr {vip} dnat to tcp sport map {{ "
            f"{shares} }}\n}}\n}}\n")


def balancer_file(bed, host):
    return os.path.join(bed.folder, f"balancer{host.id}.json")


def set_up(bed, vip, wanted):
    targets, by, mode = wanted
    hosts = bed.hosts.values()
    run_all([inside(h.namespace, ["nft", "-f", "-"], rules(vip, targets)) for h in hosts])
    route = ["ip", "route", "add", vip, "dev", "eth0", "mtu", str(IP_MTU), "src"]
    run_all([inside(h.namespace, [*route, address_of(h, vip)]) for h in hosts])
    if by == "slb":
        start_balancers(bed, vip, targets, mode)


def start_balancers(bed, vip, targets, mode):
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "balancer.py")
    started = []
    for host in bed.hosts.values():
        name = balancer_file(bed, host)
        with open(name, "w", encoding="utf-8") as file:
            json.dump({"port": SLB_PORT, "vip": vip, "parts": parts(targets), "mode": mode}, file)
        started.append(host.popen([sys.executable, program, name], stdout=subprocess.PIPE,
                                  text=True))
    for process in started:
        process.stdout.readline()
        process.stdout.close()


def take_down(bed, vip, was):
    family = "ip6" if ":" in vip else "ip"
    hosts = bed.hosts.values()
    if was[1] == "slb":
        for host in hosts:
            os.unlink(balancer_file(bed, host))     # by which the balancer ends
    run_all([inside(h.namespace, ["ip", "route", "del", vip]) for h in hosts])
    run_all([inside(h.namespace, ["nft", "delete", "table", family, table_of(vip)]) for h in hosts])
