"""`Spread`: rows after the expression and the constraint, and their reported probabilities."""

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
    """Rows after the constraint, before the draw.

    Attributes:
        values: logits, not normalised; −∞ for tokens that may not be drawn.
        reported: logits of the reported probabilities: before classifiers.
        total: logarithm of the whole mass, the denominator of reported probabilities; NaN if a
            model's logits have NaN or +∞.
        kept: logarithm of the share that the constraint allows; 0 without one.
    """

    values: Float[Tensor, "batch vocabulary"]
    reported: Float[Tensor, "batch vocabulary"]
    total: Float[Tensor, "batch"]
    kept: Float[Tensor, "batch"]

    @classmethod
    def of(cls, rows: Rows, allowed: Bool[Tensor, "batch vocabulary"], *, held: bool) -> "Spread":
        """Apply the mask to the rows of an expression; `held`: any row has a constraint."""
        total = rows.total()
        values = rows.closed(allowed)
        reported = values if rows.own is None else rows.reported(allowed)
        if not held:
            return cls(values, reported, total, torch.zeros_like(total))
        mass = log_mass(reported)
        # The allowed mass can be so small that the difference is beyond float32.
        kept = (mass - total).clamp(min=LEAST).where(mass > -math.inf, -math.inf)
        return cls(values, reported, total, kept)


def centred(
    values: Float[Tensor, "batch vocabulary"],
) -> Float[Tensor, "batch vocabulary"] | None:
    """Rows with extreme maxima shifted to 0; None if there are none.

    A temperature would make their values infinite; the step is then repeated with shifted rows.
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
