# SPDX-License-Identifier: Apache-2.0
"""A command on a terminal of its own: a pty of a known size, its output as it came, keys to
type."""
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time

from command import BIN
from screen import Grid


class Terminal:
    """`words` are the command's; what it has written so far is in `text`"""

    def __init__(self, *words, rows=24, columns=80, program="pathdump", **environment):
        self.text, self.code, self.grid = "", None, Grid(rows, columns)
        env = {**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm", **environment}
        env.pop("COLUMNS", None)
        env.pop("LINES", None)
        self.pid, self.fd = pty.fork()
        if not self.pid:
            time.sleep(.05)         # until the size is set
            os.execve(os.path.join(BIN, program), [program, *map(str, words)], env)
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.fd)

    def resize(self, rows, columns):
        self.grid = Grid(rows, columns)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds):
        """what comes within this time; False at the end of it all"""
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            got = os.read(self.fd, 65536)
        except OSError:
            got = b""
        self.text += got.decode(errors="replace")
        self.grid.feed(got.decode(errors="replace"))
        return bool(got)

    def until(self, ready, seconds=10):
        """reads until ready(text), which is returned; falsy when it never was"""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if ready(self.text):
                return ready(self.text)
            if not self.read(.1):
                break
        return ready(self.text)

    def until_shown(self, *texts, seconds=10):
        """reads until all of them stand on the screen: its lines"""
        self.until(lambda _: all(any(text in line for line in self.grid.lines())
                                 for text in texts), seconds)
        return self.grid.lines()

    def type(self, keys):
        os.write(self.fd, keys.encode())

    def signal(self, number=signal.SIGTERM):
        os.kill(self.pid, number)

    def end(self, seconds=10):
        """(exit code, all it wrote) of a command that ends by itself"""
        limit = time.monotonic() + seconds
        while time.monotonic() < limit and self.code is None:
            self.read(.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.code = os.waitstatus_to_exitcode(status) if pid else None
        while self.read(0) and select.select([self.fd], [], [], 0)[0]:
            pass
        return self.code, self.text

    def close(self):
        if self.code is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)
