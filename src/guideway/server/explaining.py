"""Answers about sources and texts: how each part of a source is enforced, and a watermark."""

from dataclasses import asdict
from itertools import islice
from typing import Any, Final

from guideway.api.linting.enforcement import enforcement
from guideway.api.model import Model
from guideway.api.prompts import plain
from guideway.api.watermark import Detection, Watermark
from guideway.automaton.token_tries import unpack
from guideway.constraint.compile import compile as compile_source
from guideway.language.budget import Meter
from guideway.language.fuel import metered
from guideway.server.settings import BUDGET
from guideway.sources.sources import Source

LINES: Final = 500
TOKENS: Final = 12


def explained(source: Source, model: Model) -> dict[str, Any]:
    """The parts of a source, a shortest text, and what may come first."""
    vocabulary = model.vocabulary
    constraint = compile_source(plain(source), vocabulary, BUDGET)
    with metered(Meter(BUDGET, "explaining").tick, fresh=True):
        start = constraint.start()
        allowed: list[int] = unpack(constraint.mask(start)).tolist()
        example, shortest = constraint.example(), constraint.distance(start)
    some = [vocabulary.tokens[token] or b"" for token in allowed[:TOKENS]]
    return {
        "object": "explanation",
        "enforced": [asdict(each) for each in islice(enforcement(plain(source)), LINES)],
        "example": example,
        "shortest_tokens": shortest,
        "first_tokens": [each.decode(errors="replace") for each in some],
        "first_count": len(allowed),
    }


def detected(mark: Watermark, model: Model, text: str, source: Source | None) -> Detection:
    """The evidence of a watermark in a text, which must be one of `source`."""
    held = None if source is None else compile_source(plain(source), model.vocabulary, BUDGET)
    return mark.detect(text, model, held)
