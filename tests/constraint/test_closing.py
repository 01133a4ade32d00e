"""Where keys or items must not come again, a mask within a budget leaves enough of it."""

import json
import random
import string
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import guideway as gw
from budget_law import check_within
from guideway.automaton.token_tries import unpack
from guideway.constraint.compiled import CompiledConstraint, DecodeState
from guideway.constraint.special_tokens import Segmentation
from guideway.json_schema import shortest_members as json_members_least
from guideway.language import shortest_string as least
from guideway.language.fuel import metered
from guideway.vocabulary.vocabulary import Vocabulary
from json_tangles import Tangle
from lark_samples import python_lark
from random_walks import read

MORE = [
    '{"', '":', '","', '"}', '"]', "],", "},", "[]", "{}", "[1", "1,", "12", ",1", '":1', '1,"',
    '":1,"', '{"a', 'a":', '"a"', '"b"', "ab", "true", "null", '{"a":1', ',"b":', "0.", "00", "e1",
    "E-1", '"a":1}', '":0}', '":0,"', "1]", "1}", "[[", "]]", "  ", "\n\n", ', "', '": ',
    "if", "then", "end", "1+", "(1", "))", "((", "+a", " a", "\n ", "\n", "a:", ")\n", "=1",
]  # fmt: skip
BYTES = [bytes([byte]) for byte in range(256)]
TOKENS = [*BYTES, *(text.encode() for text in MORE), b"<eos>"]
END = len(TOKENS) - 1
VOCABULARY = gw.Vocabulary(TOKENS, {END})
SCHEMAS: list[Any] = [
    {"type": "object", "required": ["c", "b"]},
    {"type": "object", "required": ["a", "b"], "minProperties": 2},
    {"type": "object", "properties": {"a": {"type": ["null", "boolean"]}}, "required": ["a", "c"]},
    {"type": "array", "uniqueItems": True, "minItems": 4, "maxItems": 4,
     "items": {"type": "integer", "minimum": 0, "maximum": 255}},
    {"type": "array", "uniqueItems": True, "items": {"type": "string"}, "minItems": 2},
    {"type": "array", "minItems": 2, "uniqueItems": True,
     "items": {"type": "object", "required": ["c", "b"]}},
    {"type": "array", "minItems": 2, "uniqueItems": True,
     "prefixItems": [{"type": "object", "minProperties": 3, "maxProperties": 4,
                      "patternProperties": {"^a": {"type": "array", "items": {"type": "boolean"}}},
                      "additionalProperties": {"type": "array", "minItems": 2}}]},
    {"type": "object", "minProperties": 3, "propertyNames": {"maxLength": 1}},
]  # fmt: skip


@pytest.mark.parametrize("count", [3, pytest.param(40, marks=pytest.mark.slow)])
@pytest.mark.parametrize("schema", SCHEMAS)
def test_after_each_token_within_a_budget_the_rest_suffices(schema: Any, count: int) -> None:
    constraint, dice = gw.compile(gw.JsonSchema(schema), VOCABULARY), random.Random(5)
    for _ in range(count):
        _close(constraint, dice)


@pytest.mark.untraced
@pytest.mark.parametrize(
    "seeds",
    [
        range(12),
        pytest.param(range(12, 40), marks=pytest.mark.slow),
        *(pytest.param(range(n, n + 500), marks=pytest.mark.slow) for n in range(1000, 4000, 500)),
    ],
    ids=str,
)
def test_after_each_token_of_entangled_schemas_the_rest_suffices(seeds: range) -> None:
    for seed in seeds:
        tangle = Tangle(seed)
        try:
            constraint = gw.compile(gw.JsonSchema(tangle.schema), VOCABULARY)
        except (gw.UnsatisfiableError, gw.SourceError):  # test_json_tangles looks into these
            continue
        for _ in range(6):
            _close(constraint, tangle.chance)


@pytest.mark.parametrize("schema", [
    {"properties": {"reason": {"enum": [0, 1000]}, "b": {"type": "array"}}, "required": ["b"]},
    {"oneOf": [{"required": ["reason"]}, {"required": ["b"]}], "type": "object"},
    {"patternProperties": {"^a": {"type": "null"}}, "required": ["b"], "not": {"const": 1}},
])  # fmt: skip
def test_where_nothing_has_to_differ_all_tokens_after_which_enough_are_left_are_in_it(
    schema: Any,
) -> None:
    pairs = ["".join(pair) for pair in product(string.ascii_lowercase, repeat=2)]
    words = [*pairs, *(f"{pair}x" for pair in pairs), "reas", "reason", 'reason"', '"b']
    vocabulary = gw.Vocabulary([*BYTES, *(w.encode() for w in words), b"<eos>"], {256 + len(words)})
    constraint = gw.compile(gw.JsonSchema({"type": "object", **schema}), vocabulary)
    for text in (b"", b"{", b'{"', b'{"c":3,"', b'{"rea', b'{"b":[],"'):
        check_within(constraint, read(constraint, text), range(14))


@pytest.mark.parametrize("bounds", [{}, {"maxItems": 2, "items": {"type": "integer"}}])
def test_what_takes_fewer_tokens_behind_one_item_than_behind_another_is_in_it(bounds):
    few = [b"{", b"}", b"[", b"]", b'"', b":", b",", b"a", b"0", b"1", b"0,", b",1", b"1]", b"[["]
    schema = {"type": "array", "minItems": 2, "uniqueItems": True, **bounds}
    source = gw.JsonSchema(schema, whitespace="compact")
    constraint = gw.compile(source, gw.Vocabulary([*few, None], {len(few)}))
    state = constraint.advance(constraint.start(), few.index(b"["))
    check_within(constraint, state, range(7))  # behind 0, ",1" and "]" suffice; behind 1 no two do


def _close(constraint: CompiledConstraint, dice: random.Random) -> None:
    """Some tokens at will, then to the end within a budget that is hardly enough."""
    state = constraint.start()
    for _ in range(dice.randrange(7)):
        allowed = [each for each in unpack(constraint.mask(state)).tolist() if each != END]
        state = constraint.advance(state, _chosen(allowed, dice)) if allowed else state
    left = constraint.distance(state)
    while left and constraint.fits(state, left - 1):
        left -= 1
    left += dice.randrange(4)
    while not (constraint.accepts(state) and dice.random() < 0.3):
        assert constraint.fits(state, left)
        within = unpack(constraint.mask_within(state, left)).tolist()
        assert within
        within = [token for token in within if token != END]
        if not within:
            break
        state, left = constraint.advance(state, _chosen(within, dice)), left - 1


def _chosen(tokens: list[int], dice: random.Random) -> int:
    """A token of several bytes now and then, as those cross the ends of keys and items."""
    several = [token for token in tokens if len(TOKENS[token]) > 1]
    return dice.choice(several if several and dice.random() < 0.5 else tokens or [END])


# After any two tokens, also where searches for the shortest texts give up at once.

PATTERNS = ["a*b", "(ab|c)+", "(a|bc){2,3}c?", "a(b|cab)*c", "(aa|b)*(ca)?", "c|ab{2}a*"]
PIECES = ["{", "}", '"', "a", "b", "c", ":", "1", ",", '{"a":', '"b":1', '1,"', '":1}',
          "ab", "bc", "cab", "aa"]  # fmt: skip
FEW = gw.Vocabulary([*map(str.encode, PIECES), b"<eos>"], {len(PIECES)})
ONE: dict[str, Any] = {"type": "integer"}
OBJECTS: list[dict[str, Any]] = [
    {"required": ["a", "b"]},
    {"minProperties": 1, "additionalProperties": ONE},
    {"oneOf": [{"required": ["a"]}, {"required": ["b"]}], "additionalProperties": ONE},
    {"anyOf": [{"properties": {"a": False}, "minProperties": 1}, {"required": ["a", "b"]}]},
    {"oneOf": [{"properties": {"a": {"const": 1}, "b": {"type": "string"}}},
               {"properties": {"a": {"const": 11}, "b": ONE}}, {"properties": {"b": ONE}}]},
    {"not": {"additionalProperties": {"type": "string"}}, "properties": {"b": {"type": "null"}}},
]  # fmt: skip


@pytest.fixture(params=[False, True], ids=["exactly", "briefly"])
def briefly(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param:
        monkeypatch.setattr(least, "_WORK", 1)
        monkeypatch.setattr(json_members_least, "_IN_ORDER", 1)


@pytest.mark.usefixtures("briefly")
@pytest.mark.parametrize("source", [
    *map(gw.Regex, PATTERNS),
    *(gw.JsonSchema({"type": "object", **schema}, whitespace="compact", spelling="plain")
      for schema in OBJECTS),
])  # fmt: skip
def test_a_mask_within_a_budget_leaves_enough(source: Any) -> None:
    constraint = gw.compile(source, FEW)
    states = [constraint.start()]
    for count in range(3):
        for state in states:
            check_within(constraint, state, range(7))
        states = [
            constraint.advance(state, token)
            for state in states
            for token in unpack(constraint.mask(state)).tolist()
            if token < len(PIECES) and count < 2
        ]


# Where something is looked ahead for, a token for each state tells which leave room for an end.

SOURCES = {
    "sums": gw.Lark(
        'start: sum\nsum: sum "+" item | item\nitem: NAME | "(" sum ")"\n'
        "NAME: /(?!if)[a-z]{1,3}(?![a-z])/\n"
    ),
    "conditions": gw.Lark(
        'start: "if" NAME "then" start "end" | NAME\n'
        'NAME: /(?!if\\b|then\\b|end\\b)[a-z]+/\n%ignore " "'
    ),
    "brackets": gw.Lark('start: "(" start ")" | "[" start start "]" | NAME\nNAME: /[ab](?!c)/'),
    "words": gw.Regex(r"(?:(?!abc)\w)*(?=end)end;(?:(?!xx)[a-z])*"),
    "json": gw.Lark('start: "(" value ")" STOP\nvalue: %json {"type": "array"}\nSTOP: /;(?!;)/'),
    "python": gw.Lark.open(python_lark(), start="file_input"),
}


def _walk(constraint: CompiledConstraint, dice: random.Random, steps: int) -> list[DecodeState]:
    """States along a text by chance, whose tokens are of several bytes as often as of one."""
    states, allowed = list[DecodeState](), [0]
    while len(states) < steps and allowed:
        last = constraint.advance(states[-1], dice.choice(allowed)) if states else None
        states.append(last or constraint.start())
        allowed = [t for t in unpack(constraint.mask(states[-1])).tolist() if t < END]
        longer = [token for token in allowed if token >= len(BYTES)]
        allowed = longer if longer and dice.random() < 0.5 else allowed
    return states


@pytest.mark.parametrize("name", SOURCES)
def test_a_mask_within_a_budget_has_the_tokens_that_leave_enough(name: str) -> None:
    constraint, dice = gw.compile(SOURCES[name], VOCABULARY), random.Random(name)
    among, narrower = range(256, END) if name == "python" else None, 0
    for _ in range(6):
        for state in _walk(constraint, dice, 12):
            needed = constraint.distance(state)
            narrower += check_within(constraint, state, range(needed, needed + 4), among=among)
    assert narrower > 10


# The fewest tokens, against trying everything.

words = st.lists(st.sampled_from(b"ab"), min_size=1, max_size=3).map(bytes)


def test_the_distance_to_a_text_of_branches_that_endings_tell_apart_is_found() -> None:
    def ending(*names: str) -> list[dict[str, str]]:
        return [{"pattern": rf"^.*\.{name}$"} for name in names]

    open_ = {"anyOf": [
        {"properties": {"kind": {"oneOf": ending("yaml", "yml", "ini", "settings")}}},
        {"properties": {"base": {"type": "string"}}},
    ]}  # fmt: skip
    closed = {
        "properties": {"kind": {"anyOf": ending("yaml", "yml")}},
        "additionalProperties": False,
    }
    schema = {"oneOf": [{"properties": {"all": {"items": part}}} for part in (open_, closed)]}
    constraint = gw.compile(gw.JsonSchema(schema), gw.Vocabulary([*BYTES, b"<eos>"], {256}))
    parts = list[int]()
    with metered(parts.append):
        text = constraint.example()
    assert Draft202012Validator(schema).is_valid(json.loads(text))
    # `{}` satisfies both branches.
    assert constraint.distance(constraint.start()) == len(text) == len('{"all":[{"":0}]}')
    assert sum(parts) < 50_000  # else it takes minutes


@given(
    st.lists(words, min_size=1, max_size=5),
    st.lists(st.lists(st.sampled_from(b"ab"), max_size=7).map(bytes), max_size=4),
)
def test_it_is_the_least_number_of_rounds_whatever_was_asked_before(tokens, texts):
    told = Segmentation(Vocabulary(tokens))
    for text in texts:
        reached, rounds = {b""}, 0
        while text not in reached and rounds <= len(text):
            reached = {r + t for r in reached for t in tokens if text.startswith(r + t)}
            rounds += 1
        assert told.fewest(text) == (rounds if text in reached else None)
