"""The tables of Lark's automaton, laid from what its reader has found: cells as they come.

As arrays of numpy that took a sixth of the time to the first mask of a small grammar.
"""

from typing import Final

from guideway.masks.kernels.table_layout import (
    BOTH,
    CELLS,
    PARTS,
    PRODUCTIONS,
    ROW,
    RULES,
    STATES,
    TERMINALS,
    TOTALS,
)
from guideway.masks.kernels.views import Ints, inner, once

_BITS: Final = 32
_FAR: Final = 1 << 30


@once
def measure_tables(told: Ints, measured: Ints) -> None:
    """Find how much room they take."""
    states, rules, terminals = int(told[STATES]), int(told[RULES]), int(told[TERMINALS])
    words, totals = (terminals + _BITS - 1) // _BITS, BOTH * states
    met, sets = totals + TOTALS, states
    shift, reduction, goto = _part(told, 0), _part(told, 1), _part(told, 2)
    shifts, reductions, gotos = shift - states, reduction - states, goto - states
    for row in range(2 * states):
        measured[row * ROW + 1] = _FAR
    for state in range(states):
        for _ in range(told[shifts + state]):
            _widen(measured, state * ROW, _terminal(int(told[shift]), rules, terminals))
            shift += 1
        sets += 1 + words
        for _ in range(told[reductions + state]):
            _widen(measured, state * ROW, _terminal(int(told[reduction]), rules, terminals))
            production = met + int(told[reduction + told[CELLS + 1]])
            if measured[production] != state + 1:
                measured[production] = state + 1
                sets += 1 + words
            reduction += 1
        for _ in range(told[gotos + state]):
            _widen(measured, (states + state) * ROW, int(told[goto]))
            goto += 1
    measured[totals] = _placed(measured, 0, states)
    measured[totals + 1] = _placed(measured, states, states)
    measured[totals + 2] = sets


@once
def lay_tables(told: Ints, measured: Ints, laid: Ints, base: int) -> None:
    """Write them: rows, what is left to others, sets and cells, as `layout` has them.

    `base` is where `laid` begins.
    """
    states, terminals = int(told[STATES]), int(told[TERMINALS])
    totals = BOTH * states
    sets = totals + 2 * int(told[PRODUCTIONS]) + terminals + 2 * states
    cells = sets + int(measured[totals + 2])
    for state in range(states):
        _lay_row(measured, laid, state, base + cells)
        _lay_row(measured, laid, states + state, base + cells + int(measured[totals]))
    _lay_sets(told, measured, laid, sets, base + sets)
    _lay_cells(told, laid, base)


@inner
def _part(told: Ints, part: int) -> int:
    """Where the symbols of a part begin; the sizes of its rows are before."""
    place, states = PARTS, int(told[STATES])
    for before in range(part):
        place += states + 2 * int(told[CELLS + before])
    return place + states


@inner
def _terminal(symbol: int, rules: int, terminals: int) -> int:
    """The number of a terminal among terminals: the end, their first there, is the last here."""
    return symbol - rules - 1 if symbol > rules else terminals - 1


@inner
def _widen(measured: Ints, row: int, column: int) -> None:
    """A row has this column too."""
    measured[row + 1] = min(int(measured[row + 1]), column)
    measured[row + 2] = max(int(measured[row + 2]), column + 1)


@inner
def _placed(measured: Ints, first: int, count: int) -> int:
    """Put rows one behind the other; the cells that they have."""
    place = 0
    for row in range(first, first + count):
        high = int(measured[row * ROW + 2])
        low = min(int(measured[row * ROW + 1]), high)
        measured[row * ROW], measured[row * ROW + 1] = place - low, low
        place += high - low
    return place


@inner
def _lay_row(measured: Ints, laid: Ints, row: int, cells: int) -> None:
    laid[row * ROW] = int(measured[row * ROW]) + cells
    laid[row * ROW + 1], laid[row * ROW + 2] = measured[row * ROW + 1], measured[row * ROW + 2]


@once
def _lay_cells(told: Ints, laid: Ints, base: int) -> None:
    """Write what is in the rows: states plus one, and productions as -1 - n."""
    states, rules, terminals = int(told[STATES]), int(told[RULES]), int(told[TERMINALS])
    for part in range(3):
        at, count = _part(told, part), int(told[CELLS + part])
        sizes = at - states
        for state in range(states):
            row = (states + state if part == 2 else state) * ROW
            for _ in range(told[sizes + state]):
                column, value = int(told[at]), int(told[at + count])
                if part != 2:
                    column = _terminal(column, rules, terminals)
                laid[laid[row] - base + column] = -1 - value if part == 1 else value + 1
                at += 1


@once
def _lay_sets(told: Ints, measured: Ints, laid: Ints, sets: int, base: int) -> None:
    """What `T_SETS` has: shifts, and what is reduced, that before most terminals first.

    The first goes on where it is, the others are looked at one by one.
    """
    states, rules, terminals = int(told[STATES]), int(told[RULES]), int(told[TERMINALS])
    words, productions = (terminals + _BITS - 1) // _BITS, int(told[PRODUCTIONS])
    many = BOTH * states + TOTALS + productions
    order, place = many + productions, states
    shift, reduction = _part(told, 0), _part(told, 1)
    shifts, reductions, reduced = shift - states, reduction - states, int(told[CELLS + 1])
    for state in range(states):
        laid[sets + state] = base + place
        for _ in range(told[shifts + state]):
            _add(laid, sets + place, _terminal(int(told[shift]), rules, terminals), terminals)
            shift += 1
        begin, end = reduction, reduction + int(told[reductions + state])
        count = _ordered(told, measured, begin, end, reduced, many, order)
        laid[sets + place + words] = count
        place += words + 1
        for rank in range(count):
            production = int(measured[order + rank])
            laid[sets + place] = production
            measured[many + production] = place + 1
            place += 1 + words
        for cell in range(begin, end):
            at = sets + int(measured[many + told[cell + reduced]])
            _add(laid, at, _terminal(int(told[cell]), rules, terminals), terminals)
        reduction = end


@inner
def _add(laid: Ints, place: int, terminal: int, terminals: int) -> None:
    """Add a terminal to a set; the end of the text is in none."""
    if terminal != terminals - 1:
        laid[place + terminal // _BITS] |= 1 << (terminal % _BITS)


@once
def _ordered(
    told: Ints, measured: Ints, begin: int, end: int, reduced: int, many: int, order: int
) -> int:
    """List the productions of some cells by how many those are; how many different ones."""
    count = 0
    for cell in range(begin, end):
        measured[many + told[cell + reduced]] = 0
    for cell in range(begin, end):
        production = int(told[cell + reduced])
        if measured[many + production] == 0:
            measured[order + count] = production
            count += 1
        measured[many + production] += 1
    for rank in range(1, count):
        production, place = int(measured[order + rank]), rank
        while place > 0 and _is_before(measured, many, production, order + place - 1):
            measured[order + place] = measured[order + place - 1]
            place -= 1
        measured[order + place] = production
    return count


@inner
def _is_before(measured: Ints, many: int, one: int, place: int) -> bool:
    """Whether one is reduced before more terminals than what is at a place, or is the earlier."""
    other = int(measured[place])
    more = int(measured[many + one]) - int(measured[many + other])
    return more > 0 or (more == 0 and one < other)
