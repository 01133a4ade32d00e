"""What may stand in a call of a model, for type checkers. Nothing here runs."""

from typing import Literal, TypeAlias, TypedDict

from guideway.engine.backends.progress import Progress
from guideway.sampling.arguments import SamplingArguments
from guideway.sampling.settings import Sampling

Wrong: TypeAlias = Literal["raise", "return"]
"""What happens to a row that fails."""


class _Arguments(SamplingArguments, total=False):
    """Those that all calls have."""

    schema_in_prompt: bool
    trace: bool | int
    heal: bool
    canonical: bool
    on_invalid: Wrong


class _RunArguments(TypedDict, total=False):
    """Those of `generate` alone."""

    retries: int
    on_error: Wrong
    batch_size: int | None
    progress: Progress


class StreamArguments(_Arguments, total=False):
    """Those of `stream`."""

    sampling: Sampling | None
    num_return_sequences: Literal[1]
    n: Literal[1]


class OneArguments(StreamArguments, _RunArguments, total=False):
    """Those of `generate` for one prompt, which gives one result."""


class SeveralArguments(_Arguments, _RunArguments, total=False):
    """Those of `generate` for several prompts or sequences, which gives a list."""

    sampling: Sampling | list[Sampling] | None
    num_return_sequences: int
    n: int
