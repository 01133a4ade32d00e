"""Language models that make the logits of a row from all of its tokens.

Their cache is each row's tokens. `FakeModel` is one for tests, made of a table or a function:
exact, deterministic, with any vocabulary. An n-gram model is another (`models.ngram`).
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias, cast

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from guideway.errors import ModelError, UnsupportedError
from guideway.models.adapter import Adapter
from guideway.models.protocol import States
from guideway.vocabulary.vocabulary import Vocabulary

Prefix: TypeAlias = tuple[int, ...]
Function: TypeAlias = Callable[[Prefix], Sequence[float | int] | Tensor]
NO_ADAPTERS: Final[Mapping[str, "FakeModel"]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the cache: the tokens so far, and the model of its adapter."""

    prefix: Prefix
    model: "PrefixModel | None" = None


class PrefixModel:
    """A model without a state: its logits are those of `heads`."""

    crops = True

    def __init__(self, vocabulary: Vocabulary, context: int | None = None) -> None:
        """A model on the CPU."""
        self.vocabulary, self.context = vocabulary, context
        self.device = torch.device("cpu")

    def heads(self, prefix: Prefix, exits: Sequence[int]) -> Float[Tensor, "heads vocabulary"]:
        """Logits of the model and of the exits after these tokens."""
        raise NotImplementedError

    def prefill(
        self, prompts: Sequence[Sequence[int]]
    ) -> tuple[tuple[Row, ...], Float[Tensor, "batch vocabulary"]]:
        cache, heads = self._first([Row(tuple(prompt)) for prompt in prompts], ())
        return cache, heads[0]

    def extend(
        self, cache: tuple[Row, ...], tokens: Int[Tensor, "batch new"]
    ) -> tuple[tuple[Row, ...], Float[Tensor, "batch new vocabulary"]]:
        longer, heads = self._extended(cache, tokens, ())
        return longer, heads[0]

    def select(self, cache: tuple[Row, ...], rows: Sequence[int]) -> tuple[Row, ...]:
        return tuple(cache[row] for row in rows)

    def version(self) -> int:
        return 0

    def crop(self, cache: tuple[Row, ...], counts: Sequence[int]) -> tuple[Row, ...]:
        rows = zip(cache, counts, strict=True)
        return tuple(Row(row.prefix[: len(row.prefix) - n], row.model) for row, n in rows)

    def append(
        self, cache: tuple[Row, ...], tokens: Sequence[Sequence[int]], exits: Sequence[int]
    ) -> tuple[tuple[Row, ...], Float[Tensor, "heads batch vocabulary"]]:
        rows = zip(cache, tokens, strict=True)
        return self._first([Row((*row.prefix, *new), row.model) for row, new in rows], exits)

    def concat(self, caches: Sequence[tuple[Row, ...]]) -> tuple[Row, ...]:
        return tuple(row for cache in caches for row in cache)

    def nbytes(self, cache: tuple[Row, ...]) -> int:
        return sum(8 * len(row.prefix) for row in cache)

    def _first(
        self, rows: Sequence[Row], exits: Sequence[int]
    ) -> tuple[tuple[Row, ...], Float[Tensor, "heads batch vocabulary"]]:
        if not all(row.prefix for row in rows):
            raise ModelError("a prompt is empty: the model needs at least one token")
        return tuple(rows), torch.stack([self._heads(row, row.prefix, exits) for row in rows], 1)

    def _extended(
        self, cache: tuple[Row, ...], tokens: Int[Tensor, "batch new"], exits: Sequence[int]
    ) -> tuple[tuple[Row, ...], Float[Tensor, "heads batch new vocabulary"]]:
        values, longer = list[Tensor](), list[Row]()
        news = cast("list[list[int]]", tokens.tolist())  # pyright: ignore[reportUnknownMemberType]
        for row, new in zip(cache, news, strict=True):
            whole = (*row.prefix, *new)
            ends = range(len(row.prefix) + 1, len(whole) + 1)
            longer.append(Row(whole, row.model))
            values.append(torch.stack([self._heads(row, whole[:end], exits) for end in ends], 1))
        return tuple(longer), torch.stack(values, 1)

    def _heads(
        self, row: Row, prefix: Prefix, exits: Sequence[int]
    ) -> Float[Tensor, "heads vocabulary"]:
        return (row.model or self).heads(prefix, exits)


class FakeModel(PrefixModel):
    """A model whose logits are a function of the tokens so far.

    Example:
        >>> vocabulary = Vocabulary([b"a", b"b", b"<eos>"], eos_ids={2})
        >>> model = FakeModel.table(vocabulary, [[0, 1, 0], [0, 0, 1], [0, 0, 0]])
        >>> cache, logits = model.prefill([[0]])
        >>> logits.tolist()
        [[0.0, 1.0, 0.0]]
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        function: Function,
        *,
        context: int | None = None,
        exits: Sequence[Function] = (),
        adapted: Mapping[str, "FakeModel"] = NO_ADAPTERS,
        states: Function | None = None,
    ) -> None:
        """A model with logits `function(tokens so far, the prompt's included)`.

        Args:
            vocabulary: its vocabulary.
            function: the logits.
            context: the greatest number of tokens.
            exits: the logits of the exits after block 1, 2, …; the model has one block more.
            adapted: what the model is with an adapter, by the adapter's name.
            states: the last hidden state after the tokens so far, of any width.
        """
        super().__init__(vocabulary, context)
        self.layers = len(exits) + 1
        self._functions = (*exits, function)
        self._adapted = dict(adapted)
        self._states = states

    @classmethod
    def table(
        cls,
        vocabulary: Vocabulary,
        rows: Sequence[Sequence[float | int]] | Tensor,
    ) -> "FakeModel":
        """A model whose logits depend on the last token alone: row `i` follows token `i`."""
        table = torch.as_tensor(rows, dtype=torch.float32)
        if table.shape != (vocabulary.width, vocabulary.width):
            raise ModelError(
                f"the table has shape {tuple(table.shape)}: it needs a row and a column for each "
                f"of the {vocabulary.width} tokens"
            )
        return cls(vocabulary, lambda prefix: table[prefix[-1]])

    @classmethod
    def random(cls, vocabulary: Vocabulary, seed: int = 0, *, scale: float = 1.0) -> "FakeModel":
        """A model whose logits are normal noise decided by the seed and all tokens so far.

        Args:
            vocabulary: its vocabulary.
            seed: decides the noise.
            scale: standard deviation of the logits; at 1, end ids are as likely as any other.
        """

        def logits(prefix: Prefix) -> Float[Tensor, "vocabulary"]:
            digest = hashlib.blake2b(repr((seed, prefix)).encode(), digest_size=16).digest()
            noise = np.random.default_rng(int.from_bytes(digest, "little"))
            row = noise.standard_normal(vocabulary.width, np.float32) * np.float32(scale)
            return torch.as_tensor(row)

        return cls(vocabulary, logits)

    def prefill_varied(
        self,
        prompts: Sequence[Sequence[int]],
        adapters: Sequence[Adapter | None],
        exits: Sequence[int],
        states: States | None = None,
    ) -> tuple[tuple[Row, ...], Float[Tensor, "heads batch vocabulary"]]:
        models = [None if each is None else self._adapted_model(each) for each in adapters]
        rows = zip(prompts, models, strict=True)
        cache, heads = self._first([Row(tuple(prompt), model) for prompt, model in rows], exits)
        if states is not None:
            states += [self._hidden(row, 0) for row in cache]
        return cache, heads

    def extend_varied(
        self,
        cache: tuple[Row, ...],
        tokens: Int[Tensor, "batch new"],
        exits: Sequence[int],
        states: States | None = None,
    ) -> tuple[tuple[Row, ...], Float[Tensor, "heads batch new vocabulary"]]:
        longer, heads = self._extended(cache, tokens, exits)
        if states is not None:
            pairs = zip(cache, longer, strict=True)
            states += [self._hidden(row, len(before.prefix)) for before, row in pairs]
        return longer, heads

    def output_rows(
        self, tokens: Int[Tensor, "tokens"]
    ) -> tuple[Float[Tensor, "tokens hidden"], Float[Tensor, "tokens"]]:
        """Rows of the identity, for fakes whose hidden states are their logits."""
        return torch.eye(self.vocabulary.width)[tokens], torch.zeros(len(tokens))

    def heads(self, prefix: Prefix, exits: Sequence[int]) -> Float[Tensor, "heads vocabulary"]:
        """Logits of the model and of the exits."""
        for count in exits:
            if not 0 < count < self.layers:
                raise ModelError(
                    f"there is no exit after block {count}: the fake has exits after block 1 to "
                    f"{self.layers - 1}"
                )
        return torch.stack([self._row(prefix, count) for count in (self.layers, *exits)])

    def _hidden(self, row: Row, begin: int) -> Float[Tensor, "tokens hidden"]:
        """Hidden states after each token of a row from index `begin` on."""
        function = cast("FakeModel", row.model or self)._states
        if function is None:
            raise UnsupportedError(
                "the fake has no hidden states: give it a function of them, FakeModel(…, states=…)",
                feature="hidden states",
            )
        ends = range(begin + 1, len(row.prefix) + 1)
        given = [torch.as_tensor(function(row.prefix[:end])) for end in ends]
        return torch.stack(given).float()

    def _adapted_model(self, adapter: Adapter) -> "FakeModel":
        if adapter.name not in self._adapted:
            raise ModelError(
                f"the fake knows no adapter {adapter.name!r}; it knows {sorted(self._adapted)}"
            )
        return self._adapted[adapter.name]

    def _row(self, prefix: Prefix, count: int) -> Float[Tensor, "vocabulary"]:
        function = self._functions[count - 1]
        row = torch.as_tensor(function(prefix), dtype=torch.float32)
        if row.shape != (self.vocabulary.width,):
            raise ModelError(
                f"the function gave {tuple(row.shape)} logits for {prefix}: it needs "
                f"{self.vocabulary.width}"
            )
        return row
