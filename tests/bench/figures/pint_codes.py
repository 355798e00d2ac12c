# SPDX-License-Identifier: Apache-2.0
"""What needs no network for the figures of PINT: how many packets schemes need in the abstract
(figure 5), what PPM and AMS2 need (figure 10), and errors of quantiles (figure 9)."""
import bisect
import math
import random


def quantile(values, share):
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def mean(values):
    return sum(values) / len(values)


# ---- figure 5: whole values, so that a packet tells the XOR of the hops that wrote

def writers(rnd, k, scheme):
    """hops that a packet is of, as bits; one hop where the last writer wins"""
    if scheme == "Baseline" or (scheme == "Hybrid" and rnd.random() < .75):
        return 1 << rnd.randrange(k)
    # hybrid: log log d / log d with natural logarithms, as of footnote 8 for d > 15
    p = 1 / k if scheme == "XOR" else math.log(math.log(k)) / math.log(k)
    return sum(1 << i for i in range(k) if rnd.random() < p)


def peel(known, waiting):
    """hops known from digests of which all others are known"""
    again = True
    while again:
        again = False
        for digest in waiting:
            left = digest & ~known
            if left and not left & left - 1:
                known |= left
                again = True
        waiting[:] = [d for d in waiting if d & ~known]
    return known


def decoding(rnd, k, scheme, packets):
    """(hops known after each packet; packets until all are, None: never)"""
    known, waiting, curve = 0, [], []
    for _ in range(packets):
        waiting.append(writers(rnd, k, scheme))
        known = peel(known, waiting)
        curve.append(bin(known).count("1"))
    return curve, curve.index(k) + 1 if k in curve else None


# ---- figure 10: traceback of others, both with reservoir sampling: each hop is as likely

def ppm(rnd, hops):
    """Savage et al., 16 bits: distance, and one of eight fragments of an edge"""
    missing, n = hops * 8, 0
    got = bytearray(missing)
    while missing:
        n += 1
        at = rnd.randrange(len(got))
        missing -= not got[at]
        got[at] = 1
    return n


def ams2(rnd, hops, m):
    """Song and Perrig, 16 bits: distance, and one of eight hashes of an edge; a router of the map
    is taken for one of the path when m of them fit"""
    got, left, n = [0] * hops, hops, 0
    while left:
        n += 1
        at = rnd.randrange(hops)
        before = bin(got[at]).count("1")
        got[at] |= 1 << rnd.randrange(8)
        left -= before < m <= bin(got[at]).count("1")
    return n


OTHERS = {"PPM": ppm, "AMS2 (m=5)": lambda rnd, hops: ams2(rnd, hops, 5),
          "AMS2 (m=6)": lambda rnd, hops: ams2(rnd, hops, 6)}


# ---- figure 9: a hop's quantiles from codes, all of them or in a sketch

class Kll:
    """Karnin, Lang and Liberty's sketch: levels of sorted samples, of which each second one goes
    up when there are too many; `size` samples in all"""

    def __init__(self, rnd, size):
        self.rnd, self.size, self.levels = rnd, size, [[]]

    def room(self, level):
        return max(2, math.ceil(self.size / 3 * (2 / 3) ** (len(self.levels) - 1 - level)))

    def add(self, value):
        self.levels[0].append(value)
        level = 0
        while level < len(self.levels) and len(self.levels[level]) > self.room(level):
            if level + 1 == len(self.levels):
                self.levels.append([])
            kept = sorted(self.levels[level])
            self.levels[level + 1] += kept[self.rnd.randrange(2)::2]
            self.levels[level] = []
            level += 1

    def quantile(self, share):
        weighed = sorted((v, 1 << i) for i, values in enumerate(self.levels) for v in values)
        rank, total = share * sum(w for _, w in weighed), 0
        for value, weight in weighed:
            total += weight
            if total >= rank:
                return value
        return weighed[-1][0]


def codes(least, most, bits):
    """values that codes stand for, in equal steps of the logarithm, and their bounds"""
    ratio = (most / least) ** (1 / ((1 << bits) - 1))
    values = [least * ratio ** c for c in range(1 << bits)]
    return values, [0] + [math.sqrt(a * b) for a, b in zip(values, values[1:])]


def errors(rnd, hop, packets, hops, share, bits, sketch):
    """relative error of a hop's quantile: `hop` has all latencies, ns; each packet tells one hop"""
    true = quantile(hop, share)
    seen = [hop[rnd.randrange(len(hop))] for _ in range(packets) if not rnd.randrange(hops)]
    if not seen:
        return None
    if bits:
        values, bounds = codes(max(1, min(hop)), max(hop), bits)
        seen = [values[bisect.bisect_right(bounds, v) - 1] for v in seen]
    if not sketch:
        return abs(quantile(seen, share) / true - 1)
    kll = Kll(rnd, sketch)
    for value in seen:
        kll.add(value)
    return abs(kll.quantile(share) / true - 1)
