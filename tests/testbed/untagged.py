# SPDX-License-Identifier: Apache-2.0
"""The demonstration's third network: Linux routers that tag nothing. A link begins to lose
packets; hosts trace the ways of connections that have to send again, and one command names the link
and whom it hurt (paper 007)."""
import json
import os
import random
import time

from agent import Agent
from background import Background
from bed import Bed
from commands import wait_for
from show import run, say, title

LOSS = 0.04                     # of the link that loses packets
RATE_MBIT = 1.0                 # of a host; short transfers, each a connection of its own
HUNT_S = 60                     # it takes some 10 s
OPTIONS = ("--trace", "suffering", "--trace-rate", "50")


class Untagged:
    def __init__(self, bed):
        self.bed = bed
        agents = [Agent(host, bed.folder, intake="none", options=OPTIONS).launch()
                  for host in bed.hosts.values()]
        for agent in agents:
            wait_for(
                lambda agent=agent: agent.curl("status"), f"the agent of {agent.host.name}", HUNT_S)

    def lose(self):
        """one direction of a link between routers"""
        network = self.bed.network
        self.lossy = random.choice([(a.id, b) for a in network.switches
                                    for b in network.switch_peers(a.id)])
        self.name = "-".join(map(str, self.lossy))
        self.bed.faults.add(json.dumps({"link": self.name, "loss": LOSS}))
        say(f"One direction of a link, chosen at random, begins to lose {LOSS:.0%} of its packets.")

    def ask(self, since):
        return self.bed.controller.app("drop-causes", **{"from": f"{since:.3f}", "flows": True})

    def named(self, since):
        """the lossy link leads, and several connections tell of it"""
        ranking = self.ask(since).get("results", {}).get("ranking")
        return ranking and ranking[0]["link"] == self.name and ranking[0]["flows"] >= 5

    def hunt(self):
        since = time.time() - 1         # before anything was sent, whatever is rounded
        with Background(self.bed.hosts.values(), rate_mbit=RATE_MBIT):
            self.lose()
            wait_for(lambda: self.named(since), f"a ranking that {self.name} leads", HUNT_S)
            shown = f"pathdump app drop-causes --from {since:.3f} --flows true"
            run(None, f"PATHDUMP_CONTROLLER={self.bed.controller.url} {shown} | head -n 20",
                f"{shown} | head -n 20")
        say(f"It is the link from switch {self.lossy[0]} to switch {self.lossy[1]}. Below it stand "
            f"the connections that it hurt, and their hosts.")


def show(binaries):
    title("14. The same on a network that tags nothing: Linux routers, and hosts that trace what "
          "has to be sent again")
    with Bed(f"untagged{os.getpid()}", binaries=binaries, fabric="router", controller=True) as bed:
        say(f"{len(bed.network.switches)} routers and {len(bed.hosts)} hosts. No rule and no tag: "
            f"agents only watch their own connections.")
        Untagged(bed).hunt()
