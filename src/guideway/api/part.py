"""`Part`: one part of a streamed text."""

from dataclasses import dataclass
from typing import Generic

from guideway.api.parsing.values import partial_value
from guideway.errors import brief, one_line
from guideway.generation.row.result import Result, Value_co
from guideway.generation.row.trace import TracedStep
from guideway.sources.sources import Source


@dataclass(frozen=True, slots=True)
class Part(Generic[Value_co]):
    """One part of a streamed text. `str(part)` is the new text.

    Attributes:
        delta: the new text of this part.
        text: all of the text so far.
        source: what the text must be.
        result: the whole result in the last part, None before.
        steps: the steps of this part, if `trace` was set; `result.trace` has all of them.
    """

    delta: str
    text: str
    source: Source | None = None
    result: Result[Value_co] | None = None
    steps: tuple[TracedStep, ...] = ()

    @property
    def value(self) -> Value_co | None:
        """The value of the text so far, read at each access.

        A partial object for types and schemas, None before it has begun; the text for all other
        sources. In the last part, the value of the result.
        """
        return partial_value(self.source, self.text) if self.result is None else self.result.value

    def __str__(self) -> str:
        """The new text."""
        return self.delta

    def __repr__(self) -> str:
        """The new text and the value so far; in the last part, the whole result."""
        shown = f"delta={brief(self.delta, 40)}"
        if self.result is not None:
            return one_line(f"Part({shown}, result={brief(self.result, 140)})")
        return one_line(f"Part({shown}, value={brief(self.value, 130)})")
