# SPDX-License-Identifier: Apache-2.0
"""The page of the map over HTTP: its files and headers, whom it is for, and sessions."""
import gzip
import http.client
import json
import os
import re

from fleet import FleetTest, main
from programs import Controller

READER, ADMIN, AGENT = "reader-token-0123456789", "admin-token-0123456789", "agent-token-0123456789"
POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src "
          "'self'; base-uri 'none'; form-action 'self'; "
          "frame-ancestors 'none'")


def ask(server, target, method="GET", body=None, **headers):
    """(status, headers, bytes) with exactly these headers"""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    try:
        connection.request(method, target, body=body if body is None else json.dumps(body),
                           headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def own(server):
    return f"http://127.0.0.1:{server.port}"


class MapTest(FleetTest):
    def serve(self, *words):
        server = Controller(self.folder, self.topology, {21: "http://127.0.0.1:1"}, *words)
        server.wait(lambda: ask(server, "/map"))
        return server

    def test_headers(self):
        with self.serve() as server:
            status, headers, _ = ask(server, "/")
            self.assertEqual((status, headers["Location"]), (302, "/map"))
            for target in ("/map", "/", "/v1/status", "/map/no-such.js", "/v1/no-such"):
                _, headers, _ = ask(server, target)
                self.assertEqual(headers["Content-Security-Policy"], POLICY, target)
                self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
                self.assertEqual(headers["Cross-Origin-Resource-Policy"], "same-origin")
                self.assertEqual(headers["Referrer-Policy"], "no-referrer")
            self.assertEqual(ask(server, "/v1/status")[1]["Cache-Control"], "no-store")

    def test_files(self):
        """each file that the page names is there: as it is, packed, and not again"""
        with self.serve() as server:
            status, headers, page = ask(server, "/map")
            self.assertEqual((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"))
            names = re.findall(rb'(?:src|href)="(/map/[^"]+)"', page)
            for target in ["/map"] + [name.decode() for name in names]:
                status, headers, body = ask(server, target)
                self.assertEqual(status, 200, target)
                tag = headers["ETag"]
                self.assertEqual(ask(server, target, **{"If-None-Match": tag})[0::2], (304, b""))
                _, headers, packed = ask(server, target, **{"Accept-Encoding": "gzip"})
                self.assertEqual((headers["Content-Encoding"], headers["ETag"],
                                  gzip.decompress(packed)), ("gzip", tag, body))
            self.assertEqual(ask(server, "/map/..%2fREADME.md")[0], 404)
            self.assertEqual(ask(server, "/map/CMakeLists.txt")[0], 404)
            self.assertEqual(ask(server, "/map", "POST", {})[0], 405)

    def test_root(self):
        """a folder instead, read anew each time; or nothing"""
        at = self.path("web")
        os.mkdir(at)
        with open(os.path.join(at, "index.html"), "w", encoding="utf-8") as out:
            out.write("mine")
        with self.serve("--web-root", at) as server:
            self.assertEqual(ask(server, "/map")[2], b"mine")
            self.assertEqual(ask(server, "/map/index.html")[2], b"mine")
        with self.serve("--no-web") as server:
            for target in ("/", "/map", "/map/index.html"):
                self.assertEqual(ask(server, target)[0], 404)

    def test_strangers(self):
        with self.serve() as server:
            self.assertEqual(ask(server, "/v1/hosts", Origin=own(server))[0], 200)
            for origin in ("http://evil.example", "null", "", own(server).replace("http", "https"),
                           own(server) + "0", own(server) + "/",
                           own(server).replace("127.0.0.1", "localhost")):
                for target in ("/map", "/v1/hosts"):
                    self.assertEqual(ask(server, target, Origin=origin)[0], 401, origin)
            for target in ("/map", "/", "/v1/hosts"):
                self.assertEqual(ask(server, target, Host="evil.example")[0], 421)
                self.assertEqual(ask(server, target, Host="evil.example",
                                     Origin="http://evil.example")[0], 421)

    def test_pages_read(self):
        """who may do everything may not by a page"""
        with self.serve() as server:
            install = {"query": "topFlows", "args": {}, "hosts": "all", "period_ms": 1000}
            program = {"program": "function run() return 1 end", "hosts": "all"}
            for target, body in (("/v1/install", install), ("/v1/execute", program),
                                 ("/v1/watches", {"app": "silent-drops"})):
                self.assertEqual(ask(server, target, "POST", body, Origin=own(server))[0], 403,
                                 target)
            self.assertEqual(ask(server, "/v1/execute", "POST",
                                 {"query": "topFlows", "hosts": "all"}, Origin=own(server))[0], 200)
            self.assertEqual(ask(server, "/v1/execute", "POST", {
                "query": "topFlows", "hosts": "all"}, Origin="http://evil.example")[0], 401)
            self.assertNotEqual(ask(server, "/v1/execute", "POST", program)[0], 403)

    def login(self, server, token, **headers):
        status, headers, _ = ask(server, "/v1/session", "POST", {"token": token}, **headers)
        return status, (headers["Set-Cookie"] or "").split(";")[0], headers["Set-Cookie"]

    def with_tokens(self):
        tokens = self.write("tokens", f"read ada {READER}\nadmin root {ADMIN}\nagent 21 {AGENT}\n")
        os.chmod(tokens, 0o600)
        return self.serve("--token-file", tokens)

    def test_sessions(self):
        with self.with_tokens() as server:
            # the login page is for everybody
            self.assertEqual(ask(server, "/map")[0], 200)
            self.assertEqual(ask(server, "/v1/hosts")[0], 401)
            self.assertEqual(self.login(server, "x" * 20)[0], 401)
            self.assertEqual(self.login(server, AGENT)[0], 403)
            self.assertEqual(self.login(server, READER, Origin="http://evil.example")[0], 401)
            self.assertEqual(ask(server, "/v1/session", "POST", {"token": 7})[0], 400)
            self.assertEqual(ask(server, "/v1/session", "POST", {"token": "x" * 5000})[0], 413)
            status, cookie, whole = self.login(server, READER, Origin=own(server))
            self.assertEqual(status, 204)
            self.assertRegex(whole, r"^__Host-pathdump=[0-9a-f]{64}; Path=/; Max-Age=43200; "
                             r"HttpOnly; Secure; SameSite=Strict$")
            self.assertEqual(ask(server, "/v1/hosts", Cookie=cookie)[0], 200)
            self.assertEqual(ask(server, "/v1/hosts", Cookie=cookie, Origin=own(server))[0], 200)
            self.assertEqual(ask(server, "/v1/hosts", Cookie=cookie,
                                 Origin="http://evil.example")[0], 401)
            self.assertEqual(ask(server, "/v1/hosts",
                                 Cookie=cookie[:-1] + ("0" if cookie[-1] != "0" else "1"))[0], 401)
            self.assertEqual(ask(server, "/v1/hosts", Cookie="__Host-pathdump=")[0], 401)
            self.assertEqual(ask(server, "/map", Cookie="__Host-pathdump=")[0], 200)
            self.assertEqual(ask(server, "/v1/session", "DELETE", Cookie=cookie)[0], 204)
            self.assertEqual(ask(server, "/v1/hosts", Cookie=cookie)[0], 401)

    def test_sessions_read(self):
        """an admin's session, too, and no word of it gets into log or status"""
        with self.with_tokens() as server:
            status, cookie, _ = self.login(server, ADMIN)
            self.assertEqual(status, 204)
            self.assertEqual(ask(server, "/v1/audit", Cookie=cookie)[0], 403)
            self.assertEqual(ask(server, "/v1/install", "POST", {}, Cookie=cookie)[0], 403)
            self.assertEqual(ask(server, "/v1/execute", "POST", {"program": "x"}, Cookie=cookie)[0],
                             403)
            self.assertEqual(ask(server, "/v1/audit", Authorization="Bearer " + ADMIN)[0], 200)
            status, _, text = ask(server, "/v1/status", Cookie=cookie)
            self.assertEqual((status, json.loads(text)["map"]["sessions"]["open"]), (200, 1))
            for secret in (ADMIN, cookie.split("=")[1]):
                self.assertNotIn(secret, text.decode() + server.log())


if __name__ == "__main__":
    main()
