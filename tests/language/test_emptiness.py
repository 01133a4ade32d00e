"""What has a text is told without finding one, exactly; and only what matters for it is made."""

from typing import Any

import pytest

from guideway.json_schema.lowering import Lowering, lower_json_schema
from guideway.json_schema.source import JsonSchema
from guideway.language import derivative as living
from guideway.language.derivative import Derivatives
from guideway.language.expr import EPSILON, alt, both, byte_set, complement, concat, literal, repeat
from guideway.language.nodes import Expr, Rule


def rule(name: str, body: Expr | None = None) -> Rule:
    made = Rule(name)
    if body is not None:
        made.define(body)
    return made


def lives(expr: Expr) -> bool:
    return Derivatives(expr).alive(expr)


def test_rules_that_come_back_to_themselves_are_decided() -> None:
    loop = rule("loop")
    loop.define(concat(literal("a"), loop))
    assert not lives(loop)
    ends = rule("ends")
    ends.define(alt(concat(literal("a"), ends), literal("b")))
    assert lives(ends)
    assert lives(repeat(ends, 2, 3))
    assert not lives(repeat(loop, 2, 3))
    assert not lives(concat(ends, loop))


def test_what_was_asked_too_early_is_asked_again() -> None:
    # The first asks the second, which asks the first, which then turns out to have a text.
    first, second = rule("first"), rule("second")
    first.define(alt(concat(literal("a"), second), literal("b")))
    second.define(concat(literal("c"), first, both(literal("d"), complement(literal("e")))))
    engine = Derivatives(first)
    assert engine.alive(first)
    assert engine.alive(second)
    both_ways = rule("both ways")
    both_ways.define(concat(literal("x"), alt(concat(literal("y"), both_ways), first), second))
    assert lives(both_ways)


def test_who_waits_for_what_waits_for_it_is_told_once() -> None:
    first, second, third = rule("first"), rule("second"), rule("third", literal("z"))
    second.define(concat(literal("p"), first))
    first.define(alt(second, third))
    never = both(literal("a"), literal("b"))
    engine = Derivatives(first)
    assert not engine.alive(concat(literal("r"), first, never, second))
    assert engine.alive(concat(literal("r"), first, second))


def test_shared_parts_are_looked_at_once() -> None:
    part: Expr = rule("leaf", literal("a"))
    for level in range(2000):
        part = rule(f"{level}", concat(part, part))
    assert lives(part)


def test_meets_and_opposites_are_exact() -> None:
    letters = repeat(byte_set(b"ab"), 1)
    met = both(letters, complement(literal("a")))
    assert lives(concat(literal("x"), met))
    assert lives(complement(letters))
    assert not lives(both(letters, complement(repeat(byte_set(b"abc"), 1, None))))
    assert not lives(both(byte_set(b"ab"), complement(alt(literal("a"), literal("b")))))


@pytest.mark.parametrize("deep", [0, 1, 2])
def test_what_is_not_found_soon_is_searched_for(monkeypatch: pytest.MonkeyPatch, deep: int) -> None:
    monkeypatch.setattr(living, "_DEEP", deep)
    test_meets_and_opposites_are_exact()


def test_bytes_that_cannot_be_spelled_count_as_none() -> None:
    only_a = 1 << ord("a")
    for expr, expected in ((literal("ab"), False), (literal("aa"), True), (byte_set(b"ab"), True)):
        assert Derivatives(expr, only_a).alive(expr) is expected
    assert Derivatives(literal("a"), only_a).alive(alt(literal("b"), complement(literal("a"))))


def test_forgetting_changes_nothing() -> None:
    root = rule("root", concat(literal("a"), both(repeat(byte_set(b"a")), complement(literal("")))))
    engine = Derivatives(root)
    assert engine.alive(root)
    engine.forget()
    assert engine.alive(root)


LIST = {"$ref": "#/$defs/list"}
ENDLESS = {"type": "object", "properties": {"next": LIST}, "required": ["next"]}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "object", "properties": {"a": {"not": {}}}}, True),
        ({"type": "object", "properties": {"a": {"not": {}}}, "required": ["a"]}, False),
        ({"type": "object", "propertyNames": {"maxLength": 0}, "minProperties": 2}, False),
        ({"type": "object", "propertyNames": {"maxLength": 1}, "minProperties": 2}, True),
        ({**LIST, "$defs": {"list": ENDLESS}}, False),
        ({"$ref": "#/$defs/list", "$defs": {"list": {**ENDLESS, "minProperties": 2}}}, False),
        ({"not": {"properties": {"a": {"$ref": "#"}}}, "type": "object"}, True),
        ({"type": "array", "contains": {"not": {}}}, False),
        ({"type": "array", "items": {"enum": [1, 2]}, "uniqueItems": True, "minItems": 2}, True),
        ({"type": "array", "items": {"enum": [1, 2]}, "uniqueItems": True, "minItems": 3}, False),
        ({"type": "array", "items": {"$ref": "#"}, "contains": {"$ref": "#"}}, False),
    ],
)
def test_schemas_have_instances_or_none(schema: Any, expected: bool) -> None:
    assert lives(Lowering(JsonSchema(schema)).text()) is expected


def test_settling_leaves_what_is_sure() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#"}}}
    expr = lower_json_schema(JsonSchema(node, whitespace="compact"))
    Derivatives(expr).settle()
    assert isinstance(expr, Rule)
    assert not expr.bodies


def test_settling_makes_whatever_can_be_entered_and_may_be_refused() -> None:
    inner = {"oneOf": [{"type": "array", "items": {"required": ["x"]}}, {"minProperties": 1}]}
    properties = {"a": inner, "c": {"contains": {"minProperties": 2}}}
    lowering = Lowering(JsonSchema({"properties": properties, "minProperties": 1}))
    engine = Derivatives(lowering.text())
    engine.settle()
    assert all(rule.bodies for rule in lowering._rules.values())


def test_who_knows_it_sooner_is_asked_whether_a_regular_expression_has_a_text() -> None:
    asked: list[Expr] = []

    class Judge:
        def alive(self, expr: Expr) -> bool:
            asked.append(expr)
            return False

        def shortest(self, expr: Expr) -> tuple[bool, bytes | None]:
            asked.append(expr)
            return len(asked) == 2, b"known"

    hard = both(literal("ab"), complement(literal("ac")))
    engine = Derivatives(alt(concat(literal("x"), hard), literal("y")))
    engine.living.consult(Judge())
    assert not engine.alive(hard)
    assert engine.alive(engine.start())
    assert asked == [hard]
    assert engine.shortest(hard) == b"known"
    assert engine.shortest(hard) == b"known"
    assert asked == [hard, hard]


def test_who_cannot_tell_the_shortest_text_is_asked_a_few_times() -> None:
    asked: list[Expr] = []

    class Helpless:
        def alive(self, expr: Expr) -> bool:
            return True

        def shortest(self, expr: Expr) -> tuple[bool, bytes | None]:
            asked.append(expr)
            return False, None

    engine = Derivatives(EPSILON)
    engine.living.consult(Helpless())
    for number in range(20):
        hard = both(literal(f"{number}ab"), complement(literal("ac")))
        assert engine.shortest(hard) == f"{number}ab".encode()
    assert 0 < len(asked) < 10


def test_what_can_be_entered_is_paid_for_as_it_is_settled() -> None:
    levels, ticks = 50, list[int]()
    schema: Any = True
    for _ in range(levels):
        schema = {"items": schema}
    engine = Derivatives(lower_json_schema(JsonSchema(schema)), fuel=ticks.append)
    ticks.clear()
    engine.settle()
    assert sum(ticks) >= 20 * levels  # a dozen parts each, and twice that
