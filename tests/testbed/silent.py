# SPDX-License-Identifier: Apache-2.0
"""The demonstration's second network: switches in the kernel that write filters of the path on each
packet, and count what they send and receive. A link loses a few packets, another one that carries
nothing loses all, and one command names each for certain."""
import os
import random
import re

from agent import start_all
from background import Background
from bed import BINARIES, HERE, Bed
from commands import wait_for
from show import run, say, title

LOSS = 0.02                     # of the link that loses packets
RATE_MBIT, FLOW_MBIT = 10, 2    # of a host; of one transfer
ALPHA, EPOCH_MS = 50, 500       # of the meters
COUNTED = 5000                  # packets that meters have followed before the hunt begins
PROBES_HZ, MAX_HOPS = 100, 12
OK = 1                          # a direction that probes cross
LINK_MBPS = 1000                # what its application is told that links carry
HUNT_S = 60                     # each takes a few seconds
BED = os.path.relpath(os.path.join(HERE, "bed"))


class Silent:
    def __init__(self, bed):
        self.bed, self.controller = bed, bed.controller
        start_all(bed)
        network = bed.network
        self.links = [(a.id, b) for a in network.switches for b in network.switch_peers(a.id)]

    def ask(self, command):
        """a command that takes --controller"""
        return run(None, f"PATHDUMP_CONTROLLER={self.controller.url} pathdump {command}",
                   f"pathdump {command}")

    def fault(self, words):
        run(None, f"{BED} fault --name {self.bed.name} {words}")

    def alarms(self):
        return self.controller.ask("alarms?reason=POOR_PERF")["alarms"]

    def report(self, app, link, **arguments):
        """of a run that names this link alone, for certain"""
        report = self.controller.app(app, **arguments)
        return report["certain"] and report["links"] == ["{}-{}".format(*link)]

    def hunt(self, app, link, **arguments):
        name = "{}-{}".format(*link)
        wait_for(lambda: self.report(app, link, **arguments), f"a certain verdict on {name}",
                 HUNT_S)
        flags = "".join(f" --{name.replace('_', '-')} {value}" for name, value in arguments.items())
        text = self.ask(f"app {app}{flags}")
        if not re.search(rf"^certain +yes.*\n(.*\n)*links +{name}$", text, re.MULTILINE):
            raise RuntimeError(f"the verdict does not name {name} for certain")

    def count(self):
        """meters at both ends of each stretch between a rack and a core"""
        self.ask(f"monitors start --alpha {ALPHA} --epoch-ms {EPOCH_MS} | head -n 4")
        wait_for(lambda: self.controller.ask("status")["meters"]["measured"] > COUNTED,
                 "packets that meters follow", HUNT_S)

    def lose(self):
        link = random.choice(self.links)
        before = len(self.alarms())
        say(f"One direction of a link, chosen at random, begins to lose {LOSS:.0%} of its packets.")
        self.fault("add loss {} {} {}".format(*link, LOSS))
        say("No counter of a switch tells of it, and no connection breaks. But hosts have to send "
            "again, and their agents notice:")
        wait_for(lambda: len(self.alarms()) >= before + 4, "alarms of hosts that send again",
                 HUNT_S)
        self.ask("alarms --reason POOR_PERF | tail -n 4")
        return link

    def silent_drops(self):
        title("11. Which link drops packets in silence? First, one is made to")
        say("Another network, a faster one: its switches are programs in the kernel. Each adds its "
            "bits to a filter on every packet,")
        say("and those of the racks and the cores count what they send each other. All hosts send "
            "each other files.")
        with Background(self.bed.hosts.values(), RATE_MBIT, "web-search",
                        flow_mbit=FLOW_MBIT) as background:
            self.count()
            link = self.lose()
            title("12. The hunt: flows that suffered against those that did not, and what was "
                  "counted on both sides")
            self.hunt("silent-drops", link, link_mbps=LINK_MBPS, kinds="both")
            carried = background.stop()
        say("It is the link from switch {} to switch {}, and no other.".format(*link))
        self.fault("clear")
        say(f"Meanwhile {carried['done']} files have arrived, each as it was sent: TCP repairs "
            f"what it can, and so hides what is broken.")

    def crossed(self):
        """directions that probes cross"""
        links = self.controller.ask("links?metrics=probe_state")["links"]
        return sum(link["probe_state"] == OK for link in links)

    def dead_link(self):
        title("13. And a link that carries nothing just now? Probes cross each direction of each "
              "link")
        self.ask("monitors stop")
        self.ask(f"probes start --rate {PROBES_HZ} --max-hops {MAX_HOPS} | head -n 4")
        wait_for(lambda: self.crossed() == len(self.links), "probes on every link", HUNT_S)
        link = random.choice(self.links)
        say("Nobody sends anything now, and one direction of a link, chosen at random, begins to "
            "lose all.")
        self.fault("add blackhole {} {}".format(*link))
        self.hunt("probe-faults", link)
        say("It is the link from switch {} to switch {}: found before any traffic met "
            "it.".format(*link))


def show(binaries=BINARIES):
    with Bed(f"silent{os.getpid()}", binaries=binaries, fabric="tc", tagged=all, controller=True,
             codec="path-bloom", monitors="tor+top") as bed:
        silent = Silent(bed)
        silent.silent_drops()
        silent.dead_link()
