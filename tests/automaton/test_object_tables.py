"""Items that have to differ, objects or arrays: read as all else, and told apart by their texts."""

import json
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

import guideway as gw
from budget_law import check_within
from guideway.automaton.object_tables import last_value
from guideway.automaton.plain_masks import Rows
from guideway.automaton.states import States
from guideway.automaton.token_tries import unpack
from guideway.constraint.lowering import lower_source
from guideway.json_schema import spelling as json_words
from guideway.language.derivative import Derivatives
from guideway.language.expr import alt, concat, literal
from random_walks import BYTES, read, reads
from two_engines import Both, compared

TOKENS = [
    b"},{", b'{"a":', b'"a"', b'":', b"1,", b"]]", b"}]", b"},", b"[1", b'"}', b'","', b"2}]",
    b'":1,"', b'":{},"', b'":1},"', b'":1,"d":1', b'":{},"d":{', b'c":{},"d":{}',
]  # fmt: skip
WORDS = gw.Vocabulary(
    [*(bytes((b,)) for b in range(256)), *TOKENS, b"<end>"], eos_ids={256 + len(TOKENS)}
)
OBJECTS = {"type": "object", "properties": {"a": {"enum": [1, "x"]}}, "additionalProperties": False}


def lowered(items: Any) -> Any:
    """Arrays of different items."""
    schema = {"type": "array", "uniqueItems": True, "items": items}
    return lower_source(gw.JsonSchema(schema, whitespace="compact"))


def telling(token: int) -> bool:
    """Longer tokens and what is no string leave more items behind."""
    return token > 255 or chr(token) in '[]{}:,"a1x2'


@pytest.mark.untraced
@pytest.mark.parametrize(
    "items", [OBJECTS, {"type": "array", "uniqueItems": True, "items": OBJECTS}, {"$ref": "#"}]
)
def test_masks(items: Any) -> None:
    assert compared(lowered(items), WORDS, 6, 40, 7, among=telling) > 50


def test_many_that_read_the_same() -> None:
    """Alternatives that are put together still know what is within an item."""
    array = lowered(OBJECTS)
    expr = alt(*(concat(array, literal(end)) for end in "abcdefghi"), literal("[]]"))
    assert compared(expr, WORDS, 2, 12, 7, among=telling) > 15


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ('[{"a":1,"b":2},{"b":2,"a":1}]', False),
        ('[{"a":1},{"a":1.0}]', False),
        ('[{"a":1},{"\\u0061":10e-1}]', False),
        ('[ {"a" : 1} , { } , {"a": "\\\\"}, {"a": "\\""}, {"a": "}, {"}]', True),
        ('[[1,[2]],[[2],1],[1,[2,3]]]', True),
        ('[[1,[2]],[1, [ 2 ]]]', False),
        ('[{"a":[{"b":1},{"b":2}]},{"a":[{"b":2},{"b":1}]}]', True),
    ],
)  # fmt: skip
def test_values_and_not_texts_differ(text: str, valid: bool) -> None:
    source = gw.JsonSchema({"type": "array", "uniqueItems": True}, whitespace="any")
    constraint = gw.compile(source, WORDS)
    assert constraint.matches(text) is reads(constraint, text.encode()) is valid


def test_where_no_value_begins_all_is_the_last_one() -> None:
    assert last_value(b"]]") == b"]]"


@pytest.mark.parametrize("moves", [(), (3, 8)])
def test_an_item_that_is_begun_in_a_pda_and_ends_in_another(moves: tuple[int, ...]) -> None:
    """What was read before is the plain engine's capture there, keys within it included."""
    expr = lowered({"type": "object", "additionalProperties": {"type": "object"}})
    plain = Rows(Derivatives(expr, WORDS.spellable), WORDS, gw.Budget())
    fast = States(expr, Derivatives(expr, WORDS.spellable), WORDS, gw.Budget())
    state: Any = fast.start(b"")
    rest: Any = expr
    ends_and_begins = 256 + TOKENS.index(b"},{")
    begun, ended = b'[{"b":{"' + b"c" * 90 + b'":1}', b'"b":{"c":2},"d":{}},{}]'
    for place, token in enumerate([*begun, ends_and_begins, *ended]):
        if place in moves or token == ends_and_begins:
            fast._move(state)
        assert unpack(fast.mask(state)).tolist() == unpack(plain.row(rest)).tolist()
        state, rest = fast.after(state, token), plain.after(rest, token)


# Some items of one place are regular, others are read by MARKs: those that may come twice or not.
SORTED: Any = {
    "oneOf": [{"not": {"type": "array", "items": {"not": {"type": "integer"}}, "maxItems": 2}},
              {"uniqueItems": True},
              {"uniqueItems": True,
               "prefixItems": [{"if": {"enum": [[], [0]]}, "then": {"minItems": 1}}]}],
}  # fmt: skip


@pytest.mark.untraced
@pytest.mark.parametrize(
    "text", [b"[4293,0,0]", b"[[],0]", b"[[0],[0]]", b'["a",[],[],"a"]', b"[1,0"]
)
def test_captures_of_one_place_are_read_each_in_its_way(text: bytes) -> None:
    source = gw.JsonSchema(SORTED, whitespace="compact")
    assert compared(lower_source(source), WORDS, texts=12, tokens=9, seed=text.decode()) > 4
    Both(gw.JsonSchema(SORTED), WORDS).along(text)


# Strings of an enum, and many options of a choice: masks equal those of the plain engine.

PARTS = [
    b'"a', b'b"', b'ab"', b'a"}', b'"]', b'",', b'","', b"\\u", b"0061", b'\\"', b"null",
    b"\xc3\xbc",
]  # fmt: skip
EVERY = [*(bytes((byte,)) for byte in range(256)), *PARTS, b"<end>"]
WORDS_FEW = [bytes((byte,)) for byte in b'"abnul,[]{}:0123456789 '] + [b'"ab', b'b"', b"<end>"]
WORDS_WORDS = ["a", "ab", "", 'a"b', "b/", "\u00fc", "a\n"]
SCHEMAS = [
    ({"enum": WORDS_WORDS}, WORDS_WORDS),
    ({"enum": [*WORDS_WORDS, None, 10, "ab"]}, ["ab", None, 10]),
    ({"type": "string", "enum": ["a", None]}, ["a"]),
    ({"const": 'a"b'}, ['a"b']),
    ({"type": "array", "items": {"enum": ["a", "ab"]}}, [["a", "ab", "a"]]),
    ({"properties": {"a": {"enum": ["b", "ab"]}}, "additionalProperties": False}, [{"a": "ab"}]),
]


def ids(tokens: list[bytes], text: str) -> Iterator[int | None]:
    """The tokens of single bytes, None for a byte that none spells."""
    for byte in text.encode():
        yield tokens.index(bytes((byte,))) if bytes((byte,)) in tokens else None


@pytest.mark.parametrize("spelling", ["any", "plain"])
@pytest.mark.parametrize("tokens", [EVERY, WORDS_FEW])
@pytest.mark.parametrize(("schema", "values"), SCHEMAS)
def test_masks_of_strings_of_an_enum_are_those_of_the_plain_engine(
    schema, values, tokens, spelling
) -> None:
    vocabulary = gw.Vocabulary(tokens, eos_ids={len(tokens) - 1})
    source = gw.JsonSchema(schema, spelling=spelling, whitespace="compact")
    try:
        both = Both(source, vocabulary)
    except gw.UnsatisfiableError:
        assert tokens is WORDS_FEW
        return
    for value, escaped in product(values, (False, True)):
        text = json.dumps(value, ensure_ascii=escaped, separators=(",", ":"))
        at = both.along(ids(tokens, text))
        assert at is None or both.fast.accepts(at[0])
        assert at is not None or spelling == "plain" or tokens is WORDS_FEW


LETTERS = ["", "a", "ab", 'a"b', "b\\", "\u00fc", "\u00e9", "\U0001f600", "\U0001f601a", "null"]
MANY = [one + other + end for one in LETTERS for other in LETTERS for end in ("", "0", "a0")]
ODD = [*EVERY[:-1], b"\xc3", b"\x98\x80a", b"0a", b'"ba0', b"\\b\\0", b"<end>"]


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_words, "_MANY", 64)


@pytest.mark.parametrize("tokens", [ODD, WORDS_FEW])
@pytest.mark.parametrize(
    "source",
    [
        gw.Choice(MANY),
        gw.Choice([word for word in MANY if word]) + gw.Regex("[ab0]{2}|x"),
        gw.Regex("a*") + gw.Choice(MANY) + gw.Choice(MANY),
        gw.repeat(gw.Choice(MANY) | gw.Regex("[a-c]{1,3}"), 0, 3),
        gw.Regex("x(?=a)|") + gw.Choice(MANY) + gw.Regex("b?"),
        gw.Choice(MANY) & gw.Regex("(?s)a.*"),
        gw.Regex("a(?!b).?0") | gw.Choice(MANY),
    ],
    ids=["alone", "ends", "twice", "repeated", "behind", "met", "beside"],
)
def test_masks_of_many_options_are_those_of_the_plain_engine(source: Any, tokens: Any) -> None:
    both = Both(source, gw.Vocabulary(tokens, eos_ids={len(tokens) - 1}))
    for text in ("ab", 'aa"ba0', "\u00fc\U0001f601aa0b", "b\\null0", "xab0"):
        both.along(ids(tokens, text))


@pytest.mark.parametrize("begun", [b"", b"a", b"bx"])
def test_budgets_leave_room_for_the_end_of_one_of_many_options(begun: bytes) -> None:
    options = [f"{first}{'x' * length}" for first in "abc" for length in range(3, 40)]
    constraint = gw.compile(gw.Choice(options), BYTES)
    state = read(constraint, begun)
    check_within(constraint, state, [constraint.distance(state) + more for more in (0, 1, 2, 50)])


def test_a_long_choice_is_not_written_out() -> None:
    constraint = gw.compile(gw.Choice([f"{n:05}" for n in range(20_000)]), BYTES)
    state = constraint.start()
    constraint.mask(state)
    assert constraint.distance(state) == 5
    assert constraint.example() == "00000"
    state = constraint.advance(constraint.advance(state, 0x31), 0x39)
    assert unpack(constraint.mask(state)).tolist() == [*range(0x30, 0x3A)]
    assert constraint._states._pda.arena.context.nodes.used < 2_000
