"""Protocol of a paged cache: several texts that models read in one forward, and their drafts.

Whoever runs the models implements `Pages`; `generation.paged` schedules rows over it.
"""

from collections.abc import Callable, Container, Mapping
from collections.abc import Sequence as Texts
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

from jaxtyping import Float
from torch import Tensor

from guideway.models.protocol import LanguageModel

Origin: TypeAlias = tuple[str, int]
"""Where a drafted token comes from: tokens of one origin are right about equally often."""


@dataclass(frozen=True, slots=True)
class Draft:
    """The tokens that may come next, and the origin of each."""

    tokens: tuple[int, ...] = ()
    origins: tuple[Origin, ...] = ()

    def cut(self, length: int) -> "Draft":
        """The first tokens."""
        return Draft(self.tokens[:length], self.origins[:length])


NO_DRAFT: Final = Draft()
Tokens: TypeAlias = Texts[int]


@dataclass(frozen=True, slots=True)
class Due:
    """The texts that can go on after a forward.

    Attributes:
        logits: of each model, after the last token of a text and after each drafted one; then those
            of the next text.
        known: for each, the tokens of its prompt that were in shared pages, so that they were not
            read.
    """

    texts: tuple[int, ...]  # their numbers
    drafted: tuple[Draft, ...]  # for each, the draft that was read after its last token
    logits: Mapping[LanguageModel[Any], Float[Tensor, "tokens vocabulary"]]
    known: tuple[int, ...]
    read: int  # the number of tokens that the forward has read, those of other texts included


Choose: TypeAlias = Callable[[Due], Texts[Tokens | None]]
"""Gives each text the drafted tokens that are right and one more; None ends it."""
Drafted: TypeAlias = Callable[[Texts[int]], Texts[Draft]]
"""Guesses of the next tokens of texts that came to `Choose` before."""


def undrafted(texts: Texts[int]) -> list[Draft]:
    """No guesses."""
    return [NO_DRAFT] * len(texts)


@runtime_checkable  # the tests check annotations
class Pages(Protocol):
    """Texts that some models read side by side. All models read the same tokens.

    Laws:

    - `step` calls `choose` at most once, with texts whose tokens so far are all read, each once.
      The logits are those of the models after that text alone (in float32, up to rounding).
    - Every text comes to `choose` after finitely many steps, and again after each of its tokens.
    - A text that ended or was removed does not come again, and its pages are free.
    - A drafted token that is not chosen is forgotten. Pages need not read what is drafted.
    """

    @property
    def capacity(self) -> int:
        """The greatest number of tokens of one text, its prompt included."""
        ...

    def add(self, text: int, prompt: Texts[int]) -> None:
        """Add a text; no number is used twice."""
        ...

    def remove(self, text: int) -> None:
        """Forget a text."""
        ...

    def step(self, choose: Choose, draft: Drafted = undrafted, held: Container[int] = ()) -> None:
        """Run the models once, if there is a text; `held` ones that were chosen before wait."""
        ...
