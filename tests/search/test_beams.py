"""Beam search: transformers' own, token for token; drawn beams; ends, stop strings, dead ends."""

import math
import random
import re
from itertools import product
from typing import Any

import pytest
import torch
from transformers.generation import utils as theirs
from transformers.generation.configuration_utils import GenerationConfig
from transformers.models.llama import LlamaConfig, LlamaForCausalLM

import guideway as gw
import small_models
from guideway.generation.row.request import Request
from guideway.generation.row.result import Result
from guideway.models.fake import FakeModel
from guideway.sampling.noise import gumbel, stream
from guideway.sampling.settings import Sampling
from whole_batches import find, search

BITS = gw.Vocabulary([b"0", b"1", b"<eos>"], eos_ids={2})
ENDS = {1: (12,), 3: (10, 11, 12)}
WORDS = {
    count: gw.Vocabulary([bytes([97 + n]) for n in range(13)], eos_ids=ids)
    for count, ids in ENDS.items()
}
PROMPTS = [(3,), (5, 1, 5, 4, 1)]


def tiny(seed: int) -> Any:
    """A transformer with 13 tokens and decided opinions."""
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=13,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        initializer_range=0.4,
        bos_token_id=None,
        eos_token_id=None,
    )
    return LlamaForCausalLM(config).eval()


@torch.inference_mode()
def ours_of(module: Any, vocabulary: gw.Vocabulary) -> FakeModel:
    """The same transformer, every prefix read anew."""

    def logits(prefix: tuple[int, ...]) -> torch.Tensor:
        with torch.inference_mode():
            return module(torch.tensor([prefix]), use_cache=False).logits[0, -1]

    return FakeModel(vocabulary, logits)


def asked_of_transformers(
    module: Any, prompt: tuple[int, ...], ends: tuple[int, ...], settings: dict[str, Any]
) -> list[tuple[tuple[int, ...], float]]:
    ids = torch.tensor([prompt])
    given = GenerationConfig(
        eos_token_id=[*ends],
        pad_token_id=0,
        return_dict_in_generate=True,
        output_scores=True,
        **settings,
    )
    out = module.generate(ids, attention_mask=torch.ones_like(ids), generation_config=given)
    texts = []
    for row in out.sequences[:, len(prompt) :].tolist():
        stop = next((place for place, token in enumerate(row) if token in ends), len(row))
        texts.append(tuple(row[:stop]))
    return list(zip(texts, out.sequences_scores.tolist(), strict=True))


def some_settings(chance: random.Random) -> dict[str, Any]:
    beams = chance.choice([2, 3, 4, 6])
    most = chance.choice([1, 4, 9])
    others = {
        "repetition_penalty": chance.choice([0.8, 1.3]),
        "no_repeat_ngram_size": 2,
        "min_new_tokens": min(3, most),
    }
    return {
        "num_beams": beams,
        "num_return_sequences": chance.randint(1, beams),
        "max_new_tokens": most,
        "length_penalty": chance.choice([0.0, 1.0, 0.6, 2.0, -1.0]),
        "early_stopping": chance.choice([True, False, "never"]),
        **{name: value for name, value in others.items() if chance.random() < 0.4},
    }


def alike(found: list[Result], expected: list[tuple[tuple[int, ...], float]]) -> None:
    assert [done.tokens for done in found] == [tokens for tokens, _ in expected]
    scores = [score for _, score in expected]
    assert [done.score for done in found] == pytest.approx(scores, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("seed", range(20))
def test_beams_are_those_of_transformers_token_for_token(seed: int):
    chance = random.Random(seed)
    module, count = tiny(seed), chance.choice([*ENDS])
    settings = some_settings(chance)
    sampling = Sampling.of(settings)
    requests = [Request(prompt, sampling=sampling) for prompt in PROMPTS]
    together = find(ours_of(module, WORDS[count]), requests)
    for prompt, found in zip(PROMPTS, together, strict=True):
        alike(found, asked_of_transformers(module, prompt, ENDS[count], settings))


@pytest.mark.parametrize("kind", ["mistral", "gemma3", "gpt2"])
def test_beams_are_those_of_transformers_where_caches_are_reordered(kind: str):
    """Sliding windows and absolute positions; 50,300 tokens, prompts of 9 and 2."""
    model = small_models.model(kind)
    settings = {"num_beams": 3, "num_return_sequences": 3, "max_new_tokens": 6}
    prompts = [(11, 257, 40, 1, 600, 7, 7, 300, 12), (262, 1049)]
    requests = [Request(prompt, sampling=Sampling.of(settings)) for prompt in prompts]
    ends = tuple(model.vocabulary.eos_ids)
    for prompt, found in zip(prompts, find(model, requests), strict=True):
        alike(found, asked_of_transformers(model.module, prompt, ends, settings))


@pytest.mark.parametrize("seed", range(6))
def test_drawn_beams_are_those_of_transformers_with_the_same_noise(
    seed: int, monkeypatch: pytest.MonkeyPatch
):
    chance = random.Random(seed)
    module = tiny(seed)
    settings = some_settings(chance) | {"do_sample": True, "temperature": 1.4, "top_k": 6}
    rows: list[list[list[int]]] = []
    top_k_continuations = theirs.GenerationMixin._get_top_k_continuations

    def watched(self: Any, **given: Any) -> Any:
        begin, end = given["decoder_prompt_len"], given["cur_len"]
        rows.append(given["running_sequences"][0, :, begin:end].tolist())
        logs, *others = top_k_continuations(self, **given)
        order = logs[0].argsort(descending=True)  # before 5.24 they come as they were drawn
        return logs[:, order], *(each[:, order] for each in others)

    def drawn(shares: torch.Tensor, num_samples: int) -> torch.Tensor:
        keys = []
        for tokens in rows[-1]:
            key = stream(7, 0)
            for token in tokens:
                key = stream(key, token)
            keys.append(key)
        noise = gumbel(torch.tensor(keys), 13).flatten()
        return (shares.log() + noise).topk(num_samples).indices

    monkeypatch.setattr(theirs.GenerationMixin, "_get_top_k_continuations", watched)
    monkeypatch.setattr(torch, "multinomial", drawn)
    sampling = Sampling.of(settings | {"seed": 7})
    model = ours_of(module, WORDS[1])
    for prompt in PROMPTS:
        found = find(model, [Request(prompt, sampling=sampling)])[0]
        alike(found, asked_of_transformers(module, prompt, ENDS[1], settings))


@pytest.mark.parametrize("seed", range(3))
def test_as_many_beams_as_there_are_texts_are_exhaustive(seed: int):
    model = FakeModel.random(BITS, seed, scale=2.0)
    settings = {"num_beams": 27, "num_return_sequences": 15, "length_penalty": 0}
    found = search(model, max_new_tokens=3, **settings)
    logs = dict[tuple[int, ...], float]()
    for tokens in product((0, 1, 2), repeat=3):
        end = tokens.index(2) + 1 if 2 in tokens else 3
        rows = [model.prefill([(0, *tokens[:place])])[1][0].log_softmax(0) for place in range(end)]
        logs[tokens[:end]] = sum(
            float(row[token]) for row, token in zip(rows, tokens[:end], strict=True)
        )
    ranked = sorted(logs.items(), key=lambda each: -each[1])
    assert len(ranked) == 15
    assert [done.tokens for done in found] == [
        tuple(token for token in tokens if token != 2) for tokens, _ in ranked
    ]
    assert [done.score for done in found] == pytest.approx([log for _, log in ranked], abs=1e-5)


def held(pattern: str, words: bytes, logits: Any, **settings: Any) -> list[Result]:
    vocabulary = gw.Vocabulary([bytes([byte]) for byte in words] + [b"<eos>"], {len(words)})
    return search(FakeModel(vocabulary, logits), gw.Regex(pattern), **settings)


@pytest.mark.parametrize("pattern", ["a|ab|b{2,3}", "(a|b)?[ab]"])
def test_an_end_counts_alike_whether_anything_else_could_follow_or_not(pattern: str):
    model = FakeModel.random(BITS, 4, scale=2.0)
    rows = {
        prefix: model.prefill([(0, *prefix)])[1][0].log_softmax(0)
        for count in range(4)
        for prefix in product((0, 1), repeat=count)
    }
    whole = {
        text: sum(float(rows[text[:n]][token]) for n, token in enumerate((*text, 2)))
        for text in rows
        if re.fullmatch(pattern, "".join("ab"[token] for token in text))
    }
    ranked = sorted(whole, key=lambda text: -whole[text])
    for most in (9, 4):
        found = held(
            pattern,
            b"ab",
            lambda prefix: rows[prefix[1:]],
            num_beams=9,
            num_return_sequences=len(whole),
            length_penalty=0,
            max_new_tokens=most,
        )
        assert [done.tokens for done in found] == ranked
        assert [done.score for done in found] == pytest.approx([whole[t] for t in ranked], abs=1e-5)
        assert all(done.log_end for done in found)
    full = held("a{3}", b"ab", lambda prefix: rows[prefix[1:]], num_beams=2, max_new_tokens=3)[0]
    assert (full.text, full.finish_reason, full.log_end) == ("aaa", "length", 0.0)  # no room for it


def test_stop_strings_end_beams_and_count_in_their_scores():
    letters = gw.Vocabulary([b"a", b"b", b"c", b"<eos>"], eos_ids={3})
    row = torch.tensor([1.0, 0.9, 0.5, -3.0])
    settings = {"num_beams": 9, "num_return_sequences": 4, "length_penalty": 0}
    model = FakeModel(letters, lambda prefix: row)
    found = search(model, stop="cb", max_new_tokens=5, **settings)
    logs = row.log_softmax(0).tolist()
    assert found[0].text == ""
    assert found[0].tokens == (2, 1)  # more probable than an end at once
    assert found[0].score == pytest.approx(logs[2] + logs[1], abs=1e-6)
    assert found[0].finish_reason == "stop"
    assert not any("cb" in done.text for done in found)


def test_beams_that_cannot_go_on_are_gone_and_the_others_stay():
    def logits(prefix: tuple[int, ...]) -> list[float]:
        if prefix[1:2] == (0,):  # after "a" nothing that is allowed has a probability
            return [-math.inf, -math.inf, -math.inf]
        return [2.0, 0.0, 0.0]

    found = held("ab+|b{3}", b"ab", logits, num_beams=2, num_return_sequences=2)
    assert [done.text for done in found] == ["bbb"]
    with pytest.raises(gw.DeadEndError, match="row 0: no beam is left at step 1"):
        held("ab+", b"ab", logits, num_beams=2)
    # a to y end the text and are far more probable than z, of which there is more to come.
    likely, letters = [*(3.0 for _ in range(25)), 0.0, 0.0], bytes(range(97, 123))
    settings = {"num_beams": 2, "length_penalty": 3.0, "early_stopping": "never"}
    found = held("[a-y]|z{9}", letters, lambda prefix: likely, **settings)
    assert found[0].text == "z" * 9
    for power in (1e4, -1e4):  # no power of a length is beyond floats
        settings = {"num_beams": 2, "length_penalty": power}
        found = held("[ab]{1,3}", b"ab", lambda prefix: [0.0, 1.0, 0.5], **settings)
        assert found[0].score in (0.0, -math.inf) or found[0].text in ("a", "b")
    ends = FakeModel(WORDS[3], lambda prefix: [0.0] * 10 + [1.0] * 3)  # several ends of one text
    found = search(ends, num_beams=3, num_return_sequences=3, max_new_tokens=1)
    assert [done.tokens for done in found] == [(), (), ()]
    assert len({done.score for done in found}) == 1
