"""Equal masks are one row, and rows without room are each state's own."""

import numpy as np
import pytest

import guideway as gw
from guideway.automaton import token_mask_cache as mask_store
from guideway.automaton.lexer_dfa import shared_dfa
from guideway.automaton.token_mask_cache import MaskStore, TokenMaskCache

TOKENS = [*(bytes((byte,)) for byte in range(256)), b"ab", b"ba", b"abc"]


def words(name: str) -> gw.Vocabulary:
    """A vocabulary whose rows nobody else has made."""
    return gw.Vocabulary([*TOKENS, name.encode(), b"<end>"], eos_ids={len(TOKENS) + 1})


def masks(vocabulary: gw.Vocabulary, pattern: str, text: bytes) -> list[np.ndarray]:
    constraint = gw.compile(gw.Regex(pattern), vocabulary)
    state, rows = constraint.start(), list[np.ndarray]()
    for byte in text:
        rows.append(constraint.mask(state))
        state = constraint.advance(state, byte)
    return rows


def test_equal_masks_of_two_constraints_are_the_same_read_only_row() -> None:
    vocabulary = words("shelf-1")
    first = masks(vocabulary, "[ab]*c", b"abbac")
    second = masks(vocabulary, "x[ab]*c", b"xabbac")
    assert all(row is first[0] for row in (*first, *second[1:]))
    assert second[0] is not first[0]
    with pytest.raises(ValueError, match="WRITEABLE"):
        first[0].flags.writeable = True


def test_rows_without_room_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    pattern, text = "(a|bb|[cd]e)*f", b"abbcedef"
    expected = [row.tolist() for row in masks(words("shelf-2"), pattern, text)]
    monkeypatch.setattr(mask_store, "_MOST_ROWS", 2)
    vocabulary = words("shelf-3")
    for added in ("", "|g"):
        rows = masks(vocabulary, pattern + added, text)
        assert [row.tolist() for row in rows[1:]] == expected[1:]
        assert not any(row.flags.writeable for row in rows)


def test_a_mask_store_that_is_full_is_left_to_those_who_use_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mask_store, "_MOST_ROWS", 2)
    vocabulary = words("shelf-4")
    mask_cache = TokenMaskCache(vocabulary, shared_dfa(vocabulary.spellable))
    first = mask_cache.mask_store()
    row = np.zeros(mask_cache.words, np.uint32)
    assert first.put(row, 1) == 1
    assert mask_cache.mask_store() is first
    assert first.put(row + np.uint32(1), 2) == 0
    assert mask_cache.mask_store() is not first


def test_rows_of_one_hash_are_told_apart() -> None:
    kept = MaskStore(2)
    one, other = np.array([1, 2], np.uint32), np.array([3, 4], np.uint32)
    first, second = kept.put(one, 5), kept.put(other, 5)
    assert kept.rows[first].tolist() == [1, 2]
    assert kept.rows[second].tolist() == [3, 4]
    assert kept.held().rows == 2
