"""Protocols of language models. `tests/laws` checks these laws on every implementation:

- A row of logits depends on that row's tokens alone (in float32, up to rounding).
- `extend` by several tokens gives at each what single steps give.
- `select` copies: it may repeat, omit and reorder rows, and its argument stays usable. A cache
  passed to `extend` must not be used again.
- Logits are float32, as wide as the vocabulary, on `device`.

A `CroppingModel` can also forget tokens and join rows, which speculation and the prefix cache need:

- After `crop`, a row is as if its last tokens had never been read. Its argument is used up.
- `concat` copies: rows of several caches, of different lengths, are one batch. A model whose cache
  cannot forget tokens has `joins = True` if it can do this.

A `VariedModel` has low-rank adapters and early exits (logits after block k):

- Head 0 is the model itself, as in `prefill` and `extend`; head n is exit `exits[n − 1]`.
- An exit after block k gives the logits of a copy without the later blocks.
- A row with an adapter gives the logits of a copy with the adapter merged, whatever the adapters of
  other rows; its exits too.
- The cache keeps each row's adapter, through `extend`, `extend_varied` and `select`.
- Later calls without adapters and exits are bit for bit as before.

It also shows last hidden states, the input of the head:

- There is one for each token of the prompt or of the new tokens, none for padding; it depends on
  the row's tokens so far and its adapter alone.
- Cache and logits are bit for bit those without hidden states.
- The product of such a state and the rows of the output embedding is greatest where the logits are.
"""

from collections.abc import Hashable, Sequence
from typing import Protocol, TypeAlias, TypeVar, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from guideway.models.adapter import Adapter
from guideway.vocabulary.vocabulary import Vocabulary

Cache = TypeVar("Cache")
States: TypeAlias = list[Tensor]
"""For each row the last hidden states after the tokens that it has just read, [tokens, hidden]."""


@runtime_checkable  # the tests check annotations
class LanguageModel(Protocol[Cache]):
    """Tokens and a cache in, logits out."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The tokens as bytes; its width is that of the logits."""
        ...

    @property
    def device(self) -> torch.device:
        """Device of the logits."""
        ...

    @property
    def context(self) -> int | None:
        """The greatest number of tokens of prompt and text together, None if there is no limit."""
        ...

    def prefill(
        self, prompts: Sequence[Sequence[int]]
    ) -> tuple[Cache, Float[Tensor, "batch vocabulary"]]:
        """A cache with one row for each prompt (none of them empty), and the logits after it."""
        ...

    def extend(
        self, cache: Cache, tokens: Int[Tensor, "batch new"]
    ) -> tuple[Cache, Float[Tensor, "batch new vocabulary"]]:
        """The cache after more tokens in each row, and the logits after each of them."""
        ...

    def select(self, cache: Cache, rows: Sequence[int]) -> Cache:
        """A cache of these rows of `cache`."""
        ...


@runtime_checkable
class CroppingModel(LanguageModel[Cache], Protocol[Cache]):
    """A model whose cache can forget the last tokens of each row."""

    @property
    def crops(self) -> bool:
        """False if this cache cannot: layers with a sliding window, or recurrent ones."""
        ...

    def version(self) -> Hashable:
        """Changes when the weights change or move: a cache of other weights is of no use.

        No property, because it takes a millisecond, and `isinstance` reads properties.
        """
        ...

    def crop(self, cache: Cache, counts: Sequence[int]) -> Cache:
        """The cache without the last `counts[row]` tokens of each row; one token must stay."""
        ...

    def append(
        self, cache: Cache, tokens: Sequence[Sequence[int]], exits: Sequence[int]
    ) -> tuple[Cache, Float[Tensor, "heads batch vocabulary"]]:
        """`extend` by texts of different lengths, and the logits after the last token of each."""
        ...

    def concat(self, caches: Sequence[Cache]) -> Cache:
        """A cache with the rows of all of these, in their order."""
        ...

    def nbytes(self, cache: Cache) -> int:
        """The memory that a cache takes, in bytes."""
        ...


@runtime_checkable
class VariedModel(LanguageModel[Cache], Protocol[Cache]):
    """A model that gives early exits and hidden states, and reads each row with its own adapter."""

    @property
    def layers(self) -> int:
        """Number of blocks; an exit is after block k, 1 ≤ k < layers. 0: no exits known."""
        ...

    def prefill_varied(
        self,
        prompts: Sequence[Sequence[int]],
        adapters: Sequence[Adapter | None],
        exits: Sequence[int],
        states: States | None = None,
    ) -> tuple[Cache, Float[Tensor, "heads batch vocabulary"]]:
        """`prefill`, each row with its adapter; heads are the model and the exits.

        `states` gets the states after the tokens of each row, in float32.
        """
        ...

    def extend_varied(
        self,
        cache: Cache,
        tokens: Int[Tensor, "batch new"],
        exits: Sequence[int],
        states: States | None = None,
    ) -> tuple[Cache, Float[Tensor, "heads batch new vocabulary"]]:
        """`extend` with the adapters that the cache keeps; heads are the model and the exits."""
        ...

    def output_rows(
        self, tokens: Int[Tensor, "tokens"]
    ) -> tuple[Float[Tensor, "tokens hidden"], Float[Tensor, "tokens"]]:
        """Rows of the output embedding for these tokens, and their biases, in float32."""
        ...
