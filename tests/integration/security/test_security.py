#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""TLS, certificates, tokens and roles of agent, controller and command; crowds before a server;
nothing secret in what they say."""
import hashlib
import http.client
import json
import os
import pathlib
import resource
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../shared"))
from capture import write_pcap
from programs import PATIENCE_S, Daemon, free_port, pathdump, program

READ_TOKEN, HASHED_TOKEN, AGENT_TOKEN = ("tok-read-0123456789", "tok-hashed-012345678",
                                         "tok-agent-0123456789")
BAD_TOKEN = "tok-of-nobody-987654321"
IDLE_MAX = 3500  # more than one address may have


class Server(Daemon):
    """a daemon that is asked over TLS"""

    def __init__(self, test, name, *words, port=None):
        self.port, self.folder = port or free_port(), test.common.name
        self.errors = os.path.join(self.folder, f"stderr-{name}-{self.port}")
        test.outputs.append(self.errors)
        with open(self.errors, "wb") as errors:
            self.process = subprocess.Popen([program(name), *words, "--listen",
                                             f"127.0.0.1:{self.port}"], stdin=subprocess.DEVNULL,
                                            stdout=errors, stderr=errors)


class Security(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.common = tempfile.TemporaryDirectory(prefix="pathdump-security-")
        cls.addClassCleanup(cls.common.cleanup)
        cls.outputs, cls.ca = [], cls.at("ca")
        cls.write("topology.json", pathdump("topology", "fat-tree", "--k", 4))
        cls.ports = {21: free_port(), 22: free_port()}
        urls = {21: f"https://127.0.0.1:{cls.ports[21]}", 22: f"https://127.0.0.1:{cls.ports[22]}",
                23: f"https://localhost:{cls.ports[22]}",
                24: f"http://localhost:{cls.ports[22]}"}
        cls.write("hosts.json", json.dumps([{"id": host, "name": f"h{host}", "url": url}
                                            for host, url in urls.items()]))
        write_pcap(cls.at("none.pcap"), [])
        cls.make_ca()
        for folder, file, role, name, start, end in (
            ("ca", "expired", "admin", "late", -9000, -3600),
            ("ca", "early", "admin", "early", 3600, 9000),
            ("ca", "norole", "boss", "bob", -60, 9000),
            ("foreign", "foreign", "admin", "eve", -60, 9000)):
            subprocess.run([program("tests/make_certificate"), cls.at(folder), file, role, name,
                            str(start), str(end)], check=True)
        cls.tokens = cls.write(
            "tokens", f"# who may come\nread dash {READ_TOKEN}\nagent 21 {AGENT_TOKEN}\n"
            f"install ci sha256:{hashlib.sha256(HASHED_TOKEN.encode()).hexdigest()}\n")
        cls.agent, cls.other = (cls.start("pathdumpd", "--topology", cls.at("topology.json"),
                                          "--intake", "pcap:" + cls.at("none.pcap"), "--tib",
                                          cls.at(f"tib-{host}"), "--host-id", str(host),
                                          *cls.tls(f"host-{host}"), "--token-file", cls.tokens,
                                          port=cls.ports[host]) for host in (21, 22))
        cls.controller = cls.start("pathdump-controller", "--topology", cls.at("topology.json"),
                                   "--hosts", cls.at("hosts.json"), "--state",
                                   cls.at("state"), *cls.tls("controller"))
        for server in (cls.agent, cls.other, cls.controller):
            server.wait(lambda server=server: cls.ask("admin", server=server)[0] == 200)

    @classmethod
    def at(cls, *names):
        return os.path.join(cls.common.name, *names)

    @classmethod
    def write(cls, name, text, mode=0o600):
        with open(cls.at(name), "w", encoding="utf-8") as out:
            os.fchmod(out.fileno(), mode)
            out.write(text)
        return cls.at(name)

    @classmethod
    def make_ca(cls, *more):
        return pathdump("ca", cls.ca, "--controller", "localhost,127.0.0.1", "--hosts",
                        cls.at("hosts.json"), *more)

    @classmethod
    def tls(cls, name):
        return "--tls-cert", cls.at("ca", name + ".pem"), "--tls-key", cls.at(
            "ca", name + ".key"), "--tls-ca", cls.at("ca", "ca.pem")

    @classmethod
    def start(cls, name, *words, port=None):
        server = Server(cls, name, *words, port=port)
        cls.addClassCleanup(server.__exit__)
        return server

    @classmethod
    def context(cls, name=None, folder="ca"):
        context = ssl.create_default_context(cafile=cls.at("ca", "ca.pem"))
        if name:
            context.load_cert_chain(cls.at(folder, name + ".pem"), cls.at(folder, name + ".key"))
        return context

    @classmethod
    def ask(cls, name=None, target="/v1/status", server=None, folder="ca", method="GET", body=None,
            timeout=PATIENCE_S, **headers):
        """(status, headers, text) with this certificate"""
        connection = http.client.HTTPSConnection("127.0.0.1", (server or cls.agent).port,
                                                 timeout=timeout, context=cls.context(name, folder))
        try:
            connection.request(method, target, body=body, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()
        finally:
            connection.close()

    def refused(self, status, says, *words, **options):
        got, headers, text = self.ask(*words, **options)
        self.assertEqual(got, status, text)
        self.assertIn(says, json.loads(text)["detail"])
        self.assertEqual(headers["WWW-Authenticate"],
                         'Bearer realm="pathdump"' if status == 401 else None)

    def counters(self, server=None):
        return json.loads(self.ask("admin", server=server)[2])

    # ---- certificates ----

    def test_roles(self):
        for role in ("read", "install", "admin", "controller"):
            self.assertEqual(self.ask(role)[0], 200)
            self.assertEqual(self.ask(role, "/v1/hosts", self.controller)[0], 200)
        self.refused(403, "not agent", "host-22")
        self.refused(403, "not agent", "host-22", "/v1/hosts", self.controller)
        self.refused(403, "not agent", "host-22", "/v1/execute", self.controller, method="POST",
                     body="{}")
        self.refused(401, "is needed here")
        self.refused(401, "is needed here", method="POST", body="x" * 5000)
        self.agent.wait_log("refused 127.0.0.1")

    def test_bad_certificates(self):
        for name, folder, says in (("expired", "ca", "expired"), ("early", "ca", "not yet valid"),
                                   ("norole", "ca", 'OU "boss" is no role'),
                                   ("foreign", "foreign", "issuer is unknown")):
            self.refused(401, says, name, folder=folder)
            self.refused(401, says, name, "/v1/hosts", self.controller, folder)
        # signed by itself, and for nothing but signing: it ends in the handshake
        with self.assertRaises(OSError):
            self.ask("ca", folder="foreign")

        def said():
            self.ask("expired")
            return ("client certificate OU=admin,CN=late" in self.agent.log()
                    and "expired" in self.agent.log())
        self.agent.wait(said)

    def test_a_good_token_mends_no_bad_certificate(self):
        self.refused(401, "expired", "expired", Authorization="Bearer " + READ_TOKEN)
        self.refused(401, "not known", "admin", Authorization="Bearer " + BAD_TOKEN)

    def test_tokens(self):
        for token, status in ((READ_TOKEN, 200), (HASHED_TOKEN, 200), (AGENT_TOKEN, 403),
                              (BAD_TOKEN, 401), (READ_TOKEN[:-1], 401), ("", 401)):
            self.assertEqual(self.ask(Authorization="Bearer " + token)[0], status)
        self.assertEqual(self.ask(Authorization="Basic " + READ_TOKEN)[0], 401)
        self.refused(401, "not known", server=self.controller, Authorization="Bearer " + READ_TOKEN)

    def test_no_credentials_no_pages(self):
        """where nobody needs any, a page in a browser is still nobody; with tokens everybody needs
        one, also on loopback"""
        common = ("--topology", self.at("topology.json"), "--intake",
                  "pcap:" + self.at("none.pcap"), "--tib")
        with Server(self, "pathdumpd", *common, self.at("tib2")) as server:
            server.wait_state("finished")
            self.assertEqual(self.plain(server), 200)
            self.assertEqual(self.plain(server, Origin="http://evil.example"), 401)
        with Server(self, "pathdumpd", *common, self.at("tib3"), "--token-file",
                    self.tokens) as server:
            server.wait(lambda: self.plain(server, Authorization="Bearer " + READ_TOKEN) == 200)
            self.assertEqual(self.plain(server), 401)

    def plain(self, server, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
        connection.request("GET", "/v1/status", headers=headers)
        answer = connection.getresponse()
        answer.read()
        connection.close()
        return answer.status

    # ---- the command ----

    def query(self, url, *words):
        done = subprocess.run([program("pathdump"), "query", "topFlows", "--agent", url, "--json",
                               *words], capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False)
        for secret in (READ_TOKEN, BAD_TOKEN):
            self.assertNotIn(secret, done.stdout + done.stderr)
        return done.returncode, done.stderr

    def test_command(self):
        url, ca = f"https://127.0.0.1:{self.agent.port}", ("--tls-ca", self.at("ca", "ca.pem"))
        token = ("--token-file", self.write("token", READ_TOKEN + "\n"))
        self.assertEqual(self.query(url, *self.tls("read")), (0, ""))
        self.assertEqual(self.query(url, *ca, *token), (0, ""))
        for words, says in (
            ((url, *ca), "is needed here"), ((url, *token), "certificate"),
            ((url, "--tls-ca", self.at("foreign", "ca.pem"), *token), "certificate"),
            ((f"https://localhost:{self.agent.port}", *ca, *token), "matches target host name"),
            ((url, *self.tls("host-22")), "not agent"),
            ((f"http://192.0.2.1:{self.agent.port}", *token), "not asked in clear text"),
            ((url, *ca, "--token-file", self.write("badtoken", BAD_TOKEN)), "not known"),
            ((url, *ca, "--token-file", self.write("opentoken", READ_TOKEN, 0o644)),
             "opentoken: others can get at it"),
            ((f"http://127.0.0.1:{self.agent.port}",), f"127.0.0.1:{self.agent.port}"),
            ((url, *ca, "--tls-cert", self.at("ca", "read.pem")), "one needs the other")):
            code, errors = self.query(*words)
            self.assertEqual(code, 1, words)
            self.assertIn(says, errors)
            self.assertEqual(len(errors.splitlines()), 1, errors)
        self.assertEqual(self.ask("read")[0], 200)

    def test_ca_again(self):
        """what is good stays; a host that moved gets a new one"""
        again = self.at("again")
        words = ["ca", again, "--controller", "c.example", "--hosts"]
        first = pathdump(*words, self.write("h.json", '[{"id": 1, "url": "https://10.0.0.1:1"}]'))
        self.assertIn("5 certificates made", first)
        for name in os.listdir(again):
            if name.endswith(".key"):
                self.assertEqual(os.stat(os.path.join(again, name)).st_mode & 0o777, 0o600)
        with open(os.path.join(again, "ca.pem"), "rb") as ca:
            before = ca.read()
        second = pathdump(*words, self.write(
            "h.json", '[{"id": 1, "url": "https://10.0.0.2:1"}, {"id": 2, "url": "unix:/run/x"}]'))
        self.assertIn("2 certificates made, each with its .key beside it; 4 left", second)
        self.assertIn("it is for another address", second)
        with open(os.path.join(again, "ca.pem"), "rb") as ca:
            self.assertEqual(ca.read(), before)
        os.unlink(os.path.join(again, "ca.key"))
        pathdump(*words, self.at("h.json"), code=1)
        pathdump(*words, self.write("bad.json", '[{"id": 1, "url": "ftp://x"}]'), code=1)

    # ---- the fleet ----

    def fleet(self, hosts, *words, code=0):
        return json.loads(pathdump("query", "topFlows", "--controller",
                                   f"https://localhost:{self.controller.port}", "--hosts", hosts,
                                   "--json",
                                   *self.tls("read"), *words, code=code))

    def test_fleet(self):
        """the controller and an inner node show their certificates to those whom they ask"""
        for mode in (("--mode", "direct"), ("--mode", "tree")):
            self.assertEqual(self.fleet("21,22", *mode)["hosts"],
                             {"asked": 2, "answered": 2, "missing": []})

    def test_wrong_servers(self):
        """a certificate for another name, and clear text where TLS is spoken: missing, with the
        reason"""
        answer = self.fleet("21,23,24", code=3)
        self.assertEqual((answer["complete"], answer["hosts"]["answered"]), (False, 1))
        reasons = {host["id"]: host["reason"] for host in answer["hosts"]["missing"]}
        self.assertIn("matches target host name", reasons[23])
        self.assertEqual(len(reasons), 2)

    def test_children(self):
        """whoever may only read cannot make an agent ask others in its own name"""
        body = json.dumps({"query": "topFlows", "args": {},
                           "children": [{"id": 22, "url": f"https://127.0.0.1:{self.ports[22]}"}]})
        self.refused(403, "only a controller or an agent", "read", "/v1/query", method="POST",
                     body=body)
        for name in ("admin", "controller", "host-22", "host-21"):
            self.refused(403, "children: the header Pathdump-Order is needed here", name,
                         "/v1/query", method="POST", body=body)
            self.refused(403, "this is no order", name, "/v1/query", method="POST", body=body,
                         **{"Pathdump-Order": "UERPUgE="})
        alone = json.dumps({"query": "topFlows", "args": {}})
        self.refused(403, "the header Pathdump-Order is needed here", "host-22", "/v1/query",
                     method="POST", body=alone)
        self.assertEqual(self.ask("admin", "/v1/query", method="POST", body=alone)[0], 200)

    def test_renewed_controller(self):
        """the controller's certificate is renewed while trees are asked: each order goes on being
        good, none is missing"""
        reloads = self.counters(self.controller)["controller"]["reloads"]
        for n in range(1, 4):
            for name in ("controller.pem", "controller.key"):
                os.remove(self.at("ca", name))
            self.make_ca()
            self.assertEqual(self.fleet("21,22", "--mode", "tree")["hosts"]["answered"], 2)
            os.kill(self.controller.process.pid, signal.SIGHUP)
            self.assertEqual(self.fleet("21,22", "--mode", "tree")["hosts"]["answered"], 2)
            self.controller.wait(lambda: self.counters(self.controller)["controller"]["reloads"]
                                 == reloads + n)
            self.assertEqual(self.fleet("21,22", "--mode", "tree")["hosts"]["answered"], 2)

    def test_audit(self):
        """changes have a line each, with who it was; only admins see them"""
        body = json.dumps({"hosts": [21], "query": "getCount", "period_ms": 60000})
        status, _, text = self.ask("install", "/v1/install", self.controller, method="POST",
                                   body=body)
        self.assertEqual(status, 200, text)
        target = f"/v1/installed/{json.loads(text)['id']}"
        self.assertEqual(self.ask("read", target, self.controller, method="DELETE")[0], 403)
        self.assertEqual(self.ask("install", target, self.controller, method="DELETE")[0], 200)
        for name, wanted in (("read", 403), ("install", 403), ("host-21", 403), ("admin", 200)):
            status, _, text = self.ask(name, "/v1/audit", self.controller)
            self.assertEqual(status, wanted, name)
        lines = [(e["who"], e["role"], e["address"], e["what"], e["outcome"].split()[0])
                 for e in json.loads(text)["entries"]]
        wanted = [("install", "install", "127.0.0.1", "install", "done"),
                  ("read", "read", "127.0.0.1", "uninstall", "this"),
                  ("install", "install", "127.0.0.1", "uninstall", "done")]
        self.assertEqual([line for line in lines if line[3] in ("install", "uninstall")], wanted)
        self.assertEqual(self.ask("admin", "/v1/audit?limit=0", self.controller)[0], 400)

    def test_alarms(self):
        """an agent brings alarms of its own host alone"""
        for name, host, wanted in (("host-21", 21, 200), ("host-21", 22, 403), ("read", 21, 403),
                                   ("install", 21, 403), ("admin", 22, 200)):
            body = {"host": host, "spool": f"{host:016x}",
                    "alarms": [{"seq": 1, "time_us": 1, "reason": "TEST", "flow_id": None,
                                "paths": [], "detail": ""}]}
            status, _, text = self.ask(name, "/v1/alarms", self.controller, method="POST",
                                       body=json.dumps(body))
            self.assertEqual(status, wanted, f"{name} for {host}: {text}")
        self.assertEqual(self.ask("host-21", "/v1/alarms", self.controller)[0], 403)

    # ---- starts that are refused ----

    def check(self, *words):
        done = subprocess.run([program("pathdumpd"), "--check-config", "--topology",
                               self.at("topology.json"), "--intake", "pcap:" + self.at("none.pcap"),
                               "--tib", self.at("tib4"), *words], capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False)
        self.assertNotIn("tok-", done.stderr)
        return done.returncode, done.stderr

    def test_starts(self):
        everywhere = ("--listen", "0.0.0.0:7411")
        self.assertEqual(self.check(*everywhere, *self.tls("host-21")), (0, ""))
        own = self.tls("host-21")
        for words, says in (
                (everywhere, "not on loopback"),
                ((*everywhere, "--token-file", self.tokens), "not on loopback"),
                ((*everywhere, *own[:4]), "nobody could be let in"),
                ((*own[:2], *own[4:]), "one needs the other"),
                ((*own[:3], self.at("ca", "host-22.key"), *own[4:]), "certificate and key"),
                ((*own[:3], self.write("no.key", "x", 0o640), *own[4:]), "host-21.pem"),
                ((*own[:3], self.write("open.key", "x", 0o604), *own[4:]), "others can get at it"),
                (("--token-file", self.write("t1", "boss x " + READ_TOKEN)), "line 1: the role is"),
                (("--token-file", self.write("t2", "\nread short tok-short")),
                 "line 2: a token has 16"),
                (("--token-file", self.write("t3", "# none\n")), "no token"),
                (("--token-out", self.write("t4", "tok-two-lines-012345\nx\n")), "one line"),
                (("--tls-ca", self.tokens), "CA:"),
                (("--tls-ca", "/nonexistent"), "/nonexistent")):
            code, errors = self.check(*words)
            self.assertEqual(code, 1, words)
            self.assertIn(says, errors)

    # ---- reload ----

    def test_reload(self):
        folder, words = self.at("reload"), ("--topology", self.at(
            "topology.json"), "--intake", "pcap:" + self.at("none.pcap"), "--tib", self.at("tib5"))
        os.mkdir(folder)
        for end in (".pem", ".key"):
            os.link(self.at("ca", "host-22" + end), os.path.join(folder, "own" + end))
        tokens = self.write("tokens2", f"read dash {READ_TOKEN}\n")
        own = ("--tls-cert", os.path.join(folder, "own.pem"), "--tls-key",
               os.path.join(folder, "own.key"), "--tls-ca", self.at("ca", "ca.pem"))
        with Server(self, "pathdumpd", *words, *own, "--token-file", tokens) as server:
            server.wait(lambda: self.ask(server=server,
                                         Authorization="Bearer " + READ_TOKEN)[0] == 200)
            before = ssl.get_server_certificate(("127.0.0.1", server.port))
            subprocess.run([program("tests/make_certificate"), self.at("ca"), "../reload/own",
                            "agent", "22", "-60", "9000", "127.0.0.1"], check=True)
            self.write("tokens2", f"read dash {BAD_TOKEN}\n")
            server.process.send_signal(signal.SIGHUP)
            server.wait(lambda: self.ask(server=server,
                                         Authorization="Bearer " + BAD_TOKEN)[0] == 200)
            self.assertEqual(self.ask(server=server, Authorization="Bearer " + READ_TOKEN)[0], 401)
            self.assertNotEqual(ssl.get_server_certificate(("127.0.0.1", server.port)), before)
            self.write("tokens2", "broken\n")
            server.process.send_signal(signal.SIGHUP)
            server.wait_log("not reloaded, all stays as it was: .*tokens2: line 1")
            self.assertEqual(self.ask(server=server, Authorization="Bearer " + BAD_TOKEN)[0], 200)
            self.assertEqual(server.end(), 0)

    # ---- revocation ----

    def test_revocation(self):
        """who is revoked is a stranger from the next reload on, also on a connection that is open;
        a list that is none changes nothing"""
        ca, words = self.at("own-ca"), ("--controller", "localhost,127.0.0.1", "--hosts",
                                        self.at("hosts.json"))
        pathdump("ca", ca, *words)
        pathdump("ca", "revoke", os.path.join(ca, "install.pem"))
        crl, own = os.path.join(ca, "crl.pem"), ["--tls-ca", os.path.join(ca, "ca.pem")]
        for flag, end in (("--tls-cert", ".pem"), ("--tls-key", ".key")):
            own += [flag, os.path.join(ca, "controller" + end)]
        start = ("--topology", self.at("topology.json"), "--intake", "pcap:" + self.at("none.pcap"),
                 "--tib", self.at("tib6"), "--tls-crl", crl)
        with Server(self, "pathdumpd", *start, *own) as server:
            ask = lambda name: self.ask_own(ca, server, name)
            server.wait(lambda: ask("read")[0] == 200)
            self.assertEqual(ask("install")[0], 401)
            self.assertIn("it is revoked", ask("install")[1])
            held = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=PATIENCE_S,
                                               context=self.own_context(ca, "read"))
            held.request("GET", "/v1/status")
            self.assertEqual(held.getresponse().read()[:1], b"{")
            self.assertIn("revoked", pathdump("ca", "revoke", os.path.join(ca, "read.pem")))
            self.assertIn("before", pathdump("ca", "revoke", os.path.join(ca, "read.pem")))
            server.process.send_signal(signal.SIGHUP)
            server.wait(lambda: ask("read")[0] == 401)
            self.assertEqual(held.sock.recv(10), b"")
            self.assertEqual(ask("admin")[0], 200)
            for text in ("", "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n",
                         self.foreign_list()):
                with open(crl, "w", encoding="ascii") as out:
                    out.write(text)
                server.process.send_signal(signal.SIGHUP)
                server.wait_log(
                    "not reloaded, all stays as it was: .*crl.pem: revoked certificates")
                self.assertEqual((ask("read")[0], ask("admin")[0]), (401, 200))
            self.assertEqual(server.end(), 0)
        pathdump("ca", "revoke", self.at("ca", "read.pem"), "--ca", ca, code=1)

    def foreign_list(self):
        """a list of another CA"""
        other = self.at("other-ca")
        pathdump("ca", other, "--controller", "localhost", "--hosts", self.at("hosts.json"))
        pathdump("ca", "revoke", os.path.join(other, "admin.pem"))
        with open(os.path.join(other, "crl.pem"), encoding="ascii") as crl:
            return crl.read()

    @staticmethod
    def own_context(ca, name):
        context = ssl.create_default_context(cafile=os.path.join(ca, "ca.pem"))
        context.load_cert_chain(os.path.join(ca, name + ".pem"), os.path.join(ca, name + ".key"))
        return context

    def ask_own(self, ca, server, name):
        connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=PATIENCE_S,
                                                 context=self.own_context(ca, name))
        connection.request("GET", "/v1/status")
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    def test_renewal(self):
        """all but the CA and the revoked are made anew, for the same names"""
        ca = self.at("renewed-ca")
        pathdump("ca", ca, "--controller", "localhost,127.0.0.1", "--hosts", self.at("hosts.json"))
        pathdump("ca", "revoke", os.path.join(ca, "install.pem"))

        def files():
            return {path.name: path.read_bytes() for path in pathlib.Path(ca).glob("*.pem")}
        before = files()
        self.assertIn("install.pem  (left: revoked", pathdump("ca", "renew", ca))
        after = files()
        self.assertEqual({name for name in before if before[name] == after[name]},
                         {"ca.pem", "crl.pem", "install.pem"})
        self.assertIn("0 certificates made",
                      pathdump("ca", ca, "--controller", "localhost,127.0.0.1", "--hosts",
                               self.at("hosts.json")).splitlines()[-1])
        pathdump("ca", "renew", self.at("reload-none"), code=1)

    def test_revoked_servers(self):
        """whoever asks with a list does not ask revoked servers"""
        pathdump("ca", "revoke", self.at("ca", "host-21.pem"), "--ca", self.at("ca"))
        url = f"https://127.0.0.1:{self.agent.port}"
        code, errors = self.query(url, *self.tls("read"), "--tls-crl", self.at("ca", "crl.pem"))
        self.assertEqual(code, 1)
        self.assertIn("revoked", errors)
        self.assertEqual(self.query(f"https://127.0.0.1:{self.other.port}", *self.tls("read"),
                                    "--tls-crl", self.at("ca", "crl.pem")), (0, ""))

    # ---- crowds ----

    def test_slow_clients(self):
        """one byte a second, in the handshake and in the request, while others are answered"""
        slow = [socket.create_connection(("127.0.0.1", self.agent.port)) for _ in range(3)]
        slow.append(self.context("read").wrap_socket(slow.pop(), server_hostname="127.0.0.1"))
        for text in ((b"\x16", b"\x16", b"G"), (b"\x03", b"\x03", b"E")):
            for client, byte in zip(slow, text):
                client.send(byte)
            self.assertEqual(self.ask("read")[0], 200)
            time.sleep(1)
        for client in slow:
            client.close()

    def test_idle_crowd(self):
        """thousands that say nothing: those who have something to say get through all the same"""
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        before, crowd = self.counters()["agent"], []

        def come(most):
            for _ in range(most):
                client = socket.socket()
                client.setblocking(False)
                client.connect_ex(("127.0.0.1", self.agent.port))
                crowd.append(client)

        def answered():
            try:
                return self.ask("read", timeout=10)[0] == 200
            except OSError:
                return False
        try:
            most = min(IDLE_MAX, hard // 2)
            # longer than a place is kept for whoever has had an answer: then all are theirs
            for _ in range(30):
                come(most // 30)
                time.sleep(.05)
            self.agent.wait(answered)
            self.agent.wait(answered)
        finally:
            for client in crowd:
                client.close()
        self.agent.wait(lambda: self.counters()["agent"]["http_ended"] > before["http_ended"])
        self.assertEqual(self.counters()["agent"]["http_refused"], before["http_refused"])

    def test_crossed_wires(self):
        """clear text to the port of TLS, and bytes that are neither"""
        for text in (b"GET /v1/status HTTP/1.1\r\nHost: x\r\n\r\n", os.urandom(4000),
                     b"\x16\x03\x01\xff\xff" + bytes(3000)):
            with socket.create_connection(("127.0.0.1", self.agent.port),
                                          timeout=PATIENCE_S) as client:
                try:
                    client.sendall(text)
                    client.shutdown(socket.SHUT_WR)
                    answer = client.recv(4096)
                except OSError:  # it had enough before that
                    answer = b""
                self.assertNotIn(b"HTTP/1.1 200", answer)
        threads = [threading.Thread(target=self.ask, args=("read",)) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(self.ask("read")[0], 200)

    def test_zz_nothing_secret(self):
        """last: in all that was said, nothing of a key or a token"""
        secrets = [READ_TOKEN, HASHED_TOKEN, AGENT_TOKEN, BAD_TOKEN,
                   hashlib.sha256(HASHED_TOKEN.encode()).hexdigest()]
        for name in os.listdir(self.ca):
            if name.endswith(".key"):
                with open(self.at("ca", name), encoding="ascii") as key:
                    secrets.append(key.read().splitlines()[1])
        said = [self.ask("admin", target, server)[2] for server in (self.agent, self.controller)
                for target in ("/v1/status", "/metrics", "/openapi.json")]
        for server in (self.agent, self.controller):
            with open(f"/proc/{server.process.pid}/cmdline", encoding="utf-8") as line:
                said.append(line.read())
        for name in self.outputs:
            with open(name, encoding="utf-8", errors="replace") as log:
                said.append(log.read())
        self.assertTrue(any("refused 127.0.0.1" in text for text in said))
        for secret in secrets:
            self.assertFalse(any(secret in text for text in said), "a secret was told")
        self.assertGreater(self.counters()["agent"]["http_unauthorized"], 0)
        self.assertGreater(self.counters()["agent"]["http_forbidden"], 0)


if __name__ == "__main__":
    unittest.main()
