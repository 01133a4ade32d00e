"""The keyword arguments of `Model.generate` and `Model.stream`, for type checkers only."""

from typing import Literal, TypeAlias, TypedDict

from guideway.api.speculate import Speculate
from guideway.language.budget import Budget
from guideway.models.progress import Progress
from guideway.sampling.settings import Sampling, SamplingArguments

Wrong: TypeAlias = Literal["raise", "return"]
"""How a failed row is reported: by an error, or by a result with that error."""


class _Arguments(SamplingArguments, total=False):
    """The arguments of all calls."""

    schema_in_prompt: bool
    trace: bool | int
    heal: bool
    canonical: bool
    speculate: Speculate
    on_invalid: Wrong
    budget: Budget | None


class _RunArguments(TypedDict, total=False):
    """The arguments of `generate` that `stream` does not have."""

    retries: int
    on_error: Wrong
    batch_size: int | None
    progress: Progress


class StreamArguments(_Arguments, total=False):
    """The arguments of `stream`."""

    sampling: Sampling | None
    num_return_sequences: Literal[1]
    n: Literal[1]


class OneArguments(StreamArguments, _RunArguments, total=False):
    """The arguments of `generate` for one prompt, which returns one result."""


class SeveralArguments(_Arguments, _RunArguments, total=False):
    """The arguments of `generate` for several prompts or sequences, which returns a list."""

    sampling: Sampling | list[Sampling] | None
    num_return_sequences: int
    n: int
