"""Schemas, some texts that they allow, and some that they do not; both validators agree."""

import json
from typing import Any

import pytest

from json_schemas import check_texts, machine
from plain_texts import behind

DRAFT_4, DRAFT_7 = (f"http://json-schema.org/draft-0{n}/schema#" for n in (4, 7))
PLAIN, DECLARED = {"spelling": "plain"}, {"key_order": "declared"}
UNJUDGED = {"judged": False}  # of another draft, or too deep for the validators
NESTS = ["[" * 120 + str(n) + "]" * 120 for n in range(30)]
KEYS = [f"k{n * 77 % 200}" for n in range(200)]
TALL: Any = 1
for _ in range(40):
    TALL = {"a": TALL}


def chain(count: int, link: Any, end: Any) -> dict[str, Any]:
    """Definitions that refer to one another."""
    links = {f"d{n}": link({"$ref": f"#/$defs/d{n + 1}"}) for n in range(count)}
    return {"$ref": "#/$defs/d0", "$defs": {**links, f"d{count}": end}}


def either(n: int) -> dict[str, Any]:
    kinds = {"a": "integer", "b": "string"}
    return {"anyOf": [
        {"properties": {f"{x}{n}": {"type": kind}}, "required": [f"{x}{n}"]}
        for x, kind in kinds.items()
    ]}  # fmt: skip


EITHER = {f"{'ab'[n % 2]}{n}": (1, "x")[n % 2] for n in range(20)}

TEXTS: dict[str, tuple[Any, dict[str, Any], list[str], list[str]]] = {
    "integers": ({"type": "integer"}, {},
     ["1", "-20", "1.0", "1e2", "-0", "1.50e1", "0.0", "12E+3"],
     ["1.5", "1e-1", "01", "+1", "1.", ".5", "", "1e", "0x1", "NaN"]),
    "plain integers": ({"type": "integer"}, PLAIN, ["1", "-20"], ["1.0", "1e2", "-0", "0.0"]),
    "no integers of draft 4": (
        {"$schema": DRAFT_4, "type": "number", "not": {"type": "integer", "minimum": 2}}, UNJUDGED,
        ["1", "12.0", "12e0", "1.2e1"], ["12"]),
    "listed integers of draft 4": (
        {"$schema": DRAFT_4, "enum": [1.0, 2.5], "type": "integer"}, PLAIN | UNJUDGED,
        ["1"], ["1.0", "2.5"]),
    "lengths count code points": ({"type": "string", "minLength": 2, "maxLength": 2}, {},
     ['"ab"', '"💩é"', '"\\ud83d\\udca9\\u00e9"', '"\\n\\""', '"\\u0000a"'],
     ['"a"', '"abc"', '"💩"', '"\\ud83d\\udca9"']),
    "patterns search": ({"type": "string", "pattern": "é$|^\\d\\.\\n"}, {},
     ['"é"', '"xx\\u00E9"', '"7.\\n!"', '"\\u0037.\\u000a"'],
     ['"éx"', '"x7.\\n"', '"٧.\\n"', '""']),
    "compact": (True, {"whitespace": "compact"}, ['{"a":[1,{}],"b":null}'],
     ['{"a":[1, {}]}', '{"a": 1}', "[1 ]", " 1", "1\n"]),
    "declared order": (
        {"allOf": [{"properties": {"b": True}}, {"properties": {"a": True, "b": True}}],
         "properties": {"z": True}, "required": ["r"], "type": "object"},
        DECLARED, ['{"z":1,"b":1,"a":1,"r":1,"x":1,"y":1}', '{"r":1}'],
        ['{"b":1,"z":1,"r":1}', '{"x":1,"r":1}', '{"r":1,"a":1}', "{}", '{"a":1,"b":1,"r":1}']),
    "order of mention": (
        {"properties": {"b": True}, "required": ["z"], "minProperties": 2,
         "anyOf": [{"properties": {"a": True}}]},
        DECLARED, ['{"b":1,"a":1,"z":1,"x":1}'],
        ['{"a":1,"b":1,"z":1}', '{"b":1,"z":1,"a":1}', '{"x":1,"z":1}']),
    "a name that is passed over": (
        {"properties": {"a": {}, "b": {}}, "minProperties": 1, "additionalProperties": False,
         "anyOf": [{"required": ["a"]}, {"required": ["b"]}], "type": "object"},
        DECLARED, ['{"a":1,"b":1}', '{"b":1}'], ['{"b":1,"a":1}']),
    "a chain of a thousand arrays": (
        chain(1000, lambda part: {"type": "array", "items": part}, {"type": "null"}), UNJUDGED,
        ["[" * 1000 + "null" + "]" * 1000], ["[" * 999 + "null" + "]" * 999]),
    "leaves that are shared 16 million times": (
        chain(24, lambda part: {"allOf": [part] * 2}, {"type": "null"}), UNJUDGED, ["null"], ["1"]),
    "alternatives that multiply to a million": (
        {"allOf": [either(n) for n in range(20)], "type": "object"}, {}, [json.dumps(EITHER)],
        [json.dumps({name: value for name, value in EITHER.items() if name != "b19"})]),
    "deep values, part by part": (
        {"enum": [TALL, {"b": 1}, {"z": 1}], "allOf": [{"$ref": "#/$defs/s"}], "$defs": {"s": {
            "properties": {"a": {"$ref": "#/$defs/s"}},
            "not": {"required": ["z"], "type": "object"}}}}, {},
        [json.dumps(TALL), '{"b": 1}'], ['{"z": 1}', json.dumps(TALL["a"])]),
    "values that nest 120 deep": (
        f'{{"oneOf": [{{"enum": [{",".join(NESTS)}]}}, {{"type": "null"}}]}}', UNJUDGED,
        [NESTS[7]], [NESTS[7][1:-1]]),
    "numbers whose digits count": (
        {"$schema": DRAFT_4, "enum": [{"a": 1}, {"b": 2}],
         "properties": {"a": {"type": "integer"}, "b": {}}}, UNJUDGED, ['{"a":1}'], ['{"a":1.0}']),
    "listed numbers whose digits count": (
        {"$schema": DRAFT_4, "enum": [1, 2, 1.5], "not": {"type": "integer", "maximum": 1}},
        UNJUDGED, ["1.0", "2", "1.5"], ["1"]),
    "keys in another spelling": (
        {"properties": {"a": {"const": 1}}, "additionalProperties": {"const": 2}}, UNJUDGED,
        ['{"\\u0061":1,"b":2}', '{"\\ud83d\\udca9":2}', '{ \n"a"\t:\r1 , "b" : 2\n}', "{ }"],
        ['{"\\u0061":1,"a":1}', '{"\\u0061":2}', '{"b":2,"\\u0062":2}', '{"/":2,"\\/":2}',
         '{"\\ud83d\\udca9":2,"💩":2}', '{" a":1}']),
    "two hundred keys in some order": (
        {"type": "object", "required": KEYS, "additionalProperties": False,
         "properties": {key: {"const": 1} for key in sorted(KEYS)}}, {},
        [json.dumps(dict.fromkeys(KEYS, 1))], [json.dumps(dict.fromkeys(KEYS[1:], 1))]),
    "many patterns of one key": (
        {"type": "object", "allOf": [{"propertyNames": {"pattern": x}} for x in "abcdefghi"]},
        {}, ['{"ihgfedcba":1}', "{}"], ['{"abcdefgh":1}']),
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_texts_are_allowed_or_not(name: str) -> None:
    schema, options, right, wrong = TEXTS[name]
    check_texts(schema, right, wrong, **options)


def test_a_part_without_instances_is_never_offered():
    endless = {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/endless"}}
    schema = {
        "properties": {"a": {"$ref": "#/$defs/endless"}, "b": {"type": "null", "minimum": 1}},
        "additionalProperties": {"type": "string", "minLength": 2, "maxLength": 1},
        "type": "object",
        "$defs": {"endless": endless},
    }
    for order in ("any", "declared"):
        check_texts(schema, ['{"b":null}', "{}"], ['{"a":[]}', '{"c":""}'], key_order=order)
        engine = machine(schema, key_order=order)
        quoted = behind(engine, '{"')
        offered = {members for members, _ in engine.arcs(engine.blurred(quoted))}
        # Neither the a nor any undeclared key: only the b, and the escape that spells it.
        assert sum(offered) == 1 << ord("b") | 1 << ord("\\")
