"""Macro states: the set of configurations after a text, without those that cannot end.

`step` gives the state after a byte, `search` decides whether a configuration can reach an end.
"""

from typing import Final

import numpy as np

from guideway.automaton.jit.operands import Words, checked, inner, once
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
from guideway.automaton.kernels.layout import Context, Way
from guideway.automaton.kernels.liveness import ASKING, SURE, judge_found, keep_living, place_of
from guideway.automaton.kernels.shared_closures import begin, replace_entries
from guideway.automaton.kernels.state_masks import is_lead

_ALIVE: Final = 1
_MOST: Final = 4096  # places of a search
_FUTILE: Final = 64  # searches that do not decide
_SHORTEST: Final = 16  # places of a search after that


@inner
def judge(context: Context, place: int) -> int:
    """Find the verdict of a place; V_DOUBT if a search does not decide it.

    After 64 such searches, of 4 ms each, they become short.
    """
    most = _MOST if context.futile < _FUTILE else _SHORTEST
    if checked(search(context, place, most)) != at.OK:
        context.verdicts[place].value = at.V_DOUBT
        context.futile += 1
    return at.OK


@once
def judge_asked(context: Context) -> int:
    """Find the verdicts of `work.asked`; requests are collected (one by one: 3.4 s a mask)."""
    asked, verdicts = context.work.asked, context.verdicts
    while context.asked_at < context.asked_count:
        place = asked[context.asked_at]
        checked(judge(context, place) if verdicts[place].value == at.V_UNKNOWN else at.OK)
        context.asked_at += 1
    return at.OK


@inner
def search(context: Context, root: int, most: int) -> int:
    """Find the verdict of a place; OK, 1 if `most` places do not decide, or a code."""
    verdicts = context.verdicts
    if context.judge_root != root:
        context.judge_root, context.judge_at, context.judge_last = root, root, 0
        context.judge_byte = context.judge_doubt = context.judge_count = 0
        context.judge_turn += 1
        _append(context, root, 0)
    while context.judge_at != 0:
        place = context.judge_at
        code = checked(_look_at(context, place))
        if code == _ALIVE:
            while place != 0:
                verdicts[place].value = at.V_ALIVE
                place = verdicts[place].parent
            context.judge_root = 0
            return at.OK
        context.judge_at, context.judge_byte = verdicts[place].link, 0
        if context.judge_count > most:
            context.judge_root = 0
            return 1
    _end(context, root)
    return at.OK


@inner
def _look_at(context: Context, place: int) -> int:
    """Expand a place, if it is not known already: _ALIVE, OK or a code."""
    verdict = context.verdicts[place].value
    if verdict == at.V_ALIVE:
        return _ALIVE
    if verdict == at.V_DOUBT:
        context.judge_doubt = 1
    if verdict in (at.V_DEAD, at.V_DOUBT):
        return at.OK
    return _read_on(context, place)


@inner
def _end(context: Context, root: int) -> None:
    """Set verdicts after a search without an end: V_DEAD, or V_DOUBT for the root."""
    verdicts, place = context.verdicts, root
    if context.judge_doubt != 0:
        verdicts[root].value = at.V_DOUBT
        place = 0
    while place != 0:
        verdicts[place].value = at.V_DEAD
        place = verdicts[place].link
    context.judge_root = 0


@inner
def _append(context: Context, place: int, parent: int) -> None:
    verdicts, last = context.verdicts, context.judge_last
    verdicts[place].search = context.judge_turn
    verdicts[place].parent, verdicts[place].link = parent, 0
    if last != 0:
        verdicts[last].link = place
    context.judge_last = place
    context.judge_count += 1


@inner
def _read_on(context: Context, place: int) -> int:
    """Expand a place: _ALIVE, OK or a code."""
    node, stack = context.places[place] >> 32, context.places[place] & 0xFFFFFFFF
    if context.nodes[node].kind in (at.GUARDED, at.LINE):
        return _over_bytes(context, node, stack, place)
    begin(context)
    checked(close(context, node, stack))
    return _enqueue_found(context, place)


@inner
def _over_bytes(context: Context, node: int, stack: int, place: int) -> int:
    """Expand a place that reads a byte."""
    leads = context.judge_leads
    for word in range(4):
        leads[word] = np.uint64(0)
    add_leads(context, leads, node)
    for byte in range(context.judge_byte, 256):
        if not is_lead(leads, byte):
            continue
        context.judge_byte = byte
        begin(context)
        checked(step_config(context, node, stack, byte))
        if checked(_enqueue_found(context, place)) == _ALIVE:
            return _ALIVE
    return at.OK


@inner
def _enqueue_found(context: Context, parent: int) -> int:
    """Append the closure's configurations to the queue: _ALIVE, OK or a code."""
    if context.accept != 0:
        return _ALIVE
    if context.doubtful != 0:
        context.judge_doubt = 1
    checked(replace_entries(context) if context.entries != 0 else at.OK)
    found, verdicts = context.work.configs, context.verdicts
    for index in range(context.found):
        place = checked(place_of(context, found[index] >> 32, found[index] & 0xFFFFFFFF))
        if place == SURE or verdicts[place].value == at.V_ALIVE:
            return _ALIVE
        if verdicts[place].value != at.V_DEAD and verdicts[place].search != context.judge_turn:
            _append(context, place, parent)
    return at.OK


@inner
def finish(context: Context) -> int:
    """The macro state of the closure, 0 if it is empty."""
    if context.found == 0 and context.accept == 0 and context.doubtful == 0:
        return 0
    code = settle_found(context)
    if code < 0 or context.found == context.accept == context.doubtful == 0:
        return code
    macro = macro_of(context, context.found, context.accept, context.doubtful)
    if macro > 0:
        set_first(context, macro)
    return macro


@inner
def settle_found(context: Context) -> int:
    """Remove dead configurations and merge similar ones."""
    code = replace_entries(context) if context.entries != 0 else at.OK
    if code == at.OK and context.looks != 0:
        code = judge_found(context)
    while code == ASKING:
        code = _judge_aside(context)
        if code == at.OK:
            code = judge_found(context)
    if code < 0:
        return code
    if context.looks != 0:
        keep_living(context)
    return fork_found(context) if context.found >= MANY and context.any_lalr == 0 else at.OK


@once
def _judge_aside(context: Context) -> int:
    """Find the requested verdicts, with the closure saved."""
    found_, marks = context.work.configs, context.work.verdicts
    aside, known = context.work.aside, context.work.aside_verdicts
    count, accept, doubtful = context.found, context.accept, context.doubtful
    blur, text = context.blur, context.mark_text
    for index in range(count):
        aside[index], known[index] = found_[index], marks[index]
    context.blur, context.mark_text, context.judging = 0, 0, 1
    code = judge_asked(context)
    context.blur, context.mark_text, context.judging = blur, text, 0
    for index in range(count):
        found_[index], marks[index] = aside[index], known[index]
    context.found, context.accept, context.doubtful = count, accept, doubtful
    return code


@inner
def set_first(context: Context, macro: int) -> None:
    """Set `leads` to a superset of the bytes that lead on; exact except for keys."""
    one = context.macros[macro]
    for word in range(4):
        one.leads[word] = np.uint64(0)
    for index in range(one.first, one.first + one.count):
        add_leads(context, one.leads, context.configs[index] >> 32)


@inner
def step(context: Context, macro: int, byte: int) -> int:
    """The macro state after one more byte; 0 if none."""
    if not is_lead(context.macros[macro].leads, byte):
        return 0
    key = ((macro << 9) | (context.blur << 8) | byte) + 1
    place = step_place(context, key)
    if context.steps[place].key == key:
        return context.steps[place].macro
    return remember_step(context, key, checked(_step_anew(context, macro, byte)))


@once
def step_with(context: Context, macro: int, byte: int, text: int) -> int:
    """As `step` where the text is known, this byte included; not memoised."""
    context.mark_text = text + 1
    after = _step_anew(context, macro, byte)
    context.mark_text = 0
    return after


@inner
def _step_anew(context: Context, macro: int, byte: int) -> int:
    """As `step` without the memo, as walks inline the look-up; makes missing lexers at once."""
    after = _step_all(context, macro, byte)
    while after in (at.NEED_STEP, at.NEED_LEXER):
        checked(learn_lexer(context, after))
        after = _step_all(context, macro, byte)
    return after


@inner
def learn_lexer(context: Context, code: int) -> int:
    if code == at.NEED_LEXER:
        return _make_lexer(context, context.want)
    macro, byte = context.want, context.want_below
    after = checked(_step_all(context, macro, byte))
    return min(remember_step(context, ((macro << 9) | byte) + 1, after), at.OK)


@once
def _make_lexer(context: Context, node: int) -> int:
    nodes, edges = context.nodes, context.edges
    start, where = nodes[node].b, nodes[node].c & 3
    last, table = start + at.WAY_SIZE * (nodes[node].c >> 2), nodes[node].e
    guards, word = nodes[node].d, _some_word(context, node)
    begin(context)
    for place in range(start, last, at.WAY_SIZE):
        way = Way.within(edges, place)
        terminal, there = way.terminal, way.where
        if there == at.OUTSIDE or there not in (at.EVERYWHERE, where):
            continue
        if not _lexes(context, node, terminal):
            continue
        took = 0
        if terminal == at.IGNORED:
            took = node_of(
                context, at.LEXED, table, terminal, 0, word, 1 if where == at.INSIDE else 0
            )
        else:
            took = node_of(context, at.LEXED, table, terminal, 0, 0, 0)
        stack = checked(stack_of(context, checked(took), 0))
        context.guarding = guards
        checked(close(context, way.node, stack))
    macro = finish(context)
    if macro >= 0:
        context.nodes[node].target = macro + 1
    return min(macro, at.OK)


@inner
def _lexes(context: Context, lexes: int, terminal: int) -> bool:
    return terminal == at.IGNORED or is_in_sets(context, context.nodes[lexes].a, terminal)


@inner
def _some_word(context: Context, lexes: int) -> int:
    """Node of a text of one of the terminals, 0 if none is known."""
    nodes, edges = context.nodes, context.edges
    start = nodes[lexes].b
    for place in range(start, start + at.WAY_SIZE * (nodes[lexes].c >> 2), at.WAY_SIZE):
        way = Way.within(edges, place)
        if way.word != 0 and _lexes(context, lexes, way.terminal):
            return way.word
    return 0


@inner
def _step_all(context: Context, macro: int, byte: int) -> int:
    """The macro state of all configurations after a byte."""
    macros, configs = context.macros, context.configs
    begin(context)
    first = macros[macro].first
    for index in range(first, first + macros[macro].count):
        checked(step_config(context, configs[index] >> 32, configs[index] & 0xFFFFFFFF, byte))
    return finish(context)


@once
def read_each(context: Context, macro: int, tokens: Words, count: int, codes: Words) -> int:
    """Write the READ result of each of `count` tokens to `codes`; nonzero ones are done."""
    for place in range(count):
        if codes[place] != 0:
            continue
        code = checked(read_one(context, macro, int(np.int64(tokens[place]))))
        codes[place] = np.uint32(code)
    return at.OK


@once
def read_one(context: Context, macro: int, token: int) -> int:
    """The result of READ, see `entry.run`."""
    bytes_ = context.token_bytes
    starts = context.token_at
    read = context.read_text
    for place in range(starts[token], starts[token + 1]):
        before, byte = macro, bytes_[place]
        macro = step(context, before, byte)
        if context.marks != 0 and macro > 0:
            read = checked(text_of(context, read, byte))
            if context.macros[macro].unsure >= at.MARKED:
                macro = step_with(context, before, byte, read)
        if macro <= 0:
            return macro
        if context.macros[macro].unsure != 0:
            break
    context.after_text = read
    return macro * 4 + 2 * context.macros[macro].accepts + context.macros[macro].unsure
