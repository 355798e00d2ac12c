# SPDX-License-Identifier: Apache-2.0
"""OpenFlow over TLS with Open vSwitch's own ssl: who is known by its certificate, and who is
refused. In a network namespace of its own."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
BIN = os.environ.get("PATHDUMP_BIN",
                     os.path.join(HERE, "..", "..", "..", "build", "release", "bin"))
SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
DPID = 0x00001B21ABCD0009
PORT, PATIENCE_S = 6653, 30


def wait_for(condition, what):
    deadline = time.monotonic() + PATIENCE_S
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(what())
        time.sleep(0.05)
    return found


class Vswitch:
    """a process of Open vSwitch with one certificate and one bridge"""

    def __init__(self, folder, name, certificates):
        self.at = os.path.join(folder, name)
        os.makedirs(self.at)
        self.env, self.processes = {**os.environ, "OVS_RUNDIR": self.at, "OVS_LOGDIR": self.at,
                                    "OVS_DBDIR": self.at}, []
        db = os.path.join(self.at, "conf.db")
        subprocess.run(["ovsdb-tool", "create", db, SCHEMA], check=True, env=self.env)
        self.start("ovsdb-server", db, f"--remote=punix:{self.at}/db.sock")
        wait_for(lambda: os.path.exists(f"{self.at}/db.sock"), lambda: "the database")
        self.vsctl("--no-wait", "init")
        self.certificate = certificates
        self.start("ovs-vswitchd", f"unix:{self.at}/db.sock", "--disable-system")

    def start(self, program, *words):
        command = [program, *words, f"--unixctl={self.at}/{program}.ctl", "-vconsole:off",
                   "-vsyslog:off", f"--log-file={self.at}/{program}.log"]
        self.processes.append(subprocess.Popen(command, env=self.env, stdin=subprocess.DEVNULL,
                                               stdout=subprocess.DEVNULL,
                                               stderr=subprocess.DEVNULL))

    def vsctl(self, *words):
        subprocess.run(["ovs-vsctl", "--timeout=20", "--retry", f"--db=unix:{self.at}/db.sock",
                        *words], check=True, env=self.env)

    def connect(self, bridge, dpid, who, target):
        self.vsctl("--", "set-ssl", self.certificate(who, "key"), self.certificate(who, "pem"),
                   self.certificate("ca", "pem"),
                   "--", "add-br", bridge, "--", "set", "bridge", bridge, "datapath_type=netdev",
                   "fail_mode=secure", "protocols=OpenFlow13",
                   f"other_config:datapath-id={dpid:016x}", "--", "set-controller", bridge, target)

    def flows(self, bridge):
        out = subprocess.run(["ovs-ofctl", "-O", "OpenFlow13", "dump-flows", bridge, "table=0"],
                             check=True, env=self.env, capture_output=True, text=True)
        return [line for line in out.stdout.splitlines() if "table=0" in line]

    def close(self):
        while self.processes:
            process = self.processes.pop()
            process.terminate()
            process.wait(PATIENCE_S)


class Secure(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="pathdump-secure.")
        cls.addClassCleanup(cls.folder.cleanup)
        topology = json.loads(cls.run_program("pathdump", "topology", "fat-tree", "--k", "4"))
        next(n for n in topology["nodes"] if n["id"] == 9)["dpid"] = f"0x{DPID:016x}"
        cls.write("topology.json", topology)
        cls.write("hosts.json", [{"id": 21, "name": "h21", "url": "https://127.0.0.1:9"}])
        cls.run_program("pathdump", "ca", cls.at("ca"), "--controller", "127.0.0.1", "--hosts",
                        cls.at("hosts.json"), "--topology", cls.at("topology.json"))
        cls.run_program("pathdump", "ca", cls.at("other"), "--controller", "127.0.0.1", "--hosts",
                        cls.at("hosts.json"), "--topology", cls.at("topology.json"))
        cls.run_program("pathdump", "ca", "revoke", cls.certificate("switch-core-4", "pem"))
        cls.socket = f"unix:{cls.at('controller.sock')}"
        said = cls.enterClassContext(open(cls.at("controller.log"), "w", encoding="utf-8"))
        cls.controller = subprocess.Popen(
            [os.path.join(BIN, "pathdump-controller"), "--topology", cls.at("topology.json"),
             "--hosts", cls.at("hosts.json"),
             "--state", cls.at("state"), "--listen", cls.socket, "--openflow",
             f"tls:0.0.0.0:{PORT},tcp:127.0.0.1:{PORT + 1}",
             "--openflow", f"tls:[::1]:{PORT}", "--tls-cert", cls.certificate("controller", "pem"),
             "--tls-key", cls.certificate("controller", "key"), "--tls-ca",
             cls.certificate("ca", "pem"),
             "--tls-crl", cls.certificate("crl", "pem")],
            stderr=said)
        cls.addClassCleanup(cls.end)
        wait_for(lambda: os.path.exists(cls.at("controller.sock")), cls.log)

    @classmethod
    def end(cls):
        cls.controller.terminate()
        assert cls.controller.wait(PATIENCE_S) == 0, cls.log()

    @classmethod
    def at(cls, name):
        return os.path.join(cls.folder.name, name)

    @classmethod
    def log(cls):
        with open(cls.at("controller.log"), encoding="utf-8") as file:
            return file.read()

    @classmethod
    def certificate(cls, who, kind, folder="ca"):
        return os.path.join(cls.at(folder), f"{who}.{kind}")

    @classmethod
    def write(cls, name, document):
        with open(cls.at(name), "w", encoding="utf-8") as file:
            json.dump(document, file)

    @classmethod
    def run_program(cls, name, *words):
        return subprocess.run([os.path.join(BIN, name), *map(str, words)], check=True,
                              capture_output=True, text=True).stdout

    def ask(self, route):
        words = ["curl", "-s", "--unix-socket", self.at("controller.sock"),
                 f"http://localhost/v1/{route}"]
        return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)

    def switch(self, number):
        return next(s for s in self.ask("switches")["switches"] if s["id"] == number)

    def counter(self, name):
        return self.ask("switches")["counters"][name]

    def vswitch(self, name, folder="ca"):
        vswitch = Vswitch(self.folder.name, name, lambda who, kind: self.certificate(
            who, kind, folder if who != "ca" else "ca"))
        self.addCleanup(vswitch.close)
        return vswitch

    def test_a_known_by_its_certificate(self):
        """by TLS 1.2 of Open vSwitch: the switch with the certificate of its name and the
        topology's datapath ID has its rules, and comes again"""
        vswitch = self.vswitch("right")
        vswitch.connect("s9", DPID, "switch-agg-1-1", f"ssl:127.0.0.1:{PORT}")
        wait_for(lambda: self.switch(9)["state"] == "installed", self.log)
        self.assertEqual(len(vswitch.flows("s9")), self.switch(9)["rules"])
        self.assertEqual(self.switch(9)["edge"], "held")
        vswitch.vsctl("set-controller", "s9", f"ssl:[::1]:{PORT}")
        wait_for(lambda: self.switch(9)["connects"] == 2
                 and self.switch(9)["state"] == "installed", self.log)
        self.assertIn(f"tls:0.0.0.0:{PORT},127.0.0.1:{PORT + 1},tls:[::1]:{PORT}",
                      self.ask("switches")["openflow"])

    def test_b_refused(self):
        """another switch's certificate, that of a host, of a reader, and of another CA: nothing is
        installed, and it is said"""
        for name, who, folder, counter in (("another", "switch-agg-1-2", "ca",
                                            "wrong_certificates"),
                                           ("host", "host-21", "ca", "tls_failed"),
                                           ("reader", "read", "ca", "tls_failed"),
                                           ("stranger", "switch-core-1", "other", "tls_failed")):
            before, vswitch = self.counter(counter), self.vswitch(name, folder)
            vswitch.connect(name, 17, who, f"ssl:127.0.0.1:{PORT}")
            wait_for(lambda: self.counter(counter) > before, self.log)
            self.assertEqual((self.switch(17)["state"], vswitch.flows(name)), ("away", []))
            vswitch.close()                     # two of them do not share a network namespace
        for words in ("its certificate is another's", "its certificate is not a switch's"):
            self.assertIn(words, self.log())
        (alarm,) = self.ask("alarms?reason=SWITCH_REFUSED")["alarms"]
        self.assertRegex(alarm["detail"], r"switch 17\b.*another's")

    def test_c_plain(self):
        """on loopback a switch is known by its datapath ID alone; plain OpenFlow where TLS is
        spoken is nothing"""
        vswitch = self.vswitch("plain")
        before = self.counter("tls_failed")
        vswitch.connect("s18", 18, "switch-core-2", f"tcp:127.0.0.1:{PORT}")
        wait_for(lambda: self.counter("tls_failed") > before, self.log)
        self.assertEqual(self.switch(18)["state"], "away")
        vswitch.vsctl("set-controller", "s18", f"tcp:127.0.0.1:{PORT + 1}")
        wait_for(lambda: self.switch(18)["state"] == "installed", self.log)

    def test_d_settings(self):
        """plain OpenFlow beyond loopback, and TLS without certificates, are refused before anything
        is served"""
        words = ["--topology", self.at("topology.json"), "--hosts", self.at("hosts.json"),
                 "--state", self.at("none"), "--listen", f"unix:{self.at('none.sock')}"]
        for openflow, says in (
            ("tcp:0.0.0.0:6653", "not on loopback"), ("tls:0.0.0.0:6653", "needs --tls-cert"),
            ("udp:127.0.0.1:1", "expects tcp:"),
            ("tls:unix:/x", "expects tcp:"), ("tcp:127.0.0.1:6653,tls:", "expects")):
            done = subprocess.run([os.path.join(BIN, "pathdump-controller"), *words, "--openflow",
                                   openflow], capture_output=True, text=True, timeout=PATIENCE_S)
            self.assertIn(done.returncode, (1, 2), openflow)
            self.assertIn(says, done.stderr, openflow)

    def test_e_revoked(self):
        """a certificate that the CA revokes while its switch is connected: the connection ends at
        the reload, and none is made again"""
        vswitch = self.vswitch("revoked")
        vswitch.connect("s10", 10, "switch-agg-1-2", f"ssl:127.0.0.1:{PORT}")
        wait_for(lambda: self.switch(10)["state"] == "installed", self.log)
        before = self.counter("tls_failed")
        self.run_program("pathdump", "ca", "revoke", self.certificate("switch-agg-1-2", "pem"))
        self.controller.send_signal(signal.SIGHUP)
        wait_for(lambda: self.switch(10)["state"] == "away", self.log)
        wait_for(lambda: self.counter("tls_failed") > before + 1, self.log)
        self.assertEqual(self.switch(10)["connects"], 1)
        self.assertIn("it is revoked", self.log())


if __name__ == "__main__":
    if not os.environ.get("PATHDUMP_OWN_NETWORK"):
        os.execvpe("unshare", ["unshare", "--net", "--", sys.executable, *sys.argv],
                   {**os.environ, "PATHDUMP_OWN_NETWORK": "1"})
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    unittest.main(verbosity=2)
