"""Draws from logits: the most probable token, or a random one by the Gumbel-max trick.

`tests/laws` checks these laws on every implementation of `Sampler`:

- the token drawn has a logit above −∞ if any in its row has one;
- a row's token depends on that row and its key alone, not on the batch, the device or earlier draws
  (away from ties of the last bit);
- the arguments are not changed.

argmax(logit + noise) has the distribution softmax(logit) (Gumbel 1954; Maddison, Tarlow and Minka
2014, "A* sampling"), without normalisation. The loop relies on a property: if the drawn token is
also in a smaller set, the same key draws it from that set.
"""

from typing import Final, Protocol, final, runtime_checkable

from jaxtyping import Float, Int
from torch import Tensor

from guideway.sampling.noise import gumbel, gumbel_of


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


@final
class Greedy:
    """The most probable token; of ties, any."""

    def draw(
        self,
        row: Float[Tensor, "batch choices"],
        key: Int[Tensor, "batch"],
        ids: Int[Tensor, "batch choices"] | None = None,
    ) -> Int[Tensor, "batch"]:
        """The largest element of each row; `key` is not looked at."""
        best = row.argmax(1)
        return best if ids is None else ids.gather(1, best[:, None])[:, 0]


FAR: Final = 256  # from 0: beyond it, float32 has too few digits for a logit and its noise


@final
class Categorical:
    """A random token, with probability softmax(row)."""

    def draw(
        self,
        row: Float[Tensor, "batch choices"],
        key: Int[Tensor, "batch"],
        ids: Int[Tensor, "batch choices"] | None = None,
    ) -> Int[Tensor, "batch"]:
        """The greatest of logit plus noise in each row."""
        highest = row.amax(1, keepdim=True)
        near = row - highest.where(highest.abs() > FAR, 0.0)
        if ids is None:
            return near.add_(gumbel(key, row.shape[1])).argmax(1)
        best = near.add_(gumbel_of(key, ids)).argmax(1, keepdim=True)
        return ids.gather(1, best)[:, 0]
