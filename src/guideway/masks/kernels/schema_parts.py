"""The parts of a JSON Schema that need nothing but tables: types, members, items, references.

One pass over what can be reached from the root. What it does not know is a LEAF, for others to read
and, but for the simplest, to judge; NOT_PLAIN says that others have to read all of it. It knows
only what surely has an instance, so that nothing has to be asked for later.

What this module does not know: what the parts look like to the kernels that make masks.
"""

from guideway.masks.kernels.schema_fields import (
    ask,
    count_held,
    find_keywords,
    held,
    part_field,
    part_of,
    read_scalar,
    set_field,
    typed,
    types_of,
)
from guideway.masks.kernels.schema_layout import (
    ANY_PART,
    ANYTHING,
    ARRAY,
    DRAFT,
    EDGES,
    GROUP,
    LEAF,
    MEMBER,
    MEMBERS,
    NOT_PLAIN,
    NOTHING,
    OBJECT,
    OF_ARRAY,
    OF_OBJECT,
    PARTED,
    PARTS,
    PLAIN,
    REFERENCE,
    S_COUNT,
    S_EDGE,
    S_HIGH,
    S_ITEM,
    S_KIND,
    S_LOW,
    S_MEMBER,
    S_OPTIONS,
    S_SURE,
    S_TARGET,
    S_TYPES,
    S_VALUE,
    SAID,
    V_NEXT,
    W_ALL_OF,
    W_ANY_OF,
    W_CONST,
    W_ENUM,
    W_ITEMS,
    W_LEAST,
    W_MOST,
    W_NOT,
    W_ONE_OF,
    W_OTHERS,
    W_PROPERTIES,
    W_REFERENCE,
    W_REQUIRED,
    W_TYPE,
)
from guideway.masks.kernels.schema_names import read_members, read_words
from guideway.masks.kernels.schema_references import target_of
from guideway.masks.kernels.schema_texts import first_byte, value_field
from guideway.masks.kernels.views import Context, inner, int32s, once

_OF_OBJECTS = 1 << W_PROPERTIES | 1 << W_REQUIRED | 1 << W_OTHERS
_OF_ARRAYS = 1 << W_ITEMS | 1 << W_LEAST | 1 << W_MOST
_OF_PARTS = _OF_OBJECTS | _OF_ARRAYS
_TYPE = 1 << W_TYPE
_OPEN_BRACE = 0x7B
_QUOTE = 0x22
_TRUE = 0x74
_FALSE = 0x66
_OPEN_BRACKET = 0x5B
_MOST_BRANCHES = 24  # as in `syntax.json_schema_tame`, whose number is not of what caches hang on
_MOST_ITEMS = 64  # of which each has two rows of EDGE
_BESIDE_REFERENCES = 2019  # the first draft in which anything counts there


@inner
def _array(context: Context, part: int) -> int:
    """The items of a part; 1 if others have to read it."""
    low, high = count_held(context, W_LEAST, 0), count_held(context, W_MOST, -1)
    if low < 0 or high < -1 or max(low, high) > _MOST_ITEMS or 0 <= high < low:
        return 1
    items = ANY_PART
    if context[SAID] & (1 << W_ITEMS) != 0:
        value = held(context, W_ITEMS)
        if first_byte(context, value) not in (_OPEN_BRACE, _TRUE):
            return 1
        items = part_of(context, value)
    set_field(context, part, S_ITEM, items)
    set_field(context, part, S_LOW, low)
    set_field(context, part, S_HIGH, high)
    context[EDGES] += 2 * (max(low, high) + 2)
    return PLAIN


@inner
def _parted(context: Context, part: int, types: int) -> int:
    """A part that is an object or an array with parts, or of another type."""
    said, options, every = context[SAID], 0, types
    if said & _OF_OBJECTS != 0:
        if types & OBJECT == 0:
            return ask(context, part, every)
        options, types = options | OF_OBJECT, types & ~OBJECT
    if said & _OF_ARRAYS != 0:
        if types & ARRAY == 0:
            return ask(context, part, every)
        options, types = options | OF_ARRAY, types & ~ARRAY
    if typed(context, part, types) < 0 or part_field(context, part, S_KIND) == LEAF:
        return ask(context, part, every)
    set_field(context, part, S_KIND, PARTED)
    set_field(context, part, S_SURE, 0)
    set_field(context, part, S_OPTIONS, options)
    if options & OF_ARRAY != 0 and _array(context, part) != PLAIN:
        return ask(context, part, every)
    return read_members(context, part) if options & OF_OBJECT != 0 else PLAIN


@inner
def _reference(context: Context, part: int) -> int:
    """A part that stands for another one of the same text."""
    target = target_of(context, held(context, W_REFERENCE))
    if target < 0:
        return NOT_PLAIN
    set_field(context, part, S_KIND, REFERENCE)
    set_field(context, part, S_TARGET, part_of(context, target))
    return PLAIN


@inner
def _group(context: Context, part: int, word: int) -> int:
    """A part that stands for any of others."""
    value, first = held(context, word), int(context[MEMBERS])
    if first_byte(context, value) != _OPEN_BRACKET:
        return NOT_PLAIN
    at, end, count = value + 1, value_field(context, value, V_NEXT), 0
    rows = int32s(context, MEMBER)
    while at < end:
        if count == (1 if word == W_ALL_OF else _MOST_BRANCHES):
            return ask(context, part, ANYTHING)
        row = (first + count) * 6
        rows[row], rows[row + 1], rows[row + 2], rows[row + 3] = 0, 0, part_of(context, at), 0
        count += 1
        at = value_field(context, at, V_NEXT)
    context[MEMBERS] += count
    set_field(context, part, S_KIND, GROUP)
    set_field(context, part, S_MEMBER, first)
    set_field(context, part, S_COUNT, count)
    set_field(context, part, S_EDGE, int(context[EDGES]))
    set_field(context, part, S_OPTIONS, 1 if word == W_ONE_OF else 0)
    context[EDGES] += count
    return PLAIN if count > 0 else NOT_PLAIN


@once
def read_part(context: Context, part: int) -> int:
    """Read one part."""
    byte = first_byte(context, part_field(context, part, S_VALUE))
    if byte == _TRUE:
        return typed(context, part, ANYTHING)
    if byte == _FALSE:
        set_field(context, part, S_KIND, NOTHING)
        return PLAIN
    if byte != _OPEN_BRACE or find_keywords(context, part) < 0:
        return NOT_PLAIN
    return _read_keywords(context, part)


@inner
def _says_nothing(context: Context, value: int) -> bool:
    """Whether a schema is `{}` or `true`."""
    byte, empty = first_byte(context, value), value_field(context, value, V_NEXT) == value + 1
    return byte == _TRUE or (byte == _OPEN_BRACE and empty)


@inner
def _elsewhere(context: Context, part: int) -> int:
    """A part that says what others do, or allows nothing; 1 if it is none."""
    said, reference = context[SAID], 1 << W_REFERENCE
    if said & reference != 0:
        alone = said == reference or context[DRAFT] < _BESIDE_REFERENCES
        return _reference(context, part) if alone else ask(context, part, ANYTHING)
    if said == 1 << W_NOT and _says_nothing(context, held(context, W_NOT)):
        set_field(context, part, S_KIND, NOTHING)
        return PLAIN
    for word in range(W_ANY_OF, W_ALL_OF + 1):
        if said == 1 << word:
            return _group(context, part, word)
    return 1


@once
def _read_keywords(context: Context, part: int) -> int:
    """Read a part whose keywords are known."""
    said, elsewhere = context[SAID], _elsewhere(context, part)
    if elsewhere <= 0:
        return elsewhere
    types = types_of(context)
    if types == 0:
        return NOT_PLAIN
    set_field(context, part, S_TYPES, types)
    scalars = said & ~(_TYPE | _OF_PARTS)
    if scalars & (1 << W_ENUM | 1 << W_CONST) != 0:
        return read_words(context, part, types)
    if said & _OF_PARTS != 0:
        return _parted(context, part, types) if scalars == 0 else ask(context, part, types)
    return read_scalar(context, part, types) if scalars != 0 else typed(context, part, types)


@once
def read_from(context: Context, part: int) -> int:
    """Read the parts from one on, and those that they name; NOT_PLAIN if others have to."""
    while part < context[PARTS]:
        if read_part(context, part) < 0:
            return NOT_PLAIN
        part += 1
    return PLAIN
