"""The laws of `LanguageModel`, on every implementation: the fake one, and transformers on models
with random weights of different kinds (rotary and absolute positions, sliding windows, states)."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

import fairlead as fl
from fairlead.engine.backends.transformers import TransformersModel
from fairlead.engine.fake import FakeModel
from fairlead.engine.model import LanguageModel
from real_tokenizers import tokenizer_folder

SMALL = {
    "vocab_size": 50_300,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 64,
    "initializer_range": 0.5,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
KINDS: dict[str, Any] = {
    "llama": lambda: transformers.LlamaConfig(**SMALL),
    "qwen2": lambda: transformers.Qwen2Config(**SMALL),
    "mistral": lambda: transformers.MistralConfig(**SMALL, sliding_window=4),
    "gemma3": lambda: transformers.Gemma3TextConfig(
        **SMALL, sliding_window=4, layer_types=["sliding_attention", "full_attention"]
    ),
    "gpt2": lambda: transformers.GPT2Config(
        vocab_size=50_300, n_embd=32, n_layer=2, n_head=4, n_positions=64, initializer_range=0.5
    ),
}
PROMPTS = [[5, 6, 7], [8], [9, 10, 11, 12, 13, 14, 15, 16]]


@cache
def model(kind: str) -> LanguageModel[Any]:
    """A model of this kind with random weights."""
    if kind == "fake":
        letters = [bytes([b]) for b in range(32)]
        return FakeModel.random(fl.Vocabulary([*letters, b"<eos>"], eos_ids={32}))
    torch.manual_seed(0)
    module = transformers.AutoModelForCausalLM.from_config(KINDS[kind]())
    return TransformersModel(module, tokenizer(tokenizer_folder("gpt2")))


@cache
def tokenizer(folder: Path) -> Any:
    return transformers.AutoTokenizer.from_pretrained(folder)


def last(prefixes: list[list[int]], kind: str) -> torch.Tensor:
    """The logits after each prefix, computed alone."""
    return torch.cat([model(kind).prefill([prefix])[1] for prefix in prefixes])


every = pytest.mark.parametrize("kind", ["fake", *KINDS])


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
