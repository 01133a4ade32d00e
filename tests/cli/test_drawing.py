"""Trees as lines."""

from fairlead.cli.drawing import draw, show_bytes
from fairlead.lowering.expr import ALL_BYTES, Rule, alt, byte_set, concat, literal, repeat
from fairlead.syntax.sources import Choice, Inverse, Literal


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
    assert len(line) < 100
    assert line.endswith("…")


def test_sets_of_bytes_are_shown_as_ranges() -> None:
    assert show_bytes(ALL_BYTES) == "any byte"
    assert show_bytes(0) == "[]"
    assert show_bytes(sum(1 << b for b in b"abd-")) == "[\\-abd]"
    assert show_bytes(1 << 10) == '"\\x0a"'
