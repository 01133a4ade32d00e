"""A transformers model with its tokenizer as a `LanguageModel`.

- The cache is transformers' own, with an attention mask (None if no row is padded) and the number
  of real tokens of each row. Layers that can forget tokens have room ahead (`GrowingLayer`).
- Prompts are padded on the left and masked; positions count real tokens only.
- The vocabulary is as wide as the logits of a forward pass, whatever the configuration says.
- Adapters and exits use the hooks of `variants`. The blocks are checked at the first exit.
- `crop` leaves columns that other rows still need in place, masked for their row; positions do not
  count them. If more than a third of all is masked, the columns are packed again.
"""

import contextlib
import copy
import inspect
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast
from weakref import WeakKeyDictionary

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional
from transformers.cache_utils import Cache, StaticLayer

from guideway.errors import ModelError, UnsupportedError
from guideway.logits.mask import send
from guideway.models.adapter import Adapter
from guideway.models.grouped_attention import grouped_attention, shares_keys
from guideway.models.growing import GrowingLayer
from guideway.models.protocol import States
from guideway.models.variants import (
    Prepared,
    blocks_of,
    exits_hold,
    prepare,
    recorded,
    shortened,
    varied,
)
from guideway.vocabulary.vocabulary import Vocabulary


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


@dataclass(frozen=True, slots=True)
class StaticMemory:
    """Keys and values of a batch in tensors that never move, which a captured graph needs.

    - After `load`, row n is as row `rows[n]` of the cache, which stays usable.
    - `decode` gives what `extend` by one token gives, in place, and asks the host for nothing.
    - After `rewind`, each row is as if its last tokens had never been read.
    - `thaw` copies rows, without their last tokens, to a cache that `extend` and `select` take.

    Attributes:
        past: transformers' static layers, which count the columns that were read.
        attention: 1 for columns that are tokens, 0 for padding.
        lengths: how many tokens each row has.
    """

    past: Any
    attention: Int[Tensor, "batch length"]
    lengths: Int[Tensor, "batch"]


class TransformersModel:
    """A causal language model of transformers.

    Attributes:
        module: the transformers model, in evaluation mode.
        tokenizer: its transformers tokenizer.
        vocabulary: the tokens as bytes, as wide as the logits.
        context: the greatest number of tokens the model was made for, None if it does not say.
        crops: True if its cache can forget the last tokens.
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
        self._accepted = inspect.signature(module.forward).parameters
        # transformers 5.24 renamed it, for arguments and outputs.
        self._past = "cache" if "cache" in self._accepted else "past_key_values"
        with torch.inference_mode():
            output = module(
                torch.zeros(1, 1, dtype=torch.int64, device=self.device), use_cache=True
            )
        logits, layers = output.logits, getattr(getattr(output, self._past, None), "layers", ())
        # Others forget old columns (sliding windows), or mix all tokens into one state.
        self.crops = bool(layers) and all(map(_is_plain, layers))
        self.vocabulary = Vocabulary.from_transformers(
            tokenizer, logits.shape[-1], module.generation_config
        )
        longest = getattr(module.config.get_text_config(), "max_position_embeddings", None)
        self.context: int | None = longest if isinstance(longest, int) and longest > 0 else None
        self._blocks = blocks_of(module)
        self._shares_keys = shares_keys(module)
        self._adapters: WeakKeyDictionary[Adapter, dict[str, Prepared]] = WeakKeyDictionary()

    @property
    def device(self) -> torch.device:
        return self.module.device

    def version(self) -> Hashable:
        """The parameters, where they are, and how often an optimizer or another wrote them."""
        modules = [self.module]
        for module in modules:  # `parameters()` makes names too, and takes three times as long
            modules += filter(None, module._modules.values())
        return tuple(
            (
                id(each),
                each.data_ptr() if type(each) is torch.nn.Parameter else 0,  # not of packed ones
                0 if each.is_inference() else each._version,
            )
            for module in modules
            for each in module._parameters.values()
            if each is not None
        )

    @property
    def layers(self) -> int:
        return len(self._blocks)

    def first_blocks(self, count: int) -> "TransformersModel":
        """The early exit after block `count` as a model of its own, which shares the weights."""
        self._check_exits([count])
        made = copy.copy(self)
        made.module = shortened(self.module, self._blocks, count)
        made._blocks = self._blocks[:count]
        return made

    @torch.inference_mode()
    def prefill(
        self, prompts: Sequence[Sequence[int]]
    ) -> tuple[TransformersCache, Float[Tensor, "batch vocabulary"]]:
        cache, heads = self.prefill_varied(prompts, (None,) * len(prompts), ())
        return cache, heads[0]

    @torch.inference_mode()
    def prefill_varied(
        self,
        prompts: Sequence[Sequence[int]],
        adapters: Sequence[Adapter | None],
        exits: Sequence[int],
        states: States | None = None,
    ) -> tuple[TransformersCache, Float[Tensor, "heads batch vocabulary"]]:
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
        last = [longest - 1] * len(counts)
        past, heads = self._forward(tokens, cache, starts, exits, last, states)
        if states is not None:
            rows = zip(states, prompts, strict=True)
            states[:] = [row[len(row) - len(prompt) :] for row, prompt in rows]
        if self.crops:
            past = _map_tensors(past, lambda tensor: tensor)
        return replace(cache, past=past, lengths=lengths), heads

    @torch.inference_mode()
    def extend(
        self, cache: TransformersCache, tokens: Int[Tensor, "batch new"]
    ) -> tuple[TransformersCache, Float[Tensor, "batch new vocabulary"]]:
        longer, heads = self.extend_varied(cache, tokens, ())
        return longer, heads[0]

    def output_rows(
        self, tokens: Int[Tensor, "tokens"]
    ) -> tuple[Float[Tensor, "tokens hidden"], Float[Tensor, "tokens"]]:
        head = self.module.get_output_embeddings()
        weight, bias = getattr(head, "weight", None), getattr(head, "bias", None)
        if not isinstance(weight, Tensor) or not weight.is_floating_point() or weight.ndim != 2:
            name = type(self.module).__name__
            raise UnsupportedError(f"heads cannot use the output of {name}", feature=name)
        index = tokens.to(weight.device)
        rows = weight.detach()[index].float()
        return rows, rows.new_zeros(len(rows)) if bias is None else bias.detach()[index].float()

    @torch.inference_mode()
    def extend_varied(
        self,
        cache: TransformersCache,
        tokens: Int[Tensor, "batch new"],
        exits: Sequence[int],
        states: States | None = None,
    ) -> tuple[TransformersCache, Float[Tensor, "heads batch new vocabulary"]]:
        attention = cache.attention
        if attention is not None:
            attention = torch.cat([attention, torch.ones_like(tokens, dtype=torch.bool)], 1)
        longer = replace(cache, attention=attention, lengths=cache.lengths + tokens.shape[1])
        past, heads = self._forward(tokens, longer, cache.lengths, exits, states=states)
        return replace(longer, past=past), heads

    @torch.inference_mode()
    def select(self, cache: TransformersCache, rows: Sequence[int]) -> TransformersCache:
        """A copy of these rows. One of all rows shares tensors, as long as they can be shared."""
        index = torch.tensor(rows, device=self.device)
        if not self.crops:
            past = copy.deepcopy(cache.past)  # a forward replaces what some layers hold
            past.reorder_cache(index)  # gathers: drops other rows, copies what is there twice
        elif [*rows] == [*range(len(cache.lengths))]:
            past = Cache(layers=[layer.copy() for layer in cache.past.layers])
        else:
            past = _map_tensors(cache.past, lambda tensor: tensor.index_select(0, index))
        attention = None if cache.attention is None else cache.attention[index]
        adapters = tuple(cache.adapters[row] for row in rows)
        selected = TransformersCache(past, attention, cache.lengths[index], adapters)
        alone = self.crops and attention is not None and len(rows) == 1
        return self._packed(selected) if alone else selected

    @torch.inference_mode()
    def crop(self, cache: TransformersCache, counts: Sequence[int]) -> TransformersCache:
        """The cache without the last tokens of each row."""
        removed = torch.tensor(counts, device=self.device)
        least, lengths = min(counts), cache.lengths - removed
        attention, past = cache.attention, cache.past
        columns = past.get_seq_length() - least
        if max(counts) > least:
            place = torch.arange(columns, device=self.device)
            kept = place < columns + least - removed[:, None]
            attention = kept if attention is None else attention[:, :columns] & kept
        elif attention is not None:
            attention = attention[:, :columns]
        if least:
            past = Cache(layers=[layer.crop_to(columns) for layer in past.layers])
        cropped = TransformersCache(past, attention, lengths, cache.adapters)
        wasted = 0 if attention is None else columns - int(lengths.max())
        return self._packed(cropped) if wasted * 3 > columns else cropped

    @torch.inference_mode()
    def append(
        self, cache: TransformersCache, tokens: Sequence[Sequence[int]], exits: Sequence[int]
    ) -> tuple[TransformersCache, Float[Tensor, "heads batch vocabulary"]]:
        counts = [len(new) for new in tokens]
        longest = max(counts)
        padded = [[*new, *[new[-1]] * (longest - len(new))] for new in tokens]
        attention = cache.attention
        if attention is not None:
            attention = functional.pad(attention, (0, longest), value=True)
        longer = replace(cache, attention=attention, lengths=cache.lengths + longest)
        given = torch.tensor(padded, device=self.device)
        last = [each - 1 for each in counts]
        past, heads = self._forward(given, longer, cache.lengths, exits, last=last)
        read = self.crop(replace(longer, past=past), [longest - each for each in counts])
        return read, heads

    @torch.inference_mode()
    def concat(self, caches: Sequence[TransformersCache]) -> TransformersCache:
        """The rows of all caches, shorter ones padded on the left."""
        longest = max(cache.past.get_seq_length() for cache in caches)
        missing = [longest - cache.past.get_seq_length() for cache in caches]

        def joined(parts: Sequence[Tensor]) -> Tensor:
            pairs = zip(parts, missing, strict=True)
            return torch.cat([functional.pad(part, (0, 0, more, 0)) for part, more in pairs])

        layers = zip(*(cache.past.layers for cache in caches), strict=True)
        past = Cache(
            layers=[
                GrowingLayer(joined([one.keys for one in own]), joined([one.values for one in own]))
                for own in layers
            ]
        )
        attention = None
        if any(missing) or any(cache.attention is not None for cache in caches):
            rows = [
                torch.ones(len(cache.lengths), longest - more, dtype=torch.bool, device=self.device)
                if cache.attention is None
                else cache.attention
                for cache, more in zip(caches, missing, strict=True)
            ]
            padded_rows = zip(rows, missing, strict=True)
            attention = torch.cat([functional.pad(row, (more, 0)) for row, more in padded_rows])
        adapters = tuple(adapter for cache in caches for adapter in cache.adapters)
        lengths = torch.cat([cache.lengths for cache in caches])
        return TransformersCache(past, attention, lengths, adapters)

    def columns(self, cache: TransformersCache) -> int:
        """The tokens of each row of a cache, with padding."""
        return cache.past.get_seq_length()

    @torch.inference_mode()
    def allocate(self, cache: TransformersCache, rows: int, length: int) -> StaticMemory:
        """Memory for so many rows of `length` tokens, of the types that `cache` has."""
        layers = list[Any]()
        for layer in cache.past.layers:
            layers.append(StaticLayer(max_cache_len=length))
            shapes = [each[:1].expand(rows, -1, -1, -1) for each in (layer.keys, layer.values)]
            layers[-1].lazy_initialization(*shapes)
        attention = torch.ones(rows, length, dtype=torch.int64, device=self.device)
        return StaticMemory(Cache(layers=layers), attention, attention[:, 0].clone())

    @torch.inference_mode()
    def load(self, memory: StaticMemory, cache: TransformersCache, rows: Sequence[int]) -> None:
        """Copy these rows of a cache; columns beyond are hidden, as they are not read yet."""
        index = send([*rows], self.device)
        columns = cache.past.get_seq_length()
        for layer, given in zip(memory.past.layers, cache.past.layers, strict=True):
            for name in ("keys", "values"):
                into, read = getattr(layer, name), getattr(given, name)
                into.zero_()  # numbers that are hidden must be numbers
                into[:, :, :columns].copy_(read.index_select(0, index))
            layer.cumulative_length.fill_(columns)
        memory.attention.fill_(1)
        if cache.attention is not None:
            memory.attention[:, :columns].copy_(cache.attention.index_select(0, index))
        memory.lengths.copy_(cache.lengths.index_select(0, index))

    def decode(
        self, memory: StaticMemory, tokens: Int[Tensor, "batch"]
    ) -> Float[Tensor, "batch vocabulary"]:
        """The logits after one more token in each row."""
        arguments: dict[str, Any] = {"attention_mask": memory.attention, self._past: memory.past}
        if "position_ids" in self._accepted:
            # Rows that have ended read on, beyond the last position that a model may have.
            last = memory.attention.shape[1] if self.context is None else self.context
            arguments["position_ids"] = memory.lengths.clamp(max=last - 1)[:, None]
        output = self.module(tokens[:, None], use_cache=True, **arguments)
        memory.lengths.add_(1)
        return output.logits[:, -1].float()

    @torch.inference_mode()
    def rewind(self, memory: StaticMemory, count: int) -> None:
        """Forget the last tokens of all rows."""
        for layer in memory.past.layers:
            layer.cumulative_length.sub_(count)
        memory.lengths.sub_(count)

    @torch.inference_mode()
    def thaw(self, memory: StaticMemory, rows: Sequence[int], less: int) -> TransformersCache:
        """A cache of these rows, without their last `less` tokens."""
        index, columns = send([*rows], self.device), int(memory.past.get_seq_length()) - less
        past = _map_tensors(memory.past, lambda tensor: tensor[:, :, :columns][index])
        attention = memory.attention[:, :columns][index] > 0
        lengths = memory.lengths[index] - less
        padded = None if bool(attention.all()) else attention
        return TransformersCache(past, padded, lengths, (None,) * len(rows))

    def nbytes(self, cache: TransformersCache | StaticMemory) -> int:
        """The memory that a cache takes, or such a memory, in bytes."""
        tensors = (each for layer in cache.past.layers for each in (layer.keys, layer.values))
        return sum(each.untyped_storage().nbytes() for each in tensors)

    def _packed(self, cache: TransformersCache) -> TransformersCache:
        """The same without columns that all rows can do without: each row is padded on the left."""
        attention, longest = cast("Tensor", cache.attention), int(cache.lengths.max())
        order = attention.int().argsort(dim=1, stable=True)[:, -longest:]

        def moved(tensor: Tensor) -> Tensor:
            return tensor.gather(
                2, order[:, None, :, None].expand(-1, tensor.shape[1], -1, tensor.shape[3])
            )

        kept = attention.gather(1, order)
        return replace(
            cache, past=_map_tensors(cache.past, moved), attention=None if kept.all() else kept
        )

    def _forward(
        self,
        tokens: Int[Tensor, "batch new"],
        cache: TransformersCache,
        starts: Int[Tensor, "batch"],
        exits: Sequence[int],
        last: Sequence[int] | None = None,
        states: States | None = None,
    ) -> tuple[Any, Float[Tensor, "heads batch *some vocabulary"]]:
        """One forward; `starts` is the position of each row's first column.

        The logits are those of all columns, or of one column of each row, `last`. `states` gets the
        hidden states of all columns.
        """
        arguments: dict[str, Any] = {"attention_mask": None, self._past: cache.past}
        if cache.attention is not None:
            arguments["attention_mask"] = cache.attention.long()
        if "position_ids" in self._accepted:
            columns = torch.arange(tokens.shape[1], device=self.device)
            arguments["position_ids"] = (starts[:, None] + columns).clamp(min=0)
        kept = last
        if last is not None and "logits_to_keep" in self._accepted:
            wanted = sorted({*last})  # a long prompt's logits would fill the memory
            kept = [wanted.index(each) for each in last]
            arguments["logits_to_keep"] = torch.tensor(wanted, device=self.device)
        with contextlib.ExitStack() as changes:
            if self._shares_keys and tokens.device.type == "cpu":
                changes.enter_context(grouped_attention(self.module))
            changes.enter_context(self._varied(cache.adapters, exits))
            seen = [] if states is None else changes.enter_context(recorded(self.module))
            output = self.module(tokens, use_cache=True, **arguments)
        if states is not None:
            states += seen[-1][: len(tokens)]  # rows of the exits follow
        logits = output.logits.float().unflatten(0, (1 + len(exits), len(tokens)))
        if kept is not None:
            logits = logits[:, range(len(tokens)), kept]
        return getattr(output, self._past), logits

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


def _is_plain(layer: Any) -> bool:
    """Return True if a layer of a cache keeps a column for each token."""
    return type(layer).__name__ == "DynamicLayer" and layer.is_initialized


def _map_tensors(past: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """A cache whose keys and values are changed; its argument stays as it was."""
    return Cache(layers=[GrowingLayer(change(x.keys), change(x.values)) for x in past.layers])
