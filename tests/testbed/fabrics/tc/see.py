#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Frames that come in by the interfaces of a site: a line of JSON each, {"at": interface, "ns":
time, "frame": hex}.

    see.py PORT          only UDP to this port

Prints "ready" first and ends when its standard input does and the wire is quiet. What a switch has
written is what its neighbour gets.
"""
import json
import os
import select
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import wire


def main(port):
    sock, ending = wire.listen(), False
    print("ready", flush=True)
    while True:
        ready = select.select([sock] if ending else [sock, sys.stdin], [], [],
                              wire.QUIET_S if ending else None)[0]
        if ending and not ready:
            break
        if sock not in ready:
            ending = not sys.stdin.read(1)
            continue
        interface, time_ns, frame = wire.read(sock)
        flow = wire.packet(frame)
        if flow and flow[0][3] == int(port):
            print(json.dumps({"at": interface, "ns": time_ns, "frame": frame.hex()}))
    sys.stdout.flush()


main(*sys.argv[1:])
