"""Sources in short, as they were written."""

import pytest

import fairlead as fl
from fairlead.syntax.sources import Source
from fairlead.syntax.written import LONGEST, written

DEEP = ~fl.Regex("a") & fl.repeat("b" + fl.Text(), 1, 2)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (fl.source("a"), "'a'"),
        (fl.Regex(r"\d+"), r"Regex('\\d+')"),
        (fl.Gbnf('root ::= "a"'), "Gbnf('root ::= \"a\"')"),
        (fl.Lark('start: "a"'), "Lark('start: \"a\"')"),
        (fl.JsonSchema({"type": "null"}), 'JsonSchema({"type":"null"})'),
        (fl.source(int), "int"),
        (fl.source(dict[str, int]), "dict[str, int]"),
        (fl.Text() | "b", "Text() | 'b'"),
        (DEEP, "~Regex('a') & repeat('b' + Text(), 1, 2)"),
        (DEEP + "c", "(~Regex('a') & repeat(…, 1, 2)) + 'c'"),
        (fl.until("x"), "Until"),
        (fl.substring("ab"), "substring('ab')"),
    ],
)
def test_sources_are_shown_as_they_were_written(source: Source, expected: str) -> None:
    assert written(source) == expected


def test_what_is_long_is_cut_in_its_middle():
    for source in (fl.Regex("ab" * 99), fl.Choice(["yes" * 50] * 9), fl.source("z" * 500)):
        assert len(written(source)) <= LONGEST
        assert "…" in written(source)
