# SPDX-License-Identifier: Apache-2.0
"""Takes out of a .spec what p4c-dpdk leaves in it: copies that only narrow, and fields nobody uses.

For a cast to fewer bits the compiler writes three copies with a mask each, through three fields of
metadata of their own. SWX cuts a number to the width of where it is moved, so one move is the same.
Without this no program of some size fits into the 256 bytes that SWX's offsets reach.
"""
import re

TEMPORARY = re.compile(r"m\.\w*_tmp(_\d+)?")


def uses(lines):
    """field of metadata → how often it stands in the text"""
    found = {}
    for line in lines:
        for name in re.findall(r"\bm\.\w+", line):
            found[name] = found.get(name, 0) + 1
    return found


def words(line):
    """label (or "") and words of an instruction"""
    label, colon, rest = line.partition(" :\t")
    return (label.strip(), rest.split()) if colon else ("", line.split())


def chain(lines, at, used):
    """the source of a chain that begins at this line, its end and the lines it takes, or None"""
    label, first = words(lines[at])
    if len(first) != 3 or first[0] != "mov" or not TEMPORARY.fullmatch(first[1]):
        return None
    source, value, end = first[2], first[1], at + 1
    while end + 1 < len(lines):
        _, mask = words(lines[end])
        mark, move = words(lines[end + 1])
        masks = len(mask) == 3 and mask[:2] == ["and", value] and mask[2].startswith("0x")
        if not masks or "\tand" not in "\t" + lines[end].strip() or mark:
            return None
        if len(move) != 3 or move[0] != "mov" or move[2] != value or used[value] != 3:
            return None
        end += 2
        if not TEMPORARY.fullmatch(move[1]) or used[move[1]] != 3:
            return label, move[1], source, int(mask[2], 16), end
        value = move[1]
    return None


def width(target, structs):
    """bits of a field, "m.name" or "h.header.name" """
    parts = target.split(".")
    if parts[0] == "m":
        return structs["metadata"].get(parts[1])
    return structs.get(parts[1], {}).get(parts[2]) if parts[0] == "h" else None


def widths(text):
    """metadata and headers → field → bits"""
    bodies = {name: {field: int(bits) for bits, field in re.findall(r"bit<(\d+)> (\S+)", body)}
              for name, body in re.findall(r"^struct (\S+) \{\n(.*?)^\}", text, re.M | re.S)}
    found = {name: bodies[kind] for name, kind in
             re.findall(r"^header (\S+) instanceof (\S+)", text, re.M)}
    found["metadata"] = bodies[re.search(r"^metadata instanceof (\S+)", text, re.M).group(1)]
    return found


def shorten(text):
    """one move for each chain whose end is as narrow as its mask"""
    lines, used, structs, out, at = text.split("\n"), None, widths(text), [], 0
    used = uses(lines)
    while at < len(lines):
        found = chain(lines, at, used)
        if found and width(found[1], structs) == found[3].bit_length():
            label, target, source, _, end = found
            out.append((f"\t{label} :" if label else "") + f"\tmov {target} {source}")
            at = end
        else:
            out.append(lines[at])
            at += 1
    return "\n".join(out)


def hash_in_place(text):
    """no copies of what is hashed, where it lies together in metadata, in the same order"""
    name = re.search(r"^metadata instanceof (\S+)", text, re.M).group(1)
    body = re.search(rf"^struct {name} \{{\n(.*?)^\}}", text, re.M | re.S).group(1)
    order = ["m." + field for field in re.findall(r"bit<\d+> (\S+)", body)]
    block = r"((?:\tmov m\.\S*_tmp_\d+ m\.\S+\n)+)(\thash \S+ \S+ +)(\S+) (\S+)\n"

    def replaced(match):
        moves = re.findall(r"mov (\S+) (\S+)", match.group(1))
        copies, sources = [copy for copy, _ in moves], [source for _, source in moves]
        at = order.index(sources[0])
        if copies[0] != match.group(3) or copies[-1] != match.group(4):
            return match.group(0)
        if order[at:at + len(sources)] != sources:
            return match.group(0)
        return f"{match.group(2)}{sources[0]} {sources[-1]}\n"

    return re.sub(block, replaced, text)


def drop_unused(text):
    """metadata without the fields that no instruction has"""
    used = uses(text.split("\n"))
    name = re.search(r"^metadata instanceof (\S+)", text, re.M).group(1)
    head, body, rest = re.split(rf"(^struct {name} \{{\n.*?^\}})", text, maxsplit=1,
                                flags=re.M | re.S)
    kept = [line for line in body.split("\n")
            if not (field := re.match(r"\s*bit<\d+> (\S+)", line)) or f"m.{field.group(1)}" in used]
    return head + "\n".join(kept) + rest


def tidy(text):
    return drop_unused(hash_in_place(shorten(text))).lstrip("\n")
