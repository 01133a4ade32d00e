"""What a text says about a key: z, exact tails, windows, weights."""

import itertools
import math
import time
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guideway.automaton.token_tries import pack
from guideway.watermark.evidence import (
    Evidence,
    Urn,
    binomial_tail,
    clearest,
    evidence,
    gamma_tail,
    weighted,
    weighted_tail,
)
from guideway.watermark.scheme import Kind, Scheme, secret_of

GREEN = Scheme(secret_of("key"), gamma=0.5)


def of(greens: int, count: int, gamma: float = 0.5) -> Evidence:
    """So many green tokens, the first ones."""
    scores = (np.arange(count) < greens).astype(float)
    means = np.full(count, gamma)
    return Evidence(GREEN, np.arange(count), scores, means, means * (1 - means))


def test_z_of_the_published_examples() -> None:
    # 250 edits of 1,000 tokens, all of them green, leave half.
    for greens, count, z in ((16, 16, 4.0), (600, 1000, 6.3246), (1000 - 2 * 250, 1000, 0.0)):
        assert of(greens, count).z == pytest.approx(z, abs=1e-4)
    assert (of(0, 0).z, of(0, 0).p, of(0, 0).share) == (0.0, 1.0, 0.0)


@pytest.mark.parametrize(("gamma", "p"), [(0.5, 2.49e-5), (0.25, 6.2e-5), (0.1, 1.9e-4)])
def test_z_above_4_has_the_exact_binomial_probability(gamma: float, p: float) -> None:
    least = math.floor(200 * gamma + 4 * math.sqrt(200 * gamma * (1 - gamma))) + 1
    assert binomial_tail(200, gamma, least) == pytest.approx(p, rel=0.03)  # normal: 3.17e-5


@given(st.integers(0, 40), st.integers(-1, 42), st.sampled_from([0.1, 0.25, 0.5, 0.9]))
def test_tails_are_those_of_fractions(count: int, least: int, chance: float) -> None:
    p, ranks = Fraction(chance), range(max(0, least), count + 1)
    exact = float(sum(comb(count, k) * p**k * (1 - p) ** (count - k) for k in ranks))
    weighed = weighted_tail([1] * count, [chance] * count, least)
    assert [binomial_tail(count, chance, least), weighed] == pytest.approx([exact] * 2, rel=1e-9)


@given(
    st.lists(st.tuples(st.integers(0, 4), st.floats(0.01, 0.99)), max_size=8), st.integers(0, 20)
)
def test_weighted_tails_are_those_of_all_outcomes(
    tokens: list[tuple[int, float]], least: int
) -> None:
    exact = 0.0
    for outcome in range(2 ** len(tokens)):
        greens = [outcome >> n & 1 for n in range(len(tokens))]
        if sum(g * w for g, (w, _) in zip(greens, tokens, strict=True)) >= least:
            exact += math.prod(c if g else 1 - c for g, (_, c) in zip(greens, tokens, strict=True))
    weights, chances = [w for w, _ in tokens], [c for _, c in tokens]
    assert weighted_tail(weights, chances, least) == pytest.approx(exact, abs=1e-12)


def test_the_tail_of_exponential_sums_is_that_of_the_gamma_function() -> None:
    for count, least in [(1, 0.5), (3, 2.0), (50, 80.0), (200, 400.0)]:
        exact = sum(
            math.exp(n * math.log(least) - least - math.lgamma(n + 1)) for n in range(count)
        )
        assert gamma_tail(count, least) == pytest.approx(exact, rel=1e-9)
    assert gamma_tail(0, 1.0) == 0.0


def test_without_a_mark_z_is_normal_over_keys_and_so_it_is_with_the_wrong_key() -> None:
    noise = np.random.default_rng(1)
    tokens = noise.integers(0, 50_000, 200).tolist()
    right = Scheme(secret_of("right"), gamma=0.5)
    marked = [int(noise.integers(50_000))]
    while len(marked) < 200:  # a hard watermark
        token = int(noise.integers(50_000))
        if evidence(right, [marked[-1], token], [False] * 2).share == 1:
            marked.append(token)
    assert evidence(right, marked, [False] * 200).z == pytest.approx(math.sqrt(199))
    for text in (tokens, marked):
        found = [evidence(Scheme(secret_of(n), gamma=0.5), text, [False] * 200) for n in range(200)]
        zs = np.array([each.z for each in found])
        assert abs(zs.mean()) < 4 / math.sqrt(200)
        assert abs(zs.std() - 1) < 4 / math.sqrt(400)
        # p with the half of its own step drawn: uniform, by Kolmogorov and Smirnov at 1 %.
        steps = [binomial_tail(199, 0.5, round(each.scores.sum()) + 1) for each in found]
        ranks = np.sort([s + noise.random() * (e.p - s) for s, e in zip(steps, found, strict=True)])
        assert np.abs(ranks - np.arange(1, 201) / 200).max() < 1.63 / math.sqrt(200)


def test_repeated_pairs_inflate_z_and_counting_them_once_does_not() -> None:
    noise = np.random.default_rng(2)
    every, once = list[float](), list[float]()
    for key in range(150):
        # 200 pairs of 50 sorts; what is between the pairs does not count.
        pairs = noise.integers(0, 50, 200)
        text = np.stack([1000 + pairs, 2000 + pairs], 1).ravel().tolist()
        skipped = [n % 2 == 0 for n in range(400)]
        scheme = Scheme(secret_of(key), gamma=0.5)
        every.append(evidence(scheme, text, skipped, once=False).z)
        found = evidence(scheme, text, skipped)
        once.append(found.z)
        assert found.repeated + len(found.places) == 200
    assert np.std(every) == pytest.approx(2.23, abs=0.5)
    assert np.std(once) == pytest.approx(1.0, abs=0.24)


@given(st.data())
def test_each_edited_token_changes_at_most_two_colours(data: st.DataObject) -> None:
    tokens = data.draw(st.lists(st.integers(0, 99), min_size=2, max_size=60))
    places = data.draw(st.sets(st.integers(0, len(tokens) - 1), max_size=8))
    edited = [data.draw(st.integers(0, 99)) if n in places else t for n, t in enumerate(tokens)]
    before, after = (
        evidence(GREEN, each, [False] * len(each), once=False).scores for each in (tokens, edited)
    )
    assert (before != after).sum() <= 2 * len(places)


def test_a_marked_passage_is_found_in_a_long_text_where_the_whole_says_little() -> None:
    noise = np.random.default_rng(3)
    whole, part = 0, 0
    for _ in range(200):
        chance = np.where((np.arange(600) >= 200) & (np.arange(600) < 260), 0.85, 0.5)
        scores = (noise.random(600) < chance).astype(float)
        means = np.full(600, 0.5)
        found = Evidence(GREEN, np.arange(600), scores, means, means / 2)
        window = clearest(found)
        assert window is not None
        whole += found.p < 1e-3
        part += window.p < 1e-3
        if window.p < 1e-6:
            assert window.start < 240
            assert window.stop > 220
    assert part > 150
    assert whole < 60


def test_the_p_of_a_window_is_never_too_small() -> None:
    noise = np.random.default_rng(4)
    means = np.where(np.arange(150) % 3 == 0, 0.25, 0.5)
    ps = list[float]()
    for _ in range(400):
        scores = (noise.random(150) < means).astype(float)
        window = clearest(Evidence(GREEN, np.arange(150), scores, means, means * (1 - means)))
        assert window is not None
        ps.append(window.p)
    for level in (0.2, 0.05):
        assert sum(p <= level for p in ps) <= level * 400 + 4 * math.sqrt(level * 400)
    assert clearest(of(9, 15)) is None


def test_weights_leave_out_what_weighs_nothing_and_p_stays_exact() -> None:
    found = of(20, 40)
    z, p = weighted(found, (np.arange(40) < 20).astype(float))
    assert (z, p) == (pytest.approx(math.sqrt(20)), pytest.approx(0.5**20))
    assert weighted(found, np.zeros(40)) == (0.0, 1.0)
    assert weighted(of(0, 0), np.zeros(0)) == (0.0, 1.0)
    many = of(2000, 4000)
    z, p = weighted(many, np.linspace(0, 1, 4000))
    assert z < 0
    assert 0.5 < p <= 1


@given(st.data())
def test_tails_of_tokens_of_one_list_are_those_of_all_lists(data: st.DataObject) -> None:
    size = data.draw(st.integers(2, 5))
    green = data.draw(st.integers(1, size - 1))
    weights = data.draw(st.lists(st.integers(0, 4), min_size=2, max_size=size))
    if data.draw(st.booleans()):
        weights = [weights[0]] * len(weights)
    alone = data.draw(st.integers(0, 4))
    least = data.draw(st.integers(0, sum(weights) + alone))
    lists = list(itertools.combinations(range(size), green))
    exact = 0.0
    for one in lists:
        found = sum(weight for place, weight in enumerate(weights) if place in one)
        exact += ((found >= least) * 0.7 + (found + alone >= least) * 0.3) / len(lists)
    chances = [green / size] * len(weights) + [0.3]
    urn = Urn(tuple(range(len(weights))), size, green)
    assert weighted_tail([*weights, alone], chances, least, [urn]) == pytest.approx(exact)


@pytest.mark.parametrize("kind", ["left", "self"])
@pytest.mark.parametrize("same", [False, True], ids=["many sets", "one set"])
def test_z_and_p_stay_right_where_one_context_comes_before_several_sets(
    kind: Kind, same: bool
) -> None:
    # A context, then one of {1, n}, or of {1 … 8}: tokens of one list, or of lists with a token in
    # common. Counted as independent, z would deviate by 1.7 and .74.
    tokens, sets = list[int](), list[np.ndarray]()
    for token in range(2, 8):
        tokens += [0, token]
        sets += [pack([0, 60], 64), pack(range(1, 9) if same else [1, token], 64)]
    skipped = [n % 2 == 0 for n in range(len(tokens))]
    ps, zs, ranked = list[float](), list[float](), list[float]()
    for key in range(300):
        found = evidence(Scheme(secret_of(key), kind, 1, 0.5), tokens, skipped, sets)
        ps.append(found.p)
        zs.append(found.z)
        ranked.append(weighted(found, np.arange(6.0))[1])
    assert abs(np.mean(zs)) < 4 / math.sqrt(300)
    assert abs(np.std(zs) - 1) < 4 / math.sqrt(600)
    for level in {*ps, *ranked} - {1.0}:
        for found in (ps, ranked):  # of p that comes in steps: as often as it says, or less
            allowed = level * 300 + 5 * math.sqrt(level * 300) + 1
            assert sum(p <= level + 1e-9 for p in found) <= allowed
    every = evidence(Scheme(1, kind, 1, 0.5), tokens, skipped, sets, once=False)
    assert every.urns() == []


def test_long_texts_of_one_list_are_weighed_in_time() -> None:
    tokens = [*range(600)]
    sets = [pack(range(1200), 1200)] * 600
    found = evidence(Scheme(1, "unigram", 0, 0.5), tokens, [False] * 600, sets)
    assert len(found.urns()) == 1
    began = time.process_time()
    z, p = weighted(found, np.linspace(0, 1, 600))
    assert time.process_time() - began < 10
    assert p == pytest.approx(0.5 * math.erfc(z / math.sqrt(2)), abs=0.05)


def test_all_tokens_of_a_list_say_nothing_together() -> None:
    tokens = [9, 1, 9, 2, 9, 3]
    sets = [pack([9, 5], 32), pack([1, 2, 3], 32)] * 3
    found = evidence(Scheme(1, gamma=0.5), tokens, [True, False] * 3, sets)
    assert (found.z, found.p, len(found.urns())) == (0.0, 1.0, 1)
