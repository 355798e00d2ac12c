# SPDX-License-Identifier: Apache-2.0
"""The balancer of a virtual address: tells over HTTP which server a flow has got. It fails, is slow
or lies, as its file says, and ends when that file is gone or another one.

    python3 balancer.py FILE
    FILE: {"port", "vip", "parts": [[first source port, last, address]],
           "mode": ""|"fails"|"slow"|"lies"}
"""
import http.server
import json
import os
import sys
import threading
import time
import urllib.parse

SLOW_S, LOOK_S, BIND_S = 1, .2, 5
NOBODY = "192.0.2.1"                            # of no network that anyone has


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self):
        """(status, document)"""
        given, query = self.server.given, urllib.parse.urlsplit(self.path).query
        asked = dict(urllib.parse.parse_qsl(query))
        if given["mode"] == "fails":
            return 503, {}
        if asked.get("dst_ip") != given["vip"] or not asked.get("src_port", "").isdecimal():
            return 404, {}
        time.sleep(SLOW_S if given["mode"] == "slow" else 0)
        port = int(asked["src_port"])
        dip = next((dip for first, last, dip in given["parts"] if first <= port <= last), None)
        return 200, {"dip": NOBODY if given["mode"] == "lies" else dip}

    def do_GET(self):
        status, document = self.answer()
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def which(path):
    """a file of that name; None: there is none"""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def serve(port):
    """the balancer before may have some moments left"""
    deadline = time.monotonic() + BIND_S
    while True:
        try:
            return http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(.05)


def main():
    mine = which(sys.argv[1])
    with open(sys.argv[1], encoding="utf-8") as file:
        given = json.load(file)
    server = serve(given["port"])
    server.given, server.daemon_threads = given, True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("ready", flush=True)
    while which(sys.argv[1]) == mine:
        time.sleep(LOOK_S)


if __name__ == "__main__":
    main()
