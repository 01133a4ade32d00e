"""Speculative decoding: how drafted tokens are verified, as pure functions.

A cheap model drafts γ tokens, the expensive one reads them all in one forward, and what comes out
has the law of the expensive one (Leviathan et al. 2023, arXiv 2211.17192; Chen et al. 2023, arXiv
2302.01318). With p the law that tokens must have and q the one that the draft was drawn from:

    accept x        with chance min(1, p(x) / q(x)): where u · q(x) < p(x), u uniform on [0, 1)
    after a refusal draw from max(0, p − q), normalised; from p where that is nothing
    after γ tokens  draw one more from the p after all of them

p and q are what is drawn from in the end: after constraint, arithmetic, temperature, filters and
watermark, in the state in which the row is once it has taken the tokens before. The inequality is
strict: a token without a chance is not accepted even where u is 0, and the law after a refusal
gives it none, so nothing leaves the language. A draft that is no draw, but found (a copy of the
prompt, a forced token), has all of its q on one token: `one_hot`.

What this module does not know: models, caches, how drafts are made.
"""

from dataclasses import dataclass
from typing import Final, final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from guideway.errors import LimitError

MOST: Final = 64  # drafted tokens; a longer draft gains less than a thousandth at a rate of 0.9


@final
@dataclass(frozen=True, slots=True)
class Verified:
    """What becomes of the drafts of some rows.

    Attributes:
        accepted: how many of the drafted tokens are kept, from the first one on.
        law: what the token after them is to be drawn from; sums to 1.
    """

    accepted: Int[Tensor, "rows"]
    law: Float[Tensor, "rows vocabulary"]


def verify(
    target: Float[Tensor, "rows longer vocabulary"],
    draft: Float[Tensor, "rows drafted vocabulary"],
    tokens: Int[Tensor, "rows drafted"],
    uniforms: Float[Tensor, "rows drafted"],
) -> Verified:
    """How much of each row's draft is kept, and the law of the token after that.

    Args:
        target: p before each drafted token and after the last one: one more than drafted. What
            stands behind a token that is refused is not looked at.
        draft: q of each drafted token.
        tokens: the drafted tokens.
        uniforms: for each of them a number from 0 to below 1.

    Example:
        >>> p = torch.tensor([[[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]])
        >>> q = torch.tensor([[[0.0, 1.0, 0.0]]])
        >>> kept = verify(p, q, torch.tensor([[1]]), torch.tensor([[0.4]]))
        >>> kept.accepted.tolist(), kept.law.tolist()
        ([1], [[0.0, 0.0, 1.0]])
        >>> refused = verify(p, q, torch.tensor([[1]]), torch.tensor([[0.6]]))
        >>> refused.accepted.tolist(), refused.law.tolist()
        ([0], [[1.0, 0.0, 0.0]])
    """
    drafted = tokens.shape[1]
    kept = accepts(target[:, :drafted], draft, tokens, uniforms)
    accepted = kept.long().cumprod(1).sum(1)
    rows = torch.arange(len(tokens), device=tokens.device)
    after = target[rows, accepted]
    if not drafted:
        return Verified(accepted, after)
    refused = residual(after, draft[rows, accepted.clamp(max=drafted - 1)])
    return Verified(accepted, torch.where((accepted < drafted)[:, None], refused, after))


def accepts(
    target: Float[Tensor, "*rows vocabulary"],
    draft: Float[Tensor, "*rows vocabulary"],
    tokens: Int[Tensor, "*rows"],
    uniforms: Float[Tensor, "*rows"],
) -> Bool[Tensor, "*rows"]:
    """Whether each drafted token is accepted: u · q < p.

    Example:
        >>> p, q = torch.tensor([0.0, 1.0]), torch.tensor([0.5, 0.5])
        >>> [bool(accepts(p, q, torch.tensor(token), torch.tensor(0.0))) for token in (0, 1)]
        [False, True]
    """
    chosen = tokens[..., None]
    return uniforms * draft.gather(-1, chosen)[..., 0] < target.gather(-1, chosen)[..., 0]


def residual(
    target: Float[Tensor, "*rows vocabulary"], draft: Float[Tensor, "*rows vocabulary"]
) -> Float[Tensor, "*rows vocabulary"]:
    """The law of the token in place of one that was refused: max(0, p − q), normalised.

    Where p and q are the same, up to rounding, nothing is left of it, and nothing is refused but by
    rounding: it is p there.

    Example:
        >>> residual(torch.tensor([0.5, 0.3, 0.2]), torch.tensor([0.1, 0.9, 0.0])).tolist()
        [0.666..., 0.0, 0.333...]
    """
    left = (target - draft).clamp(min=0)
    whole = left.sum(-1, keepdim=True)
    return torch.where(whole > 0, left / whole.where(whole > 0, 1.0), target)


def one_hot(tokens: Int[Tensor, "*rows"], width: int) -> Float[Tensor, "*rows vocabulary"]:
    """The law q of tokens that were not drawn but found: all of it on one of `width` tokens.

    Example:
        >>> one_hot(torch.tensor([1]), 3).tolist()
        [[0.0, 1.0, 0.0]]
    """
    return torch.nn.functional.one_hot(tokens, width).float()


def acceptance_rate(
    target: Float[Tensor, "*rows vocabulary"], draft: Float[Tensor, "*rows vocabulary"]
) -> Float[Tensor, "*rows"]:
    """The chance that a token drawn from q is accepted: Σ min(p, q), one less the total variation.

    Example:
        >>> p = torch.tensor([0.4, 0.3, 0.2, 0.1])
        >>> round(float(acceptance_rate(p, p.flip(0))), 6)
        0.6
    """
    return torch.minimum(target, draft).sum(-1)


def expected_tokens(rate: float | int, drafted: int) -> float:
    """Tokens that one forward of the target yields, the one after the draft counted.

    (1 − α^(γ+1)) / (1 − α), where each of γ tokens is accepted with chance α by itself.

    Example:
        >>> round(expected_tokens(0.7, 3), 3), expected_tokens(1, 3)
        (2.533, 4.0)

    Raises:
        LimitError: the rate is no probability, or the count is negative.
    """
    _check("rate", rate, 0 <= rate <= 1, "a number from 0 to 1")
    _check("drafted", drafted, drafted >= 0, "a count")
    return float(drafted + 1) if rate == 1 else (1 - rate ** (drafted + 1)) / (1 - rate)


def speed_up(rate: float | int, drafted: int, cost: float | int) -> float:
    """How many times as fast as one token a forward, where a drafted token costs `cost` forwards.

    Example:
        >>> round(speed_up(0.7, 3, 0.13), 4), round(speed_up(0.7, 4, 0.13), 4)
        (1.8223, 1.8244)

    Raises:
        LimitError: as `expected_tokens`, or the cost is negative.
    """
    _check("cost", cost, cost >= 0, "a number from 0 up")
    return expected_tokens(rate, drafted) / (cost * drafted + 1)


def best_drafted(rate: float | int, cost: float | int, most: int = MOST) -> int:
    """The number of tokens to draft that makes it fastest, the least of equals, at most `most`.

    Example:
        >>> best_drafted(0.7, 0.13), best_drafted(0.5, 0.5), best_drafted(1, 0.1)
        (4, 0, 64)

    Raises:
        LimitError: as `speed_up`, or `most` is negative.
    """
    _check("most", most, most >= 0, "a count")
    return max(range(most + 1), key=lambda drafted: speed_up(rate, drafted, cost))


def _check(name: str, value: float | int, right: bool, allowed: str) -> None:
    if not right:
        given = value if isinstance(value, int) else None
        raise LimitError(f"{name} is {value!r}: it must be {allowed}", limit=name, given=given)
