"""Cache of answers about the rest of an object that hold until one of their keys is used.

An answer records the keys that it depends on. It stays right while other keys are used, because
using keys only removes possibilities.
"""

from collections.abc import Callable, Hashable
from typing import Generic, TypeAlias, TypeVar, final

from guideway.lowering.json_objects import Extras
from guideway.lowering.nodes import Look

_MOST = 1 << 16  # cached questions
_EACH = 8  # cached answers to each

_NONE: Extras = frozenset()

Answer = TypeVar("Answer")
Finding: TypeAlias = "Callable[[Extras, set[str]], Answer]"


@final
class Standing(Generic[Answer]):
    """Answers by question; `no` is the answer "none", which more used keys cannot change."""

    def __init__(self, no: Answer) -> None:
        self._no = no
        self._found: dict[Hashable, list[tuple[Extras, set[str], Answer]]] = {}

    def ask(
        self,
        question: Hashable,
        extras: Extras,
        find: "Finding[Answer]",
        stays: Callable[[Answer], bool],
    ) -> Answer:
        """The answer to a question after the keys `extras`; `stays` decides about caching.

        `find` gets the used keys and a set to which it adds the keys it depends on. It is tried
        without used keys first, as most do not matter: a step took 3 s with hundreds of keys.
        """
        found = self._told(question, extras)
        if found is None and extras and self._told(question, _NONE) is None:
            answer, looked = self._look(question, _NONE, find, stays)
            if answer is None or answer is self._no or looked.isdisjoint(extras):
                return answer
        return self._look(question, extras, find, stays)[0] if found is None else found[0]

    def _told(self, question: Hashable, extras: Extras) -> tuple[Answer] | None:
        for then, looked, answer in self._found.get(question, ()):
            if then <= extras and (answer is self._no or looked.isdisjoint(extras - then)):
                return (answer,)
        return None

    def _look(
        self,
        question: Hashable,
        extras: Extras,
        find: "Finding[Answer]",
        stays: Callable[[Answer], bool],
    ) -> tuple[Answer, set[str]]:
        looked = set[str]()
        answer = find(extras, looked)
        if stays(answer):
            if len(self._found) > _MOST:
                self._found.clear()
            answers = self._found.setdefault(question, [])
            if len(answers) < _EACH:
                answers.append((extras, looked, answer))
        return answer, looked


def stays(look: Look) -> Callable[[bool | None], bool]:
    """Return the test which answers to cache: True, or any once the look is settled."""
    return lambda answer: answer is True or look.settled
