"""Lines that describe a state, for `guideway explain`.

A state of the pushdown automaton is a set of configurations: a node that reads next, and the stack
of nodes that follow it. A line names the node, its fields, and the number of nodes on its stack:

    lexeme: lexer state 41, 9 of 257 tokens stay in it; 3 nodes follow
"""

from collections.abc import Iterator
from typing import Final

from guideway.automaton.kernels import layout as at
from guideway.automaton.pushdown_automaton import PushdownAutomaton
from guideway.automaton.states import State
from guideway.automaton.token_tries import unpack

KINDS: Final = {
    at.LITERAL: "literal",
    at.LEXEME: "lexeme",
    at.COUNTED: "counted",
    at.BOUNDED: "bounded pattern",
    at.AFTER_BRACE: "object: after {",
    at.MEMBER: "object: before a key",
    at.MEMBERS: "object: before a key",
    at.KEY: "object: within a key",
    at.AFTER_VALUE: "object: after a value",
    at.WORDS: "one of several names",
    at.CAPTURE: "item that is remembered",
    at.GUARDED: "under lookahead",
    at.SCAN: "Lark terminal",
    at.LINE: "indented line",
}
STACK: Final = 100  # nodes of a stack that are counted


def outline(state: State) -> Iterator[str]:
    """A line if the text may end, and for each configuration, if the automaton knows the state."""
    if state.accepts:
        yield "the text may end"
    pda = state.pda
    if pda is not None:
        for node, stack in pda.arena.configurations(state.macro):
            yield _node(pda, node) + _stack(pda, stack)


def _node(pda: PushdownAutomaton, node: int) -> str:
    kind, a, b, c, *_ = pda.arena.record(node)
    name = KINDS.get(kind, "other")
    if kind == at.LITERAL:
        return f"{name}: {pda.arena.pooled(a, b).decode(errors='backslashreplace')!r}"
    if kind == at.LEXEME:
        row = pda.mask_cache.staying(a)
        stay = "" if row is None else f", {len(unpack(row))} tokens stay in it"
        return f"{name}: lexer state {a}{stay}"
    if kind in (at.COUNTED, at.BOUNDED):
        return f"{name}: lexer state {a}, {b} to {'any number' if c < 0 else c} more"
    return name


def _stack(pda: PushdownAutomaton, stack: int) -> str:
    count = 0
    while stack and count < STACK:
        _, stack = pda.arena.pop(stack)
        count += 1
    more = "more than " if stack else ""
    return f"; {more}{count} node{'s' * (count != 1)} follow{'s' * (count == 1)}" if count else ""
