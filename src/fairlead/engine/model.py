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
"""

from collections.abc import Sequence
from typing import Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from fairlead.vocabulary.spellings import Vocabulary

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
