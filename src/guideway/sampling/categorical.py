"""Sampling by the Gumbel-max trick.

argmax(logit + noise) has the distribution softmax(logit) (Gumbel 1954; Maddison, Tarlow and Minka
2014, "A* sampling"), without normalisation. The loop relies on a property: if the drawn token is
also in a smaller set, the same key draws it from that set.
"""

from typing import Final, final

from jaxtyping import Float, Int
from torch import Tensor

from guideway.sampling.noise import gumbel, gumbel_of

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
