"""Words with weights as a classifier."""

import math

import pytest

from guideway.errors import SourceError
from guideway.logits.classifier_sources import Lexicon


def odds(lexicon: Lexicon, text: str) -> float:
    log_prob = float(lexicon.log_probs([text])[0])
    return log_prob - math.log(-math.expm1(log_prob))


def test_words_are_whole_and_capitals_do_not_matter():
    lexicon = Lexicon({"class": 1, "Don't": 3, "straße": 7})
    assert odds(lexicon, "CLASS, class; first-class") == pytest.approx(3)
    assert odds(lexicon, "classic subclass class_1") == pytest.approx(0)
    assert odds(lexicon, "don't! DON’T don t") == pytest.approx(6)
    assert odds(lexicon, "STRASSE") == pytest.approx(7)
    assert odds(lexicon, "") == pytest.approx(0)


def test_bias_and_scale_are_those_of_the_logistic():
    lexicon = Lexicon({"good": 2, "bad": -3.5}, bias=-1, scale=0.5)
    assert odds(lexicon, "good good bad") == pytest.approx(-1 + 0.5 * (4 - 3.5))


def test_weights_far_out_stay_numbers():
    lexicon = Lexicon({"no": -1e100, "yes": 1e100})
    assert lexicon.log_probs(["no " * 50, "yes " * 50]).tolist() == pytest.approx([-5e101, 0.0])


@pytest.mark.parametrize(("weights", "options", "said"), [
    ({"two words": 1}, {}, "'two words' in a lexicon is not a single word"),
    ({"": 1}, {}, "'' in a lexicon is not a single word"),
    ({"well-known": 1}, {}, "is not a single word"),
    ({"a": 1, "A": 2}, {}, "'A' twice"),
    ({"a": math.nan}, {}, "'a' in a lexicon is nan"),
    ({"a": math.inf}, {}, "'a' in a lexicon is inf"),
    ({"a": 1}, {"bias": math.inf}, "bias in a lexicon is inf"),
    ({"a": 1}, {"scale": 10**400}, "scale in a lexicon is 1000"),
])  # fmt: skip
def test_a_wrong_lexicon_is_refused_by_name(weights: dict, options: dict, said: str):
    with pytest.raises(SourceError, match=said):
        Lexicon(weights, **options)
