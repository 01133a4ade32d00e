"""A whole JSON Schema: its parts, and what is below those that others have to judge.

Kernels do not lay what is below such a part. But who judges it looks at nothing else, as what is
below it is known by then, or is one more part to be judged: of a schema with 2,300 parts 87.

What this module does not know: parts.
"""

from guideway.masks.kernels.schema_fields import part_field, part_of
from guideway.masks.kernels.schema_layout import (
    ASK,
    ASKED,
    EDGES,
    JUDGED,
    KEY_NODES,
    KNOWN,
    LETTERS,
    MEMBERS,
    NOT_PLAIN,
    OBJECTS,
    PARTS,
    PLAIN,
    S_VALUE,
    STEPS,
    V_NEXT,
    V_PART,
    VALUE,
    VALUES,
    W_ALL_OF,
    W_ANY_OF,
    W_ITEMS,
    W_NAMED,
    W_NOT,
    W_ONE_OF,
    W_OTHERS,
    W_PROPERTIES,
    W_REFERENCE,
    W_SCHEMAS,
    WAY,
    WAY_ROOM,
)
from guideway.masks.kernels.schema_parts import read_from
from guideway.masks.kernels.schema_references import target_of
from guideway.masks.kernels.schema_settling import ask_dependents, is_sure, settle
from guideway.masks.kernels.schema_texts import first_byte, read_values, value_field, word_of
from guideway.masks.kernels.views import Context, inner, int32s, once

_OPEN_BRACE = 0x7B
_OPEN_BRACKET = 0x5B
_FALSE = 0x66
_TRUE = 0x74


@inner
def _take(context: Context, value: int) -> None:
    """Let a value be a part, if it can be one."""
    if first_byte(context, value) in (_OPEN_BRACE, _TRUE, _FALSE):
        part_of(context, value)


@inner
def _take_all(context: Context, value: int, step: int) -> None:
    """The same for the items of an array, a step apart, or for the members of an object."""
    at, end = value + step, value_field(context, value, V_NEXT)
    while at < end:
        _take(context, at)
        at = value_field(context, at, V_NEXT) + step - 1


@inner
def _below(context: Context, part: int) -> int:
    """Let what is below a part be parts, too; NOT_PLAIN if it leads elsewhere."""
    value = part_field(context, part, S_VALUE)
    key, end = value + 1, value_field(context, value, V_NEXT)
    while key < end:
        word, at = word_of(context, key), key + 1
        byte = first_byte(context, at)
        if word == W_REFERENCE:
            target = target_of(context, at)
            if target < 0:
                return NOT_PLAIN
            part_of(context, target)
        elif word in (W_PROPERTIES, W_NAMED):
            if byte == _OPEN_BRACE:
                _take_all(context, at, 2)
        elif word in (W_OTHERS, W_ITEMS, W_ANY_OF, W_ONE_OF, W_ALL_OF, W_NOT, W_SCHEMAS):
            if byte == _OPEN_BRACKET:
                _take_all(context, at, 1)
            else:
                _take(context, at)
        key = value_field(context, at, V_NEXT)
    return PLAIN


@inner
def _step(context: Context, place: int) -> int:
    """Append a place to WAY."""
    if context[STEPS] == context[WAY_ROOM]:
        return NOT_PLAIN
    int32s(context, WAY)[context[STEPS]] = place
    context[STEPS] += 1
    return PLAIN


@inner
def _way(context: Context, wanted: int) -> int:
    """Write the way down to a value."""
    value = 0
    while value != wanted:
        named = 1 if first_byte(context, value) == _OPEN_BRACE else 0
        at, place = value + 1 + named, 0
        while value_field(context, at, V_NEXT) <= wanted:
            at, place = value_field(context, at, V_NEXT) + named, place + 1
        if _step(context, place) < 0:
            return NOT_PLAIN
        value = at
    return _step(context, -1)


@once
def _read_below(context: Context) -> int:
    """Read what is below parts that others judge, until there is no more of it."""
    asked, asks = 0, int32s(context, ASK)
    while asked < context[ASKED]:
        first = int(context[PARTS])
        if _below(context, int(asks[asked])) < 0 or read_from(context, first) < 0:
            return NOT_PLAIN
        asked += 1
    if settle(context) < 0:
        return NOT_PLAIN
    ask_dependents(context)
    for place in range(int(context[ASKED])):
        if _way(context, part_field(context, int(asks[place]), S_VALUE)) < 0:
            return NOT_PLAIN
    return PLAIN


@inner
def _judge_below(context: Context) -> None:
    """Find the parts that others have to judge; nothing else is added to what was read."""
    parts, members, letters = int(context[PARTS]), int(context[MEMBERS]), int(context[LETTERS])
    asked, objects, edges = int(context[ASKED]), int(context[OBJECTS]), int(context[EDGES])
    keys = int(context[KEY_NODES])
    context[KNOWN] = int(context[PARTS]) if _read_below(context) == PLAIN else -1
    context[JUDGED] = context[ASKED]
    rows = int32s(context, VALUE)
    for value in range(int(context[VALUES])):
        if rows[value * 4 + V_PART] > parts:
            rows[value * 4 + V_PART] = 0
    context[PARTS], context[MEMBERS], context[LETTERS] = parts, members, letters
    context[ASKED], context[OBJECTS], context[EDGES] = asked, objects, edges
    context[KEY_NODES] = keys


@once
def read_schema_text(context: Context, size: int) -> int:
    """Read a schema of so many bytes; NOT_PLAIN if others have to."""
    if read_values(context, size) < 0:
        return NOT_PLAIN
    if read_from(context, part_of(context, 0)) < 0 or settle(context) < 0:
        return NOT_PLAIN
    if not is_sure(context, 0):
        return NOT_PLAIN
    if context[ASKED] > 0:
        _judge_below(context)
    return PLAIN
