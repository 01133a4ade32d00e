"""A transformers model with its tokenizer as a `LanguageModel`.

Rules:

- the cache object is transformers' own; beside it go the attention mask (None while no row of the
  batch is padded) and the number of real tokens of each row;
- prompts of different lengths are padded on the left, masked there, and counted without it: the
  position of a token is what it would be alone;
- the width of the vocabulary is that of the logits of one forward, not what a configuration says.

What this module does not know: constraints, sampling, where weights come from.
"""

import copy
import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast, final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from fairlead.errors import ModelError
from fairlead.vocabulary.spellings import Vocabulary


@final
@dataclass(frozen=True, slots=True)
class TransformersCache:
    """Keys and values of a batch.

    Attributes:
        past: transformers' cache.
        attention: which columns are tokens and not padding; None if all are.
        lengths: how many tokens each row has.
    """

    past: Any
    attention: Bool[Tensor, "batch length"] | None
    lengths: Int[Tensor, "batch"]


@final
class TransformersModel:
    """A causal language model of transformers.

    Attributes:
        module: the transformers model, in evaluation mode.
        tokenizer: its transformers tokenizer.
        vocabulary: the tokens as bytes, as wide as the logits.
        context: the greatest number of tokens the model was made for, None if it does not say.
    """

    def __init__(self, module: Any, tokenizer: Any) -> None:
        """Wrap a model and its tokenizer, which must be a fast one.

        Raises:
            ModelError: the model is no causal one, or the tokenizer cannot be read exactly.
            UnsupportedError: the tokenizer does not decode token by token.
        """
        if getattr(module.config, "is_encoder_decoder", False) or not module.can_generate():
            raise ModelError(
                f"{type(module).__name__} does not generate text after text: load it with "
                "AutoModelForCausalLM"
            )
        self.module = module.eval()
        self.tokenizer = tokenizer
        with torch.inference_mode():
            logits = module(torch.zeros(1, 1, dtype=torch.int64, device=self.device)).logits
        self.vocabulary = Vocabulary.from_transformers(
            tokenizer, logits.shape[-1], module.generation_config
        )
        longest = getattr(module.config.get_text_config(), "max_position_embeddings", None)
        self.context: int | None = longest if isinstance(longest, int) and longest > 0 else None
        self._accepted = inspect.signature(module.forward).parameters

    @property
    def device(self) -> torch.device:
        """Where prompts go and logits come from."""
        return self.module.device

    @torch.inference_mode()
    def prefill(
        self, prompts: Sequence[Sequence[int]]
    ) -> tuple[TransformersCache, Float[Tensor, "batch vocabulary"]]:
        """A cache of the prompts and the logits after each.

        Raises:
            ModelError: a prompt is empty.
        """
        counts = [len(prompt) for prompt in prompts]
        if not all(counts):
            raise ModelError("a prompt is empty: a model needs one token at least")
        longest = max(counts)
        padded = [[0] * (longest - len(prompt)) + list(prompt) for prompt in prompts]
        lengths = torch.tensor(counts, device=self.device)
        attention = None
        if min(counts) < longest:
            columns = torch.arange(longest, device=self.device)
            attention = columns >= longest - lengths[:, None]
        cache = TransformersCache(None, attention, torch.zeros_like(lengths))
        tokens = torch.tensor(padded, device=self.device)
        starts = lengths - longest  # negative: the first token, not the first column, is at 0
        past, logits = self._forward(tokens, cache, starts, last=True)
        return TransformersCache(past, attention, lengths), logits[:, -1]

    @torch.inference_mode()
    def extend(
        self, cache: TransformersCache, tokens: Int[Tensor, "batch new"]
    ) -> tuple[TransformersCache, Float[Tensor, "batch new vocabulary"]]:
        """The cache after more tokens, and the logits after each of them."""
        attention = cache.attention
        if attention is not None:
            attention = torch.cat([attention, torch.ones_like(tokens, dtype=torch.bool)], 1)
        longer = TransformersCache(cache.past, attention, cache.lengths + tokens.shape[1])
        past, logits = self._forward(tokens, longer, cache.lengths, last=False)
        return TransformersCache(past, attention, longer.lengths), logits

    @torch.inference_mode()
    def select(self, cache: TransformersCache, rows: Sequence[int]) -> TransformersCache:
        """A copy of these rows."""
        index = torch.tensor(rows, device=self.device)
        past = _shallow(cache.past)
        past.layers = [_shallow(layer) for layer in cache.past.layers]
        past.reorder_cache(index)  # gathers: what is not there is dropped, what is twice is copied
        attention = None if cache.attention is None else cache.attention[index]
        return TransformersCache(past, attention, cache.lengths[index])

    def _forward(
        self,
        tokens: Int[Tensor, "batch new"],
        cache: TransformersCache,
        starts: Int[Tensor, "batch"],
        *,
        last: bool,
    ) -> tuple[Any, Float[Tensor, "batch some vocabulary"]]:
        """One forward; `starts` is the position of each row's first column."""
        arguments: dict[str, Any] = {"attention_mask": None}
        if cache.attention is not None:
            arguments["attention_mask"] = cache.attention.long()
        if "position_ids" in self._accepted:
            columns = torch.arange(tokens.shape[1], device=self.device)
            arguments["position_ids"] = (starts[:, None] + columns).clamp(min=0)
        if last and "logits_to_keep" in self._accepted:
            arguments["logits_to_keep"] = 1  # a long prompt's logits would fill the memory
        output = self.module(tokens, past_key_values=cache.past, use_cache=True, **arguments)
        return output.past_key_values, output.logits.float()


def _shallow(thing: Any) -> Any:
    """A copy that shares tensors, but not the lists in which some layers replace them."""
    copied: Any = copy.copy(thing)
    attributes = cast("dict[str, Any]", vars(copied))
    for name, value in attributes.items():
        if isinstance(value, list | dict):
            attributes[name] = copy.copy(cast("Any", value))
    return copied
