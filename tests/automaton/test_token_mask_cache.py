"""State masks are made once, and say the same as a row or as a list."""

import gc
import itertools
import random
import weakref

import numpy as np
import pytest

import guideway as gw
from guideway.automaton import token_mask_cache as mask_cache
from guideway.automaton import token_tries
from guideway.automaton import token_tries as exits
from guideway.automaton.kernels import layout as at
from guideway.automaton.kernels.entry import draw_state_mask
from guideway.automaton.kernels.layout import Context
from guideway.automaton.lexer_dfa import LexerDfa
from guideway.automaton.token_mask_cache import TokenMaskCache
from guideway.automaton.token_tries import unpack
from guideway.constraint.compile import remembered
from guideway.constraint.compiled import CompiledConstraint
from guideway.language.expr import byte_set, concat, literal, repeat

WORDS = [*(bytes((b,)) for b in range(256)), b"aa", b"ab", b"ac", b"aab", b"<end>"]


@pytest.fixture(autouse=True)
def _drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """However little is below a node, a state mask of it is made."""
    monkeypatch.setattr(mask_cache, "SMALL", 0)


def vocabulary() -> gw.Vocabulary:
    return gw.Vocabulary(WORDS, eos_ids={len(WORDS) - 1})


def test_of_no_nodes_there_is_no_trie() -> None:
    planted = token_tries.TokenTries(vocabulary().flat_trie, 9)
    assert planted.plant(Context(), np.empty(0, np.int32)) == 0


def test_state_masks_that_are_asked_for_twice_are_made_once() -> None:
    words = vocabulary()
    states = LexerDfa(words.spellable)
    state_masks = TokenMaskCache(words, states)
    state = states.state(repeat(byte_set(b"ab")))
    state_masks.make(state)
    state_masks.make_counted(state)
    made = state_masks.state_mask_at[state], state_masks.count_at[state], state_masks.nbytes
    state_masks.make(state)
    state_masks.make_counted(state)
    assert (
        state_masks.state_mask_at[state],
        state_masks.count_at[state],
        state_masks.nbytes,
    ) == made
    assert made[0] != made[1]


@pytest.mark.parametrize("few", [0, 1000])
def test_a_state_mask_has_the_tokens_that_its_state_reads(
    few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mask_cache, "_FEW", few)
    words = vocabulary()
    states = LexerDfa(words.spellable)
    state_masks = TokenMaskCache(words, states)
    state = states.state(repeat(byte_set(b"ab")))
    state_masks.make(state)
    fields = state_masks.state_masks[state_masks.state_mask_at[state]]
    if few:
        tokens = sorted(state_masks.listed[fields["first"] : fields["last"]].tolist())
    else:
        tokens = unpack(state_masks.base[fields["base"]]).tolist()
    assert tokens == [t for t, word in enumerate(WORDS) if word and set(word) <= set(b"ab")]


@pytest.mark.parametrize("seed", range(20))
def test_a_row_has_all_tokens_but_those_in_holes(seed: int) -> None:
    """All tokens are set at once or one by one, wherever holes begin and end."""
    dice = random.Random(seed)
    every = [
        bytes(word)
        for n in (1, 2, 3)
        for word in itertools.product(b"abcdefghijklmnopqrstu", repeat=n)
    ]
    size = len(every)
    words = gw.Vocabulary([*every, b"<end>"], eos_ids={size})
    state_masks = TokenMaskCache(words, LexerDfa(words.spellable))
    edges = sorted(dice.sample(range(size + 1), 2 * dice.randrange(40)))
    edges += [size - 1, size] if dice.random() < 0.5 and (not edges or edges[-1] < size - 1) else []
    row = np.zeros(state_masks.words, np.uint32)
    draw_state_mask(state_masks._context, np.array(edges, np.int32), row)
    listed = state_masks.token_tries._ids[:size].tolist()
    holes = {place for a, b in zip(edges[::2], edges[1::2], strict=True) for place in range(a, b)}
    assert unpack(row).tolist() == sorted(t for place, t in enumerate(listed) if place not in holes)


def test_state_masks_without_room_are_not_made_and_not_asked_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mask_cache, "MOST_PICTURES", 1)
    words = vocabulary()
    states = LexerDfa(words.spellable)
    state_masks = TokenMaskCache(words, states)
    state = states.state(repeat(byte_set(b"ab")))
    state_masks.make(state)
    state_masks.make_counted(state)
    assert state_masks.state_mask_at[state] == state_masks.count_at[state] == at.NO_PICTURE
    assert state_masks.nbytes == 0


_NUMBERS = itertools.count()


def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every trie of exits be one that is made when it is asked for."""
    monkeypatch.setattr(mask_cache, "_NARROW", 0)


AFTER = [b"ac", b"abac", b"c", b"aacab", b"ab", b"abc"]


def _words(extra: list[bytes]) -> gw.Vocabulary:
    """Another vocabulary each time, for a mask cache with the limits that a test sets."""
    tokens = [*(bytes((b,)) for b in range(256)), *extra, b"\xfe%d" % next(_NUMBERS), b"<end>"]
    return gw.Vocabulary(tokens, eos_ids={len(tokens) - 1})


def _allowed(words: gw.Vocabulary, pattern: str = "[ab]*c[ab]?d?") -> list[bytes]:
    constraint = gw.compile(gw.Regex(pattern), words)
    row = constraint.mask(constraint.start())
    return [words.tokens[token] or b"" for token in unpack(row).tolist()]


@pytest.mark.parametrize("wide", [False, True])
def test_tokens_that_leave_a_state_go_on_in_what_follows(
    wide: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if wide:
        _wide(monkeypatch)
    words = _words([*AFTER, b"acc", b"bcad", b"bcda"])
    expected = {b"a", b"b", b"c", *AFTER, b"bcad"} - {b"aacab"}
    assert set(_allowed(words)) == expected


LIMITS = ["_ALL_WIDE", "_MOST_EXITS", "MOST_PICTURES", "MOST_ROWS", "_MOST"]


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("room", [1, 2])
@pytest.mark.parametrize("pattern", ["[ab]*c[ab]?d?", "[ab]*c[ab]*c[ab]?", "(?:[ab]c){2,9}[cd]?"])
def test_where_there_is_no_room_for_state_masks_masks_are_the_same(
    pattern: str, room: int, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [*AFTER, b"acc", b"bcad", b"bcda", b"acbca", b"bcac", b"acbcd", b"acbcacd"]
    expected = set(_allowed(_words(words), pattern))
    _wide(monkeypatch)
    monkeypatch.setattr(mask_cache, "_FEW", 0)
    monkeypatch.setattr(exits if limit == "_MOST" else mask_cache, limit, room)
    assert set(_allowed(_words(words), pattern)) == expected


def test_state_masks_of_what_is_left_of_tokens_are_no_longer_made_when_their_table_is_full(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = [*AFTER, b"acc", b"bcad", b"bcda"]
    expected = set(_allowed(_words(words)))
    monkeypatch.setattr(mask_cache, "MOST_NOTED", 1)
    assert set(_allowed(_words(words))) == expected


def test_mask_caches_count_the_memory_of_what_is_used() -> None:
    words = _words([*AFTER, b"bcad"])
    _allowed(words)
    assert gw.cache_info().state_bytes > 0


def test_mask_caches_over_a_new_dfa_have_the_tries_of_those_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = gw.Vocabulary([*WORDS, b"abb"], eos_ids={len(WORDS) - 1})
    first = mask_cache.shared_mask_cache(words, LexerDfa(words.spellable))
    state = first.dfa.state(concat(literal("a"), repeat(byte_set(b"b"), 1)))
    first.make(state)
    again = mask_cache.shared_mask_cache(words, LexerDfa(words.spellable))
    assert again is not first
    assert again.token_tries is first.token_tries
    alone = TokenMaskCache(words, LexerDfa(words.spellable))
    rows = list[list[int]]()
    for state_masks in (again, alone):
        state = state_masks.dfa.state(concat(literal("a"), repeat(byte_set(b"b"), 1)))
        state_masks.make(state)
        fields = state_masks.state_masks[state_masks.state_mask_at[state]]
        rows.append(sorted(state_masks.listed[fields["first"] : fields["last"]].tolist()))
    assert rows[0] == rows[1] != []
    monkeypatch.setattr(token_tries.TokenTries, "crowded", True)
    assert (
        mask_cache.shared_mask_cache(words, LexerDfa(words.spellable)).token_tries
        is not first.token_tries
    )


def test_exits_of_a_state_mask_that_another_thread_has_given_up_are_not_made() -> None:
    words = _words(AFTER)
    state_masks = TokenMaskCache(words, LexerDfa(words.spellable))
    before = state_masks.nbytes
    state_masks.make_exits(1, np.zeros(4, np.uint64))
    assert state_masks.nbytes == before


TABLES = ["_ALL_WIDE", "_ALL_LISTED", "MOST_PICTURES", "MOST_NOTED", "MOST_ROWS", "MOST_NODES"]


@pytest.mark.parametrize("table", TABLES)
def test_masks_have_state_masks_however_many_constraints_came_before(
    table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _wide(monkeypatch)
    monkeypatch.setattr(mask_cache, "_FEW", 4 if table in ("_ALL_LISTED", "MOST_NOTED") else 0)
    monkeypatch.setattr(exits if table == "MOST_NODES" else mask_cache, table, 256)
    letters, dice = "abcdefgh", random.Random(1)
    pairs = ["".join(pair).encode() for pair in itertools.product("abcdefghz", repeat=3)]
    words = _words([*pairs, b"aazza", b"zazaz"])
    kept = gw.compile(gw.Regex("[ab]*z{2,9}"), words)
    mask_caches = list[weakref.ref[TokenMaskCache]]()
    for _ in range(300):
        one, two = ("".join(dice.sample(letters, 4)) for _ in "ab")
        _walk(gw.compile(gw.Regex(f"[{one}]*z[{two}]*z[{one}]?"), words), b"zz")
        current = _walk(kept, b"azz")
        if not mask_caches or mask_caches[-1]() is not current:
            mask_caches.append(weakref.ref(current))
    assert len(mask_caches) > 2
    remembered.clear()
    gc.collect()
    assert sum(one() is not None for one in mask_caches) < 4


def _walk(constraint: CompiledConstraint, text: bytes) -> TokenMaskCache:
    """Ask for the masks along a text; none may be without the state masks that it needs."""
    state = constraint.start()
    for byte in text:
        constraint.mask(state)
        state = constraint.advance(state, byte)
    used = state.pda.mask_cache
    assert not (used.state_mask_at == at.NO_PICTURE).any()
    assert not used.state_masks["base"][0]
    return used
