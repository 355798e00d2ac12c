#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What tools/demo shows: from tagged packets to answers on a test bed. Every command that it prints
is really run.

    demo.py [--bin FOLDER] [--fabric ovs|tc|p4] [--keep]     the first network's switches: Open
    vSwitch, programs in the kernel, compiled P4 programs; --keep leaves it, its agents and their
    stores running, named "demo"
"""
import argparse
import json
import os
import shlex
import signal
import subprocess
import sys
import time

import digested
import silent
import traffic
import untagged
from agent import by_flow, start_all
from bed import BINARIES, HERE, Bed
from commands import wait_for
from show import GREEN, PLAIN, run, say, title
from wire import Watch

RECEIVER, OTHER_RECEIVER, SENDER, V6_SENDER = "10.2.1.2", "10.4.1.2", "10.1.1.2", "10.3.1.2"
BYTES = 150_000
HOPS = 6
RULE = "PC_FAIL"                                # the reason of its alarms
# an alarm takes milliseconds; a busy machine gets time
ALARM_S = 10
SWITCHES = {"ovs": "Open vSwitch switches", "tc": "switches in the kernel",
            "p4": "switches that run compiled P4 programs"}
BED = os.path.relpath(os.path.join(HERE, "bed"))


class Demo:
    def __init__(self, options):
        self.options = options
        self.bed = Bed("demo" if options.keep else None, binaries=options.bin, tagged=all,
                       controller=True, fabric=options.fabric)
        os.environ["PATH"] = f"{self.bed.binaries}:{os.environ['PATH']}"

    def bring_up(self):
        title("1. A data centre on this machine")
        started = time.monotonic()
        self.bed.up(stay=self.options.keep)
        agents = start_all(self.bed)
        self.agents = [agents[self.bed.host(address).id] for address in (RECEIVER, OTHER_RECEIVER)]
        self.agent = f"--agent {self.agents[0].url}"
        say(f"{len(self.bed.network.switches)} {SWITCHES[self.bed.fabric.name]} (a fat-tree) and "
            f"{len(self.bed.hosts)} hosts, up in "
            f"{time.monotonic() - started:.1f} s.")
        say("Switches 1-8 are in the racks, 9-16 aggregate them, 17-20 are the cores. Which way "
            "they send packets is their own")
        say("affair; which packets they tag is told them by pathdump-controller, to which they "
            "have connected. On every host runs" if self.bed.fabric.openflow else
            "affair; which packets they tag is told them by pathdump-controller, at their control. "
            "On every host runs")
        say("pathdumpd: it takes the tags off and keeps the records.")
        os.environ["PATHDUMP_CONTROLLER"] = self.bed.controller.url
        print(f"{GREEN}   here$ export PATHDUMP_CONTROLLER={self.bed.controller.url}{PLAIN}",
              flush=True)
        self.map = f"{self.bed.controller.door()}/map"
        say(f"All of it as a picture, for a browser on this machine: {self.map}")
        self.ask_controller("switches | sed -n '1,4p;$p'")

    def ask_controller(self, command):
        """one of the commands that take --controller"""
        return run(None, f"pathdump {command}")

    def install(self):
        title(f'2. A rule for the whole network: "no path of {HOPS} hops or more". Every agent '
              f'watches it from now on')
        self.ask_controller(f"install conformance --max-hops {HOPS - 1} --on new_flow")

    def send(self):
        title("3. Real traffic")
        self.servers = [traffic.Server(agent.host) for agent in self.agents]
        self.watch = Watch(self.agents[0].host.popen, "count")
        sender, v6_sender, receiver, other = map(self.bed.host,
                                                 (SENDER, V6_SENDER, RECEIVER, OTHER_RECEIVER))
        self.senders = [traffic.Sender(sender, receiver.ipv4, 8),
                        traffic.Sender(v6_sender, receiver.ipv6, 2),
                        traffic.Sender(sender, other.ipv4, 4)]
        for connection in self.senders:
            connection.send(BYTES)
        say(f"14 TCP connections, 2 of them IPv6, {BYTES // 1000} KB each; every payload arrived "
            f"as it was sent.")

    def choose(self):
        """the flow that this is about: one over IPv4; the link before its last switch is going to
        fail"""
        flows = by_flow(self.agents[0].query("getFlows", "--src-ip", SENDER))
        flow, paths = min(flows.items())
        (self.path,), self.flow = paths, flow
        self.flags = f"--src-ip {flow[0]} --src-port {flow[2]}"

    def ask(self):
        receiver = self.bed.host(RECEIVER)
        a, b = self.path[1:3]
        title(f"4. Which flows to {RECEIVER} crossed the link from switch {a} to {b}?")
        run(receiver, f"pathdump query {self.agent} getFlows --link {a}-{b} --live")

    def fail(self):
        a, b = self.path[-2:]
        title(f"5. The link {a}-{b} fails, and the same connections send on")
        run(None, f"{BED} link --name {self.bed.name} down {a} {b}")
        for connection in self.senders:
            connection.send(BYTES)
        say(f"switch {a} now sends what is for switch {b} by another switch of the pod.")

    def ask_again(self):
        receiver = self.bed.host(RECEIVER)
        title("7. Which paths did one of these flows take?")
        run(receiver, f"pathdump query {self.agent} getPaths {self.flags} --live")
        paths = [tuple(p)
                 for p in self.agents[0].query("getPaths", *shlex.split(self.flags))["paths"]]
        self.detour = max(paths, key=len)
        if len(self.detour) - 1 != HOPS or self.path not in paths:
            raise RuntimeError(f"expected {self.path} and a path of {HOPS} hops, got {paths}")
        title("8. How much of it went by the detour? The same question as a person and as a "
              "program asks it")
        path = ",".join(map(str, self.detour))
        run(receiver, f"pathdump query {self.agent} getCount {self.flags} --path {path} --live")
        route = f"getCount?src_ip={self.flow[0]}&src_port={self.flow[2]}&path={path}&live=true"
        run(receiver,
            f"curl -s --unix-socket {self.agents[0].socket} 'http://localhost/v1/{route}'")

    def alarms(self, reason=RULE):
        return self.bed.controller.ask(f"alarms?reason={reason}")["alarms"]

    def hear(self):
        title("6. The rule is broken, and whoever installed it knows")
        wait_for(self.alarms, "an alarm of the rule", ALARM_S)
        self.ask_controller(f"alarms --reason {RULE}")
        if not any(len(path) - 1 >= HOPS for alarm in self.alarms() for path in alarm["paths"]):
            raise RuntimeError("no alarm names a detour")

    def ask_all(self):
        title(f"9. One question to all {len(self.bed.hosts)} hosts, along a tree: hosts merge the "
              f"answers of hosts on the way to the controller")
        self.ask_controller("query --hosts all --mode tree topFlows --k 5 --live")

    def balance(self):
        title("10. Is anything missing?")
        for connection in (*self.senders, *self.servers):
            connection.close()
        addrs = self.agents[0].host.node.addrs
        truth = {flow: count for (_, flow), count in self.watch.stop().items() if flow[1] in addrs}
        counted = {flow: tuple(map(sum, zip(*paths.values())))
                   for flow, paths in by_flow(self.agents[0].query("getFlows")).items()}
        pkts, size = map(sum, zip(*counted.values()))
        if truth != counted:
            raise RuntimeError(f"a packet socket beside the agent saw {truth}, the agent {counted}")
        say(f"A packet socket beside the agent of {RECEIVER} counted, too: for each of the "
            f"{len(counted)} flows, both have the same")
        say(f"packets and bytes, {pkts:,} and {size:,} in all.")

    def leave(self):
        bed = BED
        programs = os.path.relpath(self.bed.binaries)
        title("What to try next")
        if self.options.keep:
            say(f"{self.map}   the map: click on a link to see who crosses it")
            say(f"{programs}/pathdump query --controller {self.bed.controller.url} getFlows --live")
            say(f"{bed} down --name demo")
        else:
            say("tools/demo --keep                     the same, but all of it stays up for your "
                "own questions")
        say(f"{bed} --help              a network of your own, links that fail, commands on its "
            f"hosts")
        say(f"{programs}/pathdump topology fat-tree --k 8 >fat8.json")
        say(f"{programs}/pathdump codec verify --topology fat8.json --max-hops {HOPS}")
        say('README.md, "First use, on a capture file": the same questions about your own packets')

    def run(self):
        self.bring_up()
        self.install()
        self.send()
        self.choose()
        self.ask()
        self.fail()
        self.hear()
        self.ask_again()
        self.ask_all()
        self.balance()
        silent.show(self.options.bin)
        untagged.show(self.options.bin)
        digested.show(self.options.bin)
        self.leave()


def interrupt(*_):
    raise KeyboardInterrupt


def main():
    parser = argparse.ArgumentParser(description="shows PathDump at work on a test bed")
    parser.add_argument("--bin", metavar="FOLDER", default=BINARIES,
                        help="where pathdump and pathdumpd are (default: build/release/bin)")
    parser.add_argument("--fabric", choices=SWITCHES, default="ovs",
                        help="what the switches of the first network are (default: ovs)")
    parser.add_argument("--keep", action="store_true",
                        help='leave the bed up; `tests/testbed/bed down --name demo` ends it')
    options = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
    demo, code = Demo(options), 1
    try:
        demo.run()
        code = 0
    except KeyboardInterrupt:
        print("\ninterrupted: the bed is taken down", file=sys.stderr)
        code = 130
    # TimeoutError is an OSError
    except (RuntimeError, OSError, subprocess.SubprocessError) as error:
        print(f"demo: {error}", file=sys.stderr)
    finally:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        if code or not options.keep:
            demo.bed.down()
    sys.exit(code)


if __name__ == "__main__":
    main()
