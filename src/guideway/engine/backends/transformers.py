"""A transformers model with its tokenizer as a `LanguageModel`.

- The cache is transformers' own, with an attention mask (None if no row is padded) and the number
  of real tokens of each row.
- Prompts are padded on the left and masked; positions count real tokens only.
- The vocabulary is as wide as the logits of a forward pass, whatever the configuration says.
- Adapters and exits use the hooks of `variants`. The blocks are checked at the first exit.
"""

import contextlib
import copy
import inspect
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast, final
from weakref import WeakKeyDictionary

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from guideway.engine.adapter import Adapter
from guideway.engine.backends.variants import (
    Prepared,
    blocks_of,
    exits_hold,
    prepare,
    shown,
    varied,
)
from guideway.errors import ModelError, UnsupportedError
from guideway.vocabulary.spellings import Vocabulary


@final
@dataclass(frozen=True, slots=True)
class TransformersCache:
    """Keys and values of a batch.

    Attributes:
        past: transformers' cache.
        attention: which columns are tokens and not padding; None if all are.
        lengths: how many tokens each row has.
        adapters: the adapter of each row, None for the model as it is.
    """

    past: Any
    attention: Bool[Tensor, "batch length"] | None
    lengths: Int[Tensor, "batch"]
    adapters: tuple[Adapter | None, ...]


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
                f"{type(module).__name__} is not a causal language model: load it with "
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
        # transformers 5.24 renamed it, for arguments and outputs.
        self._past = "cache" if "cache" in self._accepted else "past_key_values"
        self._blocks = blocks_of(module)
        self._adapters: WeakKeyDictionary[Adapter, dict[str, Prepared]] = WeakKeyDictionary()

    @property
    def device(self) -> torch.device:
        """Device of prompts and logits."""
        return self.module.device

    @property
    def layers(self) -> int:
        """Number of blocks; 0 if they are not known."""
        return len(self._blocks)

    @torch.inference_mode()
    def prefill(
        self, prompts: Sequence[Sequence[int]]
    ) -> tuple[TransformersCache, Float[Tensor, "batch vocabulary"]]:
        """Cache of the prompts and logits after each; empty prompts are refused."""
        cache, heads = self.prefill_varied(prompts, (None,) * len(prompts), ())
        return cache, heads[0]

    def prefill_hidden(
        self,
        prompts: Sequence[Sequence[int]],
        adapters: Sequence[Adapter | None],
        exits: Sequence[int],
    ) -> tuple[
        TransformersCache,
        Float[Tensor, "heads batch vocabulary"],
        list[Float[Tensor, "_ hidden"]],
    ]:
        """`prefill_varied`, with the hidden states after each token of the prompts."""
        with shown(self.module) as states:
            cache, heads = self.prefill_varied(prompts, adapters, exits)
        rows = zip(states[-1], prompts, strict=False)  # rows of the exits follow
        return cache, heads, [row[len(row) - len(prompt) :] for row, prompt in rows]

    @torch.inference_mode()
    def prefill_varied(
        self,
        prompts: Sequence[Sequence[int]],
        adapters: Sequence[Adapter | None],
        exits: Sequence[int],
    ) -> tuple[TransformersCache, Float[Tensor, "heads batch vocabulary"]]:
        """Cache of the prompts, and logits of the model and of the exits after each."""
        counts = [len(prompt) for prompt in prompts]
        if not all(counts):
            raise ModelError("a prompt is empty: the model needs at least one token")
        longest = max(counts)
        padded = [[0] * (longest - len(prompt)) + list(prompt) for prompt in prompts]
        lengths = torch.tensor(counts, device=self.device)
        attention = None
        if min(counts) < longest:
            columns = torch.arange(longest, device=self.device)
            attention = columns >= longest - lengths[:, None]
        cache = TransformersCache(None, attention, torch.zeros_like(lengths), tuple(adapters))
        tokens = torch.tensor(padded, device=self.device)
        starts = lengths - longest  # negative: the first token, not the first column, is at 0
        past, heads = self._forward(tokens, cache, starts, exits, last=True)
        return replace(cache, past=past, lengths=lengths), heads[:, :, -1]

    @torch.inference_mode()
    def extend(
        self, cache: TransformersCache, tokens: Int[Tensor, "batch new"]
    ) -> tuple[TransformersCache, Float[Tensor, "batch new vocabulary"]]:
        """The cache after more tokens, and the logits after each of them."""
        longer, heads = self.extend_varied(cache, tokens, ())
        return longer, heads[0]

    def extend_hidden(
        self, cache: TransformersCache, tokens: Int[Tensor, "batch new"], exits: Sequence[int]
    ) -> tuple[
        TransformersCache,
        Float[Tensor, "heads batch new vocabulary"],
        Float[Tensor, "batch new hidden"],
    ]:
        """`extend_varied`, with the hidden states after the new tokens."""
        with shown(self.module) as states:
            longer, heads = self.extend_varied(cache, tokens, exits)
        return longer, heads, states[-1][: len(tokens)]

    @torch.inference_mode()
    def extend_varied(
        self, cache: TransformersCache, tokens: Int[Tensor, "batch new"], exits: Sequence[int]
    ) -> tuple[TransformersCache, Float[Tensor, "heads batch new vocabulary"]]:
        """Cache after more tokens, and logits of the model and of the exits after each."""
        attention = cache.attention
        if attention is not None:
            attention = torch.cat([attention, torch.ones_like(tokens, dtype=torch.bool)], 1)
        longer = replace(cache, attention=attention, lengths=cache.lengths + tokens.shape[1])
        past, heads = self._forward(tokens, longer, cache.lengths, exits, last=False)
        return replace(longer, past=past), heads

    @torch.inference_mode()
    def select(self, cache: TransformersCache, rows: Sequence[int]) -> TransformersCache:
        """A copy of these rows."""
        index = torch.tensor(rows, device=self.device)
        past = _shallow(cache.past)
        past.layers = [_shallow(layer) for layer in cache.past.layers]
        past.reorder_cache(index)  # gathers: what is not there is dropped, what is twice is copied
        attention = None if cache.attention is None else cache.attention[index]
        adapters = tuple(cache.adapters[row] for row in rows)
        return TransformersCache(past, attention, cache.lengths[index], adapters)

    def _forward(
        self,
        tokens: Int[Tensor, "batch new"],
        cache: TransformersCache,
        starts: Int[Tensor, "batch"],
        exits: Sequence[int],
        *,
        last: bool,
    ) -> tuple[Any, Float[Tensor, "heads batch some vocabulary"]]:
        """One forward; `starts` is the position of each row's first column."""
        arguments: dict[str, Any] = {"attention_mask": None, self._past: cache.past}
        if cache.attention is not None:
            arguments["attention_mask"] = cache.attention.long()
        if "position_ids" in self._accepted:
            columns = torch.arange(tokens.shape[1], device=self.device)
            arguments["position_ids"] = (starts[:, None] + columns).clamp(min=0)
        if last and "logits_to_keep" in self._accepted:
            arguments["logits_to_keep"] = 1  # a long prompt's logits would fill the memory
        with self._varied(cache.adapters, exits):
            output = self.module(tokens, use_cache=True, **arguments)
        logits = output.logits.float()
        return getattr(output, self._past), logits.unflatten(0, (1 + len(exits), len(tokens)))

    def _varied(
        self, adapters: Sequence[Adapter | None], exits: Sequence[int]
    ) -> contextlib.AbstractContextManager[None]:
        """Context for a forward pass with these adapters and exits."""
        if not exits and not any(adapters):
            return contextlib.nullcontext()
        self._check_exits(exits)
        return varied(self._blocks, exits, [each and self._prepared(each) for each in adapters])

    def _prepared(self, adapter: Adapter) -> dict[str, Prepared]:
        if adapter not in self._adapters:
            self._adapters[adapter] = prepare(self.module, adapter)
        return self._adapters[adapter]

    def _check_exits(self, exits: Sequence[int]) -> None:
        if exits and not self._exits_hold:
            name = type(self.module).__name__
            raise UnsupportedError(
                f"early exits of {name} are not supported: guideway cannot find its blocks, or how "
                "their states become logits",
                feature=name,
            )
        for count in exits:
            if not 0 < count < self.layers:
                raise ModelError(
                    f"there is no exit after block {count}: the block must be from 1 to "
                    f"{self.layers - 1} of {self.layers}"
                )

    @cached_property
    def _exits_hold(self) -> bool:
        tokens = torch.tensor([[0, 1], [1, 0]], device=self.device)

        def forward() -> Tensor:
            return self.module(tokens, use_cache=False).logits.float()

        with torch.inference_mode():
            return self.layers > 0 and exits_hold(self._blocks, forward)


def _shallow(thing: Any) -> Any:
    """A copy that shares tensors, but not the lists in which some layers replace them."""
    copied: Any = copy.copy(thing)
    attributes = cast("dict[str, Any]", vars(copied))
    for name, value in attributes.items():
        if isinstance(value, list | dict):
            attributes[name] = copy.copy(cast("Any", value))
    return copied
