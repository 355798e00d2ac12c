# SPDX-License-Identifier: Apache-2.0
"""What the documents of the two daemons say in words, since OpenAPI has no form for it: for
schemathesis, which makes requests of docs/api; what it then finds is to be mended there or in code:

    SCHEMATHESIS_HOOKS=schemathesis_hooks schemathesis run http://127.0.0.1:7411/openapi.json \
        --checks all -n 100 --exclude-path-regex 'stream|events|reports'

in this folder, against an agent or a controller. Left out are streams, which have no end, and
reports of probes, which are bytes (docs/formats/probes.md).

Each rule here makes one member fit another one or the place; whatever else is wrong stays wrong."""
import itertools
import re
import time
from datetime import datetime

import schemathesis

PLAN = {"version": 1, "seed": 1, "carrier": "tag", "bits": 4,
        "queries": [{"name": "q", "aggregation": "static", "value": "switch-id", "bits": 4,
                     "tau": 0, "xor": [256]}],
        "sets": [{"weight": 1, "queries": ["q"]}]}
PROGRAM = "function run(args) return 1 end"     # any text is a program to the document
BOUNDS = ("from", "to"), ("from_us", "to_us")   # a span ends behind its beginning


def seconds(value):
    """of a time as the documents write it; None: it is none"""
    if isinstance(value, bool) or value is None:
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        pass
    try:
        return datetime.fromisoformat(str(value).upper().replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None


def order_times(members, least=0):
    for first, last in BOUNDS:
        begin, end = seconds(members.get(first)), seconds(members.get(last))
        if begin is None or end is None:
            continue
        if end < begin:
            members[first], members[last] = members[last], members[first]
        elif end - begin < least:
            members.pop(first)
    return members


def is_text(value):
    return isinstance(value, str) and value


def fit_query(path, query):
    if path.startswith("/v1/links"):
        for name in ("from", "to", "step_ms"):      # a span of so many steps, which ends by now
            query.pop(name, None)
    if path == "/v1/conformance" and not {"max_hops", "avoid", "must_pass", "allow"} & set(query):
        query["max_hops"] = "5"
    if is_text(query.get("allow")):
        query["allow"] = "10.0.0.0/24>10.1.0.0/16"
    if "to" not in query and (seconds(query.get("from")) or 0) > time.time():
        query.pop("from")               # it ends now
    order_times(query)


def fit_children(body, numbers):
    """at every depth, each host once; what is no text or no number stays wrong"""
    children = body.get("children")
    for child in children if isinstance(children, list) else ():
        if isinstance(child, dict):
            if isinstance(child.get("url"), str):
                child["url"] = "http://127.0.0.1:9"
            if isinstance(child.get("id"), int) and child["id"] >= 0:
                child["id"] = next(numbers)
            fit_children(child, numbers)


def fit_question(body):
    """args are those of the query, which its own route has one by one; a program is Lua; hosts are
    those of the inventory; there is time enough"""
    query = body.get("query")
    if is_text(body.get("program")):
        body["program"] = PROGRAM
    if is_text(query) and isinstance(body.get("args", {}), dict):
        body["args"] = {"distinct": {"of": "sources"}, "conformance": {"max_hops": 5},
                        "getTelemetry": {"name": "q"},
                        "flowSizes": {"link": "*-*", "bin_bytes": 1000}}.get(query, {})
    fit_children(body, itertools.count(1))
    if is_text(body.get("by")) and len(body["by"]) < 64:    # which counts in bytes
        body["by"] = body["by"].encode(errors="ignore")[:63].decode(errors="ignore") or "x"
    if isinstance(body.get("deadline_ms"), (int, float)) and body["deadline_ms"] >= 1:
        body["deadline_ms"] = max(body["deadline_ms"], 5000)
    if isinstance(body.get("hosts"), (str, list)):
        body["hosts"] = "all"


def fit_body(path, body):
    if path in ("/v1/query", "/v1/execute", "/v1/install"):
        fit_question(body)
    if path == "/v1/monitors" and all(isinstance(body.get(name, 1), (int, float))
                                      for name in ("epochs", "epochs_min")):
        body["epochs_min"] = min(body.get("epochs_min", 3), body.get("epochs", 10))
    if path == "/v1/probes" and isinstance(body.get("max_hops"), (int, float)):
        body["max_hops"] = min(body["max_hops"], 8)     # each carrier has its own limit
    if path == "/v1/watches" and "period_s" not in body and is_text(body.get("app")):
        body["app"] = "blackhole"       # one that alarms start
    if path in ("/v1/watches", "/v1/apps/{id}") and isinstance(body.get("args"), dict):
        body["args"] = {}               # each application has its own
    if path == "/v1/alarms" and isinstance(body.get("alarms"), list):
        for alarm in (a for a in body["alarms"] if isinstance(a, dict)):
            if is_text(alarm.get("reason")) and re.match("^[A-Z][A-Z0-9_]{0,31}$", alarm["reason"]):
                alarm["reason"] = "PC_FAIL" if alarm.get("origin") != "program" else "USER_A"
    order_times(body)


def written(value):
    """whole numbers have no point"""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: written(member) for name, member in value.items()}
    return [written(item) for item in value] if isinstance(value, list) else value


@schemathesis.hook
def before_call(context, case, kwargs):
    if isinstance(case.query, dict):
        fit_query(context.operation.path, case.query)
    good = case.meta and case.meta.generation.mode.is_positive
    if context.operation.path == "/v1/telemetry/plan" and good:
        case.body = PLAN        # names, widths and shares have to fit together
    if isinstance(case.body, dict):
        fit_body(context.operation.path, case.body)
        case.body = written(case.body)
