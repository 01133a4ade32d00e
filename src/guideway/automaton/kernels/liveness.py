"""Liveness: stored verdicts whether a configuration can reach an end."""

from typing import Final

import numpy as np

from guideway.automaton.jit.views import Context, inner, int32s, int64s, lowest_bit, uint8s, uint64s
from guideway.automaton.kernels import layout as at
from guideway.automaton.kernels.intern import judgement_of, node_of
from guideway.automaton.kernels.lalr import (
    begun_behind,
    lines_behind,
    may_end,
    may_take,
    put_on,
    put_on_free,
    some_line_fits,
    stack_behind,
    states_below,
    top_field,
    ways_behind,
)
from guideway.automaton.kernels.shared_closures import GONE, guards_after

_ABOVE: Final = 4  # greatest number of nodes above TOOK
_IN_CHARACTER: Final = 3  # bytes that may be missing of a character
SURE: Final = 0  # no place: alive


@inner
def verdict_of(context: Context, node: int, stack: int) -> int:
    place = place_of(context, node, stack)
    if place <= SURE:
        return at.V_ALIVE if place == SURE else place
    verdict = int(int32s(context, at.VERDICT)[place * 4])
    if verdict in (at.V_UNKNOWN, at.V_SEARCH):
        context[at.WANT] = place
        return at.NEED_JUDGE
    return verdict


@inner
def freely(context: Context, node: int, stack: int) -> int:
    """The verdict of a configuration on TOOK, V_UNKNOWN if there is none, or a code.

    If every stack has a text to the end after T_FREE, only the nodes above TOOK matter, so no stack
    is judged by itself.
    """
    nodes, pairs, place = int32s(context, at.NODE), int64s(context, at.STACK), stack
    if _is_taken(context, node):
        return _taken_verdict(context, node)
    above, kind = 0, int(nodes[(pairs[place] >> 32) * 6]) if place != 0 else at.NIL
    while kind not in (at.TOOK, at.READ_STATE, at.NIL) and above < _ABOVE:
        place, above = int(pairs[place] & 0xFFFFFFFF), above + 1
        kind = int(nodes[(pairs[place] >> 32) * 6]) if place != 0 else at.NIL
    if kind != at.TOOK:
        return at.V_UNKNOWN
    took, states = int(pairs[place] >> 32), int(pairs[place] & 0xFFFFFFFF)
    if states == 0:
        return _lexed_verdict(context, node, stack, above, took)
    if not may_take(context, took, states):
        return at.V_DEAD
    table = int(nodes[took * 6 + 1])
    free = _free_verdict(context, node, stack, above, took)
    core = int(nodes[node * 6 + 1]) if nodes[node * 6] == at.GUARDED else node
    if free != at.V_UNKNOWN or nodes[core * 6] == at.LINE:
        return free
    # The end of what is being read depends on nothing else.
    reached = put_on_free(
        context, stack, above, int(int32s(context, at.LALR)[table + at.T_REACHED])
    )
    verdict = verdict_of(context, node, reached) if reached > 0 else reached
    if verdict == at.V_ALIVE:
        verdict = _before_words(context, node, stack, above, took)
    if verdict == at.V_UNKNOWN:
        verdict = _at_the_end(context, node, stack, above, took)
    return at.V_UNKNOWN if verdict == at.V_DOUBT else verdict


@inner
def _is_taken(context: Context, node: int) -> bool:
    nodes = int32s(context, at.NODE)
    return (
        nodes[(int(nodes[node * 6 + 1]) if nodes[node * 6] == at.GUARDED else node) * 6] == at.TOOK
    )


@inner
def _taken_verdict(context: Context, node: int) -> int:
    """The verdict of TOOK on any states: alive if the guards accept what may always follow."""
    nodes, tables = int32s(context, at.NODE), int32s(context, at.LALR)
    if nodes[node * 6] == at.TOOK:
        return at.V_ALIVE
    took, guards = int(nodes[node * 6 + 1]), int(nodes[node * 6 + 2])
    table, word = int(nodes[took * 6 + 1]), int(nodes[took * 6 + 4])
    behind = node_of(context, at.GUARDED, int(tables[table + at.T_FREE]), guards, 0, 0, 0)
    verdict = verdict_of(context, behind, 0) if behind >= 0 else behind
    if verdict in (at.V_DEAD, at.V_DOUBT) and word != 0:
        behind = node_of(context, at.GUARDED, word, guards, 0, 0, 0)
        verdict = verdict_of(context, behind, 0) if behind >= 0 else behind
    return at.V_APART if verdict in (at.V_DEAD, at.V_DOUBT) else verdict


@inner
def _lexed_verdict(context: Context, node: int, stack: int, above: int, took: int) -> int:
    """The verdict of a lexer's configuration, on any states that accept its terminal."""
    tables, nodes = int32s(context, at.LALR), int32s(context, at.NODE)
    table = int(nodes[took * 6 + 1])
    for kind in range(3):
        free = int(nodes[took * 6 + 4])
        if kind != 1:
            free = int(tables[table + (at.T_FREE if kind == 0 else at.T_LINE)])
        if free == 0 or (kind == 2 and nodes[took * 6 + 5] == 0):
            continue
        judged = put_on_free(context, stack, above, free)
        verdict = verdict_of(context, node, judged) if judged > 0 else judged
        if verdict not in (at.V_DEAD, at.V_DOUBT):
            return verdict
    reached = put_on_free(context, stack, above, int(tables[table + at.T_REACHED]))
    verdict = verdict_of(context, node, reached) if reached > 0 else reached
    return at.V_APART if verdict in (at.V_ALIVE, at.V_DOUBT) else verdict


@inner
def _at_the_end(context: Context, node: int, stack: int, above: int, took: int) -> int:
    """The verdict if nothing may follow the terminal, V_UNKNOWN otherwise, or a code."""
    table, states = int(int32s(context, at.NODE)[took * 6 + 1]), states_below(context, stack, above)
    behind, lines = stack_behind(context, took, states), lines_behind(context, took)
    if behind <= 0 or lines < 0:
        return min(lines, behind) if behind < 0 or lines < 0 else at.V_DEAD
    more = put_on_free(context, stack, above, int(int32s(context, at.LALR)[table + at.T_MORE]))
    verdict = verdict_of(context, node, more) if more > 0 else more
    if verdict not in (at.V_DEAD, at.V_DOUBT) and verdict >= 0:
        begun = begun_behind(context, table, behind, lines)  # rarely needed
        more = put_on_free(context, stack, above, begun) if begun > at.DEAD else begun
        verdict = verdict_of(context, node, more) if more > 0 else at.V_DEAD if more == 0 else more
    if verdict != at.V_DEAD:
        return verdict if verdict < 0 else at.V_UNKNOWN
    return _if_it_ends(context, node, stack, above, table, behind, lines)


@inner
def _if_it_ends(
    context: Context, node: int, stack: int, above: int, table: int, states: int, lines: int
) -> int:
    """The verdict if the text ends in these states, with what is around the automaton."""
    ends = may_end(context, table, states, lines)
    if ends <= 0:
        return ends if ends < 0 else at.V_DEAD
    last = put_on(context, stack, above, top_field(context, states, 4))
    return verdict_of(context, node, last) if last >= 0 else last


@inner
def _free_verdict(context: Context, node: int, stack: int, above: int, took: int) -> int:
    """The verdict if every stack has a text to the end, V_UNKNOWN otherwise, or a code."""
    nodes, place = int32s(context, at.NODE), states_below(context, stack, above)
    free = int(int32s(context, at.LALR)[nodes[took * 6 + 1] + at.T_FREE])
    if free == 0:
        return at.V_UNKNOWN
    outside = verdict_of(context, at.NIL, top_field(context, place, 4))
    if outside != at.V_ALIVE:
        return outside if outside < 0 else at.V_UNKNOWN
    core = int(nodes[node * 6 + 1]) if nodes[node * 6] == at.GUARDED else node
    if nodes[core * 6] == at.LINE:
        return _line_freely(context, node, core, took, place)
    judged = put_on_free(context, stack, above, free)
    verdict = verdict_of(context, node, judged) if judged > 0 else judged
    line = int(int32s(context, at.LALR)[nodes[took * 6 + 1] + at.T_LINE])
    if verdict in (at.V_DEAD, at.V_DOUBT) and line != 0:
        # A comment reads over any space.
        may = _line_may_follow(context, took, place)
        if may < 0:
            return may
        if may == 1:
            judged = put_on_free(context, stack, above, line)
            verdict = verdict_of(context, node, judged) if judged > 0 else judged
    return at.V_UNKNOWN if verdict in (at.V_DEAD, at.V_DOUBT) else verdict


@inner
def _before_words(context: Context, node: int, stack: int, above: int, took: int) -> int:
    """The verdict before texts of terminals, or the end; V_UNKNOWN if undecided."""
    tables, edges = int32s(context, at.LALR), int32s(context, at.EDGE)
    table, states = int(int32s(context, at.NODE)[took * 6 + 1]), states_below(context, stack, above)
    outside = verdict_of(context, at.NIL, top_field(context, states, 4))
    if outside != at.V_ALIVE or tables[table + at.T_FREE] == 0:
        return outside if outside < 0 else at.V_UNKNOWN
    behind, lines = stack_behind(context, took, states), lines_behind(context, took)
    if behind < 0 or lines < 0:
        return min(behind, lines)
    start = ways_behind(context, table, behind, lines)
    if start < 0:
        return start
    ways = int(tables[tables[table + at.T_SCANNER] + 2 * top_field(context, behind, 2) + 1])
    for way in range(start, start + 4 * ways, 4):
        if edges[way + 3] == 0:
            continue
        each = node_of(context, at.TOOK, table, int(edges[way + 1]), lines, 0, 0)
        if each < 0:
            return each
        if may_take(context, each, behind):
            judged = put_on_free(context, stack, above, int(edges[way + 3]))
            verdict = verdict_of(context, node, judged) if judged > 0 else judged
            if verdict not in (at.V_DEAD, at.V_DOUBT):
                return verdict
    verdict = _if_it_ends(context, node, stack, above, table, behind, lines)
    return at.V_UNKNOWN if verdict in (at.V_DEAD, at.V_DOUBT) else verdict


@inner
def _line_may_follow(context: Context, took: int, states: int) -> int:
    """Return 1 if a newline with some line may follow the terminal, else 0."""
    nodes = int32s(context, at.NODE)
    behind, lines = stack_behind(context, took, states), lines_behind(context, took)
    if behind <= 0 or lines < 0:
        return min(behind, lines)
    if nodes[lines * 6 + 1] > 0:
        return 1
    return some_line_fits(context, int(nodes[took * 6 + 1]), behind, lines, False)


@inner
def _line_freely(context: Context, node: int, line: int, took: int, states: int) -> int:
    """As `_free_verdict` for a LINE: one more newline begins a line of any width."""
    nodes, lexical = int32s(context, at.NODE), int(int32s(context, at.NODE)[line * 6 + 1])
    free = int(nodes[line * 6 + 5])
    if free == 0:
        return at.V_UNKNOWN
    fits = _some_line_fits(context, took, states, free)
    if fits <= 0:
        return at.V_DEAD if fits == 0 else fits
    following = int(int32s(context, at.LEX)[lexical * 256 + at.NEWLINE_BYTE])
    left = _IN_CHARACTER if node == line else 0
    while following < 0 and left > 0:
        byte = _least_lead(context, lexical)
        lexical, left = int(int32s(context, at.LEX)[lexical * 256 + byte]), left - 1
        if lexical <= 0:
            return at.V_UNKNOWN
        following = int(int32s(context, at.LEX)[lexical * 256 + at.NEWLINE_BYTE])
    if following == 0:
        context[at.WANT] = lexical
        return at.NEED_LEX
    if node != line:
        guards = guards_after(context, int(nodes[node * 6 + 2]), at.NEWLINE_BYTE)
        if guards != 0:
            return guards if guards < 0 and guards != GONE else at.V_UNKNOWN
    return at.V_ALIVE if following > 0 else at.V_UNKNOWN


@inner
def _some_line_fits(context: Context, took: int, states: int, free: int) -> int:
    """As `some_line_fits` for a LINE, cached: each byte of a line asks."""
    last, nodes = free == at.LAST_LINE, int32s(context, at.NODE)
    asked = (((took << 1) | (1 if last else 0)) << 32) | states
    if context[at.FITTED] == asked:
        return int(context[at.FITTED_IS])
    table, lines = int(nodes[took * 6 + 1]), int(nodes[took * 6 + 3])
    fits = some_line_fits(context, table, states, lines, last)
    if fits >= 0:
        context[at.FITTED], context[at.FITTED_IS] = asked, fits
    return fits


@inner
def _least_lead(context: Context, state: int) -> int:
    """The least non-ASCII byte that leads on from a lexical state, or 0."""
    first = uint64s(context, at.LEX_FIRST)
    for word in range(2, 4):
        if first[state * 4 + word] != 0:
            return 64 * word + lowest_bit(int(np.int64(first[state * 4 + word])))
    return 0


@inner
def place_of(context: Context, node: int, stack: int) -> int:
    """The number of a configuration's place, SURE, or a code."""
    nodes, pairs = int32s(context, at.NODE), int64s(context, at.STACK)
    while True:
        while nodes[node * 6] == at.LITERAL:
            node = int(nodes[node * 6 + 3])
        settled = _is_settled(context, node)
        if settled < 0:
            return settled
        if nodes[node * 6] == at.LEXER:
            return SURE
        if settled == 0:
            return judgement_of(context, node, stack)
        if stack == 0:
            return SURE
        node, stack = int(pairs[stack] >> 32), int(pairs[stack] & 0xFFFFFFFF)


@inner
def _is_settled(context: Context, node: int) -> int:
    """Return 1 if a node never leaves a guard behind, else 0."""
    kind = int32s(context, at.NODE)[node * 6]
    if kind in (at.NIL, at.LEXEME, at.COUNTED, at.BOUNDED, at.STOP, at.DOUBT, at.CLEAR, at.WORDS):
        return 1
    if kind in (
        at.CAPTURE,
        at.MARK,
        at.RESUME,
        at.NAMED,
        at.OPENED,
        at.MEMBER,
        at.MEMBERS,
        at.KEY,
        at.BEHIND,
    ):
        return 1  # with lookaheads inside they are other nodes
    if kind != at.EXPR:
        return 0
    settled = int32s(context, at.SETTLED)[node]
    if settled == 0:
        context[at.WANT] = node
        return at.NEED_SETTLED
    return 1 if settled == 1 else 0


ASKING: Final = 1


@inner
def judge_found(context: Context) -> int:
    """Set the verdicts of the closure's configurations; ASKING if those of ASKED are missing."""
    found, marks = int64s(context, at.SCRATCH), uint8s(context, at.FOUND_IS)
    asked = int32s(context, at.ASKED)
    context[at.ASKED_COUNT] = context[at.ASKED_AT] = 0
    for index in range(context[at.FOUND]):
        if marks[index] != at.V_UNKNOWN:
            continue
        config = int(found[index])
        verdict = _judged(context, config >> 32, config & 0xFFFFFFFF)
        if verdict == at.NEED_JUDGE:
            asked[context[at.ASKED_COUNT]] = context[at.WANT]
            context[at.ASKED_COUNT] += 1
            continue
        if verdict < 0:
            return verdict
        if verdict == at.V_DOUBT:
            context[at.DOUBTFUL] |= 1
        if verdict == at.V_APART:
            alone = node_of(context, at.APART, config >> 32, 0, 0, 0, 0)
            if alone < 0:
                return alone
            found[index], verdict = (alone << 32) | (config & 0xFFFFFFFF), at.V_ALIVE
        marks[index] = verdict
    return at.OK if context[at.ASKED_COUNT] == 0 else ASKING


@inner
def _judged(context: Context, node: int, stack: int) -> int:
    shut = _is_shut(context, node)
    if shut != 0:
        return shut if shut < 0 else at.V_DEAD
    verdict = freely(context, node, stack) if context[at.LALRS] != 0 else at.V_UNKNOWN
    return verdict_of(context, node, stack) if verdict == at.V_UNKNOWN else verdict


@inner
def _is_shut(context: Context, node: int) -> int:
    """Return 1 if guards reject all first bytes of a LINE (saves verdicts of its columns)."""
    nodes = int32s(context, at.NODE)
    first = uint64s(context, at.LEX_FIRST)
    flags = uint8s(context, at.LEX_FLAG)
    if nodes[node * 6] != at.GUARDED or nodes[nodes[node * 6 + 1] * 6] != at.LINE:
        return 0
    lexical, guard = int(nodes[nodes[node * 6 + 1] * 6 + 1]), int(nodes[node * 6 + 2])
    a, b = first[lexical * 4], first[lexical * 4 + 1]
    c, d = first[lexical * 4 + 2], first[lexical * 4 + 3]
    while guard != 0:
        state = int(nodes[guard * 6 + 1])
        if flags[state] & at.EXPANDED == 0:
            context[at.WANT] = state
            return at.NEED_LEX
        a, b = a & first[state * 4], b & first[state * 4 + 1]
        c, d = c & first[state * 4 + 2], d & first[state * 4 + 3]
        guard = int(nodes[guard * 6 + 3])
    return 1 if (a | b | c | d) == 0 else 0


@inner
def keep_living(context: Context) -> None:
    found, marks, kept = int64s(context, at.SCRATCH), uint8s(context, at.FOUND_IS), 0
    for index in range(context[at.FOUND]):
        if marks[index] == at.V_ALIVE:
            found[kept], marks[kept] = found[index], at.V_ALIVE
            kept += 1
    context[at.FOUND] = kept
