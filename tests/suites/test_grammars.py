"""The shipped grammars: their examples, and random texts of each judged by somebody else.

Random texts come from walks through the masks, byte by byte; nothing but other programs (Lark,
the json module, csv, datetime, re, SQLite, parsers of TOML, YAML and XML) and small checkers
written here says what they are.
"""

import ast
import copy
import csv
import io
import ipaddress
import json
import random
import re
import sqlite3
import tomllib
import unicodedata
import warnings
from collections.abc import Callable
from datetime import date, datetime, time
from functools import cache
from urllib.parse import urlsplit
from xml.parsers import expat

import numpy as np
import pytest
import yaml
from lark import load_grammar

import guideway as gw
from benchmarks.grammars import lark_reads
from guideway.constraint.compiled import CompiledConstraint
from guideway.context_free.shipped import importable, paths, shipped
from random_walks import BYTES

NAMES = list(paths())
WALKS = 12
LARGE = {"python", "sql"}  # seconds to compile


@cache
def compiled(name: str) -> CompiledConstraint:
    return gw.compile(gw.grammar(name), BYTES)


def marked(*slow: str) -> list[object]:
    return [pytest.param(n, marks=pytest.mark.slow) if n in slow else n for n in NAMES]


@pytest.mark.parametrize("name", marked("python"))
def test_its_examples_are_judged_as_it_says(name: str) -> None:
    one, constraint = shipped(name), compiled(name)
    assert [text for text in one.accepted if not constraint.matches(text)] == []
    assert [text for text in one.rejected if constraint.matches(text)] == []


ASCII = [chr(byte) if byte < 128 else "" for byte in range(256)]
KINDS = np.array([
    [not letter for letter in ASCII], [letter.isalpha() for letter in ASCII],
    [letter.isdigit() for letter in ASCII], [byte < 32 for byte in range(256)],
])  # fmt: skip
"""Bytes of one kind are drawn as one, so that a quote is as likely as all letters together."""


def walk(constraint: CompiledConstraint, seed: int, length: int = 40) -> str:
    """A random text, brought to its end by the nearest way once it is `length` bytes long."""
    rng, state, text = random.Random(seed), constraint.start(), bytearray()
    while True:
        row = np.unpackbits(constraint.mask(state).view(np.uint8), bitorder="little")
        allowed = [int(token) for token in np.flatnonzero(row[:256])]
        if constraint.accepts(state) and (not allowed or len(text) > length or rng.random() < 0.1):
            return text.decode()
        if len(text) > length:
            after = {token: constraint.advance(state, token) for token in allowed}
            token = min(allowed, key=lambda token: constraint.distance(after[token]))
        else:
            token = drawn(allowed, rng)
        text.append(token)
        state = constraint.advance(state, token)


def drawn(allowed: list[int], rng: random.Random) -> int:
    kinds: dict[int, list[int]] = {}
    for token in allowed:
        kind = KINDS[:, token]
        kinds.setdefault(-int(kind.argmax()) if kind.any() else 1 + token, []).append(token)
    return rng.choice(rng.choice(list(kinds.values())))


def is_csv(text: str) -> bool:
    list(csv.reader(io.StringIO(text, newline=""), strict=True))
    return True


def is_semver(text: str) -> bool:
    text, plus, build = text.partition("+")
    core, dash, before = text.partition("-")
    numbers, parts = core.split("."), before.split(".") if dash else []
    word = re.compile(r"[0-9A-Za-z-]+", re.ASCII)
    return (
        len(numbers) == 3
        and all(n.isascii() and n.isdigit() and n == str(int(n)) for n in numbers)
        and all(word.fullmatch(p) and not (p.isdigit() and p != str(int(p))) for p in parts)
        and all(word.fullmatch(p) for p in build.split(".") if plus)
    )


def is_email(text: str) -> bool:
    local, domain = text.split("@")
    labels = domain.split(".")
    return (
        all(re.fullmatch(r"[\w!#$%&'*+/=?^`{|}~-]+", w, re.ASCII) for w in local.split("."))
        and len(labels) > 1
        and all(1 <= len(label) <= 63 and label.strip("-") == label for label in labels)
        and all(re.fullmatch(r"[a-zA-Z0-9-]+", label) for label in labels)
        and labels[-1][0].isalpha()
    )


def is_url(text: str) -> bool:
    parts = urlsplit(text)
    if text.split("//")[1].startswith("["):
        ipaddress.IPv6Address(parts.hostname)
    return bool(parts.hostname) and (parts.port or 0) <= 65535 and " " not in text


def is_moment(text: str) -> bool:
    read = datetime if "T" in text else time if ":" in text else date
    read.fromisoformat(text)
    return True


def is_duration(text: str) -> bool:
    found = re.fullmatch(
        r"P(\d+W|(?=.)(\d+Y)?(\d+M)?(\d+D)?(T(?=.)(\d+H)?(\d+M)?([\d.]+S)?)?)", text
    )
    return found is not None


def is_cron(text: str) -> bool:
    if text[0] == "@":
        return text[1:].isalpha()
    days = "sun mon tue wed thu fri sat"
    months = "- jan feb mar apr may jun jul aug sep oct nov dec"
    limits = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 7)]
    for number, (field, (low, high)) in enumerate(zip(text.split(" "), limits, strict=True)):
        named = [[], [], [], months.split(), days.split()][number]
        for part in field.split(","):
            where, slash, step = part.partition("/")
            ends = [where.lower()] if where == "*" else where.lower().split("-")
            known = {name: at for at, name in enumerate(named)}
            numbers = [known[end] if end in known else int(end) for end in ends if end != "*"]
            if slash and (int(step) < 1 or (len(ends) == 1 and where != "*")):
                return False
            if not all(low <= number <= high for number in numbers) or len(ends) > 2:
                return False
    return True


def is_markdown_table(text: str) -> bool:
    lines = re.sub(r"\\+[^\\\n]", "x", text.removesuffix("\n")).split("\n")
    widths = {len(line.split("|")) for line in lines}
    cells = lines[1].split("|")[1:-1]
    return len(widths) == 1 and all(re.fullmatch(r" *:?-+:? *", cell) for cell in cells)


def is_regex(text: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # `[[`: sets of the future
        re.compile(text)
    return True


def is_xml(text: str) -> bool:
    """Whether it is well-formed once each end tag has its start tag's name."""
    names: list[str] = []

    def mended(found: re.Match[str]) -> str:
        said = found[0]
        if said.startswith(("<!", "&")):
            return said
        if said.startswith("</"):
            return f"</{names.pop()}>"
        count = iter(range(99))
        said = re.sub(
            r"""[^\s=]+(?=\s*=\s*["'])|"[^"]*"|'[^']*'""",
            lambda at: at[0] if at[0][0] in "'\"" else f"a{next(count)}",
            said,
        )
        if not said.endswith("/>"):
            names.append(re.split(r"[\s>]", said[1:])[0])
        return said

    tags = r"""<!--.*?-->|<!\[CDATA\[.*?\]\]>|</?(?:"[^"]*"|'[^']*'|[^"'>])*>"""
    expat.ParserCreate().Parse(re.sub(tags, mended, text, flags=re.DOTALL), True)
    return True


def is_japanese(text: str) -> bool:
    return all(c.isascii() or unicodedata.east_asian_width(c) in "WFH" for c in text)


def is_json(text: str) -> bool:
    json.loads(text)
    return True


def is_json_lines(text: str) -> bool:
    return all(is_json(line) for line in text.removesuffix("\n").split("\n"))


def is_arithmetic(text: str) -> bool:
    names = re.sub(r"[A-Za-z_]\w*|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", " x ", text)
    ast.parse(names.replace("^", "**").strip(), mode="eval")
    return True


def is_sql(text: str) -> bool:
    """Whether SQLite finds fault with more than its tables, columns and functions."""
    try:
        sqlite3.connect(":memory:").execute(f"explain {text}")
    except sqlite3.Error as error:
        said = ("syntax error", "incomplete", "unrecognized", "one statement")
        return not any(word in str(error) for word in said)
    return True


def is_toml(text: str) -> bool:
    """Whether the tomllib finds fault with more than what is defined twice."""
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return re.search("overwrite|twice|uplicate|declare|mutate|expand", str(error)) is not None
    return True


def is_yaml(text: str) -> bool:
    yaml.compose(text)
    return True


SCALARS: list[object] = [
    1, -2.5, True, None, "abc", "two words", "x: y", "- d", "", "a#b", "a #b", "é, ü",
    date(2020, 1, 31), [], {}, "http://x/y?z=1#w", "*x", "50%", "it's", "[a",
]  # fmt: skip


def some_value(dice: random.Random, depth: int) -> object:
    """What stands in people's files: nested lists and objects, texts with signs in them."""
    kind = dice.random()
    if depth == 0 or kind < 0.3:
        return copy.copy(dice.choice(SCALARS))  # as equal objects would get an anchor
    if kind < 0.65:
        return [some_value(dice, depth - 1) for _ in range(dice.randint(1, 3))]
    keys = dice.sample(["name", "a b", "x/y", "n1", "é", "on", "8080", "C#", "a, b", "- x"], 3)
    return {key: some_value(dice, depth - 1) for key in keys[: dice.randint(1, 3)]}


class Wide(yaml.SafeDumper):
    """Writes lists as much wider as other blocks."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        return super().increase_indent(flow, False)


def test_yaml_is_what_pyyaml_writes() -> None:
    constraint, dice, read = compiled("yaml"), random.Random(7), 0
    for _ in range(120):
        value = some_value(dice, 4)
        for dumper in (yaml.SafeDumper, Wide) if isinstance(value, list | dict) else ():
            text = yaml.dump(
                value, Dumper=dumper, default_flow_style=False, allow_unicode=True, width=9_999
            )
            assert yaml.safe_load(text) == value
            assert constraint.matches(text), text
            read += 1
    assert read > 120


def is_lark(text: str) -> bool:
    load_grammar._get_parser().parse(text + "\n")
    return True


ORACLES: dict[str, Callable[[str], bool]] = {
    "arithmetic": is_arithmetic, "cron": is_cron, "csv": is_csv, "email": is_email,
    "iso_datetime": is_moment, "iso_duration": is_duration, "json": is_json,
    "json_lines": is_json_lines, "lark": is_lark, "markdown_table": is_markdown_table,
    "regex": is_regex, "semver": is_semver, "sql": is_sql, "toml": is_toml, "url": is_url,
    "xml": is_xml, "yaml": is_yaml, "gbnf/english": str.isascii, "gbnf/japanese": is_japanese,
    "gbnf/json": is_json, "gbnf/json_array": is_json,
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in NAMES if name not in LARGE])
def test_random_texts_are_texts_of_the_language(name: str) -> None:
    judged(name, range(WALKS if paths()[name].suffix == ".gbnf" else WALKS // 3), 40)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_many_random_texts_are_texts_of_the_language(name: str) -> None:
    judged(name, range(WALKS, 100), 120)


def judged(name: str, seeds: range, length: int) -> None:
    constraint = compiled(name)
    texts = [walk(constraint, seed, length) for seed in seeds]
    judges = [constraint.matches, ORACLES.get(name, lambda _: True)]
    if name in importable():
        judges.append(lark_reads(name))
    for judge in judges:
        assert [text for text in texts if not judge(text)] == []


@pytest.mark.parametrize("name", [name for name in importable() if name not in LARGE])
def test_lark_itself_judges_the_examples_as_the_file_says(name: str) -> None:
    one, reads = shipped(name), lark_reads(name)
    assert [text for text in one.accepted if not reads(text)] == []
    assert [text for text in one.rejected if reads(text)] == []


@pytest.mark.parametrize("name", ["semver", "gbnf/json"])
def test_a_language_without_gaps_is_judged_as_its_oracle_judges_near_texts(name: str) -> None:
    rng, constraint, judge = random.Random(5), compiled(name), ORACLES[name]
    for seed in range(40):
        text = walk(constraint, seed, 25)
        at, letter = rng.randrange(len(text) + 1), rng.choice('0a.-+1 {}[],:"\\')
        text = text[:at] + letter * rng.randrange(2) + text[at + rng.randrange(2) :]
        try:
            right = judge(text) and (name == "semver" or text[0] + text[-1] == "{}")
        except ValueError:
            right = False
        assert constraint.matches(text) == right, text
