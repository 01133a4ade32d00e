"""The laws of `Classifier`, on every implementation that needs no model of transformers."""

import re
from collections.abc import Sequence

import numpy as np
import pytest
import torch

from guideway.logits.classifier import Classifier, classify
from guideway.logits.classifier_sources import classifier

TEXTS = ["", "good", "good bad", "Ba", "bad bad bad", "\ufffd", "ça va", "a" * 3000]


def share_of_a(texts: list[str]) -> list[float]:
    return [text.count("a") / max(1, len(text)) for text in texts]


class Estimator:
    classes_ = np.array(["other", "wanted"])

    def predict_proba(self, texts: Sequence[str]) -> np.ndarray:
        of_wanted = np.array(share_of_a(list(texts)))
        return np.stack([1 - of_wanted, of_wanted], 1)


SOURCES = [share_of_a, Estimator(), {"good": 1.5, "bad": -3}]


@pytest.mark.parametrize("source", SOURCES)
def test_a_text_has_its_own_answer_each_time_whatever_the_texts_around_it(source: object):
    term = classifier(source, alpha=1)
    assert isinstance(term.classifier, Classifier)
    together = classify(term, TEXTS)
    assert together.dtype == torch.float64
    assert together.shape == (len(TEXTS),)
    assert bool((together <= 0).all())
    for place, text in enumerate(TEXTS):
        assert torch.equal(classify(term, [text]), together[place : place + 1])
    assert torch.equal(classify(term, TEXTS[::-1]), together.flip(0))
    texts = list(TEXTS)
    assert torch.equal(classify(term, texts), together)
    assert texts == TEXTS  # the argument is as it was


def test_the_words_of_a_lexicon_are_those_of_a_plain_regular_expression():
    """An oracle of its own: each word looked for by itself, with borders."""
    weights = {"good": 1.5, "bad": -3, "naïve": 0.25, "don't": 2}
    texts = ["Good, bad.", "NAÏVE don’t", "goods badly", "good-bad good_bad", "don't don 't"]
    for text, log_prob in zip(texts, classify(classifier(weights, alpha=1), texts), strict=True):
        plain = text.lower().replace("’", "'")
        odds = sum(
            weight * len(re.findall(rf"(?<!\w){re.escape(word)}(?!\w)", plain))
            for word, weight in weights.items()
        )
        assert float(log_prob.exp()) == pytest.approx(1 / (1 + np.exp(-odds)))
