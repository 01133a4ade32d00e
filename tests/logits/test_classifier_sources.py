"""What `classifier` makes of functions, estimators, lexicons and other sources.

The estimators here have scikit-learn's interface: `classes_`, and arrays with a column for each.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

from guideway.errors import ModelError, UnsupportedError
from guideway.logits.classifier import asked
from guideway.logits.classifier_sources import Function, Lexicon, classifier, fudge


def share_of_a(texts: list[str]) -> list[float]:
    assert isinstance(texts, list)
    return [text.count("a") / max(1, len(text)) for text in texts]


class Estimator:
    """What all estimators have once they are fitted."""

    def __init__(self, classes: Sequence[object] = ("clean", "rude")) -> None:
        self.classes_ = np.array(classes)

    def chances(self, texts: list[str]) -> np.ndarray:
        of_second = np.array(share_of_a(texts))
        rest = [(1 - of_second) / (len(self.classes_) - 1)] * (len(self.classes_) - 1)
        return np.stack([rest[0], of_second, *rest[1:]], 1)


class Probable(Estimator):
    def predict_proba(self, texts: list[str]) -> np.ndarray:
        return self.chances(texts)

    def decision_function(self, texts: list[str]) -> np.ndarray:
        raise AssertionError


class Logarithmic(Probable):
    def predict_log_proba(self, texts: list[str]) -> np.ndarray:
        return np.log(self.chances(texts))


class Distant(Estimator):
    def decision_function(self, texts: list[str]) -> np.ndarray:
        return np.array([40.0 * text.count("a") - 20 for text in texts])


def answers(source: Any, texts: list[str], **options: Any) -> list[float]:
    return asked(classifier(source, alpha=1, **options), texts).exp().tolist()


def test_a_function_gives_probabilities_or_their_logarithms():
    assert answers(share_of_a, ["ab", "", "aaa"]) == [0.5, 0, 1]

    def logarithms(texts: list[str]) -> np.ndarray:
        return np.log([0.25] * len(texts))

    assert answers(logarithms, ["x"], gives="log-probabilities") == pytest.approx([0.25])
    assert answers(lambda texts: torch.full((len(texts),), 0.5), ["x", "y"]) == [0.5, 0.5]
    with pytest.raises(UnsupportedError, match=r"gives='logits'.*'probabilities' or 'log-prob"):
        Function(share_of_a, "logits", "share_of_a")


@pytest.mark.parametrize(("answer", "said"), [
    ([0.5], r"numbers of shape \(1,\) for 2 texts"),
    ([[0.5, 0.5]] * 2, r"numbers of shape \(2, 2\) for 2 texts"),
    ([0.5, math.nan], "NaN for '…second"),
    ([1.5, 0.5], "1.5 for 'first': a probability is between 0 and 1"),
    ([0.5, -2.0], "-2 for '…second.*log-probabilities"),
    ("no", "no numbers"),
])  # fmt: skip
def test_a_function_that_gives_something_else_is_named(answer: object, said: str):
    def judge(texts: list[str]) -> object:
        return answer

    with pytest.raises(ModelError, match=f"the classifier judge gave {said}"):
        answers(judge, ["first", "second" * 50])


@pytest.mark.parametrize("kind", [Probable, Logarithmic])
def test_an_estimator_is_asked_for_the_label_by_its_name(kind: type[Estimator]):
    texts = ["abcd", "aaaa", "b"]
    assert answers(kind(), texts) == pytest.approx([0.25, 1, 0])
    assert answers(kind(), texts, label="clean") == pytest.approx([0.75, 0, 1])
    three = kind(["left", "centre", "right"])
    assert answers(three, texts, label="centre") == pytest.approx([0.25, 1, 0])
    assert answers(three, texts, label="right") == pytest.approx([0.375, 0, 0.5])
    assert answers(kind([0, 1]), texts, label=0) == pytest.approx([0.75, 0, 1])
    assert answers(kind([0, 1]), texts, label="1") == pytest.approx([0.25, 1, 0])


def test_distances_from_a_border_are_log_odds():
    expected = 1 / (1 + math.exp(20))
    assert answers(Distant(), ["b", "a"]) == pytest.approx([expected, 1 - expected])
    assert answers(Distant(), ["b", "a"], label="clean") == pytest.approx([1 - expected, expected])
    far = asked(classifier(Distant(), alpha=1, label="clean"), ["a" * 50])
    assert far.tolist() == pytest.approx([-1980])  # where probabilities would be 0
    with pytest.raises(ModelError, match="Distant has 3 classes and gives distances"):
        classifier(Distant("abc"), alpha=1, label="a")


def test_a_label_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(
        ModelError, match=r"no label 'rud': it has 'clean', 'rude'; did you mean 'r"
    ):
        classifier(Probable(), alpha=1, label="rud")
    with pytest.raises(ModelError, match=r"has no label 'xyz': it has 'clean', 'rude'$"):
        classifier(Probable(), alpha=1, label="xyz")
    with pytest.raises(ModelError, match=r"label= must name one of .* Probable: 0, 1.* 19, …"):
        classifier(Probable(range(30)), alpha=1)
    with pytest.raises(ModelError, match="label='rude': share_of_a gives one number for each text"):
        classifier(share_of_a, alpha=1, label="rude")


def test_an_estimator_that_was_not_fitted_is_refused():
    unfitted = Probable()
    del unfitted.classes_
    with pytest.raises(ModelError, match="Probable has no classes_: fit it"):
        classifier(unfitted, alpha=1)


def test_an_estimator_that_gives_something_else_is_named():
    class Flat(Probable):
        def predict_proba(self, texts: list[str]) -> np.ndarray:
            return np.zeros(len(texts) + 1)

    class Wrong(Probable):
        def predict_proba(self, texts: list[str]) -> np.ndarray:
            return np.full((len(texts), 2), 7)

    with pytest.raises(ModelError, match=r"Flat gave numbers of shape \(2,\) for 1"):
        answers(Flat(), ["x"])
    with pytest.raises(ModelError, match="Wrong gave 7 for 'x'"):
        answers(Wrong(), ["x"])


def test_words_with_weights_are_a_lexicon():
    assert answers({"good": 1}, ["good day", "day"]) == pytest.approx([1 / (1 + math.exp(-1)), 0.5])
    assert str(classifier({"good": 1}, alpha=2.5, top=7)) == (
        "classifier(Lexicon, alpha=2.5, top=7)"
    )


def test_a_classifier_is_taken_as_it_is():
    lexicon = Lexicon({"good": 1})
    assert classifier(lexicon, alpha=1).classifier is lexicon
    assert isinstance(classifier(share_of_a, alpha=1).classifier, Function)


@pytest.mark.parametrize("source", [3, "toxicity", None, (1, 2), (share_of_a,), Lexicon])
def test_anything_else_is_refused(source: object):
    with pytest.raises(ModelError, match="is not a classifier: it must have log_probs"):
        classifier(source, alpha=1)


def test_settings_reach_the_term():
    term = classifier(
        share_of_a, alpha=-5, top=7, every=2, entropy=1, window=9, rest="keep", prompt=False
    )
    assert (term.alpha, term.top, term.every, term.entropy) == (-5, 7, 2, 1)
    assert (term.window, term.rest, term.prompt, term.name) == (9, "keep", False, "share_of_a")


def test_fudge_has_the_published_defaults():
    term = fudge(share_of_a)
    assert (term.alpha, term.top, term.every, term.rest, term.prompt) == (4, 200, 1, "drop", True)
    assert asked(fudge(Probable(), label="clean", alpha=1), ["ab"]).exp().tolist() == [0.5]
