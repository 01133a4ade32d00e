"""Shortest texts as a template asks for them, with a cache for what it makes of them."""

from collections.abc import Callable, Hashable
from typing import Any, Final, TypeVar, final

from guideway.lowering.nodes import Expr, Least

_MOST_KEPT: Final = 4096

Made = TypeVar("Made")


@final
class Answers:
    """The shortest texts of expressions, as `Template.least` asks for them.

    Args:
        ask: tells the shortest text; None if there is none, or if it is not known yet.
        settled: whether no answer so far is to be mended, as those are that are not known yet.
        kept: what has been made of settled answers, for as long as they are known.
    """

    def __init__(
        self,
        ask: Least,
        settled: Callable[[], bool],
        kept: dict[Hashable, Any],
    ) -> None:
        self._ask, self.settled, self._kept = ask, settled, kept

    def __call__(self, part: Expr) -> bytes | None:
        """The shortest text."""
        return self._ask(part)

    @classmethod
    def of(cls, least: Least) -> "Answers":
        """Wrap `least`, if needed; then nothing is kept.

        >>> answers = Answers.of(lambda part: b"{}")
        >>> answers.settled(), Answers.of(answers) is answers
        (False, True)
        """
        return least if isinstance(least, cls) else cls(least, lambda: False, {})

    def recall(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What is kept under a key, made if there is nothing; of many, nothing stays."""
        found = self._kept.get(key)
        if found is None:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            found = self._kept[key] = make()
        return found
