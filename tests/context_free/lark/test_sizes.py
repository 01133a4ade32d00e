r"""How large a Lark grammar is, told from its text."""

import random
import re

import pytest

from guideway.context_free.lark.errors import Reading
from guideway.context_free.lark.extensions import COMMENT, SKIPPED
from guideway.context_free.lark.reader import (
    DEEPEST,
    MOST_BLANK,
    check_size,
    check_terminals,
    read_lark,
)
from guideway.context_free.lark.source import Lark
from guideway.errors import LimitError, SourceError


def reading(text):
    return Reading(Lark(text).extended)


def nested(depth):
    return f"start: {'(' * depth}'a'{')' * depth}".replace("'", '"')


def test_parentheses_within_parentheses_are_counted():
    assert read_lark(Lark(nested(300))).rules == {"start": (("A",),)}
    check_size(nested(DEEPEST), id)
    with pytest.raises(LimitError, match="more than 400 levels deep") as refused:
        check_size('x: "a"\n' + nested(DEEPEST + 1), id)
    assert refused.value.place == f"line 2, column {len('start: ') + DEEPEST + 1}"
    assert str(refused.value).endswith(")\n" + " " * 42 + "^")


@pytest.mark.parametrize("text", ['x: "{}"', "x: /[{}]/", "// {}", "# {}", "x: {}\ny: {}"])
def test_what_is_no_parenthesis_of_a_rule_is_not(text):
    check_size(text.replace("{}", "(" * DEEPEST), id)
    with pytest.raises(LimitError):
        check_size(text.replace("{}", "(" * DEEPEST) + "\nz: " + "[" * (DEEPEST + 1), id)


def test_blank_lines_in_a_row_are_counted():
    definition = 'x: "a"\n'
    check_size((definition + " \n" * (MOST_BLANK - 1)) * 2 + definition, id)
    with pytest.raises(LimitError, match="more than 8000 blank lines in a row") as refused:
        check_size(definition + " \t\r\n" * (MOST_BLANK + 1) + definition, id)
    assert refused.value.place == f"line {MOST_BLANK + 2}"


@pytest.mark.parametrize("depth", [DEEPEST + 1, 20_000])
def test_groups_within_groups_of_a_regex_are_counted(depth):
    def text(inner):
        return f"start: A\nA: /a{inner}/"

    check_size(text("(b)" * depth + r"\(" * depth + "[(]" * depth + r"[^](\](]" * depth), id)
    check_size(text("(" * DEEPEST + "a" + ")" * DEEPEST), id)
    with pytest.raises(LimitError, match="more than 400 levels deep") as refused:
        read_lark(Lark(text("(" * depth + "a" + ")" * depth)))
    assert (refused.value.limit, refused.value.given) == ("nesting", DEEPEST)
    assert refused.value.place == f"line 2, column {len('A: /a') + DEEPEST + 1}"


def test_words_are_paid_for():
    paid = []
    check_size('start: "a b" /c d/ e | start // "f"\n# g', paid.append)
    assert len(paid) == 5


def doubled(count, first="A0: B B"):
    lines = "".join(f"A{i + 1}: A{i} A{i}\n" for i in range(count))
    return f'start: A{count}\n{lines}{first}\nB: "b"\n'


@pytest.mark.parametrize(
    "text",
    [
        doubled(30),
        doubled(13, "%extend A0: B B B\n%override B: /c/\nA0: B B"),
        doubled(20, "%import a (C)\nA0: C"),
        doubled(62) + "A63: A62 A62\nA64: A63 A63",
    ],
)
def test_terminals_made_of_each_other_are_worked_in_no_more_than_there_may_be(text):
    with pytest.raises(LimitError, match="come to more than 32768 strings") as caught:
        read_lark(Lark(text, imports={"a": 'C: D D\nD: "d"'}))
    assert caught.value.limit == "parts of terminals"
    assert caught.value.place.startswith("line ")
    assert str(caught.value).endswith("^")
    assert len(str(caught.value)) <= 500


def test_what_is_worked_in_is_paid_for_and_what_has_no_end_is_refused_by_lark():
    paid = []
    check_terminals(reading(doubled(3)), paid.append)  # A1 has two more than it names, A2 6, A3 14
    assert paid == [40 * 22]
    read_lark(Lark(doubled(3)))
    with pytest.raises(SourceError, match="Recursion in terminal"):
        read_lark(Lark('start: A\nA: B\nB: A "x"'))


def test_terminals_that_name_one_another_in_levels_are_counted():
    def row(count: int) -> str:
        lines = [f"A{n}: A{n + 1}" for n in range(count - 1)]
        return "\n".join(["start: A0", *lines, f'A{count - 1}: "a"'])

    check_terminals(reading(row(DEEPEST)), id)
    with pytest.raises(LimitError, match="in 401 levels, 400 are allowed") as refused:
        check_terminals(reading(row(DEEPEST + 1)), id)
    assert refused.value.needed == DEEPEST + 1
    assert refused.value.place == "line 2, column 1"
    with pytest.raises(LimitError, match="in 3000 levels"):
        read_lark(Lark(row(3000)))
    assert read_lark(Lark(row(100))).terminals["A0"].text == "a"


@pytest.mark.parametrize("opening", ['"', "/"])
def test_what_is_never_closed_is_refused_before_lark_tries_all_ways_to_read_it(opening):
    with pytest.raises(SourceError, match="is never closed") as refused:
        read_lark(Lark(f"start: {opening}" + "\\" * 80 + "\nx: y\n"))
    assert refused.value.place == "line 1, column 8"


def test_strings_and_regexes_are_found_as_by_the_regexes_of_lark():
    found = re.compile(SKIPPED, re.VERBOSE)
    letters = r'"(?:\\["\\]|[^"\n])*?"|/(?!/)(?:\\[/\\]|[^/])*?/'
    larks = re.compile(rf"{COMMENT}|{letters}", re.VERBOSE)
    rng = random.Random(1)
    for _ in range(20_000):
        text = "".join(rng.choices('"\\\\\\/a#\n', k=rng.randint(1, 14)))
        assert [m.span() for m in found.finditer(text)] == [m.span() for m in larks.finditer(text)]
