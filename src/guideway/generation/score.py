"""Exact probabilities of given texts after a prompt.

The prompt is read once; its cache is repeated for as many continuations as fit. They are padded on
the right, which a causal model ignores. An expression is evaluated at every token, with the given
continuations in place of a constraint, which filters need.

Classifiers at the top of an expression judge whole texts, each once, by Bayes' rule:

    log P(text | class) = log P(text) + Σ α · log P(class | text) + a constant

Impossible cases are exact: for α > 0 texts of log-probability −∞ are removed, for α < 0 all others
are; a class that is impossible in every text has no effect. Classifiers below a filter or a maximum
guide every token with a choice, as in generation under a constraint; probabilities are then shares
of the allowed mass.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

import torch
from jaxtyping import Float
from torch import Tensor

from guideway.errors import ModelError
from guideway.generation.ensemble.ensemble import Ensemble, Logits, Prompts
from guideway.generation.limits import room
from guideway.generation.stopping import check_stop
from guideway.logits.classifier import ClassifierTerm, classify
from guideway.logits.evaluate import Step, evaluate
from guideway.logits.expr import GediTerm, Guided, Leaf, Node, Term, walk
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
        found = _gedi(term, texts, sums) if isinstance(term, GediTerm) else _classify(term, texts)
        made = _added(made, found, term.alpha)
    return made


def _classify(term: ClassifierTerm, texts: Sequence[TextContext]) -> list[float]:
    read = list[str]()
    for text in texts:  # of a window, the last tokens
        *before, last = text.pieces
        opened = TextContext(tuple(before), text.prompt, text.joint)
        read.append(OpenText.of(opened, window=term.window, prompt=term.prompt).after(last))
    known = {text: place for place, text in enumerate(dict.fromkeys(read))}
    given = classify(term, list(known))
    return [float(given[known[text]]) for text in read]


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


MOST_LOGITS: Final = 1 << 26  # 256 MB of float32 in one forward


def score(
    ensemble: Ensemble,
    prompts: Prompts,
    continuations: Sequence[Sequence[int]],
    ends: Sequence[bool],
    asked: str = "",
    joint: bytes = b"",
) -> list[float]:
    """The log-probability of each continuation after the prompt (natural logarithm).

    `prompts` has the tokens for each context; `ends` tells for each continuation whether an end id
    must follow. Classifiers get the prompt `asked` and texts without the `joint`.

    >>> from guideway.models.fake import FakeModel
    >>> from guideway.vocabulary.vocabulary import Vocabulary
    >>> vocabulary = Vocabulary([b"a", b"b", b"<eos>"], eos_ids={2})
    >>> model = FakeModel.table(vocabulary, [[0, 0, 0], [0, 0, 9], [0, 0, 0]])
    >>> found = score(Ensemble.of(model), ((0,),), [[0], [1]], [True, True])
    >>> [round(log, 3) for log in found]
    [-2.197, -1.099]
    """
    if any(ends) and not ensemble.vocabulary.eos_ids:
        raise ModelError("the vocabulary has no end ids, so the end of a text has no probability")
    room(ensemble, prompts, max(map(len, continuations)))
    following = _following(continuations, ends, ensemble.vocabulary.eos_ids)
    whole = ensemble.node
    node, terms = (whole.inner, whole.terms) if isinstance(whole, Guided) else (whole, ())
    nested = any(isinstance(each, Guided) for each in walk(node))
    scoring = _Scoring(ensemble, node, following, asked, joint, nested)
    check_stop()
    cache, first = ensemble.prefill([prompts])
    opening = scoring.logs(first, [()])[0]
    totals = [0.0] * len(continuations)
    summed = {leaf: list(totals) for leaf in ensemble.summed}
    for rows in _portions(continuations, ensemble.vocabulary.width * len(ensemble.leaves)):
        check_stop()
        tokens = [tuple(continuations[row]) for row in rows]
        longest = max(map(len, tokens))
        padded = torch.tensor(
            [each + (0,) * (longest - len(each)) for each in tokens], device=ensemble.device
        )
        begun = ensemble.select(cache, [0] * len(rows))
        _, logits = ensemble.extend(begun, padded)
        read = {leaf: logits[leaf].logsumexp(2) for leaf in summed}
        flat = {leaf: each.flatten(0, 1) for leaf, each in logits.items()}
        texts = [each[: place + 1] for each in tokens for place in range(longest)]
        after = scoring.logs(flat, texts).view(len(rows), longest, -1)
        inner = after[:, :-1].gather(2, padded[:, 1:, None])[:, :, 0]
        end = _end(after, ensemble)
        for place, row in enumerate(rows):
            count = len(tokens[place])
            total = opening[tokens[place][0]] + inner[place, : count - 1].sum()
            totals[row] = float(total + end[place, count - 1] if ends[row] else total)
            for leaf, each in read.items():
                summed[leaf][row] = float(each[place, count - 1])
    if any(map(math.isnan, chain(totals, *summed.values()))):
        raise ModelError(
            "the model gave NaN or infinite logits: check its weights and its precision"
        )
    texts = [scoring.context(tuple(each)) for each in continuations] if terms else []
    return judged(totals, terms, texts, summed)


@dataclass(frozen=True, slots=True)
class _Scoring:
    """An expression evaluated at positions of texts.

    Attributes:
        following: tokens that may follow each prefix of a continuation.
    """

    ensemble: Ensemble
    node: Node  # the part evaluated at every token
    following: Mapping[tuple[int, ...], frozenset[int]]
    asked: str  # the prompt as a text
    joint: bytes  # bytes before each text
    nested: bool  # True if classifiers guide at every token

    def context(self, text: tuple[int, ...]) -> TextContext:
        return TextContext.of(text, self.ensemble.vocabulary, self.asked, self.joint)

    @torch.inference_mode()
    def logs(
        self,
        logits: Logits,
        texts: Sequence[tuple[int, ...]],
    ) -> Float[Tensor, "rows vocabulary"]:
        """The log-probabilities after each of some texts; NaN where a model errs."""
        vocabulary = self.ensemble.vocabulary
        contexts = [self.context(text) for text in texts] if self.nested else []
        allowed = torch.zeros(len(texts), vocabulary.width, dtype=torch.bool)
        for row, text in enumerate(texts):
            allowed[row, list(self.following.get(text, ()))] = True
        state = Step(logits, allowed.to(self.ensemble.device), vocabulary, contexts)
        rows = evaluate(self.node, state)
        closed, total = rows.closed(state.allowed), rows.total()
        if self.nested:  # what a classifier has changed is a share of what is allowed
            total = closed.logsumexp(1) + 0 * total
        return closed - total[:, None]


def _following(
    continuations: Sequence[Sequence[int]], ends: Sequence[bool], eos_ids: Iterable[int]
) -> Mapping[tuple[int, ...], frozenset[int]]:
    """The tokens that follow each prefix of a continuation.

    >>> found = _following([(1, 2), (1,)], [False, True], {9})
    >>> found[()], sorted(found[(1,)])
    (frozenset({1}), [2, 9])
    """
    made = dict[tuple[int, ...], set[int]]()
    for continuation, end in zip(continuations, ends, strict=True):
        text = tuple(continuation)
        for place, token in enumerate(text):
            made.setdefault(text[:place], set()).add(token)
        if end:
            made.setdefault(text, set()).update(eos_ids)
    return {text: frozenset(tokens) for text, tokens in made.items()}


@torch.inference_mode()
def _end(
    logs: Float[Tensor, "batch new vocabulary"], ensemble: Ensemble
) -> Float[Tensor, "batch new"]:
    """The log-probability that the text ends after each token."""
    return logs[:, :, sorted(ensemble.vocabulary.eos_ids)].logsumexp(2)


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
