"""`Spread`: what an expression and a constraint leave of rows, and what is reported of it.

What this module does not know: penalties, filters, draws.
"""

import math
from dataclasses import dataclass
from typing import Final, final

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from guideway.errors import ModelError
from guideway.logits.rows import LEAST, Rows, log_mass

EXTREME: Final = 1e18  # a logit that the coldest temperature makes infinite


@final
@dataclass(frozen=True, slots=True)
class Spread:
    """Rows on their way to a draw, after the constraint.

    Attributes:
        values: −∞ where nothing may be drawn; not normalised.
        reported: those of which probabilities are reported: before classifiers.
        total: the logarithm of the whole mass that reported probabilities are shares of; NaN where
            a model gave NaN or +∞.
        kept: the logarithm of the share that the constraint allows; 0 without one.
    """

    values: Float[Tensor, "batch vocabulary"]
    reported: Float[Tensor, "batch vocabulary"]
    total: Float[Tensor, "batch"]
    kept: Float[Tensor, "batch"]

    @classmethod
    def of(cls, rows: Rows, allowed: Bool[Tensor, "batch vocabulary"], *, held: bool) -> "Spread":
        """The rows of an expression where they may be drawn.

        Args:
            rows: what the expression gave.
            allowed: the tokens that the constraint of each row allows.
            held: whether a constraint holds any of the rows.
        """
        total = rows.total()
        values = rows.closed(allowed)
        reported = values if rows.own is None else rows.reported(allowed)
        if not held:
            return cls(values, reported, total, torch.zeros_like(total))
        mass = log_mass(reported)
        # What is left can be so improbable that the difference is beyond float32.
        kept = (mass - total).clamp(min=LEAST).where(mass > -math.inf, -math.inf)
        return cls(values, reported, total, kept)


def centred(
    values: Float[Tensor, "batch vocabulary"],
) -> Float[Tensor, "batch vocabulary"] | None:
    """The rows whose best value is out of all proportion, with it at 0; None if there are none.

    A temperature makes everything infinite there. A step in which that happens is done again.
    """
    highest = values.amax(1, keepdim=True)
    far = (highest.abs() > EXTREME) & (highest > -math.inf)
    return torch.where(far, values - highest, values) if bool(far.any()) else None


def logits_error(total: float, step: int) -> ModelError | None:
    """The error of a row of logits, by the logarithm of its whole mass: NaN or +∞ is no mass."""
    if not (math.isnan(total) or total == math.inf):
        return None
    return ModelError(
        f"the model gave NaN or infinite logits at step {step}: its weights or its precision are "
        "at fault (float16 overflows; try float32 or bfloat16)"
    )
