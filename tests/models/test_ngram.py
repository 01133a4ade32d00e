import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import guideway as gw
from guideway.models.ngram import FALLBACK, NgramModel, discounts

# Ids 0 to 4 are text; 5 is a gap, 6 the end that counts, 7 another end, 8 a padding row.
SMALL = gw.Vocabulary(
    [b"a", b"b", b"c", b"d", b"e", None, b"<end>", b"<eot>"], eos_ids={6, 7}, width=9
)
TEXT, END = range(5), 6
PREDICTED = [*TEXT, END]


class Naive:
    """The definition, with dictionaries: one number at a time."""

    def __init__(self, texts: list[list[int]], order: int) -> None:
        self.order = order
        bounded = [(END, *text, END) for text in texts if text]
        self.raw = [
            Counter(
                text[at : at + size]
                for text in bounded
                for at in range(size == 1, len(text) - size + 1)
            )
            for size in range(1, order + 1)
        ]
        self.amounts = [{gram: self.amount(gram) for gram in grams} for grams in self.raw]
        self.discounts = [self.estimated(list(each.values())) for each in self.amounts]

    def amount(self, gram: tuple[int, ...]) -> int:
        size = len(gram)
        if size == self.order or (size > 1 and gram[0] == END):
            return self.raw[size - 1][gram]
        return sum((token, *gram) in self.raw[size] for token in PREDICTED)

    def estimated(self, amounts: list[int]) -> tuple[float, ...]:
        n1, n2, n3, n4 = (amounts.count(amount) for amount in (1, 2, 3, 4))
        if not (n1 and n2 and n3):
            return FALLBACK
        y = n1 / (n1 + 2 * n2)
        found = (1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3)
        return found if all(0 < d <= i for i, d in enumerate(found, 1)) else FALLBACK

    def p(self, token: int, context: tuple[int, ...]) -> float:
        amounts = self.amounts[len(context)]
        after = {w: amounts[(*context, w)] for w in PREDICTED if (*context, w) in amounts}
        shorter = self.p(token, context[1:]) if context else 1 / len(PREDICTED)
        if not after:
            return shorter
        taken = {w: self.discounts[len(context)][min(a, 3) - 1] for w, a in after.items()}
        share = after.get(token, 0) - taken.get(token, 0)
        return (share + sum(taken.values()) * shorter) / sum(after.values())

    def row(self, prompt: list[int]) -> list[float]:
        symbols = [token if token in TEXT else END for token in prompt]
        context = symbols[1 - self.order :] if self.order > 1 else []
        while END in context[1:]:
            context = context[1:]
        return [self.p(token, tuple(context)) if token in PREDICTED else 0.0 for token in range(9)]


often = st.sampled_from([0, 0, 0, 0, 1, 1, 2, 3, 4])
texts_of = st.lists(st.lists(often, max_size=12), min_size=1, max_size=12)


@given(
    texts_of.filter(any),
    st.integers(1, 4),
    st.lists(st.lists(often | st.integers(5, 8), min_size=1, max_size=6), min_size=1, max_size=9),
)
def test_rows_are_those_of_the_definition(
    texts: list[list[int]], order: int, prompts: list[list[int]]
):
    model, naive = NgramModel.train(texts, SMALL, order), Naive(texts, order)
    _, logits = model.prefill(prompts)
    wanted = torch.tensor([naive.row(prompt) for prompt in prompts])
    torch.testing.assert_close(logits.exp(), wanted, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(logits.exp().sum(1), torch.ones(len(prompts)), atol=1e-5, rtol=0)
    assert logits[:, PREDICTED].isfinite().all()
    assert (logits[:, [5, 7, 8]] == -math.inf).all()


def test_enough_text_gives_discounts_of_its_own():
    noise = np.random.default_rng(0)
    texts = [(noise.random(200) ** 3 * 5).astype(int).tolist() for _ in range(4)]
    model, naive = NgramModel.train(texts, SMALL, 4), Naive(texts, 4)
    assert any(each != FALLBACK for each in naive.discounts)
    for prompt in ([6], [0], [0, 1], [2, 1, 3], [4, 4, 4, 4]):
        _, logits = model.prefill([prompt])
        torch.testing.assert_close(logits.exp()[0], torch.tensor(naive.row(prompt)))


def test_discounts_that_counts_do_not_give_are_those_of_few_counts():
    odd = [1, 2, 3]  # D3 = 3 − 4Y · 0, which is 3
    below = [*[1] * 30, 2, *[3] * 9]  # D2 would be below 0
    for amounts in (odd, [1] * 9 + [2], below, [5, 6], []):
        found = discounts(np.array(amounts, np.int64))[1:].tolist()
        assert all(0 < each <= limit for each, limit in zip(found, (1, 2, 3), strict=True))
        assert amounts == odd or found == list(FALLBACK)


def test_an_id_without_spelling_divides_a_text():
    divided = NgramModel.train([[0, 1, 5, 5, 2], [7, 3]], SMALL)
    alone = NgramModel.train([[0, 1], [2], [3]], SMALL)
    for prompt in ([6], [0], [0, 1], [2]):
        assert torch.equal(divided.prefill([prompt])[1], alone.prefill([prompt])[1])


@settings(max_examples=20)
@given(texts_of.filter(any), st.integers(1, 4))
def test_a_file_gives_the_model_back(
    tmp_path_factory: pytest.TempPathFactory, texts: list[list[int]], order: int
):
    file = tmp_path_factory.mktemp("models") / "a.ngram"
    model = NgramModel.train(texts, SMALL, order)
    model.save(file)
    again = NgramModel.open(file, SMALL)
    assert again.order == order
    prompts = [[6], [0, 1, 2], [3]]
    assert torch.equal(model.prefill(prompts)[1], again.prefill(prompts)[1])


def test_a_file_that_is_none_is_refused(tmp_path: Path):
    file = tmp_path / "a.ngram"
    with pytest.raises(gw.ModelError, match="cannot be read"):
        NgramModel.open(file, SMALL)
    NgramModel.train([[0]], SMALL).save(file)
    with pytest.raises(gw.ModelError, match="another vocabulary than this one of 3 ids"):
        NgramModel.open(file, gw.Vocabulary([b"a", b"b", b"<end>"], eos_ids={2}))
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(gw.ModelError, match="not a complete n-gram file"):
        NgramModel.open(file, SMALL)


@pytest.mark.parametrize(
    ("texts", "vocabulary", "order", "error", "message"),
    [
        ([[0]], SMALL, 0, gw.LimitError, "the order is 0: it must be from 1 to 16"),
        ([[0]], SMALL, 17, gw.LimitError, "the order is 17: it must be from 1 to 16"),
        ([[], [5]], SMALL, 3, gw.ModelError, "no text to train n-grams on"),
        ([[0, -1]], SMALL, 3, gw.ModelError, "token -1; ids are from 0 to 8"),
        ([[0, 9]], SMALL, 3, gw.ModelError, "token 9; ids are from 0 to 8"),
        ([[0]], gw.Vocabulary([b"a"]), 3, gw.ModelError, "with an end id"),
        ([[0]], SMALL, 3, gw.ModelError, "a prompt is empty"),
    ],
)
def test_what_cannot_be_trained_or_read_is_refused(
    texts: list[list[int]], vocabulary: gw.Vocabulary, order: int, error: Any, message: str
):
    with pytest.raises(error, match=message):
        NgramModel.train(texts, vocabulary, order).prefill([[0], []])
