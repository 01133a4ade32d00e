"""Attention on a CPU that does not repeat the keys and values that several heads share.

Under a mask, transformers' function copies them for each head, because kernels of GPUs need that.
The forward that reads on after a long text has a mask, and so has each one of a padded batch. The
result is the same bit for bit.

A few tokens after a long text are read by oneDNN's products, where the heads that share keys are
rows of one product; the result is the same up to rounding. Processor milliseconds of the built-in
model's 30 layers, one thread of an AMD EPYC with AVX-512, torch's attention and these products: 5
tokens in 512 columns 5.3 and 6.0, in 1,274 columns 13.7 and 9.9; 25 tokens in 512 columns 13.0 and
10.8, in 1,274 columns 32.8 and 21.6.
"""

from collections.abc import Generator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from guideway.models.few_rows import MOST, PRODUCT, is_plain

NAME: Final = "guideway_sdpa"
USUAL: Final = "sdpa"
LEAST: Final = torch.finfo(torch.float32).min
LONG: Final = 600
"""Columns from which oneDNN's products are faster than torch's attention for few tokens."""


def attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    **more: Any,
) -> tuple[Tensor, None]:
    """The function of transformers, but for several tokens of a row whose heads share keys."""
    from transformers.integrations import sdpa_attention

    functions: Any = sdpa_attention
    # With a `cache` it is continuous batching in another thread.
    others = (more.get(name) for name in ("position_bias", "softcap", "cache"))
    plain = not more.get("dropout") and all(each is None for each in others)
    if attention_mask is None or query.shape[2] == 1 or not plain:
        usual = functions.sdpa_attention_forward
        return usual(module, query, key, value, attention_mask, **more)
    few = len(query) == 1 and query.shape[2] <= MOST and key.shape[2] >= LONG
    few = few and attention_mask.shape[1] == 1 and attention_mask.dtype == torch.bool
    if few and PRODUCT and is_plain(query, key):
        return _products(query, key, value, attention_mask, more.get("scaling")), None
    read = scaled_dot_product_attention(
        query,
        key,
        value,
        attn_mask=attention_mask,
        scale=more.get("scaling"),
        enable_gqa=True,
    )
    return read.transpose(1, 2).contiguous(), None


def _products(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor, scale: float | None
) -> Tensor:
    """The attention of one row, (1, tokens, heads, size), with a product for each head of keys."""
    _, heads, count, size = query.shape
    begin, hidden = _hidden(mask)
    grouped = (query * (scale or size**-0.5)).reshape(key.shape[1], -1, size)
    read = torch.empty_like(grouped)
    for head, asked in enumerate(grouped):
        scores = PRODUCT(asked, key[0, head], None, "none", [], "")
        scores.view(-1, count, key.shape[2])[..., begin:].add_(hidden)
        shares = scores.softmax(-1)
        read[head] = PRODUCT(shares, value[0, head].t(), None, "none", [], "")
    return read.view(1, heads, count, size).transpose(1, 2).contiguous()


@lru_cache(1)  # all layers of a forward have one mask
def _hidden(mask: Tensor) -> tuple[int, Tensor]:
    """The first column that a token may not read, and what is added to scores from there on."""
    hidden = mask[0, 0].logical_not()
    begin = int(hidden.any(0).int().argmax())
    # Not -inf, so that a token that may read nothing gives no NaN.
    added = torch.zeros(hidden[:, begin:].shape).masked_fill_(hidden[:, begin:], LEAST)
    return begin, added


def shares_keys(module: Any) -> bool:
    """Return True if heads of a model of transformers share keys, and its attention can change."""
    grouped = any(getattr(each, "num_key_value_groups", 1) > 1 for each in module.modules())
    return grouped and module._supports_attention_backend


@contextmanager
def grouped_attention(module: Any) -> Generator[None]:
    """Use it in forwards inside, if the model has the usual attention, "sdpa".

    Another thread that uses the model meanwhile gets either attention, so the same result.
    """
    config = module.config
    if config._attn_implementation != USUAL:
        yield
        return
    # Here, because transformers imports torchao with them, which prints what it could not load.
    from transformers import masking_utils, modeling_utils

    functions: Any = modeling_utils.AttentionInterface
    masks: Any = masking_utils
    functions.register(NAME, attention)
    masks.AttentionMaskInterface.register(NAME, masks.sdpa_mask)
    config._attn_implementation = NAME
    try:
        yield
    finally:
        config._attn_implementation = USUAL
