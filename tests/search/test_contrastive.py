"""Contrastive search against a plain implementation that reads every text from its beginning."""

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import torch

import guideway as gw
from guideway.generation.row.request import Request
from guideway.models.fake import FakeModel
from guideway.sampling.settings import Sampling
from small_models import LETTERS, model, noise
from whole_batches import find

BITS = gw.Vocabulary([b"0", b"1", b"<eos>"], eos_ids={2})
Read = Callable[[list[int]], tuple[torch.Tensor, torch.Tensor]]
"""Tokens → logits after them, the states after each."""


def plain(
    read: Read,
    prompt: list[int],
    allowed: Callable[[list[int]], list[int]],
    over: Callable[[list[int]], bool],
    alpha: float,
    count: int,
) -> list[int]:
    """The drawn tokens, an end id included: no cache, no batch, one candidate at a time."""
    drawn = list[int]()
    while not over(drawn):
        logits, states = read(prompt + drawn)
        tokens = allowed(drawn)
        chances = logits[tokens].double().softmax(0).tolist()
        best = sorted(range(len(tokens)), key=lambda n: -chances[n])[:count]
        worth = {}
        for n in best:
            after = read([*prompt, *drawn, tokens[n]])[1][-1]
            likeness = max(float(torch.cosine_similarity(after, each, 0)) for each in states)
            worth[tokens[n]] = (1 - alpha) * chances[n] - alpha * likeness
        drawn.append(max(worth, key=lambda token: worth[token]))
    return drawn


def fake(seed: int) -> tuple[FakeModel, Read]:
    @cache
    def state(prefix: tuple[int, ...]) -> torch.Tensor:
        return noise(seed + 100)(prefix)[:3]

    @cache
    def logits(prefix: tuple[int, ...]) -> torch.Tensor:
        return 2 * noise(seed)(prefix)[: BITS.width]

    def read(tokens: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
        ends = range(1, len(tokens) + 1)
        return logits(tuple(tokens)), torch.stack([state(tuple(tokens[:end])) for end in ends])

    return FakeModel(BITS, logits, states=state), read


def bits(pattern: str, most: int) -> Callable[[list[int]], list[int]]:
    """What may come next, by trying all texts of at most `most` digits."""
    texts = [
        text
        for n in range(most + 1)
        for text in (format(number, f"0{n}b") if n else "" for number in range(2**n))
        if re.fullmatch(pattern, text)
    ]

    def allowed(drawn: list[int]) -> list[int]:
        begun = "".join(map(str, drawn))
        after = {text[len(begun) :][:1] for text in texts if text.startswith(begun)}
        return sorted(int(each) if each else 2 for each in after)

    return allowed


@pytest.mark.parametrize(("alpha", "count"), [(0.3, 4), (0.6, 2), (1.0, 4), (0.6, 1)])
def test_texts_are_those_of_a_plain_implementation_under_a_constraint(alpha: float, count: int):
    """Prompts of a batch, of different lengths; fewer than `count` tokens are allowed."""
    pattern, most = "(0|10){2,4}1?", 9
    constraint, allowed = gw.compile(gw.Regex(pattern), BITS), bits(pattern, most)

    def over(drawn: list[int]) -> bool:
        return drawn[-1:] == [2] or allowed(drawn) == [2]

    for seed in range(2):
        subject, read = fake(seed)
        prompts = [[0], [1, 1, 0], [0, 1]]
        sampling = Sampling(penalty_alpha=alpha, top_k=count, max_new_tokens=20)
        found = find(subject, [Request(tuple(each), constraint, sampling) for each in prompts])
        for prompt, (done,) in zip(prompts, found, strict=True):
            wanted = plain(read, prompt, allowed, over, alpha, count)
            assert [*done.tokens, *([2] if len(done.log_allowed) > len(done.tokens) else [])] == (
                wanted
            )
            assert done.finish_reason == "stop"


def test_the_score_is_the_mean_of_what_tokens_were_chosen_by():
    subject, read = fake(3)
    for alpha in (0.0, 0.6):
        sampling = Sampling(penalty_alpha=alpha, max_new_tokens=4, min_new_tokens=4)
        (done,) = find(subject, [Request((0, 1), sampling=sampling)])[0]
        worth = 0.0
        for n, token in enumerate(done.tokens):
            logits, states = read([0, 1, *done.tokens[:n]])
            chance = float(logits[:2].double().softmax(0)[token])
            after = read([0, 1, *done.tokens[: n + 1]])[1][-1]
            likeness = max(float(torch.cosine_similarity(after, each, 0)) for each in states)
            worth += (1 - alpha) * chance - alpha * likeness
        assert done.score == pytest.approx(worth / 4, abs=1e-5)


def reader(module: Any) -> Read:
    def read(tokens: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.inference_mode():
            states = module.get_decoder()(torch.tensor([tokens])).last_hidden_state[0]
            return module(torch.tensor([tokens])).logits[0, -1].float(), states.float()

    return read


def texts_of(vocabulary: gw.Vocabulary) -> list[int]:
    """The tokens of free text."""
    spelled = (token for token, spelling in enumerate(vocabulary.tokens) if spelling)
    return sorted({*spelled, *vocabulary.eos_ids})


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_texts_are_those_of_a_plain_implementation_on_transformers(kind: str):
    ends, free = model(kind).vocabulary.eos_ids, texts_of(model(kind).vocabulary)
    prompts = [[500, 600, 700], [800], [900, 1000, 1100, 1200, 1300]]
    sampling = Sampling(penalty_alpha=0.6, max_new_tokens=6)
    found = find(model(kind), [Request(tuple(each), sampling=sampling) for each in prompts])

    def over(drawn: list[int]) -> bool:
        return len(drawn) == 6 or bool({*drawn} & ends)

    for prompt, (done,) in zip(prompts, found, strict=True):
        wanted = plain(reader(model(kind).module), prompt, lambda _: free, over, 0.6, 4)
        assert [*done.tokens] == [token for token in wanted if token not in ends]


def test_without_a_penalty_it_is_the_most_probable_token_and_with_one_loops_are_left():
    subject = gw.Model(fake(7)[0])
    for source in (None, gw.Regex("(0|10){3,5}")):
        greedy, found = (
            subject.generate(["0", "11", "010"], source, max_new_tokens=12, **more)
            for more in ({}, {"penalty_alpha": 0})
        )
        assert [each.text for each in found] == [each.text for each in greedy]
        assert found[0].logprobs == pytest.approx(greedy[0].logprobs)
    # States alike for equal tokens: a token that was just there is worth less.
    table = torch.tensor([[2.0, 1.5, -9.0], [1.5, 2.0, -9.0], [0.0, 0.0, 0.0]])
    subject = gw.Model(
        FakeModel(BITS, lambda p: table[p[-1]], states=lambda p: torch.eye(3)[p[-1]])
    )
    assert subject.generate("0", max_new_tokens=6).text == "000000"
    assert subject.generate("0", max_new_tokens=1, penalty_alpha=0.6).text == "1"
    tied = gw.Model(FakeModel(BITS, lambda prefix: [0, 0, 0], states=lambda prefix: [1.0]))
    assert tied.generate("0", penalty_alpha=0, max_new_tokens=3).text == "000"  # the least ids


def test_with_an_expression_chances_are_its_and_states_the_main_models():
    seed = 3
    base, read = fake(seed)
    other = FakeModel(BITS, lambda prefix: noise(9)(prefix)[: BITS.width])
    subject = gw.Model(base) + 0.5 * gw.Model(other)
    constraint, allowed = gw.Regex("[01]{5}"), bits("[01]{5}", 5)

    def summed(tokens: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
        own, states = read(tokens)
        logits = own.log_softmax(0) + 0.5 * noise(9)(tuple(tokens))[: BITS.width].log_softmax(0)
        return logits, states

    done = subject.generate("010", constraint, penalty_alpha=0.5)
    wanted = plain(summed, [0, 1, 0], allowed, lambda drawn: len(drawn) == 5, 0.5, 4)
    assert [*done.tokens] == wanted


def test_what_it_cannot_do_is_refused_by_name():
    bare = gw.Model(FakeModel.random(BITS))
    with pytest.raises(gw.UnsupportedError, match="the fake has no hidden states"):
        bare.generate("0", penalty_alpha=0.6)
    grams = gw.Model(model("ngram"))
    with pytest.raises(gw.UnsupportedError, match="NgramModel has no hidden states, which"):
        grams.generate(LETTERS.tokens[3].decode(), penalty_alpha=0.6)
    nothing = gw.Model(FakeModel(BITS, lambda _: [-torch.inf, 0, 0], states=lambda _: [1.0]))
    with pytest.raises(gw.DeadEndError, match="no token is left at step 0"):
        nothing.generate("1", gw.Regex("00"), penalty_alpha=0.6)
