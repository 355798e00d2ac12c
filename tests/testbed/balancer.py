# SPDX-License-Identifier: Apache-2.0
"""The balancer of a virtual address: tells over HTTP which server a flow has got. It fails, is slow
or lies, as its file says, and ends when that file is gone.

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

SLOW_S, LOOK_S = 1, .2
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


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        given = json.load(file)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", given["port"]), Handler)
    server.given, server.daemon_threads = given, True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("ready", flush=True)
    while os.path.exists(sys.argv[1]):
        time.sleep(LOOK_S)


if __name__ == "__main__":
    main()
