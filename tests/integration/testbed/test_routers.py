#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""007 on real routers that tag nothing: traces take the way of the data, a lossy link comes first
with the flows that it hurt, and no connection is disturbed."""
import json
import subprocess
import sys
import tempfile
import time
import unittest

import scenario                                 # makes the modules of the bed importable
import virtual
from agent import Agent
from commands import inside, run_all

PORT, PKTS, VIP = 5013, 60, "10.200.0.1"
# pod 1, pod 2 of the router fabric's Clos
SENDERS, RECEIVERS = (11, 12, 13, 14), (15, 16, 17, 18)
SERVE = f"""
import socket, threading
def eat(c):
    while c.recv(65536):
        pass
def serve(family, where):
    l = socket.socket(family)
    if family == socket.AF_INET6:
        l.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    l.bind((where, {PORT}))
    l.listen(256)
    print("ready", flush=True)
    while True:
        threading.Thread(target=eat, args=(l.accept()[0],), daemon=True).start()
threading.Thread(target=serve, args=(socket.AF_INET6, "::"), daemon=True).start()
serve(socket.AF_INET, "0.0.0.0")
"""
# one connection: waits for a line, sends, waits for another
ONE = f"""
import socket, sys, time
s = socket.create_connection((sys.argv[1], {PORT}), 5)
s.setsockopt(6, 1, 1)
print(s.getsockname()[1], flush=True)
sys.stdin.readline()
for _ in range({PKTS}):
    s.send(b"x" * 500)
    time.sleep(.001)
time.sleep(.1)
print("sent", flush=True)
sys.stdin.readline()
"""
BALANCER = """
import http.server, sys, time
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path.startswith("/hangs"):
            time.sleep(1)
        self.send_response(302 if self.path.startswith("/redirects") else 200)
        self.send_header("Location", "/right")
        self.end_headers()
        dip = "192.0.2.1" if self.path.startswith("/lies") else sys.argv[1]
        self.wfile.write(('{"dip":"%s"}' % dip).encode())
    def log_message(self, *words):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 5999), Handler)
print("ready", flush=True)
server.serve_forever()
"""
# Sees the host's own probes, and answers some before the routers do: a plan {TTL: [answers]}, each
# {"from": address, "after_s", "cookie": what is added, "port", "kind": type and code, "mpls"};
# "noise": how many messages of random bytes beside them.
HOSTILE = """
import json, os, socket, struct, sys, threading, time
plan = json.loads(sys.argv[1])
seen = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
def checksum(data):
    data += b"\\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
def send(sender, to, icmp):
    icmp = icmp[:2] + struct.pack("!H", checksum(icmp[:2] + bytes(2) + icmp[4:])) + icmp[4:]
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(icmp), 1, 0, 64, 1, 0,
                     socket.inet_aton(sender), socket.inet_aton(to))
    raw.sendto(ip + icmp, (to, 0))
def answer(how, packet):
    time.sleep(how.get("after_s", 0))
    source = socket.inet_ntoa(packet[12:16])
    port, there, cookie = struct.unpack("!HHI", packet[20:28])
    quote = packet[:20] + struct.pack("!HHI", port + how.get("port", 0), there,
                                      cookie + how.get("cookie", 0) & 0xFFFFFFFF) + packet[28:40]
    head = struct.pack("!BBHI", *how.get("kind", (11, 0)), 0, 0)
    if how.get("mpls"):
        quote = quote.ljust(128, b"\\0")
        label = struct.pack("!HBBI", 8, 1, 1, 16 << 12 | 1 << 8 | 1)
        rest = struct.pack("!BBH", 0x20, 0, 0) + label
        rest = rest[:2] + struct.pack("!H", checksum(rest)) + rest[4:]
        quote, head = quote + rest, struct.pack("!BBBBI", 11, 0, 0, 0, 32 << 16)
    send(how["from"], source, head + quote)
print("ready", flush=True)
while True:
    packet, at = seen.recvfrom(2048)
    if at[2] != socket.PACKET_OUTGOING or packet[0] != 0x45 or packet[9] != 6 or len(packet) != 40:
        continue
    ttl = packet[8]
    if struct.unpack("!H", packet[4:6])[0] != ttl:
        continue
    for how in plan.get(str(ttl), ()):
        if "after_s" in how:
            threading.Thread(target=answer, args=(how, packet), daemon=True).start()
        else:
            answer(how, packet)
    for _ in range(plan.get("noise", 0)):
        send("192.0.2.7", socket.inet_ntoa(packet[12:16]), bytes([11, 0, 0, 0]) + os.urandom(60))
"""
# many, each sends for some seconds
MANY = f"""
import socket, sys, time
seconds, each = float(sys.argv[1]), int(sys.argv[2])
sockets = [socket.create_connection((a, {PORT}), 5) for a in sys.argv[3:] for _ in range(each)]
for s in sockets:
    s.setsockopt(6, 1, 1)
    s.setblocking(False)
print("open", flush=True)
sys.stdin.readline()
until = time.monotonic() + seconds
while time.monotonic() < until:
    for s in sockets:
        try:
            s.send(b"x" * 700)
        except BlockingIOError:
            pass
    time.sleep(.02)
time.sleep(1)
"""


class Routers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bed = scenario.bed("routers", fabric="router", controller=True)
        cls.enterClassContext(cls.bed)
        cls.agents = {i: Agent(h, cls.bed.folder, intake="none",
                               options=("--trace", "suffering", "--trace-rate", "100"))
                      for i, h in cls.bed.hosts.items()}
        for agent in cls.agents.values():
            agent.launch()
        for host, agent in cls.agents.items():
            scenario_wait(lambda agent=agent: agent.curl("status"), f"the agent of {host}")
        for host in cls.bed.hosts.values():
            process = host.popen([sys.executable, "-c", SERVE], stdout=subprocess.PIPE, text=True)
            process.stdout.readline()
            process.stdout.readline()

    def setUp(self):
        self.addCleanup(self.bed.faults.clear)

    # What is seen

    def passed(self):
        """{switch: packets that it has received}"""
        nodes = self.bed.network.switches
        texts = run_all([inside(self.bed.site[n.id].namespace, ["ip", "-s", "-j", "link"])
                         for n in nodes])
        return {n.id: sum(i["stats64"]["rx"]["packets"] for i in json.loads(text)
                          if i["ifname"] != "lo")
                for n, text in zip(nodes, texts)}

    def trace(self, host, address, port):
        words = [self.bed.program_path("pathdump"), "trace", "--agent", self.agents[host].url,
                 "--src-ip",
                 self.bed.hosts[host].ipv6 if ":" in address else self.bed.hosts[host].ipv4,
                 "--dst-ip", address, "--src-port", port, "--dst-port", PORT, "--json"]
        done = subprocess.run([*map(str, words)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def one_flow(self, host, address, trace=None, *how):
        """(the switches that most of its packets crossed, its trace, or what `trace` says of the
        source port)"""
        process = self.bed.hosts[host].popen([sys.executable, "-c", ONE, address],
                                             stdin=subprocess.PIPE,
                                             stdout=subprocess.PIPE, text=True)
        port = int(process.stdout.readline())
        before = self.passed()
        print(file=process.stdin, flush=True)
        process.stdout.readline()
        after = self.passed()
        trace = trace(port, *how) if trace else self.trace(host, address, port)
        print(file=process.stdin, flush=True)
        process.wait(10)
        process.stdin.close()
        process.stdout.close()
        return {i for i in after if after[i] - before[i] >= PKTS}, trace

    # Tests

    def test_traces_take_the_way_of_the_data(self):
        for n in range(8):
            for six in (False, True):
                receiver = self.bed.hosts[RECEIVERS[n % 4]]
                taken, trace = self.one_flow(SENDERS[n // 2],
                                             receiver.ipv6 if six else receiver.ipv4)
                # acknowledgements may take another way back, and they are nearly as many: the way
                # out is within
                self.assertTrue(trace["reached"] and trace["consistent"], trace)
                self.assertEqual(len(trace["path"]), 5)
                self.assertLessEqual(set(trace["path"]), taken, f"IPv{6 if six else 4}: {trace}")

    def test_a_router_that_is_silent_is_a_gap(self):
        for t2 in (9, 10):
            self.bed.faults.add({"switch": t2, "silent": True})
        _, trace = self.one_flow(SENDERS[0], self.bed.hosts[RECEIVERS[0]].ipv4)
        self.assertEqual((trace["path"][2], trace["reached"], len(trace["path"])), (0, True, 5))

    def test_servers_behind_a_virtual_address(self):
        """file and http find the server; who is silent, redirects, lies or does not know is not
        believed"""
        host, server = self.bed.hosts[SENDERS[1]], self.bed.hosts[RECEIVERS[0]]
        dips = f"{self.bed.folder}/dips.json"
        with open(dips, "w", encoding="utf-8") as file:
            json.dump({"flows": [{"dst_ip": VIP, "dip": server.ipv4}]}, file)
        balancer = host.popen([sys.executable, "-c", BALANCER, server.ipv4], stdout=subprocess.PIPE,
                              text=True)
        balancer.stdout.readline()
        http = "http:127.0.0.1:5999/"
        for resolver, finds in (
            (f"file:{dips}", True), (http + "right", True), ("conntrack", False), ("none", False),
            (http + "lies", False), (http + "hangs", False), (http + "redirects", False)):
            with self.subTest(resolver=resolver):
                trace = self.try_resolver(40000, host, VIP, resolver, finds)
                if finds:
                    self.assertEqual((trace["dip"], trace["path"][-1]), (server.ipv4, server.rack))
        balancer.kill()
        balancer.communicate()

    def test_connections_to_a_virtual_address(self):
        """DNAT of the sender's own kernel, known by its conntrack or by a balancer: the way of the
        data to the server that the connection has got"""
        host = self.bed.hosts[SENDERS[2]]
        racks = {a: h.rack for h in self.bed.hosts.values() for a in h.node.addrs}
        dnat = {"vip": VIP, "hosts": list(RECEIVERS[::2]), "by": "dnat"}
        six = {**dnat, "vip": "fd00:200::1"}
        ways = [(fault, "conntrack", True) for fault in (dnat, dnat, dnat, six, six)]
        ways += [({**dnat, "by": "slb", **how}, virtual.SLB_URL, not how)
                 for how in ({}, {"slb": "lies"}, {"slb": "fails"}, {"slb": "slow"})]
        for fault, resolver, finds in ways:
            with self.subTest(fault=fault, resolver=resolver):
                self.bed.faults.clear()
                self.bed.faults.add(fault)
                vip = fault["vip"]
                taken, trace = self.one_flow(host.id, vip, self.try_resolver, host, vip, resolver,
                                             finds)
                if finds:
                    self.assertEqual(trace["path"][-1], racks[trace["dip"]])
                    self.assertLessEqual(set(trace["path"]), taken, trace)
                    self.assertEqual((trace["flow_id"]["dst_ip"], len(trace["path"])), (vip, 5))
                    self.assertTrue(trace["consistent"])

    def try_resolver(self, port, host, vip, resolver, finds):
        with tempfile.TemporaryDirectory() as folder:
            agent = Agent(host, folder, intake="none",
                          options=("--trace", "suffering", "--trace-resolver", resolver))
            agent.socket, agent.url = f"{folder}/agent.sock", f"unix:{folder}/agent.sock"
            agent.command[agent.command.index("--listen") + 1] = agent.url
            agent.launch()
            scenario_wait(lambda: agent.curl("status"), "the agent")
            words = ["pathdump", "trace", "--agent", agent.url,
                     "--src-ip", host.ipv6 if ":" in vip else host.ipv4, "--dst-ip", vip,
                     "--src-port", port, "--dst-port", PORT, "--json"]
            words[0] = self.bed.program_path("pathdump")
            done = subprocess.run([*map(str, words)], capture_output=True, text=True)
            status = json.loads(agent.curl("status"))["trace"]
            agent.stop()
            stored = agent.stored("getFlows", "--origin", "trace")["flows"]
        self.assertEqual(done.returncode == 0, finds, done.stderr)
        self.assertEqual((status["traces"], status["unresolved"]), (int(finds), int(not finds)))
        self.assertEqual(len(stored), int(finds),
                         "what was traced is in the store when the agent has ended")
        trace = json.loads(done.stdout) if finds else None
        self.assertTrue(not finds or trace["reached"], trace)
        return trace

    def attacked(self, plan, host, receiver, counted):
        """a trace while `plan` answers beside the routers, the way of the data, and how often the
        agent has counted that"""
        process = host.popen([sys.executable, "-c", HOSTILE, json.dumps(plan)],
                             stdout=subprocess.PIPE, text=True)
        process.stdout.readline()

        def count():
            return json.loads(self.agents[host.id].curl("status"))["trace"][counted]
        before = count()
        taken, trace = self.one_flow(host.id, receiver.ipv4)
        deadline = time.monotonic() + 2
        while count() == before and time.monotonic() < deadline:
            time.sleep(.05)
        process.kill()
        process.communicate()
        return taken, trace, count() - before

    def test_hostile_answers(self):
        """forged, foreign, late, doubled, from nowhere, from a switch that is no neighbour, with
        MPLS extensions, of random bytes: each is counted, and none makes a path that was not"""
        host, receiver = self.bed.hosts[SENDERS[3]], self.bed.hosts[RECEIVERS[1]]
        rack, other = host.rack, self.bed.hosts[SENDERS[0]].rack
        own = next(a for a in self.bed.network.nodes[rack].addrs if ":" not in a)
        strange = next(a for a in self.bed.network.nodes[other].addrs if ":" not in a)
        everyone = [str(ttl) for ttl in range(1, 6)]
        unharmed = {
            "forged": {ttl: [{"from": own, "cookie": 1}] for ttl in everyone},
            "foreign": {ttl: [{"from": own, "port": 1}] for ttl in everyone},
            "doubled": {"1": [{"from": own}, {"from": own}]},
            "traces": {"1": [{"from": own, "mpls": True}], "noise": 50},
            "answered": {ttl: [{"from": own, "kind": (3, 4)}] for ttl in everyone}}
        for counted, plan in unharmed.items():
            with self.subTest(counted=counted):
                taken, trace, found = self.attacked(plan, host, receiver, counted)
                self.assertTrue(trace["reached"] and trace["consistent"], trace)
                self.assertEqual(len(trace["path"]), 5)
                self.assertLessEqual(set(trace["path"]), taken, trace)
                self.assertGreater(found, 0)
        for switch in self.bed.network.switch_peers(rack):      # none but the hostile one answers
            self.bed.faults.add({"switch": switch, "silent": True})
        for counted, answer, consistent in (
            ("late", {"from": own, "after_s": .3}, True),
            ("unknown_addrs", {"from": "192.0.2.9"}, True),
            ("inconsistent", {"from": strange}, False)):
            with self.subTest(counted=counted):
                _, trace, found = self.attacked({"2": [answer]}, host, receiver, counted)
                self.assertGreater(found, 0)
                self.assertEqual(trace["consistent"], consistent, trace)
                self.assertTrue(not consistent or trace["path"][1] == 0, trace)

    def test_without_permission_all_else_works(self):
        with tempfile.TemporaryDirectory() as folder:
            agent = Agent(self.bed.hosts[SENDERS[2]], folder, intake="none",
                          options=("--trace", "suffering"))
            agent.socket, agent.url = f"{folder}/agent.sock", f"unix:{folder}/agent.sock"
            agent.command[agent.command.index("--listen") + 1] = agent.url
            agent.command[:0] = ["setpriv", "--bounding-set=-net_raw", "--inh-caps=-all"]
            agent.launch()
            scenario_wait(lambda: agent.curl("status"), "the agent")
            self.assertEqual(json.loads(agent.curl("status"))["trace"]["state"], "no permission")
            self.assertEqual(json.loads(agent.curl("getTraces")), {"traces": [], "complete": True})
            agent.stop()
            with open(agent.log, encoding="utf-8") as log:
                self.assertEqual(log.read().count("CAP_NET_RAW"), 1)

    def test_other_seeds_are_other_ways(self):
        """the next trace of a flow, not one of the epoch, sees them: so each flow here is new; of
        four ways all draws are the same one by chance in one of 4^15 cases"""
        ways, draws = set(), 0
        while len(ways) < 2 and draws < 16:
            for switch in (1, 5, 6):
                self.bed.faults.add({"switch": switch, "reroute": True})
            receiver = self.bed.hosts[RECEIVERS[draws % len(RECEIVERS)]]
            ways.add(tuple(self.one_flow(SENDERS[0], receiver.ipv4)[1]["path"][:3]))
            draws += 1
        self.assertEqual(len(ways), 2)

    def test_a_lossy_link_is_first(self):
        self.bed.faults.add("loss", 5, 9, "0.03")
        begun = time.time()
        processes = []
        for senders, receivers in ((SENDERS, RECEIVERS), (RECEIVERS, SENDERS)):
            for host in senders:
                words = [sys.executable, "-c", MANY, 8, 8,
                         *(self.bed.hosts[r].ipv4 for r in receivers)]
                processes.append(self.bed.hosts[host].popen(words, stdin=subprocess.PIPE,
                                                            stdout=subprocess.PIPE, text=True))
        for process in processes:
            process.stdout.readline()
        for process in processes:
            print(file=process.stdin, flush=True)
        for process in processes:
            process.wait(40)
            process.stdin.close()
            process.stdout.close()
        report = self.bed.controller.app("drop-causes", **{"from": f"{begun:.3f}", "flows": True})
        ranking, causes = report["results"]["ranking"], report["results"]["causes"]
        self.assertEqual(ranking[0]["link"], "5-9", report)
        self.assertEqual(report["links"][0], "5-9", report["evidence"])
        hurt = {ends(t["flow_id"]): "5,9" in ",".join(map(str, t["path"]))
                for i in SENDERS + RECEIVERS
                for t in json.loads(self.agents[i].curl("getTraces"))["traces"]}
        right = sum((c["link"] == "5-9") == hurt[ends(c)] for c in causes)
        self.assertGreaterEqual(right, .98 * len(causes), causes)
        self.assertGreaterEqual(len(causes), 20)
        print(f"{len(causes)} flows suffered, {right} causes are right; {ranking[:3]}")
        self.check_nothing_is_disturbed()

    def check_nothing_is_disturbed(self):
        """receivers have dropped the probes for their checksum, and answered nothing"""
        texts = run_all([inside(self.bed.hosts[i].namespace, ["cat", "/proc/net/snmp"])
                         for i in RECEIVERS])
        rows = [[line.split() for line in text.splitlines() if line.startswith("Tcp:")]
                for text in texts]
        counts = [dict(zip(names[1:], map(int, values[1:]))) for names, values in rows]
        self.assertGreater(sum(c["InCsumErrors"] for c in counts), 0)
        self.assertEqual(sum(c["OutRsts"] for c in counts), 0)
        for agent in self.agents.values():
            self.assertEqual(json.loads(agent.curl("status"))["trace"]["forged"], 0)


def ends(flow):
    return tuple(flow[name] for name in ("src_ip", "src_port", "dst_ip", "dst_port"))


def scenario_wait(condition, what):
    deadline = time.monotonic() + 20
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} does not answer")
        time.sleep(.05)


if __name__ == "__main__":
    scenario.main()
