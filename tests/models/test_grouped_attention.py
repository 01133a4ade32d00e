"""Attention with shared keys: that of transformers, which repeats them."""

import copy
from typing import Any

import pytest
import torch
from torch.nn import functional
from transformers.integrations import sdpa_attention
from transformers.models.auto.modeling_auto import AutoModelForCausalLM
from transformers.models.gpt2 import GPT2Config
from transformers.models.llama import LlamaConfig

from guideway.models import grouped_attention
from guideway.models.transformers import TransformersModel
from real_tokenizers import tokenizer_folder
from small_models import SMALL, tokenizer

GROUPED = {**SMALL, "num_attention_heads": 4, "num_key_value_heads": 2}


def made(config: Any) -> Any:
    torch.manual_seed(0)
    return AutoModelForCausalLM.from_config(config).eval()


def test_every_forward_gives_the_logits_of_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = made(LlamaConfig(**GROUPED))
    read = tokenizer(tokenizer_folder("gpt2"))
    models = [TransformersModel(copy.deepcopy(usual), read), TransformersModel(usual, read)]
    monkeypatch.setattr(models[1], "_shares_keys", False)
    used = list[Any]()

    def counted(*given: Any, **more: Any) -> Any:
        used.append(given)
        return functional.scaled_dot_product_attention(*given, **more)

    monkeypatch.setattr(grouped_attention, "scaled_dot_product_attention", counted)
    caches = [each.prefill([[1, 2, 3, 4, 5, 6], [7, 8]]) for each in models]
    assert torch.equal(caches[0][1], caches[1][1])
    for count in (1, 4, 2):
        new = torch.arange(2 * count).view(2, count) + 3
        pairs = zip(models, caches, strict=True)
        caches = [each.extend(cache, new) for each, (cache, _) in pairs]
        assert torch.equal(caches[0][1], caches[1][1])
    assert len(used) == 3 * usual.config.num_hidden_layers  # not for one token


def test_the_model_of_a_user_stays_as_it_is() -> None:
    module = made(LlamaConfig(**GROUPED))
    model = TransformersModel(module, tokenizer(tokenizer_folder("gpt2")))
    model.prefill([[1, 2, 3], [4]])
    assert module.config._attn_implementation == "sdpa"
    with grouped_attention.grouped_attention(module):
        assert module.config._attn_implementation == grouped_attention.NAME
    config = GPT2Config(n_embd=24, n_layer=1, n_head=2, vocab_size=50)
    assert not grouped_attention.shares_keys(made(config))  # heads with keys of their own
    module.set_attn_implementation("eager")
    with grouped_attention.grouped_attention(module):
        assert module.config._attn_implementation == "eager"


def test_it_leaves_continuous_batching_to_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, rows = list[dict[str, Any]](), torch.zeros(1, 2, 3, 4)

    def usual(*_: Any, **more: Any) -> tuple[torch.Tensor, None]:
        asked.append(more)
        return rows, None

    monkeypatch.setattr(sdpa_attention, "sdpa_attention_forward", usual)
    for more in ({"cache": object()}, {"dropout": 0.5}, {"softcap": 2.0}):
        grouped_attention.attention(torch.nn.Identity(), rows, rows, rows, rows, **more)
    assert len(asked) == 3
