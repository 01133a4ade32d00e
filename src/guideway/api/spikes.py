"""Spike entropies of a model: weights of a detector's tokens (Kirchenbauer et al. 2023).

S = Σ p / (1 + z p) with z = (1 − γ)(α − 1) / (1 + (α − 1) γ), α = exp δ. A mark is strong where
many tokens were likely. S is least, 1 / (1 + z), if one token has all probability, so a token's
weight is S − 1 / (1 + z). p is the model's distribution over allowed tokens after the same prompt.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

from guideway.api.jobs import prompts_of, read_prompts
from guideway.api.model import Model
from guideway.engine.cursor import text_row
from guideway.engine.ensemble import Ensemble
from guideway.logits.contexts import TextContext
from guideway.logits.evaluate import Step, evaluate
from guideway.logits.mask import unpack, upload
from guideway.masks.forest import Row
from guideway.sampling.watermarks.scheme import Scheme

PIECE: Final = 128  # tokens in one forward


def spike_entropy(row: Float[Tensor, "batch vocabulary"], modulus: float) -> Float[Tensor, "batch"]:
    """Σ p / (1 + z p) of each row of logits.

    >>> spike_entropy(torch.zeros(1, 4), 4.0).item()
    0.5
    """
    p = row.softmax(1)
    return (p / (1 + modulus * p)).sum(1)


def modulus(gamma: float, delta: float) -> float:
    """The z of spike entropy for a watermark.

    >>> round(modulus(0.5, 2.0), 4), modulus(0.25, math.inf)
    (0.7616, 3.0)
    """
    if math.isinf(delta):
        return (1 - gamma) / gamma
    gain = math.expm1(delta)
    return (1 - gamma) * gain / (1 + gain * gamma)


def weights(
    model: Model, prompt: Any, tokens: Sequence[int], rows: Sequence[Row] | None, scheme: Scheme
) -> NDArray[np.float64]:
    """The weight of each token of a text: 0 for one that had to come."""
    factor = modulus(scheme.gamma, scheme.delta)
    found = np.array(spikes(model, prompt, tokens, rows, factor), np.float64)
    # In float32 a token of probability 1 is off by 1e-7.
    return np.where(found - 1 / (1 + factor) > 1e-6, found - 1 / (1 + factor), 0.0)


def spikes(
    model: Model, prompt: Any, tokens: Sequence[int], rows: Sequence[Row] | None, factor: float
) -> list[float]:
    """Spike entropy of the model before each token, with z = `factor`.

    `rows` are the allowed tokens of each position, None for any text; a watermark of the model is
    ignored.
    """
    ensemble = Ensemble(model.whole)
    width = ensemble.vocabulary.width
    found = list[float]()
    for start, logits in _pieces(ensemble, prompt, tokens):
        some = range(start, start + len(logits))
        each = [text_row(ensemble.vocabulary) if rows is None else rows[n] for n in some]
        allowed = unpack(upload(each, width, ensemble.device), width)
        values = logits.masked_fill(~allowed, -math.inf)
        found += spike_entropy(values, factor).tolist()  # pyright: ignore[reportUnknownMemberType]
    return found


@torch.inference_mode()
def _pieces(
    ensemble: Ensemble, prompt: Any, tokens: Sequence[int]
) -> Iterator[tuple[int, Float[Tensor, "tokens vocabulary"]]]:
    """The rows of an expression before each token, some at a time."""
    reads = read_prompts(ensemble, prompt)
    cache, logits = ensemble.prefill([prompts_of(reads)])
    everything: Bool[Tensor, "1 vocabulary"] = torch.ones(
        1, ensemble.vocabulary.width, dtype=torch.bool, device=ensemble.device
    )
    asked = prompt if isinstance(prompt, str) else ""

    def rows(logits: Any, sums: Any, first: int, count: int) -> Tensor:
        texts = list[TextContext]()
        if ensemble.reads_texts:
            texts = [
                TextContext.of(tokens[:n], ensemble.vocabulary, asked, reads[0].joint)
                for n in range(first, first + count)
            ]
        step = Step(logits, everything.expand(count, -1), ensemble.vocabulary, sums, texts)
        return evaluate(ensemble.node, step).closed(None)

    if tokens:
        yield 0, rows(logits, cache.sums, 0, 1)
    for start in range(0, len(tokens) - 1, PIECE):
        piece = torch.tensor([tokens[start : min(start + PIECE, len(tokens) - 1)]])
        piece = piece.to(ensemble.device)
        before = cache
        cache, found = ensemble.extend(before, piece)
        sums = {leaf: each[0] for leaf, each in ensemble.sums(before, found, piece).items()}
        flat = {leaf: each[0] for leaf, each in found.items()}
        yield start + 1, rows(flat, sums, start + 1, piece.shape[1])
