"""Models of transformers over bytes with random weights, and what their rows say."""

from functools import cache
from typing import Any

import torch
from torch import Tensor
from transformers.models.bart import BartConfig, BartForConditionalGeneration
from transformers.models.llama import LlamaConfig, LlamaForCausalLM

import guideway as gw

END, OTHER_END, PAD, LANGUAGE, WIDTH = 256, 257, 258, 259, 264
SPELLED = [*(bytes([b]) for b in range(256)), b"<end>", b"<turn>", None]
BYTES = gw.Vocabulary(SPELLED, {END, OTHER_END}, special={"<pad>": PAD, "<en>": 259}, width=WIDTH)
WORD = gw.Regex("[a-z]{2,5}( [a-z]{1,4}){0,3}!")
IDS: dict[str, Any] = {"bos_token_id": None, "pad_token_id": PAD}
SIZES: dict[str, Any] = {
    **dict.fromkeys(("hidden_size", "intermediate_size"), 16),
    **dict.fromkeys(("num_attention_heads", "num_key_value_heads", "num_hidden_layers"), 2),
    "max_position_embeddings": 256,
    "initializer_range": 0.8,
    "eos_token_id": [END, OTHER_END],
}


@cache
def model(seed: int = 0, width: int = WIDTH) -> Any:
    torch.manual_seed(seed)
    return LlamaForCausalLM(LlamaConfig(vocab_size=width, **SIZES, **IDS)).eval()


def bart(**more: Any) -> Any:
    """A model with an encoder."""
    torch.manual_seed(0)
    sizes: dict[str, Any] = {"d_model": 16, "vocab_size": WIDTH, "decoder_start_token_id": PAD}
    for side in ("encoder", "decoder"):
        sizes |= {f"{side}_layers": 1, f"{side}_attention_heads": 2, f"{side}_ffn_dim": 16}
    config = BartConfig(**sizes, **IDS, eos_token_id=END, init_std=0.8, **more)
    return BartForConditionalGeneration(config).eval()


def batch(*prompts: bytes) -> dict[str, Tensor]:
    """The prompts, padded on the left."""
    longest = max(map(len, prompts))
    tokens = torch.tensor([[PAD] * (longest - len(each)) + list(each) for each in prompts])
    return {"input_ids": tokens, "attention_mask": (tokens != PAD).long()}


def texts(rows: Tensor, start: int) -> list[bytes]:
    """What the rows say after their prompts; an end must be there, or the row is full."""
    said = list[bytes]()
    for row in rows[:, start:].tolist():
        ends = [place for place, token in enumerate(row) if token in BYTES.eos_ids]
        said.append(bytes(row[: ends[0]] if ends else row))
    return said


def whole(source: Any, said: list[bytes]) -> bool:
    """Whether all texts are in the language of a source."""
    constraint = gw.compile(source, BYTES)
    return all(constraint.matches(text) for text in said)
