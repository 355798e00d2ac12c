# SPDX-License-Identifier: Apache-2.0
"""The process that keeps a test bed alive: it holds the bed's network namespaces open, and cleans
up when it ends.

A bed has no named namespaces and no interface outside its own namespaces, so there is nothing to
collide with and nothing for a crash to leave behind but processes and one state folder. Every
process of a bed carries the bed's token in its environment; that is how the processes are found,
whoever started them.

    keeper.py STATE_FOLDER LOCK_FD HOSTS SWITCH_SITES SYSCTLS [--stay]

SYSCTLS are those of the sites' namespaces, as JSON.

Namespaces of hosts are file descriptors FIRST_FD, FIRST_FD + 1, …, those of the switches follow.
The keeper ends on SIGTERM, or when its standard input does (its owner has died; with --stay it
outlives its owner).
"""
import ctypes
import fcntl
import json
import os
import shutil
import signal
import sys
import time

STATE = "/run/pathdump-testbed"
PINS = "/sys/fs/bpf/pathdump-testbed"   # maps of switches that count
TOKEN = "PATHDUMP_TESTBED"
FIRST_FD = 100
CLONE_NEWNET = 0x40000000
GRACE_S = 1.0
HOST_SYSCTLS = {
    "ipv4/tcp_congestion_control": "reno", "ipv4/tcp_no_metrics_save": "1",
    "ipv6/conf/default/accept_ra": "0", "ipv6/conf/default/autoconf": "0",
    "ipv6/conf/default/router_solicitations": "0",
    "ipv6/conf/default/accept_dad": "0", "ipv6/conf/default/dad_transmits": "0",
    "ipv6/conf/default/addr_gen_mode": "1",
}


def processes(token):
    """IDs of the living processes of the bed with this token"""
    wanted, found = f"{TOKEN}={token}".encode(), []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as environ, open(f"/proc/{pid}/stat",
                                                                     "rb") as stat:
                if wanted in environ.read().split(b"\0") and stat.read().rpartition(b") ")[2][
                    :1] != b"Z":
                    found.append(int(pid))
        except OSError:
            pass
    return found


def end_processes(token):
    """every process of a bed is told to end, and soon after made to"""
    deadline = time.monotonic() + GRACE_S
    told = set()
    while left := processes(token):
        late = time.monotonic() > deadline
        for pid in left if late else set(left) - told:
            told.add(pid)
            try:
                os.kill(pid, signal.SIGKILL if late else signal.SIGTERM)
            except ProcessLookupError:
                pass
        time.sleep(0.02)


def clean(folder):
    """ends what is left of a bed and removes its state folder"""
    try:
        with open(os.path.join(folder, "state.json"), encoding="utf-8") as file:
            end_processes(json.load(file)["token"])
    except (FileNotFoundError, ValueError):
        pass
    shutil.rmtree(os.path.join(PINS, os.path.basename(folder)), ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)
    for name in (PINS, STATE):
        try:
            os.rmdir(name)
        except OSError:
            pass                                # other beds are up


def is_dead(folder):
    """the keeper of a living bed holds its lock, and so does the process that is bringing it up; a
    folder that is being made has no lock yet, and is named .NAME.PID"""
    name = os.path.basename(folder)
    if name.startswith("."):
        return not os.path.exists(f"/proc/{name.rpartition('.')[2]}")
    try:
        with open(os.path.join(folder, "lock"), "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except FileNotFoundError:
        pass
    return True


def sweep():
    """removes what dead beds left behind; returns their names"""
    dead = []
    for name in sorted(os.listdir(STATE)) if os.path.isdir(STATE) else []:
        folder = os.path.join(STATE, name)
        if is_dead(folder):
            clean(folder)
            dead.append(name)
    return dead


def make_namespaces(count, first, sysctls):
    libc = ctypes.CDLL(None, use_errno=True)
    for fd in range(first, first + count):
        if libc.unshare(CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "cannot make a network namespace")
        namespace = os.open("/proc/self/ns/net", os.O_RDONLY)
        os.dup2(namespace, fd)
        os.close(namespace)
        for name, value in sysctls.items():
            with open("/proc/sys/net/" + name, "w", encoding="ascii") as file:
                file.write(value)


def main(folder, _lock_fd, hosts, sites, sysctls, *stay):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        make_namespaces(int(hosts), FIRST_FD, HOST_SYSCTLS)
        make_namespaces(int(sites), FIRST_FD + int(hosts), json.loads(sysctls))
        print("ready", flush=True)
        while stay:
            signal.pause()
        os.read(0, 1)
    except OSError as error:
        print(error, flush=True)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        clean(folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
