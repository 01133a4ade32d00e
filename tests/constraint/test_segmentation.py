"""The fewest tokens, against trying everything."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guideway.constraint import special_tokens as segmentation
from guideway.constraint.special_tokens import Segmentation
from guideway.vocabulary.vocabulary import Vocabulary

words = st.lists(st.sampled_from(b"ab"), min_size=1, max_size=3).map(bytes)


@given(st.lists(words, min_size=1, max_size=5), st.lists(st.sampled_from(b"ab"), max_size=7))
def test_it_is_the_least_number_of_rounds(tokens, letters):
    text = bytes(letters)
    reached, rounds = {b""}, 0
    while text not in reached and rounds <= len(text):
        reached = {r + t for r in reached for t in tokens if text.startswith(r + t)}
        rounds += 1
    assert Segmentation(Vocabulary(tokens)).fewest(text) == (rounds if text in reached else None)


@given(st.lists(words, min_size=1, max_size=5), st.lists(st.lists(st.sampled_from(b"ab"))))
def test_texts_one_after_another_are_each_told_as_if_alone(tokens, texts):
    vocabulary = Vocabulary(tokens)
    one = Segmentation(vocabulary)
    for text in map(bytes, texts):
        assert one.fewest(text) == Segmentation(vocabulary).fewest(text)


def test_parts_take_no_fewer_than_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    words = [b"a", b"b", b",", b"ab", b"a,b", b",a", b"bb"]
    vocabulary, dice = Vocabulary(words), random.Random(4)
    texts = [bytes(dice.choices(b"ab,", k=dice.randrange(12))) for _ in range(200)]
    parted = [Segmentation(vocabulary).in_parts(text) for text in texts]
    one = Segmentation(vocabulary)
    assert [one.in_parts(text) for text in texts] == parted
    monkeypatch.setattr(segmentation, "_PARTS", 3)
    assert [one.in_parts(text) for text in texts] == parted
    for text, told in zip(texts, parted, strict=True):
        whole = Segmentation(vocabulary).fewest(text)
        assert told is not None
        assert whole is not None
        assert whole <= told <= len(text)
    assert Segmentation(Vocabulary(words[1:])).in_parts(b"b,aa") is None
