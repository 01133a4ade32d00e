"""What is said of the caches, and that emptying them changes nothing but time."""

import gc
import threading
import weakref
from collections import Counter
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

import guideway as gw
from guideway.constraint.caches import clear_too
from guideway.constraint.compile import Remembered
from random_walks import read

WORDS = [*(bytes([byte]) for byte in range(256)), b'":', b'},{"', b"],[", b'","', b"<end>"]
VOCABULARY = gw.Vocabulary(WORDS, eos_ids={260})


def test_masks_and_constraints_are_counted() -> None:
    gw.clear_cache()
    empty = gw.cache_info()
    assert (empty.constraints, empty.compile_hits, empty.compile_misses) == (0, 0, 0)
    constraint = gw.compile(gw.Regex("[ab]{3}"), VOCABULARY)
    assert gw.compile(gw.Regex("[ab]{3}"), VOCABULARY) is constraint
    state = constraint.start()
    for _ in range(3):
        constraint.mask(state)
    info = gw.cache_info()
    assert (info.constraints, info.compile_hits, info.compile_misses) == (1, 1, 1)
    assert info.caches == empty.caches + 1
    assert info.rows > empty.rows
    assert info.row_bytes > empty.row_bytes
    assert info.states > empty.states
    assert info.bytes == info.row_bytes + info.state_bytes
    assert info.row_misses - empty.row_misses == 1
    assert info.row_hits - empty.row_hits == 2
    assert 0 < info.constraint_bytes <= min(info.bytes, info.most_constraint_bytes)
    assert info.most_constraints >= info.constraints


def test_clearing_while_another_thread_reads_changes_no_mask() -> None:
    constraint = gw.compile(gw.JsonSchema({"type": "array"}), VOCABULARY)
    start = constraint.start()
    expected = constraint.mask(start).copy()
    done = threading.Event()

    def clear() -> None:
        while not done.is_set():
            gw.clear_cache()
            gw.cache_info()

    thread = threading.Thread(target=clear)
    thread.start()
    try:
        for _ in range(50):
            assert constraint.accepts(read(constraint, b'[1,"a"]', start))
            assert (constraint.mask(start) == expected).all()
    finally:
        done.set()
        thread.join()


@pytest.mark.parametrize("ask", ["distance", "forced_bytes", "matches"])
def test_who_asks_for_ends_waits_for_who_asks_for_masks(ask: str) -> None:
    # Each kind of question held a lock of its own, and both changed the same recognizer: threads
    # that shared the meet of a schema and a regex had tokens of their masks rejected.
    source = gw.JsonSchema({"type": "object"}) & gw.Regex("(?s).{5,60}")
    constraint = gw.compile(source, VOCABULARY)
    question = "{}" if ask == "matches" else constraint.start()
    with ThreadPoolExecutor(1) as threads:
        with constraint._states.lock:
            asked = threads.submit(getattr(constraint, ask), question)
            with pytest.raises(TimeoutError):
                asked.result(timeout=0.2)
        asked.result()


def test_caches_that_are_registered_are_cleared_too() -> None:
    class Other:
        cleared = False

        def clear(self) -> None:
            self.cleared = True

    other = Other()
    clear_too(other)
    gw.clear_cache()
    assert other.cleared


# The bounded dictionary against a list of what was asked for last.


class Sized:
    def __init__(self, room: int, *, spent: bool = False) -> None:
        self.room, self.spent = room, spent

    def size(self) -> int:
        return self.room


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 6)), max_size=40))
def test_the_last_ones_asked_for_are_kept_within_both_bounds(calls: list[tuple[int, int]]) -> None:
    memory: Remembered = Remembered(most=3, most_bytes=10)
    model: list[tuple[int, int]] = []  # the most recent last
    hits = 0
    for key, size in calls:
        kept = dict(model)
        found = memory.get(key)
        assert (found.room if found else None) == kept.get(key)
        if found is None:
            memory.put(key, Sized(size))
            kept[key] = size
        else:
            hits += 1
        model = [item for item in model if item[0] != key] + [(key, kept[key])]
        while len(model) > 1 and (len(model) > 3 or sum(size for _, size in model) > 10):
            del model[0]
        assert len(memory) == len(model)
        assert memory.bytes() == sum(size for _, size in model)
    assert (memory.hits, memory.misses) == (hits, len(calls) - hits)


def test_a_few_calls_drop_what_is_spent_wherever_it_stands() -> None:
    memory: Remembered = Remembered(most=64, most_bytes=10)
    for key in range(9):
        memory.put(key, Sized(0, spent=key in (5, 6, 7)))
    memory.put(9, Sized(0))
    assert [key for key in range(10) if memory.get(key)] == [0, 1, 2, 3, 4, 8, 9]


def test_constraints_that_grow_are_measured_again_while_all_calls_are_hits() -> None:
    memory: Remembered = Remembered(most=4, most_bytes=10)
    first, second = Sized(1), Sized(1)
    assert memory.get(1) is None
    memory.put(1, first)
    memory.put(2, second)
    first.room = 10
    for _ in range(4):
        memory.get(2)
    assert memory.get(1) is None


# What is dropped is gone: nothing waits for the collector, and kept states stay good.

LIST = {"type": "object", "properties": {"value": {"type": "integer"}, "next": {"$ref": "#"}}}
PEOPLE = {
    "type": "object",
    "properties": {"name": {"type": "string", "pattern": "^[a-z]+$"},
                   "home": {"type": "object", "properties": {"city": {"type": "string"}},
                            "required": ["city"], "additionalProperties": False}},
    "required": ["name"],
}  # fmt: skip
SOURCES = {
    "regex": (gw.Regex(r"(ab|cd)*\d+"), "abcd12"),
    "choice": (gw.Choice(["yes", "no"]), "yes"),
    "numbers": (gw.JsonSchema({"type": "array", "items": {"type": "number"}}), "[1,2]"),
    "list": (gw.JsonSchema(LIST), '{"value":1,"next":{"x":[]}}'),
    "people": (gw.JsonSchema(PEOPLE), '{"name":"ada","home":{"city":"x"},"tags":["a"]}'),
    "in order": (gw.JsonSchema(PEOPLE, key_order="declared", whitespace="compact"),
                 '{"name":"ada"}'),
}  # fmt: skip


@contextmanager
def collector_off() -> Generator[None]:
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@pytest.mark.parametrize("name", SOURCES)
def test_a_constraint_is_gone_when_it_is_dropped(name: str) -> None:
    source, text = SOURCES[name]
    gw.clear_cache()
    gc.collect()
    with collector_off():
        before = gw.cache_info().caches
        constraint = gw.compile(source, VOCABULARY)
        assert gw.cache_info().caches == before + 1
        for _ in range(2):
            state = read(constraint, text.encode())
            assert constraint.accepts(state)
            constraint.advance(state, 260)
        pda = state.pda
        owned = (constraint, pda, constraint._machine, state, pda.mask_cache, pda.dfa)
        parts = [weakref.ref(part) for part in owned]
        full = gw.cache_info().state_bytes
        del constraint, state, pda, owned
        gw.clear_cache()
        assert gw.cache_info().state_bytes < full
        assert [part() for part in parts] == [None] * len(parts)
        assert gw.cache_info().caches == before


@pytest.mark.parametrize("name", SOURCES)
def test_a_state_that_is_kept_stays_good(name: str) -> None:
    source, text = SOURCES[name]
    gw.clear_cache()
    first = gw.compile(source, VOCABULARY)
    kept = [first.start()]
    for byte in text.encode():
        kept.append(first.advance(kept[-1], byte))
    masks = [first.mask(state).tolist() for state in kept]
    del first
    gw.clear_cache()
    again = gw.compile(source, VOCABULARY)
    own = again.start()
    for place, state in enumerate(kept):
        assert again.mask(state).tolist() == again.mask(own).tolist() == masks[place]
        gw.clear_cache()
        assert again.mask(own).tolist() == masks[place]
        assert again.distance(state) == again.distance(own)
        if place < len(text):
            following = again.advance(state, text.encode()[place])
            own = again.advance(own, text.encode()[place])
            assert again.mask(following).tolist() == again.mask(own).tolist()
    assert again.advance(kept[-1], 260).ended


NODES = {"a": {"$ref": "#/$defs/x"}, "b": {"not": {"$ref": "#/$defs/x"}}}
MANY = [
    {"properties": NODES, "required": ["b"]},  # read by kernels, but for what waits
    {"properties": {"a": {"allOf": [{"$ref": "#/$defs/x"}, {"minProperties": 1}]}}},
    {"properties": NODES, "minProperties": 1, "not": {"required": ["a", "b"]}},  # by a formula
    {"allOf": [{"not": {"required": ["a"]}}, {"not": {"required": ["b"]}}], "type": "object"},
    {"not": {"type": "object"}},
    {"not": {"pattern": "a"}, "type": "string"},
    {"type": "string", "allOf": [{"pattern": "a"}, {"pattern": "b"}, {"$ref": "#/$defs/y"}]},
    {"enum": [{"b": 1}, {"a": 1}, {"b": 2}], "properties": {"a": {"$ref": "#/$defs/x"}}},
    {"patternProperties": {"^a": {"type": "array"}, "b$": {"$ref": "#/$defs/x"}}, "minItems": 1},
]
BEGUN = ['{"b":[', '{"b":1', '{"a":[', '{"c":[', "[1", '"b', '"cab', '{"b":1', '{"b":[']
ARRAY = {"type": "array", "items": {"type": "integer", "multipleOf": 3}}


def living() -> Counter[str]:
    """How many objects there are of each class of the schema compiler."""
    kinds = (type(one) for one in gc.get_objects())
    return Counter(kind.__name__ for kind in kinds if "json_schema" in str(kind.__module__))


@pytest.mark.parametrize("number", range(len(MANY)))
def test_what_lowers_a_schema_is_gone_with_it(number: int) -> None:
    schema = {"$defs": {"x": ARRAY, "y": {"pattern": "c"}}, **MANY[number]}
    source = gw.JsonSchema(schema, whitespace="any")
    counts: list[Counter[str]] = []
    for _ in range(3):  # the first makes what is kept process-wide
        gw.clear_cache()
        gc.collect()
        with collector_off():
            constraint = gw.compile(source, VOCABULARY)
            assert read(constraint, BEGUN[number].encode())
            del constraint
            gw.clear_cache()
            counts.append(living())
    assert counts[1] == counts[2]


def test_a_long_text_is_dropped_without_recursion() -> None:
    gw.clear_cache()
    gc.collect()
    with collector_off():
        constraint = gw.compile(gw.Regex("(a|b){40000}"), VOCABULARY)
        state = constraint.start()
        for _ in range(30_000):
            state = constraint.advance(state, 97)
        states = [weakref.ref(state), weakref.ref(constraint.start())]
        del constraint
        gw.clear_cache()
        assert states[0]() is not None
        del state
        assert [known() for known in states] == [None, None]
