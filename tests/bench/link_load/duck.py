#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""linkLoad asked of DuckDB, one thread, on the columns that bench_link_load wrote: sums over
unnested links, prorated by the same formula.

Usage: duck.py DIR     (needs the Python packages duckdb and numpy)
"""
import json
import os
import statistics
import sys
import time

import duckdb
import numpy

SPAN_US, WINDOW_US = 3_600_000_000, 10_000_000
UNTIL = (
    "{what} * least(greatest({t}::HUGEINT - stime, 0), etime - stime + 1) // (etime - stime + 1)")
SHARE = f"({UNTIL.replace('{t}', '{to}')}) - ({UNTIL.replace('{t}', '{from_}')})"
QUESTION = """WITH part AS (SELECT links, {bytes} AS bytes, {pkts} AS pkts FROM record
  JOIN way USING (path) WHERE stime < {to} AND etime >= {from_}),
each AS (SELECT unnest(links) AS link, bytes, pkts FROM part)
SELECT link, sum(bytes), sum(pkts) FROM each GROUP BY link"""


def load(where):
    db = duckdb.connect(os.path.join(where, "peer.duckdb"))
    db.execute("SET threads = 1")
    types = {"u32": numpy.uint32, "u64": numpy.uint64}
    files = {f.split(".")[0]: numpy.fromfile(os.path.join(where, "columns", f), types[f[-3:]])
             for f in os.listdir(os.path.join(where, "columns"))}
    links = files.pop("link").reshape(-1, 3).astype(numpy.uint64)
    hops = {"path": links[:, 2].astype(numpy.uint32),
            "link": links[:, 0] << numpy.uint64(32) | links[:, 1]}
    files = {name: column.astype(numpy.int64) if name != "path" else column
             for name, column in files.items()}
    for name, rows in (("record", files), ("hop", hops)):       # DuckDB finds `rows` by its name
        db.execute(f"CREATE TABLE {name} AS SELECT * FROM rows")
    db.execute("CREATE TABLE way AS SELECT path, list(link) AS links FROM hop GROUP BY path")
    db.execute("CHECKPOINT")
    return db, files


def ask(db, first, i):
    from_ = int(first) + i * 7919 * 1_000_003 % SPAN_US
    to = from_ + WINDOW_US
    text = QUESTION.format(from_=from_, to=to,
                           bytes=SHARE.format(what="bytes::HUGEINT", from_=from_, to=to),
                           pkts=SHARE.format(what="pkts::HUGEINT", from_=from_, to=to))
    begun = time.thread_time()
    rows = db.execute(text).fetchnumpy()
    return (time.thread_time() - begun) * 1e3, len(rows["link"])


def main():
    db, columns = load(sys.argv[1])
    first = columns["stime"].min()
    ask(db, first, 0)
    times = [ask(db, first, i) for i in range(1, 12)]
    print(json.dumps({"bench": "linkLoad", "peer": "duckdb", "version": duckdb.__version__,
                      "records": len(columns["path"]), "links": times[-1][1],
                      "cpu_p50_ms": round(statistics.median(t for t, _ in times), 3)}), flush=True)


main()
