"""States are values; those of another kind of constraint are refused."""

import gc
import weakref
from typing import Any

import pytest

import guideway as gw
from guideway.automaton import lexer_dfa as dfa
from guideway.automaton import regex_records as records
from guideway.automaton.pushdown_automaton import PushdownAutomaton
from guideway.automaton.states import States
from guideway.automaton.token_tries import unpack
from guideway.constraint.lowering import lower_source
from guideway.language.derivative import Derivatives
from guideway.language.expr import literal, repeat
from random_walks import BYTES
from two_engines import Both, compared, vocabulary

CLOSED = gw.Vocabulary([b"a", b"b", b"ab", b"<end>"], eos_ids={3})
OPEN = gw.Vocabulary([b"ab", b"abab", b"<end>"], eos_ids={2})


def test_a_state_of_the_other_kind_of_vocabulary_is_refused() -> None:
    closed, other = (gw.compile(gw.Regex("(ab)+"), words) for words in (CLOSED, OPEN))
    with pytest.raises(gw.GuidewayError, match="a state of another engine"):
        closed.mask(other.start())
    with pytest.raises(gw.GuidewayError, match="has not been asked for"):
        other.mask(closed.advance(closed.start(), 2))


@pytest.mark.parametrize(
    ("owner", "step"), [(States, "_filled"), (States, "_after"), (PushdownAutomaton, "enter")]
)
def test_a_state_goes_on_in_a_new_pda_where_the_old_one_is_full(
    owner: type, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    constraint = gw.compile(gw.Regex("(ab|c)*d"), BYTES)
    whole = {byte: constraint.advance(constraint.start(), byte) for byte in b"ac"}
    expected = {byte: constraint.mask(state).tolist() for byte, state in whole.items()}
    real, failures = getattr(owner, step), [gw.LimitError("full", limit="parts", given=1)]

    def once(self: object, *arguments: object) -> object:
        if failures:
            raise failures.pop()
        return real(self, *arguments)

    monkeypatch.setattr(owner, step, once)
    gw.clear_cache()
    fresh = gw.compile(gw.Regex("(ab|c)*d"), BYTES)
    for byte in b"ac":
        state = fresh.advance(fresh.start(), byte)
        assert fresh.mask(state).tolist() == expected[byte]
    assert not failures


def test_without_fuel_nothing_goes_on_in_another_way(monkeypatch: pytest.MonkeyPatch) -> None:
    def spent(*_: object) -> object:
        raise gw.LimitError("no fuel", limit="fuel", given=1)

    gw.clear_cache()
    with monkeypatch.context() as patched:
        patched.setattr(PushdownAutomaton, "enter", spent)
        with pytest.raises(gw.LimitError, match="no fuel"):
            gw.compile(gw.Regex("(ab|c)*d"), BYTES).start()
    constraint = gw.compile(gw.Regex("(ab|c)*d"), BYTES)
    state = constraint.start()
    with monkeypatch.context() as patched:
        patched.setattr(States, "_filled", spent)
        with pytest.raises(gw.LimitError, match="no fuel"):
            constraint.mask(state)
    assert constraint.mask(state).any()


@pytest.mark.parametrize(("begun", "masked"), [(True, True), (True, False), (False, False)])
def test_where_nothing_has_room_the_plain_engine_reads_on(
    begun: bool, masked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> int:
        raise gw.LimitError("full", limit="parts", given=1)

    source = gw.Regex("(ab|c)*d&(a|b)*&c*|(ab|c)*d")
    constraint = gw.compile(source, BYTES)
    state, expected = constraint.start(), list[list[int]]()
    for byte in b"abcd":
        expected.append(constraint.mask(state).tolist())
        state = constraint.advance(state, byte)
    gw.clear_cache()
    fresh = gw.compile(source, BYTES)
    state = fresh.start() if begun else None
    for asked in ("run", "read", "fill"):
        monkeypatch.setattr(PushdownAutomaton, asked, full)
    monkeypatch.setattr(dfa.LexerDfa, "alive", full)
    state = state or fresh.start()
    if masked:
        assert fresh.mask(state).tolist() == expected[0]
    for byte, allowed in zip(b"abcd", expected, strict=True):
        with pytest.raises(gw.TokenRejected):
            fresh.advance(state, ord("x"))
        assert fresh.mask(state).tolist() == allowed
        state = fresh.advance(state, byte)
    assert fresh.accepts(state)


def test_a_text_goes_on_where_what_all_constraints_share_is_full(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dfa, "_dfas", {})
    monkeypatch.setattr(records, "MOST_RECORDS", 1024)
    monkeypatch.setattr(dfa, "RENEW_AT_PARTS", 512)
    words = [f"{'abcdefgh'[i % 8]}{i:03}" for i in range(280)]
    pattern = "".join(f"(?:{word}|[x-z]{{1,3}}{word}q*)-" for word in words)
    both = Both(gw.Regex(pattern), BYTES)
    first = dfa.shared_dfa(BYTES.spellable)
    at = both.along("".join(f"{word}-" for word in words).encode())
    assert both.fast.accepts(at[0])
    assert dfa.shared_dfa(BYTES.spellable) is not first


STRING, TEXT = {"type": "string"}, {"type": "string", "minLength": 2}
OBJECT = {"type": "object", "properties": {"a": STRING, "b": {"enum": [1, 12]}}}
CLOSED_OBJECT = {**OBJECT, "additionalProperties": False}
DIFFERENT = {"type": "array", "uniqueItems": True}
# Behind the last value there is a comma is in no token.
LAST: list[tuple[Any, str]] = [
    ({"uniqueItems": True, "items": {"enum": ["a", "b"]}}, '["b","a"]'),
    ({"uniqueItems": True, "items": DIFFERENT}, "[[1],[]]"),
    ({"propertyNames": {"enum": ["a", "b"]}, "minProperties": 1, "maxProperties": 2},
     '{"a":1,"b":2}'),
    ({"items": {**DIFFERENT, "items": {"enum": ["a", 1]}}, "uniqueItems": True},
     '[["a",1],["a"]]'),
]  # fmt: skip
COMMAS = '",|" ,|1,|1 ,\n|"],'
ITEMS: list[tuple[Any, str]] = [
    (STRING, '["a","b"]'),
    (TEXT, '["ab","aa","abc"]'),
    ({"type": ["string", "object", "null"]}, '["a",{"a":""},null]'),
    ({"anyOf": [STRING, {"enum": [1, 12]}]}, '["a",12,1,""]'),
    ({"type": "string", "maxLength": 1}, '["a","b"]'),
    ({"type": "string", "not": {"enum": ["a", ""]}}, '["b","ab"]'),
    (CLOSED_OBJECT, '[{"a":"b"},{"a":"a","b":1},{}]'),
    (OBJECT, '[{"a":"b"},{"c":"b","b":1},{}]'),
    ({**OBJECT, "propertyNames": {"maxLength": 1}}, '[{"a":"b"},{"c":"b"},{}]'),
    ({**CLOSED_OBJECT, "required": ["b"]}, '[{"b":1},{"b":12,"a":"a"}]'),
    ({**CLOSED_OBJECT, "properties": {"b": {"enum": [1]}}}, '[{"b":1},{}]'),
    ({"type": "array", "items": OBJECT, "uniqueItems": True}, '[[{"b":1},{}],[{}]]'),
]
ARRAYS: list[tuple[Any, str]] = [
    *(({**DIFFERENT, "items": items}, text) for items, text in ITEMS),
    ({**DIFFERENT, "items": STRING, "minItems": 3}, '["a","b","ab"]'),
    ({**DIFFERENT, "prefixItems": [STRING, {"const": "a"}], "items": STRING}, '["b","a","c"]'),
]
TO_ITEMS = (
    '",|","|","a|"," "|","a"|"," |"]|"},|"},{|"},{"|},{"a":"|},{"b":1|1},{"|1,"|12}|1},|1}]'
    '|},{}|},{},|{},{"|[{},{|],[|"a","b"|"a","a|a","a"|null,"|,null,|","a":"|":{}}'
)
KEYS: list[tuple[Any, str]] = [
    ({"patternProperties": {"^a": STRING}, "additionalProperties": {"const": ""}}, '{"ab":"'),
    ({"patternProperties": {"^a": STRING, "^[ab]$": TEXT}, "additionalProperties": False},
     '{"ab":"'),
    ({"patternProperties": {"^[ab]$": STRING, "^ab?$": STRING}, "additionalProperties": False},
     '{"'),
    ({"patternProperties": {"^(?!b)": STRING, "^a": STRING}, "required": ["b"]}, '{"ab":"'),
    ({"patternProperties": {"^a": STRING}, "maxProperties": 2, "additionalProperties": STRING},
     '{"ab":"'),
]  # fmt: skip
KEYS = [({"type": "object", **schema}, text) for schema, also in KEYS for text in ('{"a":"', also)]
TO_KEYS = '":"","|":"",|":"","a|":"","a":"|":"","ab":""}|","|","a|","b":"|"}|":""}|a":"","'


@pytest.mark.parametrize(("schema", "text", "others", "whitespace"), [
    *((*each, COMMAS, whitespace) for each in LAST for whitespace in ("any", "compact")),
    *((*each, TO_ITEMS, "compact") for each in ARRAYS),
    *((*each, TO_KEYS, "compact") for each in KEYS),
])  # fmt: skip
def test_tokens_that_go_on_to_another_item_or_key_are_told_exactly(
    schema: Any, text: str, others: str, whitespace: Any
) -> None:
    """In all places of a text the mask has the tokens that can be read, and no others."""
    tokens = [*(bytes([byte]) for byte in range(256)), *others.encode().split(b"|"), b"<end>"]
    vocabulary = gw.Vocabulary(tokens, eos_ids={len(tokens) - 1})
    constraint = gw.compile(gw.JsonSchema(schema, whitespace=whitespace), vocabulary)
    state = constraint.start()
    for byte in text.encode():
        allowed = unpack(constraint.mask(state)).tolist()
        for token in range(256, len(tokens) - 1):
            try:
                constraint.mask(constraint.advance(state, token))
            except gw.TokenRejected:
                assert token not in allowed, (tokens[token], state.accepts)
            else:
                assert token in allowed, tokens[token]
        state = constraint.advance(state, byte)
    assert constraint.accepts(state) == (text[-1] in "]}")


# Automata that take too much are left behind; texts are read again in new ones.

LEAST = gw.Budget(table_bytes=1)  # each text begins in a new automaton
INDENTED = """
start: (NAME NEWLINE [INDENT start DEDENT])+
NAME: /[ab]+/
NEWLINE: /(\\n[ ]*)+/
%declare INDENT DEDENT
"""
SOURCES: list[Any] = [
    gw.Regex("(ab|ba){2,4}c?"),
    gw.JsonSchema({"type": "array", "items": {"enum": ["a", "b", 1]}}),
    gw.JsonSchema({"type": "object", "properties": {"a": {"type": "null"}}, "maxProperties": 2}),
    gw.JsonSchema({"items": {"enum": ["a", 1, [1]]}, "uniqueItems": True, "type": "array"}),
    gw.JsonSchema({"type": "array", "uniqueItems": True, "items": {"uniqueItems": True}}),
    gw.Lark('start: "(" start ")" | /[ab]+/'),
    gw.Lark('start: "a" start "a" | "b"', lexer="dynamic"),
]


@pytest.mark.parametrize("source", SOURCES, ids=range(len(SOURCES)))
def test_masks_are_those_of_the_plain_engine_however_often(source: Any) -> None:
    expr = lower_source(source)
    assert compared(expr, vocabulary(200), texts=12, tokens=9, seed=2, budget=LEAST) > 12


def test_a_way_is_gone_again_where_kernels_are_asked() -> None:
    items = {"type": "array", "uniqueItems": True}
    source = gw.JsonSchema({**items, "items": items}, whitespace="compact", spelling="plain")
    parts = [b"],[", b"1,2],[1,2", b"],[1,"]
    words = gw.Vocabulary([*(bytes((b,)) for b in range(256)), *parts, b"<end>"], eos_ids={259})
    fast = States(lower_source(source), Derivatives(lower_source(source)), words, LEAST)
    plain = gw.compile(source, words)
    ways = [[*b"[[1,2", 256, *b"1,2,3]]"], [*b"[[", 257, *b",3]]"], [*b"[[1", 258, *b"2]]"]]
    for way in (*ways, *ways):
        for end in range(len(way)):
            at: Any = fast.start(b"")
            other = plain.start()
            for token in way[:end]:
                at, other = fast.after(at, token), plain.advance(other, token)
            at.row = None  # so that kernels have to be asked
            assert fast.mask(at).tolist() == plain.mask(other).tolist()


def test_what_was_left_behind_takes_no_memory() -> None:
    expr = repeat(literal("ab"))
    kept = States(expr, Derivatives(expr, CLOSED.spellable), CLOSED, LEAST)
    state: Any = kept.start(b"")
    gone = [weakref.ref(state.pda.arena)]
    for token in (0, 1, 2):
        kept.mask(state)
        state = kept.after(state, token)
    gone.append(weakref.ref(state))
    del state
    kept.start(b"")
    gc.collect()
    assert [found() for found in gone] == [None, None]


def test_an_indented_text_goes_on_where_it_was() -> None:
    constraint = gw.compile(gw.Lark(INDENTED, start="start"), vocabulary(200), budget=LEAST)
    texts = [b"a\n  b\n  a\n", b"a\n  b\nab\n", b"a\n  b\n    b\n"]
    plain = gw.compile(gw.Lark(INDENTED, start="start"), vocabulary(200))
    for text in (*texts, *texts):
        at, other = constraint.start(), plain.start()
        for byte in text:
            assert constraint.mask(at).tolist() == plain.mask(other).tolist()
            at, other = constraint.advance(at, byte), plain.advance(other, byte)
