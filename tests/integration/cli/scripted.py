# SPDX-License-Identifier: Apache-2.0
"""A server that answers as a test says, well or badly, and remembers what it was asked."""
import json
import socket
import socketserver
import threading
from http.server import BaseHTTPRequestHandler

from command import CommandTest


class Handler(BaseHTTPRequestHandler):
    """answers as the server's `answer` says: (status, type, body), or a function that does it"""

    def do_GET(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.asked.append(self.path)
        self.server.requests.append((self.command, self.path, dict(self.headers), body))
        answer = self.server.answer
        if callable(answer):
            answer(self)
            return
        status, kind, body = answer
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_DELETE = do_GET

    def address_string(self):
        return "somebody"

    def log_message(self, *_):
        pass


class Tcp(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True


class Unix(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True


class ScriptedTest(CommandTest):
    def serve(self, answer, server=None):
        server = server or Tcp(("127.0.0.1", 0), Handler)
        server.answer, server.asked, server.requests = answer, [], []
        threading.Thread(target=server.serve_forever, args=(.05,), daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.server = server
        return f"http://127.0.0.1:{server.server_address[1]}" if isinstance(server, Tcp) else None

    def good(self, document, **how):
        return 200, "application/json", json.dumps(document, **how).encode()

    def problem(self, document):
        return document["status"], "application/problem+json", json.dumps(document).encode()

    def body(self):
        """of the newest request, which was JSON"""
        _, _, headers, body = self.server.requests[-1]
        self.assertEqual(headers["Content-Type"], "application/json")
        return json.loads(body)

    def nobody(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            return f"http://127.0.0.1:{s.getsockname()[1]}"
