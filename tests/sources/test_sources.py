"""Sources are values, combine like sets, and refuse what is none."""

from typing import Literal as OneOf
from typing import Optional, Union

import pytest
from hypothesis import given
from hypothesis import strategies as st

import guideway as gw
from guideway.errors import SourceError
from guideway.json_schema.source import JsonSchema
from guideway.sources.reading import describe_place
from guideway.sources.sources import (
    Both,
    Choice,
    Either,
    Inverse,
    Literal,
    PythonType,
    Regex,
    Repetition,
    Sequence,
    Text,
    repeat,
    source,
)

A, B = Regex("a"), Regex("b")


class Unhashable:
    __hash__ = None  # type: ignore[assignment]


def test_operators_build_the_combination_they_look_like_and_long_chains_are_one_node():
    assert Sequence((A, B)) == A + B
    assert Sequence((Literal("x"), A)) == "x" + A
    assert Either((A, B)) == A | B
    assert Either((Literal("x"), A)) == "x" | A
    assert Both((A, B)) == A & B
    assert Both((Literal("x"), A)) == "x" & A
    assert Both((A, Inverse(B))) == A - B
    assert Both((Literal("x"), Inverse(A))) == "x" - A
    assert Inverse(A) == ~A
    assert Sequence((A, B, A, Literal("x"))) == A + B + A + "x"
    assert Either((A, B, Literal("x"))) == A | B | "x"
    assert Both((A, B, Literal("x"))) == A & B & "x"


def test_sources_are_equal_by_content():
    assert Choice(["a", "b", "a"]) == Choice(("a", "b"))
    assert hash(Regex("a") + Text()) == hash(Regex("a") + Text())
    assert Regex("a") != Regex("a", flags="i")


def test_types_and_unions_with_sources_are_sources():
    assert source(int) == PythonType(int)
    assert source(int | A) == Either((PythonType(int), A))
    assert source(Optional[int] | A) == Either((PythonType(int), PythonType(type(None)), A))  # noqa: UP045
    assert source(Union[int, A]) == Either((PythonType(int), A))  # noqa: UP007


def test_types_are_equal_if_their_members_come_in_the_same_order():
    one, other = Union[int, str], Union[str, int]  # noqa: UP007
    assert one == other
    assert PythonType(one) != PythonType(other)
    assert list[one] == list[other]
    assert PythonType(list[one]) != PythonType(list[other])
    assert PythonType(list[one]) == PythonType(list[Union[int, str]])  # noqa: UP007
    assert PythonType(OneOf[1]) != PythonType(OneOf[2])
    assert PythonType(int) != PythonType(int, spelling="plain")
    assert PythonType(int) != Regex("[0-9]+")
    unhashable = Unhashable()
    assert hash(PythonType(unhashable)) == hash(PythonType(unhashable))


def test_a_type_takes_the_options_of_a_schema():
    compact = source(dict[str, int], whitespace="compact")
    assert compact == PythonType(dict[str, int], whitespace="compact")
    assert compact.plain_form == PythonType(dict[str, int], "declared", "compact", "plain")
    assert source(int).plain_form == PythonType(int, "declared", "natural", "plain")
    assert source(Union[int, A], spelling="plain") == Either((PythonType(int, spelling="plain"), A))  # noqa: UP007
    with pytest.raises(SourceError, match="whitespace is 'tight': it must be one of"):
        source(int, whitespace="tight")
    for other in (A, "text", JsonSchema({})):
        with pytest.raises(SourceError, match="are options of Python types"):
            source(other, spelling="plain")


REFUSED = [
    *((lambda options=options: Choice(options), "list of strings")
      for options in ("yes", 3, None, {"yes": 1, "no": 2})),
    (lambda: Choice([]), "at least one"),
    (lambda: Choice(["a", 3]), "must be a str, not 3"),
    (lambda: Literal("a\ud800"), "character 1"),
    (lambda: Regex(b"a"), "pattern must be a str"),
    (lambda: Regex("a", dialect="perl"), "perl"),
    *((lambda flags=flags: Regex("a", flags=flags),
       r"flags must be letters of 'imsxau', as in \(\?im\)") for flags in (None, 2, ["i"], b"i")),
]  # fmt: skip


@pytest.mark.parametrize(("make", "said"), REFUSED)
def test_what_is_no_source_is_refused(make, said):
    with pytest.raises(SourceError, match=said):
        make()


def test_repeat_takes_counts_in_order():
    assert repeat("a", 1, 3) == Repetition(Literal("a"), 1, 3)
    assert repeat(A) == Repetition(A, 0, None)
    for low, high in [(-1, 2), (3, 2), (1.5, None), (True, 2)]:
        with pytest.raises(SourceError, match="the bounds must be"):
            repeat(A, low, high)


# In a shell: one line of at most 200 characters, whatever a source holds.

VOCABULARY = gw.Vocabulary([bytes([b]) for b in range(256)] + [b"<eos>"], {256})
LONG = {"type": "object", "properties": {f"key {n}": {"type": "string"} for n in range(99)}}
SOURCES = {
    "short": gw.Regex("a"),
    "regex": gw.Regex("a|b|" * 200),
    "choice": gw.Choice([f"option {n}" for n in range(200)]),
    "schema": gw.JsonSchema(LONG),
    "lark": gw.Lark("start: a\n" + "\n".join("a" * n + ': "b"' for n in range(1, 60))),
    "gbnf": gw.Gbnf("root ::= a\n" + "\n".join("a" * n + ' ::= "b"' for n in range(1, 60))),
    "literal": gw.source("x\n" * 200),
    "combination": gw.Regex("a" * 99) + (gw.Regex("b" * 99) | "c" * 99) & ~gw.Regex("d" * 99),
    "repetition": gw.repeat(gw.Regex("a" * 300), 1, 3),
    "regions": gw.tagged("<a>", gw.JsonSchema(LONG), "</a>"),
    "until": gw.until("</think>" * 40),
    "type": gw.source(dict[str, list[int]]),
}


@pytest.mark.parametrize("name", SOURCES)
def test_sources_constraints_and_matchers_are_shown_on_one_short_line(name: str):
    source, made = SOURCES[name], []
    if name in ("short", "schema", "literal"):
        constraint = gw.compile(source, VOCABULARY)
        made = [constraint, gw.Matcher(constraint)]
    for each in (source, *made):
        assert len(repr(each)) <= 200
        assert repr(each).isprintable()
        assert f"{type(source).__name__}(" in repr(each)
        assert each is source or "257 tokens" in repr(each)
    assert repr(source).startswith(type(source).__name__)
    if name == "short":
        assert repr(source) == "Regex(pattern='a', dialect='python', flags='')"
        assert made[1].accept_token(ord("a"))
        assert repr(made[1]).endswith(", 1 tokens)")


@given(st.text("ab\n", max_size=12), st.data())
def test_the_line_and_column_lead_back_to_the_offset(text: str, data: st.DataObject) -> None:
    position = data.draw(st.integers(0, len(text)))
    line, column = (int(part.split()[-1]) for part in describe_place(text, position).split(","))
    lines = text.split("\n")
    assert sum(len(before) + 1 for before in lines[: line - 1]) + column - 1 == position
