"""A token with its own probability, drawn as the greatest of logit plus Gumbel noise.

argmax(logit + noise) has exactly the distribution softmax(logit) (Gumbel 1954; Maddison, Tarlow and
Minka 2014, "A* sampling"). It needs no normalisation and no sum over the vocabulary, and it has a
property that the loop relies on: if the token drawn is in a smaller set as well, then it is the
token that the same key draws from the smaller set.
"""

from typing import Final, final

from jaxtyping import Float, Int
from torch import Tensor

from guideway.sampling.noise import gumbel, gumbel_of

FAR: Final = 256  # from 0: beyond it, float32 has too few digits for a logit and its noise


@final
class Categorical:
    """A token at random, with probability softmax(row).

    Example:
        >>> import torch
        >>> row = torch.tensor([[0.0, 9.0, float("-inf")]]).expand(4, 3)
        >>> Categorical().draw(row, torch.arange(4)).tolist()
        [1, 1, 1, 1]
    """

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
