"""Whether what looks ahead has a text, and the shortest, where keys are remembered meanwhile, too.

Two judges (`automata.guarded`): a hopeful one, to whom what is captured may come twice and what is
unsure has a text, and a remembering one, who reads captures byte by byte. Steps and masks ask the
first: thousands of tokens go on with a key, each to another one. Whether there is a text at all,
and which is the shortest, the second one tells as well, if anything is captured and if it is soon.

What this module does not know: how a byte is read.
"""

from collections.abc import Callable
from typing import final

from guideway.automata.guarded import READING, Guarded, Lines
from guideway.automata.passages import Passages
from guideway.automata.sketch import Sketch
from guideway.automata.words import Word
from guideway.errors import LimitError
from guideway.lowering.expr import UNSURE
from guideway.lowering.nodes import Expr


@final
class Looking:
    """What is known of the expressions of one recognizer that look ahead.

    Args:
        lines: byte sets and parts of the derivative, without what was read.
        reading: the same, byte by byte where something is being captured.
        captures: whether anything has been, so far.
        loose: the shortest text if nothing were looked ahead for.
        sketch: about how long it is, and where there surely is none.
        plain: whether it is plain to see that there is a text, or one that shows it.
        passages: decide whether there is one.
        fuel: called with the number of states looked at, raises when there are too many.
    """

    def __init__(
        self,
        lines: Lines,
        reading: Lines,
        captures: Callable[[], bool],
        loose: Callable[[Expr], Word | None],
        sketch: Sketch,
        plain: Callable[[Expr], bytes | bool],
        passages: Passages,
        fuel: Callable[[int], None],
    ) -> None:
        def known(expr: Expr) -> Word | None:
            return None if expr is UNSURE else loose(expr)

        self._sketch, self._captures, soon = sketch, captures, passages.soon
        self._hopeful = Guarded(lines, loose, sketch.length, plain, soon, passages.alive, fuel)
        self._remembering = Guarded(reading, known, sketch.length, plain, soon, None, fuel)
        self.alive, self.trust = self._hopeful.alive, self._hopeful.trust
        self.witness = self._hopeful.witness

    def forget(self) -> None:
        """Drop everything memoised."""
        self._sketch.forget()
        self._hopeful.forget()
        self._remembering.forget()

    def has_text(self, expr: Expr) -> bool:
        """Whether `expr` has a text, where nothing that is captured comes twice.

        Raises:
            LimitError: that is not known after so many states.
        """
        if not self._hopeful.alive(expr):
            return False
        try:
            return not self._captures() or self._remembering.alive(expr)
        except LimitError:
            return True

    def word(self, expr: Expr, reading: int = READING) -> Word | None:
        """The least of the shortest texts of `expr`, after so many states that read captures.

        Raises:
            LimitError: it is not found after so many states.
        """
        hoped = self._hopeful.word(expr)
        if hoped is None or not self._captures():
            return hoped
        return self._remembering.word(expr, reading)

    def hoped(self, expr: Expr) -> Word | None:
        """The same where it is found soon; else one in which what is captured may come twice.

        Raises:
            LimitError: as `has_text`.
        """
        try:
            return self.word(expr)
        except LimitError:
            return self._hopeful.word(expr)
