import pytest

from fairlead.errors import LimitError, UnsupportedError
from fairlead.sampling.settings import LATER, NAMES, Sampling


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


def test_a_name_like_no_other_gets_the_list():
    with pytest.raises(UnsupportedError, match="there are do_sample, temperature"):
        Sampling.of({"zzz": 1})


@pytest.mark.parametrize("name", LATER)
def test_what_is_not_there_yet_is_refused_rather_than_ignored(name: str):
    with pytest.raises(UnsupportedError, match="not supported yet") as caught:
        Sampling.of({name: 2})
    assert caught.value.feature == name
    assert name not in NAMES


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
    with pytest.raises(LimitError, match="give a temperature or a seed"):
        Sampling(num_return_sequences=2)
    assert Sampling(num_return_sequences=2, seed=1).num_return_sequences == 2


def test_filters_of_greedy_text_are_off():
    assert Sampling(do_sample=False, temperature=0.2, top_k=3).warps == (1.0, 0, 1.0, 0.0)
    assert Sampling(top_k=3, min_p=0.1).warps == (1.0, 3, 1.0, 0.1)
