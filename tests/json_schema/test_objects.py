"""Objects against plain Python: every sequence of members over a few keys, judged by its pairs."""

import json
import random
from itertools import permutations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import guideway as gw
from guideway.constraint.compiled import CompiledConstraint
from guideway.json_schema.key_classes import Members, Unnamed
from guideway.json_schema.objects import json_object
from guideway.json_schema.source import JsonSchema
from guideway.json_schema.spelling import Spelling, json_style
from guideway.language.derivative import Derivatives
from guideway.language.expr import EMPTY, EPSILON, alt, literal
from guideway.language.nodes import Expr
from plain_texts import draw, matches
from shares import one_in

ONE, TWO = literal("1"), literal("2")
KEYS = ("a", "ab", "c", "x", "")


def members(names: str = "", *, others: Expr = EMPTY, allowed: set[str] | None = None) -> Members:
    """Declared keys in order, each with the value 1, none if not allowed; `a!` is required."""
    listed = tuple(name.rstrip("!") for name in names.split())
    keys: Unnamed | None = None
    if allowed is not None:
        spelled = Spelling(plain=False).choose((key, EPSILON) for key in sorted(allowed))
        keys = Unnamed(spelled, None)
    return Members(
        listed,
        tuple(ONE if allowed is None or name in allowed else EMPTY for name in listed),
        tuple(name.endswith("!") for name in names.split()),
        ((keys, others),),
    )


def engine(
    made: Members, whitespace: str = "compact", spelling: str = "any", *, ordered: bool = False
) -> Derivatives:
    order = "declared" if ordered else "any"
    source = JsonSchema(True, whitespace=whitespace, spelling=spelling, key_order=order)
    return Derivatives(json_object(made, json_style(source)))


def is_member(
    pairs: list[tuple[str, int]], made: Members, allowed: set[str] | None, *, ordered: bool
) -> bool:
    """The same in plain Python."""
    keys = [key for key, _ in pairs]
    places = [made.names.index(key) if key in made.names else len(made.names) for key in keys]
    return (
        len(set(keys)) == len(keys)
        and all(value == (1 if key in made.names else 2) for key, value in pairs)
        and (made.classes[0][1] is not EMPTY or set(keys) <= set(made.names))
        and all(n in keys for n, needed in zip(made.names, made.required, strict=True) if needed)
        and (allowed is None or set(keys) <= allowed)
        and (not ordered or places == sorted(places))
    )


def texts(size: int) -> list[list[tuple[str, int]]]:
    """All sequences of so many members."""
    choices = [(key, value) for key in KEYS for value in (1, 2)]
    return [list(pairs) for pairs in product(choices, repeat=size)]


@pytest.mark.untraced
@pytest.mark.parametrize("share", [0.15, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("names", ["", "a ab", "a! ab c", "c a! ab", "a! c! ab!", "x! c a!"])
@pytest.mark.parametrize("others", [EMPTY, TWO])
@pytest.mark.parametrize("allowed", [None, {"a", "c", ""}])
def test_objects_hold_exactly_the_members_they_may(ordered, names, others, allowed, share):
    made = members(names, others=others, allowed=allowed)
    machine = engine(made, ordered=ordered)
    draw, three = random.Random(names), texts(3)
    three = draw.sample(three, int(share * len(three)))
    for pairs in [*texts(0), *texts(1), *texts(2), *three]:
        text = "{" + ",".join(f'"{key}":{value}' for key, value in pairs) + "}"
        assert matches(machine, text) == is_member(pairs, made, allowed, ordered=ordered), text


def test_a_key_in_another_spelling_is_the_same_key():
    machine = engine(members("a", others=TWO))
    assert matches(machine, '{"\\u0061":1,"b":2}')
    assert not matches(machine, '{"\\u0061":1,"a":1}')
    assert not matches(machine, '{"\\u0061":2}')
    assert not matches(machine, '{"b":2,"\\u0062":2}')
    assert not matches(machine, '{"/":2,"\\/":2}')
    assert matches(machine, '{"\\ud83d\\udca9":2}')
    assert not matches(machine, '{"\\ud83d\\udca9":2,"💩":2}')


def test_whitespace_stands_where_json_allows_it():
    machine = engine(members("a", others=TWO), whitespace="any")
    assert matches(machine, '{ \n"a"\t:\r1 , "b" : 2\n}')
    assert matches(machine, "{ }")
    assert not matches(machine, '{" a":1}')


def laws(machine: Derivatives, text: bytes) -> None:
    """Along a text: the shortest rest ends it, and arcs agree with steps."""
    state = machine.start()
    for position, byte in enumerate(text):
        shortest = machine.shortest(state)
        assert matches(machine, text[:position] + shortest)
        for members_, target in machine.arcs(machine.blurred(state)):
            one = (members_ & -members_).bit_length() - 1
            following = machine.step(state, one)
            if not machine.unsure(target):
                assert following is not None
                assert machine.shortest(following) == machine.shortest(target)
        stepped = machine.step(state, byte)
        assert stepped is not None
        if shortest[:1] == bytes((byte,)):
            assert machine.shortest(stepped) == shortest[1:]
        assert len(machine.shortest(stepped)) >= len(shortest) - 1
        state = stepped


SHAPES = st.tuples(
    st.lists(st.sampled_from(["a", "a!", "ab", "ab!", "b", "b!"]), max_size=4),
    st.sampled_from([EMPTY, TWO, alt(literal("22"), literal("3"))]),
    st.booleans(),
)


@pytest.mark.untraced
@one_in(2)
@given(SHAPES, st.integers(0, 2**32))
def test_along_any_object_the_shortest_rest_is_right(shape, seed):
    listed, others, ordered = shape
    names = {name.rstrip("!"): name for name in listed}
    machine = engine(members(" ".join(names.values()), others=others), ordered=ordered)
    text = draw(machine, random.Random(seed), 25)
    laws(machine, text)
    pairs = json.loads(text, object_pairs_hook=list)
    assert len(dict(pairs)) == len(pairs)


def test_a_key_without_a_value_is_never_offered_and_if_required_there_is_no_object():
    made = Members(("a", "b"), (EMPTY, ONE), (False, False))
    machine = engine(made)
    assert matches(machine, '{"b":1}')
    opened = machine.step(machine.start(), ord("{"))
    assert opened is not None
    quoted = machine.step(opened, ord('"'))
    assert quoted is not None
    assert machine.step(quoted, ord("a")) is None
    for ordered in (False, True):
        made = Members(("a", "b"), (EMPTY, ONE), (True, False), ((None, ONE),))
        empty = engine(made, ordered=ordered)
        assert not empty.alive(empty.start())


@pytest.mark.untraced
def test_every_order_of_many_keys_costs_little():
    names = [f"key {number}" for number in range(200)]
    machine = engine(members(" ".join(f"k{n}!" for n in range(200))))
    order = [f"k{n}" for n in range(len(names))]
    random.Random(1).shuffle(order)
    assert matches(machine, json.dumps(dict.fromkeys(order, 1), separators=(",", ":")))
    assert not matches(machine, json.dumps(dict.fromkeys(order[1:], 1), separators=(",", ":")))


# What a vocabulary cannot spell counts as impossible before anything is judged.

NAMES = ["a", "ab", 'é"', "\n", "💩"]
VALUES = ["1", '"b"']
MARKS = [b"\\", b"\xc3", b"\n", b"b", b",", b":", b'"', b"}", b"{", b"[", b"]", b"t", b"\xf0"]


def vocabulary(without: bytes) -> gw.Vocabulary:
    tokens = [bytes((byte,)) for byte in range(256) if byte not in without]
    return gw.Vocabulary([*tokens, b"<eos>"], eos_ids={len(tokens)})


def written(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def objects() -> list[str]:
    """Objects of up to two members, compact, each name written as json.dumps writes it."""
    found = ["{}"]
    for count in (1, 2):
        for names in permutations(NAMES, count):
            for values in product(VALUES, repeat=count):
                pairs = zip(map(written, names), values, strict=True)
                found.append("{" + ",".join(map(":".join, pairs)) + "}")
    return found


def arrays() -> list[str]:
    return [f"[{','.join(v)}]" for count in range(3) for v in product(VALUES, repeat=count)]


OBJECTS, ARRAYS = objects(), arrays()
VALUE = st.sampled_from([True, {"type": "boolean"}, {"const": 1}, {"enum": ["b", 1]}, False])
MEMBERS = st.lists(st.sampled_from(NAMES), max_size=2, unique=True)
BRANCH = st.fixed_dictionaries(
    {},
    optional={"required": MEMBERS, "minProperties": st.integers(0, 2),
              "maxProperties": st.integers(0, 2)},
)  # fmt: skip
OBJECT = st.fixed_dictionaries(
    {"type": st.just("object"), "properties": st.dictionaries(st.sampled_from(NAMES), VALUE)},
    optional={
        "required": MEMBERS,
        "additionalProperties": VALUE,
        "oneOf": st.lists(BRANCH, min_size=2, max_size=2),
        "minProperties": st.integers(0, 2),
        "propertyNames": st.sampled_from([{"maxLength": 1}, {"pattern": "^[a-c]"}]),
    },
)
ARRAY = st.fixed_dictionaries(
    {"type": st.just("array"), "items": VALUE},
    optional={
        "contains": VALUE,
        "uniqueItems": st.just(True),
        "minItems": st.integers(0, 2),
        "prefixItems": st.lists(VALUE, min_size=1, max_size=2),
        "not": st.sampled_from([{"uniqueItems": True}, {"contains": {"const": 1}}]),
    },
)


def check(schema: dict[str, object], texts: list[str], without: bytes) -> None:
    valid = Draft202012Validator(schema).is_valid
    expected = {t for t in texts if valid(json.loads(t)) and not set(t.encode()) & set(without)}
    source = gw.JsonSchema(schema, whitespace="compact", spelling="plain")
    try:
        constraint = gw.compile(source, vocabulary(without))
    except gw.UnsatisfiableError:
        assert not expected
        return
    assert {t for t in texts if constraint.matches(t)} == expected
    walk(constraint)
    example = constraint.example()
    assert valid(json.loads(example)), example
    assert not set(example.encode()) & set(without)


def walk(constraint: CompiledConstraint) -> None:
    """Follow allowed tokens, few of each state: each goes on to an end, and says so."""
    state = constraint.start()
    for step in range(40):
        left = constraint.distance(state)
        if left == 0:
            return
        row = constraint.mask(state)
        allowed = [t for t in range(constraint.vocabulary.width) if row[t >> 5] >> (t & 31) & 1]
        after = [constraint.advance(state, token) for token in allowed[:6] + allowed[-6:]]
        distances = [constraint.distance(one) for one in after]
        assert min(constraint.distance(constraint.advance(state, t)) for t in allowed) < left
        state = (
            after[distances.index(max(distances))]
            if step < 8
            else after[distances.index(min(distances))]
        )


@settings(max_examples=15, deadline=None)
@given(OBJECT, st.sets(st.sampled_from(MARKS), max_size=4).map(b"".join))
def test_objects_are_those_that_a_vocabulary_can_spell(schema, without):
    check(schema, OBJECTS, without)


@pytest.mark.untraced
@settings(max_examples=15, deadline=None)
@given(ARRAY, st.sets(st.sampled_from(MARKS), max_size=4).map(b"".join))
def test_arrays_are_those_that_a_vocabulary_can_spell(schema, without):
    check(schema, ARRAYS, without)


def test_a_member_that_needs_another_is_not_offered_where_that_cannot_be_spelled():
    schema = {"oneOf": [{"required": ["a"]}, {"required": ["ab"], "minProperties": 2}],
              "properties": {"a": True, "ab": {"type": "boolean"}, 'é"💩': True},
              "additionalProperties": False, "type": "object"}  # fmt: skip
    check(schema, OBJECTS, b"\\" + bytes(range(128, 256)))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_names_that_differ_in_bytes_that_do_not_exist_run_out(count):
    schema = {"type": "object", "propertyNames": {"pattern": "^[bé]*$", "maxLength": 2},
              "minProperties": count}  # fmt: skip
    check(schema, [], b"\xc3" + bytes(b for b in b"0123456789abcdef" if b != ord("b")))
    unbounded = {**schema, "propertyNames": {"pattern": "^aé*$"}, "minProperties": count}
    source = gw.JsonSchema(unbounded)
    without = vocabulary(b"\\\xc3")
    if count == 1:
        assert json.loads(gw.compile(source, without).example()).keys() == {"a"}
    else:
        with pytest.raises(gw.UnsatisfiableError):
            gw.compile(source, without)


def test_where_no_object_can_end_the_shortest_text_is_another():
    needed = {
        "type": "object",
        "required": ["a"],
        "anyOf": [{"required": ["b"]}, {"minProperties": 2}],
    }
    schema = {"anyOf": [needed, {"const": 123}]}
    constraint = gw.compile(gw.JsonSchema(schema, whitespace="compact"), vocabulary(b"}"))
    assert constraint.distance(constraint.start()) == len("123")


def test_without_a_comma_an_array_has_one_item():
    for schema in (
        {"type": "array", "contains": {"const": 1}},
        {"type": "array", "contains": {"const": 1}, "uniqueItems": True},
        {"type": "array", "contains": {"const": "b"}, "minItems": 2},
        {"type": "array", "not": {"uniqueItems": True}},
        {"anyOf": [{"type": "array", "contains": {"const": 1}}, {"const": 1}]},
    ):
        check(schema, ARRAYS, b",")
        check(schema, ARRAYS, b"]")
