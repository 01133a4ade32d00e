"""What a part of a JSON Schema holds, and parts without parts of their own.

What this module does not know: members, items, references.
"""

from guideway.masks.kernels.schema_layout import (
    ANYTHING,
    ASK,
    ASKED,
    DRAFT,
    EDGES,
    HELD,
    INTEGER,
    LEAF,
    NOT_PLAIN,
    NUMBER,
    PART,
    PARTS,
    PLAIN,
    S_EDGE,
    S_HIGH,
    S_KIND,
    S_LOW,
    S_SURE,
    S_TYPES,
    S_VALUE,
    SAID,
    SOURCE,
    STRICT,
    STRING,
    TEXT,
    TYPE_COUNT,
    TYPED,
    V_BEGIN,
    V_END,
    V_NEXT,
    V_PART,
    VALUE,
    W_ABOVE,
    W_ASSERTED,
    W_BELOW,
    W_DRAFT,
    W_FORMAT,
    W_HIGHEST,
    W_IDENTIFIER,
    W_LONGEST,
    W_LOWEST,
    W_RESOURCE,
    W_SHORTEST,
    W_TYPE,
    W_TYPES,
)
from guideway.masks.kernels.schema_texts import first_byte, value_field, word_of
from guideway.masks.kernels.views import Context, inner, int32s, uint8s

_LOWER = 1 << W_LOWEST | 1 << W_ABOVE
_UPPER = 1 << W_HIGHEST | 1 << W_BELOW
_SHORT = 1 << W_SHORTEST | 1 << W_LONGEST
_TYPE = 1 << W_TYPE
_OPEN_BRACKET = 0x5B
_QUOTE = 0x22


@inner
def part_field(context: Context, part: int, field: int) -> int:
    """A field of a part."""
    return int(int32s(context, PART)[part * 16 + field])


@inner
def set_field(context: Context, part: int, field: int, value: int) -> None:
    int32s(context, PART)[part * 16 + field] = value


@inner
def part_of(context: Context, value: int) -> int:
    """The part that a value is, to be read later if it has not been."""
    rows = int32s(context, VALUE)
    if rows[value * 4 + V_PART] == 0:
        made = context[PARTS]
        context[PARTS] = made + 1
        rows[value * 4 + V_PART] = made + 1
        for field in range(16):
            set_field(context, made, field, 0)
        set_field(context, made, S_VALUE, value)
    return int(rows[value * 4 + V_PART]) - 1


@inner
def held(context: Context, word: int) -> int:
    """The value of a keyword of the part that is read."""
    return int(int32s(context, HELD)[word])


@inner
def ask(context: Context, part: int, types: int) -> int:
    """Let somebody else judge a part whose values may be of some types."""
    set_field(context, part, S_TYPES, types)
    int32s(context, ASK)[context[ASKED]] = part
    context[ASKED] += 1
    return leaf(context, part)


@inner
def leaf(context: Context, part: int) -> int:
    """A part that others read, which surely has an instance."""
    set_field(context, part, S_KIND, LEAF)
    set_field(context, part, S_SURE, 1)
    return PLAIN


@inner
def typed(context: Context, part: int, types: int) -> int:
    """A part that means all values of some types."""
    if types & INTEGER != 0 and types & NUMBER == 0 and context[DRAFT] == 4:
        return leaf(context, part)  # where 1.0 is none
    if types & NUMBER != 0:
        types &= ~INTEGER
    set_field(context, part, S_KIND, TYPED)
    set_field(context, part, S_TYPES, types)
    set_field(context, part, S_SURE, 1)
    set_field(context, part, S_EDGE, int(context[EDGES]))
    context[EDGES] += TYPE_COUNT
    return PLAIN


@inner
def _type_of(context: Context, value: int) -> int:
    """The bit of a type's name; 0 if it is none."""
    if first_byte(context, value) != _QUOTE:
        return 0
    word = word_of(context, value)
    return 1 << (word - W_TYPES) if word >= W_TYPES else 0


@inner
def types_of(context: Context) -> int:
    """The types of the part that is read; 0 if they make no sense."""
    if context[SAID] & _TYPE == 0:
        return ANYTHING
    value = held(context, W_TYPE)
    if first_byte(context, value) != _OPEN_BRACKET:
        return _type_of(context, value)
    found, at, end = 0, value + 1, value_field(context, value, V_NEXT)
    while at < end:
        kind = _type_of(context, at)
        if kind == 0:
            return 0
        found |= kind
        at = value_field(context, at, V_NEXT)
    return found


@inner
def opening(word: int) -> int:
    """A bit for a word of those with which a resource may begin."""
    return 1 << (word - W_RESOURCE) if W_RESOURCE <= word <= W_IDENTIFIER else 0


@inner
def opens(met: int) -> bool:
    """Whether a resource may begin where these are."""
    both = 1 << (W_DRAFT - W_RESOURCE) | 1 << (W_IDENTIFIER - W_RESOURCE)
    return met & 1 != 0 or met == both


@inner
def find_keywords(context: Context, part: int) -> int:
    """Note the keywords of a part; NOT_PLAIN where a resource may begin."""
    value, said, met = part_field(context, part, S_VALUE), 0, 0
    key, end = value + 1, value_field(context, value, V_NEXT)
    while key < end:
        word = word_of(context, key)
        if 0 <= word < W_ASSERTED:
            said |= 1 << word
            int32s(context, HELD)[word] = key + 1
        elif word >= 0:
            met |= opening(word)
        key = value_field(context, key + 1, V_NEXT)
    context[SAID] = said
    return NOT_PLAIN if part > 0 and opens(met) else PLAIN


@inner
def _count_of(context: Context, value: int) -> int:
    """A small number without sign; -1 if it is anything else."""
    text, found = uint8s(context, SOURCE), 0
    begin, end = value_field(context, value, V_BEGIN), value_field(context, value, V_END)
    if end - begin > 9:
        return -1
    for at in range(begin, end):
        if not 0x30 <= text[at] <= 0x39:
            return -1
        found = found * 10 + int(text[at]) - 0x30
    return found


@inner
def count_held(context: Context, word: int, otherwise: int) -> int:
    """The count that a keyword holds; `otherwise` without it, -2 if it holds something else."""
    if context[SAID] & (1 << word) == 0:
        return otherwise
    found = _count_of(context, held(context, word))
    return -2 if found < 0 else found


@inner
def _is_number(context: Context, word: int) -> bool:
    """Whether a keyword, if there is one, holds a number."""
    if context[SAID] & (1 << word) == 0:
        return True
    byte = first_byte(context, held(context, word))
    return byte == 0x2D or 0x30 <= byte <= 0x39


@inner
def _is_surely_a_number(context: Context, types: int) -> bool:
    """Whether the part that is read has a number in any case: no bounds, or those of one side."""
    said = context[SAID]
    if said & ~(_TYPE | _LOWER | _UPPER) != 0 or types not in (INTEGER, NUMBER):
        return False
    if context[DRAFT] == 4 and said & (1 << W_ABOVE | 1 << W_BELOW) != 0:
        return False
    if said & _LOWER != 0 and said & _UPPER != 0:
        return False
    lower = _is_number(context, W_LOWEST) and _is_number(context, W_ABOVE)
    return lower and _is_number(context, W_HIGHEST) and _is_number(context, W_BELOW)


@inner
def _is_surely_a_string(context: Context, types: int) -> bool:
    """Whether the part that is read has a string: of a format."""
    formatted = types == STRING and context[SAID] == _TYPE | 1 << W_FORMAT
    return (
        formatted
        and context[STRICT] == 0
        and first_byte(context, held(context, W_FORMAT)) == _QUOTE
    )


@inner
def _text(context: Context, part: int) -> int:
    """Strings of some length."""
    low, high = count_held(context, W_SHORTEST, 0), count_held(context, W_LONGEST, -1)
    if low < 0 or high < -1 or 0 <= high < low:
        return ask(context, part, STRING)
    if low == 0 and high < 0:
        return typed(context, part, STRING)
    set_field(context, part, S_KIND, TEXT)
    set_field(context, part, S_SURE, 1)
    set_field(context, part, S_LOW, low)
    set_field(context, part, S_HIGH, high)
    return PLAIN


@inner
def read_scalar(context: Context, part: int, types: int) -> int:
    """A part without parts of its own, of which something is said."""
    numbers = types & STRING == 0 and context[SAID] == _TYPE | 1 << W_FORMAT
    named = numbers and first_byte(context, held(context, W_FORMAT)) == _QUOTE
    if named and context[STRICT] == 0:  # formats are of strings
        return typed(context, part, types)
    if types == STRING and context[SAID] & ~(_TYPE | _SHORT) == 0:
        return _text(context, part)
    if _is_surely_a_string(context, types) or _is_surely_a_number(context, types):
        return leaf(context, part)
    return ask(context, part, types)
