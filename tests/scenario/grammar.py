# SPDX-License-Identifier: Apache-2.0
"""Text of a scenario -> what is set, sent and expected; README.md describes the grammar."""
import ipaddress
from collections import namedtuple
from decimal import Decimal, InvalidOperation

from capture import DOT1Q, ICMP, ICMPV6, QINQ, TCP, TCP_FLAGS, UDP

EPOCH_US = 1_767_225_600_000_000         # second 0 of every scenario: 2026-01-01T00:00:00Z

PROTOCOLS = {"tcp": TCP, "udp": UDP, "icmp": ICMP, "icmpv6": ICMPV6}
NAMES = {number: name for name, number in PROTOCOLS.items()}
QUERIES = ("getFlows", "getPaths", "getCount", "getDuration")

Flow = namedtuple("Flow", "src_ip dst_ip src_port dst_port protocol")
Expectation = namedtuple("Expectation", "line words rows")


class ScenarioError(Exception):
    """FILE:LINE: what is wrong"""


class Packets:
    """one `at` line: a packet, or a train of equal ones"""

    def __init__(self, line):
        self.line, self.section, self.time_us, self.flow = line, 0, 0, None
        self.path = self.tags = self.fragment = None
        self.dscp, self.outer, self.flags, self.payload_bytes = 0, DOT1Q, TCP_FLAGS["ACK"], 0
        self.times, self.every_us = 1, 0


class Scenario:
    """`topology` and `settings` are words of commands; `place` is where a statement stands in the
    file"""

    def __init__(self, name):
        self.name, self.topology, self.settings, self.packets, self.expectations = (name, [], [],
                                                                                    [], [])


    def place(self, line):
        return f"{self.name}:{line}" if line else self.name


class Words:
    """the words of a line, taken one after the other; whoever wants one says what it stands for"""

    def __init__(self, text):
        self.rest = text.split()

    def __bool__(self):
        return bool(self.rest)

    def take(self, what):
        if not self.rest:
            raise ValueError(f"the line ends, expected {what}")
        return self.rest.pop(0)

    def skip(self, word):
        if self.take(f"`{word}`") != word:
            raise ValueError(f"expected `{word}`")

    def end(self):
        if self.rest:
            raise ValueError(f"`{self.rest[0]}` is one word too many")


# ---- words ----

def number(text, most=2**53):
    if not text.isascii() or not text.isdigit() or int(text) > most:
        raise ValueError(f"`{text}`: expected a number from 0 to {most}")
    return int(text)


def numbers(text, most=2**32 - 1):
    return [] if text == "none" else [number(one, most) for one in text.split(",")]


def microseconds(text):
    try:
        us = Decimal(text) * 1_000_000
        if us.is_finite() and us >= 0 and us == us.to_integral_value():
            return int(us)
    except InvalidOperation:
        pass
    raise ValueError(f"`{text}`: expected seconds with at most 6 decimals")


def endpoint(text, has_ports):
    """(address, port): 10.1.1.2:80, [fd00::2]:80; without a port it is 0"""
    host, colon, port = text.rpartition(":") if text.startswith("[") or text.count(":") == 1 else (
        text, "", "")
    if text.endswith("]"):
        host, colon = text, ""
    if colon and not has_ports:
        raise ValueError(f"`{text}`: only tcp and udp have ports")
    return str(ipaddress.ip_address(host.strip("[]"))), number(port, 65535) if colon else 0


def take_flow(words):
    name = words.take("a protocol")
    protocol = PROTOCOLS[name] if name in PROTOCOLS else number(name, 255)
    src_ip, src_port = endpoint(words.take("a source"), protocol in (TCP, UDP))
    words.skip(">")
    dst_ip, dst_port = endpoint(words.take("a destination"), protocol in (TCP, UDP))
    return Flow(src_ip, dst_ip, src_port, dst_port, protocol)


# ---- rows: the same text for what is expected and for what came ----

def flow_text(flow):
    def end(host, port):
        host = f"[{host}]" if ":" in host and port else host
        return f"{host}:{port}" if port else host
    return (f"{NAMES.get(flow.protocol, flow.protocol)} {end(flow.src_ip, flow.src_port)} > "
            f"{end(flow.dst_ip, flow.dst_port)}")


def list_text(items):
    return ",".join(map(str, items)) or "none"


def trail_text(path, tags=(), dscp=0):
    """where a packet went or, if that is not known, its raw tags"""
    if path:
        return f"via {list_text(path)}"
    return f"tags {list_text(tags)}" + (f" dscp {dscp}" if dscp else "")


def counts_text(pkts, size):
    return f"{pkts} pkts {size} bytes"


def time_text(us):
    return f"{Decimal(us) / 1_000_000:f}".rstrip("0").rstrip(".") if us % 1_000_000 else str(
        us // 1_000_000)


def span_text(first_us, last_us):
    """of times since second 0"""
    return f"{time_text(first_us)}..{time_text(last_us)}"


def take_trail(words):
    kind = words.take("`via` or `tags`")
    if kind == "via":
        return trail_text(numbers(words.take("switches")))
    if kind != "tags":
        raise ValueError(f"`{kind}`: expected `via` or `tags`")
    tags, dscp = numbers(words.take("tags"), 4095), 0
    if words.rest[:1] == ["dscp"]:
        words.skip("dscp")
        dscp = number(words.take("a DSCP"), 63)
    return trail_text((), tags, dscp)


def take_counts(words):
    pkts = number(words.take("packets"))
    words.skip("pkts")
    size = number(words.take("bytes"))
    words.skip("bytes")
    return counts_text(pkts, size)


def take_span(words):
    first, dots, last = words.take("FIRST..LAST").partition("..")
    if not dots:
        raise ValueError(f"`{first}`: expected FIRST..LAST")
    return span_text(microseconds(first), microseconds(last))


def take_alarm(words):
    reason, flow, trail = words.take("a reason"), flow_text(take_flow(words)), take_trail(words)
    words.skip("times")
    return f"{reason} {flow} {trail} times {number(words.take('a number'))}"


ROWS = {
    "getFlows": lambda words: f"{flow_text(take_flow(words))} {take_trail(words)} "
    f"{take_counts(words)} {take_span(words)}",
    "getPaths": take_trail,
    "getCount": take_counts,
    "getDuration": take_span,
    "alarms": take_alarm,
    "status": lambda words: f"{words.take('a key')} {words.take('a value')}",
}


# ---- packets ----

def take_train(packets, words, count):
    packets.times = number(count, 1_000_000)
    words.skip("every")
    packets.every_us = microseconds(words.take("seconds"))


def take_fragment(packets, words):
    text = words.take("an offset")
    packets.fragment = number(text.removesuffix("+"), 65528), text.endswith("+")
    if packets.fragment[0] % 8:
        raise ValueError("a fragment's offset is a multiple of 8")


def take_flags(packets, words):
    flags = words.take("TCP flags").split(",")
    if not set(flags) <= set(TCP_FLAGS) or packets.flow.protocol != TCP:
        raise ValueError(
            f"`{','.join(flags)}`: expected flags of a TCP packet: {', '.join(TCP_FLAGS)}")
    packets.flags = sum(TCP_FLAGS[flag] for flag in flags)


def take_outer(packets, words):
    kinds = {"8100": DOT1Q, "88a8": QINQ}
    kind = words.take("a tag type")
    if kind not in kinds:
        raise ValueError(f"`{kind}`: expected 8100 or 88a8")
    packets.outer = kinds[kind]


def setter(name, convert, what):
    return lambda packets, words: setattr(packets, name, convert(words.take(what)))


OPTIONS = {
    "via": setter("path", numbers, "switches"),
    "tags": setter("tags", lambda text: numbers(text, 4095), "tags"),
    "dscp": setter("dscp", lambda text: number(text, 63), "a DSCP"),
    "payload": setter("payload_bytes", lambda text: number(text, 60000), "bytes"),
    "outer": take_outer,
    "flags": take_flags,
    "fragment": take_fragment,
}


def take_packets(line, words):
    packets = Packets(line)
    packets.time_us = microseconds(words.take("a time"))
    packets.flow = take_flow(words)
    while words:
        word = words.take("an option")
        if word in OPTIONS:
            OPTIONS[word](packets, words)
        elif word.startswith("x") and word[1:].isdigit():
            take_train(packets, words, word[1:])
        else:
            raise ValueError(f"`{word}`: expected one of {', '.join(OPTIONS)}, xN")
    if (packets.path is None) == (packets.tags is None):
        raise ValueError("expected either `via` or `tags`")
    return packets


# ---- lines ----

class Reader:
    def __init__(self, name):
        self.scenario, self.section = Scenario(name), 0

    def statement(self, line, words):
        word = words.take("a statement")
        if word == "topology":
            self.scenario.topology = words.rest
        elif word == "set":
            self.scenario.settings += ["--" + words.take("a setting"), words.take("a value")]
            words.end()
        elif word == "at":
            packets = take_packets(line, words)
            packets.section = self.section
            self.scenario.packets.append(packets)
        elif word == "then":
            words.end()
            self.section += 1
        elif word == "expect":
            if (words.rest or [""])[0] not in ROWS:
                raise ValueError(f"expected one of {', '.join(ROWS)}")
            self.scenario.expectations.append(Expectation(line, words.rest, []))
        else:
            raise ValueError(f"`{word}`: expected topology, set, at, then or expect")

    def row(self, words):
        if not self.scenario.expectations:
            raise ValueError("an indented line belongs below an `expect`")
        last = self.scenario.expectations[-1]
        last.rows.append(ROWS[last.words[0]](words))
        words.end()

    def line(self, line, text):
        text = text.split("#")[0].rstrip()
        if text[:1].isspace():
            self.row(Words(text))
        elif text:
            self.statement(line, Words(text))


def parse(name, text):
    reader, line = Reader(name), 1
    try:
        for line, one in enumerate(text.splitlines(), 1):
            reader.line(line, one)
        scenario = reader.scenario
        if not (scenario.topology and scenario.packets and scenario.expectations):
            raise ValueError("a scenario has a topology, packets and expectations")
    except ValueError as error:
        raise ScenarioError(f"{name}:{line}: {error}") from None
    return scenario
