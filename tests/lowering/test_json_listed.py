"""Enums of many arrays and objects: told apart as they are read, exactly, in every way to write."""

import json
import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

import guideway as gw
from guideway.automata.derivative import Derivatives
from guideway.lowering.expr import ALL_BYTES, EMPTY, UNSURE
from guideway.lowering.json_listed import ListedTemplate, listed
from guideway.lowering.json_scalars import scalars
from guideway.lowering.json_text import json_style
from guideway.lowering.nodes import Alt, Call, Expr
from guideway.syntax.json_schema_parts import read_scalars
from guideway.syntax.json_schema_source import JsonSchema

BYTES = gw.Vocabulary([bytes([byte]) for byte in range(256)] + [b"<end>"], eos_ids={256})
OBJECTS: list[Any] = [{"id": n, "name": f"n{n}", "tags": [n % 7, n % 3]} for n in range(90)]
ARRAYS: list[Any] = [[n, {"a": n % 5}, n % 2 == 0, None, str(n % 4)] for n in range(30)]
MIXED: list[Any] = [*ARRAYS, *OBJECTS, [], {}, [[]], {"a": {"b": []}}, 7, "x", True, -1.5]
STYLE = json_style(JsonSchema({}))


def compiled(values: list[Any], vocabulary: gw.Vocabulary = BYTES, **more: Any) -> Any:
    return gw.compile(gw.JsonSchema({"enum": values}, **more), vocabulary)


@pytest.mark.parametrize("order", ["any", "declared"])
def test_each_value_is_read_as_it_is_written(order: str) -> None:
    constraint = compiled(MIXED, key_order=order, whitespace="any")
    assert all(constraint.matches(json.dumps(value)) for value in MIXED)
    assert constraint.matches(' { "id" : 5e0 , "name":"\\u006e5","tags":[ 50e-1,2.0]} ')
    other = '{"tags": [5, 2], "name": "n5", "id": 5}'
    assert constraint.matches(other) is (order == "any")


@pytest.mark.parametrize(
    "text",
    [
        '{"id": 5, "name": "n6", "tags": [5, 2]}',
        '{"id": 5, "name": "n5", "tags": [5]}',
        '{"id": 5, "name": "n5"}',
        '{"id": 5, "id": 5, "name": "n5", "tags": [5, 2]}',
        '{"name": "n5", "id": 6}',
        '{"id": 90, "name": "n90", "tags": [6, 0]}',
        '[1, {"a": 1}, true, null, "1"]',
        '[1, {"a": 1}, false, null, "1", 1]',
        "[[], 1]",
        '{"a": {"b": [], "c": 1}}',
        "8",
    ],
)
def test_nothing_else_is(text: str) -> None:
    assert not compiled(MIXED).matches(text)


def test_types_leave_those_of_their_values() -> None:
    constraint = gw.compile(gw.JsonSchema({"type": ["array", "null"], "enum": MIXED}), BYTES)
    assert constraint.matches(json.dumps(ARRAYS[3]))
    assert not constraint.matches(json.dumps(OBJECTS[3]))
    assert not constraint.matches("7")
    objects = gw.compile(gw.JsonSchema({"type": "object", "enum": OBJECTS}), BYTES)
    assert objects.matches(json.dumps(OBJECTS[3]))


@pytest.mark.parametrize("order", ["any", "declared"])
@pytest.mark.parametrize("values", [OBJECTS, MIXED, [{"a": n, "b": n % 3} for n in range(-9, 30)]])
def test_masks_lead_to_ends_and_distances_fall(values: list[Any], order: str) -> None:
    constraint = compiled(values, key_order=order)
    drawn = random.Random(5)
    for _ in range(4):
        state, text = constraint.start(), b""
        while not constraint.accepts(state) or drawn.random() < 0.3:
            row = constraint.mask(state)
            allowed = [t for t in range(256) if int(row[t // 32]) >> t % 32 & 1]
            nearer = [
                t
                for t in allowed
                if constraint.distance(constraint.advance(state, t)) < constraint.distance(state)
            ]
            if constraint.accepts(state) or not allowed:
                break
            assert nearer
            token = drawn.choice(nearer if drawn.random() < 0.7 else allowed)
            state, text = constraint.advance(state, token), text + bytes([token])
        assert json.loads(text) in values


def test_the_example_is_the_shortest_text() -> None:
    values = [{"a": n, "b": "x" * (99 - n)} for n in range(100)]
    assert compiled(values).example() == '{"a":99,"b":""}'
    assert compiled([[n, "x" * (99 - n)] for n in range(100)]).example() == '[99,""]'
    assert compiled([[10 * n, "x" * (99 - n)] for n in range(100)]).example() == '[990,""]'


def test_what_cannot_be_spelled_does_not_come() -> None:
    few = [bytes([byte]) for byte in b'{}[]":,0123456abn']
    vocabulary = gw.Vocabulary([*few, b"<end>"], eos_ids={len(few)})
    values = [{"a": n, "b": f"n{n}"} for n in range(40)] + [[n, n % 9] for n in range(40)]
    constraint = compiled(values, vocabulary)
    assert constraint.matches('{"a":5,"b":"n5"}')
    assert constraint.matches("[14,5]")
    state = constraint.start()
    for token in map(few.index, (b"[", b"1")):
        state = constraint.advance(state, token)
    row = constraint.mask(state)
    allowed = [few[t] for t in range(len(few)) if int(row[t // 32]) >> t % 32 & 1]
    assert b"".join(allowed) == b",012345"  # [16, 7] has no text


def test_a_list_that_cannot_be_spelled_is_refused() -> None:
    few = [bytes([byte]) for byte in b'{}":,ab']
    vocabulary = gw.Vocabulary([*few, b"<end>"], eos_ids={len(few)})
    with pytest.raises(gw.UnsatisfiableError):
        compiled(OBJECTS, vocabulary)


@pytest.mark.parametrize("odd", [{"a": "\ud800"}, {"\ud800": 1}, [Decimal("1e5000")]])
def test_what_has_no_text_or_no_end_is_told_by_formulas(odd: object) -> None:
    assert listed([*OBJECTS, odd], STYLE) is None  # type: ignore[list-item]


def numbers(amounts: frozenset[Decimal]) -> Expr:
    schema = read_scalars({"enum": sorted(amounts)}, 2020)
    assert schema
    return scalars(schema, STYLE.spelling)


class Everything:
    spellable = ALL_BYTES
    settled = True

    def __call__(self, part: Expr) -> bool | None:
        return True

    def word(self, part: Expr) -> bytes | None:
        raise NotImplementedError


class Nothing(Everything):
    spellable = 0

    def __call__(self, part: Expr) -> bool | None:
        return None


def test_a_number_that_is_not_known_leaves_all_open() -> None:
    template = ListedTemplate([[n, n] for n in range(40)], STYLE, numbers)
    start = template.start()
    assert isinstance(start, Call)
    assert template.resume(start.argument, None) is UNSURE
    anything = template.resume_any(start.argument)
    assert isinstance(anything, Alt)
    assert len(anything.options) == 40
    assert template.remembers(start.argument)
    assert template.depends(start.argument)
    assert template.lives_after(start.argument, Everything(), lambda: None)
    assert template.lives(start.argument, Nothing()) is None
    assert [*template.parts(start.argument)] == []


def test_the_least_number_is_that_with_the_least_rest() -> None:
    template = ListedTemplate([[n, "x" * (40 - n)] for n in range(40)], STYLE, numbers)
    start = template.start()
    assert isinstance(start, Call)
    least: Callable[[Expr], bytes | None] = compiled([7])._machine.living.word
    assert template.least_after(start.argument, least) == b',"x"]'
    assert template.least_after(start.argument, least, b" 38") == b',"xx"]'
    assert template.least_begun(start.argument, least, b" ") == b' 39,"x"]'
    assert template.least_begun(start.argument, least, b"1") == b'19,"' + b"x" * 21 + b'"]'
    assert template.least_begun(start.argument, least, b"9e") is None
    assert template.least_after(start.argument, lambda part: None) is None


def test_many_objects_take_little_to_be_entered() -> None:
    """As a formula each behind each member was an expression: 20,000 of them before a mask."""
    made: list[object] = []
    template = ListedTemplate([{"id": n, "a": n % 5} for n in range(3000)], STYLE, counted(made))
    todo, steps = [template.start()], 0
    while todo and steps < 40:
        part = todo.pop()
        steps += 1
        if isinstance(part, Call):
            todo.append(template.unfold(part.argument, Everything()))
        elif part is not EMPTY:
            todo += [getattr(part, name) for name in ("head", "tail") if hasattr(part, name)]
            todo += getattr(part, "options", ())
    assert 0 < len(made) < 10


def test_the_shortest_of_many_objects_is_found_without_writing_down_all() -> None:
    def spent(count: int) -> int:
        fuel: list[int] = []
        template = ListedTemplate([{"id": n, "x": f"n{n}"} for n in range(count)], STYLE, numbers)
        machine = Derivatives(template.start(), fuel=fuel.append)
        assert machine.shortest(machine.start()) == b'{"id":0,"x":"n0"}'
        return sum(fuel)

    assert spent(3000) < 2 * spent(300)


def test_the_shortest_that_can_be_spelled_is_found_behind_many_that_cannot() -> None:
    few = [bytes([byte]) for byte in b'{}[]":,x0']
    vocabulary = gw.Vocabulary([*few, b"<end>"], eos_ids={len(few)})
    values: list[Any] = [{"x": f"n{n}"} for n in range(100)] + [{"x": "x" * n} for n in (9, 8)]
    assert compiled(values, vocabulary).example() == '{"x":"xxxxxxxx"}'


def counted(made: list[object]) -> Callable[[frozenset[Decimal]], Expr]:
    def number(amounts: frozenset[Decimal]) -> Expr:
        made.append(amounts)
        return numbers(amounts)

    return number
