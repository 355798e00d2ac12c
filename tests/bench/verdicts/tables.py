# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/verdicts.md, from the lines of runs."""
import math
import statistics

BINS = 10


def median(values):
    return f"{statistics.median(values):.1f}" if values else "–"


def worst(values, runs):
    """of those that came; how many did not"""
    never = runs - len(values)
    return (f"{max(values):.1f}" if values else "–") + (f" ({never} never)" if never else "")


def share(values):
    values = [value for value in values if value is not None]
    return f"{statistics.mean(values):.2f}" if values else "–"


def results(lines):
    """a row for each case, place and method"""
    rows = {}
    for line in lines:
        rows.setdefault((line["case"], line["where"], line["method"]), []).append(line)
    yield ("| case | where | method | runs | precision | recall | right s: median, worst | certain "
           "s: median, worst | certain and wrong | flips, most | well links named |")
    yield "|" + "---|" * 11
    for (case, where, method), runs in rows.items():
        right, certain = ([r[name] for r in runs if r[name] is not None]
                          for name in ("right_s", "certain_s"))
        faulty = len(runs) if any(r["faults"] for r in runs) else 0
        named = sum(r["named_well"] for r in runs) / max(1, sum(r["reports"] for r in runs))
        yield (f"| {case} | {where} | {method} | {len(runs)} | "
               f"{share(r['precision'] for r in runs)} | {share(r['recall'] for r in runs)} | "
               f"{median(right)}, {worst(right, faulty)} | {median(certain)}, "
               f"{worst(certain, faulty)} | "
               f"{sum(bool(r['certain_wrong']) for r in runs)} | {max(r['flips'] for r in runs)} | "
               f"{100 * named:.1f} % of reports |")


def calibration(lines):
    """one verdict of each run that named something, drawn by its seed: what was said against what
    was so"""
    pairs = sorted(line["asked"] for line in lines if line["asked"]
                   and line["method"] != "max-coverage")
    yield "| confidence said | right | verdicts |"
    yield "|---|---|---|"
    for i in range(BINS):
        part = [p for p in pairs if i / BINS <= p[0] < (i + 1) / BINS or i == BINS - 1
                and p[0] == 1]
        if part:
            right = statistics.mean(good for _, good in part)
            chance = math.sqrt(right * (1 - right) / len(part))
            yield (f"| {statistics.mean(said for said, _ in part):.2f} | {right:.2f} ± "
                   f"{chance:.2f} | {len(part)} |")


def write(lines, out):
    """even seeds are for tuning, odd ones are what is reported"""
    for name, odd in (("Odd seeds", 1), ("Even seeds", 0)):
        mine = [line for line in lines if line["seed"] % 2 == odd]
        if mine:
            wrong = sum(bool(line["certain_wrong"]) for line in mine)
            out.write(f"\n### {name}: {len(mine)} runs, {wrong} of them certain and wrong at some "
                      f"time\n\n")
            out.write("\n".join(results(mine)) + "\n\n" + "\n".join(calibration(mine)) + "\n")
