"""What has been found about the rest of an object, for as long as no key takes it back.

A key of a class is taken out of it once it came. An answer that has looked at other keys only stays
the same: those are still there, and whatever else was there before has not become more.

What this module does not know: what the answers are.
"""

from collections.abc import Callable, Hashable
from typing import Generic, TypeAlias, TypeVar, final

from guideway.lowering.json_objects import Extras
from guideway.lowering.nodes import Look

_MOST = 1 << 16  # questions that are remembered
_EACH = 8  # answers to one of them

_NONE: Extras = frozenset()

Answer = TypeVar("Answer")
Finding: TypeAlias = "Callable[[Extras, set[str]], Answer]"


@final
class Standing(Generic[Answer]):
    """Answers to questions about rests, each with the keys that it has looked at.

    Args:
        no: the answer that there is none: then there is none behind more keys.

    >>> def find(extras, looked):
    ...     looked.add("a")
    ...     return f"behind {sorted(extras)}"
    >>> standing = Standing("none")
    >>> standing.ask("how long", frozenset({"b"}), find, lambda answer: True)
    'behind []'
    >>> standing.ask("how long", frozenset({"a", "b"}), find, lambda answer: True)
    "behind ['a', 'b']"
    >>> standing.ask("how long", frozenset({"a", "b", "c"}), find, lambda answer: True)
    "behind ['a', 'b']"
    """

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
        """The answer where some keys came.

        It is looked for as if none had come first, as most matter for nothing: a step near the end
        of a budget took 3 s where hundreds of keys may come that no schema names.

        Args:
            question: about the rest of an object.
            extras: the keys that came.
            find: told those, and a set to which it adds the keys that it looks at; the answer, or
                None where it is not known yet.
            stays: whether an answer that was found now is to be remembered.
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
    """Whether an answer stays: that a rest can be completed does, whatever else gets known."""
    return lambda answer: answer is True or look.settled
