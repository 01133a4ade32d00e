"""Macro states: the set of configurations after a text, without those that cannot end.

`step` gives the state after a byte, `search` decides whether a configuration can reach an end.
"""

from typing import Final

import numpy as np

from guideway.automaton.jit.views import (
    Context,
    Words,
    inner,
    int32s,
    int64s,
    once,
    uint8s,
    uint64s,
)
from guideway.automaton.kernels import layout as at
from guideway.automaton.kernels.closure import add_leads, close, step_config
from guideway.automaton.kernels.intern import (
    MANY,
    fork_found,
    macro_of,
    node_of,
    remember_step,
    stack_of,
    step_place,
    text_of,
)
from guideway.automaton.kernels.lalr import is_in_sets
from guideway.automaton.kernels.liveness import ASKING, SURE, judge_found, keep_living, place_of
from guideway.automaton.kernels.shared_closures import begin, replace_entries
from guideway.automaton.kernels.state_masks import is_lead

MOST_PUT_OFF: Final = 64
PUT_OFF: Final = 267  # int32[MOST_PUT_OFF]: places that Python has to judge after a walk
PUT_OFF_COUNT: Final = 268  # how many
FUTILE: Final = 266  # scalar: whether a place that a short search and Python leave open is a doubt

_ALIVE: Final = 1
_ABOVE: Final = 4  # greatest number of nodes above a node after which every stack has a text


@once
def judge_asked(context: Context) -> int:
    """Find the verdicts of ASKED; requests to Python are collected (one by one: 3.4 s a mask)."""
    asked, verdicts = int32s(context, at.ASKED), int32s(context, at.VERDICT)
    while context[at.ASKED_AT] < context[at.ASKED_COUNT]:
        place = int(asked[context[at.ASKED_AT]])
        verdict = int(verdicts[place * 4])
        code = at.OK
        if verdict == at.V_UNKNOWN and not _is_searched(context, place):
            code = 1
        elif verdict in (at.V_UNKNOWN, at.V_SEARCH):
            code = search(context, place, int(context[at.SHORT]))
        if code == 1 and context[FUTILE] != 0 and _stands_for_more(context, place):
            verdicts[place * 4], code = at.V_DOUBT, at.OK
        if code == 1:
            context[at.WANT], code = place, at.NEED_JUDGE
        if code < 0 and (code != at.NEED_JUDGE or not put_off(context)):
            return code
        context[at.ASKED_AT] += 1
    return judge_put_off(context)


@inner
def put_off(context: Context) -> bool:
    """Note a place for Python to judge after the walk, as a restart costs 1 ms; False if full."""
    listed, count, wanted = int32s(context, PUT_OFF), context[PUT_OFF_COUNT], context[at.WANT]
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
        return at.OK
    context[at.WANT] = int32s(context, PUT_OFF)[0]  # others may have changed WANT meanwhile
    return at.NEED_JUDGE


@inner
def search(context: Context, root: int, most: int) -> int:
    """Find the verdict of a place; OK, 1 if `most` places do not decide, or a code."""
    verdicts = int32s(context, at.VERDICT)
    if context[at.SEARCH_ROOT] != root:
        context[at.SEARCH_ROOT], context[at.SEARCH_AT], context[at.SEARCH_LAST] = root, root, 0
        context[at.SEARCH_BYTE] = context[at.SEARCH_DOUBT] = context[at.SEARCH_COUNT] = 0
        context[at.SEARCH_TURN] += 1
        _append(context, root, 0)
    while context[at.SEARCH_AT] != 0:
        place = int(context[at.SEARCH_AT])
        code = _look_at(context, place, root)
        if code < 0:
            return code
        if code == _ALIVE:
            while place != 0:
                verdicts[place * 4] = at.V_ALIVE
                place = int(verdicts[place * 4 + 2])
            context[at.SEARCH_ROOT] = 0
            return at.OK
        context[at.SEARCH_AT], context[at.SEARCH_BYTE] = verdicts[place * 4 + 3], 0
        if context[at.SEARCH_COUNT] > most:
            context[at.SEARCH_ROOT] = 0
            return 1
    _end(context, root)
    return at.OK


@inner
def _look_at(context: Context, place: int, root: int) -> int:
    """Expand a place, if it is not known already: _ALIVE, OK or a code."""
    verdict = int32s(context, at.VERDICT)[place * 4]
    if verdict == at.V_ALIVE:
        return _ALIVE
    if verdict == at.V_DOUBT:
        context[at.SEARCH_DOUBT] = 1
    if verdict in (at.V_DEAD, at.V_DOUBT):
        return at.OK
    if verdict == at.V_UNKNOWN and place != root and not _is_searched(context, place):
        context[at.WANT] = place
        return at.NEED_JUDGE
    return _read_on(context, place)


@inner
def _is_searched(context: Context, place: int) -> bool:
    """Return True if Python cannot judge a place: guarded, before T_FREE, or before the end."""
    if _is_guarded(context, place):
        return True
    nodes, pairs = int32s(context, at.NODE), int64s(context, at.STACK)
    node = int(int64s(context, at.JUDGED)[place] >> 32)
    stack, depth = int(int64s(context, at.JUDGED)[place] & 0xFFFFFFFF), 0
    while stack != 0 and depth <= _ABOVE and nodes[node * 6] != at.TOOK:
        node, stack, depth = int(pairs[stack] >> 32), int(pairs[stack] & 0xFFFFFFFF), depth + 1
    while nodes[node * 6] == at.LITERAL:
        node = int(nodes[node * 6 + 3])
    if nodes[node * 6] == at.EXPR and int32s(context, at.TARGET)[node] > 0:
        node = int32s(context, at.TARGET)[node] - 1
    return stack == 0 and nodes[node * 6] in (at.CLEAR, at.SEQUENCE, at.STOP)


@inner
def _stands_for_more(context: Context, place: int) -> bool:
    """Return True if a guarded place ends with a node for any rest: undecidable, in Python too."""
    if not _is_guarded(context, place):
        return False
    nodes, pairs = int32s(context, at.NODE), int64s(context, at.STACK)
    node = int(nodes[(int64s(context, at.JUDGED)[place] >> 32) * 6 + 1])
    stack, depth = int(int64s(context, at.JUDGED)[place] & 0xFFFFFFFF), 0
    while stack != 0 and depth <= _ABOVE and nodes[node * 6] != at.TOOK:
        node, stack, depth = int(pairs[stack] >> 32), int(pairs[stack] & 0xFFFFFFFF), depth + 1
    while nodes[node * 6] == at.LITERAL:
        node = int(nodes[node * 6 + 3])
    return nodes[node * 6] in (at.CLEAR, at.SEQUENCE)


@inner
def _is_guarded(context: Context, place: int) -> bool:
    node = int64s(context, at.JUDGED)[place] >> 32
    return int32s(context, at.NODE)[node * 6] == at.GUARDED


@inner
def _end(context: Context, root: int) -> None:
    """Set verdicts after a search without an end: V_DEAD, or V_DOUBT for the root."""
    verdicts, place = int32s(context, at.VERDICT), root
    if context[at.SEARCH_DOUBT] != 0:
        verdicts[root * 4] = at.V_DOUBT
        place = 0
    while place != 0:
        verdicts[place * 4] = at.V_DEAD
        place = int(verdicts[place * 4 + 3])
    context[at.SEARCH_ROOT] = 0


@inner
def _append(context: Context, place: int, parent: int) -> None:
    verdicts, last = int32s(context, at.VERDICT), context[at.SEARCH_LAST]
    verdicts[place * 4 + 1] = context[at.SEARCH_TURN]
    verdicts[place * 4 + 2], verdicts[place * 4 + 3] = parent, 0
    if last != 0:
        verdicts[last * 4 + 3] = place
    context[at.SEARCH_LAST] = place
    context[at.SEARCH_COUNT] += 1


@inner
def _read_on(context: Context, place: int) -> int:
    """Expand a place: _ALIVE, OK or a code."""
    node = int(int64s(context, at.JUDGED)[place] >> 32)
    stack = int(int64s(context, at.JUDGED)[place] & 0xFFFFFFFF)
    if not _is_guarded(context, place):
        begin(context)
        code = close(context, node, stack)
        return _note(context, place) if code == at.OK else code
    nodes = int32s(context, at.NODE)
    if context[at.SEARCH_BYTE] == 0 and nodes[nodes[node * 6 + 1] * 6] == at.KEY:
        code = _closed_key(context, node, stack)
        if code != at.OK:
            return code
    return _over_bytes(context, node, stack, place)


@inner
def _over_bytes(context: Context, node: int, stack: int, place: int) -> int:
    """Expand a place by each byte; place 0: only return whether a successor is alive."""
    leads, begun = uint64s(context, at.SEARCH_LEADS), int(context[at.SEARCH_BYTE]) if place else 0
    for word in range(4):
        leads[word] = np.uint64(0)
    add_leads(context, leads, 0, node)
    for byte in range(begun, 256):
        if not is_lead(leads, 0, byte) or (place != 0 and byte > 0 and _same(context, node, byte)):
            continue
        context[at.SEARCH_BYTE] = byte if place != 0 else context[at.SEARCH_BYTE]
        begin(context)
        code = step_config(context, node, stack, byte)
        if code == at.OK:
            code = _note(context, place)
        if code != at.OK:
            return code
    return at.OK


@inner
def _closed_key(context: Context, node: int, stack: int) -> int:
    """Check the closing quote of a key and one byte after it first: _ALIVE, OK or a code.

    Each text of a key is a place with as many successors as letters. In order, 300 of them came
    before that byte for each of 50,000 tokens: 50 s a mask.
    """
    begin(context)
    code = step_config(context, node, stack, at.QUOTE_BYTE)
    if code == at.OK:
        code = _note(context, 0)
    if code != at.OK or context[at.FOUND] == 0:
        return code
    behind = int64s(context, at.SCRATCH)[0]
    after, rest = int(behind >> 32), int(behind & 0xFFFFFFFF)
    place = place_of(context, after, rest)
    if place < 0 or int32s(context, at.VERDICT)[place * 4] in (at.V_DEAD, at.V_DOUBT):
        return min(place, at.OK)
    return _over_bytes(context, after, rest, 0)


@inner
def _same(context: Context, node: int, byte: int) -> bool:
    """Return True if a byte leads to the same as the byte before it."""
    nodes, rows = int32s(context, at.NODE), int32s(context, at.LEX)
    lexical, guard = int(nodes[node * 6 + 1]), int(nodes[node * 6 + 2])
    if nodes[lexical * 6] not in (at.LEXEME, at.COUNTED, at.BOUNDED):
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
    if context[at.ACCEPT] != 0:
        return _ALIVE
    if context[at.DOUBTFUL] != 0:
        context[at.SEARCH_DOUBT] = 1
    code = replace_entries(context) if context[at.ENTRIES] != 0 else at.OK
    if code < 0:
        return code
    found, verdicts = int64s(context, at.SCRATCH), int32s(context, at.VERDICT)
    for index in range(context[at.FOUND]):
        place = place_of(context, int(found[index] >> 32), int(found[index] & 0xFFFFFFFF))
        if place < 0:
            return place
        if place == SURE or verdicts[place * 4] == at.V_ALIVE:
            return _ALIVE
        fresh = (
            verdicts[place * 4] != at.V_DEAD and verdicts[place * 4 + 1] != context[at.SEARCH_TURN]
        )
        if fresh and parent != 0:
            _append(context, place, parent)
    return at.OK


@inner
def finish(context: Context) -> int:
    """The macro state of the closure, 0 if it is empty."""
    if context[at.FOUND] == 0 and context[at.ACCEPT] == 0 and context[at.DOUBTFUL] == 0:
        return 0
    code = settle_found(context)
    if code < 0 or context[at.FOUND] == context[at.ACCEPT] == context[at.DOUBTFUL] == 0:
        return code
    macro = macro_of(context, context[at.FOUND], context[at.ACCEPT], context[at.DOUBTFUL])
    if macro > 0:
        set_first(context, macro)
    return macro


@inner
def settle_found(context: Context) -> int:
    """Remove dead configurations and merge similar ones."""
    code = replace_entries(context) if context[at.ENTRIES] != 0 else at.OK
    if code == at.OK and context[at.LOOKS] != 0:
        code = judge_found(context)
    while code == ASKING:
        code = _judge_aside(context)
        if code == at.OK:
            code = judge_found(context)
    if code < 0:
        return code
    if context[at.LOOKS] != 0:
        keep_living(context)
    return fork_found(context) if context[at.FOUND] >= MANY and context[at.LALRS] == 0 else at.OK


@once
def _judge_aside(context: Context) -> int:
    """Find the requested verdicts, with the closure saved."""
    found_, marks = int64s(context, at.SCRATCH), uint8s(context, at.FOUND_IS)
    aside, known = int64s(context, at.ASIDE), uint8s(context, at.ASIDE_IS)
    count, accept, doubtful = context[at.FOUND], context[at.ACCEPT], context[at.DOUBTFUL]
    blur, text = context[at.BLUR], context[at.MARK_TEXT]
    for index in range(count):
        aside[index], known[index] = found_[index], marks[index]
    context[at.BLUR], context[at.MARK_TEXT], context[at.JUDGING] = 0, 0, 1
    code = judge_asked(context)
    context[at.BLUR], context[at.MARK_TEXT], context[at.JUDGING] = blur, text, 0
    for index in range(count):
        found_[index], marks[index] = aside[index], known[index]
    context[at.FOUND], context[at.ACCEPT], context[at.DOUBTFUL] = count, accept, doubtful
    return code


@inner
def set_first(context: Context, macro: int) -> None:
    """Set FIRST to a superset of the bytes that lead on; exact except for keys."""
    first = uint64s(context, at.FIRST)
    macros = int32s(context, at.MACRO)
    configs = int64s(context, at.CONFIG)
    for word in range(4):
        first[macro * 4 + word] = np.uint64(0)
    for index in range(macros[macro * 4], macros[macro * 4] + macros[macro * 4 + 1]):
        add_leads(context, first, macro * 4, configs[index] >> 32)


@inner
def step(context: Context, macro: int, byte: int) -> int:
    """The macro state after one more byte; 0 if none."""
    if not is_lead(uint64s(context, at.FIRST), macro * 4, byte):
        return 0
    key = ((macro << 9) | (context[at.BLUR] << 8) | byte) + 1
    place = step_place(context, key)
    if int64s(context, at.STEP_KEY)[place] == key:
        return int(int32s(context, at.STEP_VALUE)[place])
    after = _step_anew(context, macro, byte)
    return remember_step(context, key, after) if after >= 0 else after


@once
def step_with(context: Context, macro: int, byte: int, text: int) -> int:
    """As `step` where the text is known, this byte included; not memoised."""
    context[at.MARK_TEXT] = text + 1
    after = _step_anew(context, macro, byte)
    context[at.MARK_TEXT] = 0
    return after


@inner
def _step_anew(context: Context, macro: int, byte: int) -> int:
    """As `step` without the memo, as walks inline the look-up; makes missing lexers at once."""
    after = _step_all(context, macro, byte)
    while after in (at.NEED_STEP, at.NEED_LEXER):
        code = learn_lexer(context, after)
        if code < 0:
            return code
        after = _step_all(context, macro, byte)
    return after


@inner
def learn_lexer(context: Context, code: int) -> int:
    if code == at.NEED_LEXER:
        return _make_lexer(context, int(context[at.WANT]))
    macro, byte = int(context[at.WANT]), int(context[at.WANT_BELOW])
    after = _step_all(context, macro, byte)
    return (
        min(remember_step(context, ((macro << 9) | byte) + 1, after), at.OK)
        if after >= 0
        else after
    )


@once
def _make_lexer(context: Context, node: int) -> int:
    nodes, edges = int32s(context, at.NODE), int32s(context, at.EDGE)
    start, where = nodes[node * 6 + 2], int(nodes[node * 6 + 3] & 3)
    last, table = start + 4 * (nodes[node * 6 + 3] >> 2), int(nodes[node * 6 + 5])
    guards, word = int(nodes[node * 6 + 4]), _some_word(context, node)
    begin(context)
    for way in range(start, last, 4):
        terminal, there = int(edges[way + 1]), int(edges[way + 2])
        if there == at.OUTSIDE or there not in (at.EVERYWHERE, where):
            continue
        if not _takes(context, node, terminal):
            continue
        took = 0
        if terminal == at.IGNORED:
            took = node_of(
                context, at.TOOK, table, terminal, 0, word, 1 if where == at.INSIDE else 0
            )
        else:
            took = node_of(context, at.TOOK, table, terminal, 0, 0, 0)
        stack = stack_of(context, took, 0) if took >= 0 else took
        if stack < 0:
            return stack
        context[at.GUARDING] = guards
        code = close(context, int(edges[way]), stack)
        if code < 0:
            return code
    macro = finish(context)
    if macro >= 0:
        int32s(context, at.TARGET)[node] = macro + 1
    return min(macro, at.OK)


@inner
def _takes(context: Context, lexes: int, terminal: int) -> bool:
    return terminal == at.IGNORED or is_in_sets(
        context, int(int32s(context, at.NODE)[lexes * 6 + 1]), terminal
    )


@inner
def _some_word(context: Context, lexes: int) -> int:
    """Node of a text of one of the terminals, 0 if none is known."""
    nodes, edges = int32s(context, at.NODE), int32s(context, at.EDGE)
    start = int(nodes[lexes * 6 + 2])
    for way in range(start, start + 4 * (nodes[lexes * 6 + 3] >> 2), 4):
        if edges[way + 3] != 0 and _takes(context, lexes, int(edges[way + 1])):
            return int(edges[way + 3])
    return 0


@inner
def _step_all(context: Context, macro: int, byte: int) -> int:
    """The macro state of all configurations after a byte."""
    macros, configs = int32s(context, at.MACRO), int64s(context, at.CONFIG)
    begin(context)
    first = macros[macro * 4]
    for index in range(first, first + macros[macro * 4 + 1]):
        code = step_config(context, configs[index] >> 32, configs[index] & 0xFFFFFFFF, byte)
        if code < 0:
            return code
    return finish(context)


@once
def read_each(context: Context, macro: int, tokens: Words, count: int, codes: Words) -> int:
    """Write the READ result of each of `count` tokens to `codes`; nonzero ones are done."""
    for place in range(count):
        if codes[place] != 0:
            continue
        code = read_one(context, macro, int(tokens[place]))
        if code < 0:
            return code
        codes[place] = np.uint32(code)
    return at.OK


@once
def read_one(context: Context, macro: int, token: int) -> int:
    """The result of READ, see `entry.run`."""
    bytes_ = uint8s(context, at.TOKEN)
    starts = int64s(context, at.TOKEN_AT)
    read = int(context[at.READ_TEXT])
    for place in range(starts[token], starts[token + 1]):
        before, byte = macro, int(bytes_[place])
        macro = step(context, before, byte)
        if context[at.MARKS] != 0 and macro > 0:
            read = text_of(context, read, byte)
            if read < 0:
                return read
            if int32s(context, at.MACRO)[macro * 4 + 3] >= at.MARKED:
                macro = step_with(context, before, byte, read)
        if macro <= 0:
            return macro
        if int32s(context, at.MACRO)[macro * 4 + 3] != 0:
            break
    context[at.AFTER_TEXT] = read
    macros = int32s(context, at.MACRO)
    return macro * 4 + 2 * macros[macro * 4 + 2] + macros[macro * 4 + 3]
