"""Liveness: stored verdicts whether a configuration can reach an end."""

from typing import Final

import numpy as np

from guideway.automaton.jit.operands import checked, inner, lowest_bit
from guideway.automaton.kernels import layout as at
from guideway.automaton.kernels.intern import judgement_of, node_of
from guideway.automaton.kernels.lalr import (
    lalr_of,
    lines_after,
    may_take,
    put_on_free,
    some_line_fits,
    stack_after,
    states_below,
    top_of,
)
from guideway.automaton.kernels.layout import Context
from guideway.automaton.kernels.shared_closures import GONE, guards_after

_ABOVE: Final = 4  # greatest number of nodes above LEXED
_IN_CHARACTER: Final = 3  # bytes that may be missing of a character
SURE: Final = 0  # no place: alive


@inner
def verdict_of(context: Context, node: int, stack: int) -> int:
    place = place_of(context, node, stack)
    if place <= SURE:
        return at.V_ALIVE if place == SURE else place
    verdict = context.verdicts[place].value
    if verdict == at.V_UNKNOWN:
        context.want = place
        return at.NEED_JUDGE
    return verdict


@inner
def _verdict_before(context: Context, node: int, stack: int, above: int, free: int) -> int:
    """The verdict of a node on the topmost `above` nodes of a stack, and `free` below these."""
    return verdict_of(context, node, checked(put_on_free(context, stack, above, free)))


@inner
def verdict_on_lalr(context: Context, node: int, stack: int) -> int:
    """The verdict of a configuration on LEXED, V_UNKNOWN if there is none, or a code.

    If every stack has a text to the end after `Lalr.free`, only the nodes above LEXED matter, so no
    stack is judged by itself.
    """
    nodes, pairs, place = context.nodes, context.stacks, stack
    if _is_taken(context, node):
        return _taken_verdict(context, node)
    above, kind = 0, nodes[pairs[place] >> 32].kind if place != 0 else at.NIL
    while kind not in (at.LEXED, at.LALR_STATE, at.NIL) and above < _ABOVE:
        place, above = (pairs[place] & 0xFFFFFFFF), above + 1
        kind = nodes[pairs[place] >> 32].kind if place != 0 else at.NIL
    if kind != at.LEXED:
        return at.V_UNKNOWN
    took, states = (pairs[place] >> 32), (pairs[place] & 0xFFFFFFFF)
    if states == 0:
        return _lexed_verdict(context, node, stack, above, took)
    if not may_take(context, took, states):
        return at.V_DEAD
    return _free_verdict(context, node, stack, above, took)


@inner
def _is_taken(context: Context, node: int) -> bool:
    nodes = context.nodes
    return nodes[nodes[node].a if nodes[node].kind == at.GUARDED else node].kind == at.LEXED


@inner
def _taken_verdict(context: Context, node: int) -> int:
    """The verdict of LEXED on any states: alive if its guards accept a text that may follow."""
    if context.nodes[node].kind == at.LEXED:
        return at.V_ALIVE
    took, guards = context.nodes[node].a, context.nodes[node].b
    table, word = context.nodes[took].a, context.nodes[took].d
    free = lalr_of(context, table).free
    follower = checked(node_of(context, at.GUARDED, free, guards, 0, 0, 0))
    verdict = verdict_of(context, follower, 0)
    if verdict in (at.V_DEAD, at.V_DOUBT) and word != 0:
        follower = checked(node_of(context, at.GUARDED, word, guards, 0, 0, 0))
        verdict = verdict_of(context, follower, 0)
    return at.V_PER_STACK if verdict in (at.V_DEAD, at.V_DOUBT) else verdict


@inner
def _lexed_verdict(context: Context, node: int, stack: int, above: int, took: int) -> int:
    """The verdict of a lexer's configuration, on any states that accept its terminal."""
    lalr = lalr_of(context, context.nodes[took].a)
    for kind in range(3):
        free = context.nodes[took].d
        if kind != 1:
            free = lalr.free if kind == 0 else lalr.line
        if free == 0 or (kind == 2 and context.nodes[took].e == 0):
            continue
        verdict = _verdict_before(context, node, stack, above, free)
        if verdict not in (at.V_DEAD, at.V_DOUBT):
            return verdict
    verdict = _verdict_before(context, node, stack, above, lalr.reached)
    return at.V_PER_STACK if verdict in (at.V_ALIVE, at.V_DOUBT) else verdict


@inner
def _free_verdict(context: Context, node: int, stack: int, above: int, took: int) -> int:
    """The verdict if every stack has a text to the end, V_UNKNOWN otherwise, or a code."""
    nodes, place = context.nodes, states_below(context, stack, above)
    free = lalr_of(context, nodes[took].a).free
    if free == 0:
        return at.V_UNKNOWN
    outside = verdict_of(context, at.NIL, top_of(context, place).d)
    if outside != at.V_ALIVE:
        return outside if outside < 0 else at.V_UNKNOWN
    core = nodes[node].a if nodes[node].kind == at.GUARDED else node
    if nodes[core].kind == at.LINE:
        return _line_freely(context, node, core, took, place)
    verdict = _verdict_before(context, node, stack, above, free)
    line = lalr_of(context, nodes[took].a).line
    if verdict in (at.V_DEAD, at.V_DOUBT) and line != 0:
        # A comment reads over any space.
        may = checked(_line_may_follow(context, took, place))
        if may == 1:
            verdict = _verdict_before(context, node, stack, above, line)
    return at.V_UNKNOWN if verdict in (at.V_DEAD, at.V_DOUBT) else verdict


@inner
def _line_may_follow(context: Context, took: int, states: int) -> int:
    """Return 1 if a newline with some line may follow the terminal, else 0."""
    follower, lines = stack_after(context, took, states), lines_after(context, took)
    if follower <= 0 or lines < 0:
        return min(follower, lines)
    if context.nodes[lines].a > 0:
        return 1
    return some_line_fits(context, context.nodes[took].a, follower, lines, False)


@inner
def _line_freely(context: Context, node: int, line: int, took: int, states: int) -> int:
    """As `_free_verdict` for a LINE: one more newline begins a line of any width."""
    nodes, lexical = context.nodes, context.nodes[line].a
    free = nodes[line].e
    if free == 0:
        return at.V_UNKNOWN
    last = free == at.LAST_LINE
    fits = some_line_fits(context, nodes[took].a, states, nodes[took].c, last)
    if fits <= 0:
        return at.V_DEAD if fits == 0 else fits
    following = context.transitions[lexical].after[at.NEWLINE_BYTE]
    left = _IN_CHARACTER if node == line else 0
    while following < 0 and left > 0:
        byte = _least_lead(context, lexical)
        lexical, left = context.transitions[lexical].after[byte], left - 1
        if lexical <= 0:
            return at.V_UNKNOWN
        following = context.transitions[lexical].after[at.NEWLINE_BYTE]
    if following == 0:
        context.want = lexical
        return at.NEED_LEX
    if node != line:
        guards = guards_after(context, nodes[node].b, at.NEWLINE_BYTE)
        if guards != 0:
            return guards if guards < 0 and guards != GONE else at.V_UNKNOWN
    return at.V_ALIVE if following > 0 else at.V_UNKNOWN


@inner
def _least_lead(context: Context, state: int) -> int:
    """The least non-ASCII byte that leads on from a lexical state, or 0."""
    first = context.lexer_leads
    for word in range(2, 4):
        if first[state].words[word] != 0:
            return 64 * word + lowest_bit(int(np.int64(first[state].words[word])))
    return 0


@inner
def place_of(context: Context, node: int, stack: int) -> int:
    """The number of a configuration's place, SURE, or a code."""
    nodes, pairs = context.nodes, context.stacks
    while True:
        while nodes[node].kind == at.LITERAL:
            node = nodes[node].c
        if nodes[node].kind == at.LEXER:
            return SURE
        if not _is_settled(context, node):
            return judgement_of(context, node, stack)
        if stack == 0:
            return SURE
        node, stack = (pairs[stack] >> 32), (pairs[stack] & 0xFFFFFFFF)


@inner
def _is_settled(context: Context, node: int) -> bool:
    """Return True if no guard is pending after a node."""
    kind = context.nodes[node].kind
    if kind in (at.NIL, at.LEXEME, at.COUNTED, at.BOUNDED, at.STOP, at.DOUBT, at.CLEAR, at.WORDS):
        return True
    if kind in (
        at.CAPTURE,
        at.MARK,
        at.RESUME,
        at.NAMED,
        at.AFTER_BRACE,
        at.MEMBER,
        at.MEMBERS,
        at.KEY,
        at.AFTER_VALUE,
    ):
        return True  # with lookaheads inside they are other nodes
    return kind == at.EXPR and context.nodes[node].b & at.LOOKS == 0


ASKING: Final = 1


@inner
def judge_found(context: Context) -> int:
    """Set the verdicts of the closure; ASKING if those of `work.asked` are missing."""
    found, marks = context.work.configs, context.work.verdicts
    asked = context.work.asked
    context.asked_count = context.asked_at = 0
    for index in range(context.found):
        if marks[index] != at.V_UNKNOWN:
            continue
        config = found[index]
        verdict = _stored_verdict(context, config >> 32, config & 0xFFFFFFFF)
        if verdict == at.NEED_JUDGE:
            asked[context.asked_count] = context.want
            context.asked_count += 1
            continue
        if verdict < 0:
            return verdict
        if verdict == at.V_DOUBT:
            context.doubtful |= 1
        if verdict == at.V_PER_STACK:
            alone = checked(node_of(context, at.PER_STACK, config >> 32, 0, 0, 0, 0))
            found[index], verdict = (alone << 32) | (config & 0xFFFFFFFF), at.V_ALIVE
        marks[index] = verdict
    return at.OK if context.asked_count == 0 else ASKING


@inner
def _stored_verdict(context: Context, node: int, stack: int) -> int:
    verdict = verdict_on_lalr(context, node, stack) if context.any_lalr != 0 else at.V_UNKNOWN
    return verdict_of(context, node, stack) if verdict == at.V_UNKNOWN else verdict


@inner
def keep_living(context: Context) -> None:
    found, marks, kept = context.work.configs, context.work.verdicts, 0
    for index in range(context.found):
        if marks[index] == at.V_ALIVE:
            found[kept], marks[kept] = found[index], at.V_ALIVE
            kept += 1
    context.found = kept
