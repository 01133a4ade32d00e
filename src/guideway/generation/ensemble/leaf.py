"""`Reading`: the model, prompt views, adapter and exit of one leaf. A value; it runs nothing."""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, final

from guideway.generation.ensemble.prompt import PromptReader
from guideway.generation.ensemble.views import View
from guideway.models.protocol import LanguageModel


@final
@dataclass(frozen=True, slots=True)
class Reading:
    """Source of a leaf's logits; equal readings are one leaf.

    Attributes:
        model: leaves of one model run as one batch.
        reader: its tokenizer.
        views: changes of the prompt, applied in this order.
        adapter: adapter of its weights (`models.protocol.VariedModel`).
        exit: block whose logits are read, None for the last one.
    """

    model: LanguageModel[Any]
    reader: PromptReader
    views: tuple[View, ...] = ()
    adapter: Hashable = None
    exit: int | None = None

    @property
    def context(self) -> "Reading":
        """The same without its exit: readings of equal contexts share a row and a cache."""
        return replace(self, exit=None)
