"""The laws of `CroppingModel`: the fake, n-grams, llama.cpp, transformers that keep all columns."""

import random

import pytest
import torch

from guideway.models.transformers import TransformersModel
from small_models import KINDS, LLAMA_CPP, model

PROMPTS = [[5, 6, 7], [8], [9, 10, 11, 12, 13, 14, 15, 16]]
EVERY = ["fake", "ngram", *(kind for kind in KINDS if kind not in ("mistral", "gemma3"))]

every = pytest.mark.parametrize("kind", [*EVERY, LLAMA_CPP])


def alone(kind: str, rows: list[list[int]]) -> torch.Tensor:
    return torch.cat([model(kind).prefill([row])[1] for row in rows])


@pytest.mark.parametrize("kind", KINDS)
def test_which_caches_can_forget(kind: str):
    assert model(kind).crops == (kind in EVERY)


@every
@pytest.mark.parametrize("seed", range(3))
def test_a_cropped_row_is_as_if_it_had_never_read_its_last_tokens(kind: str, seed: int):
    chance = random.Random(seed)
    rows = [list(prompt) for prompt in PROMPTS]
    cache, _ = model(kind).prefill(rows)
    for _ in range(6):
        count = chance.randrange(1, 6)
        new = [[chance.randrange(3, 30) for _ in range(count)] for _ in rows]
        cache, _ = model(kind).extend(cache, torch.tensor(new))
        removed = [chance.randrange(count + 1) for _ in rows]
        cache = model(kind).crop(cache, removed)
        for row, more, less in zip(rows, new, removed, strict=True):
            row.extend(more[: count - less])
        if chance.random() < 0.3:
            cache = model(kind).select(cache, [2, 0, 1])
            rows = [rows[2], rows[0], rows[1]]
    last = [chance.randrange(3, 30) for _ in rows]
    _, logits = model(kind).extend(cache, torch.tensor(last)[:, None])
    expected = alone(kind, [[*row, token] for row, token in zip(rows, last, strict=True)])
    torch.testing.assert_close(logits[:, 0], expected, atol=1e-4, rtol=1e-4)


@every
def test_concatenated_rows_are_what_they_were(kind: str):
    caches = [model(kind).prefill([prompt])[0] for prompt in PROMPTS]
    both, _ = model(kind).prefill(PROMPTS[:2])
    joined = model(kind).concat([*caches, both])
    rows = [*PROMPTS, *PROMPTS[:2]]
    token = torch.full((len(rows), 1), 17)
    _, logits = model(kind).extend(joined, token)
    expected = alone(kind, [[*row, 17] for row in rows])
    torch.testing.assert_close(logits[:, 0], expected, atol=1e-4, rtol=1e-4)
    _, before = model(kind).extend(caches[1], token[:1])  # the parts are as they were
    torch.testing.assert_close(before[:, 0], expected[1:2], atol=1e-4, rtol=1e-4)


@every
def test_a_longer_cache_takes_more_memory(kind: str):
    short, _ = model(kind).prefill([[5, 6]])
    long, _ = model(kind).prefill([[5, 6, 7, 8]])
    assert 0 < model(kind).nbytes(short) < model(kind).nbytes(long)


def test_columns_that_no_row_needs_are_given_up():
    llama = model("llama")
    assert isinstance(llama, TransformersModel)
    cache, _ = llama.prefill([[5], [6]])
    for turn in range(10):  # each row refuses three of four tokens, never the same ones
        cache, _ = llama.extend(cache, torch.full((2, 4), 7))
        cache = llama.crop(cache, [3, 0] if turn % 2 else [0, 3])
    assert cache.past.get_seq_length() <= 1.5 * int(cache.lengths.max())


@every
def test_texts_of_different_lengths_are_appended(kind: str):
    cache, _ = model(kind).prefill(PROMPTS)
    rest = [[3, 4, 5, 6], [7], [8, 9]]
    cache, heads = model(kind).append(cache, rest, [])
    rows = [[*prompt, *more] for prompt, more in zip(PROMPTS, rest, strict=True)]
    torch.testing.assert_close(heads[0], alone(kind, rows), atol=1e-4, rtol=1e-4)
    _, logits = model(kind).extend(cache, torch.full((3, 1), 17))
    expected = alone(kind, [[*row, 17] for row in rows])
    torch.testing.assert_close(logits[:, 0], expected, atol=1e-4, rtol=1e-4)


@every
def test_a_row_alone_is_as_long_as_it_is(kind: str):
    cache, _ = model(kind).prefill(PROMPTS)
    one, _ = model(kind).prefill(PROMPTS[1:2])
    assert model(kind).nbytes(model(kind).select(cache, [1])) == model(kind).nbytes(one)
