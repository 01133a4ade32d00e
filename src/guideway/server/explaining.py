"""Answers of `/v1/explain`: each part of a source and how it is enforced."""

from dataclasses import asdict
from itertools import islice
from typing import Any, Final

from guideway.api.linting.enforcement import enforcement
from guideway.api.model import Model
from guideway.api.prompts import plain
from guideway.automaton.token_tries import unpack
from guideway.constraint.compile import compile as compile_source
from guideway.sources.sources import Source

LINES: Final = 500
TOKENS: Final = 12


def explained(source: Source, model: Model) -> dict[str, Any]:
    """The parts of a source, a shortest text, and what may come first."""
    vocabulary = model.vocabulary
    constraint = compile_source(plain(source), vocabulary)
    start = constraint.start()
    allowed: list[int] = unpack(constraint.mask(start)).tolist()
    some = [vocabulary.tokens[token] or b"" for token in allowed[:TOKENS]]
    return {
        "object": "explanation",
        "enforced": [asdict(each) for each in islice(enforcement(plain(source)), LINES)],
        "example": constraint.example(),
        "shortest_tokens": constraint.distance(start),
        "first_tokens": [each.decode(errors="replace") for each in some],
        "first_count": len(allowed),
    }
