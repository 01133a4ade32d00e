"""The seam between a row of logits and a token.

Laws, which `tests/laws` checks on every implementation:

- the token drawn has a logit above −∞ wherever its row has one;
- a row's token depends on that row and its key alone: not on the batch around it, not on the
  device, not on earlier draws (away from ties of the last bit);
- the arguments are left as they are.

A sampler knows no constraint and no model, and holds no state: the key of a draw is a counter's
value, so drawing again gives the same token.
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
        """One token id for each row.

        Args:
            row: float32 logits, −∞ where a token may not be drawn; need not be normalised.
            key: 64 bits that decide the noise of a row (`sampling.noise.keys`).
            ids: the tokens of each row, where they are some and not all in order. What is drawn is
                the same as from whole rows that are −∞ elsewhere.
        """
        ...
