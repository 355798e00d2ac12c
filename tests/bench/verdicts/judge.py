# SPDX-License-Identifier: Apache-2.0
"""Whether a report is right, by what is really wrong at its time. A report without `detects` says
nothing of what it could not have seen: when it is certain, it has to name all."""
import math
import random

# after a fault began or ended, in which either is right
GRACE_S = 5
LAYERS = ("host", "tor", "leaf", "agg", "core", "intermediate", "spine", "switch")


class Truth:
    """the faults of a scenario by time"""

    def __init__(self, network, faults):
        self.network = network
        self.faults = [fault for fault in faults if "weights" not in fault]
        self.since_s = min((fault.get("start_s", 0) for fault in self.faults), default=0)

    def on(self, t, slack=0):
        """faults that are on; with slack: those that were or will be so long from here are, too"""
        return [f for f in self.faults
                if f.get("start_s", 0) - slack <= t < f.get("end_s", math.inf) + slack]

    def settled(self, t):
        """nothing has begun or ended lately"""
        return not any(0 <= t - at < GRACE_S for f in self.faults
                       for at in (f.get("start_s", 0), f.get("end_s", math.inf)))

    def is_right(self, report, t):
        """exactly what is wrong is named"""
        on = self.on(t)
        switches = {f["switch"] for f in on if "switch" in f}
        if switches:
            mine = {f"{s}" for s in switches}
            return set(report["switches"]) == switches and all(mine & set(link.split("-"))
                                                               for link in report["links"])
        links = {f["link"] for f in on}
        ends = {int(end) for link in links for end in link.split("-")}
        return set(report["links"]) == links and {*report["switches"],
                                                  *report.get("hosts", [])} <= ends

    def is_good(self, report, t):
        """a link or switch that is named loses packets"""
        return not self.healthy(report, t)

    def healthy(self, report, t):
        """what is named and well, with the grace of faults that have ended"""
        on = self.on(t, GRACE_S)
        links, switches = {f.get("link") for f in on}, {str(f.get("switch")) for f in on}
        named = [link for link in report["links"] if link not in links
                 and not switches & set(link.split("-"))]
        ends = {end for f in on
                for end in (f["link"].split("-") if "link" in f else [str(f["switch"])])}
        return named + [s for s in [*report["switches"], *report.get("hosts", [])]
                        if str(s) not in ends]

    def tier(self, link):
        roles = sorted((self.network.nodes[int(end)].role for end in link.split("-")),
                       key=LAYERS.index)
        return "host" if roles[0] == "host" else "-".join(roles)

    def wrong(self, report, t):
        """why a certain report is wrong; None: it is not certain, or not wrong"""
        if not report["certain"]:
            return None
        if self.healthy(report, t):
            return (f"certain of {report['links'] or report['switches']}, but "
                    f"{self.healthy(report, t)} is well")
        for fault in self.faults:
            if fault not in self.on(t) or t - fault.get(
                "start_s", 0) < GRACE_S or "link" not in fault or fault["link"] in report["links"]:
                continue
            if any(str(s) in fault["link"].split("-") for s in report["switches"]):
                continue
            sees, rate = (report.get("detects") or {}).get(self.tier(fault["link"]),
                                                           0), fault.get("loss", 1)
            if "detects" not in report or sees is not None and sees <= rate:
                return (f"certain without {fault['link']}, which loses {100 * rate:g} %, and says "
                        f"it would see {sees}")
        return None


def measure(truth, polls, seed):
    """the figures of a run; polls: [(t, report)]"""
    after = [(t, r) for t, r in polls if t >= truth.since_s]
    right = [(t, truth.is_right(r, t), r["certain"]) for t, r in after] if truth.faults else []
    wrong = [f"{t:.1f} s: {why}" for t, r in polls for why in [truth.wrong(r, t)] if why]
    states = [good + (good and certain) for t, good, certain in right if truth.settled(t)]
    named = [(t, r) for t, r in polls if r["links"] or r["switches"] or r.get("hosts")]
    asked = random.Random(seed).choice(named) if named else None
    last_t, last = polls[-1]
    on, said = {f.get("link") for f in truth.on(last_t)} - {None}, set(last["links"])
    all_named = len(said) + len(last["switches"])
    return {
        "reports": len(polls),
        "right_s": next((round(t - truth.since_s, 2) for t, good, _ in right if good), None),
        "certain_s": next((round(t - truth.since_s, 2) for t, good, certain in right if good
                           and certain), None),
        "certain": sum(r["certain"] for _, r in polls), "certain_wrong": len(wrong),
        "why": wrong[0] if wrong else None,
        "named_well": sum(bool(truth.healthy(r, t)) for t, r in polls),
        "flips": sum(b < a for a, b in zip(states, states[1:])),
        "precision": 1 - len(truth.healthy(last, last_t)) / all_named if all_named else None,
        "recall": len(on & said) / len(on) if on else None,
        "asked": [round(asked[1]["confidence"], 3), truth.is_good(asked[1], asked[0])] if asked
        else None,
    }
