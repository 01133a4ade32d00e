"""Random nested types: what is written parses back, and what pydantic writes is in the language."""

import warnings

import pytest
from pydantic import TypeAdapter

import guideway as gw
from random_types import Types
from random_walks import BYTES, text_of


@pytest.mark.untraced
@pytest.mark.parametrize(
    "seeds",
    [
        range(1, 13),
        *(pytest.param(range(n, n + 500), marks=pytest.mark.slow) for n in range(1000, 5000, 500)),
    ],
    ids=str,
)
def test_texts_of_a_type_parse_back_and_values_of_it_are_among_its_texts(seeds: range) -> None:
    for seed in seeds:
        types = Types(seed)
        made, value = types.any()
        adapter, constraint = TypeAdapter(made), gw.compile(made, BYTES)
        for _ in range(2):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of unions, pydantic guesses what a value is of
                written = adapter.dump_json(value(), by_alias=True)
            assert constraint.matches(written.decode()), (seed, made, written)
            text = text_of(constraint, types.chance, 60)
            assert constraint.matches(text.decode()), (seed, made, text)
            adapter.validate_json(text)
