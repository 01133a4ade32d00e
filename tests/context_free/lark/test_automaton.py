"""Stacks: what they read, when they end, and what they need at least."""

from guideway.context_free.lark.plans import Automaton
from guideway.context_free.lark.reader import read_lark
from guideway.context_free.lark.source import Lark


def automaton(text: str) -> Automaton:
    grammar = read_lark(Lark(text))
    widths = {name: each.min_width for name, each in grammar.terminals.items()}
    return Automaton(grammar.table, "start", widths)


def test_equal_stacks_are_the_same_object():
    machine = automaton('start: "a" start "b" | "c"')
    first = machine.feed(machine.feed(machine.start, "A"), "C")
    assert machine.feed(machine.feed(machine.start, "A"), "C") is first
    assert machine.feed(machine.start, "B") is None
    assert not machine.ends(first)
    assert machine.ends(machine.feed(first, "B"))


def test_what_is_needed_is_what_closes():
    machine = automaton('start: "(" start ")" | "abc" | "x" "!"?')
    assert machine.total
    stack = machine.start
    for depth in range(1, 4):
        stack = machine.feed(stack, "LPAR")
        assert machine.needs(stack) == 1 + depth
    assert machine.needs(machine.feed(stack, "X")) == 3


def test_stacks_without_an_end_need_what_there_is_not():
    machine = automaton('start: "a" | "c" "b" x y\nx: "a" "c"\ny: "b" y')
    assert not machine.total
    stack = machine.start
    for name in ("C", "B", "A", "C"):
        stack = machine.feed(stack, name)
        assert machine.needs(stack) is None
