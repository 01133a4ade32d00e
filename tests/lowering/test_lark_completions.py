"""Whether each stack comes to its end: all short paths are looked at, one after the other."""

import random

import lark
import pytest

from guideway.errors import GuidewayError
from guideway.lowering import lark_completions
from guideway.lowering.lark_automaton import Automaton, Frame
from guideway.lowering.lark_completions import completions
from guideway.lowering.lark_plans import always_completed
from guideway.syntax.lark_reader import read_lark
from guideway.syntax.lark_source import Lark
from guideway.syntax.lark_tree import END, LarkGrammar, LarkTable
from lark_samples import by_chance

_LONGEST = 5  # states of a path,
_SEARCHED = (
    400  # and stacks that are looked at for the end of one: too few for one of 3,000 grammars
)


def table_of(grammar: LarkGrammar) -> LarkTable:
    assert grammar.table is not None
    return grammar.table


def each_completed(table: LarkTable, written: list[int], met: frozenset[str]) -> bool:
    """Whether each stack is."""
    found = completions(table, written, met)
    return found is not None and found.hold()


def comes_to_its_end(
    automaton: Automaton, table: LarkTable, stack: Frame, written: list[int], searched: int
) -> bool:
    """Whether terminals that can be written lead there, looked for breadth first."""
    todo, seen = [stack], {stack}
    for frame in todo:  # grows while we go
        can = written[frame.state]
        if can & 1 and automaton.ends(frame):
            return True
        for name in table.named(table.wanted[frame.state] & can):
            after = automaton.feed(frame, name)
            if after is not None and after not in seen and len(seen) < searched:
                seen.add(after)
                todo.append(after)
    return False


def paths(table: LarkTable, automaton: Automaton, met: frozenset[str]) -> list[Frame]:
    """All short stacks on which a terminal has been put last, and that of the beginning."""
    found, todo = [automaton.start], [automaton.start]
    for frame in todo:  # grows while we go
        if frame.depth >= _LONGEST:
            continue
        for rows in (table.shifts, table.gotos):
            for symbol, after in rows[frame.state].items():
                if after == table.end or (rows is table.shifts and symbol not in met):
                    continue
                todo.append(frame.push(after))
                if rows is table.shifts:
                    found.append(todo[-1])
    return found


def some(seed: int) -> tuple[LarkTable, LarkGrammar, list[int], frozenset[str]] | None:
    """A grammar by chance, what can be written in each of its states, and what is met at all."""
    text, dice = by_chance(seed), random.Random(seed)
    try:
        lark.Lark(text, parser="lalr")
        grammar = read_lark(Lark(text))
    except (lark.exceptions.LarkError, GuidewayError):
        return None
    table = table_of(grammar)
    everything = (1 << len(table.terminals)) - 1
    often = dice.choice([0.0, 0.1, 0.3])
    written = [
        everything & ~sum((dice.random() < often) << at for at in range(len(table.terminals)))
        for _ in table.shifts
    ]
    met = frozenset(name for name in table.terminals if dice.random() >= often)
    return table, grammar, written, met


def compared(seeds: range, searched: int = _SEARCHED) -> dict[bool, int]:
    count = {True: 0, False: 0}
    for seed in seeds:
        given = some(seed)
        if given is None:
            continue
        table, grammar, written, met = given
        automaton = Automaton(table, grammar.start, dict.fromkeys(table.terminals, 1))
        told = each_completed(table, written, met)
        each = paths(table, automaton, met)
        ended = [comes_to_its_end(automaton, table, path, written, searched) for path in each]
        assert told is all(ended), (seed, by_chance(seed))
        one_by_one = completions(table, written, met)
        if one_by_one is not None:
            assert [one_by_one.completes(path) for path in each] == ended, (seed, by_chance(seed))
        count[told] += 1
    return count


def test_each_path_comes_to_its_end_or_not():
    count = compared(range(250))
    assert count[True] > 40
    assert count[False] > 20


@pytest.mark.slow
def test_each_of_many_paths_comes_to_its_end_or_not():
    count = compared(range(1000, 2500), 50 * _SEARCHED)
    assert count[True] > 250
    assert count[False] > 100


def test_nothing_is_said_of_too_many_classes(monkeypatch: pytest.MonkeyPatch):
    table = table_of(read_lark(Lark('start: "a" start "b" | "c"')))
    assert each_completed(table, table.wanted, frozenset(table.terminals))
    monkeypatch.setattr(lark_completions, "_MOST", 2)
    assert not each_completed(table, table.wanted, frozenset(table.terminals))


def test_answers_are_the_same_after_stacks_are_forgotten(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lark_completions, "_REMEMBERED", 0)
    compared(range(20))


def test_a_text_has_to_begin():
    table = table_of(read_lark(Lark('start: "a" start "b" | "c"')))
    nothing = [0 if state == table.start else bits for state, bits in enumerate(table.wanted)]
    assert not each_completed(table, nothing, frozenset(table.terminals))


def test_what_rules_alone_tell_is_so():
    told = 0
    for seed in range(150):
        given = some(seed)
        if given is None:
            continue
        table, grammar, _, _ = given
        names = frozenset(table.terminals)
        unread = names.difference({END}, *table.shifts)  # which rules alone do not know
        for avoided in (unread, *(unread | {name} for name in sorted(names - {END}))):
            if always_completed(grammar, table, avoided):
                bits = sum((name not in avoided) << at for at, name in enumerate(table.terminals))
                assert each_completed(table, [bits] * len(table.shifts), names), (seed, avoided)
                told += 1
    assert told > 60
