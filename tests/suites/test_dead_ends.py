"""No walk along the masks reaches a dead end: 10,000 random walks, of which CI runs a sample."""

import random

import pytest

import guideway as gw
from corpora_items import Item, grammars, lark_grammars, regexes
from guideway.errors import GuidewayError
from random_walks import BYTES, text_of

WALKS = 10  # of each source
SHIPPED = 190  # of each shipped grammar
EVERY = 25  # source that CI takes
FUZZ = [*lark_grammars(200), *regexes(160)]


def walk(item: Item, walks: int) -> None:
    """Walk at random, then to the nearest end; a source that is refused by name has no walks."""
    source, _ = item.make()
    try:
        constraint = gw.compile(source, BYTES, budget=gw.Budget.untrusted())
    except GuidewayError:
        return
    for seed in range(walks):
        text = text_of(constraint, random.Random(f"{item.name} {seed}"), 30)
        assert constraint.matches(text.decode()), (item.kind, item.name, seed, text)


def name(item: Item) -> str:
    return f"{item.kind} {item.name}"


@pytest.mark.parametrize("item", FUZZ[3::EVERY], ids=name)
def test_random_sources_have_no_dead_end(item: Item) -> None:
    walk(item, WALKS)


@pytest.mark.slow
@pytest.mark.parametrize("item", FUZZ, ids=name)
def test_many_random_sources_have_no_dead_end(item: Item) -> None:
    walk(item, WALKS)


@pytest.mark.slow
@pytest.mark.parametrize("item", [*grammars()], ids=name)
def test_shipped_grammars_have_no_dead_end(item: Item) -> None:
    walk(item, SHIPPED)
