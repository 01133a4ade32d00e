"""Added tokens, which are matched before anything else: leftmost, then longest.

So after a match, no text begun before it may be completed, nor a longer one from the same start.
The trie nodes of the forbidden completions are the state.
"""

from collections.abc import Iterable
from typing import Final, TypeAlias, final

Begun: TypeAlias = frozenset[int]

NONE: Final[Begun] = frozenset()


@final
class Literals:
    """The texts of added tokens.

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
        """Return True if a character extends a partial match."""
        return any(char in self._children[node] for node in begun)

    def read(self, begun: Begun, chars: str) -> Begun | None:
        """State after characters without a match; None if there is one."""
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
