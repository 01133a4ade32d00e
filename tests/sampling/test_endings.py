"""Tokens that complete texts, by spelling all of them."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guideway.errors import LimitError
from guideway.sampling.history import Endings
from guideway.vocabulary.vocabulary import Vocabulary

TOKENS = [bytes(s) for n in (1, 2, 3) for s in product(b"ab", repeat=n)] + [b"\xc3", b"\xa9", None]
SMALL = Vocabulary([*TOKENS, b"<end>"], eos_ids={len(TOKENS)})

words = st.text("abé", min_size=1, max_size=4)
texts = st.lists(st.sampled_from(range(len(TOKENS) - 1)), max_size=6)


def spelled(tokens: list[int]) -> bytes:
    return b"".join(TOKENS[token] or b"" for token in tokens)


def found(endings: Endings, tokens: list[int]) -> set[int]:
    groups = [*endings.always, *endings.completed(np.array(tokens, np.int64), spelled(tokens))]
    return {int(token) for ids, _ in groups for token in ids}


@given(words, texts)
def test_a_word_is_completed_within_by_the_tokens_after_which_it_is_there(
    word: str, text: list[int]
):
    endings = Endings.of([(word, 1.0)], SMALL, within=True, what="words")
    before = spelled(text)
    data = word.encode()
    expected = {
        token
        for token, spelling in enumerate(TOKENS)
        if spelling and data in (before + spelling)[max(0, len(before) - len(data) + 1) :]
    }
    assert found(endings, text) == expected


@given(words, texts)
def test_a_text_is_completed_by_the_tokens_with_which_it_ends(word: str, text: list[int]):
    endings = Endings.of([(word, 1.0)], SMALL, within=False, what="bias")
    before = spelled(text)
    expected = {
        token
        for token, spelling in enumerate(TOKENS)
        if spelling and (before + spelling).endswith(word.encode())
    }
    assert found(endings, text) == expected


def test_a_sequence_is_completed_where_its_beginning_stands_last():
    pairs = [((3,), 1.0), ((1, 2), 2.0), ((0, 1, 2), 3.0), ((1, 4), 4.0)]
    endings = Endings.of(pairs, SMALL, within=False, what="bias")
    values = [(ids.tolist(), value) for ids, value in endings.completed(np.array([5, 0, 1]), b"")]
    assert values == [([2], 2.0), ([4], 4.0), ([2], 3.0)]
    assert [(ids.tolist(), value) for ids, value in endings.always] == [([3], 1.0)]
    assert list(endings.completed(np.array([1, 0]), b"")) == []
    assert list(endings.completed(np.array([], np.int64), b"")) == []


def test_an_id_beyond_the_vocabulary_is_refused():
    with pytest.raises(LimitError, match="bias has the token 99: it must be below 18") as caught:
        Endings.of([((1, 99), 1.0)], SMALL, within=False, what="bias")
    assert (caught.value.limit, caught.value.given) == ("bias", 99)
