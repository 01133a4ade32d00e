"""The tables of Lark's automaton hold what its reader has found, cell by cell."""

import lark
import numpy as np
import pytest

import guideway as gw
from guideway.automaton.kernels.layout import Lalr
from guideway.automaton.lark_tables import LalrNodes
from guideway.automaton.states import States
from guideway.context_free.lark.errors import END, LarkTable
from guideway.context_free.shipped import shipped
from guideway.errors import GuidewayError
from guideway.language.derivative import Derivatives
from lark_samples import by_chance, lowered

LETTERS = gw.Vocabulary([*(bytes([byte]) for byte in range(256)), b""], eos_ids={256})


def laid(text: str) -> tuple[LalrNodes, list[int]]:
    """The automaton of a grammar, and the array in which its tables are."""
    expr = lowered(text)
    states = States(expr, Derivatives(expr), LETTERS, gw.Budget.default())
    states.start(b"")
    [automaton] = states._pda._automata.values()
    return automaton, states._pda.arena._array("lalr").tolist()


def cells(tables: list[int], row: int) -> dict[int, int]:
    """What is in a row: it begins with its first column, and ends with its last."""
    place, low, high = tables[row : row + 3]
    found = {column: tables[place + column] for column in range(low, high)}
    assert low == high or (found[low] and found[high - 1])
    return {column: value for column, value in found.items() if value}


def sets(tables: list[int], place: int, words: int) -> tuple[set[int], list[tuple[int, set[int]]]]:
    """The terminals that are shifted, and those before which each production is reduced."""

    def members(begin: int) -> set[int]:
        bits = sum((tables[begin + word] & 0xFFFFFFFF) << 32 * word for word in range(words))
        return {number for number in range(32 * words) if bits >> number & 1}

    behind = place + words + 1
    groups = range(behind, behind + tables[place + words] * (1 + words), 1 + words)
    return members(place), [(tables[group], members(group + 1)) for group in groups]


def check(table: LarkTable, automaton: LalrNodes, tables: list[int]) -> None:
    head = Lalr.from_buffer_copy(np.array(tables[automaton.table :][:19], np.int32))
    names = [*table.terminals[1:], END]
    terminals = {name: number for number, name in enumerate(names)}
    rules = {name: number for number, name in enumerate(table.rules)}
    assert head.terminals == len(names)
    words = head.words
    assert words == -(-len(names) // 32)
    for state, (shifts, reductions) in enumerate(zip(table.shifts, table.reductions, strict=True)):
        actions = {terminals[name]: after + 1 for name, after in shifts.items()}
        actions |= {terminals[name]: -1 - number for name, number in reductions.items()}
        assert cells(tables, head.action + 3 * state) == actions
        gotos = {rules[name]: after + 1 for name, after in table.gotos[state].items()}
        assert cells(tables, head.goto + 3 * state) == gotos
        before = dict[int, set[int]]()
        for name, number in reductions.items():
            before.setdefault(number, set()).add(terminals[name])
        shifted, reduced = sets(tables, tables[head.sets + state], words)
        end = {terminals[END]}
        assert shifted == {terminals[name] for name in shifts} - end
        ordered = sorted(before, key=lambda number: (-len(before[number]), number))
        assert reduced == [(number, before[number] - end) for number in ordered]


@pytest.mark.parametrize("name", ["arithmetic", "json", "sql"])
def test_tables_of_grammars_that_ship(name: str) -> None:
    automaton, tables = laid(shipped(name).text)
    check(automaton._places.table, automaton, tables)


def test_tables_by_chance() -> None:
    count = 0
    for seed in range(60):
        text = by_chance(seed)
        try:
            lark.Lark(text, parser="lalr")
            automaton, tables = laid(text)
        except (lark.exceptions.LarkError, GuidewayError):
            continue
        check(automaton._places.table, automaton, tables)
        count += 1
    assert count > 20
