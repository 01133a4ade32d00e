"""Why a combination has no text: the two parts, and a shortest text of each."""

import pytest

import fairlead as fl
from fairlead.automata.decided import Decisions
from fairlead.constraints.conflicts import conflict, undecided
from fairlead.syntax.sources import Source

BYTES = fl.Vocabulary([bytes((b,)) for b in range(256)] + [b"<eos>"], {256})
OBJECT = fl.JsonSchema({"type": "object", "required": ["a"]})
ARRAY = fl.JsonSchema({"type": "array"})
NEST = fl.Gbnf('root ::= "(" root ")" | "x"')


@pytest.mark.parametrize(
    ("source", "parts", "shortest"),
    [
        (fl.Regex("a+") & fl.Choice(["b"]), ("Regex('a+')", "Choice(['b'])"), "'a' and 'b'"),
        (fl.Regex("a+") - fl.Regex("[ab]*"), ("Regex('a+')", "~Regex('[ab]*')"), "'a' neither"),
        (~fl.Regex("[ab]*") & "a", ("'a'", "~Regex('[ab]*')"), "'a' neither"),
        # The innermost part that has none is named, and of three the two that exclude each other.
        ("x" + fl.repeat(fl.Text() & "a" & "b", 2, 3), ("'a'", "'b'"), "'a' and 'b'"),
        ((fl.Regex("a") & (fl.Text() & "b")) | (fl.Regex("b") & "c"), ("Regex('a')", "'b'"), "'a'"),
        (NEST & fl.Regex("[(]+"), (f"Gbnf({NEST.text!r})", "Regex('[(]+')"), "'x' and '('"),
        (OBJECT & ARRAY, tuple(f"JsonSchema({s.text})" for s in (OBJECT, ARRAY)), "and '[]'"),
        (fl.Regex("y+") & (fl.Text() & "x"), ("Regex('y+')", "'x'"), "'y' and 'x'"),
        (OBJECT - OBJECT, (f"JsonSchema({OBJECT.text})", f"~JsonSchema({OBJECT.text})"), "neither"),
        (fl.source(list[int]) & "x", ("list[int]", "'x'"), "'[]' and 'x'"),
        # Each two go together here.
        (
            fl.Choice(["x", "yy"]) & fl.Regex("y*|z") & fl.Regex("x|z"),
            ("Choice(['x', 'yy'])", "Regex('y*|z')", "Regex('x|z')"),
            "no text satisfies Choice(['x', 'yy']) and Regex('y*|z') and Regex('x|z')",
        ),
        (~fl.Text(), ("~Text()",), "no text satisfies ~Text()"),
        (fl.JsonSchema({"minimum": 1, "maximum": 0, "type": "number"}) + "x", (), "minimum"),
        (fl.tag("<a>", fl.Regex("a") & "b", "</a>"), ("Regex('a')", "'b'"), "'a' and 'b'"),
        (fl.tagged("<a>", fl.Regex("a") & "b", "</a>", at_least=1), ("Regex('a')", "'b'"), "'a'"),
    ],
)
def test_the_two_parts_are_named_with_a_shortest_text_of_each(
    source: Source, parts: tuple[str, ...], shortest: str
) -> None:
    with pytest.raises(fl.UnsatisfiableError) as error:
        fl.compile(source, BYTES)
    assert shortest in str(error.value)
    assert parts in ((), error.value.conflict)


def test_what_takes_too_long_to_explain_is_said_in_short():
    def tick(made: int) -> None:
        raise fl.LimitError("no more", limit="fuel")

    error = conflict(fl.Regex("a") & "b", Decisions(tick))
    assert str(error) == "no text satisfies the source"
    assert error.conflict == ("Regex('a') & 'b'",)


def test_a_search_that_takes_too_long_names_the_two_parts_that_meet() -> None:
    sql, brief = fl.grammar("sql"), fl.Regex("(?s).{20,40}")
    for source, sign in (
        (sql & brief, "&"),
        (brief & sql, "&"),
        ("x" + (sql & brief) | "y", "&"),
        (sql - brief, "-"),
        (~brief & sql, "-"),
    ):
        error = fl.LimitError("too many ways", limit="ways", given=3, needed=4)
        named = undecided(fl.source(source), error)
        assert (named.limit, named.given, named.needed) == ("ways", 3, 4)
        assert sign in named.place
        assert "(?s).{20,40}" in str(named)
        assert "Lark(" in str(named) or "Regex(" in named.place
        assert len(str(named)) <= 500
        assert "too many ways" in str(named)
    alone = fl.LimitError("too many ways", limit="ways")
    assert undecided(sql, alone) is alone
    with pytest.raises(fl.LimitError, match=r"(?s)Lark.*&.*Regex.*10000"):
        fl.compile(fl.grammar("arithmetic") & brief, BYTES, fl.Budget(fuel=10_000))
