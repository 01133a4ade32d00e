r"""Which terminals can be written in each state of Lark's automaton, so that each is what it is.

In front of each of them, and of the end, stands a space that is ignored. Behind most stands one,
too, and then whatever follows. Others take the space to themselves, as `/\r?\n[\t ]*/` does, with
which many grammars end a line. Behind such a one stands at once what can be written there: in the
states that it leads to only those are told before which it ends, and never another such, which
would be one with it.

What this module does not know: which of them lead to the end.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from guideway.lowering.lark_scanners import Scanners, Way
from guideway.lowering.preferred import Exit
from guideway.syntax.lark_tree import END, LarkTable


class Spelling(Protocol):
    """How terminals are written."""

    def stands(self, way: Way, space: bytes, words: Iterable[bytes]) -> bool:
        """Whether a space is ignored before each word, and before the end."""
        ...

    def kept_word(self, way: Way, space: bytes) -> bytes | None:
        """A text of a terminal that it is whatever follows the space behind it."""
        ...

    def taken_words(self, way: Way) -> Iterable[tuple[bytes, Exit]]:
        """Texts that no earlier terminal begins with, whatever follows, and what ends each."""
        ...

    def is_ended(self, leaving: Exit, word: bytes) -> bool:
        """Whether what is read ends before a word, whatever follows that, or the end."""
        ...


class _State(NamedTuple):
    """The terminals that are written in front of a space, END among them, and all the others."""

    spaced: dict[str, bytes]
    others: dict[str, Exit]


def written(
    table: LarkTable, scanners: Scanners, spelling: Spelling, space: bytes
) -> Sequence[int]:
    """Those of each state, END among them, as bits as in `LarkTable.wanted`."""
    wanted = {*table.wanted}
    states = {each: _state(scanners.ways(table.named(each)), spelling, space) for each in wanted}
    exits: dict[str, set[Exit]] = {}
    for each in states.values():
        for name, leaving in each.others.items():
            exits.setdefault(name, set()).add(leaving)
    behind: dict[int, set[Exit]] = {}
    for row in table.shifts:
        for name in row.keys() & exits.keys():
            behind.setdefault(row[name], set()).update(exits[name])
    found: list[int] = []
    for number, each in enumerate(table.wanted):
        state = states[each]
        names = {
            name
            for name, word in state.spaced.items()
            if all(spelling.is_ended(leaving, word) for leaving in behind.get(number, ()))
        }
        if number not in behind:
            names |= state.others.keys()
        found.append(sum((name in names) << at for at, name in enumerate(table.terminals)))
    return found


def _state(ways: Sequence[Way], spelling: Spelling, space: bytes) -> _State:
    spaces = [way for way in ways if way.ignored]

    def stands(*words: bytes) -> bool:
        return any(spelling.stands(way, space, words) for way in spaces)

    found = _State({END: b""} if stands() else {}, {})
    for way in ways:
        word = None if way.ignored else spelling.kept_word(way, space)
        if word is not None:
            if stands(word + space):
                found.spaced[way.terminal] = word + space
            continue
        for other, leaving in () if way.ignored else spelling.taken_words(way):
            if stands(other):
                found.others[way.terminal] = leaving
                break
    return found
