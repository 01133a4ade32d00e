"""Schemas that kernels read: masks are those of the plain engine, and nothing is guessed."""

import json
import random
from typing import Any, cast

import pytest

import guideway as gw
from guideway.automata.derivative import Derivatives
from guideway.errors import GuidewayError
from guideway.lowering.expr import alt, concat, literal
from guideway.lowering.json_schema import lower_part, told_apart
from guideway.lowering.nodes import Expr, Rule
from guideway.masks import schemas
from guideway.masks.gallery import shared_gallery
from guideway.masks.kernels import layout as at
from guideway.masks.lexicon import shared_lexicon
from guideway.masks.networks import new_network
from guideway.masks.schemas import lower_plain, plain_of
from guideway.syntax.json_schema_tame import read_tame
from two_engines import compared, vocabulary

BYTES = gw.Vocabulary([*(bytes((byte,)) for byte in range(256)), b"<end>"], eos_ids={256})
NAMES = [
    "",
    "a",
    "ab",
    "b",
    "é",
    '"\\',
    "\n\t\b\f\r/",
    "😀",
    "\u007f",
    "id",
    "$id",
    "a/b",
    "~",
    "ü€",
]
DRAFTS = (
    "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
)
TREE = {
    "$ref": "#/definitions/tree",
    "definitions": {
        "tree": {
            "type": "object",
            "properties": {"left": {"$ref": "#/definitions/tree"}, "leaf": {"$ref": "#/$defs/x"}},
            "additionalProperties": False,
        }
    },
    "$defs": {"x": {"$ref": "#/definitions/word"}, "word": {"const": "w"}},
}
TREE["definitions"]["word"] = TREE["$defs"]["word"]
INSIDE: list[Any] = [
    {"type": "object", "properties": {"a": {"items": {"$ref": "#/x"}}, "b": {"const": "x"}},
     "required": ["b"], "default": {"type": 3}},
    {"type": "object", "properties": {"a": {"minimum": 3}, "b": {"minProperties": 1}},
     "additionalProperties": False, "examples": [{"$ref": 7}, {"enum": []}, {"$id": "a"}]},
    {"type": ["array", "null"], "items": {"anyOf": [{"$ref": "#"}, {"type": "string"}]}},
    {"type": "array", "items": {"type": "string", "maxLength": 2}, "minItems": 1, "maxItems": 2},
    {"oneOf": [{"type": "object", "required": ["b"]}, {"const": "a"}, {"type": "integer"}]},
    {"enum": ["a", "b", None]},
    {"$ref": "#/x/definitions/a/b", "definitions": {"a": {"b": {"items": {"type": "null"}}}}},
]  # fmt: skip
PLAIN: list[Any] = [
    True,
    {},
    {"title": "no more than a name", "type": "string"},
    {"type": ["string", "null"]},
    {"type": ["integer", "number", "boolean"]},
    {"$schema": DRAFTS[0], "type": "integer"},
    {"$schema": DRAFTS[0], "type": ["integer", "null"]},
    {"$schema": DRAFTS[0], "items": {"type": "number", "exclusiveMinimum": True, "minimum": 3}},
    {"type": "integer", "format": "int32"},
    {"type": "number", "minimum": -1.5},
    {"type": "string", "maxLength": 3},
    *({"type": "string", "maxLength": most} for most in (0, 1, 40, 999_999_999)),
    *({"type": "string", "minLength": low} for low in (0, 1, 2, 5, 10**10)),
    {"type": "string", "minLength": 2, "maxLength": 2},
    {"items": {"minLength": 3, "type": "string", "maxLength": 9}, "type": "array"},
    {"items": {"oneOf": [{"type": "string", "maxLength": 2}, {"type": "null"}]}},
    {"type": "string", "format": "date"},
    {"type": "string", "pattern": "^a+$"},
    {"oneOf": [{"type": "string"}, {"type": "null"}]},
    {"enum": ["b", "a", "ab", "b", "é\\", "😀"]},
    {"type": "string", "enum": ["one"]},
    {"const": ""},
    {"enum": ["a", 1, None]},
    {"type": ["string", "null"], "enum": ["a", "ab"]},
    {"enum": ["a", None, "b", False, None]},
    {"enum": [False, None]},
    {"enum": [True, False, "t"]},
    {"type": ["null", "string"], "enum": [True, 1, [], "n", None]},
    {"type": "boolean", "const": True},
    {"items": {"const": None}, "properties": {"a": {"const": False}}},
    {"items": {"oneOf": [{"enum": [None, "a"]}, {"const": True}]}},
    {"items": {"oneOf": [{"enum": [None, "a"]}, {"type": "null"}]}},
    {"type": "object", "properties": {name: {"type": "boolean"} for name in NAMES}},
    {"type": "object", "required": NAMES, "additionalProperties": {"enum": ["v"]}},
    {"type": "object", "properties": {"b": True, "a": {}}, "required": ["c", "a", "c", "B"]},
    {"type": "object", "properties": {"b": False, "a": False}, "additionalProperties": False},
    {"properties": {"a": {"type": "array", "items": {"type": "null"}}}},
    {"type": ["object", "null"], "additionalProperties": {"type": ["array", "object"]}},
    {"items": {"type": "integer"}, "minItems": 1, "properties": {"k": {"items": True}}},
    *({"type": "array", "minItems": low} for low in (0, 1, 3)),
    *({"type": "array", "items": {"type": "null"}, "maxItems": most} for most in (0, 1, 3, 64)),
    {"type": "array", "items": {"type": "boolean"}, "minItems": 2, "maxItems": 2},
    {"type": "array", "items": {"type": "array", "items": {"const": "x"}}, "maxItems": 2},
    TREE,
    {"type": "object", "properties": {"again": {"$ref": "#"}, "n": {"type": "integer"}}},
    {"properties": {"a": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}},
    {"items": {"oneOf": [{"$ref": "#"}, {"type": "null"}, {"const": "a"}]}},
    {"items": {"oneOf": [{"const": "b"}, {"type": "array", "items": {"$ref": "#"}}]}},
    {"items": {"oneOf": [{"type": "object"}, {"allOf": [{"type": "object"}, {"required": [""]}]}]}},
    {"items": {"oneOf": [{"type": "array", "minItems": 70}, {"items": {"type": "null"}}]}},
    {"items": {"allOf": [{"type": "string", "maxLength": 2}]}},
    {"items": {"anyOf": [{"const": str(n)} for n in range(9)]}},
    {"items": {"oneOf": [{"const": "a"}, {"const": "b"}, {"type": "number", "maximum": 1}]}},
    {"items": {"patternProperties": {"^a": {"$ref": "#"}}}, "type": "array", "title": ["a", {}]},
    {"items": {"type": "object", "minProperties": 1, "additionalProperties": {"$ref": "#/x"}},
     "type": "array", "x": {"enum": ["a", "b"]}},
    {"items": {"$ref": "#/x"}, "x": {"items": {"not": {"const": 1}, "type": "integer"}}},
    {"$schema": DRAFTS[2], "items": {"$ref": "#/x", "type": "null"}, "x": {"type": "boolean"}},
    {"$ref": "#/x", "type": "string", "x": {}},
    {"$ref": "#/a~1b", "a/b": {}},
    {"properties": {"a": {"$id": "http://a.example/", "type": "null"}}},
    {"items": {"anyOf": [False, {"type": "null"}]}},
    *({"patternProperties": {"^a": {"$ref": "#/x"}}, "x": x, "title": {"$ref": "#/title"}}
      for x in INSIDE),
    {"$ref": "#/x", "type": "string", "x": {"maxLength": 2}},
    {"properties": {"a": {"$schema": DRAFTS[0], "type": "integer"}, "b": {"not": {}, "title": ""}}},
    {"items": {"anyOf": [{"type": "null"}, {"items": {"$ref": "#/items"}, "minItems": 1}]}},
    {"additionalProperties": {"$ref": "#/x"}, "x": {"not": True}, "type": ["object", "null"]},
    {"properties": {name: {"$ref": f"#/$defs/{name}"} for name in "cacebdeab"},
     "items": {"$ref": "#/$defs/bb"}, "$defs": {"a": {"type": "null"}, "bb": {"const": "bb"},
     "b": {"const": "b"}, "c": {"const": "c"}, "d": {"$ref": "#/$defs/a"}, "e": {"const": "e"}}},
]  # fmt: skip
OTHERS: list[Any] = [
    False,
    {"$ref": "#/x", "x": False},
    {"not": {}},
    {"type": "text"},
    {"type": []},
    {"type": ["string", 3]},
    {"enum": []},
    {"type": "integer", "enum": ["a", None]},
    {"type": "null", "const": "null"},
    {"enum": 3},
    {"enum": "ab"},
    {"properties": []},
    {"properties": {"a": 3}},
    {"type": "object", "required": "a"},
    {"type": "object", "required": [1]},
    {"type": "object", "required": ["a"], "properties": {"a": False}},
    {"type": "object", "required": ["a"], "additionalProperties": False},
    {"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}},
    {"type": "array", "minItems": 1, "items": {"$ref": "#"}},
    {"type": "array", "minItems": 2, "maxItems": 1},
    {"type": "string", "minLength": 2, "maxLength": 1},
    {"type": "string", "minLength": -1},
    {"$ref": "#"},
    {"$ref": "#/x", "x": {"$ref": "#/y"}, "y": {"$ref": "#/x"}},
    {"$ref": "#/missing"},
    {"$ref": "#/type", "type": "string"},
    {"$ref": "#x"},
    {"$ref": 3},
    {"$ref": "other"},
    {"$ref": "#/a/b", "a": {"$id": "http://a.example/", "b": {}}},
    {"$ref": "#/a/b", "a": [{}]},
    {"anyOf": []},
    {"oneOf": {}},
    {"oneOf": [{"$ref": "#"}, {"type": "null"}]},
    {"anyOf": [{"allOf": [{"$ref": "#"}]}]},
    {"oneOf": [{"type": "integer"}, {"type": "number"}]},
    {"properties": {"a": {"not": {"$ref": "#/x"}}}, "x": {}},
    {"$schema": "http://other.example/schema"},
    {"$schema": DRAFTS[0], "type": "number", "exclusiveMinimum": 3},
]  # fmt: skip


def plain_rule(source: gw.JsonSchema) -> Expr | None:
    """The rule of a schema that kernels lay; None if others lower it, or refuse it."""
    try:
        found = lower_plain(source)
    except GuidewayError:
        return None
    return found if found is not None and plain_of(found) is not None else None


@pytest.mark.parametrize("schema", PLAIN)
def test_masks_are_those_of_the_plain_engine(schema: Any) -> None:
    rule = plain_rule(gw.JsonSchema(schema))
    assert rule is not None
    assert compared(rule, vocabulary(300), texts=5, tokens=25, seed=json.dumps(schema)) > 5


def test_so_they_are_of_many_names_in_many_objects() -> None:
    chosen = random.Random(3)
    words = ["".join(chosen.choices("abé\n", k=chosen.randint(0, 9))) for _ in range(200)]
    parts = {str(n): {"type": "object", "required": chosen.sample(words, 90)} for n in range(9)}
    rule = plain_rule(
        gw.JsonSchema({"type": "object", "properties": parts | {"w": {"enum": words}}})
    )
    assert rule is not None
    assert compared(rule, vocabulary(300), texts=6, tokens=40) > 100


@pytest.mark.parametrize("schema", OTHERS)
def test_what_may_be_refused_or_needs_a_search_is_left_to_others(schema: Any) -> None:
    assert plain_rule(gw.JsonSchema(schema)) is None


@pytest.mark.parametrize("first", "ab")
def test_a_resource_that_may_begin_where_a_reference_leads_is_seen_for_each_object(
    first: str,
) -> None:
    parts = {"a": {"x": {"type": "string"}, "y": {}}, "b": {"x": {"type": "null"}, "y": {}}}
    names = [f"#/{name}/{key}" for name in sorted("ab", reverse=first == "b") for key in "xy"]
    asked = {"properties": {name: {"$ref": name} for name in names}}
    again = {"items": {"$ref": names[0]}}
    assert plain_rule(gw.JsonSchema({**asked, **again, **parts})) is not None
    for name in "ab":
        opened = {**parts, name: {**parts[name], "$id": "http://a.example/"}}
        assert plain_rule(gw.JsonSchema({**asked, **again, **opened})) is None
        title = {**parts, name: {**parts[name], "$Id": "http://a.example/"}}
        assert plain_rule(gw.JsonSchema({**asked, **again, **title})) is not None


@pytest.mark.parametrize(
    "options",
    [{"key_order": "declared"}, {"whitespace": "compact"}, {"spelling": "plain"},
     {"resources": {"http://a.example/": {}}}],
)  # fmt: skip
def test_so_are_other_ways_of_writing(options: Any) -> None:
    assert plain_rule(gw.JsonSchema({"type": "object"}, **options)) is None


def test_so_are_texts_that_are_long_or_nest_deeply() -> None:
    assert plain_rule(gw.JsonSchema({"type": "object", "title": "a" * (1 << 20)})) is None
    assert plain_rule(gw.JsonSchema('{"items":' * 300 + "{}" + "}" * 300)) is None
    assert plain_rule(gw.JsonSchema('{"items":' * 200 + "{}" + "}" * 200)) is not None
    assert plain_rule(gw.JsonSchema({"type": "object", "title": "a" * (1 << 16)})) is not None


def test_unknown_formats_are_known_to_be_refused() -> None:
    schema = {"type": "integer", "format": "int32"}
    assert plain_rule(gw.JsonSchema(schema)) is not None
    assert plain_rule(gw.JsonSchema(schema, formats="strict")) is None


def test_a_text_is_read_as_its_value_is() -> None:
    spaced = plain_rule(gw.JsonSchema(' { "type" :\n "object", "type": "null" } '))
    assert spaced is not None
    assert compared(spaced, vocabulary(300), texts=3, tokens=8) > 3
    assert plain_rule(gw.JsonSchema('{"type":"number","minimum":0.10000000000000000001}')) is None


def test_where_a_vocabulary_cannot_spell_each_byte_others_lower_a_schema() -> None:
    words = gw.Vocabulary([b'{"a":1}', b"{}", b"<end>"], eos_ids={2})
    constraint = gw.compile(gw.JsonSchema({"type": "object"}), words)
    assert constraint.mask(constraint.start()).tolist() == [3]


def test_a_second_schema_in_one_network_is_lowered_by_others() -> None:
    both = gw.JsonSchema({"type": "array"}), gw.JsonSchema({"type": "null"})
    first, second = (plain_rule(source) for source in both)
    assert first is not None
    assert second is not None
    assert plain_of(first) is not plain_of(second)
    assert compared(alt(first, second), vocabulary(300), texts=4, tokens=10) > 4


def test_a_text_may_begin_before_its_schema_does() -> None:
    rule = plain_rule(gw.JsonSchema({"type": "array", "items": {"enum": ["a", "b"]}}))
    assert rule is not None
    begun = concat(literal(" "), rule)
    assert compared(begun, vocabulary(300), texts=4, tokens=10) > 4
    gallery = shared_gallery(vocabulary(300), shared_lexicon(vocabulary(300).spellable))
    network = new_network(begun, Derivatives(begun), gallery)
    network.fill(network.enter(begun))
    assert network.arena.context[at.SCHEMA_PART] != 0


# What others read denotes the rule of the group around it, or of another group, too.
GROUPS: list[Any] = [
    {"prefixItems": [True, {"allOf": [{"minLength": 1}]}], "items": {"$ref": "#/x"}},
    {"prefixItems": [{"anyOf": [{"pattern": "a"}, {"pattern": "a"}]}, {"$ref": "#/x"}]},
    {"prefixItems": [{"oneOf": [{"anyOf": [{"minLength": 1}]}]}, {"$ref": "#/x"}]},
    {"prefixItems": [{"minLength": 1}, {"$ref": "#/x"}], "items": {"anyOf": [{"minLength": 1}]}},
]


@pytest.mark.parametrize("schema", GROUPS)
def test_a_group_of_one_does_not_lead_back_to_itself(schema: Any) -> None:
    rule = plain_rule(gw.JsonSchema({**schema, "type": "array", "x": {}}))
    assert rule is not None
    assert compared(rule, vocabulary(300), texts=20, tokens=25, seed=json.dumps(schema)) > 5


@pytest.mark.parametrize("schema", [INSIDE[0], INSIDE[1], INSIDE[3]])
def test_what_is_met_within_leaves_is_laid_too(schema: Any) -> None:
    source = gw.JsonSchema({"patternProperties": {"^a": {"$ref": "#/x"}}, "x": schema})
    rule = plain_rule(source)
    assert rule is not None
    read = plain_of(rule)
    assert read is not None
    assert read.lowering is not None
    inside = read.lowering.value(cast("Any", source.value)["x"])
    assert isinstance(inside, Rule)
    gallery = shared_gallery(vocabulary(300), shared_lexicon(vocabulary(300).spellable))
    network = new_network(rule, Derivatives(rule), gallery)
    state = network.enter(rule)
    for byte in b'{"a":' + (b"[" if "items" in schema else b"{"):
        state = network.read(state, byte) >> 2
        network.fill(state)
    assert not inside.bodies


@pytest.mark.parametrize(
    ("leaf", "begun"),
    [({"pattern": "^early$", "type": "string"}, True), ({"allOf": [{"$ref": "#"}] * 2}, False)],
)
@pytest.mark.parametrize("around", ["", "array", "anyOf"])
def test_a_leaf_is_lowered_when_its_key_has_been_read(
    leaf: Any, begun: bool, around: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So not in the step with the mask behind it, which looks at it."""
    made: list[str] = []
    lower = schemas.lower_part

    def noted(source: gw.JsonSchema, text: str, draft: Any) -> Expr:
        made.append(text)
        return lower(source, text, draft)

    monkeypatch.setattr(schemas, "lower_part", noted)
    value = {"": leaf, "array": {"items": leaf}, "anyOf": {"anyOf": [leaf, {"type": "null"}]}}
    rule = plain_rule(gw.JsonSchema({"properties": {"key": value[around]}, "type": "object"}))
    assert rule is not None
    gallery = shared_gallery(vocabulary(300), shared_lexicon(vocabulary(300).spellable))
    network = new_network(rule, Derivatives(rule), gallery)
    state = network.enter(rule)
    for byte in b'{"ke':
        state = network.read(state, byte) >> 2
    assert not made
    network.read(state, ord("y"))
    assert (made != []) is begun


def test_no_part_is_lowered_alone_that_makes_no_sense() -> None:
    with pytest.raises(GuidewayError, match="no part that can be lowered alone"):
        lower_part(gw.JsonSchema({}), '{"items":3}', 2020)


def _schema(dice: random.Random, depth: int, grouped: bool = False) -> Any:
    """A schema by chance, a keyword of which is wrong now and then; `grouped`: more of them."""
    if depth == 0 or dice.random() < 0.1:
        return dice.choice(
            [True, False, {}, {"type": "string"}, {"type": "integer"}, {"enum": ["a"]}]
        )
    some: dict[str, Any] = {
        "type": ["string", "integer", "array", "object", ["object", "null"], ["array"], "boolean"],
        "enum": [["a"], ["b", "a"], ["a", 1], ["a", None], [True, False], [None, [], True]],
        "const": ["é", 1, None, False],
        "properties": [{n: _schema(dice, depth - 1, grouped) for n in dice.sample(NAMES, 2)}],
        "required": [dice.sample(NAMES, 2), []],
        "additionalProperties": [_schema(dice, depth - 1, grouped)],
        "patternProperties": [{"^a": _schema(dice, depth - 1, grouped)}],
        "items": [_schema(dice, depth - 1, grouped)],
        "minItems": [0, 1, 2],
        "maxItems": [1, 2, 70],
        "minLength": [0, 1, 4],
        "maxLength": [0, 3, 9],
        "maximum": [3, 1.5],
        "exclusiveMaximum": [3, True],
        "format": ["date", "int32"],
        "pattern": ["^a", "(?!a)"],
        "$ref": ["#", "#/definitions/a", "#/definitions/b", "#/definitions/%61", "#a"],
        "not": [_schema(dice, depth - 1, grouped), []],
        "anyOf": [
            [_schema(dice, depth - 1, grouped) for _ in range(count)]
            for count in ((1, 2) if grouped else (2,))
        ],
        "allOf": [[_schema(dice, depth - 1, grouped)]],
        "prefixItems": [
            [_schema(dice, depth - 1, grouped) for _ in range(count)] for count in (1, 2)
        ],
        "$id": ["http://a.example/", "#a"],
        "description": ["x"],
    }
    some = some if grouped else {n: some[n] for n in some if n not in ("allOf", "prefixItems")}
    names = dice.sample(sorted(some), dice.choice((1, 1, 2, 3)))
    wrong = [None, 1, -1, 1.5, "a", [], {}, ["a"], [1]]
    return {n: dice.choice(wrong if dice.random() < 0.02 else some[n]) for n in names}


def _random_schemas(count: int, grouped: bool = False) -> list[dict[str, Any]]:
    dice = random.Random(7)
    made: list[dict[str, Any]] = []
    while len(made) < count:
        schema = _schema(dice, 3, grouped)
        if isinstance(schema, dict):
            parts = {name: _schema(dice, 2, grouped) for name in "ab"}
            made.append({"$schema": dice.choice(DRAFTS), **schema, "definitions": parts})
    return made


def test_what_is_read_surely_has_instances_and_nothing_to_refuse() -> None:
    plain = 0
    for schema in _random_schemas(4000):
        source = gw.JsonSchema(schema)
        if plain_rule(source) is not None:
            plain += 1
            tame = read_tame(source.value, strict=False, lowers=lambda pattern: True)
            assert tame is not None
            assert not tame.wild
            assert tame.sure.issuperset(tame.parts)
    assert plain > 800


@pytest.mark.parametrize("grouped", [False, True])
def test_masks_of_random_schemas_are_those_of_the_plain_engine(grouped: bool) -> None:
    rules = [plain_rule(gw.JsonSchema(schema)) for schema in _random_schemas(400, grouped)]
    for number, rule in enumerate(rules):
        if rule is not None:
            assert compared(rule, vocabulary(300), texts=2, tokens=12, seed=number)


def _document(dice: random.Random) -> dict[str, Any]:
    """A schema of many parts that kernels know, and of a few others that refer to any of them."""
    names = [f"d{number}" for number in range(9)]

    def ref() -> dict[str, Any]:
        return {"$ref": f"#/definitions/{dice.choice(names)}"}

    def other() -> Any:
        made: list[Any] = [
            {"allOf": [ref(), {"properties": {"z": ref()}, "required": dice.choice([[], ["z"]])}]},
            {"type": "object", "minProperties": 1, "additionalProperties": ref()},
            {"type": "object", "patternProperties": {"^a": ref()}},
            {"anyOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": {"a": ref()}},
            {"not": {"required": ["b"]}, "properties": {"a": ref(), "b": False}},
            {"items": ref(), "uniqueItems": True, "type": "array"},
            {"oneOf": [ref(), ref()]},
            {"anyOf": [ref(), {"allOf": [ref(), ref()]}]},
            {"if": ref(), "then": ref()},
            {"not": ref()},
            {"$schema": DRAFTS[4], "$id": "http://a.example/", "items": ref()},
        ]
        return dice.choice(made[:-1] if dice.random() < 0.95 else made)

    def known() -> Any:
        made: list[Any] = [
            {"type": "object", "properties": {"a": ref()}, "required": ["a"]},
            {"properties": {"a": {"type": "string"}, "b": ref()}},
            {"items": ref(), "minItems": dice.choice((0, 0, 1)), "type": "array"},
            {"anyOf": [{"type": "null"}, ref()]},
            {"enum": ["a", "b", None]},
            {"type": ["string", "null"]},
            ref(),
            {},
        ]
        rare: list[Any] = [False, {"not": {}}]
        return dice.choice(made if dice.random() < 0.97 else rare)

    parts = {name: other() if dice.random() < 0.3 else known() for name in names}
    filling = {f"p{n}": {"type": "object", "required": ["x"]} for n in range(30)}
    draft = {"$schema": dice.choice(DRAFTS)} if dice.random() < 0.7 else {}
    wide = {"properties": {**filling, "d": ref(), "e": other()}, "definitions": parts}
    return {**draft, "type": "object", **wide}


def _allows(source: gw.JsonSchema, part: Any) -> bool:
    """Whether a part is none of those that are but another way to write `false`."""
    while part.__class__ is dict and part.keys() == {"$ref"}:
        root: Any = source.value
        part = root["definitions"][part["$ref"].rsplit("/", 1)[1]]
    return part not in (False, {"not": {}})


def test_what_is_told_of_few_parts_is_so_where_all_are_looked_at() -> None:
    dice, told = random.Random(5), 0
    for number in range(1500):
        source = gw.JsonSchema(_document(dice))
        read = schemas._read(source)
        if read is None or read[2] is None or not any(map(schemas._refers, read[1])):
            continue
        few, every = told_apart(source, read[2]), told_apart(source)
        if few is not None and few.surely:
            told += 1
            assert every is not None
            assert not every._schema.wild
            found = {key for key, part in every._schema.parts.items() if _allows(source, part)}
            assert every._schema.sure >= found
            if number % 12 == 0:
                rule = plain_rule(source)
                assert rule is not None
                assert compared(rule, vocabulary(300), texts=2, tokens=12, seed=number)
    assert told > 200


def _of_types(dice: random.Random) -> dict[str, Any]:
    """A part of several types, of which some may have no value."""

    def inner() -> Any:
        escaped = {"$ref": "#/%78"}
        return dice.choice([False, {"not": {}}, {"type": "null"}, escaped, {"$ref": "#/x"}, True])

    kinds = dice.sample(["object", "array", "null", "string"], dice.choice((2, 3)))
    made: dict[str, Any] = {"type": kinds} if dice.random() < 0.8 else {}
    if "object" in kinds:
        made |= {"properties": {"a": inner()}, "additionalProperties": inner()}
        made["required"] = dice.choice([["a"], ["b"], ["a", "b"], []])
    if "array" in kinds:
        made |= {"items": inner(), "minItems": dice.choice((0, 1))}
    return made


def test_types_without_a_value_are_left_out() -> None:
    """Where others had to judge all of a schema, what a type needed was taken for possible."""
    dice, laid = random.Random(11), 0
    for number in range(400):
        part, other = _of_types(dice), {"$ref": "#/%78"}
        items = dice.choice([part, {dice.choice(["oneOf", "anyOf"]): [part, _of_types(dice)]}])
        of_x = dice.choice([{"type": "null"}, {"not": {}}, _of_types(dice)])
        rule = plain_rule(gw.JsonSchema({"items": items, "x": of_x, "properties": {"a": other}}))
        if rule is not None:
            laid += 1
            assert compared(rule, vocabulary(300), texts=3, tokens=8, seed=number)
    assert laid > 200


def test_what_a_reference_names_may_be_of_any_type() -> None:
    """Kernels do not read such a name, so they do not know that its strings are the other's."""
    either = {"oneOf": [{"$ref": "#/x%31"}, {"type": "string"}]}
    source = gw.JsonSchema({"items": either, "x1": {"maxLength": 3}})
    assert plain_rule(source) is not None
    assert ends(source, b'["ab') == [False, True, True]
    assert ends(source, b'["abc') == [False, True, True]
    assert ends(source, b'["abcd') == [True, True, True]


def test_a_part_waits_until_it_is_entered() -> None:
    """So a network has few nodes, however many parts a schema has."""
    parts = {str(n): {"type": "object", "properties": {"a": {"enum": ["x"]}}} for n in range(500)}
    words = vocabulary(300)
    constraint = gw.compile(gw.JsonSchema({"type": "array", "items": {"properties": parts}}), words)
    plain = gw.compile(gw.JsonSchema({"type": "null"}), words)
    first, second = (
        (made.mask(made.start()), cast("Any", made)._states._network.arena.context[at.NODES])[1]
        for made in (plain, constraint)
    )
    assert second < first + 600


def ends(source: gw.JsonSchema, text: bytes) -> list[bool]:
    """Whether a string may end behind a text, go on, or go on with an escape."""
    compiled = gw.compile(source, BYTES)
    state = compiled.start()
    for byte in text:
        assert compiled.mask(state)[byte // 32] >> (byte % 32) & 1
        state = compiled.advance(state, byte)
    row = compiled.mask(state)
    return [bool(row[byte // 32] >> (byte % 32) & 1) for byte in b'"a\\']


def test_a_part_without_type_is_entered_once() -> None:
    """It was a rule whose body was the rule itself, and the first mask within never came."""
    schema = {"items": {"minLength": 1, "maxLength": 2, "pattern": "^[0-9a-f]*$"}}
    compiled = gw.compile(gw.JsonSchema(schema), BYTES)
    state = compiled.start()
    for byte in b'["0a",3]':
        assert compiled.mask(state)[byte // 32] >> (byte % 32) & 1
        state = compiled.advance(state, byte)
    assert compiled.accepts(state)
