"""Check once that every LALR stack of a Lark grammar has a completion, and how to spell it.

`lark_plans` finds terminals that complete each stack. They can be spelled if some ignored text, the
spacer, can separate any two of them in every state without changing either, and, in indented
grammars, newlines can take any number of blanks. All conditions are sufficient, not necessary.

Other grammars decide each stack on demand (`automata.passages`): a few ms, .5 s in SQL of 160
lines.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, final

from guideway.lowering.expr import ALL_BYTES, ANYTHING
from guideway.lowering.lark_plans import always_completed
from guideway.lowering.lark_scanners import Scanners, Way
from guideway.lowering.lark_words import is_last, shortest_words, takes_lines
from guideway.lowering.nodes import Ahead
from guideway.lowering.preferred import Exit
from guideway.lowering.regular import Remainders
from guideway.syntax.lark_tree import LarkGrammar, LarkTable

_WORDS: Final = 1, 8  # texts tried for a terminal, first few, then more
_NEWLINE: Final = b"\n"
_BLANK: Final = ord(" ")


@final
class Freedom:
    """The texts after which each stack has a completion.

    `spacer` is one if no guard is pending after it. `lines` are the newline exits that may begin
    any line, `last` those that may begin a last line of any width.
    """

    def __init__(
        self,
        spacer: bytes,
        lines: frozenset[Exit],
        last: frozenset[Exit],
        spelling: "_Spelling",
    ) -> None:
        self.spacer, self.lines, self.last = spacer, lines, last
        self._spelling = spelling

    def word(self, way: Way) -> bytes | None:
        """A text of a terminal with the spacer, valid whatever follows; not for newlines."""
        word = None if way.ignored else self._spelling.kept_word(way, self.spacer)
        return None if word is None else word + self.spacer


def freedom(grammar: LarkGrammar, scanners: Scanners, spellable: int = ALL_BYTES) -> Freedom | None:
    """The spacer and newlines of a grammar if every stack has a completion, else None."""
    table = grammar.table
    # Non-Lark parts have no terminals to separate.
    if table is None or grammar.parts or not grammar.ignored:
        return None
    return _Spelling(grammar, table, scanners, spellable).freedom()


@final
class _Spelling:
    """Search for a spacer between any two terminals."""

    def __init__(
        self, grammar: LarkGrammar, table: LarkTable, scanners: Scanners, spellable: int
    ) -> None:
        self._grammar, self._table, self._spellable = grammar, table, spellable
        lines = grammar.indentation
        self._scanners = scanners
        self._newline = "" if lines is None else lines.newline
        declared = set[str]() if lines is None else {lines.indent, lines.dedent}
        # No transition leads to the start state: only ignored text precedes it.
        begun = table.named(table.wanted[table.start])
        others = {wanted for at, wanted in enumerate(table.wanted) if at != table.start}
        states = [table.named(wanted) for wanted in others]
        # Terminals without an action in any state cannot be written.
        self._names = frozenset(table.terminals[1:]) - declared
        self._alike = table.alike
        self._first = scanners.ways(begun)
        self._newlines: list[Way] = []
        self._ignored: list[Way] = []
        self._taken: dict[str, list[Way]] = {}
        self._withheld = scanners.withheld([begun, *states])
        for called, way in scanners.widest(states):
            if way.ignored:
                self._ignored.append(way)
            else:
                self._take(called, way)
        for way in self._first:
            if not way.ignored:
                self._take(way.terminal, way)
        # The start goes on with one of the shifted terminals, else with any.
        self._begun = [[name] for name in begun if name in table.shifts[table.start]] or [begun]
        self._kept: dict[tuple[Way, bytes], bytes | None] = {}
        self._words = _WORDS[0]
        self._completed: dict[tuple[frozenset[str], bool], bool] = {}
        self._after = Remainders()

    def _take(self, called: str, way: Way) -> None:
        if way.terminal == self._newline:
            self._newlines.append(way)
        else:
            self._taken.setdefault(called, []).append(way)

    def freedom(self) -> Freedom | None:
        """The freedom with the first spacer that works."""
        exits = [leaving for way in self._ignored for leaving in way.exits]
        spaces = {
            word
            for leaving in exits
            for word in shortest_words(leaving.text, self._spellable, _WORDS[0])
        }
        blanks = [bytes((_BLANK,)) * count for count in range(1, 3 if self._newline else 2)]
        for word in (_NEWLINE, *blanks):
            # A newline ends most comments, other spaces do not. Two blanks keep a YAML dash from
            # beginning a block on its line.
            if self._spellable >> word[0] & 1 and any(
                self._after(leaving.text, word).nullable for leaving in exits
            ):
                spaces.add(word)
        for self._words in _WORDS:
            for word in _by_length(spaces):
                lines = self._parts(word)
                if lines is not None:
                    return Freedom(word, lines, self._last(), self)
            self._kept.clear()
        return None

    def _parts(self, space: bytes) -> frozenset[Exit] | None:
        """The newline exits that may begin any line if `space` is a spacer, else None."""
        words = self._spelled(space)
        spelled = [*words.values()]
        if not any(self._stands(way, space, spelled) for way in self._ignored):
            return None
        if not self._stands_first(space, words):
            return None
        avoided = self._names.difference(words)
        others = [word for name, word in words.items() if name != self._newline]
        if self._is_completed(avoided):
            return self._lines(others) if self._newline else frozenset()
        # A newline may be required after the end of a block, as in Python's interactive mode.
        lines = self._lines([*others, space]) if self._newline else None
        return lines if lines and self._is_completed(avoided, parted=True) else None

    def _is_completed(self, avoided: frozenset[str], *, parted: bool = False) -> bool:
        key = avoided, parted
        if key not in self._completed:
            self._completed[key] = always_completed(
                self._grammar, self._table, avoided, parted=parted
            )
        return self._completed[key]

    def _spelled(self, space: bytes) -> dict[str, bytes]:
        """A text for each terminal that has one before the space in every state."""
        found: dict[str, bytes] = {}
        for called, ways in self._taken.items():
            if called in self._withheld:
                continue
            words = [self.kept_word(way, space) for way in ways]
            if words[0] is not None and None not in words:
                found[self._alike.get(called, called)] = words[0] + space
        if self._newlines:
            found[self._newline] = _NEWLINE
        return found

    def kept_word(self, way: Way, space: bytes) -> bytes | None:
        """A text that matches a terminal whatever follows the space after it."""
        key = way, space
        if key not in self._kept:
            self._kept[key] = next(
                (
                    word
                    for leaving in way.exits
                    if self._after(leaving.after, space) is ANYTHING
                    for word in shortest_words(leaving.text, self._spellable, self._words)
                    if self._holds(way, word + space)
                ),
                None,
            )
        return self._kept[key]

    def _stands(self, way: Way, space: bytes, words: Iterable[bytes]) -> bool:
        """Return True if a space is ignored before each word and before the end."""
        guard = way.guard
        if isinstance(guard, Ahead) and not self._after(guard.item, space).nullable:
            return False
        return any(
            leaving.after.nullable
            and self._after(leaving.text, space).nullable
            and all(
                self._after(leaving.after, word) is ANYTHING and self._holds(way, space + word)
                for word in words
            )
            for leaving in way.exits
        )

    def _stands_first(self, space: bytes, words: Mapping[str, bytes]) -> bool:
        """Return True if a space is ignored at the start of the text."""
        read = [[words[name] for name in names if name in words] for names in self._begun]
        return any(
            self._stands(way, space, each)
            for way in self._first
            if way.ignored
            for each in read
            if each
        )

    def _holds(self, way: Way, text: bytes) -> bool:
        """Return True if no earlier terminal matches, whatever follows the text."""
        guard = way.guard
        return not isinstance(guard, Ahead) or self._after(guard.item, text) is ANYTHING

    def _lines(self, words: Sequence[bytes]) -> frozenset[Exit] | None:
        """The newline exits of any width before each word and the end; None if a way has none."""
        if not self._spellable >> _NEWLINE[0] & self._spellable >> _BLANK & 1:
            return None
        found = set[Exit]()
        for way in self._newlines:
            taken = {each for each in way.exits if self._begins_lines(each, words)}
            if not taken or not self._holds(way, _NEWLINE):
                return None
            found |= taken
        return frozenset(found)

    def _last(self) -> frozenset[Exit]:
        """The newline exits that nothing follows."""
        return frozenset(
            each
            for way in self._newlines
            for each in way.exits
            if is_last(each.after) and takes_lines(each.text, self._spellable)
        )

    def _begins_lines(self, newline: Exit, words: Iterable[bytes]) -> bool:
        return (
            newline.after.nullable
            and all(self._after(newline.after, word) is ANYTHING for word in words)
            and takes_lines(newline.text)
        )


def _by_length(spaces: Iterable[bytes]) -> list[bytes]:
    return sorted(spaces, key=lambda each: (len(each), each != _NEWLINE, each))
