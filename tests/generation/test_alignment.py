"""Logits in another vocabulary's ids: same spellings, same names, all ends as one."""

import math

import pytest
import torch

import guideway as gw
from guideway.generation.ensemble.alignment import aligned

MAIN = gw.Vocabulary([b"a", b"b", b"ab", b"<eos>"], eos_ids={3}, width=6, special={"<tool>": 4})


def row(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float32)


def test_a_vocabulary_is_aligned_with_itself_and_padding_is_nobodys():
    alignment = aligned(MAIN, MAIN)
    assert alignment.straight
    assert alignment.logits(torch.arange(6.0)).tolist() == [0, 1, 2, 3, 4, -math.inf]
    assert alignment.tokens(torch.tensor([[2, 0]])).tolist() == [[2, 0]]
    wide = gw.Vocabulary(MAIN.tokens, {3}, width=9, special={"<tool>": 4})
    assert aligned(MAIN, wide).logits(torch.arange(9.0)).tolist() == [0, 1, 2, 3, 4, -math.inf]


def test_tokens_are_the_same_where_they_spell_the_same_and_names_where_they_are_the_same():
    other = gw.Vocabulary([b"<end>", b"b", b"c", b"ab", b"a"], eos_ids={0}, special={"<tool>": 2})
    alignment = aligned(MAIN, other)
    assert alignment.logits(torch.arange(5.0)).tolist() == [4, 1, 3, 0, 2, -math.inf]
    assert alignment.tokens(torch.tensor([[0, 1, 2]])).tolist() == [[4, 1, 3]]
    given = torch.randn(2, 3, 5)
    found = alignment.logits(given)  # several rows and positions at once
    assert torch.equal(found[..., :3], given[..., [4, 1, 3]])


def test_all_ends_are_one_event_at_the_first_end_id():
    several = gw.Vocabulary([b"a", b"b", b"ab", b"<eos>", b"<end>"], eos_ids={3, 4})
    found = aligned(several, several).logits(row(0, 0, 0, 1, 2))
    assert found[3].item() == pytest.approx(math.log(math.e + math.e**2))
    assert found[4].item() == -math.inf
    one = aligned(MAIN, several).logits(row(0, 0, 0, 1, 2))
    assert one[3].item() == pytest.approx(math.log(math.e + math.e**2))


def test_special_tokens_that_the_other_lacks_have_no_support():
    plain = gw.Vocabulary([b"a", b"b", b"ab", b"<eos>"], eos_ids={3})
    alignment = aligned(MAIN, plain)
    assert alignment.logits(row(1, 2, 3, 4)).tolist() == [1, 2, 3, 4, -math.inf, -math.inf]
    swapped = aligned(MAIN, gw.Vocabulary([b"b", b"a", b"ab", b"<eos>"], eos_ids={3}))
    with pytest.raises(gw.ModelError, match="token 4"):
        swapped.tokens(torch.tensor([[4]]))
