"""The settings of guiding by a classifier."""

import math
from collections.abc import Sequence

import pytest
import torch

from guideway.errors import LimitError, UnsupportedError
from guideway.logits.classifier import Classifier, ClassifierTerm


class Neutral:
    def log_probs(self, texts: Sequence[str]) -> torch.Tensor:
        return torch.zeros(len(texts))


@pytest.mark.parametrize(("setting", "value", "allowed"), [
    ("alpha", math.nan, "a finite number"),
    ("alpha", -math.inf, "a finite number"),
    ("alpha", 10**400, "a finite number"),
    ("alpha", True, "a finite number"),
    ("top", 0, "an integer from 1 up"),
    ("every", 0, "an integer from 1 up"),
    ("every", True, "an integer from 1 up"),
    ("window", 0, "an integer from 1 up"),
    ("entropy", -0.1, "a finite number of nats from 0 up"),
    ("entropy", math.inf, "a finite number of nats from 0 up"),
])  # fmt: skip
def test_a_number_out_of_its_range_is_refused_with_the_range(
    setting: str, value: object, allowed: str
):
    with pytest.raises(LimitError, match=f"{setting} of a classifier is .*: it must be {allowed}"):
        ClassifierTerm(Neutral(), **{"alpha": 1.0, setting: value})


def test_what_rest_may_be_is_said():
    with pytest.raises(
        UnsupportedError, match=r"rest .* is 'neutral': it must be 'drop' or 'keep'"
    ):
        ClassifierTerm(Neutral(), 1, rest="neutral")


def test_a_window_and_the_prompt_exclude_each_other():
    with pytest.raises(UnsupportedError, match=r"window=3 .* prompt=True"):
        ClassifierTerm(Neutral(), 1, window=3, prompt=True)


def test_a_term_says_what_it_is():
    assert isinstance(Neutral(), Classifier)
    term = ClassifierTerm(Neutral(), -5.0, name="toxicity")
    assert str(term) == "classifier(toxicity, alpha=-5, top=100)"
    assert term == ClassifierTerm(term.classifier, -5, name="toxicity")


def test_a_term_can_be_multiplied_by_a_number():
    term = ClassifierTerm(Neutral(), 4, top=7)
    assert (2 * term, term * 0.5, term / 2, -term) == tuple(
        ClassifierTerm(term.classifier, alpha, top=7) for alpha in (8, 2.0, 2.0, -4)
    )
    with pytest.raises(LimitError, match=r"of a classifier is .*: it must be a finite number"):
        _ = term * "2"
    with pytest.raises(LimitError, match=r"of a classifier is .*: it must be a finite number"):
        _ = term / term
    with pytest.raises(LimitError, match="alpha of a classifier is inf"):
        _ = 1e300 * term * 1e300
