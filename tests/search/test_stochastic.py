"""Stochastic beams are a sample without replacement: by enumeration of small languages."""

import math
from functools import cache
from itertools import permutations
from typing import Any

import pytest
import torch

import guideway as gw
from guideway.generation.row.request import Request
from guideway.generation.row.result import Result
from guideway.models.fake import FakeModel
from guideway.sampling.noise import gumbel, keys, streams
from guideway.sampling.settings import Sampling
from guideway.search.stochastic import conditioned, weight
from open_law import fits, open_law
from whole_batches import find, generate, search

BITS = gw.Vocabulary([b"0", b"1", b"<eos>"], eos_ids={2})
PATTERN = "[01]{1,2}"
MODEL = FakeModel.random(BITS, 3, scale=1.5)
DRAWS = 400  # laws are tested on these, of four beams; fewer beams have the same first texts
FEWER = 100


@cache
def truth() -> dict[str, float]:
    """The probability of each of the six texts, token by token, of what is allowed."""
    law = open_law(MODEL, {b"0", b"1", b"00", b"01", b"10", b"11"}, local=True)
    return {"".join(map(str, tokens)): share for tokens, share in law.items()}


@cache
def samples(beams: int, count: int | None = None) -> list[list[Result]]:
    """Many independent runs, as one batch."""
    constraint = gw.compile(gw.Regex(PATTERN), BITS)
    sampling = Sampling(
        num_beams=beams, stochastic_beams=True, num_return_sequences=count or beams, seed=11
    )
    draws = range(DRAWS if (beams, count) == (4, None) else FEWER)
    return find(MODEL, [Request((0,), constraint, sampling, sample=n) for n in draws])


def plackett_luce(shares: dict[str, float], count: int) -> dict[tuple[str, ...], float]:
    """Of each ordered sample without replacement."""
    found = dict[tuple[str, ...], float]()
    for order in permutations(shares, count):
        left, probability = 1.0, 1.0
        for text in order:
            probability *= shares[text] / left
            left -= shares[text]
        found[order] = probability
    return found


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_orders_have_the_law_of_drawing_without_replacement(count: int):
    found = [tuple(done.text for done in each[:count]) for each in samples(4)]
    assert fits(found, plackett_luce(truth(), count))


def test_one_beam_has_the_law_of_ordinary_samples():
    constraint = gw.compile(gw.Regex(PATTERN), BITS)
    requests = [Request((0,), constraint, Sampling(seed=3), sample=n) for n in range(DRAWS)]
    ordinary = generate(MODEL, requests)
    for texts in (ordinary, [each[0] for each in samples(4)], [each[0] for each in samples(1)]):
        assert fits([done.text for done in texts], truth())


@pytest.mark.parametrize("beams", [1, 2, 4])
def test_weighted_sums_are_unbiased(beams: int):
    worth = {text: 1 + 2 * text.count("1") + len(text) for text in truth()}
    expected = sum(share * worth[text] for text, share in truth().items())
    estimates = torch.tensor(
        [sum((done.weight or 0.0) * worth[done.text] for done in each) for each in samples(beams)],
        dtype=torch.float64,
    )
    assert all(len(each) == beams for each in samples(beams))
    error = float(estimates.std()) / math.sqrt(len(estimates))
    assert abs(float(estimates.mean()) - expected) < 4 * error
    assert error < 0.2 * expected


def test_of_a_language_of_few_texts_all_come_with_their_probabilities():
    for each in samples(8):
        assert {done.text: done.weight for done in each} == pytest.approx(truth(), abs=1e-6)
        assert [done.score for done in each] == sorted((done.score for done in each), reverse=True)


@pytest.mark.parametrize("beams", [1, 2, 4])
def test_with_more_beams_the_first_texts_are_the_same(beams: int):
    for few, many in zip(samples(beams), samples(8), strict=False):
        assert [done.text for done in few] == [done.text for done in many[:beams]]
        assert [done.score for done in few] == pytest.approx([done.score for done in many[:beams]])


def test_the_weight_is_that_of_the_greatest_number_which_was_left():
    """With all texts found, the number after the last that is returned is its κ."""
    for beams, count in ((1, 1), (2, 2), (4, 4), (4, 2)):
        runs = samples(beams) if count == beams else samples(beams, count)
        for few, many in zip(runs, samples(8), strict=False):
            for done in few:
                p = truth()[done.text]
                kappa = many[count].score or 0.0
                q = 1 - math.exp(-math.exp(math.log(p) - kappa))
                assert done.weight == pytest.approx(p / q, rel=1e-4)
    assert weight(-900.0, -3.0) == pytest.approx(math.exp(-3.0))  # of improbable texts
    assert weight(-1.0, -900.0) == pytest.approx(math.exp(-1.0))
    assert weight(-2000.0, -1999.0) == 0.0


def test_the_greatest_child_is_its_parent_and_the_others_are_below():
    noise = gumbel(torch.arange(50), 9).double().sort(1, descending=True).values
    parents = torch.linspace(-800, 5, 50, dtype=torch.float64)[:, None]
    found = conditioned(noise, parents)
    assert torch.equal(found.amax(1, keepdim=True), parents)
    assert bool((found.diff(dim=1) <= 0).all())
    free = conditioned(noise, torch.full_like(parents, math.nan))
    torch.testing.assert_close(free, noise)


def test_children_of_a_parent_with_its_own_noise_are_gumbel_numbers():
    """Conditioning on a number that is itself drawn changes no law: Kolmogorov and Smirnov."""
    count = 20_000
    logs = torch.tensor([0.5, 0.3, 0.2]).log()
    key = keys(streams([(1, 0)], torch.device("cpu")).expand(count), torch.arange(count))
    noised = (logs + gumbel(key, 3)).double()
    parents = gumbel(key, 4)[:, 3:].double()
    order = noised.argsort(dim=1, descending=True)
    found = conditioned(noised.gather(1, order), parents)
    back = torch.empty_like(found).scatter(1, order, found)
    for place, log in enumerate(logs.tolist()):
        values = back[:, place].sort().values - log
        shares = (-(-values).exp()).exp()
        steps = torch.arange(1, count + 1) / count
        assert float((shares - steps).abs().max()) < 1.95 / math.sqrt(count)  # 0.1 %


def sample(size: int) -> dict[str, Any]:
    """The settings of a sample of so many texts."""
    return {"num_beams": size, "num_return_sequences": size, "stochastic_beams": True, "seed": 1}


def test_limits_are_known_before_anything_is_drawn():
    """Probabilities are those of the texts that fit, from the first token on."""
    model = FakeModel.random(BITS, 1)
    found = search(model, gw.Regex("0{6}|1[01]|01*"), **sample(9), max_new_tokens=3)
    assert {done.text for done in found} == {"10", "11", "0", "01", "011"}
    assert sum(done.weight or 0.0 for done in found) == pytest.approx(1, abs=1e-6)


def test_free_text_ends_at_its_end_ids_together_or_where_no_tokens_are_left():
    ends = gw.Vocabulary([b"0", b"1", b"</s>", b"<eos>"], eos_ids={2, 3})
    model = FakeModel.random(ends, 2)
    found = search(model, **sample(9), max_new_tokens=2)
    assert sorted(done.text for done in found) == ["", "0", "00", "01", "1", "10", "11"]
    assert sum(done.weight or 0.0 for done in found) == pytest.approx(1, abs=1e-6)
    first = model.prefill([(0,)])[1][0].softmax(0)
    empty = next(done for done in found if not done.text)
    assert empty.weight == pytest.approx(float(first[2:].sum()))


def test_filters_and_temperature_are_those_of_ordinary_samples():
    words = gw.Vocabulary([bytes([97 + n]) for n in range(20)] + [b"<eos>"], {20})
    model = FakeModel.random(words, 4)
    found = search(model, **sample(6), max_new_tokens=1, top_k=3, temperature=2.0)
    row = model.prefill([(0,)])[1][0]
    best = row.topk(3)
    shares = (best.values / 2).softmax(0).tolist()
    expected = {
        bytes([97 + n]).decode(): s for n, s in zip(best.indices.tolist(), shares, strict=True)
    }
    assert {done.text: done.weight for done in found} == pytest.approx(expected, abs=1e-6)


def test_where_nothing_has_a_probability_there_is_a_dead_end():
    model = FakeModel(BITS, lambda prefix: [-math.inf] * 3)
    with pytest.raises(gw.DeadEndError, match="row 0: no beam is left at step 0"):
        search(model, **sample(2))
