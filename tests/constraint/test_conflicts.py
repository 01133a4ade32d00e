"""Why a combination has no text: the two parts, and a shortest text of each."""

import pytest

import guideway as gw
from guideway.constraint.comparison import conflict, undecided
from guideway.language.finite_languages import Decisions
from guideway.sources.sources import Source
from random_walks import BYTES

OBJECT = gw.JsonSchema({"type": "object", "required": ["a"]})
ARRAY = gw.JsonSchema({"type": "array"})
NEST = gw.Gbnf('root ::= "(" root ")" | "x"')


@pytest.mark.parametrize(
    ("source", "parts", "shortest"),
    [
        (gw.Regex("a+") & gw.Choice(["b"]), ("Regex('a+')", "Choice(['b'])"), "'a' and 'b'"),
        (gw.Regex("a+") - gw.Regex("[ab]*"), ("Regex('a+')", "~Regex('[ab]*')"), "'a' neither"),
        (~gw.Regex("[ab]*") & "a", ("'a'", "~Regex('[ab]*')"), "'a' neither"),
        # The innermost part that has none is named, and of three the two that exclude each other.
        ("x" + gw.repeat(gw.Text() & "a" & "b", 2, 3), ("'a'", "'b'"), "'a' and 'b'"),
        ((gw.Regex("a") & (gw.Text() & "b")) | (gw.Regex("b") & "c"), ("Regex('a')", "'b'"), "'a'"),
        (NEST & gw.Regex("[(]+"), (f"Gbnf({NEST.text!r})", "Regex('[(]+')"), "'x' and '('"),
        (OBJECT & ARRAY, tuple(f"JsonSchema({s.text})" for s in (OBJECT, ARRAY)), "and '[]'"),
        (gw.Regex("y+") & (gw.Text() & "x"), ("Regex('y+')", "'x'"), "'y' and 'x'"),
        (OBJECT - OBJECT, (f"JsonSchema({OBJECT.text})", f"~JsonSchema({OBJECT.text})"), "neither"),
        (gw.source(list[int]) & "x", ("list[int]", "'x'"), "'[]' and 'x'"),
        # Each two go together here.
        (
            gw.Choice(["x", "yy"]) & gw.Regex("y*|z") & gw.Regex("x|z"),
            ("Choice(['x', 'yy'])", "Regex('y*|z')", "Regex('x|z')"),
            "no text satisfies Choice(['x', 'yy']) and Regex('y*|z') and Regex('x|z')",
        ),
        (~gw.Text(), ("~Text()",), "no text satisfies ~Text()"),
        (gw.JsonSchema({"minimum": 1, "maximum": 0, "type": "number"}) + "x", (), "minimum"),
        (gw.tag("<a>", gw.Regex("a") & "b", "</a>"), ("Regex('a')", "'b'"), "'a' and 'b'"),
        (gw.tagged("<a>", gw.Regex("a") & "b", "</a>", at_least=1), ("Regex('a')", "'b'"), "'a'"),
    ],
)
def test_the_two_parts_are_named_with_a_shortest_text_of_each(
    source: Source, parts: tuple[str, ...], shortest: str
) -> None:
    with pytest.raises(gw.UnsatisfiableError) as error:
        gw.compile(source, BYTES)
    assert shortest in str(error.value)
    assert parts in ((), error.value.conflict)


def test_what_takes_too_long_to_explain_is_said_in_short():
    def tick(made: int) -> None:
        raise gw.LimitError("no more", limit="fuel")

    error = conflict(gw.Regex("a") & "b", Decisions(tick))
    assert str(error) == "no text satisfies the source"
    assert error.conflict == ("Regex('a') & 'b'",)


def test_a_search_that_takes_too_long_names_the_two_parts_that_meet() -> None:
    sql, brief = gw.grammar("sql"), gw.Regex("(?s).{20,40}")
    for source, sign in (
        (sql & brief, "&"),
        (brief & sql, "&"),
        ("x" + (sql & brief) | "y", "&"),
        (sql - brief, "-"),
        (~brief & sql, "-"),
    ):
        error = gw.LimitError("too many ways", limit="ways", given=3, needed=4)
        named = undecided(gw.source(source), error)
        assert (named.limit, named.given, named.needed) == ("ways", 3, 4)
        assert sign in named.place
        assert "(?s).{20,40}" in str(named)
        assert "Lark(" in str(named) or "Regex(" in named.place
        assert len(str(named)) <= 500
        assert "too many ways" in str(named)
    alone = gw.LimitError("too many ways", limit="ways")
    assert undecided(sql, alone) is alone
    with pytest.raises(gw.LimitError, match=r"(?s)Lark.*&.*Regex.*4000"):
        gw.compile(gw.grammar("arithmetic") & brief, BYTES, gw.Budget(fuel=4_000))


@pytest.mark.parametrize(("grammar", "taker", "taken", "mended"), [
    ('start: "<t>" BODY "</t>"\nBODY: /.+/', "BODY", "'</t>'", "BODY: /.+?(?=<)/"),
    ('start: BODY "b"\nBODY: /[a-z]+/', "BODY", "'b'", "BODY: /[a-z]+?(?=b)/"),
    ("start: WORD WORD\nWORD: /[a-z]+/", "WORD", "WORD", None),
    ('start: part+ "."\npart: TEXT ";"\nTEXT: /[^.]+/', "TEXT", "';'", "TEXT: /[^.;]+/"),
    ('start: A B | B A\n%ignore " "\nA: /[a-z ]+/\nB: /[b-z]+/', "A", "B", None),
    ('start: x? A x? "b"\nx: "c"\nA: /[a-c]+/', "A", "'b' or 'c'", "A: /a+/"),
    ('start: "x" A end\nend: "b" end | "c"\nA: /[a-c]+/', "A", "'b' or 'c'", "A: /a+/"),
])  # fmt: skip
def test_a_terminal_that_takes_what_has_to_follow_is_named(grammar, taker, taken, mended):
    with pytest.raises(gw.UnsatisfiableError) as caught:
        gw.compile(gw.Lark(grammar), BYTES)
    assert str(caught.value).startswith(f"{taker} matches as far as it can, and takes the {taken} ")
    assert "(?=<end>)" in str(caught.value)
    assert "[^<]+" in str(caught.value)
    line = 1 + next(n for n, text in enumerate(grammar.split("\n")) if text.startswith(taker))
    assert caught.value.place == f"line {line}, column 1"
    assert caught.value.conflict == (taker, *taken.split(" or "))
    if mended is not None:
        better = grammar.replace(grammar.split("\n")[line - 1], mended)
        assert gw.compile(gw.Lark(better), BYTES).example()


@pytest.mark.parametrize("grammar", [
    'start: A B\nA: "a"\nB: "b" /(?!b)b/', "start: A\nA: /a(?!a)a/",
])  # fmt: skip
def test_a_terminal_without_a_text_takes_nothing(grammar):
    with pytest.raises(gw.UnsatisfiableError, match="no text satisfies Lark"):
        gw.compile(gw.Lark(grammar), BYTES)
