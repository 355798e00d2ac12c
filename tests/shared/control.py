# SPDX-License-Identifier: Apache-2.0
"""HTTP over a unix socket: how a switch program, or another daemon, is asked where it listens."""
import http.client
import socket


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout_s):
        super().__init__("localhost", timeout=timeout_s)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)
