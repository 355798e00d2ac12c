# SPDX-License-Identifier: Apache-2.0
"""The cost of asking many hosts, fitted to measured critical paths: what more hosts than there are
here would take, and which fan-out is best.

Every host is a node with records of its own; an inner node asks its children and merges their
answers into its own one. The longest chain of service times grows with what is merged along it and
with the number of levels:

    critical path = own + merge · (children of all nodes of the chain) + level · (inner levels)

To that comes the network as if every host had a machine of its own: the answers of a node's
children share its link, and a level is a round trip.
"""
LINK_BITS_PER_S = 10e9
ROUND_TRIP_MS = 0.2
HOSTS = (112, 1_000, 10_000, 100_000)
FANOUTS = range(2, 129)
POD, RACK = 16, 4


def chain(mode, hosts):
    """(children along the longest chain, inner levels) of what was measured: one level, or racks of
    4 in pods of 16 below the controller"""
    if mode == "direct":
        return hosts, 0
    pods = -(-hosts // POD)
    return pods + (POD // RACK - 1) + 2 * (RACK - 1), 2


def solve(rows, right):
    """least squares by normal equations; a column without weight gets 0"""
    size = len(rows[0])
    a = [[sum(r[i] * r[j] for r in rows) for j in range(size)]
         + [sum(r[i] * y for r, y in zip(rows, right))] for i in range(size)]
    for i in range(size):
        pivot = max(range(i, size), key=lambda r: abs(a[r][i]))
        a[i], a[pivot] = a[pivot], a[i]
        if abs(a[i][i]) < 1e-9:
            continue
        for r in range(size):
            if r != i:
                factor = a[r][i] / a[i][i]
                a[r] = [x - factor * y for x, y in zip(a[r], a[i])]
    return [a[i][size] / a[i][i] if abs(a[i][i]) > 1e-9 else 0.0 for i in range(size)]


def fit(points):
    """points: (mode, hosts, critical_path_ms, bytes); a cost below nothing is noise and counts as
    nothing"""
    points = list(points)
    rows = [(1, *chain(mode, hosts)) for mode, hosts, _, _ in points]
    right = [critical for _, _, critical, _ in points]
    own, merge, level = solve(rows, right)
    if level < 0:
        (own, merge), level = solve([r[:2] for r in rows], right), 0.0
    direct = [size / hosts for mode, hosts, _, size in points if mode == "direct"]
    return {"own_ms": max(own, 0), "merge_ms": max(merge, 0), "level_ms": level,
            "answer_bytes": sum(direct) / len(direct)}


def levels(hosts, fanout):
    """how many levels of hosts a tree of this fan-out has"""
    depth, reached, wide = 0, 0, 1
    while reached < hosts:
        wide *= fanout
        reached += wide
        depth += 1
    return depth


def time_ms(cost, children, depth):
    """children: of all nodes of the longest chain; depth: levels of hosts"""
    wire = cost["answer_bytes"] * 8 / LINK_BITS_PER_S * 1000
    return cost["own_ms"] + children * (cost["merge_ms"] + wire) + (depth - 1) * cost[
        "level_ms"] + depth * ROUND_TRIP_MS


def predict(cost, hosts):
    """(direct ms, best fan-out, its ms)"""
    trees = {f: time_ms(cost, f * levels(hosts, f), levels(hosts, f)) for f in FANOUTS if f < hosts}
    best = min(trees, key=trees.get)
    return time_ms(cost, hosts, 1), best, trees[best]
