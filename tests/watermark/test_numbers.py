"""Numbers of tokens: against the hash in plain Python, on every path by which they are computed."""

import math
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
import torch

from guideway.sampling.noise import MASK64, WEYL, mix, signed
from guideway.watermark.scheme import Kind, Scheme, numbers, repeats, row_keys, secret_of, windows

SIZES = {"left": 2, "min": 3, "self": 2, "unigram": 0, "synthid": 4, "gumbel": 4}
KINDS = get_args(Kind)


def hashed(key: int, token: int) -> int:
    """SplitMix64 at a place of the stream that begins with `key`."""
    return mix((key + (token + 1) * WEYL) & MASK64)


def by_hand(scheme: Scheme, context: list[int], token: int) -> int:
    secret = scheme.secret & MASK64
    if scheme.kind == "self":
        each = [signed(hashed(hashed(secret, one), token)) for one in [*context, token]]
        return signed(hashed(min(each) & MASK64, token))
    if scheme.kind == "min":
        least = min(signed(hashed(secret, one)) for one in context)
        return signed(hashed(hashed(least & MASK64, 0), token))
    key = secret
    for one in context:
        key = hashed(key, one)
    return signed(hashed(key, token))


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_are_those_of_the_hash_whatever_the_batch_the_width_or_the_choice(
    kind: Kind,
) -> None:
    scheme = Scheme(secret_of("key"), kind, SIZES[kind])
    contexts = torch.randint(0, 50, (5, SIZES[kind]), generator=torch.Generator().manual_seed(1))
    whole = numbers(scheme, contexts, None, 40)
    for row, token in [(0, 0), (3, 17), (4, 39)]:
        assert int(whole[row, token]) == by_hand(scheme, contexts[row].tolist(), token)
    ids = torch.tensor([[3, 39, 0]] * 5)
    assert torch.equal(numbers(scheme, contexts, ids, 40), whole[:, [3, 39, 0]])
    assert torch.equal(numbers(scheme, contexts[2:3], None, 64)[:, :40], whole[2:3])
    if torch.cuda.is_available():
        assert torch.equal(numbers(scheme, contexts.cuda(), None, 40).cpu(), whole)


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_are_uniform_and_those_of_two_keys_have_nothing_in_common(kind: Kind) -> None:
    first, other = (Scheme(secret_of(key), kind, SIZES[kind]) for key in ("a", "b"))
    contexts = torch.arange(20 * SIZES[kind]).view(20, SIZES[kind])
    one, two = (
        numbers(each, contexts, None, 500).double().numpy().ravel() / 2.0**63
        for each in (first, other)
    )
    count = 500 if kind == "unigram" else 10_000  # the rows of unigram are all the same
    assert abs(one.mean()) < 4 * 0.577 / count**0.5
    assert np.histogram(one, 10)[0].std() < 10_000 * 4 * (0.09 / count) ** 0.5
    assert abs(np.corrcoef(one, two)[0, 1]) < 4 / count**0.5


@pytest.mark.parametrize("kind", ["left", "min", "unigram"])
def test_what_is_green_in_one_place_says_nothing_of_another(kind: Kind) -> None:
    scheme = Scheme(secret_of("key"), kind, SIZES[kind])
    contexts = torch.ones(2, SIZES[kind], dtype=torch.int64)
    places = torch.tensor([5, -6])
    one, other = numbers(scheme, contexts, None, 500, places).double().numpy() / 2.0**63
    assert abs(np.corrcoef(one, other)[0, 1]) < 4 / math.sqrt(500)
    secret = mix((scheme.secret + 6 * WEYL) & MASK64)
    assert int(numbers(scheme, contexts, None, 40, places)[0, 7]) == by_hand(
        replace(scheme, secret=signed(secret)), [1] * SIZES[kind], 7
    )
    assert scheme.ranked is scheme
    assert replace(scheme, kind="self").ranked.kind == "min"


def test_keys_differ_and_a_context_is_the_tokens_before_in_their_order() -> None:
    keys: list[str | bytes | int] = ["1", 1, "2", b"\xff", -1, 10**40, "x" * 1000]
    assert len({secret_of(key) for key in keys}) == len(keys)
    for kind, count in (("left", 2), ("min", 1)):
        scheme = Scheme(5, kind, 2)
        assert len({*row_keys(scheme, torch.tensor([[1, 2], [2, 1]])).tolist()}) == count
    assert windows([1], 2).shape == (0, 2)
    assert windows([1, 2, 3], 0).shape == (4, 0)
    assert not repeats([], 1)
    assert repeats([7, 1, 7], 1)
