"""Many strings are lowered by groups that begin alike, which changes nothing."""

import itertools
import json
import random
from decimal import Decimal
from typing import Any

import pytest

from guideway.json_schema import scalars as json_scalars
from guideway.json_schema.formulas import Amount, all_of, leaf
from guideway.json_schema.spelling import Spelling
from guideway.json_schema.tree import Bound, Numbers
from guideway.language.expr import EPSILON
from guideway.language.regular import contains
from json_schemas import machine, matches, verdict


@pytest.mark.parametrize(("few", "deepest"), [(1, 8), (2, 3), (5, 1)])
def test_many_strings_are_the_same_choice_whether_lowered_by_groups_or_at_once(
    monkeypatch, few, deepest
):
    monkeypatch.setattr(json_scalars, "_FEW_STRINGS", few)
    monkeypatch.setattr(json_scalars, "_DEEPEST", deepest)
    json_scalars._one_of.cache_clear()
    for seed in range(30):
        chance, spelling = random.Random(seed), Spelling(bool(seed % 2))
        drawn = ("".join(chance.choices('ab"é', k=chance.randint(0, 6))) for _ in range(40))
        words = tuple(sorted(set(drawn)))
        expected = spelling.choose((word, EPSILON) for word in words)
        assert json_scalars._one_of(words, spelling) is expected
    json_scalars._one_of.cache_clear()


LISTED = [1, 6, 2.5, -35, 9007199254740991, 9007199254740993]
DENIED: list[dict[str, Any]] = [
    {"allOf": [{"multipleOf": 2}], "anyOf": [{"multipleOf": 3}], "minimum": 0},
    {"enum": [9007199254740992, 2.5]},
    {"type": "integer", "exclusiveMaximum": 6},
    {"anyOf": [{"not": {"minimum": 2}}, {"multipleOf": 4}]},
]


@pytest.mark.parametrize("denied", DENIED)
@pytest.mark.parametrize("plain", [False, True])
def test_listed_numbers_are_those_of_which_all_else_holds(denied: dict[str, Any], plain: bool):
    schema = {"allOf": [{"enum": [*LISTED, "a"]}, {"not": denied}]}
    engine = machine(schema, spelling="plain" if plain else "any")
    for value in (*LISTED, 3, 9007199254740992, "a"):
        assert matches(engine, json.dumps(value)) == verdict(schema, value), value
        if isinstance(value, int) and not plain:
            assert matches(engine, f"{value}.0") == verdict(schema, value), value


def test_where_spelling_counts_or_a_number_is_far_listed_numbers_meet_what_is_denied():
    digits = {"$schema": "http://json-schema.org/draft-04/schema#", "enum": [1, 2, 1.5]}
    engine = machine({**digits, "not": {"type": "integer", "maximum": 1}})
    assert [matches(engine, text) for text in ("1", "1.0", "2", "1.5")] == [False, True, True, True]
    far = Amount(Numbers(values=frozenset((Decimal("1e-5000"), Decimal(3)))))
    said = all_of(leaf(far), Amount(Numbers(upper=(Bound(Decimal(5)),), integer=True)).opposite())
    found = json_scalars.number(said, plain=False)
    assert [contains(found, text) for text in (b"1e-5000", b"3")] == [True, False]


SEVERAL_DENIED: list[dict[str, Any]] = [
    {"type": "string", "allOf": [{"not": {"pattern": "a"}}, {"not": {"pattern": "b.*b"}}]},
    {"type": "string", "not": {"anyOf": [{"pattern": "a"}, {"minLength": 3}, {"const": "c"}]}},
    {"minLength": 2, "type": "string", "not": {"anyOf": [{"pattern": "ab"}, {"pattern": "^b"}]}},
    {
        "anyOf": [{"pattern": "^a"}, {"pattern": "c$"}],
        "not": {"anyOf": [{"pattern": "ab"}, {"format": "date"}]},
        "type": "string",
    },
    {
        "type": "string",
        "oneOf": [{"pattern": one} for one in ("a", "b", "^ab", *"cccdddeeefffggg")],
    },
]


@pytest.mark.parametrize("schema", SEVERAL_DENIED)
def test_of_several_denials_of_strings_none_holds(schema: dict[str, Any]):
    engine = machine(schema)
    for length in range(4):
        for letters in itertools.product("abc", repeat=length):
            text = "".join(letters)
            assert matches(engine, json.dumps(text)) == verdict(schema, text), text


DRAWN = ["".join(letters) for letters in itertools.product('ab"é', repeat=4)]


def nested(deep: int, within: dict[str, Any]) -> dict[str, Any]:
    for word in DRAWN[:deep]:
        within = {"anyOf": [{"const": word}, {"allOf": [within, {"minLength": 1}]}]}
    return within


BESIDE: list[tuple[dict[str, Any], bool]] = [
    ({}, True),
    ({"not": {"enum": DRAWN[::3]}}, True),
    ({"minLength": 2, "maxLength": 4, "not": {"const": DRAWN[7]}}, True),
    ({"not": {"enum": DRAWN[::2]}, "allOf": [{"not": {"const": DRAWN[1]}}]}, True),
    ({"oneOf": [{"const": word} for word in DRAWN[:70]]}, True),
    ({"anyOf": [{"const": DRAWN[0]}, {"enum": DRAWN[2:]}]}, True),
    ({"anyOf": [{"pattern": "^a"}, {"enum": DRAWN[2:]}]}, False),
    (nested(4, {"enum": DRAWN[2:]}), False),
    (nested(2, {"enum": DRAWN[2:]}), True),
    ({"maxLength": 3}, False),  # none of the words
    ({"not": {"enum": DRAWN[4:]}}, False),  # few of them
    ({"pattern": "^a"}, False),
    ({"not": {"pattern": "^a"}}, False),
]


@pytest.mark.parametrize(("beside", "listed"), BESIDE)
def test_many_listed_strings_are_words_beside_lengths_and_others(monkeypatch, beside, listed):
    schema = {"allOf": [{"enum": [*DRAWN, 1]}, beside], "type": ["string", "integer"]}
    made: list[bool] = []
    words_rule = json_scalars.words_rule

    def counted(values, style):
        made.append(True)
        return words_rule(values, style)

    monkeypatch.setattr(json_scalars, "words_rule", counted)
    engine = machine(schema)
    for word in [*DRAWN, "a", "abab\\"]:
        assert matches(engine, json.dumps(word)) == verdict(schema, word), word
        assert matches(engine, json.dumps(word, ensure_ascii=False)) == verdict(schema, word), word
    assert matches(engine, "1") == verdict(schema, 1)
    assert any(made) == listed
