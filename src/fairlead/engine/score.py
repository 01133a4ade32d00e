"""The probability of given texts after a prompt, exactly: every token goes through the model.

The prompt is read once; its cache is repeated for as many continuations as fit together. They are
padded on the right, where later columns change nothing in a causal model.

What this module does not know: texts, tokenizers, constraints.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

import torch
from jaxtyping import Float
from torch import Tensor

from fairlead.engine.model import LanguageModel
from fairlead.errors import LimitError, ModelError

MOST_LOGITS: Final = 1 << 26  # 256 MB of float32 in one forward


def score(
    model: LanguageModel[Any],
    prompt: Sequence[int],
    continuations: Sequence[Sequence[int]],
    ends: Sequence[bool],
) -> list[float]:
    """The log-probability of each continuation after the prompt (natural logarithm).

    Args:
        model: the model.
        prompt: tokens, one at least.
        continuations: tokens of each, one at least.
        ends: whether the end of the text counts with it: then the probability that one of the end
            ids comes next is a factor.

    Raises:
        ModelError: an end counts, and the vocabulary has no end ids; or the model gave NaN or +∞.
        LimitError: the prompt and a continuation are longer than the model's context.

    Example:
        >>> from fairlead.engine.fake import FakeModel
        >>> from fairlead.vocabulary.spellings import Vocabulary
        >>> vocabulary = Vocabulary([b"a", b"b", b"<eos>"], eos_ids={2})
        >>> model = FakeModel.table(vocabulary, [[0, 0, 0], [0, 0, 9], [0, 0, 0]])
        >>> [round(log, 3) for log in score(model, [0], [[0], [1]], [True, True])]
        [-2.197, -1.099]
    """
    if any(ends) and not model.vocabulary.eos_ids:
        raise ModelError("the end of a text has no probability: the vocabulary has no end ids")
    _check_room(model, len(prompt) + max(map(len, continuations)))
    cache, first = model.prefill([prompt])
    opening = first.log_softmax(1)[0]
    totals = [0.0] * len(continuations)
    for rows in _portions(continuations, model.vocabulary.width):
        tokens = [list(continuations[row]) for row in rows]
        longest = max(map(len, tokens))
        padded = torch.tensor(
            [each + [0] * (longest - len(each)) for each in tokens], device=model.device
        )
        _, logits = model.extend(model.select(cache, [0] * len(rows)), padded)
        begun = opening[padded[:, 0]]
        inner, after = _inner(logits, padded), _end(logits, model)
        for place, row in enumerate(rows):
            count = len(tokens[place])
            total = begun[place] + inner[place, : count - 1].sum()
            totals[row] = float(total + after[place, count - 1] if ends[row] else total)
    if any(map(math.isnan, totals)):
        raise ModelError(
            "the model gave NaN or infinite logits: its weights or its precision are at fault"
        )
    return totals


def _check_room(model: LanguageModel[Any], needed: int) -> None:
    if model.context is not None and needed > model.context:
        raise LimitError(
            f"the prompt and the longest continuation take {needed} tokens, and the model's "
            f"context is {model.context}",
            limit="context",
            given=model.context,
            needed=needed,
        )


@torch.inference_mode()
def _inner(
    logits: Float[Tensor, "batch new vocabulary"], tokens: Tensor
) -> Float[Tensor, "batch rest"]:
    """The log-probability of each token but the first, given those before it."""
    chosen = logits[:, :-1].gather(2, tokens[:, 1:, None])[:, :, 0]
    return chosen - logits[:, :-1].logsumexp(2)


@torch.inference_mode()
def _end(
    logits: Float[Tensor, "batch new vocabulary"], model: LanguageModel[Any]
) -> Float[Tensor, "batch new"]:
    """The log-probability that the text ends after each token."""
    ids = torch.tensor(sorted(model.vocabulary.eos_ids), dtype=torch.int64, device=logits.device)
    return logits[:, :, ids].logsumexp(2) - logits.logsumexp(2)


def _portions(continuations: Sequence[Sequence[int]], width: int) -> Iterator[list[int]]:
    """Rows that fit into one forward, those of like length together."""
    order = sorted(range(len(continuations)), key=lambda row: len(continuations[row]))
    portion: list[int] = []
    for row in order:
        if portion and (len(portion) + 1) * len(continuations[row]) * width > MOST_LOGITS:
            yield portion
            portion = []
        portion.append(row)
    if portion:
        yield portion
