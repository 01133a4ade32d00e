"""The most probable token. Knows no randomness."""

from typing import final

from jaxtyping import Float, Int
from torch import Tensor


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
        best = row.argmax(1, keepdim=True)
        return (best if ids is None else ids.gather(1, best))[:, 0]
