"""Verification of drafted tokens in speculative decoding, as pure functions.

A cheap model drafts γ tokens, the target model reads them in one forward pass, and the result has
the target's distribution (Leviathan et al. 2023, arXiv 2211.17192; Chen et al. 2023, arXiv
2302.01318). With p the target and q the draft distribution:

    accept x        with probability min(1, p(x) / q(x)): if u · q(x) < p(x), u uniform on [0, 1)
    after a refusal draw from max(0, p − q), normalised; from p if that is empty
    after γ tokens  draw one more from p

p and q are the final distributions after constraint, arithmetic, temperature, filters and
watermark. The inequality is strict, so a token of probability 0 is never accepted, even for u = 0.
A draft without a draw (a copy of the prompt, a forced token) has q = `one_hot`.
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
    """Result for drafts: number of `accepted` tokens, and the distribution of the next one."""

    accepted: Int[Tensor, "rows"]
    law: Float[Tensor, "rows vocabulary"]


def verify(
    target: Float[Tensor, "rows longer vocabulary"],
    draft: Float[Tensor, "rows drafted vocabulary"],
    tokens: Int[Tensor, "rows drafted"],
    uniforms: Float[Tensor, "rows drafted"],
) -> Verified:
    """Verify drafts: `target` has p before each drafted token and after the last, `draft` has q.

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
    """Return True for each accepted token: u · q < p."""
    chosen = tokens[..., None]
    return uniforms * draft.gather(-1, chosen)[..., 0] < target.gather(-1, chosen)[..., 0]


def residual(
    target: Float[Tensor, "*rows vocabulary"], draft: Float[Tensor, "*rows vocabulary"]
) -> Float[Tensor, "*rows vocabulary"]:
    """Distribution after a refusal: max(0, p − q), normalised; p if p and q are equal."""
    left = (target - draft).clamp(min=0)
    whole = left.sum(-1, keepdim=True)
    return torch.where(whole > 0, left / whole.where(whole > 0, 1.0), target)


def one_hot(tokens: Int[Tensor, "*rows"], width: int) -> Float[Tensor, "*rows vocabulary"]:
    """Distribution q of tokens that were not drawn."""
    return torch.nn.functional.one_hot(tokens, width).float()


def acceptance_rate(
    target: Float[Tensor, "*rows vocabulary"], draft: Float[Tensor, "*rows vocabulary"]
) -> Float[Tensor, "*rows"]:
    """Probability that a token drawn from q is accepted: Σ min(p, q)."""
    return torch.minimum(target, draft).sum(-1)


def expected_tokens(rate: float | int, drafted: int) -> float:
    """Expected tokens for one target pass: (1 − α^(γ+1)) / (1 − α), at acceptance rate α.

    >>> round(expected_tokens(0.7, 3), 3), expected_tokens(1, 3)
    (2.533, 4.0)
    """
    _check("rate", rate, 0 <= rate <= 1, "a number from 0 to 1")
    _check("drafted", drafted, drafted >= 0, "a count")
    return float(drafted + 1) if rate == 1 else (1 - rate ** (drafted + 1)) / (1 - rate)


def speed_up(rate: float | int, drafted: int, cost: float | int) -> float:
    """Speed-up over plain decoding if a drafted token costs `cost` target passes.

    >>> round(speed_up(0.7, 3, 0.13), 4), round(speed_up(0.7, 4, 0.13), 4)
    (1.8223, 1.8244)
    """
    _check("cost", cost, cost >= 0, "a number from 0 up")
    return expected_tokens(rate, drafted) / (cost * drafted + 1)


def best_drafted(rate: float | int, cost: float | int, most: int = MOST) -> int:
    """The draft length of the greatest speed-up, at most `most`; the least of ties.

    >>> best_drafted(0.7, 0.13), best_drafted(0.5, 0.5), best_drafted(1, 0.1)
    (4, 0, 64)
    """
    _check("most", most, most >= 0, "a count")
    return max(range(most + 1), key=lambda drafted: speed_up(rate, drafted, cost))


def _check(name: str, value: float | int, right: bool, allowed: str) -> None:
    if not right:
        given = value if isinstance(value, int) else None
        raise LimitError(f"{name} is {value!r}: it must be {allowed}", limit=name, given=given)
