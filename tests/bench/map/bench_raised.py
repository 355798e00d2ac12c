#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From an alarm that an agent raises to its row in the page of the map: real packets on an
interface, an agent with an installed query, the controller, Debian's Chromium. Prints one JSON
object a line. As root: a network namespace of its own.

    bench_raised.py [BIN]
"""
import json
import math
import os
import random
import statistics
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
os.environ["PD_BIN"] = os.environ["PATHDUMP_BIN"] = os.path.abspath(
    sys.argv[1]) if len(sys.argv) > 1 else os.path.join(HERE, "../../../build/release/bin")
for folder in "../../shared", "../../integration/agent", "../../browser":
    sys.path.insert(0, os.path.join(HERE, folder))
from browser import Page                        # noqa: E402
from daemon import frame, set_up_network        # noqa: E402
from programs import Controller, Daemon, free_port, pathdump    # noqa: E402

ALARMS, FIRST_PORT = 100, 1024
BAD = (1, 9, 17, 13, 18, 11, 3)
SENDER, RECEIVER = "10.1.1.2", "10.2.1.2"
PACE_S = 0.025, 0.055
CONFORMANCE = {"query": "conformance", "args": {"max_hops": 5}, "on": "new_flow"}
# When the group of the alarms has counted so many.
WATCH = """window.seen = [];
    const look = () => { for (const e of document.querySelectorAll('[data-testid=alarm-group]'))
        if (e.dataset.reason === 'PC_FAIL')
            while (window.seen.length < Number(e.dataset.count)) window.seen.push(Date.now()); };
    new MutationObserver(look).observe(document.body, {subtree: true, childList: true,
        attributes: true, attributeFilter: ['data-count']})"""


def send_all(sender, tags):
    """when each was sent, by its port"""
    sent = {}
    for port in range(FIRST_PORT, FIRST_PORT + ALARMS):
        raw = frame(SENDER, RECEIVER, port, 80, b"x", tags)
        time.sleep(random.uniform(*PACE_S))
        sent[port] = time.time()
        sender.send(raw)
    return sent


def measure(controller, page, sender, tags):
    page.open("#view=alarms")
    page.js(WATCH)
    sent = send_all(sender, tags)
    page.until(lambda: len(page.js("return window.seen")) >= ALARMS, "all alarms")
    raised = sorted(alarm["time_us"] / 1e3 for alarm in controller.get("/v1/alarms")["alarms"])
    shown = page.js("return window.seen")
    return ([at - when for at, when in zip(shown, raised)],
            [at - 1e3 * when for at, when in zip(shown, sent.values())])


def say(name, waits):
    p99 = sorted(waits)[math.ceil(.99 * len(waits)) - 1]
    print(json.dumps({"bench": "map", "name": name, "alarms": len(waits), "p99_ms": round(p99),
                      "median_ms": round(statistics.median(waits))}), flush=True)


def main():
    sender, port = set_up_network(), free_port()
    with tempfile.TemporaryDirectory() as at:
        topology = os.path.join(at, "topology.json")
        with open(topology, "w", encoding="utf-8") as out:
            out.write(pathdump("topology", "fat-tree", "--k", 4))
        with open(topology, encoding="utf-8") as file:
            host = next(node["id"] for node in json.load(file)["nodes"]
                        if RECEIVER in node.get("addrs", []))
        tags = json.loads(pathdump("codec", "encode", "--topology", topology, "--src", SENDER,
                                   "--dst", RECEIVER, "--path", ",".join(map(str, BAD)),
                                   "--json"))["tags"]
        folder = os.path.join(at, "agent")
        os.mkdir(folder)
        with Daemon(folder, "--host-id", str(host), "--controller", f"http://127.0.0.1:{port}",
                    "--alarm-budget", str(2 * ALARMS), topology=topology,
                    intake="live:rx") as agent:
            agent.wait_state("running")
            with Controller(at, topology, {host: agent.url}, port=port) as controller:
                controller.wait(controller.status)
                status, _, body = controller.raw("/v1/install", "POST", json.dumps(
                    {"hosts": [host], **CONFORMANCE}))
                assert status == 200, body
                with Page(controller.url) as page:
                    raised, sent = measure(controller, page, sender, tags)
    say("alarm raised at the agent to its row in the page", raised)
    say("bad packet on the wire to the row in the page", sent)


if __name__ == "__main__":
    main()
