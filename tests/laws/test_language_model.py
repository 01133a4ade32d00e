"""The laws of `LanguageModel`, on every implementation: the fake one, n-grams, transformers with
random weights, of different kinds (rotary and absolute positions, sliding windows), llama.cpp."""

import pytest
import torch

from small_models import KINDS, LLAMA_CPP, model

PROMPTS = [[5, 6, 7], [8], [9, 10, 11, 12, 13, 14, 15, 16]]


def last(prefixes: list[list[int]], kind: str) -> torch.Tensor:
    """The logits after each prefix, computed alone."""
    return torch.cat([model(kind).prefill([prefix])[1] for prefix in prefixes])


every = pytest.mark.parametrize("kind", ["fake", "ngram", *KINDS, LLAMA_CPP])


@every
def test_logits_are_float32_and_as_wide_as_the_vocabulary(kind: str):
    _, logits = model(kind).prefill(PROMPTS)
    assert logits.shape == (3, model(kind).vocabulary.width)
    assert logits.dtype == torch.float32
    assert logits.device == model(kind).device


@every
def test_a_row_is_what_it_is_alone(kind: str):
    _, logits = model(kind).prefill(PROMPTS)
    torch.testing.assert_close(logits, last(PROMPTS, kind), atol=1e-4, rtol=1e-4)


@every
def test_extending_gives_what_reading_it_all_gives(kind: str):
    cache, _ = model(kind).prefill(PROMPTS)
    new = torch.tensor([[3, 4], [17, 18], [3, 3]])
    cache, first = model(kind).extend(cache, new)
    _, second = model(kind).extend(cache, torch.tensor([[20], [21], [22]]))
    for at, tokens in [(0, 1), (1, 2)]:
        longer = [p + row[:tokens] for p, row in zip(PROMPTS, new.tolist(), strict=True)]
        torch.testing.assert_close(first[:, at], last(longer, kind), atol=1e-4, rtol=1e-4)
    whole = [
        [*p, *row, 20 + n] for n, (p, row) in enumerate(zip(PROMPTS, new.tolist(), strict=True))
    ]
    torch.testing.assert_close(second[:, 0], last(whole, kind), atol=1e-4, rtol=1e-4)


@every
def test_selecting_copies_leaves_out_and_reorders(kind: str):
    cache, _ = model(kind).prefill(PROMPTS)
    chosen = model(kind).select(cache, [2, 0, 2, 2])
    token = torch.tensor([[17]])
    _, logits = model(kind).extend(chosen, token.expand(4, 1))
    _, before = model(kind).extend(cache, token.expand(3, 1))  # the old cache is as it was
    torch.testing.assert_close(logits, before[[2, 0, 2, 2]], atol=1e-4, rtol=1e-4)
    expected = last([[*prompt, 17] for prompt in PROMPTS], kind)
    torch.testing.assert_close(before[:, 0], expected, atol=1e-4, rtol=1e-4)
