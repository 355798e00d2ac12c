# SPDX-License-Identifier: Apache-2.0
"""Rules of structure.py that make the tree read as if one hand had written it: widths, names,
words.

What breaks a rule of RULES from before it was there stands in exceptions.txt, as `RULE FILE COUNT`
(`prefix FOLDER COUNT`). That list only shrinks: a file with fewer findings than it may have is a
finding, too, until its line says so.
"""
import collections
import os
import re

MAX_COLUMNS = 100
# What has no more columns. Programs for switches are not among it: their manifest has the hash of
# each as it was compiled.
WIDE = (".c", ".h", ".md", ".py", ".js", ".css", ".lua", ".sh", ".cmake", "CMakeLists.txt")
GIVEN = ("vendor/",)
EXCEPTIONS = "tests/structure/exceptions.txt"
# One interface of which one implementation is linked: where an optional library is missing, a stub.
STUB = "_none.c"
# Programs of the kernel: each is an object file of its own.
IN_KERNEL = ".bpf.c"
GROUND = "src/base"
SYMBOLS_OF_ALL = {"main", "BPF_PROG"}

TAG = re.compile(r"^(?:struct|union|enum) (pd_\w+) \{", re.M)
DEFINED = re.compile(
    r"^(?!static|BODY|typedef|extern|struct \w+ \{|union|enum \w+ \{|#|return|else|\s)"
    r"[A-Za-z_][\w \*]*?[ \*](\w+)(?:\([^;{}]*?\)\n\{|(?:\[[^\]\n]*\])* = )", re.M)
TORN = re.compile(r"^ {4,}(?:const |struct |enum |unsigned |_Atomic\(?)*[\w *()]+\n"
                  r" {8,}\w+(?:\[[^\]\n]*\])*;", re.M)
BY_NAME = re.compile(
    r"\bstrn?cmp\((?:[^;()]*(?:kind|ops->name), \"|\"\w+\", [^;()]*(?:kind|ops->name)\b)")
NO_MEMORY = re.compile(r'"[^"\n]*\bout of memory\b')
ERROR_CODE = re.compile(r"\bint (?:\w+, )*(e|code|rc|res)(?: = |;|, )")
POSITIONAL = re.compile(r"^(?:static )?const (?:static )?struct [^\n]*\[[^\n]*\] = \{\n"
                        r"(?: *//[^\n]*\n| */\*[^\n]*\n)* +\{(?![.\n}]|0\})", re.M)
GROWING = re.compile(r"\brealloc(?:array)?\((?!NULL)")
TEXTS = re.compile(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/', re.S)


def too_wide(name, lines):
    """numbers of the lines; tables and code of Markdown may be wider, and so may tables of
    macros"""
    in_code = False
    for number, line in enumerate(lines, 1):
        in_code ^= line.lstrip().startswith("```" if name.endswith(".md") else "// clang-format o")
        is_table = line.endswith("\\") or name.endswith(".md") and line.lstrip().startswith("|")
        if len(line) > MAX_COLUMNS and not in_code and not is_table:
            yield number


def check_columns(name, lines):
    if name.endswith(WIDE) and not any(part in name for part in GIVEN):
        for number in too_wide(name, lines):
            yield f"{name}:{number}: more than {MAX_COLUMNS} columns"


def without_texts(text):
    """C without strings and comments, line by line the same"""
    return TEXTS.sub(lambda match: "\n" * match[0].count("\n"), text)


def count(pattern, text):
    return sum(1 for _ in pattern.finditer(text))


# {rule: (what is wrong, how often it is in the text of a C file of a stage)}
RULES = {
    "err": ("a variable for an error code is not called err",
            lambda text: count(ERROR_CODE, without_texts(text))),
    "designated": ("a table without designated initialisers", lambda text: count(POSITIONAL, text)),
    "torn": ("a member is torn in two", lambda text: count(TORN, text)),
    "kind": ("a kind is known by its name", lambda text: count(BY_NAME, text)),
    "grow": ("an array grows by hand, not by PD_GROW",
             lambda text: count(GROWING, without_texts(text))),
    "memory": ('the wording is "no memory"', lambda text: count(NO_MEMORY, text)),
}


def read_exceptions(root):
    """{(rule, file or folder): number}"""
    try:
        with open(os.path.join(root, EXCEPTIONS), encoding="utf-8") as file:
            words = [line.split() for line in file if line.strip() and not line.startswith("#")]
    except FileNotFoundError:
        return {}
    return {(rule, place): int(number) for rule, place, number in words}


def folder_of(name):
    """the folder of a stage, whose name is the prefix of what it defines"""
    first, _, rest = name.partition("/")
    return f"{first}/{rest.partition('/')[0]}" if first == "src" else first


def names_of(folder):
    """of apps app_…; of resolve also what resolves: resolver_…"""
    name = os.path.basename(folder)
    return f"pd_{name.removesuffix('es' if name.endswith('ches') else 's')}"


class Hand:
    """takes all C files of the stages one by one; what they break together is known at the end"""

    def __init__(self, root):
        self.allowed = read_exceptions(root)
        self.found = collections.Counter()
        self.tags, self.symbols = collections.defaultdict(list), collections.defaultdict(list)

    def take(self, name, text):
        for rule, (_, counted) in RULES.items():
            self.found[rule, name] += counted(text)
        for match in TAG.finditer(text):
            self.tags[match[1]].append(name)
        if not name.endswith(".c") or name.endswith(IN_KERNEL):
            return
        for symbol in {match[1] for match in DEFINED.finditer(text)} - SYMBOLS_OF_ALL:
            self.prefixed(symbol, name)
            if not name.endswith(STUB):
                self.symbols[symbol].append(name)

    def prefixed(self, symbol, name):
        folder = folder_of(name)
        if folder == GROUND:            # what everybody uses: pd_ alone
            return
        parts = {names_of(part) for part in parents(name, folder)}
        if not symbol.startswith(tuple(parts)):
            self.found["prefix", folder] += 1

    def findings(self):
        for kind, names in (("tag", self.tags), ("symbol", self.symbols)):
            for name, places in sorted(names.items()):
                if len(places) > 1:
                    yield f"the {kind} {name} is there twice: {', '.join(sorted(places))}"
        for key in sorted({*self.found, *self.allowed}):
            yield from self.judge(*key)

    def judge(self, rule, place):
        found, allowed = self.found[rule, place], self.allowed.get((rule, place), 0)
        if found > allowed:
            what = RULES[rule][0] if rule in RULES else f"symbols begin with {names_of(place)}"
            yield f"{place}: {what} ({found}, not {allowed})"
        elif found < allowed:
            yield f"{EXCEPTIONS}: {rule} {place} is down to {found}, no longer {allowed}"


def parents(name, folder):
    """the folder of a file of a stage, and those above it up to the stage's"""
    at = os.path.dirname(name)
    while at.startswith(folder):
        yield at
        at = os.path.dirname(at)
