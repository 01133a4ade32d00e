r"""Remove table entries that can only lead to a terminal that is never read.

    start: a | WRONG _NOTHING       %declare _NOTHING: no text begins with WRONG, whatever `a` is
    start: "a" | "//" /.*/ "\n"     %ignore /\s+/ takes each "\n", so no text begins with "//"

Lark's parser fails there after WRONG; our table has no action for WRONG. The lexer still tries it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from guideway.syntax.lark_tree import LarkTable, Production


def without_dead(table: LarkTable, nothing: Collection[str]) -> LarkTable:
    """The table without transitions that need a terminal in `nothing`, which is never read."""
    if not {*nothing}.intersection(table.terminals):
        return table  # saves 3 of the 18 ms from python.lark to the first mask
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
    """States in which every item still needs one of these terminals."""
    void = _void(table.productions, nothing)
    rests = [_last(each, void) for each in table.productions]
    return {
        state
        for state, kernel in enumerate(table.kernels)
        if kernel and all(read <= rests[number] for number, read in kernel)
    }


def _void(productions: Sequence[Production], nothing: Collection[str]) -> set[str]:
    """Symbols that derive no text without these terminals."""
    found, size = {*nothing}, 0
    while size < len(found):
        size = len(found)
        written = {each.rule for each in productions if found.isdisjoint(each.symbols)}
        found |= {each.rule for each in productions} - written
    return found


def _last(production: Production, void: Collection[str]) -> int:
    """Index of the last void symbol, or -1."""
    return max((at for at, symbol in enumerate(production.symbols) if symbol in void), default=-1)


def _reached(table: LarkTable, shifts: Sequence[Mapping[str, int]]) -> set[int]:
    """States reachable from the start."""
    todo, found = [table.start], {table.start}
    for state in todo:  # grows
        targets = {*shifts[state].values(), *table.gotos[state].values()} - found
        found |= targets
        todo += targets
    return found
