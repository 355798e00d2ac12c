#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pictures of docs/map.md: a test bed with traffic, a link that loses packets and a flow that
changed its path, view by view.

    shots.py [FOLDER]       as root; writes FOLDER/VIEW.png (default: docs/map)
"""
import os
import sys
import time

import test_bed as bed_test
from background import Background
from browser import Page

HERE = os.path.dirname(os.path.abspath(__file__))
SIZE = (1120, 700)
FAULT_S = 90


def wait_suspect(page, name):
    page.until(lambda: "suspect" in (
        page.js("return document.querySelector(`tr[data-link=\"${arguments[0]}\"]`)?.textContent",
                name) or ""), name, FAULT_S)


def shoot(page, folder, name, fragment, ready=None):
    page.open(fragment)
    if ready:
        page.until(ready, name)
    time.sleep(2)
    page.shot(os.path.join(folder, f"{name}.png"))


def detour(bed):
    """a connection whose way changes because a link fails, as the page's fragment has it"""
    sender, receiver = bed.host(bed_test.SENDER), bed.host(bed_test.RECEIVER)
    server = bed_test.traffic.Server(receiver)
    connection = bed_test.traffic.Sender(sender, receiver.ipv4, 1)
    connection.send(300_000)
    args = {"src_ip": sender.ipv4, "dst_ip": receiver.ipv4, "dst_port": bed_test.traffic.PORT,
            "protocol": 6, "live": True}
    flow = max(bed.controller.ask("execute", {"hosts": "all", "query": "getFlows",
                                              "args": args})["flows"], key=lambda row: row["bytes"])
    bed.link_down(*flow["path"][-2:])
    connection.send(300_000)
    connection.close()
    server.close()
    bed.link_up(*flow["path"][-2:])
    return f"{sender.ipv4},{receiver.ipv4},{flow['flow_id']['src_port']},{bed_test.traffic.PORT},6"


def shoot_busy(bed, page, folder):
    """all views of which traffic and a fault are the subject"""
    link = "-".join(map(str, bed_test.LOSSY))
    page.open("#view=fabric&metric=load_bps")
    time.sleep(10)
    bed.faults.add("loss", *bed_test.LOSSY, 0.2)
    wait_suspect(page, link)
    shoot(page, folder, "fabric", "#view=fabric&metric=load_bps")
    shoot(page, folder, "matrix", "#view=matrix&metric=load_bps")
    shoot(page, folder, "link", f"#view=link&link={link}&metric=load_bps",
          lambda: page.rows("top-flows"))
    shoot(page, folder, "verdicts", "#view=verdicts", lambda: page.rows("verdict"))
    shoot(page, folder, "alarms", "#view=alarms", lambda: page.rows("alarm-group"))
    page.js("localStorage.setItem('theme', 'light')")
    shoot(page, folder, "light", f"#view=fabric&metric=load_bps&link={link}",
          lambda: page.rows("top-flows"))
    page.js("localStorage.setItem('theme', 'dark')")
    bed.faults.clear()


def main(folder):
    os.makedirs(folder, exist_ok=True)
    with bed_test.scenario.bed("shots", tagged=all, controller=True) as bed:
        bed_test.start_all(bed)
        bed.controller.ask("watches", {"app": "silent-drops", "period_s": 2,
                                       "args": {"link_mbps": bed_test.LINK_MBPS}})
        with Page(bed.controller.door(), SIZE) as page:
            with Background(bed.hosts.values()):
                shoot_busy(bed, page, folder)
            flow = detour(bed)          # the port of its server is free again
            shoot(page, folder, "flow", f"#view=flow&flow={flow}&metric=load_bps&window=60",
                  lambda: len(page.rows("flow-path")) == 2)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "../../docs/map"))
