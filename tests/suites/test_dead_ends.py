"""No walk along the masks reaches a dead end: 10,000 random walks, of which CI runs a sample."""

import random
from collections.abc import Iterator
from typing import Any

import pytest

import guideway as gw
from corpora_items import Item, grammars, lark_grammars, regexes
from guideway.errors import GuidewayError
from random_walks import BYTES, text_of

EVERY = 25  # random source that CI takes


def cases() -> Iterator[Any]:
    """Sources, each with a number of walks."""
    for number, item in enumerate([*lark_grammars(200), *regexes(160)]):
        marks = [] if number % EVERY == 3 else [pytest.mark.slow]
        yield pytest.param(item, 10, marks=marks, id=f"{item.kind} {item.name}")
    for item in grammars():
        yield pytest.param(item, 190, marks=pytest.mark.slow, id=f"{item.kind} {item.name}")


@pytest.mark.parametrize(("item", "walks"), [*cases()])
def test_walks_at_random_and_then_to_the_nearest_end_have_no_dead_end(
    item: Item, walks: int
) -> None:
    source, _ = item.make()
    try:
        constraint = gw.compile(source, BYTES, budget=gw.Budget.untrusted())
    except GuidewayError:  # refused by name
        return
    for seed in range(walks):
        text = text_of(constraint, random.Random(f"{item.name} {seed}"), 30)
        assert constraint.matches(text.decode()), (item.kind, item.name, seed, text)
