"""Guiding by a classifier: its settings, and what `classifier` makes of functions, estimators,
lexicons and other sources. The estimators here have scikit-learn's interface."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

from guideway.errors import LimitError, ModelError, SourceError, UnsupportedError
from guideway.logits.classifier import Classifier, ClassifierTerm, classify
from guideway.logits.classifier_sources import Function, Lexicon, classifier, fudge


class Neutral:
    def log_probs(self, texts: Sequence[str]) -> torch.Tensor:
        return torch.zeros(len(texts))


@pytest.mark.parametrize(
    ("setting", "values", "allowed"),
    [
        ("alpha", [math.nan, -math.inf, 10**400, True], "a finite number"),
        ("top", [0], "an integer from 1 up"),
        ("every", [0, True], "an integer from 1 up"),
        ("window", [0], "an integer from 1 up"),
        ("entropy", [-0.1, math.inf], "a finite number of nats from 0 up"),
    ],
)
def test_a_number_out_of_its_range_is_refused_with_the_range(
    setting: str, values: list[object], allowed: str
):
    for value in values:
        message = f"{setting} of a classifier is .*: it must be {allowed}"
        with pytest.raises(LimitError, match=message):
            ClassifierTerm(Neutral(), **{"alpha": 1.0, setting: value})


def test_settings_that_are_none_or_do_not_go_together_are_refused():
    said = r"rest .* is 'neutral': it must be 'drop' or 'keep'"
    with pytest.raises(UnsupportedError, match=said):
        ClassifierTerm(Neutral(), 1, rest="neutral")
    with pytest.raises(UnsupportedError, match=r"window=3 .* prompt=True"):
        ClassifierTerm(Neutral(), 1, window=3, prompt=True)


def test_a_term_is_a_value_that_can_be_multiplied_by_a_number():
    assert isinstance(Neutral(), Classifier)
    term = ClassifierTerm(Neutral(), -5.0, name="toxicity")
    assert str(term) == "classifier(toxicity, alpha=-5, top=100)"
    assert term == ClassifierTerm(term.classifier, -5, name="toxicity")
    term = ClassifierTerm(Neutral(), 4, top=7)
    for made, alpha in ((2 * term, 8), (term * 0.5, 2.0), (term / 2, 2.0), (-term, -4)):
        assert made == ClassifierTerm(term.classifier, alpha, top=7)
    for wrong in (lambda: term * "2", lambda: term / term):
        with pytest.raises(LimitError, match=r"of a classifier is .*: it must be a finite number"):
            wrong()
    with pytest.raises(LimitError, match="alpha of a classifier is inf"):
        _ = 1e300 * term * 1e300


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


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ([0.5], r"numbers of shape \(1,\) for 2 texts"),
        ([[0.5, 0.5]] * 2, r"numbers of shape \(2, 2\) for 2 texts"),
        ([0.5, math.nan], "NaN for '…second"),
        ([1.5, 0.5], "1.5 for 'first': a probability is between 0 and 1"),
        ([0.5, -2.0], "-2 for '…second.*log-probabilities"),
        ("no", "no numbers"),
    ],
)
def test_a_function_that_gives_something_else_is_named(answer: object, said: str):
    def judge(texts: list[str]) -> object:
        return answer

    with pytest.raises(ModelError, match=f"the classifier judge gave {said}"):
        answers(judge, ["first", "second" * 50])


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


def odds(lexicon: Lexicon, text: str) -> float:
    log_prob = float(lexicon.log_probs([text])[0])
    return log_prob - math.log(-math.expm1(log_prob))


def test_words_of_a_lexicon_are_whole_and_their_weights_are_summed():
    lexicon = Lexicon({"class": 1, "Don't": 3, "straße": 7})
    for text, sum_ in {
        "CLASS, class; first-class": 3,
        "classic subclass class_1": 0,
        "don't! DON’T don t": 6,
        "STRASSE": 7,
        "": 0,
    }.items():
        assert odds(lexicon, text) == pytest.approx(sum_)
    lexicon = Lexicon({"good": 2, "bad": -3.5}, bias=-1, scale=0.5)
    assert odds(lexicon, "good good bad") == pytest.approx(-1 + 0.5 * (4 - 3.5))
    lexicon = Lexicon({"no": -1e100, "yes": 1e100})
    assert lexicon.log_probs(["no " * 50, "yes " * 50]).tolist() == pytest.approx([-5e101, 0.0])


@pytest.mark.parametrize(
    ("weights", "options", "said"),
    [
        ({"two words": 1}, {}, "'two words' in a lexicon is not a single word"),
        ({"": 1}, {}, "'' in a lexicon is not a single word"),
        ({"well-known": 1}, {}, "is not a single word"),
        ({"a": 1, "A": 2}, {}, "'A' twice"),
        ({"a": math.nan}, {}, "'a' in a lexicon is nan"),
        ({"a": math.inf}, {}, "'a' in a lexicon is inf"),
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
