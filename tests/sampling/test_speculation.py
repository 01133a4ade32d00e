"""The rules of speculative decoding against what they promise: the law of the target, exactly.

Laws are compared by χ² on 200,000 draws with fixed seeds; `chi2_above` is the chance of as much."""

import itertools
import math

import pytest
import torch
from torch import Tensor

import guideway as gw
from guideway.sampling.speculation import (
    acceptance_rate,
    accepts,
    best_drafted,
    expected_tokens,
    one_hot,
    residual,
    speed_up,
    verify,
)

DRAWS = 200_000


def chi2_above(counts: Tensor, law: Tensor) -> float:
    """The chance of at least this χ² where the law holds; 0 if something impossible was drawn."""
    possible = law > 0
    if bool((counts[~possible] > 0).any()):
        return 0.0
    wanted = law[possible] * counts.sum()
    value = ((counts[possible] - wanted) ** 2 / wanted).sum()
    freedom = torch.tensor((int(possible.sum()) - 1) / 2, dtype=torch.float64)
    return float(torch.special.gammaincc(freedom, value / 2)) if freedom else 1.0


def emitted(p: Tensor, q: Tensor, noise: torch.Generator) -> Tensor:
    """How often each token comes first, of drafts of one token."""
    tokens = q.multinomial(DRAWS, replacement=True, generator=noise)
    target = p.expand(DRAWS, 2, -1)  # what follows the draft does not matter here
    draft = q.expand(DRAWS, 1, -1)
    uniforms = torch.rand(DRAWS, 1, generator=noise, dtype=torch.float64)
    made = verify(target, draft, tokens[:, None], uniforms)
    refused = made.law.multinomial(1, generator=noise)[:, 0]
    first = torch.where(made.accepted == 1, tokens, refused)
    return first.bincount(minlength=len(p)).double()


def random_laws(seed: int, width: int = 12) -> tuple[Tensor, Tensor]:
    noise = torch.Generator().manual_seed(seed)
    p, q = torch.randn(2, width, generator=noise, dtype=torch.float64) * 1.5
    return p, q


def masked(p: Tensor) -> Tensor:
    """Only every third token is allowed, as under a constraint that the draft does not know."""
    allowed = torch.arange(len(p)) % 3 == 0
    return p.masked_fill(~allowed, -math.inf).softmax(0)


def tempered(p: Tensor) -> Tensor:
    """Temperature 0.7, then a nucleus of 0.8."""
    law = (p / 0.7).softmax(0)
    best, order = law.sort(descending=True)
    kept = order[best.cumsum(0) - best < 0.8]
    cut = torch.zeros_like(law)
    cut[kept] = law[kept]
    return cut / cut.sum()


def biased(p: Tensor) -> Tensor:
    """Half of the tokens get 2 more, as by a green list."""
    return (p + 2.0 * (torch.arange(len(p)) % 2)).softmax(0)


TARGETS = {"random": lambda p: p.softmax(0), "masked": masked, "warped": tempered, "biased": biased}


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("seed", [0, 1])
def test_what_comes_out_has_the_law_of_the_target(name: str, seed: int):
    raw, q = random_laws(seed)
    p = TARGETS[name](raw)
    counts = emitted(p, q.softmax(0), torch.Generator().manual_seed(seed))
    assert chi2_above(counts, p) > 0.01


@pytest.mark.parametrize("token", [0, 7])
def test_a_found_token_is_accepted_with_its_own_chance_and_the_law_holds(token: int):
    """Prompt lookup: q is all on one token; after a refusal it is the only one left out."""
    p = random_laws(3)[0].softmax(0)
    q = one_hot(torch.tensor(token), len(p)).double()
    assert float(acceptance_rate(p, q)) == pytest.approx(float(p[token]))
    without = p.clone()
    without[token] = 0
    torch.testing.assert_close(residual(p, q), without / without.sum())
    assert chi2_above(emitted(p, q, torch.Generator().manual_seed(token)), p) > 0.01


def test_a_rate_is_one_less_the_total_variation():
    p = torch.tensor([0.4, 0.3, 0.2, 0.1], dtype=torch.float64)
    assert float(acceptance_rate(p, p.flip(0))) == pytest.approx(0.6)
    noise = torch.Generator().manual_seed(0)
    tokens = p.flip(0).multinomial(DRAWS, replacement=True, generator=noise)
    uniforms = torch.rand(DRAWS, generator=noise, dtype=torch.float64)
    target, draft = p.expand(DRAWS, -1), p.flip(0).expand(DRAWS, -1)
    share = float(accepts(target, draft, tokens, uniforms).double().mean())
    assert abs(share - 0.6) < 4 * math.sqrt(0.24 / DRAWS)
    for seed in range(20):
        p, q = (each.softmax(0) for each in random_laws(seed))
        assert float(acceptance_rate(p, q)) == pytest.approx(1 - float((p - q).abs().sum()) / 2)


def test_a_token_without_a_chance_never_comes_even_where_the_random_number_is_0():
    p = torch.tensor([0.0, 0.25, 0.0, 0.75]).expand(4, 2, 4)
    for q in (torch.tensor([0.25] * 4), torch.tensor([1.0, 0.0, 0.0, 0.0]), p[0, 0]):
        made = verify(p, q.expand(4, 1, 4), torch.arange(4)[:, None], torch.zeros(4, 1))
        assert made.accepted.tolist() == [0, 1, 0, 1]
        assert not made.law[:, [0, 2]].any()
        torch.testing.assert_close(made.law.sum(1), torch.ones(4))


def test_a_draft_of_the_target_itself_is_always_accepted():
    p = random_laws(5)[0].softmax(0)
    nearly_one = torch.full((len(p),), math.nextafter(1, 0), dtype=torch.float64)
    laws = p.expand(len(p), -1)
    assert accepts(laws, laws, torch.arange(len(p)), nearly_one).all()
    assert torch.equal(residual(p, p), p)  # nothing is left: the fallback, never NaN


def test_greedy_drafts_give_the_greedy_text_token_for_token():
    """Laws of one token each: what is kept, and what comes next, are the target's choices."""
    noise = torch.Generator().manual_seed(1)
    for _ in range(50):
        best = torch.randint(3, (1, 5), generator=noise)
        drafted = torch.randint(3, (1, 4), generator=noise)
        uniforms = torch.rand(1, 4, generator=noise)
        made = verify(one_hot(best, 3), one_hot(drafted, 3), drafted, uniforms)
        same = (best[0, :4] == drafted[0]).tolist()
        agreed = next((n for n, each in enumerate(same) if not each), 4)
        assert int(made.accepted) == agreed
        assert made.law.tolist() == one_hot(best[:, agreed], 3).tolist()


def test_without_a_draft_the_law_is_that_of_the_target():
    p = torch.tensor([[[0.25, 0.75]]])
    made = verify(p, p[:, :0], torch.zeros(1, 0, dtype=torch.int64), torch.zeros(1, 0))
    assert (made.accepted.tolist(), made.law.tolist()) == ([0], [[0.25, 0.75]])


WIDTH, END, LENGTH = 3, 2, 4
Texts = dict[tuple[int, ...], float]


def bigrams(seed: int) -> Tensor:
    """A law for each last token; after the end there is only the end."""
    noise = torch.Generator().manual_seed(seed)
    table = torch.randn(WIDTH, WIDTH, generator=noise, dtype=torch.float64).softmax(1)
    table[END] = one_hot(torch.tensor(END), WIDTH)
    return table


def texts(table: Tensor) -> Texts:
    """The chance of every text of four tokens, of which those after an end are ends."""
    found = Texts()
    for text in itertools.product(range(WIDTH), repeat=LENGTH):
        chance, last = 1.0, 0
        for token in text:
            chance *= float(table[last, token])
            last = token
        found[text] = chance
    return found


@pytest.mark.parametrize("drafted", [1, 3])
def test_whole_texts_have_the_law_of_the_target(drafted: int):
    """All strings up to four tokens of two bigram models: drafted by one, verified by the other."""
    target, draft = bigrams(1), bigrams(2)
    noise = torch.Generator().manual_seed(drafted)
    made = torch.zeros(DRAWS, LENGTH + drafted + 1, dtype=torch.int64)
    length = torch.zeros(DRAWS, dtype=torch.int64)
    rows = torch.arange(DRAWS)
    while int(length.min()) < LENGTH:
        last = torch.where(length > 0, made[rows, (length - 1).clamp(min=0)], 0)
        begun, tokens = [last], list[Tensor]()
        for _ in range(drafted):
            tokens.append(draft[begun[-1]].multinomial(1, generator=noise)[:, 0])
            begun.append(tokens[-1])
        before, proposed = torch.stack(begun, 1), torch.stack(tokens, 1)
        uniforms = torch.rand(DRAWS, drafted, generator=noise, dtype=torch.float64)
        kept = verify(target[before], draft[before[:, :-1]], proposed, uniforms)
        following = kept.law.multinomial(1, generator=noise)
        new = torch.cat([proposed, following], 1)
        new[rows, kept.accepted] = following[:, 0]
        going = (length < LENGTH).nonzero()[:, 0]
        for place in range(drafted + 1):
            taken = going[kept.accepted[going] >= place]
            made[taken, length[taken] + place] = new[taken, place]
        length[going] += kept.accepted[going] + 1
    found = made[:, :LENGTH] @ torch.tensor([27, 9, 3, 1])
    chances = texts(target)
    assert list(chances)[5] == (0, 0, 1, 2)  # the order of the numbers that stand for texts
    law = torch.tensor([*chances.values()], dtype=torch.float64)
    assert chi2_above(found.bincount(minlength=len(law)).double(), law) > 0.01


def test_as_many_tokens_come_of_a_forward_as_the_formula_says():
    assert expected_tokens(0.7, 3) == pytest.approx(2.533, abs=5e-4)
    assert [expected_tokens(0, 5), expected_tokens(1, 5), expected_tokens(0.3, 0)] == [1, 6, 1]
    noise = torch.Generator().manual_seed(4)
    kept = torch.rand(DRAWS, 3, generator=noise) < 0.7
    counted = 1 + float(kept.long().cumprod(1).sum(1).double().mean())
    assert counted == pytest.approx(2.533, abs=0.02)


@pytest.mark.parametrize(
    ("rate", "drafted", "cost", "times"),
    [
        (0.7, 3, 0.13, 1.8223),
        (0.7, 4, 0.13, 1.8244),
        (0.75, 7, 0.02, 3.16),
        (0.75, 7, 0.0, 3.60),
        (0.8, 8, 0.05, 3.09),
        (0.8, 5, 0.13, 2.24),
        (0.9, 13, 0.05, 4.67),
    ],
)
def test_speeds_are_those_of_the_papers_formula(
    rate: float, drafted: int, cost: float, times: float
):
    assert speed_up(rate, drafted, cost) == pytest.approx(times, abs=0.005 if times > 1.9 else 5e-5)


@pytest.mark.parametrize(
    ("rate", "cost", "best"),
    [(0.7, 0.13, 4), (0.8, 0.05, 8), (0.8, 0.13, 5), (0.9, 0.05, 13), (0.5, 0.5, 0), (0.5, 0.9, 0)],
)
def test_the_best_draft_has_the_length_that_makes_it_fastest(rate: float, cost: float, best: int):
    assert best_drafted(rate, cost) == best
    assert best_drafted(1.0, cost, most=7) == (7 if cost < 1 else 0)


def test_what_is_no_rate_count_or_cost_is_refused():
    for wrong in (lambda: expected_tokens(1.5, 2), lambda: expected_tokens(0.5, -1)):
        with pytest.raises(gw.LimitError, match=r"rate is 1\.5|drafted is -1"):
            wrong()
    with pytest.raises(gw.LimitError, match="most is -1: it must be a count"):
        best_drafted(0.5, 0.1, most=-1)
    with pytest.raises(gw.LimitError, match=r"cost is -0\.1: it must be a number from 0 up"):
        speed_up(0.5, 2, -0.1)
