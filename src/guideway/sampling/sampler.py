"""Draws from logits: the most probable token, or a random one by the Gumbel-max trick.

- The token drawn has a logit above −∞ if any in its row has one.
- A row's token depends on that row and its key alone, not on the batch, the device or earlier draws
  (away from ties of the last bit).
- With `ids`, rows are some tokens only; the result is that of full rows with −∞ elsewhere.

argmax(logit + noise) has the distribution softmax(logit) (Gumbel 1954; Maddison, Tarlow and Minka
2014, "A* sampling"), without normalisation. The loop relies on a property: if the drawn token is
also in a smaller set, the same key draws it from that set.
"""

from typing import Final

from jaxtyping import Float, Int
from torch import Tensor

from guideway.sampling.noise import gumbel, gumbel_of

FAR: Final = 256  # from 0: beyond it, float32 has too few digits for a logit and its noise


def greedy(
    row: Float[Tensor, "batch choices"], ids: Int[Tensor, "batch choices"] | None = None
) -> Int[Tensor, "batch"]:
    """The most probable token of each row; of ties, any."""
    best = row.argmax(1)
    return best if ids is None else ids.gather(1, best[:, None])[:, 0]


def categorical(
    row: Float[Tensor, "batch choices"],
    key: Int[Tensor, "batch"],
    ids: Int[Tensor, "batch choices"] | None = None,
) -> Int[Tensor, "batch"]:
    """A random token of each row, with probability softmax(row).

    `key` is 64 bits for each row (`sampling.noise.keys`).
    """
    highest = row.amax(1, keepdim=True)
    near = row - highest.where(highest.abs() > FAR, 0.0)
    return greedy(near.add_(gumbel(key, row.shape[1]) if ids is None else gumbel_of(key, ids)), ids)
