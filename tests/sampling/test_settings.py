"""Settings: which are taken, what they ask for, and how the others are refused."""

from typing import Any

import numpy as np
import pytest

from guideway.errors import LimitError, UnsupportedError
from guideway.sampling.settings import NAMES, ORDERS, STAGES, Sampling

NAN, INF = float("nan"), float("inf")


ASKED: dict[tuple[str | None, bool], list[Any]] = {  # a search, and whether texts are drawn
    (None, False): [
        {},
        {"max_new_tokens": 5, "stop": "x"},
        {"repetition_penalty": 1.1, "dry_multiplier": 0.8, "logit_bias": {3: 1}},
        {"temperature": 0, "seed": 1},
        {"do_sample": True, "temperature": 0},
        {"do_sample": False, "temperature": 0.7},
        {"best_of": 1},
    ],
    (None, True): [
        *({"temperature": 0.7}, {"temperature": 1}, {"top_k": 5}, {"top_p": 0.9}),
        *({"min_p": 0.1}, {"seed": 0}, {"typical_p": 0.5}, {"epsilon_cutoff": 1e-3}),
        *({"eta_cutoff": 1e-3}, {"top_h": 0.4}, {"top_n_sigma": 1}, {"mirostat_mode": 2}),
        *({"xtc_probability": 0.5}, {"do_sample": True}, {"best_of": 4}),
        {"best_of": 4, "temperature": 1},
    ],
    ("beams", False): [
        *({"num_beams": 4}, {"num_beams": 4, "seed": 0}),
        {"num_beams": 4, "num_beam_groups": 2, "diversity_penalty": 0.5},
    ],
    ("beams", True): [
        *({"num_beams": 4, "do_sample": True}, {"num_beams": 4, "temperature": 0.7}),
    ],
    ("stochastic", True): [
        *({"num_beams": 3, "stochastic_beams": True}, {"stochastic_beams": True, "seed": 1}),
    ],
    ("contrastive", False): [{"penalty_alpha": 0.6}, {"penalty_alpha": 0.6, "top_k": 4}],
    ("smc", True): [{"exactness": "smc"}, {"exactness": "smc", "temperature": 1, "best_of": 2}],
    ("rejection", True): [{"exactness": "rejection", "seed": 1}],
    ("asap", True): [{"exactness": "asap", "do_sample": True}],
}


@pytest.mark.parametrize(("search", "samples"), ASKED)
def test_settings_ask_for_a_search_and_for_samples(search: str | None, samples: bool):
    for settings in ASKED[search, samples]:
        sampling = Sampling.of(settings)
        assert (sampling.search, sampling.samples) == (search, samples), settings


WRONG: dict[str, list[object]] = {
    "do_sample": [1.5],
    "temperature": [-0.1, NAN, INF, "hot", True, np.float32("nan"), np.bool_(True)],
    "top_k": [-1, 2.0],
    "top_p": [0, 1.01],
    "min_p": [-0.1, 1.5],
    "typical_p": [0],
    "epsilon_cutoff": [1],
    "eta_cutoff": [-1e-9],
    "top_h": [1.1],
    "top_n_sigma": [0],
    "xtc_probability": [1.1],
    "xtc_threshold": [None],
    "mirostat_mode": [3, True],
    "mirostat_tau": [0],
    "mirostat_eta": [-0.1],
    "repetition_penalty": [0],
    "presence_penalty": [NAN],
    "frequency_penalty": ["much"],
    "flat_penalty": [INF],
    "no_repeat_ngram_size": [-1],
    "bad_words_ids": ["damn", [""], [[]], [3], [[-1]]],
    "logit_bias": [3, {-1: 1.0}, {1: -INF}, {(): 1.0}, [3, 1.0], [[[3], 1.0, 2.0]]],
    "dry_multiplier": [-1],
    "dry_base": [0.9],
    "dry_allowed_length": [0],
    "dry_sequence_breakers": [[""]],
    "order": [3, [3]],
    "seed": [1.5],
    "stop": [3, "", ["a", ""], ["\ud800"]],
    "min_new_tokens": [-1, None],
    "max_new_tokens": [0, True],
    "num_return_sequences": [0],
    "early_stopping": [1, 0, "Never", 0.0, [True], None.__class__],
    "best_by": ["longest"],
    "exactness": ["exact"],
}


@pytest.mark.parametrize("name", WRONG)
def test_a_value_out_of_its_range_is_refused_by_name(name: str):
    for value in WRONG[name]:
        with pytest.raises(LimitError, match=f"{name} is .*: it must be") as caught:
            Sampling.of({name: value})
        assert caught.value.limit == name
    with pytest.raises(LimitError, match=r"top_p is 1\.5"):
        Sampling(top_p=1.5)  # as a field too


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
        ({"temprature": 1}, "did you mean 'temperature'"),
        ({"zzz": 1}, r"^.{,75}help\(guideway\.Sampling\).{,25}$"),  # and no list of forty
    ],
)
def test_settings_that_do_not_go_together_are_refused_by_name(settings: Any, message: str):
    with pytest.raises(UnsupportedError, match=message):
        Sampling.of(settings)


ONLY = "there is only one most probable text"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_return_sequences": 2}, f"num_return_sequences is 2, and {ONLY}.*above 0 or a seed"),
        ({"num_beams": 2, "num_return_sequences": 3}, "at most num_beams, which is 2"),
        ({"best_of": 2, "num_return_sequences": 3, "seed": 1}, "at most best_of, which is 2"),
        ({"best_of": 2, "temperature": 0}, f"best_of is 2, and {ONLY}"),
        ({"penalty_alpha": 0.6, "num_return_sequences": 2}, "num_return_sequences is 2"),
        ({"early_stopping": "sometimes", "num_beams": 2}, 'True, False or "never"'),
        ({"exactness": "exact", "seed": 1}, "one of 'local', 'rejection', 'asap', 'smc'"),
        ({"stop": "a", "stop_strings": "b"}, "as 'stop_strings' as well"),
    ],
)
def test_counts_and_ranges_are_checked(settings: Any, message: str):
    with pytest.raises(LimitError, match=message):
        Sampling.of(settings)


def test_a_minimum_above_the_maximum_is_refused():
    with pytest.raises(LimitError, match="min_new_tokens is 9") as caught:
        Sampling(min_new_tokens=9, max_new_tokens=5)
    assert (caught.value.given, caught.value.needed) == (5, 9)


def test_a_name_may_be_near_an_argument_that_is_no_setting():
    with pytest.raises(UnsupportedError, match="did you mean 'retries'"):
        Sampling.of({"retires": 1}, also=["retries"])


INSTEAD = {
    "watermarking_config": "watermarked",
    "guidance_scale": "cfg",
    "max_length": "max_new_tokens",
    "min_length": "min_new_tokens",
    "max_time": "stream",
    "assistant_model": "speculate=model",
    "prompt_lookup_num_tokens": 'speculate="lookup"',
}


@pytest.mark.parametrize("name", INSTEAD)
def test_a_setting_of_transformers_that_is_none_here_says_what_to_write(name: str):
    with pytest.raises(UnsupportedError, match=INSTEAD[name]) as caught:
        Sampling.of({name: 2})
    assert caught.value.feature == name
    assert name not in NAMES


def test_settings_have_the_names_and_forms_of_transformers_as_well():
    for bias in ({3: 1, (4, 5): -2.5, "no": 100}, [[[3], 1.0], [[4, 5], -2.5]], lambda text: {}):
        assert Sampling(logit_bias=bias).logit_bias is bias
        assert Sampling.of({"sequence_bias": bias}).logit_bias is bias
    assert Sampling.of({"stop_strings": "x"}).stops == ("x",)
    assert Sampling.of({"stop": ["x", "y"]}).stops == ("x", "y")
    assert Sampling(num_return_sequences=2, seed=1).num_return_sequences == 2
    given = {"temperature": np.float32(0.5), "top_k": np.int64(7), "seed": np.uint64(2**63)}
    assert Sampling.of(given) == Sampling(temperature=0.5, top_k=7, seed=2**63)


def test_the_class_of_a_classifier_is_no_judge_and_a_type_is_a_function():
    class Judge:
        def log_probs(self, texts: list[str]) -> list[float]:
            return [0.0 for _ in texts]

    with pytest.raises(LimitError, match="a classifier, or a function from a text to a number"):
        Sampling(best_of=2, best_by=Judge)
    for judge in (float, Judge()):
        assert Sampling(best_of=2, best_by=judge).best_by is judge


def test_settings_that_do_nothing_are_no_stages():
    off = {"temperature": 1.0, "top_k": 0, "top_p": 1, "min_p": 0, "typical_p": 1}
    off |= {"epsilon_cutoff": 0, "eta_cutoff": 0.0, "xtc_probability": 0, "mirostat_mode": 0}
    assert Sampling(**off).warps == {}
    assert Sampling(do_sample=False, temperature=0.2, top_k=3).warps == {}
    assert Sampling(top_k=3, min_p=0.1).warps == {"top_k": 3, "min_p": 0.1}
    on = {"top_h": 1.0, "top_n_sigma": 2, "xtc_probability": 0.5, "mirostat_mode": 1}
    warps = {"top_h": 1.0, "top_n_sigma": 2, "xtc": (0.5, 0.1), "mirostat": 1}
    assert Sampling(**on).warps == warps


def test_the_stages_have_an_order_that_can_be_chosen():
    assert Sampling().stages == ORDERS["transformers"]
    assert Sampling(order="llama.cpp").stages == ORDERS["llama.cpp"]
    chosen = Sampling(top_p=0.5, temperature=2.0, order=["top_p", "temperature"])
    assert chosen.stages == ("top_p", "temperature")
    assert set(ORDERS["llama.cpp"]) == set(STAGES)
    wrong: list[tuple[Any, str]] = [
        ("vllm", "must be one of 'transformers', 'llama.cpp'"),
        (["top-p"], "did you mean 'top_p'"),
        (["zzzzzz"], "there are top_n_sigma, temperature"),
        (["top_p", "top_p"], "'top_p' twice"),
        (["temperature"], "order lacks top_p, xtc"),
    ]
    for order, message in wrong:
        with pytest.raises(UnsupportedError, match=message):
            Sampling(top_p=0.5, xtc_probability=0.1, order=order)


def test_a_preset_is_a_temperature_and_a_nucleus():
    assert Sampling.preset("Chatbot") == Sampling(temperature=0.5, top_p=0.5)
    assert Sampling.preset("code_comments") == Sampling.preset("code-comments")
    own = Sampling(temperature=0.5, top_p=0.9, seed=3)  # settings go before those of a preset
    assert Sampling.preset("chatbot", top_p=0.9, seed=3) == own
    wrong: dict[Any, str] = {
        "chat-bot": "no preset 'chat-bot'; did you mean 'chatbot'",
        "xyz": "there are code generation, creative",
        5: "no preset 5",
    }
    for name, message in wrong.items():
        with pytest.raises(UnsupportedError, match=message):
            Sampling.preset(name)
