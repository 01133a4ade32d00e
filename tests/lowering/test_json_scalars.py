"""Many strings are lowered by groups that begin alike, which changes nothing."""

import random

import pytest

from fairlead.lowering import json_scalars
from fairlead.lowering.expr import EPSILON
from fairlead.lowering.json_text import Spelling


@pytest.mark.parametrize(("few", "deepest"), [(1, 8), (2, 3), (5, 1)])
def test_many_strings_are_the_same_choice_whether_lowered_by_groups_or_at_once(
    monkeypatch, few, deepest
):
    monkeypatch.setattr(json_scalars, "_FEW_STRINGS", few)
    monkeypatch.setattr(json_scalars, "_DEEPEST", deepest)
    json_scalars._one_of.cache_clear()
    for seed in range(30):
        chance, spelling = random.Random(seed), Spelling(bool(seed % 2))
        drawn = ("".join(chance.choices('ab"é', k=chance.randint(0, 6))) for _ in range(40))
        words = tuple(sorted(set(drawn)))
        expected = spelling.choose((word, EPSILON) for word in words)
        assert json_scalars._one_of(words, spelling) is expected
    json_scalars._one_of.cache_clear()
