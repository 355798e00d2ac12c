#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The lines of tests/bench/tib/run as Markdown tables."""
import json
import sys


def main():
    lines = [json.loads(line) for line in sys.stdin if line.startswith("{")]
    for records in sorted({line["records"] for line in lines}):
        of = [line for line in lines if line["records"] == records]
        peers = {(line["peer"], line["query"]): line["p50_ms"] for line in of if "peer" in line}
        print(f"\n{records:,} records:\n\n| query | p50 ms | p99 ms | CPU p50 ms | cold ms | "
              f"memory limit ms | × limit | SQLite / ours | DuckDB / ours |\n"
              f"|---|---|---|---|---|---|---|---|---|")
        seen = set()
        for line in of:
            if "query" not in line or "peer" in line:
                continue
            name = line["query"] + (" (packed)" if line["query"] in seen else "")
            seen.add(line["query"])
            ratios = [peers.get((peer, line["query"]))
                      for peer in ("sqlite", "duckdb")] if name == line["query"] else [None, None]
            cells = [name] + [f"{line[k]:,.3f}" if k in line else "–" for k in (
                "p50_ms", "p99_ms", "cpu_p50_ms", "cold_ms", "memory_limit_ms", "ratio_to_limit")]
            print("| " + " | ".join(cells + [f"{r / line['p50_ms']:,.0f} ×" if r else "–"
                                             for r in ratios]) + " |")
        for line in of:
            if "query" not in line:
                print("- " + json.dumps(line))


main()
