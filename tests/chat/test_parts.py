"""Sources in short, as they were written."""

import pytest

import guideway as gw
from guideway.chat.parts import LONGEST, written
from guideway.sources.sources import Source

DEEP = ~gw.Regex("a") & gw.repeat("b" + gw.Text(), 1, 2)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
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
    ],
)
def test_sources_are_shown_as_they_were_written(source: Source, expected: str) -> None:
    assert written(source) == expected


def test_what_is_long_is_cut_in_its_middle():
    for source in (gw.Regex("ab" * 99), gw.Choice(["yes" * 50] * 9), gw.source("z" * 500)):
        assert len(written(source)) <= LONGEST
        assert "…" in written(source)
