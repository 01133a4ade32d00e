"""Tables against the constraint itself, on every state that tokens reach."""

from collections import deque
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import guideway as gw
from guideway.automaton.token_tries import unpack
from guideway.constraint.compiled import CompiledConstraint
from guideway.constraint.tables import Tables, build_tables, packed
from guideway.errors import LimitError
from guideway.language.budget import Budget
from guideway.language.derivative import Derivatives
from guideway.language.nodes import Expr
from real_tokenizers import real_vocabulary
from toys import expressions, nested

SMALL = gw.Vocabulary(
    [b"a", b"b", b",", b"ab", b"ba", b"a,b", None, b"<eos>", b"a", b"<end>"], {7, 9}, width=40
)
ENDLESS = gw.Vocabulary([b"a", b"b", b",", b"ab"])
OPEN = gw.Vocabulary([b"b", b"ab", b",a", b"<eos>"], {3})  # no "a" and no "," alone
BYTES = gw.Vocabulary([*(bytes((byte,)) for byte in range(256)), b'":', b"<eos>"], {257})


def compare(constraint: CompiledConstraint, tables: Tables) -> int:
    """Go through all pairs of a decode state and its number; how many there are."""
    tokens = [
        int(np.flatnonzero(tables.token_class == c)[0]) for c in np.unique(tables.token_class)
    ]
    seen = {(constraint.start(), tables.start)}
    queue = deque(seen)
    reached = set[int]()
    while queue:
        state, number = queue.popleft()
        reached.add(number)
        row = constraint.mask(state)
        assert tables.mask[number].tolist() == row.tolist()
        assert bool(tables.accepting[number]) == constraint.accepts(state)
        allowed = tables.next_state[number][tables.token_class] >= 0
        assert np.flatnonzero(allowed).tolist() == unpack(row).tolist()
        for token in tokens:
            following = int(tables.next_state[number, tables.token_class[token]])
            if (
                following >= 0
                and (pair := (constraint.advance(state, token), following)) not in seen
            ):
                seen.add(pair)
                queue.append(pair)
    assert reached == set(range(len(tables.accepting)))
    return len(seen)


def check_shape(tables: Tables, width: int) -> None:
    states, classes = tables.next_state.shape
    arrays = (tables.token_class, tables.next_state, tables.mask, tables.accepting)
    assert [array.dtype for array in arrays] == [np.uint16, np.int32, np.uint32, np.bool_]
    assert [array.shape for array in arrays] == [
        (width,), (states, classes), (states, -(-width // 32)), (states,)
    ]  # fmt: skip
    assert all(array.flags.c_contiguous and not array.flags.writeable for array in arrays)
    assert tables.nbytes == sum(array.nbytes for array in arrays)
    assert (tables.next_state[:, 0] == -1).all()
    columns = {tables.next_state[:, c].tobytes() for c in range(classes)}
    assert len(columns) == classes, "classes are distinct"
    assert {*tables.token_class.tolist(), 0} == set(range(classes)), "and each has a token"


@given(expressions(), st.sampled_from([SMALL, ENDLESS, OPEN]))
def test_tables_and_constraint_agree_on_every_state(expr: Expr, vocabulary: gw.Vocabulary) -> None:
    machine = Derivatives(expr, vocabulary.spellable)
    if not machine.alive(expr):
        return
    tables = build_tables(expr, vocabulary, Budget.default())
    check_shape(tables, vocabulary.width)
    if vocabulary.closed:
        constraint = CompiledConstraint(expr, machine, vocabulary, Budget.default())
        compare(constraint, tables)


SOURCES = {
    "date": gw.Regex("[0-9]{4}-[01][0-9]"),
    "choice": gw.Choice(["yes", "no", "née"]),
    "text": gw.Regex("(?s:.){0,3}"),
    "object in order": gw.JsonSchema({"properties": {"a": {"type": "boolean"},
                                                     "b": {"enum": [1, "x"]}},
                                      "type": "object", "additionalProperties": False},
                                     key_order="declared", whitespace="compact", spelling="plain"),
    "object in any order": gw.JsonSchema({"properties": {"a": {"const": 1}, "b": {"const": 2}},
                                          "type": "object", "required": ["b"],
                                          "additionalProperties": False},
                                         whitespace="compact", spelling="plain"),
    "items that differ": gw.JsonSchema({"type": "array", "items": {"enum": [1, 2, "a"]},
                                        "uniqueItems": True},
                                       whitespace="compact", spelling="plain"),
}  # fmt: skip


@pytest.mark.parametrize("name", SOURCES)
def test_so_do_those_of_sources(name: str) -> None:
    constraint = gw.compile(SOURCES[name], BYTES)
    tables = constraint.tables()
    check_shape(tables, BYTES.width)
    assert compare(constraint, tables) >= len(tables.accepting)


@pytest.mark.parametrize("source", [gw.Regex("(ab|b)*"), gw.Regex("b*,ab"), gw.Regex("(b|,a)+")])
def test_where_the_vocabulary_lacks_bytes_no_state_is_a_dead_end(source: gw.Regex) -> None:
    constraint = gw.compile(source, OPEN)
    assert compare(constraint, constraint.tables())


@pytest.mark.parametrize("name", ["smollm2", pytest.param("llama3", marks=pytest.mark.slow)])
def test_real_vocabularies_have_few_classes(name: str) -> None:
    constraint = gw.compile(gw.Regex("[0-9]{4}-[0-9][0-9]"), real_vocabulary(name))
    tables = constraint.tables()
    check_shape(tables, constraint.vocabulary.width)
    assert tables.next_state.shape[1] <= 12
    assert compare(constraint, tables) == len(tables.accepting) == 9


def test_a_lead_is_part_of_the_start() -> None:
    vocabulary = gw.Vocabulary([b" ", b"a", b" a", b"<eos>"], {3}, lead=b" ")
    constraint = gw.compile(gw.Choice(["a"]), vocabulary)
    tables = constraint.tables()
    compare(constraint, tables)
    assert unpack(tables.mask[tables.start]).tolist() == [0, 2]


@pytest.mark.parametrize(("limits", "said"), [
    ((Budget(), 50), "more than 50 states"),
    ((Budget(fuel=5),), "more than 5 parts of automata"),
])  # fmt: skip
def test_values_nested_without_end_are_refused(limits: tuple[Any, ...], said: str) -> None:
    with pytest.raises(LimitError, match=said):
        build_tables(nested(), BYTES, *limits)


def test_an_open_set_of_keys_is_refused() -> None:
    constraint = gw.compile(gw.JsonSchema({"type": "object"}), BYTES)
    with pytest.raises(LimitError, match="more than 1000 states") as caught:
        constraint.tables(most_states=1000)
    assert (caught.value.limit, caught.value.given) == ("most_states", 1000)


def test_more_memory_than_the_budget_allows_is_refused() -> None:
    constraint = gw.compile(gw.Regex("[ab,]{9}"), SMALL, gw.Budget(table_bytes=100))
    with pytest.raises(LimitError, match="take more than 100 bytes"):
        constraint.tables()
    # With 1,000 bytes there is room for the functions, and none for the masks of 4,000 tokens.
    wide = gw.Vocabulary([b"a"], width=4000)
    with pytest.raises(LimitError, match="the budget allows 1000") as caught:
        gw.compile(gw.Choice(["aa"]), wide, gw.Budget(table_bytes=1000)).tables()
    assert (caught.value.limit, caught.value.needed) == ("table_bytes", 1524)


def test_more_than_65536_classes_are_numbered_in_32_bits() -> None:
    count = (1 << 16) + 1
    tables = packed(
        np.arange(count), np.full((1, count), -1, np.int32), np.ones(1, np.bool_), Budget.default()
    )
    assert tables.token_class.dtype == np.int32
    assert tables.token_class[-1] == 1 << 16
