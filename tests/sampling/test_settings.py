import numpy as np
import pytest

from guideway.errors import LimitError, UnsupportedError
from guideway.sampling.settings import NAMES, ORDERS, STAGES, Sampling


@pytest.mark.parametrize(
    ("arguments", "samples"),
    [
        ({}, False),
        ({"max_new_tokens": 5, "stop": "x"}, False),
        ({"temperature": 0.7}, True),
        ({"temperature": 1}, True),
        ({"top_k": 5}, True),
        ({"top_p": 0.9}, True),
        ({"min_p": 0.1}, True),
        ({"seed": 0}, True),
        ({"typical_p": 0.5}, True),
        ({"epsilon_cutoff": 1e-3}, True),
        ({"eta_cutoff": 1e-3}, True),
        ({"top_h": 0.4}, True),
        ({"top_n_sigma": 1}, True),
        ({"xtc_probability": 0.5}, True),
        ({"mirostat_mode": 2}, True),
        ({"repetition_penalty": 1.1, "dry_multiplier": 0.8, "logit_bias": {3: 1}}, False),
        ({"temperature": 0, "seed": 1}, False),
        ({"do_sample": True}, True),
        ({"do_sample": True, "temperature": 0}, False),
        ({"do_sample": False, "temperature": 0.7}, False),
    ],
)
def test_text_is_sampled_exactly_when_a_sampling_argument_is_given(
    arguments: dict[str, object], *, samples: bool
):
    assert Sampling.of(arguments).samples is samples


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("do_sample", 1.5),
        ("temperature", -0.1),
        ("temperature", float("nan")),
        ("temperature", float("inf")),
        ("temperature", "hot"),
        ("temperature", True),
        ("top_k", -1),
        ("top_k", 2.0),
        ("top_p", 0),
        ("top_p", 1.01),
        ("min_p", -0.1),
        ("min_p", 1.5),
        ("typical_p", 0),
        ("epsilon_cutoff", 1),
        ("eta_cutoff", -1e-9),
        ("top_h", 1.1),
        ("top_n_sigma", 0),
        ("xtc_probability", 1.1),
        ("xtc_threshold", None),
        ("mirostat_mode", 3),
        ("mirostat_mode", True),
        ("mirostat_tau", 0),
        ("mirostat_eta", -0.1),
        ("repetition_penalty", 0),
        ("presence_penalty", float("nan")),
        ("frequency_penalty", "much"),
        ("flat_penalty", float("inf")),
        ("no_repeat_ngram_size", -1),
        ("bad_words_ids", "damn"),
        ("bad_words_ids", [""]),
        ("bad_words_ids", [[]]),
        ("bad_words_ids", [3]),
        ("bad_words_ids", [[-1]]),
        ("logit_bias", 3),
        ("logit_bias", {-1: 1.0}),
        ("logit_bias", {1: float("-inf")}),
        ("logit_bias", {(): 1.0}),
        ("logit_bias", [3, 1.0]),
        ("logit_bias", [[[3], 1.0, 2.0]]),
        ("dry_multiplier", -1),
        ("dry_base", 0.9),
        ("dry_allowed_length", 0),
        ("dry_sequence_breakers", [""]),
        ("order", 3),
        ("order", [3]),
        ("seed", 1.5),
        ("stop", 3),
        ("stop", ""),
        ("stop", ["a", ""]),
        ("stop", ["\ud800"]),
        ("min_new_tokens", -1),
        ("min_new_tokens", None),
        ("max_new_tokens", 0),
        ("max_new_tokens", True),
        ("num_return_sequences", 0),
    ],
)
def test_a_value_out_of_its_range_is_refused_by_name(name: str, value: object):
    with pytest.raises(LimitError, match=f"{name} is .*: it must be") as caught:
        Sampling.of({name: value})
    assert caught.value.limit == name


def test_a_wrong_value_given_as_a_field_is_refused_too():
    with pytest.raises(LimitError, match=r"top_p is 1\.5"):
        Sampling(top_p=1.5)


def test_a_name_that_is_nearly_right_is_told():
    with pytest.raises(UnsupportedError, match="did you mean 'temperature'"):
        Sampling.of({"temprature": 1})


def test_a_name_like_no_other_gets_no_list_of_forty():
    with pytest.raises(UnsupportedError, match=r"help\(guideway\.Sampling\)") as caught:
        Sampling.of({"zzz": 1})
    assert len(str(caught.value)) < 100


def test_a_name_may_be_near_an_argument_that_is_no_setting():
    with pytest.raises(UnsupportedError, match="did you mean 'retries'"):
        Sampling.of({"retires": 1}, also=["retries"])


@pytest.mark.parametrize(("name", "instead"), [
    ("watermarking_config", "watermarked"),
    ("guidance_scale", "cfg"),
    ("max_length", "max_new_tokens"),
    ("min_length", "min_new_tokens"),
    ("max_time", "stream"),
    ("assistant_model", "speculate=model"),
    ("prompt_lookup_num_tokens", 'speculate="lookup"'),
])  # fmt: skip
def test_a_setting_of_transformers_that_is_none_here_says_what_to_write(name: str, instead: str):
    with pytest.raises(UnsupportedError, match=instead) as caught:
        Sampling.of({name: 2})
    assert caught.value.feature == name
    assert name not in NAMES


@pytest.mark.parametrize(
    "bias", [{3: 1, (4, 5): -2.5, "no": 100}, [[[3], 1.0], [[4, 5], -2.5]], lambda text: {}]
)
def test_a_bias_is_a_mapping_or_the_pairs_of_transformers_or_a_function(bias: object):
    assert Sampling(logit_bias=bias).logit_bias is bias
    assert Sampling.of({"sequence_bias": bias}).logit_bias is bias


def test_settings_that_do_nothing_are_no_stages():
    off = {"temperature": 1.0, "top_k": 0, "top_p": 1, "min_p": 0, "typical_p": 1}
    off |= {"epsilon_cutoff": 0, "eta_cutoff": 0.0, "xtc_probability": 0, "mirostat_mode": 0}
    assert Sampling(**off).warps == {}
    on = {"top_h": 1.0, "top_n_sigma": 2, "xtc_probability": 0.5, "mirostat_mode": 1}
    assert Sampling(**on).warps == {
        "top_h": 1.0, "top_n_sigma": 2, "xtc": (0.5, 0.1), "mirostat": 1,
    }  # fmt: skip


def test_the_stages_have_an_order_that_can_be_chosen():
    assert Sampling().stages == ORDERS["transformers"]
    assert Sampling(order="llama.cpp").stages == ORDERS["llama.cpp"]
    chosen = Sampling(top_p=0.5, temperature=2.0, order=["top_p", "temperature"])
    assert chosen.stages == ("top_p", "temperature")
    assert set(ORDERS["llama.cpp"]) == set(STAGES)


@pytest.mark.parametrize(("order", "message"), [
    ("vllm", "must be one of 'transformers', 'llama.cpp'"),
    (["top-p"], "did you mean 'top_p'"),
    (["zzzzzz"], "there are top_n_sigma, temperature"),
    (["top_p", "top_p"], "'top_p' twice"),
    (["temperature"], "order lacks top_p, xtc"),
])  # fmt: skip
def test_an_order_that_is_none_is_refused(order: object, message: str):
    with pytest.raises(UnsupportedError, match=message):
        Sampling(top_p=0.5, xtc_probability=0.1, order=order)


@pytest.mark.parametrize(("name", "temperature", "top_p"), [
    ("code generation", 0.2, 0.1),
    ("creative writing", 0.7, 0.8),
    ("Chatbot", 0.5, 0.5),
    ("code_comments", 0.3, 0.2),
    ("data-analysis-scripting", 0.2, 0.1),
    ("exploratory code", 0.6, 0.7),
])  # fmt: skip
def test_a_preset_is_a_temperature_and_a_nucleus(name: str, temperature: float, top_p: float):
    assert Sampling.preset(name) == Sampling(temperature=temperature, top_p=top_p)


def test_settings_go_before_those_of_a_preset():
    assert Sampling.preset("chatbot", top_p=0.9, seed=3) == Sampling(
        temperature=0.5, top_p=0.9, seed=3
    )


def test_a_preset_that_is_none_is_refused_with_the_nearest_one():
    with pytest.raises(UnsupportedError, match="no preset 'chat-bot'; did you mean 'chatbot'"):
        Sampling.preset("chat-bot")
    with pytest.raises(UnsupportedError, match="there are code generation, creative"):
        Sampling.preset("xyz")
    with pytest.raises(UnsupportedError, match="no preset 5"):
        Sampling.preset(5)  # pyright: ignore[reportArgumentType]


def test_stop_has_the_name_of_transformers_as_well():
    assert Sampling.of({"stop_strings": "x"}).stops == ("x",)
    assert Sampling.of({"stop": ["x", "y"]}).stops == ("x", "y")


def test_one_setting_under_two_names_is_refused():
    with pytest.raises(LimitError, match="as 'stop_strings' as well"):
        Sampling.of({"stop": "a", "stop_strings": "b"})


def test_a_minimum_above_the_maximum_is_refused():
    with pytest.raises(LimitError, match="min_new_tokens is 9") as caught:
        Sampling(min_new_tokens=9, max_new_tokens=5)
    assert (caught.value.given, caught.value.needed) == (5, 9)


def test_several_copies_of_the_most_probable_text_are_refused():
    with pytest.raises(LimitError, match="give a temperature above 0 or a seed"):
        Sampling(num_return_sequences=2)
    assert Sampling(num_return_sequences=2, seed=1).num_return_sequences == 2


def test_filters_of_greedy_text_are_off():
    assert Sampling(do_sample=False, temperature=0.2, top_k=3).warps == {}
    assert Sampling(top_k=3, min_p=0.1).warps == {"top_k": 3, "min_p": 0.1}


def test_numbers_of_numpy_are_numbers():
    given = {"temperature": np.float32(0.5), "top_k": np.int64(7), "seed": np.uint64(2**63)}
    assert Sampling.of(given) == Sampling(temperature=0.5, top_k=7, seed=2**63)
    for bad in (np.float32("nan"), np.bool_(True)):
        with pytest.raises(LimitError, match="temperature is"):
            Sampling.of({"temperature": bad})
