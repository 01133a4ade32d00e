"""Best-of-n: rank the texts drawn for a prompt.

    "logprob"     the model's log-probability, a drawn end id included, over the number of tokens to
                  the power `length_penalty` (as for beams; the default here is 0)
    "majority"    the share of texts with the same value (self-consistency, Wang et al. 2022, arXiv
                  2203.11171); the first text of each value comes before second ones
    a classifier  α · log P(class | text) of whole texts; all prompts are one batch
    a function    its result, once for each different text

Ties are ranked by the model's log-probability. Texts without a value (refused or interrupted) have
the score −∞.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from guideway.errors import UnsupportedError
from guideway.generation.row.result import Result
from guideway.logits.classifier import Classifier, ClassifierTerm, classify
from guideway.sampling.judges import number_from
from guideway.sampling.settings import Sampling


@dataclass(frozen=True, slots=True)
class Candidates:
    """The texts drawn for one prompt."""

    results: Sequence[Result]  # results with `model_score` as their score
    sampling: Sampling  # settings with the ranking
    count: int  # number of texts to keep
    prompt: str = ""  # the prompt as a text, for classifiers; "" for chats


def model_score(done: Result, sampling: Sampling) -> float:
    """The log-probability of what was drawn over the power of its length; 0 of an empty text."""
    power = 0.0 if sampling.length_penalty is None else float(sampling.length_penalty)
    return (math.fsum(done.logprobs) + done.log_end) / max(1, len(done.log_allowed)) ** power


def widened(sampling: Sampling) -> Sampling:
    """The settings that draw the candidate texts; classifiers with a window are refused."""
    judge = sampling.best_by
    if isinstance(judge, ClassifierTerm) and judge.window is not None:
        raise UnsupportedError(
            f"best_by ranks whole texts, and this classifier has window={judge.window}: remove "
            "the window",
            feature="window of best_by",
        )
    if sampling.best_of is None:
        return sampling
    return replace(sampling, num_return_sequences=sampling.best_of)


def best(drawn: Sequence[Candidates]) -> list[list[Result]]:
    """The best texts of each prompt, best first, with their scores by the judge."""
    known = _judge_scores(drawn)
    return [_ranked(each, known)[: each.count] for each in drawn]


Known = dict[tuple[int, str], float]  # the id of a judge, and the text → the score


def _judge_scores(drawn: Sequence[Candidates]) -> Known:
    """Scores by classifiers and functions, each called once."""
    judges = {id(each.sampling.best_by): each.sampling.best_by for each in drawn}
    known = Known()
    for key, judge in judges.items():
        texts = [
            _read(each, result)
            for each in drawn
            if each.sampling.best_by is judge
            for result in each.results
            if _has_value(result)
        ]
        texts = list(dict.fromkeys(texts))
        if isinstance(judge, str) or judge is None or not texts:
            continue
        for text, score in zip(texts, _scores(judge, texts), strict=True):
            known[key, text] = score
    return known


def _scores(judge: Any, texts: list[str]) -> list[float]:
    if isinstance(judge, Classifier):
        judge = ClassifierTerm(judge, alpha=1, name=type(judge).__name__)
    if isinstance(judge, ClassifierTerm):
        logs = classify(judge, texts) if judge.alpha else [0.0] * len(texts)  # 0 · −∞ is no number
        return [judge.alpha * float(log) for log in logs]
    name = getattr(judge, "__qualname__", None) or type(judge).__name__
    return [number_from(judge, text, f"best_by: the function {name}") for text in texts]


def _read(drawn: Candidates, result: Result) -> str:
    judge = drawn.sampling.best_by
    reads_prompt = isinstance(judge, ClassifierTerm) and judge.prompt
    return drawn.prompt + result.text if reads_prompt else result.text


def _has_value(result: Result) -> bool:
    return result.error is None and result.finish_reason != "interrupted"


def _ranked(drawn: Candidates, known: Known) -> list[Result]:
    judge = drawn.sampling.best_by
    by_model = sorted(drawn.results, key=lambda each: -_model_score(each))
    whole = [each for each in by_model if _has_value(each)]
    rest = [replace(each, score=-math.inf) for each in by_model if not _has_value(each)]
    if judge == "majority":
        whole = _by_majority(whole, len(by_model))
    elif judge is not None and judge != "logprob":
        scores = [known[id(judge), _read(drawn, each)] for each in whole]
        whole = [replace(each, score=n) for each, n in zip(whole, scores, strict=True)]
        whole.sort(key=_model_score, reverse=True)  # stable: ties stay in the order of the model
    return [*whole, *rest]


def _model_score(result: Result) -> float:
    return cast("float", result.score)


def _by_majority(results: Sequence[Result], count: int) -> list[Result]:
    """By how many of `count` have their value; results come in the order of the model."""
    groups = list[list[Result]]()
    for result in results:
        found = next((group for group in groups if same(group[0].value, result.value)), None)
        if found is None:
            groups.append([result])
        else:
            found.append(result)
    groups.sort(key=len, reverse=True)
    voted = [[replace(each, score=len(group) / count) for each in group] for group in groups]
    return [*(group[0] for group in voted), *(each for group in voted for each in group[1:])]


def same(left: object, right: object) -> bool:
    """Return True if two values are equal as JSON: 1 is 1.0, but booleans are no numbers.

    >>> same([1, {"a": None}], [1.0, {"a": None}]), same([True], [1])
    (True, False)
    """
    todo = [(left, right)]
    while todo:
        one, other = todo.pop()
        if isinstance(one, dict) and isinstance(other, dict):
            ours, theirs = cast("dict[Any, Any]", one), cast("dict[Any, Any]", other)
            if ours.keys() != theirs.keys():
                return False
            todo.extend((ours[key], theirs[key]) for key in ours)
        elif isinstance(one, list) and isinstance(other, list):
            ones, others = cast("list[Any]", one), cast("list[Any]", other)
            if len(ones) != len(others):
                return False
            todo.extend(zip(ones, others, strict=True))
        elif isinstance(one, bool) != isinstance(other, bool) or one != other:
            return False
    return True
