"""The names in a JSON Schema: those of members, and what is listed, words above all.

What this module does not know: what members hold.
"""

from guideway.masks.kernels.schema_fields import ask, held, part_of, set_field
from guideway.masks.kernels.schema_layout import (
    ANY_PART,
    ARRAY,
    BOOLEAN,
    EDGES,
    INTEGER,
    KEY_NODES,
    LETTERS,
    MEMBER,
    MEMBERS,
    NOT_PLAIN,
    NULL,
    NUMBER,
    OBJECT,
    OBJECTS,
    PLAIN,
    S_COUNT,
    S_EDGE,
    S_KEYS,
    S_KIND,
    S_MEMBER,
    S_OBJECT,
    S_OPTIONS,
    S_OTHER,
    S_SURE,
    S_TYPES,
    SAID,
    STRING,
    TYPE_COUNT,
    V_NEXT,
    W_CONST,
    W_ENUM,
    W_OTHERS,
    W_PROPERTIES,
    W_REQUIRED,
    W_TYPE,
    WORD_FALSE,
    WORD_NULL,
    WORD_TRUE,
    WORDS,
)
from guideway.masks.kernels.schema_texts import (
    find_name,
    first_byte,
    put_name,
    sort_names,
    value_field,
)
from guideway.masks.kernels.views import Context, inner, int32s

_TYPE = 1 << W_TYPE
_OPEN_BRACE = 0x7B
_OPEN_BRACKET = 0x5B
_QUOTE = 0x22
_NULL = 0x6E
_TRUE = 0x74
_FALSE = 0x66


@inner
def _put_word(context: Context, value: int) -> None:
    """Append a row to MEMBER."""
    rows, row = int32s(context, MEMBER), int(context[MEMBERS]) * 6
    rows[row] = int(context[LETTERS])
    rows[row + 1] = put_name(context, value)
    rows[row + 2], rows[row + 3], rows[row + 4], rows[row + 5] = 0, 0, 0, 0
    context[MEMBERS] += 1


@inner
def _finish_names(context: Context, part: int, first: int) -> None:
    """Note the sorted names of a part, and what they need."""
    rows, count = int32s(context, MEMBER), int(context[MEMBERS]) - first
    letters = 0
    for row in range(first, first + count):
        letters += rows[row * 6 + 1]
        rows[(first + rows[row * 6 + 4]) * 6 + 5] = row - first
    set_field(context, part, S_MEMBER, first)
    set_field(context, part, S_COUNT, count)
    set_field(context, part, S_OBJECT, int(context[OBJECTS]))
    set_field(context, part, S_KEYS, int(context[KEY_NODES]))
    context[OBJECTS] += 1
    context[KEY_NODES] += letters + 1


@inner
def _listed_as(context: Context, value: int, types: int) -> int:
    """What a listed value is: STRING or one of WORD_NULL and so on; 0: none of the types, -1: else.

    How a number may be spelled, and what is in arrays and objects, others know.
    """
    byte, found, kind = first_byte(context, value), -1, NUMBER | INTEGER
    if byte == _QUOTE:
        found, kind = STRING, STRING
    elif byte == _NULL:
        found, kind = WORD_NULL, NULL
    elif byte in (_TRUE, _FALSE):
        found, kind = WORD_TRUE if byte == _TRUE else WORD_FALSE, BOOLEAN
    elif byte in (_OPEN_BRACE, _OPEN_BRACKET):
        kind = OBJECT if byte == _OPEN_BRACE else ARRAY
    return found if types & kind != 0 else 0


@inner
def read_words(context: Context, part: int, types: int) -> int:
    """A part that lists its values: strings, null, booleans; or a LEAF."""
    said = context[SAID] & ~_TYPE
    word = W_ENUM if said == 1 << W_ENUM else W_CONST
    if said != 1 << word:
        return ask(context, part, types)
    value, first, others = held(context, word), int(context[MEMBERS]), 0
    if word == W_ENUM and first_byte(context, value) != _OPEN_BRACKET:
        return NOT_PLAIN
    at = value if word == W_CONST else value + 1
    end = value_field(context, value, V_NEXT)
    while at < end:
        kind = _listed_as(context, at, types)
        if kind < 0:
            return ask(context, part, types)
        if kind == STRING:
            _put_word(context, at)
        else:
            others |= kind
        at = value_field(context, at, V_NEXT)
    if others == 0 and context[MEMBERS] == first:
        return NOT_PLAIN
    return _listed(context, part, first, others)


@inner
def _listed(context: Context, part: int, first: int, others: int) -> int:
    """The words from a row on, each once, and others beside them."""
    rows = int32s(context, MEMBER)
    sort_names(context, first, int(context[MEMBERS]) - first)
    kept = first
    for row in range(first, int(context[MEMBERS])):
        if kept == first or find_name(context, kept - 1, 1, row) < 0:
            rows[kept * 6], rows[kept * 6 + 1] = rows[row * 6], rows[row * 6 + 1]
            rows[kept * 6 + 4] = kept - first
            kept += 1
    context[MEMBERS] = kept
    types = STRING if kept > first else 0
    types |= NULL if others & WORD_NULL != 0 else 0
    types |= BOOLEAN if others & ~WORD_NULL != 0 else 0
    set_field(context, part, S_KIND, WORDS)
    set_field(context, part, S_SURE, 1)
    set_field(context, part, S_TYPES, types)
    set_field(context, part, S_OPTIONS, others)
    set_field(context, part, S_EDGE, int(context[EDGES]))
    context[EDGES] += TYPE_COUNT
    _finish_names(context, part, first)
    return PLAIN


@inner
def _require(context: Context, first: int, declared: int, others: int) -> int:
    """Note which names are required; those that are not declared come last."""
    rows, value = int32s(context, MEMBER), held(context, W_REQUIRED)
    if first_byte(context, value) != _OPEN_BRACKET:
        return NOT_PLAIN
    at, end = value + 1, value_field(context, value, V_NEXT)
    while at < end:
        if first_byte(context, at) != _QUOTE:
            return NOT_PLAIN
        letters, made = int(context[LETTERS]), int(context[MEMBERS])
        _put_word(context, at)
        found = find_name(context, first, made - first, made)
        if found >= 0:
            context[LETTERS], context[MEMBERS] = letters, made
            rows[found * 6 + 3] = 1
        else:
            _put_between(context, -1 - found, made)
            row = (-1 - found) * 6
            rows[row + 2], rows[row + 3], rows[row + 4] = others, 1, declared
            declared += 1
        at = value_field(context, at, V_NEXT)
    return PLAIN


@inner
def _put_between(context: Context, place: int, last: int) -> None:
    """Move the last row to its place."""
    rows = int32s(context, MEMBER)
    begin, size = rows[last * 6], rows[last * 6 + 1]
    for at in range(last * 6 + 5, place * 6 + 5, -1):
        rows[at] = rows[at - 6]
    rows[place * 6], rows[place * 6 + 1] = begin, size


@inner
def read_members(context: Context, part: int) -> int:
    """The members of a part."""
    rows, said, first = int32s(context, MEMBER), context[SAID], int(context[MEMBERS])
    others = part_of(context, held(context, W_OTHERS)) if said & (1 << W_OTHERS) else ANY_PART
    set_field(context, part, S_OTHER, others)
    declared = 0
    if said & (1 << W_PROPERTIES) != 0:
        value = held(context, W_PROPERTIES)
        if first_byte(context, value) != _OPEN_BRACE:
            return NOT_PLAIN
        key, end = value + 1, value_field(context, value, V_NEXT)
        while key < end:
            row = int(context[MEMBERS]) * 6
            _put_word(context, key)
            rows[row + 2], rows[row + 4] = part_of(context, key + 1), declared
            declared += 1
            key = value_field(context, key + 1, V_NEXT)
        sort_names(context, first, declared)
    if said & (1 << W_REQUIRED) != 0 and _require(context, first, declared, others) < 0:
        return NOT_PLAIN
    _finish_names(context, part, first)
    return PLAIN
