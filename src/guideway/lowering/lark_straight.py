"""One text from a stack of Lark's automaton to the end, where such texts are free.

Between its terminals stands the spacer (`lark_freedom`), so each is what it is by itself; they
bring the automaton nearer to the end one by one. It is not the shortest text, and takes no search.

What this module does not know: what is read at the moment, indentation.
"""

from typing import Final, final

from guideway.lowering.lark_automaton import Automaton, Frame
from guideway.lowering.lark_freedom import Freedom
from guideway.lowering.lark_scanners import Scanners, Way

_LONGEST: Final = 4_096  # bytes
_REMEMBERED: Final = 100_000  # stacks, before all are forgotten


@final
class Straight:
    """The texts of one grammar.

    Args:
        automaton: what reads terminals.
        scanners: what they match.
        free: what stands between them.
    """

    def __init__(self, automaton: Automaton, scanners: Scanners, free: Freedom) -> None:
        self._automaton, self._scanners, self._free = automaton, scanners, free
        self._found: dict[Frame, bytes | None] = {}
        self._words: dict[int, list[tuple[Way, bytes]]] = {}

    def text(self, stack: Frame) -> bytes | None:
        """What leads to the end behind a spacer; None if that is not seen at once."""
        if len(self._found) > _REMEMBERED:
            self._found.clear()
        way: list[tuple[Frame, bytes]] = []
        while stack not in self._found:
            if self._automaton.ends(stack):
                self._found[stack] = b"" if self.fills(stack, b"", 1) else None
                break
            step = self._step(stack)
            if step is None:
                self._found[stack] = None
                break
            way.append((stack, step[0]))
            stack = step[1]
        found = self._found[stack]
        for frame, word in reversed(way):
            found = None if found is None or len(found) > _LONGEST else word + found
            self._found[frame] = found
        return found

    def fills(self, stack: Frame, text: bytes, count: int) -> bool:
        """Whether so many spacers may stand before a text, or the end."""
        ways = self._scanners.ways(self._automaton.terminals(stack.state))
        return self._free.stands(ways, text, count)

    def _step(self, stack: Frame) -> tuple[bytes, Frame] | None:
        """A terminal that brings it nearer to the end; in a state the same one, if it does."""
        needs, words = self._automaton.needs(stack), self._words_in(stack.state)
        for place, (way, word) in enumerate(words):
            after = self._automaton.feed(stack, way.terminal)
            needed = None if after is None else self._automaton.needs(after)
            if after is not None and needed is not None and (needs is None or needed < needs):
                words.insert(0, words.pop(place))
                return word, after
        return None

    def _words_in(self, state: int) -> list[tuple[Way, bytes]]:
        """A text of each terminal that may come in a state behind a spacer, and one behind it."""
        found = self._words.get(state)
        if found is None:
            found = self._words[state] = []
            ways = self._scanners.ways(self._automaton.terminals(state))
            for way in ways:
                word = self._free.word(way)
                if word is not None and self._free.stands(ways, word):
                    found.append((way, word))
        return found
