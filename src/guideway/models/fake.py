"""A language model made of a table or a function, for tests.

Exact, deterministic, with any vocabulary. Its cache is each row's tokens and adapter.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias, cast, final

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from guideway.errors import ModelError, UnsupportedError
from guideway.models.adapter import Adapter
from guideway.vocabulary.vocabulary import Vocabulary

Prefix: TypeAlias = tuple[int, ...]
Function: TypeAlias = Callable[[Prefix], Sequence[float | int] | Tensor]
NO_ADAPTERS: Final[Mapping[str, "FakeModel"]] = MappingProxyType({})


@final
@dataclass(frozen=True, slots=True)
class FakeRow:
    """A row of the cache: the tokens so far, and the fake that answers for them."""

    prefix: Prefix
    model: "FakeModel"


@final
class FakeModel:
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
        self.vocabulary = vocabulary
        self.device = torch.device("cpu")
        self.context = context
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

    def prefill(
        self, prompts: Sequence[Sequence[int]]
    ) -> tuple[tuple[FakeRow, ...], Float[Tensor, "batch vocabulary"]]:
        cache, heads = self.prefill_varied(prompts, (None,) * len(prompts), ())
        return cache, heads[0]

    def prefill_varied(
        self,
        prompts: Sequence[Sequence[int]],
        adapters: Sequence[Adapter | None],
        exits: Sequence[int],
    ) -> tuple[tuple[FakeRow, ...], Float[Tensor, "heads batch vocabulary"]]:
        models = [self if each is None else self._with(each) for each in adapters]
        rows = zip(prompts, models, strict=True)
        cache = tuple(FakeRow(tuple(prompt), model) for prompt, model in rows)
        if not all(row.prefix for row in cache):
            raise ModelError("a prompt is empty: the model needs at least one token")
        values = [row.model.heads(row.prefix, exits) for row in cache]
        return cache, torch.stack(values, 1)

    def extend(
        self, cache: tuple[FakeRow, ...], tokens: Int[Tensor, "batch new"]
    ) -> tuple[tuple[FakeRow, ...], Float[Tensor, "batch new vocabulary"]]:
        longer, heads = self.extend_varied(cache, tokens, ())
        return longer, heads[0]

    def extend_varied(
        self, cache: tuple[FakeRow, ...], tokens: Int[Tensor, "batch new"], exits: Sequence[int]
    ) -> tuple[tuple[FakeRow, ...], Float[Tensor, "heads batch new vocabulary"]]:
        values: list[Tensor] = []
        longer: list[FakeRow] = []
        news = cast("list[list[int]]", tokens.tolist())  # pyright: ignore[reportUnknownMemberType]
        for row, new in zip(cache, news, strict=True):
            whole = (*row.prefix, *new)
            ends = range(len(row.prefix) + 1, len(whole) + 1)
            longer.append(FakeRow(whole, row.model))
            values.append(torch.stack([row.model.heads(whole[:end], exits) for end in ends], 1))
        return tuple(longer), torch.stack(values, 1)

    def prefill_hidden(
        self,
        prompts: Sequence[Sequence[int]],
        adapters: Sequence[Adapter | None],
        exits: Sequence[int],
    ) -> tuple[
        tuple[FakeRow, ...],
        Float[Tensor, "heads batch vocabulary"],
        list[Float[Tensor, "_ hidden"]],
    ]:
        cache, heads = self.prefill_varied(prompts, adapters, exits)
        return cache, heads, [row.model.hidden(row.prefix, 0) for row in cache]

    def extend_hidden(
        self, cache: tuple[FakeRow, ...], tokens: Int[Tensor, "batch new"], exits: Sequence[int]
    ) -> tuple[
        tuple[FakeRow, ...],
        Float[Tensor, "heads batch new vocabulary"],
        Float[Tensor, "batch new hidden"],
    ]:
        longer, heads = self.extend_varied(cache, tokens, exits)
        states = [
            row.model.hidden(row.prefix, len(before.prefix))
            for before, row in zip(cache, longer, strict=True)
        ]
        return longer, heads, torch.stack(states)

    def output_rows(
        self, tokens: Int[Tensor, "tokens"]
    ) -> tuple[Float[Tensor, "tokens hidden"], Float[Tensor, "tokens"]]:
        """Rows of the identity, for fakes whose hidden states are their logits."""
        return torch.eye(self.vocabulary.width)[tokens], torch.zeros(len(tokens))

    def select(self, cache: tuple[FakeRow, ...], rows: Sequence[int]) -> tuple[FakeRow, ...]:
        return tuple(cache[row] for row in rows)

    crops = True

    def version(self) -> int:
        return 0

    def crop(self, cache: tuple[FakeRow, ...], counts: Sequence[int]) -> tuple[FakeRow, ...]:
        rows = zip(cache, counts, strict=True)
        return tuple(FakeRow(row.prefix[: len(row.prefix) - n], row.model) for row, n in rows)

    def append(
        self, cache: tuple[FakeRow, ...], tokens: Sequence[Sequence[int]], exits: Sequence[int]
    ) -> tuple[tuple[FakeRow, ...], Float[Tensor, "heads batch vocabulary"]]:
        rows = zip(cache, tokens, strict=True)
        longer = tuple(FakeRow((*row.prefix, *new), row.model) for row, new in rows)
        return longer, torch.stack([row.model.heads(row.prefix, exits) for row in longer], 1)

    def concat(self, caches: Sequence[tuple[FakeRow, ...]]) -> tuple[FakeRow, ...]:
        return tuple(row for cache in caches for row in cache)

    def nbytes(self, cache: tuple[FakeRow, ...]) -> int:
        return sum(8 * len(row.prefix) for row in cache)

    def heads(self, prefix: Prefix, exits: Sequence[int]) -> Float[Tensor, "heads vocabulary"]:
        """Logits of the model and of the exits."""
        for count in exits:
            if not 0 < count < self.layers:
                raise ModelError(
                    f"there is no exit after block {count}: the fake has exits after block 1 to "
                    f"{self.layers - 1}"
                )
        return torch.stack([self._row(prefix, count) for count in (self.layers, *exits)])

    def hidden(self, prefix: Prefix, begin: int) -> Float[Tensor, "tokens hidden"]:
        """Hidden states after each token of `prefix` from index `begin` on."""
        if self._states is None:
            raise UnsupportedError(
                "the fake has no hidden states: give it a function of them, FakeModel(…, states=…)",
                feature="hidden states",
            )
        ends = range(begin + 1, len(prefix) + 1)
        given = [torch.as_tensor(self._states(prefix[:end])) for end in ends]
        return torch.stack(given).float()

    def _with(self, adapter: Adapter) -> "FakeModel":
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
