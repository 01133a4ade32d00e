"""Objects against plain Python: every sequence of members over a few keys, judged by its pairs."""

import json
import random
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guideway.json_schema.objects import BEHIND, Members, ObjectTemplate, json_object
from guideway.json_schema.source import JsonSchema
from guideway.json_schema.spelling import Spelling, json_style
from guideway.language.derivative import Derivatives
from guideway.language.expr import EMPTY, EPSILON, alt, literal
from guideway.language.nodes import Expr
from json_schemas import draw, matches
from shares import one_in

ONE, TWO = literal("1"), literal("2")
KEYS = ("a", "ab", "c", "x", "")


def members(
    names: str = "",
    *,
    others: Expr = EMPTY,
    allowed: set[str] | None = None,
    ordered: bool = False,
) -> Members:
    """Declared keys in order, each with the value 1, none if not allowed; `a!` is required."""
    listed = tuple(name.rstrip("!") for name in names.split())
    keys = None if allowed is None else sorted({*listed, *allowed})
    return Members(
        listed,
        tuple(ONE if allowed is None or name in allowed else EMPTY for name in listed),
        tuple(name.endswith("!") for name in names.split()),
        others,
        None if keys is None else Spelling(plain=False).choose((key, EPSILON) for key in keys),
        ordered,
    )


def engine(made: Members, whitespace: str = "compact", spelling: str = "any") -> Derivatives:
    source = JsonSchema(True, whitespace=whitespace, spelling=spelling)
    return Derivatives(json_object(made, json_style(source)))


def is_member(pairs: list[tuple[str, int]], made: Members, allowed: set[str] | None) -> bool:
    """The same in plain Python."""
    keys = [key for key, _ in pairs]
    places = [made.names.index(key) if key in made.names else len(made.names) for key in keys]
    return (
        len(set(keys)) == len(keys)
        and all(value == (1 if key in made.names else 2) for key, value in pairs)
        and (made.others is not EMPTY or set(keys) <= set(made.names))
        and all(n in keys for n, needed in zip(made.names, made.required, strict=True) if needed)
        and (allowed is None or set(keys) <= allowed)
        and (not made.ordered or places == sorted(places))
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
    made = members(names, others=others, allowed=allowed, ordered=ordered)
    machine = engine(made)
    draw, three = random.Random(names), texts(3)
    three = draw.sample(three, int(share * len(three)))
    for pairs in [*texts(0), *texts(1), *texts(2), *three]:
        text = "{" + ",".join(f'"{key}":{value}' for key, value in pairs) + "}"
        assert matches(machine, text) == is_member(pairs, made, allowed), text


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
    machine = engine(members(" ".join(names.values()), others=others, ordered=ordered))
    text = draw(machine, random.Random(seed), 25)
    laws(machine, text)
    pairs = json.loads(text, object_pairs_hook=list)
    assert len(dict(pairs)) == len(pairs)


def test_the_shortest_object_is_the_least_of_the_shortest():
    machine = engine(members("c! b a! ab!"))
    assert machine.shortest(machine.start()) == b'{"a":1,"ab":1,"c":1}'
    machine = engine(members("c! b a! ab!", ordered=True))
    assert machine.shortest(machine.start()) == b'{"c":1,"a":1,"ab":1}'


def test_within_a_key_the_cheapest_key_that_goes_on_so_is_taken():
    long = literal("1234")
    made = Members(("aa", "ab", "b"), (long, ONE, ONE), (True, False, True), EMPTY, None, False)
    machine = engine(made)
    state = machine.start()
    for byte in b'{"a':
        state = machine.step(state, byte)
        assert state is not None
    assert machine.shortest(state) == b'a":1234,"b":1}'  # aa has to come anyway
    optional = Members(("aa", "ab"), (long, ONE), (False, False), EMPTY, None, False)
    machine = engine(optional)
    state = machine.start()
    for byte in b'{"a':
        state = machine.step(state, byte)
        assert state is not None
    assert machine.shortest(state) == b'b":1}'


def test_a_key_without_a_value_is_never_offered_and_if_required_there_is_no_object():
    made = Members(("a", "b"), (EMPTY, ONE), (False, False), EMPTY, None, False)
    machine = engine(made)
    assert matches(machine, '{"b":1}')
    opened = machine.step(machine.start(), ord("{"))
    assert opened is not None
    quoted = machine.step(opened, ord('"'))
    assert quoted is not None
    assert machine.step(quoted, ord("a")) is None
    for ordered in (False, True):
        empty = engine(Members(("a", "b"), (EMPTY, ONE), (True, False), ONE, None, ordered))
        assert not empty.alive(empty.start())


def test_a_second_undeclared_key_behind_an_unknown_one_is_unsure_only_at_its_end():
    template = ObjectTemplate(members("a", others=TWO), json_style(JsonSchema(True)))
    behind = template.resume((0, frozenset(), BEHIND), None)
    machine = Derivatives(behind)
    state = machine.start()
    for byte in b':2,"a":1,"bc':
        state = machine.step(state, byte)
        assert state is not None
        assert not machine.unsure(state)
    unsure = machine.step(state, ord('"'))
    assert unsure is not None
    assert machine.unsure(unsure)


def test_where_names_are_limited_it_is_unsure_at_its_beginning():
    made = members("", others=TWO, allowed={"x", "y"})
    template = ObjectTemplate(made, json_style(JsonSchema(True, whitespace="compact")))
    machine = Derivatives(template.resume((0, frozenset(), BEHIND), None))
    state = machine.start()
    for byte in b':2,"':
        state = machine.step(state, byte)
        assert state is not None
    assert machine.unsure(state)


@pytest.mark.untraced
def test_every_order_of_many_keys_costs_little():
    names = [f"key {number}" for number in range(200)]
    machine = engine(members(" ".join(f"k{n}!" for n in range(200))))
    order = [f"k{n}" for n in range(len(names))]
    random.Random(1).shuffle(order)
    assert matches(machine, json.dumps(dict.fromkeys(order, 1), separators=(",", ":")))
    assert not matches(machine, json.dumps(dict.fromkeys(order[1:], 1), separators=(",", ":")))
