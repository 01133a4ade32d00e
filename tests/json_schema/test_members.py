"""That something has a text is told exactly when a shortest one is found; members run out."""

import itertools
import json
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import guideway as gw
from guideway.automaton.token_tries import has
from guideway.errors import LimitError
from guideway.json_schema import formulas, shortest_members
from guideway.json_schema import members as json_members
from guideway.json_schema.discriminators import Unlike
from guideway.json_schema.formulas import FALSE, TRUE, Among, Formula, Found, exact, leaf, opposite
from guideway.json_schema.lowering import Lowering, lower_json_schema
from guideway.json_schema.members import Dependent
from guideway.json_schema.objects import Rest
from guideway.json_schema.source import JsonSchema
from guideway.json_schema.spelling import json_style
from guideway.language import shortest_string
from guideway.language.derivative import Derivatives, read_byte
from guideway.language.expr import ALL_BYTES, EPSILON
from guideway.language.fuel import metered
from guideway.language.shortest_string import Least
from json_mixtures import Mixture
from json_schemas import machine, verdict, write
from plain_texts import behind
from random_walks import BYTES, read


def least(expr) -> Least:
    return Least(ALL_BYTES, Derivatives(expr)._disjoint, lambda made: None)


@pytest.mark.untraced
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=40)
@given(st.integers(0, 2**32))
def test_whatever_lives_has_a_shortest_text_and_nothing_else_has(seed):
    mixture = Mixture(seed, 2020, 8)
    expr = lower_json_schema(JsonSchema(mixture.schema))
    engine, shortest = Derivatives(expr), least(expr)
    assert engine.alive(expr) == (shortest.word(expr) is not None)
    if not engine.alive(expr):
        return
    state = expr
    for byte in write(mixture.value(), mixture.chance).encode():
        following = read_byte(state, byte, engine._derive)
        assert engine.alive(following) == (shortest.word(following) is not None)
        if not engine.alive(following):
            break
        state = following


def lives(schema) -> bool:
    engine = machine(schema)
    return engine.alive(engine.start())


def names(count: int) -> dict[str, object]:
    return {"propertyNames": {"pattern": f"^[a-{chr(96 + count)}]$"}, "type": "object"}


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        ({"minProperties": 4}, False),
        ({"minProperties": 3, "required": ["b"]}, True),
        ({"minProperties": 3, "properties": {"b": False}}, False),
        ({"minProperties": 1, "maxProperties": 1, "required": ["a", "b"]}, False),
        ({"minProperties": 2, "additionalProperties": {"$ref": "#"}}, False),
        ({"minProperties": 1, "additionalProperties": {"anyOf": [{"$ref": "#"}, True]}}, True),
        ({"not": {"additionalProperties": {"type": "string"}}, "minProperties": 3}, True),
        ({"not": {"properties": {"a": {"const": 1}}}, "properties": {"a": {"const": 1}}}, False),
        ({"not": {"const": {"a": 1}}, "properties": {"a": {"const": 1}}, "required": ["a"],
          "maxProperties": 1}, False),
    ],
)  # fmt: skip
def test_members_that_run_out_are_counted(extra, expected):
    assert lives({**names(3), **extra}) is expected


def test_a_search_that_takes_too_many_tries_is_refused(monkeypatch):
    schema = {"type": "object", "patternProperties": {"^.$": {"type": "integer"}},
              "additionalProperties": False, "not": {"const": {}},
              "allOf": [{"not": {"additionalProperties": {"maximum": 3}}}]}  # fmt: skip
    assert lives(schema)
    monkeypatch.setattr(shortest_members, "MOST_LOOKED_AT", 0)
    with metered(lambda parts: None), pytest.raises(LimitError, match="more than 0 tries"):
        lives(schema)


# What completed one object is tried on the next: it never says more than a search would.

NAMES = "abcd"


def formula(chance: random.Random, depth: int = 3) -> Formula:
    """A formula about members of a few names, and of others."""
    if depth and chance.random() < 0.75:
        parts = [formula(chance, depth - 1) for _ in range(chance.randint(2, 4))]
        return chance.choice((formulas.all_of, formulas.any_of))(*parts)
    one = leaf(Among(frozenset({exact(1)})))  # said and denied: others are seldom both
    values = (TRUE, FALSE, one_of(chance, 1), one_of(chance, 2), opposite(one_of(chance, 1)))
    value = chance.choice((*values, one, opposite(one)))
    keys = formulas.Beside(frozenset(chance.sample(NAMES, 2)), ())
    name = chance.choice(NAMES)
    atoms = [formulas.Named(name, value)] * 4 + [formulas.Required(name)] * 4
    atoms += [formulas.AtLeast(chance.randint(1, 3)), formulas.AtMost(chance.randint(1, 3))]
    some = [dict.fromkeys(chance.sample(NAMES, chance.randint(0, 3)), 1) for _ in range(2)]
    atoms += [Unlike(frozenset(map(exact, some)))]
    atoms += [
        formulas.Matching(keys, value),
        Found(keys, value),
        Found(keys, TRUE),
        Found(keys, TRUE),
    ]
    return leaf(chance.choice(atoms))


def one_of(chance: random.Random, count: int) -> Formula:
    return leaf(Among(frozenset(exact(number) for number in chance.sample(range(3), count))))


def answers(said: Formula, order: str, seed: int) -> list[bool]:
    """Whether what is asked lives, member by member along random ways."""
    source = JsonSchema(True, whitespace="compact", key_order=order)
    lowering, chance = Lowering(source), random.Random(seed)
    judge = lowering.meaning.outlines
    members = Dependent(said, lowering.value, json_style(source), lowering.keysets, judge)
    look = Derivatives(EPSILON).living
    found: list[bool] = []
    for _ in range(4):
        rest = Rest(-1, frozenset(), said)
        while True:
            found.append(bool(members.lives(rest, look)))
            asked = {key: members.lives_after_key(rest, key, look) for key in members.coming(rest)}
            found += map(bool, asked.values())
            ways = [
                left
                for key, lives in asked.items()
                if lives
                for _, left in members.after(rest, key)
            ]
            if not ways:
                break
            rest = chance.choice(ways)
    return found


@pytest.mark.parametrize("order", ["any", "declared"])
def test_with_what_was_found_before_the_answers_are_those_of_a_search(monkeypatch, order):
    seen = set[bool]()
    for seed in range(30):
        said = formula(random.Random(seed))
        with monkeypatch.context() as patch:
            patch.setattr(shortest_members, "_MOST_ANSWERS", 3 if seed % 4 < 2 else 1000)
            patch.setattr(shortest_members, "_MOST_BITS", 90 if seed % 8 < 4 else 1 << 20)
            patch.setattr(shortest_members, "_KEPT", 1 + seed % 2)
            quick = answers(said, order, seed)
        with monkeypatch.context() as patch:
            for name, none in (("suffice", False), ("with_members", set[int]())):
                patch.setattr(shortest_members.Completions, name, lambda *asked, none=none: none)
            assert quick == answers(said, order, seed), seed
        seen.update(quick)
    assert seen == {True, False}


def counted(monkeypatch: pytest.MonkeyPatch, name: str) -> list[object]:
    """A list that grows with each call of a function of `members`."""
    calls: list[object] = []
    original = getattr(json_members, name)

    def calling(*asked: object) -> object:
        calls.append(asked)
        return original(*asked)

    monkeypatch.setattr(json_members, name, calling)
    return calls


NAMED = {f"p{n}": {"type": "string"} for n in range(60)}
IFS = [
    {"if": {"properties": {f"p{n}": {"const": "x"}}, "required": [f"p{n}"]},
     "then": {"required": [f"p{(n + 1) % 60}"]}}
    for n in range(60)
]  # fmt: skip


@pytest.mark.parametrize(("rules", "most"), [
    ({"allOf": IFS}, 12), ({"oneOf": [{"required": [name]} for name in NAMED]}, 70),
])  # fmt: skip
def test_most_names_need_no_search(rules, most, monkeypatch):
    """A search for each of the 60 made a mask take .3 and .5 s."""
    searched = counted(monkeypatch, "first_members")
    constraint = gw.compile(gw.JsonSchema({"type": "object", "properties": NAMED} | rules), BYTES)
    state = constraint.start()
    for byte in b'{"p1":"':
        constraint.mask(state)
        state = constraint.advance(state, byte)
    constraint.mask(state)
    assert len(searched) < most


def with_all_it_needs(names: set[str], needs: dict[str, list[str]]) -> set[str]:
    more = {other for name in names for other in needs[name]} - names
    return with_all_it_needs(names | more, needs) if more else names


@pytest.mark.parametrize("seed", range(12))
def test_each_of_many_names_that_need_others_comes_where_all_that_it_needs_may(seed: int) -> None:
    dice = random.Random(seed)
    names = [f"{letter}{other}" for letter in "abcdef" for other in "uvwxyz"]
    needs = {name: dice.sample(names, dice.choice([0, 1, 1, 2])) for name in names}
    never = {*dice.sample(names, dice.choice([0, 0, 1, 3]))}
    most = dice.choice([3, 6, 36])
    schema = {"type": "object", "dependentRequired": needs, "maxProperties": most}
    schema["properties"] = dict.fromkeys(never, False)
    constraint = gw.compile(gw.JsonSchema(schema), BYTES)
    came: list[str] = []
    while True:
        begun = "{" + "".join(f'"{name}":0,' for name in came)
        left = [name for name in names if name not in came]
        may = {name for name in left if read(constraint, f'{begun}"{name}"'.encode()) is not None}
        closed = {name: with_all_it_needs({*came, name}, needs) for name in left}
        fits = {name for name, all_ in closed.items() if not all_ & never and len(all_) <= most}
        assert may == fits
        if not may:
            break
        came.append(dice.choice(sorted(may)))


# What is remembered of the rest of an object is what would be found again.

ENTANGLED = (
    {"type": "object", "not": {"patternProperties": {"^q": {"type": "string"}}}},
    {"type": "object", "minProperties": 2,
     "patternProperties": {"^q": {"const": 1}, "^r": {"const": ""}}, "additionalProperties": False},
    {"oneOf": [{"required": ["n"], "patternProperties": {"^q": {"const": 1}}},
               {"patternProperties": {"^q": {"const": 2}}, "minProperties": 3},
               {"patternProperties": {"^r": {"type": "null"}}, "required": ["m"]}],
     "type": "object"},
)  # fmt: skip


def members(chance: random.Random, count: int) -> str:
    """The beginning of an object of some members of every class."""
    keys = chance.sample(["q", "q1", "q2", "r", "r1", "n", "m", "x", "y", "z"], count)
    values = ("1", "2", '""', "null")
    return "{" + "".join(f'"{key}":{chance.choice(values)},' for key in keys)


@pytest.mark.parametrize("count", [40, pytest.param(120, marks=pytest.mark.slow)])
@pytest.mark.parametrize("schema", ENTANGLED)
def test_what_is_remembered_changes_no_length(schema, count):
    source = JsonSchema(schema, whitespace="compact", spelling="plain")
    chance, compared = random.Random(3), 0
    warm = Derivatives(lower_json_schema(source))
    for _ in range(count):
        text = members(chance, chance.randint(0, 4)) + chance.choice(['"', '"q', '"x'])
        length = length_behind(warm, text)
        anew = Derivatives(lower_json_schema(source))  # which remembers nothing
        assert length == length_behind(anew, text)
        compared += length is not None
    assert compared >= count / 8


def length_behind(machine: Derivatives, text: str) -> int | None:
    """How much has to follow a text at least; None if nothing can."""
    state = behind(machine, text)
    return None if state is None else machine.shortest_length(state)


@pytest.mark.parametrize(
    ("schema", "begun", "most"),
    [
        (ENTANGLED[0], '{"x', 20),  # another class is asked for
        (ENTANGLED[2], '{"r', 60),  # keys of this class are asked for, but most of them in vain
    ],
)
def test_near_the_end_of_a_budget_a_rest_is_searched_for_a_few_times(
    schema, begun, most, monkeypatch
):
    searches = counted(monkeypatch, "least_members")
    letters = [f"{one}{two}".encode() for one in "abcdefghij" for two in "abcdefghij"]
    tokens = [bytes([byte]) for byte in range(256)] + letters
    vocabulary = gw.Vocabulary([*tokens, b"<end>"], {len(tokens)})
    constraint = gw.compile(gw.JsonSchema(schema, whitespace="compact"), vocabulary)
    state = constraint.start()
    for byte in begun.encode():
        state = constraint.advance(state, byte)
    row = constraint.mask_within(state, constraint.distance(state) + 4)
    assert all(has(row, token) for token in range(256, 356))
    assert len(searches) < most


# What an object still needs: the shortest members, found in few tries.


def test_keys_that_leave_as_much_to_be_said_are_not_taken_for_ever(monkeypatch):
    # `distance` of the state behind `{` did not end: there were always more keys of a class.
    closed = {"unevaluatedProperties": False}
    letter = {"patternProperties": {"^.$": {"type": "string"}}}
    schema = {
        "if": {"dependentRequired": {"aa": ["a"]}, "patternProperties": {"b$": {"minimum": 1}}},
        "else": {"dependentSchemas": {"a": {**closed, "if": letter}}},
        **closed,
        "type": "object",
    }
    spent: list[int] = []

    def spend(parts: int) -> None:
        spent.append(parts)
        assert len(spent) < 1000

    monkeypatch.setattr(shortest_members, "spend", spend)
    engine = machine(schema, whitespace="compact")
    state = engine.start()
    for begun, byte in enumerate(b'{"a', 1):
        state = engine.step(state, byte)
        rest = engine.shortest(state)
        assert len(rest) <= (1, 6, 5)[begun - 1]
        assert verdict(schema, json.loads(b'{"a'[:begun] + rest))


MEMBERS_NAMES = ("a", "bb", "ccc", "d", "e")
SEVERAL: list[Any] = [
    {"minProperties": 2}, {"minProperties": 3}, {"maxProperties": 2}, {"properties": {"a": False}},
    {"properties": {"a": {"minimum": 5}}}, {"not": {"properties": {"a": {"const": 5}}}},
    {"patternProperties": {"^[a-]$": {"maximum": 4}}}, {"not": {"required": ["e"]}},
    {"not": {"const": {"a": 5}}},
]  # fmt: skip


def said(dice: random.Random, depth: int) -> dict[str, Any]:
    """What may be said of which of the names there are, of their values, and of how many."""
    if depth == 0 or dice.random() < 0.3:
        return dice.choice([{"required": dice.sample(MEMBERS_NAMES, 2)}] * 6 + SEVERAL)
    keyword = dice.choice(["anyOf", "oneOf", "allOf"])
    return {keyword: [said(dice, depth - 1) for _ in range(dice.randint(2, 3))]}


def closed(seed: int) -> tuple[dict[str, Any], list[str]]:
    """A schema of objects of integers, and a shortest text of each set of names it allows."""
    properties = {name: {"type": "integer"} for name in MEMBERS_NAMES}
    some = {"allOf": [said(random.Random(seed), 3)]}
    schema = {"type": "object", "properties": properties, "additionalProperties": False} | some
    found: list[str] = []
    for count in range(6):
        for names in itertools.combinations(MEMBERS_NAMES, count):
            ways = (
                itertools.product((0, 5, 6), *[[0]] * (count - 1))
                if "a" in names
                else [[0] * count]
            )
            values = (dict(zip(names, way, strict=True)) for way in ways)
            allowed = [value for value in values if verdict(schema, value)]
            found += [json.dumps(value, separators=(",", ":")) for value in allowed[:1]]
    return schema, found


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("hurried", [False, True])
def test_what_is_found_is_as_short_as_the_shortest_of_all_sets_of_names(seed, hurried, monkeypatch):
    if hurried:  # what is found suffices
        monkeypatch.setattr(shortest_string, "_WORK", 1)
    schema, texts = closed(seed)
    engine = machine(schema, whitespace="compact")
    assert engine.alive(engine.start()) == bool(texts)
    for begun in ("", '{"', *(f"{{{json.dumps(name)}" for name in MEMBERS_NAMES)):
        state = behind(engine, begun) if texts else None
        lengths = [len(text) for text in texts if begun[1:] in text]
        assert (state is not None) == bool(lengths)
        if state is not None:
            rest = engine.shortest(state).decode()
            assert verdict(schema, json.loads(begun + rest))
            least = min(lengths) - len(begun)
            assert len(rest) >= least if hurried else len(rest) == least


@pytest.mark.parametrize("begun", ["", '{"', '{"p3":0,"'])
def test_what_one_of_many_objects_needs_is_found_in_few_tries(begun):
    # All but one have to be denied; more than 1,000 tries are a LimitError for who pays.
    one = {"id": {"type": "string"}}
    objects = [{"properties": {f"p{n}": {"type": "string"}} | one} for n in range(30)]
    schema = {"type": "object", "oneOf": objects}
    engine = machine(schema, whitespace="compact")
    state = behind(engine, begun)
    assert state is not None
    with metered(lambda parts: None):
        rest = engine.shortest(state)
    value = json.loads(begun.encode() + rest)
    assert verdict(schema, value)
    assert len(value) == 29
