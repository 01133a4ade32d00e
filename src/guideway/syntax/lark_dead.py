r"""What leads nowhere in Lark's automaton: behind it stands a terminal that nothing matches.

A terminal that is declared, and of which nothing says what it matches, makes Lark's lexer take what
comes before it, and then no text: so a grammar says that something must not stand in a place.

    start: a | WRONG _NOTHING        a text that begins with WRONG is not read, whatever `a` takes

The same is so where a terminal is never read: one that is ignored, and a string that only what is
ignored matches, which Lark takes instead of it.

    start: "a" | "//" /.*/ "\n"     %ignore /\s+/: no text begins with "//"

The automaton is told so at once, as no text ends there: it has no action for WRONG. The lexer
tries what it tried before.

What this module does not know: what other terminals match.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from guideway.syntax.lark_tree import LarkTable, Production


def without_dead(table: LarkTable, nothing: Collection[str]) -> LarkTable:
    """The table without the terminals that lead to no text.

    Args:
        table: any.
        nothing: terminals that nothing matches, or that are never read.
    """
    if not {*nothing}.intersection(table.terminals):
        return table  # 3 of the 18 ms from python.lark to the first mask
    dead = dead_states(table, nothing)
    shifts = [
        {name: to for name, to in row.items() if to not in dead and name not in nothing}
        for row in table.shifts
    ]
    reached = _reached(table, shifts)
    shifts = [row if state in reached else {} for state, row in enumerate(shifts)]
    return replace(
        table,
        shifts=tuple(shifts),
        kernels=tuple(
            kernel if state in reached else () for state, kernel in enumerate(table.kernels)
        ),
        denied=tuple(each for each in table.denied if each[0] in reached),
        wanted=tuple(some if state in reached else 0 for state, some in enumerate(table.wanted)),
    )


def dead_states(table: LarkTable, nothing: Collection[str]) -> set[int]:
    r"""The states in which all that is being read needs one of these terminals.

    >>> from guideway.syntax.lark_reader import read_lark
    >>> from guideway.syntax.lark_source import Lark
    >>> table = read_lark(Lark('start: "a" | "b" x\nx: "c" start')).table
    >>> dead_states(table, ["C"]) == {table.shifts[table.start]["B"]}
    True
    """
    void = _void(table.productions, nothing)
    rests = [_last(each, void) for each in table.productions]
    return {
        state
        for state, kernel in enumerate(table.kernels)
        if kernel and all(read <= rests[number] for number, read in kernel)
    }


def _void(productions: Sequence[Production], nothing: Collection[str]) -> set[str]:
    """The symbols that have no text for want of one of these."""
    found, size = {*nothing}, 0
    while size < len(found):
        size = len(found)
        written = {each.rule for each in productions if found.isdisjoint(each.symbols)}
        found |= {each.rule for each in productions} - written
    return found


def _last(production: Production, void: Collection[str]) -> int:
    """The place of the last symbol without a text, -1 if each has one."""
    return max((at for at, symbol in enumerate(production.symbols) if symbol in void), default=-1)


def _reached(table: LarkTable, shifts: Sequence[Mapping[str, int]]) -> set[int]:
    """The states that stacks may still hold."""
    todo, found = [table.start], {table.start}
    for state in todo:  # grows
        targets = {*shifts[state].values(), *table.gotos[state].values()} - found
        found |= targets
        todo += targets
    return found
