"""All applicators and assertions against two validators, on values and on texts drawn from them."""

import json
import math
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import guideway as gw
from guideway.errors import GuidewayError, UnsupportedError
from guideway.json_schema.lowering import Lowering
from guideway.json_schema.source import JsonSchema
from guideway.language.derivative import Derivatives
from guideway.language.fuel import metered
from json_mixtures import Mixture
from json_schemas import is_exact, machine, read_exactly, write
from json_tangles import VALUES, Tangle
from plain_texts import draw, matches
from random_walks import BYTES, text_of
from shares import one_in

SEEDS = st.integers(0, 2**32)


def no_repeated_key(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)


@pytest.mark.untraced
@one_in(2)
@given(SEEDS)
def test_an_instance_is_accepted_exactly_if_both_validators_take_it(seed):
    mixture = Mixture(seed, 2020, 8)
    engine = machine(mixture.schema)
    whole = Derivatives(Lowering(JsonSchema(mixture.schema)).text())  # not part by part
    for _ in range(8):
        value = mixture.value()
        text, expected = write(value, mixture.chance), mixture.verdict(value)
        assert expected is None or matches(engine, text) == expected, (mixture.schema, value)
        assert expected is None or matches(whole, json.dumps(value)) == expected, mixture.schema


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much], deadline=None)
@given(
    SEEDS,
    st.sampled_from(["any", "declared"]),
    st.sampled_from(["any", "compact", "natural"]),
    st.sampled_from(["any", "plain"]),
)
def test_whatever_is_generated_both_validators_take(seed, key_order, whitespace, spelling):
    mixture = Mixture(seed, 2020, 8)
    options = {"key_order": key_order, "whitespace": whitespace, "spelling": spelling}
    engine = machine(mixture.schema, **options)
    assume(engine.alive(engine.start()))
    for _ in range(3):
        text = draw(engine, mixture.chance)
        value = json.loads(text, object_pairs_hook=no_repeated_key)
        exact = is_exact(text.decode())
        assert not exact or mixture.verdict(value) is not False, (mixture.schema, text)


ENDLESS: dict[str, Any] = {
    "type": "object",
    "properties": {"next": {"$ref": "#/$defs/endless"}},
    "required": ["next"],
}


@pytest.mark.parametrize("schema", [
    {"type": "array", "items": {"enum": [1, 2]}, "uniqueItems": True, "minItems": 3},
    {"type": "object", "propertyNames": {"maxLength": 0}, "minProperties": 2},
    {"$ref": "#/$defs/endless", "$defs": {"endless": ENDLESS}},
    {"$ref": "#/$defs/endless", "$defs": {"endless": {**ENDLESS, "minProperties": 2}}},
    {"type": "array", "items": {"$ref": "#"}, "contains": {"$ref": "#"}},
    {"type": "array", "contains": {"type": "string"}, "items": {"type": "null"}},
    {"type": "array", "contains": {"const": 1}, "minContains": 2, "maxItems": 1},
    {"not": {}}, {"oneOf": [True, True]}, {"anyOf": [False]},
    {"type": "object", "required": ["a"], "dependentSchemas": {"a": False}},
    {"type": "object", "required": ["a"], "unevaluatedProperties": False},
    {"const": [1, 2], "not": {"const": [1, 2]}},
    {"type": "array", "not": {"items": True}},
])  # fmt: skip
def test_what_has_no_instance_is_found_so(schema: Any):
    engine = machine(schema)
    assert not engine.alive(engine.start())


BRANCHES = [{"properties": {f"p{n}": True}, "required": [f"p{n}"]} for n in range(12)]
LEVELS = {f"n{n}": {"$ref": f"#/$defs/n{n + 1}"} for n in range(300)}
DIFFERENT = [
    {"anyOf": [{"properties": {"a": {"minimum": n}}, "required": [f"x{n}"]},
               {"properties": {"a": {"maximum": n}}, "required": [f"y{n}"]}]} for n in range(12)
]  # fmt: skip


@pytest.mark.parametrize(("schema", "error", "message", "place"), [
    ({"anyOf": BRANCHES, "unevaluatedProperties": False}, UnsupportedError, "unevaluatedProperties",
     "/unevaluatedProperties"),
    ({"$ref": "#/$defs/n0", "$defs": {**LEVELS, "n300": True}, "unevaluatedItems": False},
     UnsupportedError, "unevaluatedItems", "/unevaluatedItems"),
    ({"allOf": DIFFERENT, "type": "object"}, GuidewayError, "alternatives", None),
])  # fmt: skip
def test_too_many_branches_or_levels_are_refused_by_name(schema, error, message, place):
    with pytest.raises(error, match=message) as caught, metered(lambda parts: None):
        matches(machine(schema), '{"a":1}')
    assert place is None or caught.value.place == place


# All keywords beside each other: two validators judge what a schema allows, and what is written.

pytestmark = pytest.mark.untraced


def written(value: Any, mixture: Mixture) -> str:
    """An instance with its keys in any order."""
    if isinstance(value, dict):
        members = [f"{json.dumps(k)}: {written(v, mixture)}" for k, v in value.items()]
        return "{" + ",".join(mixture.chance.sample(members, len(members))) + "}"
    if isinstance(value, list):
        return "[" + " , ".join(written(item, mixture) for item in value) + "]"
    return json.dumps(value, ensure_ascii=mixture.chance.random() < 0.5)


@pytest.mark.parametrize(
    "seeds",
    [
        range(25),
        *(pytest.param(range(n, n + 250), marks=pytest.mark.slow) for n in range(1000, 5000, 250)),
    ],
    ids=str,
)
def test_validators_agree_with_what_any_keywords_allow(seeds: range) -> None:
    for seed in seeds:
        mixture = Mixture(seed)
        values = [mixture.value() for _ in range(8)]
        try:
            constraint = gw.compile(gw.JsonSchema(mixture.schema, whitespace="any"), BYTES)
        except gw.UnsatisfiableError:
            assert not any(map(mixture.verdict, values)), (seed, mixture.schema)
            continue
        except gw.SourceError as error:
            assert "refers to itself" in str(error)  # noqa: PT017  others are none of these schemas
            continue
        for _ in range(2):
            text = text_of(constraint, mixture.chance, 50).decode()
            assert constraint.matches(text), (seed, mixture.schema, text)
            value = read_exactly(text) if is_exact(text) else math.nan
            if value == value:
                assert mixture.verdict(value) is not False, (seed, mixture.schema, text)
                values += [value, mixture.changed(value), mixture.changed(value)]
        for value in [*values, *map(mixture.changed, values)]:
            valid, text = mixture.verdict(value), written(value, mixture)
            assert valid is None or constraint.matches(text) is valid, (seed, mixture.schema, text)


# Schemas that lead back to themselves: two validators judge all small values, and what is written.

TEXTS = [json.dumps(value) for value in VALUES]


@pytest.mark.parametrize(
    "seeds",
    [
        range(30),
        *(pytest.param(range(n, n + 500), marks=pytest.mark.slow) for n in range(1000, 5000, 500)),
    ],
    ids=str,
)
@pytest.mark.parametrize("order", ["any", "declared"])
def test_validators_agree_with_what_entangled_schemas_allow(
    seeds: range, order: Literal["any", "declared"]
) -> None:
    for seed in seeds:
        tangle = Tangle(seed)
        valid = list(map(tangle.verdict, VALUES))
        try:
            constraint = gw.compile(gw.JsonSchema(tangle.schema, key_order=order), BYTES)
        except gw.UnsatisfiableError:
            assert order == "declared" or True not in valid, (seed, tangle.schema)
            continue
        except gw.SourceError as error:
            assert "refers to itself" in str(error)  # noqa: PT017  others are none of these schemas
            continue
        if order == "any":
            for text, wanted in zip(TEXTS, valid, strict=True):
                found = constraint.matches(text)
                assert wanted is None or found is wanted, (seed, tangle.schema, text)
        for most in (0, 3, 8, 20):
            text = text_of(constraint, tangle.chance, most).decode()
            assert constraint.matches(text), (seed, tangle.schema, text)
            fits = not is_exact(text) or tangle.verdict(read_exactly(text)) is not False
            assert fits, (seed, tangle.schema, text)
