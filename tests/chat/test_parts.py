"""Sources in short, as they were written."""

import pytest

import guideway as gw
from guideway.chat.parts import LONGEST, parts_of, with_parts, written
from guideway.sources.regions import Region, Until
from guideway.sources.sources import Literal, Source

DEEP = ~gw.Regex("a") & gw.repeat("b" + gw.Text(), 1, 2)


@pytest.mark.parametrize(("source", "expected"), [
    (gw.source("a"), "'a'"),
    (gw.Regex(r"\d+"), r"Regex('\\d+')"),
    (gw.Gbnf('root ::= "a"'), "Gbnf('root ::= \"a\"')"),
    (gw.Lark('start: "a"'), "Lark('start: \"a\"')"),
    (gw.JsonSchema({"type": "null"}), 'JsonSchema({"type":"null"})'),
    (gw.source(int), "int"),
    (gw.source(dict[str, int]), "dict[str, int]"),
    (gw.Text() | "b", "Text() | 'b'"),
    (DEEP, "~Regex('a') & repeat('b' + Text(), 1, 2)"),
    (DEEP + "c", "(~Regex('a') & repeat(…, 1, 2)) + 'c'"),
    (gw.until("x"), "Until"),
    (gw.substring("ab"), "substring('ab')"),
])  # fmt: skip
def test_sources_are_shown_as_they_were_written(source: Source, expected: str) -> None:
    assert written(source) == expected


def test_what_is_long_is_cut_in_its_middle():
    for source in (gw.Regex("ab" * 99), gw.Choice(["yes" * 50] * 9), gw.source("z" * 500)):
        assert len(written(source)) <= LONGEST
        assert "…" in written(source)


A, B, C = Literal("a"), Literal("b"), Literal("c")
MADE = [
    (A + B, (A, B)),
    (A | B, (A, B)),
    (A & B, (A, B)),
    (~A, (A,)),
    (gw.repeat(A, 1, 2), (A,)),
    (gw.capture("x", A), (A,)),
    (Region(1, A), (A,)),
    (Until(A, others=(B, C)), (A, B, C)),
    (gw.tag(A, B, C), (A, B, C)),
    (gw.regions(gw.tag(A, B), gw.tag(B, C, C), at_most=2), (A, B, Literal(""), B, C, C)),
    (gw.thinking(A, B, C), (A, B, C)),
    (gw.special("<a>"), ()),
]


@pytest.mark.parametrize(("source", "parts"), MADE, ids=[type(s).__name__ for s, _ in MADE])
def test_a_source_has_parts_and_can_be_made_of_others(source, parts):
    leaves = []
    for part in parts_of(source):
        leaves += parts_of(part) or [part]
    assert tuple(leaves) == parts
    assert with_parts(source, lambda part: part) == source
    other = with_parts(source, lambda part: Literal("x"))
    assert type(other) is type(source)
    assert (other == source) == (not parts)
    assert all(
        leaf == Literal("x") for part in parts_of(other) for leaf in parts_of(part) or [part]
    )
