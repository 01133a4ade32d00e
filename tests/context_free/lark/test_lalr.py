"""Tables as Lark's own analysis makes them, states in whatever order."""

import random

import pytest
from lark.common import ParserConf
from lark.exceptions import GrammarError
from lark.grammar import NonTerminal, Rule, RuleOptions, Terminal
from lark.parsers.lalr_analysis import LALR_Analyzer, Shift

from guideway.context_free.lark import reader as lark_reader
from guideway.context_free.lark.lalr import tabulate
from guideway.context_free.lark.source import Lark
from guideway.context_free.shipped import paths
from guideway.context_free.shipped_sources import grammar
from lark_samples import python_lark


def analysed(rules, start="start"):
    """Lark's own, or None where it refuses; and whether it always says the same."""
    analyzer = LALR_Analyzer(ParserConf(rules, {}, [start]))
    try:
        analyzer.compute_lalr()
    except GrammarError:
        return None, True
    made, states = analyzer.parse_table, analyzer.lr0_itemsets
    numbers = {rule: number for number, rule in enumerate(rules)}
    shifts, reductions = {}, {}
    for state, actions in made.states.items():
        shifts[state] = {name: to for name, (kind, to) in actions.items() if kind is Shift}
        reductions[state] = {
            name: numbers[rule] for name, (kind, rule) in actions.items() if kind is not Shift
        }
    kernels = [
        [(numbers[item.rule], item.index) for item in state.kernel if item.rule in numbers]
        for state in states
    ]
    denied = [
        (number, numbers[rule], symbol.name)
        for number, state in enumerate(states)
        for symbol, several in state.lookaheads.items()
        if len(several) > 1 or symbol in state.transitions
        for rule in several
    ]
    ends = made.start_states[start], made.end_states[start]
    return ordered(shifts, reductions, kernels, denied, *ends), not has_circle(analyzer.reads)


def has_circle(reads):
    """Lark's sets are then one and the same object, and what is in it depends on their order."""

    def reached(node):
        seen, todo = {node}, [node]
        for each in todo:
            todo += (fresh := set(reads[each]) - seen)
            seen |= fresh
        return seen - {node}

    return any(node in reached(other) for node in [*reads] for other in reached(node))


def ordered(shifts, reductions, kernels, denied, start, end):
    """Everything by states in the order of a walk from the start."""
    order = {start: 0}
    for state in (todo := [start]):
        for _, to in sorted(shifts[state].items()):
            if order.setdefault(to, len(order)) == len(order) - 1 and to not in todo:
                todo.append(to)
    return (
        [{name: order[to] for name, to in sorted(shifts[state].items())} for state in order],
        [reductions[state] for state in order],
        [sorted(kernels[state]) for state in order],
        sorted((order[state], number, name) for state, number, name in denied),
        order[end],
    )


def tabulated(rules, start="start", strings=()):
    """Ours in the same way."""
    try:
        table = tabulate(rules, start, strings)
    except GrammarError:
        return None
    moves = [{**shifts, **gotos} for shifts, gotos in zip(table.shifts, table.gotos, strict=True)]
    names = {rule.origin.name for rule in rules}
    assert all(names.isdisjoint(shifts) for shifts in table.shifts)
    assert all(names.issuperset(gotos) for gotos in table.gotos)
    return ordered(moves, table.reductions, table.kernels, table.denied, table.start, table.end)


SHIPPED = [name for name, path in paths().items() if path.suffix == ".lark"]


@pytest.mark.parametrize("name", [*SHIPPED, "lark's own python"])
def test_tables_of_whole_languages_are_lark_s_own(name, monkeypatch):
    given = []
    monkeypatch.setattr(lark_reader, "tabulate", lambda *told: given.append(told))
    source = Lark.open(python_lark()) if name not in SHIPPED else grammar(name)
    assert lark_reader.read_lark(source).table is None
    ((rules, start, *_),) = given
    table, always = analysed(rules, start)
    assert not always or tabulated(rules, start) == table


def test_tables_are_lark_s_own_for_grammars_by_chance():
    compared = refused = 0
    for seed in range(600):
        rules = chance(random.Random(seed))
        table, always = analysed(rules)
        if always:
            assert tabulated(rules) == table, seed
            compared += table is not None
            refused += table is None
    assert compared > 400
    assert refused > 20


def chance(rng):
    """Rules of any shape, some with a priority."""
    letters, names = "ABCD"[: rng.randint(1, 4)], ["start", *"pqrstu"[: rng.randint(1, 6)]]
    rules = {}
    for name in names:
        for _ in range(rng.randint(1, 3)):
            length = rng.choice((0, 1, 1, 2, 2, 3, 4))
            symbols = tuple(
                NonTerminal(rng.choice(names))
                if rng.random() < 0.5
                else Terminal(rng.choice(letters))
                for _ in range(length)
            )
            options = RuleOptions(priority=rng.choice((None, None, 1, 2, 3, 4, 5)))
            rules[name, symbols] = Rule(NonTerminal(name), symbols, 0, None, options)
    return [*rules.values()]
