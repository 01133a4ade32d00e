"""Judge whole texts with the classifiers of an expression, by Bayes' rule.

    log P(text | class) = log P(text) + Σ α · log P(class | text) + a constant

Each text is judged once, whatever its tokens. Impossible cases are exact: for α > 0 texts of
log-probability −∞ are removed, for α < 0 all others are; a class that is impossible in every text
has no effect.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final

import torch
from jaxtyping import Float
from torch import Tensor

from guideway.logits.classifier import ClassifierTerm, asked
from guideway.logits.expr import GediTerm, Leaf, Term
from guideway.logits.rescore import OpenText, TextContext, gedi_log_probs

LEAST: Final = -1e300  # which is no ban, however large the weight


def judged(
    logs: Sequence[float],
    terms: Sequence[Term],
    texts: Sequence[TextContext],
    sums: Mapping[Leaf, Sequence[float]],
) -> list[float]:
    """Log-probabilities of texts with the classifiers' terms, up to a constant.

    `logs` are those without the terms, `sums` the log-probabilities of the texts for each leaf of a
    GeDi pair.

    >>> class Even:
    ...     def log_probs(self, texts):
    ...         return [math.log(0.8 if len(text) % 2 == 0 else 0.4) for text in texts]
    >>> texts = [TextContext((b"a",)), TextContext((b"ab", b"cd"))]
    >>> found = judged([0.0, 0.0], [ClassifierTerm(Even(), 2)], texts, {})
    >>> [round(math.exp(log), 2) for log in found]
    [0.25, 1.0]
    """
    made = list(logs)
    for term in terms:
        found = _gedi(term, texts, sums) if isinstance(term, GediTerm) else _asked(term, texts)
        made = _added(made, found, term.alpha)
    return made


def _asked(term: ClassifierTerm, texts: Sequence[TextContext]) -> list[float]:
    read = [_classifier_input(text, term) for text in texts]
    known = {text: place for place, text in enumerate(dict.fromkeys(read))}
    given = asked(term, list(known))
    return [float(given[known[text]]) for text in read]


def _classifier_input(text: TextContext, term: ClassifierTerm) -> str:
    """The classifier's input: the text, or its last tokens."""
    *before, last = text.pieces
    opened = TextContext(tuple(before), text.prompt, text.joint)
    return OpenText.of(opened, window=term.window, prompt=term.prompt).after(last)


def _gedi(
    term: GediTerm, texts: Sequence[TextContext], sums: Mapping[Leaf, Sequence[float]]
) -> list[float]:
    both: Float[Tensor, "texts 2"] = torch.tensor([sums[term.wanted], sums[term.unwanted]]).T
    nothing = torch.zeros(len(texts), 1)
    found = gedi_log_probs(nothing, nothing, both, [text.step - 1 for text in texts])
    return [float(log) for log in found[:, 0]]


def _added(logs: Sequence[float], found: Sequence[float], alpha: float | int) -> list[float]:
    """Add scaled verdicts relative to the best; −∞ for removed texts."""
    pairs = list(zip(logs, found, strict=True))
    there = [said for log, said in pairs if log > -math.inf]
    finite = [said for said in there if said > -math.inf]
    if not finite:
        return list(logs)
    if alpha < 0 and len(finite) < len(there):
        return [-math.inf if said > -math.inf else log for log, said in pairs]
    best = max(finite) if alpha > 0 else min(finite)
    return [
        log + max(alpha * (said - best), LEAST) if min(log, said) > -math.inf else -math.inf
        for log, said in pairs
    ]
