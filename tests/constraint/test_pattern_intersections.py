"""Which parts of a schema are tried when it is compiled, and what is refused then."""

from typing import Any

import pytest

import guideway as gw
from guideway.constraint.pattern_intersections import trials
from random_walks import BYTES

LONG = gw.Vocabulary(
    [bytes([byte]) for byte in range(256)] + [b"<end>", *(b"x" * n for n in range(40, 60))],
    eos_ids={256},
)
LETTERS = "abcdefghijk"
LARGE = [{"pattern": "a.{12}b"}, {"pattern": "c.{12}d"}]


def places(schema: Any) -> list[str]:
    if isinstance(schema, list):
        schema = {"prefixItems": schema}
        return [place.removeprefix("/prefixItems") for place in places(schema)]
    return sorted(place() for place, _, _ in trials(gw.JsonSchema(schema)))


HARD = {"pattern": "a.{9}b"}
MANY = [f"^[^{chr(0x4E00 + n)}]*$" for n in range(1000)]


@pytest.mark.parametrize(("schema", "expected"), [
    ({"pattern": "|".join(MANY)}, ["/pattern"]),
    ({"pattern": "|".join(MANY[:200])}, []),
    ({"propertyNames": {"pattern": "|".join(MANY)}}, ["/propertyNames"]),
    ({"patternProperties": {"|".join(MANY): {}}}, ["/patternProperties"]),
    ({"anyOf": [{"pattern": pattern} for pattern in MANY]}, ["/anyOf"]),
    ({"anyOf": [{"pattern": pattern} for pattern in MANY[:200]]}, []),
    ({"anyOf": [*({"minLength": n} for n in range(400)), {"pattern": "a"}]}, []),
])  # fmt: skip
def test_very_many_patterns_of_which_one_has_to_match_are_tried(
    schema: Any, expected: list[str]
) -> None:
    assert [place for place in places(schema) if "/" not in place[1:]] == expected


@pytest.mark.parametrize("source", [
    gw.Regex("|".join(MANY)),
    gw.Regex("a(" + "|".join(pattern[1:-1] for pattern in MANY) + ")b"),
    gw.JsonSchema({"items": {"pattern": "a|b(" + "|".join(MANY) + ")"}}),
    gw.JsonSchema({"patternProperties": {"|".join(MANY[:300]): {}}}),
])  # fmt: skip
def test_very_many_alternatives_that_are_there_in_each_state_are_refused(source: Any) -> None:
    words = gw.Vocabulary(
        [
            *(bytes([byte]) for byte in range(256)),
            *(f"{one[3]}{other[3]}".encode() for one in MANY[:60] for other in MANY),
        ]
    )
    with pytest.raises(gw.LimitError, match=r"parts of automata|sets of characters") as refused:
        gw.compile(source, words, gw.Budget.untrusted())
    assert refused.value.limit in ("fuel", "sets of characters")


@pytest.mark.parametrize("part", [
    {"enum": [1.5, "ac", ["a"]], "minLength": 1.0},
    {"const": "ac", "maxLength": 2},
    {"type": ["string", "number"], "maxLength": 3},
    {"maxLength": 1e30},
])  # fmt: skip
def test_numbers_that_are_no_python_integers_are_no_reason_to_refuse(part: Any) -> None:
    schema = part | {"pattern": "a", "not": {"pattern": "b.{9}c", "const": {"x": 2.5}}}
    assert places(schema) == ["/pattern"]
    made = gw.compile(gw.JsonSchema(schema), BYTES)
    assert (made.matches('"ac"'), made.matches('"cc"')) == (True, False)
    assert made.matches("1.5") == ("enum" in part or part.keys().isdisjoint(("const", "enum")))


@pytest.mark.filterwarnings("ignore::guideway.errors.GuidewayWarning")
def test_what_is_no_schema_is_no_reason_to_refuse_where_nobody_refers_to_it() -> None:
    wrong = {"pattern": 1.5, "type": 2.5, "not": {"pattern": ["a"]}, "anyOf": 3.5, "enum": 4}
    meeting = {"allOf": [wrong, HARD, {"pattern": "b"}, {"pattern": "c("}]}
    assert places({"x": {"y": meeting}}) == ["/x/y/allOf"]
    source = gw.JsonSchema({"x": {"y": meeting}}, key_order="declared")
    assert gw.compile(source, BYTES).matches('"c"')


def test_a_part_without_an_instance_is_no_reason_to_refuse() -> None:
    never = {"type": "string", "allOf": [{"pattern": "^a"}, {"pattern": "^b"}]}
    made = gw.compile(gw.JsonSchema({"properties": {"a": never}}), BYTES)
    assert made.matches("{}")
    assert not made.matches('{"a":"ab"}')


@pytest.mark.parametrize(("schema", "place"), [
    ({"propertyNames": {"allOf": LARGE, "maxLength": 60}}, "/propertyNames"),
    ({"patternProperties": {f"^(?:.{{{n}}})*$": {"minimum": n} for n in (2, 3, 5, 7, 11, 13, 17,
                                                                         19)}},
     "/patternProperties"),
    ({"allOf": [{"contains": {"pattern": f"{c}.{{5}}{c}"}} for c in "abcdefghij"]}, "/allOf"),
    ({"minLength": 10**12, "pattern": "^[b-z]*$"}, "/pattern"),
    ({"minLength": 10**6, "pattern": "^[a-z]"}, "/pattern"),
    ({"type": ["string", "null"], "minLength": 10**5, "pattern": "^[b-z]*$"}, "/pattern"),
    ({"items": {"oneOf": [{"minLength": 10**12}, {"pattern": "a"}]}}, "/items/oneOf"),
])  # fmt: skip
def test_patterns_that_take_too_long_together_are_refused_with_their_place(
    schema: Any, place: str
) -> None:
    with pytest.raises(gw.LimitError, match="the intersection of the patterns") as refused:
        gw.compile(gw.JsonSchema(schema), LONG, gw.Budget.untrusted())
    assert (refused.value.limit, refused.value.place) == ("fuel", place)


@pytest.mark.parametrize(("schema", "place"), [
    ({"items": {"oneOf": [{"multipleOf": n} for n in (2, 3, 5, 7, 11, 13, 17)]}}, "/items/oneOf"),
    ({"items": {"allOf": [{"multipleOf": n} for n in (97, 89, 83, 101)]}}, "/items/allOf"),
    ({"patternProperties": {letter: {"minimum": n} for n, letter in enumerate(LETTERS)}},
     "/patternProperties"),
])  # fmt: skip
def test_what_multiplies_is_refused_with_the_place_of_its_keyword(schema: Any, place: str) -> None:
    with pytest.raises(gw.LimitError) as refused:
        gw.compile(gw.JsonSchema(schema), BYTES)
    assert refused.value.place == place


def test_multiples_that_leave_few_rests_together_work() -> None:
    parts = [{"multipleOf": n} for n in (2, 3, 5, 7)]
    made = gw.compile(gw.JsonSchema({"type": "integer", "oneOf": parts}), BYTES)
    kept = [n for n in range(211) if made.matches(str(n))]
    assert kept == [n for n in range(211) if sum(n % m == 0 for m in (2, 3, 5, 7)) == 1]
