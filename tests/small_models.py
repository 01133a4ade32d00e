"""Language models with random weights, as small as they get: the fake one, n-grams, transformers
of different kinds (rotary and absolute positions, sliding windows, a soft cap), and llama.cpp's."""

import tempfile
from collections.abc import Callable
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from tokenizers.pre_tokenizers import ByteLevel
from transformers.modeling_outputs import CausalLMOutputWithPast
from transformers.models.auto.modeling_auto import AutoModelForCausalLM
from transformers.models.auto.tokenization_auto import AutoTokenizer
from transformers.models.gemma3 import Gemma3TextConfig
from transformers.models.gpt2 import GPT2Config
from transformers.models.llama import LlamaConfig
from transformers.models.mistral import MistralConfig
from transformers.models.qwen2 import Qwen2Config
from transformers.tokenization_utils_tokenizers import PreTrainedTokenizerFast

import guideway as gw
import small_gguf
from guideway.extras import installed
from guideway.models.fake import FakeModel, Prefix
from guideway.models.llama_cpp import LlamaCppModel
from guideway.models.ngram import NgramModel
from guideway.models.transformers import TransformersModel
from real_tokenizers import tokenizer_folder
from small_tokenizers import BYTE_LEVEL, added, bpe
from small_tokenizers import tokenizer as tokenizer_file

(CACHE,) = {"cache", "past_key_values"} & {each.name for each in fields(CausalLMOutputWithPast)}
"""What this release of transformers calls a cache: the first from 5.24 on."""

SMALL = {
    "vocab_size": 50_300, "hidden_size": 32, "intermediate_size": 48, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 64,
    "initializer_range": 0.5, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0,
}  # fmt: skip
LETTERS = gw.Vocabulary([*(bytes([b]) for b in range(32)), b"<eos>"], eos_ids={32})


def _gemma3(layers: int) -> Any:
    sorts = ["sliding_attention", "full_attention"] * layers
    more = {"layer_types": sorts[:layers], "final_logit_softcapping": 8.0}
    return Gemma3TextConfig(**SMALL, num_hidden_layers=layers, sliding_window=4, **more)


GPT2 = {"vocab_size": 50_300, "n_embd": 32, "n_head": 4, "n_positions": 64}
KINDS: dict[str, Callable[[int], Any]] = {
    "llama": lambda layers: LlamaConfig(**SMALL, num_hidden_layers=layers),
    "qwen2": lambda layers: Qwen2Config(**SMALL, num_hidden_layers=layers),
    "mistral": lambda n: MistralConfig(**SMALL, num_hidden_layers=n, sliding_window=4),
    "gemma3": _gemma3,
    "gpt2": lambda layers: GPT2Config(**GPT2, n_layer=layers, initializer_range=0.5),
}


with_llama_cpp = pytest.mark.skipif(
    not installed("llama_cpp"), reason="llama-cpp-python: tests/engines/run.py llama-cpp"
)
LLAMA_CPP = pytest.param("llama.cpp", marks=with_llama_cpp)
_files = tempfile.TemporaryDirectory()


def module(kind: str, layers: int = 2) -> Any:
    """A transformers model of this kind; the same weights each time."""
    torch.manual_seed(0)
    return AutoModelForCausalLM.from_config(KINDS[kind](layers)).eval()


@cache
def model(kind: str, layers: int = 2) -> Any:
    """A language model of this kind with random weights."""
    if kind == "fake":
        return FakeModel.random(LETTERS)
    if kind == "ngram":
        texts = np.random.default_rng(0).integers(0, 32, (40, 30)).tolist()
        return NgramModel.train([[*range(3, 24)] * 3, *texts], LETTERS)
    if kind == "llama.cpp":
        return LlamaCppModel(small_gguf.write(Path(_files.name) / "small.gguf"), exact=True)
    return TransformersModel(module(kind, layers), tokenizer(tokenizer_folder("gpt2")))


@cache
def tiny(kind: str = "llama", layers: int = 2, seed: int = 0, context: int = 512) -> Any:
    """A language model of random weights over every byte, a few pairs of letters and an end id."""
    merges = small_gguf.MERGES
    pairs = [pair.replace(" ", "") for pair in merges]
    pieces = [*sorted(ByteLevel.alphabet()), *pairs, "<eos>"]
    model = bpe({piece: place for place, piece in enumerate(pieces)}, merges)
    ends = [added("<eos>", len(pieces) - 1)]
    given = tokenizer_file(model, pre_tokenizer=BYTE_LEVEL, decoder=BYTE_LEVEL, added_tokens=ends)
    config = KINDS[kind](layers)
    sizes = {"vocab_size": len(pieces), "max_position_embeddings": context, "n_positions": context}
    for name, size in sizes.items():
        if hasattr(config, name):
            setattr(config, name, size)
    config.eos_token_id, config.bos_token_id, config.pad_token_id = len(pieces) - 1, None, None
    torch.manual_seed(seed)
    made = AutoModelForCausalLM.from_config(config).eval()
    library = Tokenizer.from_str(given.decode())
    return TransformersModel(
        made, PreTrainedTokenizerFast(tokenizer_object=library, eos_token="<eos>")
    )


@cache
def tokenizer(folder: Path) -> Any:
    return AutoTokenizer.from_pretrained(folder)


def noise(seed: int) -> Callable[[Prefix], torch.Tensor]:
    """The function of a fake model: noise decided by the seed and the tokens."""
    fake = FakeModel.random(LETTERS, seed)
    return lambda prefix: fake.prefill([prefix])[1][0]
