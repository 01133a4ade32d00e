"""Trees as lines."""

from collections.abc import Hashable

from guideway.cli.drawing import draw, show_bytes
from guideway.json_schema.tree import Strings
from guideway.language.expr import ALL_BYTES, alt, byte_set, call, capture, concat, literal, repeat
from guideway.language.nodes import Expr, Rule
from guideway.sources.sources import Choice, Inverse, Literal


def drawn(value: object) -> list[str]:
    return list(draw(value))


def test_a_concatenation_is_one_list_with_its_texts_joined() -> None:
    assert drawn(concat(literal("a"), repeat(byte_set(b"xyz"), 2, 3), literal("b\n"))) == [
        "Concat",
        '├── "a"',
        "├── Repeat low=2 high=3",
        "│   └── [x-z]",
        '└── "b\\n"',
    ]


def test_a_text_alone_is_its_own_line() -> None:
    assert drawn(alt(literal("ab"), repeat(literal("cd")))) == [
        "Alt",
        '├── "ab"',
        "└── Repeat low=0 high=None",
        '    └── "cd"',
    ]


def test_a_rule_inside_itself_is_drawn_once() -> None:
    rule = Rule("list")
    rule.define(alt(literal("."), concat(literal("["), rule)))
    lines = drawn(rule)
    assert lines[0] == "Rule list"
    assert sum("see above" in line for line in lines) == 1


def test_fields_with_parts_are_branches_and_others_stand_in_the_label() -> None:
    assert drawn(Inverse(Choice(["x", "y"])) + Literal("z")) == [
        "Sequence",
        "├── Inverse",
        "│   └── Choice options=('x', 'y')",
        "└── Literal text='z'",
    ]


def test_a_mapping_is_drawn_key_by_key() -> None:
    assert drawn({"a": Literal("x"), "b": 2}) == ["", "├── 'a': Literal text='x'", "└── 'b': 2"]


def test_a_long_line_is_cut() -> None:
    (line,) = drawn(Literal("x" * 500))
    assert len(line) < 130
    assert line.endswith("…")


def test_sets_of_bytes_are_shown_as_ranges() -> None:
    assert show_bytes(ALL_BYTES) == "any byte"
    assert show_bytes(0) == "[]"
    assert show_bytes(sum(1 << b for b in b"abd-")) == "[\\-abd]"
    assert show_bytes(1 << 10) == '"\\x0a"'


class Turns:
    """A template that takes turns: a·b·a·b… for ever, or a text that is captured."""

    def unfold(self, argument: Hashable, look: object) -> Expr:
        if argument == "captured":
            return capture(literal("c"), None, self, "a")
        return concat(literal(str(argument)), call(self, "b" if argument == "a" else "a"))

    def resume(self, argument: Hashable, captured: bytes | None) -> Expr:
        return call(self, argument)

    def resume_any(self, argument: Hashable) -> Expr:
        return call(self, argument)

    def remembers(self, argument: Hashable) -> bool:
        return True

    def depends(self, argument: Hashable) -> bool:
        return True

    def lives(self, argument: Hashable, look: object) -> bool:
        return True

    def lives_after(self, argument: Hashable, look: object, captured: object) -> bool:
        return True

    def parts(self, argument: Hashable) -> tuple[()]:
        return ()

    def least(self, argument: Hashable, least: object) -> None:
        return None

    def least_after(self, argument: Hashable, least: object) -> None:
        return None


def test_calls_at_the_end_of_a_list_go_on_in_it_until_one_comes_back() -> None:
    assert drawn(call(Turns(), "a")) == [
        "Call Turns",
        "└── Concat",
        '    ├── "ab"',
        "    └── Call Turns (see above)",
    ]
    assert drawn(call(Turns(), "captured")) == ["Call Turns", "└── Capture Turns", '    └── "c"']


def test_sets_among_the_fields_are_shown_in_a_settled_order() -> None:
    (line,) = drawn(Strings(values=frozenset({"b", "a", "c"})))
    assert line == "Strings values={'a', 'b', 'c'}"


def test_a_part_of_a_character_is_shown_as_its_bytes() -> None:
    assert drawn(literal(b"\xc3x")) == ['"\\xc3x"']
