"""Guiding by a classifier: its settings, and what `classifier` makes of functions, estimators,
lexicons and other sources. The estimators here have scikit-learn's interface."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

from guideway.errors import LimitError, ModelError, SourceError, UnsupportedError
from guideway.logits.classifier import ClassifierTerm, classify
from guideway.logits.classifier_sources import Function, Lexicon, classifier, fudge


class Neutral:
    def log_probs(self, texts: Sequence[str]) -> torch.Tensor:
        return torch.zeros(len(texts))


@pytest.mark.parametrize(("settings", "error", "said"), [
    *(({"alpha": value}, LimitError, "alpha .*: it must be a finite number")
      for value in (math.nan, -math.inf, 10**400, True)),
    ({"top": 0}, LimitError, "top .*: it must be an integer from 1 up"),
    ({"every": True}, LimitError, "every .*: it must be an integer from 1 up"),
    ({"window": 0}, LimitError, "window .*: it must be an integer from 1 up"),
    ({"entropy": -0.1}, LimitError, "entropy .*: it must be a finite number of nats from 0 up"),
    ({"entropy": math.inf}, LimitError, "entropy .*: it must be a finite number of nats"),
    ({"rest": "neutral"}, UnsupportedError, "rest .* is 'neutral': it must be 'drop' or 'keep'"),
    ({"window": 3, "prompt": True}, UnsupportedError, "window=3 .* prompt=True"),
])  # fmt: skip
def test_a_wrong_setting_is_refused_with_what_is_allowed(
    settings: dict[str, Any], error: type[Exception], said: str
):
    with pytest.raises(error, match=said):
        ClassifierTerm(Neutral(), **{"alpha": 1.0} | settings)


def test_a_term_can_be_multiplied_by_a_number():
    term = ClassifierTerm(Neutral(), 4, top=7)
    for made, alpha in ((2 * term, 8), (term * 0.5, 2.0), (term / 2, 2.0), (-term, -4)):
        assert made == ClassifierTerm(term.classifier, alpha, top=7)
    for wrong in (lambda: term * "2", lambda: term / term, lambda: 1e300 * term * 1e300):
        with pytest.raises(LimitError, match=r"of a classifier is .*: it must be a finite number"):
            wrong()


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
    return classify(classifier(source, alpha=1, **options), texts).exp().tolist()


def test_a_function_gives_probabilities_or_their_logarithms():
    assert answers(share_of_a, ["ab", "", "aaa"]) == [0.5, 0, 1]

    def logarithms(texts: list[str]) -> np.ndarray:
        return np.log([0.25] * len(texts))

    assert answers(logarithms, ["x"], gives="log-probabilities") == pytest.approx([0.25])
    assert answers(lambda texts: torch.full((len(texts),), 0.5), ["x", "y"]) == [0.5, 0.5]
    with pytest.raises(UnsupportedError, match=r"gives='logits'.*'probabilities' or 'log-prob"):
        Function(share_of_a, "logits", "share_of_a")


class Answering(Probable):
    """An estimator that gives the same whatever the texts."""

    def __init__(self, answer: object) -> None:
        super().__init__()
        self.answer = answer

    def predict_proba(self, texts: list[str]) -> Any:
        return self.answer


def judging(answer: object) -> Any:
    return lambda texts: answer


class Saying:
    """A classifier that says this, whatever the texts."""

    def __init__(self, *answer: float) -> None:
        self.answer = torch.tensor(answer)

    def log_probs(self, texts: Sequence[str]) -> torch.Tensor:
        return self.answer


@pytest.mark.parametrize(("source", "said"), [
    (judging([0.5]), r"<lambda> gave numbers of shape \(1,\) for 2 texts"),
    (judging([[0.5, 0.5]] * 2), r"numbers of shape \(2, 2\) for 2 texts"),
    (judging([0.5, math.nan]), "NaN for '…second"),
    (judging([1.5, 0.5]), "1.5 for 'first': a probability is between 0 and 1"),
    (judging([0.5, -2.0]), "-2 for '…second.*log-probabilities"),
    (judging("no"), "no numbers"),
    (Answering(np.zeros(3)), r"Answering gave numbers of shape \(3,\) for 2"),
    (Answering(np.full((2, 2), 7)), "Answering gave 7 for 'first'"),
    (Saying(0.0, 0.5), "Saying gave 0.5 for '…second.*: a log-probability"),
    (Saying(math.inf, 0.0), "Saying gave inf for 'first'"),
])  # fmt: skip
def test_a_source_that_gives_something_else_is_named(source: Any, said: str):
    with pytest.raises(ModelError, match=said):
        answers(source, ["first", "second" * 50])


@pytest.mark.parametrize("kind", [Probable, Logarithmic])
def test_an_estimator_is_asked_for_the_label_by_its_name(kind: type[Estimator]):
    texts, three, two = ["abcd", "aaaa", "b"], kind(["left", "centre", "right"]), kind([0, 1])
    for estimator, label, expected in (
        (kind(), {}, [0.25, 1, 0]),
        (kind(), {"label": "clean"}, [0.75, 0, 1]),
        (three, {"label": "centre"}, [0.25, 1, 0]),
        (three, {"label": "right"}, [0.375, 0, 0.5]),
        (two, {"label": 0}, [0.75, 0, 1]),
        (two, {"label": "1"}, [0.25, 1, 0]),
    ):
        assert answers(estimator, texts, **label) == pytest.approx(expected)


def test_distances_from_a_border_are_log_odds():
    expected = 1 / (1 + math.exp(20))
    assert answers(Distant(), ["b", "a"]) == pytest.approx([expected, 1 - expected])
    assert answers(Distant(), ["b", "a"], label="clean") == pytest.approx([1 - expected, expected])
    far = classify(classifier(Distant(), alpha=1, label="clean"), ["a" * 50])
    assert far.tolist() == pytest.approx([-1980])  # where probabilities would be 0


class Unfitted(Probable):
    def __init__(self) -> None:
        pass


@pytest.mark.parametrize(
    ("source", "label", "message"),
    [
        (Distant("abc"), "a", "Distant has 3 classes and gives distances"),
        (Probable(), "rud", r"no label 'rud': it has 'clean', 'rude'; did you mean 'r"),
        (Probable(), "xyz", r"has no label 'xyz': it has 'clean', 'rude'$"),
        (Probable(range(30)), None, r"label= must name one of .* Probable: 0, 1.* 19, …"),
        (share_of_a, "rude", "label='rude': share_of_a gives one number for each text"),
        (Unfitted(), None, "Unfitted has no classes_: fit it"),
        *(
            (each, None, "is not a classifier: it must have log_probs")
            for each in (3, "toxicity", None, (1, 2), (share_of_a,), Lexicon)
        ),
    ],
)
def test_what_cannot_be_asked_is_refused(source: Any, label: Any, message: str):
    with pytest.raises(ModelError, match=message):
        classifier(source, alpha=1, **({} if label is None else {"label": label}))


def odds(lexicon: Lexicon, text: str) -> float:
    log_prob = float(lexicon.log_probs([text])[0])
    return log_prob - math.log(-math.expm1(log_prob))


def test_the_weights_of_a_lexicon_are_summed_and_scaled():
    assert odds(Lexicon({"straße": 7}), "STRASSE") == pytest.approx(7)
    lexicon = Lexicon({"good": 2, "bad": -3.5}, bias=-1, scale=0.5)
    assert odds(lexicon, "good good bad") == pytest.approx(-1 + 0.5 * (4 - 3.5))
    lexicon = Lexicon({"no": -1e100, "yes": 1e100})
    assert lexicon.log_probs(["no " * 50, "yes " * 50]).tolist() == pytest.approx([-5e101, 0.0])


@pytest.mark.parametrize(
    ("weights", "options", "said"),
    [
        ({"two words": 1}, {}, "'two words' in a lexicon is not a single word"),
        ({"": 1}, {}, "'' in a lexicon is not a single word"),
        ({"a": 1, "A": 2}, {}, "'A' twice"),
        ({"a": math.nan}, {}, "'a' in a lexicon is nan"),
        ({"a": 1}, {"bias": math.inf}, "bias in a lexicon is inf"),
        ({"a": 1}, {"scale": 10**400}, "scale in a lexicon is 1000"),
    ],
)
def test_a_wrong_lexicon_is_refused_by_name(weights: dict, options: dict, said: str):
    with pytest.raises(SourceError, match=said):
        Lexicon(weights, **options)


def test_sources_and_settings_reach_the_term():
    assert answers({"good": 1}, ["good day", "day"]) == pytest.approx([1 / (1 + math.exp(-1)), 0.5])
    assert str(classifier({"good": 1}, alpha=2.5, top=7)) == "classifier(Lexicon, alpha=2.5, top=7)"
    lexicon = Lexicon({"good": 1})
    assert classifier(lexicon, alpha=1).classifier is lexicon
    given = {"alpha": -5, "top": 7, "every": 2, "entropy": 1, "window": 9, "rest": "keep"}
    term = classifier(share_of_a, **given, prompt=False)
    assert isinstance(term.classifier, Function)
    assert {name: getattr(term, name) for name in given} == given
    assert (term.prompt, term.name) == (False, "share_of_a")
    term = fudge(share_of_a)  # the published defaults
    assert (term.alpha, term.top, term.every, term.rest, term.prompt) == (4, 200, 1, "drop", True)
    assert classify(fudge(Probable(), label="clean", alpha=1), ["ab"]).exp().tolist() == [0.5]
