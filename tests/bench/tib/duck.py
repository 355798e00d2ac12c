#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The questions of bench_tib asked of DuckDB, one thread, on the columns that `bench_tib --export
DIR` wrote.

Usage: duck.py DIR     (needs the Python packages duckdb and numpy)
"""
import json
import os
import statistics
import sys
import time

import duckdb
import numpy

OF_LINK = "record JOIN link USING (path) WHERE a = 257 AND b = 129"
FLOW = "src, src_port, dst_port"
QUESTIONS = {
    "rows of a link": f"SELECT src, src_port, dst_port, path, stime, etime, bytes, pkts FROM "
    f"{OF_LINK}",
    "getFlows of a link": f"SELECT {FLOW}, path, min(stime), max(etime), sum(bytes), sum(pkts) "
    f"FROM {OF_LINK} GROUP BY {FLOW}, path",
    "getFlows of a link, one minute": f"SELECT {FLOW}, path, min(stime), max(etime), sum(bytes), "
    f"sum(pkts) FROM {OF_LINK} "
    f"AND stime <= {{minute}} + 60000000 AND etime >= {{minute}} AND stime >= {{minute}} - "
    f"60000000 GROUP BY {FLOW}, path",
    "getPaths of a flow": "SELECT DISTINCT path FROM record WHERE src = {src} AND src_port = "
    "{src_port} AND dst_port = {dst_port}",
    "getCount of a flow": "SELECT sum(bytes), sum(pkts) FROM record WHERE src = {src} AND src_port "
    "= {src_port} AND dst_port = {dst_port}",
    "top records by bytes": "SELECT * FROM record ORDER BY bytes DESC LIMIT 10000",
    "top flows by bytes": f"SELECT {FLOW}, sum(bytes) AS s FROM record GROUP BY {FLOW} ORDER BY s "
    f"DESC LIMIT 10000",
    "flow sizes of a link": f"SELECT s // 10000 AS bin, count(*) FROM (SELECT sum(bytes) AS s FROM "
    f"{OF_LINK} GROUP BY {FLOW}, path) GROUP BY bin",
    "traffic matrix": "SELECT a, b, sum(bytes), sum(pkts) FROM (SELECT path, sum(bytes) AS bytes, "
    "sum(pkts) AS pkts FROM record GROUP BY path) "
    "JOIN ends USING (path) GROUP BY a, b",
}
TYPES = {"u16": numpy.uint16, "u32": numpy.uint32, "u64": numpy.uint64}


def load(where):
    db = duckdb.connect(os.path.join(where, "peer.duckdb"))
    db.execute("SET threads = 1")
    files = {os.path.splitext(f)[0]: numpy.fromfile(os.path.join(where, f), TYPES[
        f.rsplit(".", 1)[1]]) for f in os.listdir(where) if f[-3:] in TYPES}
    link, ends = files.pop("link").reshape(-1, 3), files.pop("ends").reshape(-1, 3)
    for name, table in (("record", files), ("link", dict(zip(("a", "b", "path"), link.T.copy()))),
                        ("ends", dict(zip(("path", "a", "b"), ends.T.copy())))):
        rows = table  # DuckDB finds it by its name
        db.execute(f"CREATE TABLE {name} AS SELECT * FROM rows")
    db.execute("CHECKPOINT")
    return db, files


def ask(db, sql, columns, i):
    at = i * 7919 * 1009 % len(columns["src"])
    minute = int(columns["stime"][at])
    text = sql.format(minute=minute, src=columns["src"][at], src_port=columns["src_port"][at],
                      dst_port=columns["dst_port"][at])
    begin = time.perf_counter()
    db.execute(text).fetchnumpy()
    return (time.perf_counter() - begin) * 1e3


def main():
    where = sys.argv[1]
    db, columns = load(where)
    for name, sql in QUESTIONS.items():
        ask(db, sql, columns, 0)
        first = ask(db, sql, columns, 1)
        times = [first] + [ask(db, sql, columns, i) for i in range(2, 4 if first > 1000 else 9)]
        print(json.dumps({"records": len(columns["src"]), "peer": "duckdb", "query": name,
                          "p50_ms": round(statistics.median(times), 4)}), flush=True)
    db.close()
    os.unlink(os.path.join(where, "peer.duckdb"))


main()
