"""The seam between the loop and what gives logits.

Laws, which `tests/laws` checks on every implementation:

- a row of logits is what the model gives after that row's tokens alone: not changed by the rows
  around it (in float32, up to rounding);
- `extend` by several tokens gives at each of them what one step at a time gives there;
- `select` copies: it may repeat rows, leave some out and change their order, and the cache it was
  given can still be used. A cache that went into `extend` must not be used again;
- logits are float32, as wide as the vocabulary, on `device`.

A model knows no constraint and no sampling. The methods suffice for what holds several
continuations: beams reorder with `select`, a draft is verified with one `extend`.

Some models give several answers to one question: rows may have low-rank adapters, and each forward
may also give the logits of early exits, what the model would say if it ended after block k. Laws of
these:

- head 0 is the model itself: what `prefill` and `extend` give; head n is exit `exits[n − 1]`;
- an exit after block k gives what a copy of the model gives from which the later blocks are taken;
- a row with an adapter gives what a copy of the model gives into whose weights it is merged, alone
  or among rows with other adapters or with none; its exits too;
- the cache keeps each row's adapter, through `extend`, `extend_varied` and `select`;
- nothing of it stays: a later call without adapters and exits gives, bit for bit, what it gave
  before.

Some models also show their last hidden states, what the head reads. Laws of these:

- there is one for each token of the prompt, or of the new ones, and none for padding; each is what
  the row's tokens up to there give alone, with the row's adapter, whatever the exits;
- cache and logits are, bit for bit, what they are without showing them.
"""

from collections.abc import Sequence
from typing import Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from guideway.engine.adapter import Adapter
from guideway.vocabulary.spellings import Vocabulary

Cache = TypeVar("Cache")


@runtime_checkable  # the tests check annotations
class LanguageModel(Protocol[Cache]):
    """Tokens and a cache in, logits out."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The tokens as bytes; its width is that of the logits."""
        ...

    @property
    def device(self) -> torch.device:
        """Where the logits are."""
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
class VariedModel(LanguageModel[Cache], Protocol[Cache]):
    """A model that also gives early exits, and reads each row with an adapter of its own."""

    @property
    def layers(self) -> int:
        """How many blocks it has; an exit is after block k, 1 ≤ k < layers. 0: no exits known."""
        ...

    def prefill_varied(
        self,
        prompts: Sequence[Sequence[int]],
        adapters: Sequence[Adapter | None],
        exits: Sequence[int],
    ) -> tuple[Cache, Float[Tensor, "heads batch vocabulary"]]:
        """`prefill`, each row with its adapter; heads are the model and the exits.

        Raises:
            ModelError: an adapter does not fit the model, or there is no such exit.
            UnsupportedError: the architecture has no exits that are known.
        """
        ...

    def extend_varied(
        self, cache: Cache, tokens: Int[Tensor, "batch new"], exits: Sequence[int]
    ) -> tuple[Cache, Float[Tensor, "heads batch new vocabulary"]]:
        """`extend` with the adapters that the cache keeps; heads are the model and the exits."""
        ...


@runtime_checkable
class HiddenModel(VariedModel[Cache], Protocol[Cache]):
    """A model that also shows its last hidden states, in float32."""

    def prefill_hidden(
        self,
        prompts: Sequence[Sequence[int]],
        adapters: Sequence[Adapter | None],
        exits: Sequence[int],
    ) -> tuple[Cache, Float[Tensor, "heads batch vocabulary"], list[Float[Tensor, "_ hidden"]]]:
        """`prefill_varied`, and for each prompt the states after its tokens.

        Raises:
            UnsupportedError: the model has no states, or they are not known.
        """
        ...

    def extend_hidden(
        self, cache: Cache, tokens: Int[Tensor, "batch new"], exits: Sequence[int]
    ) -> tuple[
        Cache, Float[Tensor, "heads batch new vocabulary"], Float[Tensor, "batch new hidden"]
    ]:
        """`extend_varied`, and the states after the new tokens.

        Raises:
            UnsupportedError: as `prefill_hidden`.
        """
        ...
