#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What tools/demo shows: from tagged packets to answers on a test bed. Every command that it prints is really run.

    demo.py [--bin FOLDER] [--keep]       --keep leaves the bed, its agents and their stores running, named "demo"
"""
import argparse
import json
import os
import shlex
import signal
import subprocess
import sys
import time

import traffic
from agent import PORT, Agent, by_flow
from bed import BINARIES, HERE, Bed
from wire import Watch

RECEIVER, OTHER_RECEIVER, SENDER, V6_SENDER = "10.2.1.2", "10.4.1.2", "10.1.1.2", "10.3.1.2"
BYTES = 150_000
HOPS = 6
AGENT = f"--agent http://127.0.0.1:{PORT}"
CHECK = f"""python3 -c '
import json, sys
for flow in json.load(sys.stdin)["flows"]:
    if len(flow["path"]) - 1 >= {HOPS}:
        print(*flow["flow_id"].values(), "took", flow["path"])'"""
BOLD, GREEN, PLAIN = ("\033[1m", "\033[32m", "\033[0m") if sys.stdout.isatty() else ("", "", "")


def title(text):
    print(f"\n{BOLD}{text}{PLAIN}", flush=True)


def say(text):
    print(f"   {text}", flush=True)


def run(where, command, shown=None):
    """prints a command and its answer; where: a host, or None for this machine"""
    print(f"{GREEN}   {where.ipv4 if where else 'here'}$ {shown or command}{PLAIN}".replace("\n", "\n      "), flush=True)
    words, options = ["bash", "-c", command], {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    done = where.run(words, **options) if where else subprocess.run(words, **options)
    for line in done.stdout.rstrip().splitlines():
        print(f"   {line}".rstrip(), flush=True)
    if done.returncode:
        raise RuntimeError(f"that command failed with exit {done.returncode}")
    return done.stdout


class Demo:
    def __init__(self, options):
        self.options = options
        self.bed = Bed("demo" if options.keep else None, binaries=options.bin)
        os.environ["PATH"] = f"{self.bed.binaries}:{os.environ['PATH']}"

    def bring_up(self):
        title("1. A data centre on this machine")
        started = time.monotonic()
        self.bed.up(stay=self.options.keep)
        say(f"{len(self.bed.fabric.switches)} Open vSwitch switches (a fat-tree) and {len(self.bed.hosts)} hosts, up in "
            f"{time.monotonic() - started:.1f} s.")
        say("Switches 1-8 are in the racks, 9-16 aggregate them, 17-20 are the cores. They tag by the rules of")
        say("`pathdump codec rules`; which way they send packets is their own affair.")
        receivers = [self.bed.host(RECEIVER), self.bed.host(OTHER_RECEIVER)]
        self.bed.set_tagged(host.id for host in receivers)
        self.agents = [Agent(host, self.bed.folder).start() for host in receivers]
        say(f"{' and '.join(h.ipv4 for h in receivers)} receive: pathdumpd runs there, takes the tags off and keeps the records.")

    def send(self):
        title("2. Real traffic")
        for agent in self.agents:
            traffic.Server(agent.host)
        self.watch = Watch(self.agents[0].host.popen, "count")
        sender, v6_sender, receiver, other = map(self.bed.host, (SENDER, V6_SENDER, RECEIVER, OTHER_RECEIVER))
        self.senders = [traffic.Sender(sender, receiver.ipv4, 8), traffic.Sender(v6_sender, receiver.ipv6, 2),
                        traffic.Sender(sender, other.ipv4, 4)]
        for connection in self.senders:
            connection.send(BYTES)
        say(f"14 TCP connections, 2 of them IPv6, {BYTES // 1000} KB each; every payload arrived as it was sent.")

    def choose(self):
        """the flow that this is about: one over IPv4; the link before its last switch is going to fail"""
        flows = by_flow(self.agents[0].query("getFlows", "--src-ip", SENDER))
        flow, paths = min(flows.items())
        (self.path,), self.flow = paths, flow
        self.flags = f"--src-ip {flow[0]} --src-port {flow[2]}"

    def ask(self):
        receiver = self.bed.host(RECEIVER)
        a, b = self.path[1:3]
        title(f"3. Which flows to {RECEIVER} crossed the link from switch {a} to {b}?")
        run(receiver, f"pathdump query {AGENT} getFlows --link {a}-{b} --live")

    def fail(self):
        a, b = self.path[-2:]
        title(f"4. The link {a}-{b} fails, and the same connections send on")
        command = os.path.relpath(os.path.join(HERE, "bed"))
        run(None, f"{command} link --name {self.bed.name} down {a} {b}")
        for connection in self.senders:
            connection.send(BYTES)
        say(f"switch {a} now sends what is for switch {b} by another switch of the pod.")

    def ask_again(self):
        receiver = self.bed.host(RECEIVER)
        title("5. Which paths did one of these flows take?")
        run(receiver, f"pathdump query {AGENT} getPaths {self.flags} --live")
        paths = [tuple(p) for p in self.agents[0].query("getPaths", *shlex.split(self.flags))["paths"]]
        self.detour = max(paths, key=len)
        if len(self.detour) - 1 != HOPS or self.path not in paths:
            raise RuntimeError(f"expected {self.path} and a path of {HOPS} hops, got {paths}")
        title("6. How much of it went by the detour? The same question as a person and as a program asks it")
        path = ",".join(map(str, self.detour))
        run(receiver, f"pathdump query {AGENT} getCount {self.flags} --path {path} --live")
        route = f"getCount?src_ip={self.flow[0]}&src_port={self.flow[2]}&path={path}&live=true"
        run(receiver, f"curl -s 'http://127.0.0.1:{PORT}/v1/{route}'")

    def check_policy(self):
        title(f'7. Which flows broke the rule "no path of {HOPS} hops or more"? Every agent is asked')
        command = f"pathdump query {AGENT} getFlows --live --json | {CHECK}"
        if str(list(self.detour)) not in run(self.agents[0].host, command):
            raise RuntimeError("the detour is missing")
        for agent in self.agents[1:]:
            if not run(agent.host, command, "the same command"):
                say("(none)")

    def balance(self):
        title("8. Is anything missing?")
        for connection in self.senders:
            connection.close()
        addrs = self.agents[0].host.node.addrs
        truth = {flow: count for (_, flow), count in self.watch.stop().items() if flow[1] in addrs}
        counted = {flow: tuple(map(sum, zip(*paths.values()))) for flow, paths in by_flow(self.agents[0].query("getFlows")).items()}
        pkts, size = map(sum, zip(*counted.values()))
        if truth != counted:
            raise RuntimeError(f"a packet socket beside the agent saw {truth}, the agent {counted}")
        say(f"A packet socket beside the agent of {RECEIVER} counted, too: for each of the {len(counted)} flows, both have the same")
        say(f"packets and bytes, {pkts:,} and {size:,} in all.")

    def leave(self):
        bed = os.path.relpath(os.path.join(HERE, "bed"))
        programs = os.path.relpath(self.bed.binaries)
        title("What to try next")
        if self.options.keep:
            say(f"{bed} exec --name demo {RECEIVER} {programs}/pathdump query {AGENT} getFlows --live")
            say(f"{bed} down --name demo")
        else:
            say("tools/demo --keep                     the same, but all of it stays up for your own questions")
        say(f"{bed} --help              a network of your own, links that fail, commands on its hosts")
        say(f"{programs}/pathdump topology fat-tree --k 8 >fat8.json")
        say(f"{programs}/pathdump codec verify --topology fat8.json --max-hops {HOPS}")
        say('README.md, "First use, on a capture file": the same questions about your own packets')

    def run(self):
        self.bring_up()
        self.send()
        self.choose()
        self.ask()
        self.fail()
        self.ask_again()
        self.check_policy()
        self.balance()
        self.leave()


def interrupt(*_):
    raise KeyboardInterrupt


def main():
    parser = argparse.ArgumentParser(description="shows PathDump at work on a test bed")
    parser.add_argument("--bin", metavar="FOLDER", default=BINARIES, help="where pathdump and pathdumpd are (default: build/release/bin)")
    parser.add_argument("--keep", action="store_true", help='leave the bed up; `tests/testbed/bed down --name demo` ends it')
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
