"""State masks are made once, and say the same as a row or as a list."""

import gc
import itertools
import random
import weakref

import numpy as np
import pytest

import guideway as gw
from guideway.automaton import token_mask_cache as mask_cache
from guideway.automaton import token_tries as exits
from guideway.automaton.token_mask_cache import MaskStore, TokenMaskCache
from guideway.automaton.token_tries import unpack
from guideway.constraint.compile import remembered
from random_walks import read


@pytest.fixture(autouse=True)
def _drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """However little is below a node, a state mask of it is made."""
    monkeypatch.setattr(mask_cache, "SMALL", 0)


_NUMBERS = itertools.count()


AFTER = [b"ac", b"abac", b"c", b"aacab", b"ab", b"abc"]


def _words(extra: list[bytes]) -> gw.Vocabulary:
    """Another vocabulary each time, for a mask cache with the limits that a test sets."""
    tokens = [*(bytes((b,)) for b in range(256)), *extra, b"\xfe%d" % next(_NUMBERS), b"<end>"]
    return gw.Vocabulary(tokens, eos_ids={len(tokens) - 1})


def _allowed(words: gw.Vocabulary, pattern: str) -> list[bytes]:
    constraint = gw.compile(gw.Regex(pattern), words)
    row = constraint.mask(constraint.start())
    return [words.tokens[token] or b"" for token in unpack(row).tolist()]


LIMITS = ["_ALL_TRIES", "_MOST_EXITS", "MOST_STATE_MASKS", "MOST_ROWS", "_ALL_COUNTED"]


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("room", [1, 2])
@pytest.mark.parametrize("pattern", ["[ab]*c[ab]?d?", "[ab]*c[ab]*c[ab]?", "(?:[ab]c){2,9}[cd]?"])
def test_where_there_is_no_room_for_state_masks_masks_are_the_same(
    pattern: str, room: int, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [*AFTER, b"acc", b"bcad", b"bcda", b"acbca", b"bcac", b"acbcd", b"acbcacd"]
    expected = set(_allowed(_words(words), pattern))
    monkeypatch.setattr(mask_cache, "_FEW", 0)
    monkeypatch.setattr(mask_cache, limit, room)
    assert set(_allowed(_words(words), pattern)) == expected


TABLES = ["_ALL_TRIES", "_ALL_LISTED", "MOST_STATE_MASKS", "MOST_NOTED", "MOST_ROWS", "MOST_NODES"]


@pytest.mark.parametrize("table", TABLES)
def test_masks_have_state_masks_however_many_constraints_came_before(
    table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mask_cache, "_FEW", 4 if table in ("_ALL_LISTED", "MOST_NOTED") else 0)
    monkeypatch.setattr(exits if table == "MOST_NODES" else mask_cache, table, 256)
    letters, dice = "abcdefgh", random.Random(1)
    pairs = ["".join(pair).encode() for pair in itertools.product("abcdefghz", repeat=3)]
    words = _words([*pairs, b"aazza", b"zazaz"])
    kept = gw.compile(gw.Regex("[ab]*z{2,9}"), words)
    mask_caches = list[weakref.ref[TokenMaskCache]]()
    for _ in range(300):
        one, two = ("".join(dice.sample(letters, 4)) for _ in "ab")
        other = gw.compile(gw.Regex(f"[{one}]*z[{two}]*z[{one}]?"), words)
        assert read(other, b"zz")  # none may need the plain engine
        current = read(kept, b"azz").pda.mask_cache
        if not mask_caches or mask_caches[-1]() is not current:
            mask_caches.append(weakref.ref(current))
    assert len(mask_caches) > 2
    remembered.clear()
    gc.collect()
    assert sum(one() is not None for one in mask_caches) < 4


# Equal masks are one row, and rows without room are each state's own.

PAIRS = [b"ab", b"ba", b"abc"]


def masks(vocabulary: gw.Vocabulary, pattern: str, text: bytes) -> list[np.ndarray]:
    constraint = gw.compile(gw.Regex(pattern), vocabulary)
    states = itertools.accumulate(text[:-1], constraint.advance, initial=constraint.start())
    return [constraint.mask(state) for state in states]


def test_equal_masks_of_two_constraints_are_the_same_read_only_row() -> None:
    vocabulary = _words(PAIRS)
    first = masks(vocabulary, "[ab]*c", b"abbac")
    second = masks(vocabulary, "x[ab]*c", b"xabbac")
    assert all(row is first[0] for row in (*first, *second[1:]))
    assert second[0] is not first[0]
    with pytest.raises(ValueError, match="WRITEABLE"):
        first[0].flags.writeable = True


def test_rows_without_room_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    pattern, text = "(a|bb|[cd]e)*f", b"abbcedef"
    expected = [row.tolist() for row in masks(_words(PAIRS), pattern, text)]
    monkeypatch.setattr(mask_cache, "_MOST_ROWS", 2)
    vocabulary = _words(PAIRS)
    for added in ("", "|g"):
        rows = masks(vocabulary, pattern + added, text)
        assert [row.tolist() for row in rows[1:]] == expected[1:]
        assert not any(row.flags.writeable for row in rows)


def test_rows_of_one_hash_are_told_apart() -> None:
    kept = MaskStore(2)
    one, other = np.array([1, 2], np.uint32), np.array([3, 4], np.uint32)
    first, second = kept.put(one, 5), kept.put(other, 5)
    assert kept.rows[first].tolist() == [1, 2]
    assert kept.rows[second].tolist() == [3, 4]
    assert kept.held().rows == 2
