"""Emptiness and shortest texts of expressions with lookahead and captures.

The hopeful search ignores that captures must not repeat; steps and masks use it. The exact search
reads captures byte by byte; emptiness of a whole source and its shortest text use both.
"""

from collections.abc import Callable
from typing import final

from guideway.automata.guarded import READING, Guarded, Lines
from guideway.automata.passages import Passages
from guideway.automata.words import Word
from guideway.errors import LimitError
from guideway.lowering.expr import UNSURE
from guideway.lowering.nodes import Expr


@final
class Looking:
    """Answers about expressions with lookahead of one recognizer.

    `lines` ignores captured bytes, `reading` reads captures byte by byte; `captures` returns True
    if one was derived so far. `loose` gives the shortest text without the lookahead.
    """

    def __init__(
        self,
        lines: Lines,
        reading: Lines,
        captures: Callable[[], bool],
        loose: Callable[[Expr], Word | None],
        passages: Passages,
        fuel: Callable[[int], None],
    ) -> None:
        def known(expr: Expr) -> Word | None:
            return None if expr is UNSURE else loose(expr)

        self._captures, soon = captures, passages.soon
        self._hopeful = Guarded(lines, loose, soon, passages.alive, fuel)
        self._remembering = Guarded(reading, known, soon, None, fuel)
        self.alive, self.trust = self._hopeful.alive, self._hopeful.trust

    def forget(self) -> None:
        self._hopeful.forget()
        self._remembering.forget()

    def has_text(self, expr: Expr) -> bool:
        """Return True if `expr` has a text without repeated captures, or none is found soon."""
        if not self._hopeful.alive(expr):
            return False
        try:
            return not self._captures() or self._remembering.alive(expr)
        except LimitError:
            return True

    def word(self, expr: Expr, reading: int = READING) -> Word | None:
        """The shortest text of `expr`; raises LimitError after `reading` states."""
        hoped = self._hopeful.word(expr)
        if hoped is None or not self._captures():
            return hoped
        return self._remembering.word(expr, reading)

    def hoped(self, expr: Expr) -> Word | None:
        """`word` if it is found soon, else a text that may repeat captures."""
        try:
            return self.word(expr)
        except LimitError:
            return self._hopeful.word(expr)
