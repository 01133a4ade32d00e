"""Trees as lines."""

from collections.abc import Hashable

import pytest

from guideway.cli.drawing import draw, show_bytes
from guideway.json_schema.tree import Strings
from guideway.language.expr import ALL_BYTES, alt, byte_set, call, capture, concat, literal, repeat
from guideway.language.nodes import Expr, Look
from guideway.sources.sources import Choice, Inverse, Literal
from toys import Distinct, distinct, nested

DRAWN = [
    (concat(literal("a"), repeat(byte_set(b"xyz"), 2, 3), literal("b\n")), [
        "Concat", '├── "a"', "├── Repeat low=2 high=3", "│   └── [x-z]", '└── "b\\n"',
    ]),  # a list, in which the texts are joined
    (alt(literal("ab"), repeat(literal("cd"))), [
        "Alt", '├── "ab"', "└── Repeat low=0 high=None", '    └── "cd"',
    ]),
    # Fields with parts are branches, and others stand in the label.
    (Inverse(Choice(["x", "y"])) + Literal("z"), [
        "Sequence", "├── Inverse", "│   └── Choice options=('x', 'y')", "└── Literal text='z'",
    ]),
    ({"a": Literal("x"), "b": 2}, ["", "├── 'a': Literal text='x'", "└── 'b': 2"]),
    (Strings(values=frozenset({"b", "a", "c"})), ["Strings values={'a', 'b', 'c'}"]),
    (literal(b"\xc3x"), ['"\\xc3x"']),  # a part of a character
    (capture(literal("c"), None, Distinct(), "a"), ["Capture Distinct", '└── "c"']),
]  # fmt: skip


@pytest.mark.parametrize(("value", "lines"), DRAWN)
def test_a_value_is_drawn_as_a_tree(value: object, lines: list[str]) -> None:
    assert list(draw(value)) == lines


def test_rules_and_calls_are_drawn_once() -> None:
    lines = list(draw(nested()))
    assert lines[0] == "Rule nested"
    assert sum("see above" in line for line in lines) == 2
    unfolded = list(draw(distinct()))
    assert unfolded[:2] == ["Concat", '├── "["']
    assert any(line.endswith("Call Distinct") for line in unfolded)
    twice = call(Distinct(), frozenset())
    again = list(draw(alt(concat(literal("a"), twice), concat(literal("b"), twice))))
    assert sum(line.endswith("Call Distinct (see above)") for line in again) == 1


def test_a_long_line_is_cut() -> None:
    (line,) = draw(Literal("x" * 500))
    assert len(line) < 130
    assert line.endswith("…")


def test_sets_of_bytes_are_shown_as_ranges() -> None:
    assert show_bytes(ALL_BYTES) == "any byte"
    assert show_bytes(0) == "[]"
    assert show_bytes(sum(1 << b for b in b"abd-")) == "[\\-abd]"
    assert show_bytes(1 << 10) == '"\\x0a"'


class Turns(Distinct):
    """A template that takes turns: a·b·a·b… for ever."""

    def unfold(self, argument: Hashable, look: Look) -> Expr:
        return concat(literal(str(argument)), call(self, "b" if argument == "a" else "a"))


def test_calls_at_the_end_of_a_list_go_on_in_it_until_one_comes_back() -> None:
    assert list(draw(call(Turns(), "a"))) == [
        "Call Turns", "└── Concat", '    ├── "ab"', "    └── Call Turns (see above)",
    ]  # fmt: skip
