"""`choose`: probabilities of given texts after a prompt."""

import math
from collections.abc import Sequence

from guideway.api.jobs import check_lossless, prompts_of, read_prompts
from guideway.api.prompts import read_choices, split_prompts
from guideway.errors import DeadEndError, UnsupportedError
from guideway.generation.ensemble.ensemble import Ensemble
from guideway.generation.score import score


def probabilities(ensemble: Ensemble, prompt: object, choices: object) -> dict[str, float]:
    """The probability of each choice; `Model.choose` says what is refused."""
    check_lossless(ensemble)
    options = read_choices(choices)
    prompts, batch = split_prompts(prompt)
    if batch:
        raise UnsupportedError("choose takes one prompt, not a list", feature="choose on a batch")
    reads = read_prompts(ensemble, prompts[0])
    reader = ensemble.contexts[0].reader
    tokens = [reader.continuation(reads[0], option) for option in options]
    ends = [any(o != option and o.startswith(option) for o in options) for option in options]
    asked = prompts[0] if isinstance(prompts[0], str) else ""
    logs = score(ensemble, prompts_of(reads), tokens, ends, asked, reads[0].joint)
    return shares(options, logs)


def shares(options: Sequence[str], logs: Sequence[float]) -> dict[str, float]:
    """Probabilities of options, given that one of them follows.

    >>> shares(["yes", "no"], [-2.0, -2.0])
    {'yes': 0.5, 'no': 0.5}
    """
    top = max(logs)
    if top == -math.inf:
        raise DeadEndError("the model gives every choice the probability 0")
    weights = [math.exp(log - top) for log in logs]
    return {o: w / sum(weights) for o, w in zip(options, weights, strict=True)}
