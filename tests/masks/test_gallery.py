"""Pictures are made once, and say the same as a row or as a list."""

import pytest

import fairlead as fl
from fairlead.lowering.expr import byte_set, repeat
from fairlead.masks import gallery
from fairlead.masks.bits import unpack
from fairlead.masks.gallery import Gallery
from fairlead.masks.kernels import layout as at
from fairlead.masks.lexicon import Lexicon

WORDS = [*(bytes((b,)) for b in range(256)), b"aa", b"ab", b"ac", b"aab", b"<end>"]


def vocabulary() -> fl.Vocabulary:
    return fl.Vocabulary(WORDS, eos_ids={len(WORDS) - 1})


def test_pictures_that_are_asked_for_twice_are_made_once() -> None:
    words = vocabulary()
    states = Lexicon(words.spellable)
    pictures = Gallery(words, states)
    state = states.state(repeat(byte_set(b"ab")))
    pictures.make(state)
    pictures.make_counted(state)
    made = pictures.picture_at[state], pictures.count_at[state], pictures.nbytes
    pictures.make(state)
    pictures.make_counted(state)
    assert (pictures.picture_at[state], pictures.count_at[state], pictures.nbytes) == made
    assert made[0] != made[1]


@pytest.mark.parametrize("few", [0, 1000])
def test_a_picture_has_the_tokens_that_its_state_reads(
    few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gallery, "_FEW", few)
    words = vocabulary()
    states = Lexicon(words.spellable)
    pictures = Gallery(words, states)
    state = states.state(repeat(byte_set(b"ab")))
    pictures.make(state)
    fields = pictures.pictures[pictures.picture_at[state]]
    if few:
        tokens = pictures.listed[fields[at.P_LISTED] : fields[at.P_LISTED + 1]].tolist()
    else:
        tokens = unpack(pictures.base[fields[at.P_BASE]]).tolist()
    assert tokens == [t for t, word in enumerate(WORDS) if word and set(word) <= set(b"ab")]


def test_pictures_without_room_are_not_made_and_not_asked_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gallery, "MOST_PICTURES", 1)
    words = vocabulary()
    states = Lexicon(words.spellable)
    pictures = Gallery(words, states)
    state = states.state(repeat(byte_set(b"ab")))
    pictures.make(state)
    pictures.make_counted(state)
    assert pictures.picture_at[state] == pictures.count_at[state] == at.NO_PICTURE
    assert pictures.nbytes == 0
