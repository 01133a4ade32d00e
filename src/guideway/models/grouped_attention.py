"""Attention on a CPU that does not repeat the keys and values that several heads share.

Under a mask, transformers' function copies them for each head, because kernels of GPUs need that.
The forward that reads on after a long text has a mask, and so has each one of a padded batch. The
result is the same bit for bit.

Milliseconds of the attention of the built-in model's 30 layers, one thread of an Intel Xeon with
AVX-512, with copies and without: 5 tokens in 1,274 columns 36 and 13, 25 tokens 76 and 40.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

NAME: Final = "guideway_sdpa"
USUAL: Final = "sdpa"


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
    read = scaled_dot_product_attention(
        query,
        key,
        value,
        attn_mask=attention_mask,
        scale=more.get("scaling"),
        enable_gqa=True,
    )
    return read.transpose(1, 2).contiguous(), None


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
