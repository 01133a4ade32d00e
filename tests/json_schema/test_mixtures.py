"""All keywords beside each other: two validators judge what a schema allows, and what is written.

`-m slow` takes thousands of schemas, CI a few of them.
"""

import json
import math
from typing import Any

import pytest

import guideway as gw
from json_mixtures import Mixture
from json_schemas import is_exact, read_exactly
from random_walks import BYTES, text_of

pytestmark = pytest.mark.untraced


def written(value: Any, mixture: Mixture) -> str:
    """An instance with its keys in any order."""
    if isinstance(value, dict):
        members = [f"{json.dumps(k)}: {written(v, mixture)}" for k, v in value.items()]
        return "{" + ",".join(mixture.chance.sample(members, len(members))) + "}"
    if isinstance(value, list):
        return "[" + " , ".join(written(item, mixture) for item in value) + "]"
    return json.dumps(value, ensure_ascii=mixture.chance.random() < 0.5)


@pytest.mark.parametrize(
    "seeds",
    [
        range(25),
        *(pytest.param(range(n, n + 250), marks=pytest.mark.slow) for n in range(1000, 5000, 250)),
    ],
    ids=str,
)
def test_validators_agree_with_what_any_keywords_allow(seeds: range) -> None:
    for seed in seeds:
        mixture = Mixture(seed)
        values = [mixture.value() for _ in range(8)]
        try:
            constraint = gw.compile(gw.JsonSchema(mixture.schema, whitespace="any"), BYTES)
        except gw.UnsatisfiableError:
            assert not any(map(mixture.verdict, values)), (seed, mixture.schema)
            continue
        except gw.SourceError as error:
            assert "refers to itself" in str(error)  # noqa: PT017  others are none of these schemas
            continue
        for _ in range(2):
            text = text_of(constraint, mixture.chance, 50).decode()
            assert constraint.matches(text), (seed, mixture.schema, text)
            value = read_exactly(text) if is_exact(text) else math.nan
            if value == value:
                assert mixture.verdict(value) is not False, (seed, mixture.schema, text)
                values += [value, mixture.changed(value), mixture.changed(value)]
        for value in [*values, *map(mixture.changed, values)]:
            valid, text = mixture.verdict(value), written(value, mixture)
            assert valid is None or constraint.matches(text) is valid, (seed, mixture.schema, text)
