"""Requests as whole batches: what `Model.generate` does with them, without prompts and values."""

from collections.abc import Sequence as Listed
from collections.abc import Sequence as Requests
from typing import Any

from guideway.constraint.compile import compile as compile_source
from guideway.generation.ensemble.ensemble import Ensemble
from guideway.generation.loop import Decoding
from guideway.generation.row.request import Request
from guideway.generation.row.result import Result
from guideway.models.protocol import LanguageModel
from guideway.sampling.settings import Sampling
from guideway.search.loop import Searching


def _ensemble(model: LanguageModel[Any] | Ensemble) -> Ensemble:
    return model if isinstance(model, Ensemble) else Ensemble.of(model)


def generate(model: LanguageModel[Any] | Ensemble, requests: Requests[Request]) -> list[Result]:
    decoding = Decoding(_ensemble(model), requests)
    for _ in decoding:
        pass
    return decoding.completions


def find(model: LanguageModel[Any] | Ensemble, requests: Listed[Request]) -> list[list[Result]]:
    searching = Searching(_ensemble(model), requests)
    searching.run()
    return searching.completions


def search(model: LanguageModel[Any], source: Any = None, **settings: Any) -> list[Result]:
    """What one search finds after the prompt (0,)."""
    constraint = None if source is None else compile_source(source, model.vocabulary)
    return find(model, [Request((0,), constraint, Sampling.of(settings))])[0]
