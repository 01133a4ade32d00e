"""Which settings of searches go together, and what each combination asks for."""

from typing import Any

import pytest

from guideway.errors import LimitError, UnsupportedError
from guideway.sampling.settings import Sampling


@pytest.mark.parametrize(
    ("settings", "search", "samples"),
    [
        ({}, None, False),
        ({"num_beams": 4}, "beams", False),
        ({"num_beams": 4, "seed": 0}, "beams", False),
        ({"num_beams": 4, "do_sample": True}, "beams", True),
        ({"num_beams": 4, "temperature": 0.7}, "beams", True),
        ({"num_beams": 4, "num_beam_groups": 2, "diversity_penalty": 0.5}, "beams", False),
        ({"num_beams": 3, "stochastic_beams": True}, "stochastic", True),
        ({"stochastic_beams": True, "seed": 1}, "stochastic", True),
        ({"penalty_alpha": 0.6}, "contrastive", False),
        ({"penalty_alpha": 0.6, "top_k": 4}, "contrastive", False),
        ({"best_of": 4, "temperature": 1}, None, True),
        ({"best_of": 4}, None, True),
        ({"best_of": 1}, None, False),
        ({"exactness": "smc"}, "smc", True),
        ({"exactness": "rejection", "seed": 1}, "rejection", True),
        ({"exactness": "asap", "do_sample": True}, "asap", True),
        ({"exactness": "smc", "temperature": 1, "best_of": 2}, "smc", True),
    ],
)
def test_settings_ask_for_one_search(settings: Any, search: str | None, samples: bool):
    sampling = Sampling.of(settings)
    assert (sampling.search, sampling.samples) == (search, samples)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"exactness": "smc", "num_beams": 2, "seed": 0}, "exactness and num_beams are different"),
        ({"num_beams": 4, "penalty_alpha": 0.6}, "num_beams and penalty_alpha are different"),
        ({"num_beams": 4, "best_of": 4}, "best_of and num_beams are different"),
        ({"length_penalty": 2.0}, "length_penalty is a setting of beams and of best_of"),
        ({"early_stopping": True}, r"early_stopping is a setting of beams \(num_beams above 1\)"),
        ({"num_beams": 4, "num_beam_groups": 3}, "is 3: it must divide num_beams, which is 4"),
        ({"num_beams": 4, "diversity_penalty": 1.0}, "diversity_penalty needs num_beam_groups"),
        ({"num_beams": 4, "num_beam_groups": 2, "temperature": 1}, "not drawn at random"),
        ({"exactness": "asap", "temperature": 0}, "exactness needs sampling"),
        ({"num_beams": 2, "stochastic_beams": True, "do_sample": False}, "needs sampling"),
        ({"penalty_alpha": 0.6, "temperature": 0.5}, "is no part of contrastive search"),
        ({"penalty_alpha": 0.6, "seed": 1}, "is no part of contrastive search"),
        ({"penalty_alpha": 0.6, "top_k": 0}, "top_k is 0: contrastive search needs one candidate"),
        ({"particles": 4, "seed": 1}, "particles is a setting of smc"),
        ({"critic": len, "seed": 1}, r'critic is a setting of smc \(exactness="smc"\)'),
        ({"max_attempts": 4, "exactness": "smc", "seed": 1}, "is a setting of rejection"),
        ({"xtc_probability": 0.5, "exactness": "asap"}, "xtc_probability tosses a coin"),
        ({"best_by": "majority", "seed": 1}, "best_by needs best_of"),
        ({"num_beams": 4, "mirostat_mode": 2}, "mirostat_mode follows one text"),
    ],
)
def test_settings_that_do_not_go_together_are_refused_by_name(settings: Any, message: str):
    with pytest.raises(UnsupportedError, match=message):
        Sampling.of(settings)


@pytest.mark.parametrize(("settings", "message"), [
    ({"num_return_sequences": 2},
     "num_return_sequences is 2, and there is only one most probable text"),
    ({"num_beams": 2, "num_return_sequences": 3}, "at most num_beams, which is 2"),
    ({"best_of": 2, "num_return_sequences": 3, "seed": 1}, "at most best_of, which is 2"),
    ({"best_of": 2, "temperature": 0}, "best_of is 2, and there is only one most probable text"),
    ({"penalty_alpha": 0.6, "num_return_sequences": 2}, "num_return_sequences is 2"),
    ({"early_stopping": "sometimes", "num_beams": 2}, 'True, False or "never"'),
    ({"exactness": "exact", "seed": 1}, "one of 'local', 'rejection', 'asap', 'smc'"),
    ({"best_of": 2, "best_by": "longest", "seed": 1}, "a classifier, or a function"),
])  # fmt: skip
def test_counts_and_ranges_are_checked(settings: Any, message: str):
    with pytest.raises(LimitError, match=message):
        Sampling.of(settings)


@pytest.mark.parametrize("value", [1, 0, "Never", 0.0, [True], None.__class__])
def test_early_stopping_is_a_boolean_or_a_word(value: Any):
    with pytest.raises(LimitError, match=r'early_stopping is .*: it must be True, False or "n'):
        Sampling.of({"num_beams": 2, "early_stopping": value})


def test_the_class_of_a_classifier_is_no_judge_and_a_type_is_a_function():
    class Judge:
        def log_probs(self, texts: list[str]) -> list[float]:
            return [0.0 for _ in texts]

    with pytest.raises(LimitError, match="a classifier, or a function from a text to a number"):
        Sampling(best_of=2, best_by=Judge)
    assert Sampling(best_of=2, best_by=float).best_by is float
    assert Sampling(best_of=2, best_by=(judge := Judge())).best_by is judge
