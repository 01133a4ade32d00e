"""Schemas that lead back to themselves: two validators judge all small values, and what is written.

`-m slow` takes thousands of schemas, CI a few of them.
"""

import json
from typing import Literal

import pytest

import guideway as gw
from json_schemas import is_exact, read_exactly
from json_tangles import VALUES, Tangle
from random_walks import BYTES, text_of

pytestmark = pytest.mark.untraced
TEXTS = [json.dumps(value) for value in VALUES]


@pytest.mark.parametrize(
    "seeds",
    [
        range(30),
        *(pytest.param(range(n, n + 500), marks=pytest.mark.slow) for n in range(1000, 5000, 500)),
    ],
    ids=str,
)
@pytest.mark.parametrize("order", ["any", "declared"])
def test_validators_agree_with_what_entangled_schemas_allow(
    seeds: range, order: Literal["any", "declared"]
) -> None:
    for seed in seeds:
        tangle = Tangle(seed)
        valid = list(map(tangle.verdict, VALUES))
        try:
            constraint = gw.compile(gw.JsonSchema(tangle.schema, key_order=order), BYTES)
        except gw.UnsatisfiableError:
            assert order == "declared" or True not in valid, (seed, tangle.schema)
            continue
        except gw.SourceError as error:
            assert "refers to itself" in str(error)  # noqa: PT017  others are none of these schemas
            continue
        if order == "any":
            for text, wanted in zip(TEXTS, valid, strict=True):
                found = constraint.matches(text)
                assert wanted is None or found is wanted, (seed, tangle.schema, text)
        for most in (0, 3, 8, 20):
            text = text_of(constraint, tangle.chance, most).decode()
            assert constraint.matches(text), (seed, tangle.schema, text)
            fits = not is_exact(text) or tangle.verdict(read_exactly(text)) is not False
            assert fits, (seed, tangle.schema, text)
