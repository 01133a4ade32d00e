"""Lexers of Lark's automaton: read as one, they offer what each terminal by itself would."""

import random
from functools import cache
from typing import Any

import numpy as np
import pytest

import guideway as gw
from guideway.automaton import token_mask_cache as mask_cache
from guideway.automaton import token_tries as exits
from guideway.automaton.states import States
from guideway.automaton.token_tries import TokenTries, unpack
from guideway.language.derivative import Derivatives
from lark_samples import Blocks, lowered
from two_engines import compared

CALLS = r"""
start: (call ";")+
call: NAME "(" [value ("," value)*] ")"
value: call | NAME | NUMBER | STRING | "not" value | "if" value "then" value
NAME: /[a-z_]+/
NUMBER: /[0-9]+(\.[0-9]+)?/
STRING: /"[^"\n]*"/
%ignore /[ \t]+/
%ignore /#[^\n]*\n/
"""
LINES = r"""
start: (_NL | line)*
line: NAME "(" [NAME ("," NAME)*] ")" _NL | "if" NAME ":" _NL _IN line+ _OUT
NAME: /[a-z]+/
_NL: (/\r?\n[\t ]*/ | COMMENT)+
COMMENT: /#[^\n]*/
LPAR: "("
RPAR: ")"
%ignore /[\t ]+/
%ignore COMMENT
%declare _IN _OUT
"""
CALL = 'if(not x,"a b",1.5)  ;#é ü\nnot_if( then) ;f(if a then "", 12);'
LINED = "f(ab,\n #é x\n c)\nif ab: # y z\n  f( )\n\n # w\n  if b:\n\t\tg(a)\n  f()\nx()\n"


@cache
def cut(text: str, count: int, most: int) -> gw.Vocabulary:
    """Each byte, and pieces of a text, some of them changed."""
    dice, found, raw = random.Random(4), set[bytes](), text.encode()
    while len(found) < count:
        begin, other = dice.randrange(len(raw)), dice.randrange(len(raw))
        piece = raw[begin : begin + dice.randint(1, most)] + raw[other : other + dice.randint(0, 3)]
        found.add(piece)
    single = [bytes((byte,)) for byte in range(256)]
    tokens = [*single, *sorted(found - {*single}), b"<end>"]
    return gw.Vocabulary(tokens, eos_ids={len(tokens) - 1})


def states_of(text: str, vocabulary: gw.Vocabulary, **options: Any) -> States:
    expr = lowered(text, **options)
    return States(expr, Derivatives(expr, vocabulary.spellable), vocabulary, gw.Budget())


def told_one_by_one(fast: States, state: Any, vocabulary: gw.Vocabulary) -> list[int]:
    """The tokens that can be read: no trie is walked, and nothing is seen ahead."""
    read = (t for t in range(vocabulary.width - 1) if fast.after(state, t) is not None)
    return [*read, *(vocabulary.eos_ids if state.accepts else ())]


@pytest.mark.untraced
@pytest.mark.parametrize(
    ("text", "read", "options"), [(CALLS, CALL, {}), (LINES, LINED, {"postlex": Blocks})]
)
def test_a_mask_has_the_tokens_that_can_be_read(text, read, options):
    vocabulary = cut(read, 500, 8)
    fast = states_of(text, vocabulary, **options)
    state: Any = fast.start(b"")
    for byte in read.encode():
        assert unpack(fast.mask(state)).tolist() == told_one_by_one(fast, state, vocabulary)
        state = fast.after(state, byte)
    assert state.accepts
    assert fast._pda.arena.context.mask_places.used > 100


@pytest.mark.untraced
@pytest.mark.parametrize(
    ("text", "letters", "options"),
    [
        (CALLS, 'a1."(), ;#\n', {}),
        (LINES, "a(,)#:if \n", {"postlex": Blocks}),
    ],
)
def test_the_plain_engine_says_the_same(text, letters, options):
    vocabulary = cut(letters * 8, 120, 4)
    assert compared(lowered(text, **options), vocabulary, 3, 8, 2) > 12


@pytest.mark.untraced
def test_where_there_is_no_room_for_tries_masks_are_the_same(monkeypatch):
    vocabulary = cut(CALL, 500, 8)
    rows = list[np.ndarray]()
    for most in (mask_cache.MOST_FIRST, 0):
        monkeypatch.setattr(mask_cache, "MOST_FIRST", most)
        mask_cache._mask_caches.clear()
        fast = states_of(CALLS, vocabulary)
        state: Any = fast.start(b"")
        for byte in CALL[:24].encode():
            rows.append(fast.mask(state))
            state = fast.after(state, byte)
    mask_cache._mask_caches.clear()
    half = len(rows) // 2
    assert all(np.array_equal(*pair) for pair in zip(rows[:half], rows[half:], strict=True))


def test_a_trie_that_has_no_room_is_none(monkeypatch):
    vocabulary = cut(CALL, 50, 8)
    made = mask_cache.TokenMaskCache(
        vocabulary, mask_cache.shared_mask_cache(vocabulary, _dfa()).dfa
    )
    nodes = np.array([1, 2], np.int32)
    root = made.exits.planted(nodes)
    assert root > 0
    assert made.exits.planted(nodes) == root
    assert made.exits.planted(nodes, 1) is None
    monkeypatch.setattr(TokenTries, "plant", lambda *_: None)
    assert made.exits.planted(nodes[:1]) is None
    monkeypatch.undo()
    monkeypatch.setattr(exits, "MOST_FIRST", 1)
    assert made.exits.planted(nodes[::-1].copy()) is None


def _dfa() -> Any:
    from guideway.automaton.lexer_dfa import LexerDfa
    from guideway.language.expr import ALL_BYTES

    return LexerDfa(ALL_BYTES)


def test_the_same_lexer_reads_on_all_stacks():
    """Of the same things within more and more brackets nothing is seen anew."""
    vocabulary = cut(CALL, 300, 6)
    fast = states_of(CALLS, vocabulary)
    state: Any = fast.start(b"")
    lexer_masks = list[int]()
    for depth in range(12):
        for byte in b"f(not a,":
            fast.mask(state)
            state = fast.after(state, byte)
        lexer_masks.append(fast._pda.arena.context.mask_places.used)
        assert depth < 4 or lexer_masks[depth] == lexer_masks[3]
