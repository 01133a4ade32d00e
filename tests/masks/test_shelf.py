"""Equal masks are one row, rows without room are each state's own, and what a mask is made of says
which row it is."""

import numpy as np
import pytest

import guideway as gw
from guideway.masks import shelf
from guideway.masks.bits import unpack
from guideway.masks.gallery import Gallery, shared_gallery
from guideway.masks.kernels.recipe_layout import MOST_PARTS
from guideway.masks.lexicon import shared_lexicon
from guideway.masks.shelf import Shelf

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
    monkeypatch.setattr(shelf, "_MOST_ROWS", 2)
    vocabulary = words("shelf-3")
    for added in ("", "|g"):
        rows = masks(vocabulary, pattern + added, text)
        assert [row.tolist() for row in rows[1:]] == expected[1:]
        assert not any(row.flags.writeable for row in rows)


def test_a_shelf_that_is_full_is_left_to_those_who_use_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shelf, "_MOST_ROWS", 2)
    vocabulary = words("shelf-4")
    gallery = Gallery(vocabulary, shared_lexicon(vocabulary.spellable))
    first = gallery.shelf()
    row = np.zeros(gallery.words, np.uint32)
    assert first.put(row, 1) == 1
    assert gallery.shelf() is first
    assert first.put(row + np.uint32(1), 2) == 0
    assert gallery.shelf() is not first


def test_rows_of_one_hash_are_told_apart() -> None:
    kept = Shelf(2)
    one, other = np.array([1, 2], np.uint32), np.array([3, 4], np.uint32)
    first, second = kept.put(one, 5), kept.put(other, 5)
    assert kept.rows[first].tolist() == [1, 2]
    assert kept.rows[second].tolist() == [3, 4]
    assert kept.held().rows == 2


def test_what_a_mask_is_made_of_is_learned_once() -> None:
    vocabulary = words("shelf-5")
    gallery = shared_gallery(vocabulary, shared_lexicon(vocabulary.spellable))
    pattern, text = "([ab]{2}|abc?)*f", b"abcabaaf"
    first = masks(vocabulary, pattern, text)
    held = gallery.shelf().held().row_bytes
    second = masks(vocabulary, "x" + pattern, b"x" + text)[1:]
    assert all(one is other for one, other in zip(first, second, strict=True))
    assert gallery.shelf().held().row_bytes - held < 4 * gallery.words + 1000  # "x" alone is new


def test_masks_are_the_same_without_room_for_what_they_are_made_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pattern, text = "(a|bb|[cd]e)*f", b"abbcedef"
    expected = [row.tolist() for row in masks(words("shelf-6"), pattern, text)]
    for number, (slot, room) in enumerate((("MOST_RECIPES", 2), ("_MOST_PARTS", 3))):
        with monkeypatch.context() as patch:
            patch.setattr(shelf, slot, room)
            vocabulary = words(f"shelf-{7 + number}")
            for added in ("", "|g"):
                rows = masks(vocabulary, pattern + added, text)
                assert [row.tolist() for row in rows[1:]] == expected[1:]


def test_masks_of_more_parts_than_are_listed() -> None:
    letters = b"abcdefghijklmnopqrstuvwxyz"
    pairs = [bytes((one, other)) for one in letters for other in letters]
    vocabulary = gw.Vocabulary([*(bytes((byte,)) for byte in letters), *pairs, None], eos_ids={702})
    for step in (2, 3, 5):  # of neighbours in the trie, none or one is read
        read = pairs[::step]
        assert len(read) > MOST_PARTS
        constraint = gw.compile(gw.Choice([pair.decode() for pair in read]), vocabulary)
        allowed = {*read, *(pair[:1] for pair in read)}
        mask = constraint.mask(constraint.start())
        tokens = [vocabulary.tokens[token] for token in unpack(mask).tolist()]
        assert {*tokens} == allowed
