"""Texts that are matched before anything else: the added tokens of a tokenizer.

Of two that overlap the one that begins first is matched, of those that begin together the longest.
So a text in which none is matched holds none of them; and where one is, none that began before may
be completed, nor a longer one that begins with it. What may not be completed is kept as nodes of
the tree of all of them: how far each has come.
"""

from collections.abc import Iterable
from typing import Final, TypeAlias, final

Begun: TypeAlias = frozenset[int]

NONE: Final[Begun] = frozenset()


@final
class Literals:
    """The texts of added tokens.

    Example:
        >>> marks = Literals(["<s>", "<s>x"])
        >>> marks.read(marks.read(NONE, "a<s"), ">") is None
        True
        >>> marks.read(marks.matched(NONE, "<s>"), "x") is None
        True
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._children: list[dict[str, int]] = [{}]
        self._whole: list[bool] = [False]
        for text in texts:
            node = 0
            for char in text:
                fresh = len(self._children)
                node = self._children[node].setdefault(char, fresh)
                if node == fresh:
                    self._children.append({})
                    self._whole.append(False)
            self._whole[node] = bool(text)

    def goes_on(self, begun: Begun, char: str) -> bool:
        """Whether a character goes on with one that has begun."""
        return any(char in self._children[node] for node in begun)

    def read(self, begun: Begun, chars: str) -> Begun | None:
        """After characters in which none is matched; None if one is."""
        for char in chars:
            begun = self._step((0, *begun), char)
            if any(self._whole[node] for node in begun):
                return None
        return begun

    def matched(self, begun: Begun, text: str) -> Begun | None:
        """After one of them; None if another one is matched in its place."""
        own = 0
        for char in text:
            own = self._children[own][char]
            begun = self._step(begun, char)
            if any(self._whole[node] for node in begun):
                return None
        return begun | {own} if self._children[own] else begun

    def _step(self, nodes: Iterable[int], char: str) -> Begun:
        found = (self._children[node].get(char) for node in nodes)
        return frozenset(node for node in found if node is not None)
