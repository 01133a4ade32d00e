"""Attention with shared keys: bit for bit that of transformers, which repeats them."""

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers.models.auto.modeling_auto import AutoModelForCausalLM
from transformers.models.gpt2 import GPT2Config
from transformers.models.llama import LlamaConfig

from guideway.models.grouped_attention import NAME, prepare_grouped_attention
from guideway.models.load import load
from guideway.models.transformers import TransformersModel
from real_tokenizers import tokenizer_folder
from small_models import SMALL, tokenizer

GROUPED = {**SMALL, "num_attention_heads": 4, "num_key_value_heads": 2}


def made(config: Any) -> Any:
    torch.manual_seed(0)
    return AutoModelForCausalLM.from_config(config).eval()


def test_every_forward_gives_the_logits_of_transformers() -> None:
    usual = made(LlamaConfig(**GROUPED))
    module = copy.deepcopy(usual)
    prepare_grouped_attention(module)
    assert module.config._attn_implementation == NAME
    read = tokenizer(tokenizer_folder("gpt2"))
    models = [TransformersModel(each, read) for each in (module, usual)]
    caches = [each.prefill([[1, 2, 3, 4, 5, 6], [7, 8]]) for each in models]
    assert torch.equal(caches[0][1], caches[1][1])
    for count in (1, 4, 2):
        new = torch.arange(2 * count).view(2, count) + 3
        pairs = zip(models, caches, strict=True)
        caches = [each.extend(cache, new) for each, (cache, _) in pairs]
        assert torch.equal(caches[0][1], caches[1][1])


@pytest.mark.parametrize("config", [GPT2Config(n_embd=24, n_layer=1, n_head=2, vocab_size=50)])
def test_a_model_without_shared_keys_stays_as_it_is(config: Any) -> None:
    module = made(config)
    prepare_grouped_attention(module)
    assert module.config._attn_implementation == "sdpa"


def test_only_models_that_are_loaded_are_changed(tmp_path: Path) -> None:
    module, read = made(LlamaConfig(**GROUPED)), tokenizer(tokenizer_folder("gpt2"))
    module.save_pretrained(tmp_path)
    read.save_pretrained(tmp_path)
    assert load(tmp_path, device="cpu").module.config._attn_implementation == NAME
    assert load(module, read).module.config._attn_implementation == "sdpa"
