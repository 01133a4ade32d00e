"""Breadth-first search for an end of configurations with lookaheads; resumes after a request."""

from typing import Final

import numpy as np

from guideway.masks.kernels.closure import add_leads, close
from guideway.masks.kernels.entries import replace_entries
from guideway.masks.kernels.entry_layout import ENTRIES
from guideway.masks.kernels.layout import (
    ACCEPT,
    ASKED,
    ASKED_AT,
    ASKED_COUNT,
    BOUNDED,
    CLEAR,
    COUNTED,
    DOUBTFUL,
    EXPR,
    FOUND,
    GUARDED,
    JUDGED,
    KEY,
    LEX,
    LEXEME,
    LITERAL,
    NEED_JUDGE,
    NODE,
    OK,
    QUOTE_BYTE,
    SCRATCH,
    SEARCH_AT,
    SEARCH_BYTE,
    SEARCH_COUNT,
    SEARCH_DOUBT,
    SEARCH_LAST,
    SEARCH_LEADS,
    SEARCH_ROOT,
    SEARCH_TURN,
    SEQUENCE,
    SHORT,
    STACK,
    STOP,
    TARGET,
    TOOK,
    V_ALIVE,
    V_DEAD,
    V_DOUBT,
    V_SEARCH,
    V_UNKNOWN,
    VERDICT,
    WANT,
)
from guideway.masks.kernels.pictures import is_lead
from guideway.masks.kernels.step import step_config
from guideway.masks.kernels.verdicts import SURE, place_of
from guideway.masks.kernels.views import Context, inner, int32s, int64s, once, uint64s
from guideway.masks.kernels.worklist import begin

MOST_PUT_OFF: Final = 64
PUT_OFF: Final = 267  # int32[MOST_PUT_OFF]: places that Python has to judge after a walk
PUT_OFF_COUNT: Final = 268  # how many
FUTILE: Final = 266  # scalar: whether a place that a short search and Python leave open is a doubt

_ALIVE: Final = 1
_ABOVE: Final = 4  # greatest number of nodes above a node after which every stack has a text


@once
def judge_asked(context: Context) -> int:
    """Find the verdicts of ASKED; requests to Python are collected (one by one: 3.4 s a mask)."""
    asked, verdicts = int32s(context, ASKED), int32s(context, VERDICT)
    while context[ASKED_AT] < context[ASKED_COUNT]:
        place = int(asked[context[ASKED_AT]])
        verdict = int(verdicts[place * 4])
        code = OK
        if verdict == V_UNKNOWN and not _is_searched(context, place):
            code = 1
        elif verdict in (V_UNKNOWN, V_SEARCH):
            code = search(context, place, int(context[SHORT]))
        if code == 1 and context[FUTILE] != 0 and _stands_for_more(context, place):
            verdicts[place * 4], code = V_DOUBT, OK
        if code == 1:
            context[WANT], code = place, NEED_JUDGE
        if code < 0 and (code != NEED_JUDGE or not put_off(context)):
            return code
        context[ASKED_AT] += 1
    return judge_put_off(context)


@inner
def put_off(context: Context) -> bool:
    """Note a place for Python to judge after the walk, as a restart costs 1 ms; False if full."""
    listed, count, wanted = int32s(context, PUT_OFF), context[PUT_OFF_COUNT], context[WANT]
    if count == MOST_PUT_OFF:
        return False
    for index in range(count):
        if listed[index] == wanted:
            return True
    listed[count] = wanted
    context[PUT_OFF_COUNT] = count + 1
    return True


@inner
def judge_put_off(context: Context) -> int:
    """Request all noted verdicts: NEED_JUDGE with WANT one of them; OK if there are none."""
    if context[PUT_OFF_COUNT] == 0:
        return OK
    context[WANT] = int32s(context, PUT_OFF)[0]  # others may have changed WANT meanwhile
    return NEED_JUDGE


@inner
def search(context: Context, root: int, most: int) -> int:
    """Find the verdict of a place; OK, 1 if `most` places do not decide, or a code."""
    verdicts = int32s(context, VERDICT)
    if context[SEARCH_ROOT] != root:
        context[SEARCH_ROOT], context[SEARCH_AT], context[SEARCH_LAST] = root, root, 0
        context[SEARCH_BYTE] = context[SEARCH_DOUBT] = context[SEARCH_COUNT] = 0
        context[SEARCH_TURN] += 1
        _append(context, root, 0)
    while context[SEARCH_AT] != 0:
        place = int(context[SEARCH_AT])
        code = _look_at(context, place, root)
        if code < 0:
            return code
        if code == _ALIVE:
            while place != 0:
                verdicts[place * 4] = V_ALIVE
                place = int(verdicts[place * 4 + 2])
            context[SEARCH_ROOT] = 0
            return OK
        context[SEARCH_AT], context[SEARCH_BYTE] = verdicts[place * 4 + 3], 0
        if context[SEARCH_COUNT] > most:
            context[SEARCH_ROOT] = 0
            return 1
    _end(context, root)
    return OK


@inner
def _look_at(context: Context, place: int, root: int) -> int:
    """Expand a place, if it is not known already: _ALIVE, OK or a code."""
    verdict = int32s(context, VERDICT)[place * 4]
    if verdict == V_ALIVE:
        return _ALIVE
    if verdict == V_DOUBT:
        context[SEARCH_DOUBT] = 1
    if verdict in (V_DEAD, V_DOUBT):
        return OK
    if verdict == V_UNKNOWN and place != root and not _is_searched(context, place):
        context[WANT] = place
        return NEED_JUDGE
    return _read_on(context, place)


@inner
def _is_searched(context: Context, place: int) -> bool:
    """Return True if Python cannot judge a place: guarded, before T_FREE, or before the end."""
    if _is_guarded(context, place):
        return True
    nodes, pairs = int32s(context, NODE), int64s(context, STACK)
    node = int(int64s(context, JUDGED)[place] >> 32)
    stack, depth = int(int64s(context, JUDGED)[place] & 0xFFFFFFFF), 0
    while stack != 0 and depth <= _ABOVE and nodes[node * 6] != TOOK:
        node, stack, depth = int(pairs[stack] >> 32), int(pairs[stack] & 0xFFFFFFFF), depth + 1
    while nodes[node * 6] == LITERAL:
        node = int(nodes[node * 6 + 3])
    if nodes[node * 6] == EXPR and int32s(context, TARGET)[node] > 0:
        node = int32s(context, TARGET)[node] - 1
    return stack == 0 and nodes[node * 6] in (CLEAR, SEQUENCE, STOP)


@inner
def _stands_for_more(context: Context, place: int) -> bool:
    """Return True if a guarded place ends with a node for any rest: undecidable, in Python too."""
    if not _is_guarded(context, place):
        return False
    nodes, pairs = int32s(context, NODE), int64s(context, STACK)
    node = int(nodes[(int64s(context, JUDGED)[place] >> 32) * 6 + 1])
    stack, depth = int(int64s(context, JUDGED)[place] & 0xFFFFFFFF), 0
    while stack != 0 and depth <= _ABOVE and nodes[node * 6] != TOOK:
        node, stack, depth = int(pairs[stack] >> 32), int(pairs[stack] & 0xFFFFFFFF), depth + 1
    while nodes[node * 6] == LITERAL:
        node = int(nodes[node * 6 + 3])
    return nodes[node * 6] in (CLEAR, SEQUENCE)


@inner
def _is_guarded(context: Context, place: int) -> bool:
    node = int64s(context, JUDGED)[place] >> 32
    return int32s(context, NODE)[node * 6] == GUARDED


@inner
def _end(context: Context, root: int) -> None:
    """Set verdicts after a search without an end: V_DEAD, or V_DOUBT for the root."""
    verdicts, place = int32s(context, VERDICT), root
    if context[SEARCH_DOUBT] != 0:
        verdicts[root * 4] = V_DOUBT
        place = 0
    while place != 0:
        verdicts[place * 4] = V_DEAD
        place = int(verdicts[place * 4 + 3])
    context[SEARCH_ROOT] = 0


@inner
def _append(context: Context, place: int, parent: int) -> None:
    verdicts, last = int32s(context, VERDICT), context[SEARCH_LAST]
    verdicts[place * 4 + 1] = context[SEARCH_TURN]
    verdicts[place * 4 + 2], verdicts[place * 4 + 3] = parent, 0
    if last != 0:
        verdicts[last * 4 + 3] = place
    context[SEARCH_LAST] = place
    context[SEARCH_COUNT] += 1


@inner
def _read_on(context: Context, place: int) -> int:
    """Expand a place: _ALIVE, OK or a code."""
    node = int(int64s(context, JUDGED)[place] >> 32)
    stack = int(int64s(context, JUDGED)[place] & 0xFFFFFFFF)
    if not _is_guarded(context, place):
        begin(context)
        code = close(context, node, stack)
        return _note(context, place) if code == OK else code
    if context[SEARCH_BYTE] == 0 and _reads_key(context, node):
        code = _closed_key(context, node, stack)
        if code != OK:
            return code
    return _over_bytes(context, node, stack, place)


@inner
def _over_bytes(context: Context, node: int, stack: int, place: int) -> int:
    """Expand a place by each byte; place 0: only return whether a successor is alive."""
    leads, begun = uint64s(context, SEARCH_LEADS), int(context[SEARCH_BYTE]) if place else 0
    for word in range(4):
        leads[word] = np.uint64(0)
    add_leads(context, leads, 0, node)
    for byte in range(begun, 256):
        if not is_lead(leads, 0, byte) or (place != 0 and byte > 0 and _same(context, node, byte)):
            continue
        context[SEARCH_BYTE] = byte if place != 0 else context[SEARCH_BYTE]
        begin(context)
        code = step_config(context, node, stack, byte)
        if code == OK:
            code = _note(context, place)
        if code != OK:
            return code
    return OK


@inner
def _reads_key(context: Context, node: int) -> bool:
    nodes = int32s(context, NODE)
    return nodes[nodes[node * 6 + 1] * 6] == KEY


@inner
def _closed_key(context: Context, node: int, stack: int) -> int:
    """Check the closing quote of a key and one byte after it first: _ALIVE, OK or a code.

    Each text of a key is a place with as many successors as letters. In order, 300 of them came
    before that byte for each of 50,000 tokens: 50 s a mask.
    """
    begin(context)
    code = step_config(context, node, stack, QUOTE_BYTE)
    if code == OK:
        code = _note(context, 0)
    if code != OK or context[FOUND] == 0:
        return code
    behind = int64s(context, SCRATCH)[0]
    after, rest = int(behind >> 32), int(behind & 0xFFFFFFFF)
    place = place_of(context, after, rest)
    if place < 0 or int32s(context, VERDICT)[place * 4] in (V_DEAD, V_DOUBT):
        return min(place, OK)
    return _over_bytes(context, after, rest, 0)


@inner
def _same(context: Context, node: int, byte: int) -> bool:
    """Return True if a byte leads to the same as the byte before it."""
    nodes, rows = int32s(context, NODE), int32s(context, LEX)
    lexical, guard = int(nodes[node * 6 + 1]), int(nodes[node * 6 + 2])
    if nodes[lexical * 6] not in (LEXEME, COUNTED, BOUNDED):
        return False
    place = nodes[lexical * 6 + 1] * 256 + byte
    same = rows[place] == rows[place - 1]
    while guard != 0:
        place = nodes[guard * 6 + 1] * 256 + byte
        same = same and rows[place] == rows[place - 1] and rows[place] != 0
        guard = int(nodes[guard * 6 + 3])
    return same


@inner
def _note(context: Context, parent: int) -> int:
    """Append the closure's configurations to the queue; parent 0: only look at them."""
    if context[ACCEPT] != 0:
        return _ALIVE
    if context[DOUBTFUL] != 0:
        context[SEARCH_DOUBT] = 1
    code = replace_entries(context) if context[ENTRIES] != 0 else OK
    if code < 0:
        return code
    found, verdicts = int64s(context, SCRATCH), int32s(context, VERDICT)
    for index in range(context[FOUND]):
        place = place_of(context, int(found[index] >> 32), int(found[index] & 0xFFFFFFFF))
        if place < 0:
            return place
        if place == SURE or verdicts[place * 4] == V_ALIVE:
            return _ALIVE
        fresh = verdicts[place * 4] != V_DEAD and verdicts[place * 4 + 1] != context[SEARCH_TURN]
        if fresh and parent != 0:
            _append(context, place, parent)
    return OK
