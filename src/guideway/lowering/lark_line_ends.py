"""One text from a place to the end where lines are indented, if such texts are free.

As in `lark_straight`: the spacer stands between terminals, each of which brings the place nearer
to the end. A newline does so too, with as many blanks as end most blocks, or begin one where that
has to be; behind it stands no spacer, as that would be wider. It takes no search, and is not the
shortest text.

What this module does not know: what `&` wants of a text.
"""

from collections.abc import Iterator
from itertools import chain, islice
from typing import Final, NamedTuple, final

from guideway.lowering.expr import ANYTHING
from guideway.lowering.lark_automaton import Automaton
from guideway.lowering.lark_ends import END, Ends
from guideway.lowering.lark_freedom import Freedom
from guideway.lowering.lark_indentation import Lines, Place, ReadLine
from guideway.lowering.lark_scanners import Scanners, Way
from guideway.lowering.nodes import Expr
from guideway.lowering.regular import Remainders

_LONGEST: Final = 4_096  # bytes
_REMEMBERED: Final = 100_000  # places, before all are forgotten
_ASIDE: Final = 32  # steps of a text that lead no nearer
_TRIED: Final = 3  # terminals that come without a spacer before them
_NEWLINE: Final = b"\n"
_BLANK: Final = b" "


class _At(NamedTuple):
    """A place, and what has to follow where a line has begun; None: it is behind a spacer."""

    place: Place
    after: Expr | None


class _Step(NamedTuple):
    """What a text goes on with, and where it leads."""

    word: bytes
    to: _At
    needs: int
    nearer: bool


@final
class LineEnds:
    """The texts of one grammar.

    Args:
        automaton: what reads terminals.
        lines: its Indenter.
        scanners: what terminals match.
        free: what stands between them.
        reader: how what is being read comes to its end.
    """

    def __init__(
        self,
        automaton: Automaton,
        lines: Lines,
        scanners: Scanners,
        free: Freedom,
        reader: Ends,
    ) -> None:
        self._automaton, self._lines, self._scanners = automaton, lines, scanners
        self._free, self._reader = free, reader
        self._found: dict[_At, bytes | None] = {}
        self._words: dict[int, list[tuple[Way, bytes, bool]]] = {}
        self._newlines: dict[int, list[Expr]] = {}
        self._left = Remainders()

    def texts(self, read: Expr, place: Place, least: int = 0) -> Iterator[bytes]:
        """Texts that bring what is read to its end, and then the place: some, if seen at once.

        Args:
            read: what is looked ahead for, what is left to read, and what has to follow that.
            place: where the text goes on then.
            least: a text that is shorter is filled up to so many bytes, if that can be.
        """
        space = self._free.spacer
        begun = self._reader.read_on(read, (END,)) if self._is_over(place) else None
        if begun is not None:
            yield begun
        begun = self._reader.read_on(read, (space,))
        rest = None if begun is None else self._text(_At(place, None))
        if begun is not None and rest is not None:
            missing = least - len(begun) - len(rest)
            count = max(1, -(-missing // len(space)))
            if count == 1 or self._free.stands(self._ways(place.stack.state), rest, count):
                yield begun + space * count + rest
        nearer = (step for step in self._terminals(_At(place, ANYTHING)) if step.nearer)
        for step in islice(nearer, _TRIED):
            begun = self._reader.read_on(read, (step.word,))
            rest = None if begun is None else self._text(step.to)
            if begun is not None and rest is not None:
                yield begun + step.word + rest

    def texts_behind(self, line: ReadLine) -> Iterator[bytes]:
        """Texts that bring a line that is being read on to its end, and then what is behind it."""
        for columns, place in self._behind(line.place):
            ends = [_NEWLINE + _BLANK * columns]
            if line.columns is not None and line.columns < columns:
                ends.insert(0, _BLANK * (columns - line.columns))
            for text in ends:
                ended = self._left(line.text, text).nullable
                rest = self._text(_At(place, line.after)) if ended else None
                if rest is not None:
                    yield text + rest

    def _behind(self, place: Place) -> Iterator[tuple[int, Place]]:
        """How wide the next line may be, and the place behind it: that first which ends most."""
        for columns in (*place.widths, place.widths[-1] + 1):
            after = self._lines.indented(place, columns)
            if after is None or self._automaton.needs(after.stack) is None:
                continue
            if self._words_in(after.stack.state) or self._is_over(after):  # no block has to begin
                yield columns, after

    def _text(self, at: _At) -> bytes | None:
        """What leads to the end; None if that is not seen at once."""
        for known in (self._found, self._left):
            if len(known) > _REMEMBERED:
                known.clear()
        way: list[tuple[_At, bytes]] = []
        aside = 0
        while at not in self._found:
            if self._is_over(at.place):
                self._found[at] = b"" if self._may_end(at) else None
                break
            step = self._step(at)
            aside += step is not None and not step.nearer
            if step is None or aside > _ASIDE:
                self._found[at] = None
                break
            way.append((at, step.word))
            at = step.to
        found = self._found[at]
        for at, word in reversed(way):
            found = None if found is None or len(found) > _LONGEST else word + found
            self._found[at] = found
        return found

    def _is_over(self, place: Place) -> bool:
        """Whether the text may end at a place."""
        stack = self._lines.ended(place)
        return stack is not None and self._automaton.ends(stack)

    def _may_end(self, at: _At) -> bool:
        if at.after is not None:
            return at.after.nullable
        return self._free.stands(self._ways(at.place.stack.state), b"")

    def _step(self, at: _At) -> _Step | None:
        """What brings a place nearer to the end, a line if that does; else what leads least away.

        How far the end is, is not told exactly: within a block each line has blanks before it.
        """
        aside = list[_Step]()
        for step in chain(self._line(at), self._terminals(at)):
            if step.nearer:
                return step
            aside.append(step)
        return min(aside, key=lambda step: step.needs, default=None)

    def _terminals(self, at: _At) -> Iterator[_Step]:
        """The terminals that may come; first, in each state, the one that was nearer last."""
        needs, words = self._automaton.needs(at.place.stack), self._words_in(at.place.stack.state)
        for number, (way, word, stands) in enumerate([*words]):
            may = stands if at.after is None else self._left(at.after, word) is ANYTHING
            to = self._lines.take(at.place, way.terminal) if may else None
            needed = None if to is None else self._automaton.needs(to.stack)
            if to is not None and needed is not None:
                nearer = needs is None or needed < needs
                if nearer:
                    words.insert(0, words.pop(number))
                yield _Step(word, _At(to, None), needed, nearer)

    def _line(self, at: _At) -> Iterator[_Step]:
        """The end of a line; behind another one it were part of that."""
        if at.after is not None or at.place.brackets:
            return
        needs = self._automaton.needs(at.place.stack)
        for after in self._newlines_in(at.place.stack.state):
            for columns, to in islice(self._behind(at.place), 1):
                needed = self._automaton.needs(to.stack) or 0
                nearer = needs is None or needed < needs
                yield _Step(_NEWLINE + _BLANK * columns, _At(to, after), needed, nearer)

    def _ways(self, state: int) -> tuple[Way, ...]:
        return self._scanners.ways(self._automaton.terminals(state))

    def _words_in(self, state: int) -> list[tuple[Way, bytes, bool]]:
        """A text of each terminal, a spacer behind it, and whether one may stand before it."""
        found = self._words.get(state)
        if found is None:
            found, ways = list[tuple[Way, bytes, bool]](), self._ways(state)
            for way in ways:
                word = None if way.terminal == self._lines.newline else self._free.word(way)
                if word is not None:
                    found.append((way, word, self._free.stands(ways, word)))
            self._words[state] = found
        return found

    def _newlines_in(self, state: int) -> list[Expr]:
        """What has to follow newlines of any width, where they may stand behind a spacer."""
        found = self._newlines.get(state)
        if found is None:
            ways = self._ways(state)
            found = self._newlines[state] = [
                leaving.after
                for way in ways
                if way.terminal == self._lines.newline and self._free.stands(ways, _NEWLINE)
                for leaving in way.exits
                if leaving in self._free.lines
            ]
        return found
