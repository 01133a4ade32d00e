"""Settings of an operator: limits of requests, and names of models and watermarks."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from guideway.language.budget import Budget

if TYPE_CHECKING:
    from guideway.api.model import Model
    from guideway.api.watermark import Watermark
    from guideway.logits.classifier import ClassifierTerm

# A source that compiles in a millisecond can have a token of 7 s and 1.5 GB. With this limit such a
# token takes about .7 s and 200 MB; no other source of the hostile tests needs half of it.
BUDGET: Final = replace(Budget.untrusted(), token_fuel=2_000_000)
"""The limits of the source of a request, and of each of its tokens."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of requests; beyond them a request gets a 4xx with the limit in its message."""

    body: int = 2 << 20  # bytes of a request
    depth: int = 64  # nesting of its JSON
    tokens: int = 1024  # the greatest `max_tokens`, and the default of requests that give none
    queue: int = 64  # requests that wait beyond those that run; more get 429
    sending: float = 30.0  # seconds in which the body of a request must arrive
    timeout: float = 300.0  # seconds after which a request ends with 503
    compiling: float = 2.0  # seconds that a source may take to compile
    memory: int = 1 << 30  # bytes that compiling one source may take


@dataclass(frozen=True, slots=True)
class Names:
    """Names that requests may use.

    Attributes:
        models: models of `guidance`, by name; they share the tokenizer of the engine's model.
        classifiers: classifiers with their weights, which are added to the model.
        watermarks: watermarks by the id of their key.
        tools: the format in which the model calls tools (`guideway.tools`).
        thinking: the marks around the model's reasoning, which becomes `reasoning_content`.
    """

    models: "Mapping[str, Model]" = field(default_factory=dict[str, "Model"])
    classifiers: "Mapping[str, ClassifierTerm]" = field(default_factory=dict[str, "ClassifierTerm"])
    watermarks: "Mapping[str, Watermark]" = field(default_factory=dict[str, "Watermark"])
    tools: str = "hermes"
    thinking: tuple[str, str] | None = None
