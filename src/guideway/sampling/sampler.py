"""Protocol of a draw from logits. `tests/laws` checks these laws on every implementation:

- the token drawn has a logit above −∞ if any in its row has one;
- a row's token depends on that row and its key alone, not on the batch, the device or earlier draws
  (away from ties of the last bit);
- the arguments are not changed.
"""

from typing import Protocol, runtime_checkable

from jaxtyping import Float, Int
from torch import Tensor


@runtime_checkable  # the tests check annotations
class Sampler(Protocol):
    """A row of logits to a token."""

    def draw(
        self,
        row: Float[Tensor, "batch choices"],
        key: Int[Tensor, "batch"],
        ids: Int[Tensor, "batch choices"] | None = None,
    ) -> Int[Tensor, "batch"]:
        """Draw one token id for each row.

        `key` is 64 bits for each row (`sampling.noise.keys`). With `ids`, rows are some tokens
        only; the result is that of full rows with −∞ elsewhere.
        """
        ...
