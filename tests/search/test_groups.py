"""Diverse beams beside a plain version of them, which goes through all continuations."""

import random
from collections import Counter
from dataclasses import dataclass

import pytest

import guideway as gw
from guideway.generation.row.request import Request
from guideway.models.fake import FakeModel
from guideway.sampling.settings import Sampling
from whole_batches import find

WORDS = gw.Vocabulary([bytes([97 + n]) for n in range(6)] + [b"<eos>"], eos_ids={6})


@dataclass
class Group:
    going: list[tuple[tuple[int, ...], float, float]]  # tokens, penalised and plain sums
    ended: list[tuple[tuple[int, ...], float, float]]
    done: bool = False


def stepped(
    model: FakeModel, settings: Sampling, group: Group, step: int, taken: Counter[int]
) -> None:
    """All continuations of a group in their order, and what becomes of them."""
    size = settings.num_beams // settings.num_beam_groups
    power = 1.0 if settings.length_penalty is None else settings.length_penalty
    grown = []
    for tokens, penalised, log in group.going:
        row = model.prefill([(0, *tokens)])[1][0].log_softmax(0).tolist()
        for token, each in enumerate(row):
            less = (settings.diversity_penalty or 0) * taken[token]
            grown.append(((*tokens, token), penalised + each - less, log + each))
    grown.sort(key=lambda each: -each[1])
    last = step == settings.max_new_tokens
    ends = [each for each in grown[:size] if last or each[0][-1] == 6]
    group.ended += [(tokens, p / step**power, log / step**power) for tokens, p, log in ends]
    group.ended = sorted(group.ended, key=lambda each: -each[1])[:size]
    group.going = [each for each in grown if each[0][-1] != 6][:size]
    group.done = last
    if len(group.ended) == size:
        never = settings.early_stopping == "never" and power > 0
        best = group.going[0][1] / (settings.max_new_tokens if never else step) ** power
        group.done |= settings.early_stopping is True or best <= group.ended[-1][1]


def plain(model: FakeModel, settings: Sampling) -> list[tuple[tuple[int, ...], float]]:
    groups = [Group([((), 0.0, 0.0)], []) for _ in range(settings.num_beam_groups)]
    for step in range(1, settings.max_new_tokens + 1):
        taken = Counter[int]()
        for group in groups:
            if not group.done:
                stepped(model, settings, group, step, taken)
            if not group.done:
                taken.update(tokens[-1] for tokens, _, _ in group.going)
    found: dict[tuple[int, ...], float] = {}
    for group in groups:
        for tokens, _, score in group.ended:
            found[tuple(token for token in tokens if token != 6)] = score
    ranked = sorted(found.items(), key=lambda each: -each[1])
    return ranked[: settings.num_return_sequences]


@pytest.mark.parametrize("seed", range(16))
def test_diverse_beams_are_those_of_the_plain_version(seed: int):
    chance = random.Random(seed)
    groups, size = chance.choice([(2, 1), (2, 2), (3, 1), (3, 2)])
    settings = Sampling(
        num_beams=groups * size,
        num_beam_groups=groups,
        num_return_sequences=chance.randint(1, groups * size),
        diversity_penalty=chance.choice([0.0, 0.5, 2.0, 20.0]),
        length_penalty=chance.choice([0.0, 1.0, 2.0, -0.5]),
        early_stopping=chance.choice([True, False, "never"]),
        max_new_tokens=chance.choice([1, 3, 6]),
    )
    model = FakeModel.random(WORDS, seed, scale=1.5)
    found = find(model, [Request((0,), sampling=settings)])[0]
    expected = plain(model, settings)
    assert [done.tokens for done in found] == [tokens for tokens, _ in expected]
    assert [done.score for done in found] == pytest.approx([s for _, s in expected], abs=1e-5)
