"""The parts of a JSON Schema that need nothing but tables: types, members, items, references.

One pass over what can be reached from the root. What it does not know is a LEAF, for others to read
and, but for the simplest, to judge; NOT_PLAIN says that others have to read all of it. It knows
only what surely has an instance, so that nothing has to be asked for later.

What this module does not know: what the parts look like to the kernels that make masks.
"""

from fairlead.masks.kernels.schema_fields import (
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
from fairlead.masks.kernels.schema_layout import (
    ANY_PART,
    ANYTHING,
    ARRAY,
    DRAFT,
    EDGES,
    GROUP,
    INTEGER,
    LEAF,
    MEMBER,
    MEMBERS,
    NOT_PLAIN,
    NOTHING,
    NUMBER,
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
    SOURCE,
    V_BEGIN,
    V_END,
    V_NEXT,
    W_ALL_OF,
    W_ANY_OF,
    W_CONST,
    W_ENUM,
    W_ITEMS,
    W_LEAST,
    W_MOST,
    W_ONE_OF,
    W_OTHERS,
    W_PROPERTIES,
    W_REFERENCE,
    W_REQUIRED,
    W_RESOURCE,
    W_TYPE,
)
from fairlead.masks.kernels.schema_names import read_members, read_words
from fairlead.masks.kernels.schema_texts import first_byte, read_values, value_field, word_of
from fairlead.masks.kernels.views import Context, inner, int32s, once, uint8s

_OF_OBJECTS = 1 << W_PROPERTIES | 1 << W_REQUIRED | 1 << W_OTHERS
_OF_ARRAYS = 1 << W_ITEMS | 1 << W_LEAST | 1 << W_MOST
_OF_PARTS = _OF_OBJECTS | _OF_ARRAYS
_TYPE = 1 << W_TYPE
_OPEN_BRACE = 0x7B
_QUOTE = 0x22
_TRUE = 0x74
_FALSE = 0x66
_OPEN_BRACKET = 0x5B
_MOST_BRANCHES = 8
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
    said, options = context[SAID], 0
    if said & _OF_OBJECTS != 0:
        if types & OBJECT == 0:
            return ask(context, part)
        options, types = options | OF_OBJECT, types & ~OBJECT
    if said & _OF_ARRAYS != 0:
        if types & ARRAY == 0:
            return ask(context, part)
        options, types = options | OF_ARRAY, types & ~ARRAY
    if typed(context, part, types) < 0 or part_field(context, part, S_KIND) == LEAF:
        return ask(context, part)
    set_field(context, part, S_KIND, PARTED)
    set_field(context, part, S_SURE, 0)
    set_field(context, part, S_OPTIONS, options)
    if options & OF_ARRAY != 0 and _array(context, part) != PLAIN:
        return ask(context, part)
    return read_members(context, part) if options & OF_OBJECT != 0 else PLAIN


@inner
def _reference(context: Context, part: int) -> int:
    """A part that stands for another one of the same text."""
    text, value = uint8s(context, SOURCE), held(context, W_REFERENCE)
    at, end = value_field(context, value, V_BEGIN) + 1, value_field(context, value, V_END) - 1
    if first_byte(context, value) != _QUOTE or at == end or text[at] != 0x23:
        return NOT_PLAIN
    for place in range(at, end):
        if text[place] in (0x25, 0x7E, 0x5C):  # what is escaped
            return NOT_PLAIN
    at, target = at + 1, 0
    while at < end:
        if text[at] != 0x2F:
            return NOT_PLAIN
        begin = at + 1
        at = begin
        while at < end and text[at] != 0x2F:
            at += 1
        target = _child(context, target, begin, at - begin)
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
            return ask(context, part)
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


@inner
def _child(context: Context, value: int, begin: int, size: int) -> int:
    """The value of a key in an object; -1 if there is none, or a resource may begin there."""
    text, found = uint8s(context, SOURCE), -1
    if first_byte(context, value) != _OPEN_BRACE:
        return -1
    key, end = value + 1, value_field(context, value, V_NEXT)
    while key < end:
        if value > 0 and word_of(context, key) == W_RESOURCE:
            return -1
        at = value_field(context, key, V_BEGIN) + 1
        if value_field(context, key, V_END) - 1 - at == size:
            same = 0
            while same < size and text[begin + same] == text[at + same]:
                same += 1
            if same == size:
                found = key + 1
        key = value_field(context, key + 1, V_NEXT)
    return found


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


@once
def _read_keywords(context: Context, part: int) -> int:
    """Read a part whose keywords are known."""
    said, reference = context[SAID], 1 << W_REFERENCE
    if said & reference != 0:
        alone = said == reference or context[DRAFT] < _BESIDE_REFERENCES
        return _reference(context, part) if alone else NOT_PLAIN
    for word in range(W_ANY_OF, W_ALL_OF + 1):
        if said == 1 << word:
            return _group(context, part, word)
    types = types_of(context)
    if types == 0:
        return NOT_PLAIN
    set_field(context, part, S_TYPES, types)
    scalars = said & ~(_TYPE | _OF_PARTS)
    if scalars & (1 << W_ENUM | 1 << W_CONST) != 0:
        return read_words(context, part, types)
    if said & _OF_PARTS != 0:
        return _parted(context, part, types) if scalars == 0 else ask(context, part)
    return read_scalar(context, part, types) if scalars != 0 else typed(context, part, types)


@once
def _resolve(context: Context) -> int:
    """Let references name what stands for itself; NOT_PLAIN if one only stands for itself."""
    count = int(context[PARTS])
    for part in range(count):
        target, steps = part, 0
        while part_field(context, target, S_KIND) == REFERENCE:
            target, steps = part_field(context, target, S_TARGET), steps + 1
            if steps > count:
                return NOT_PLAIN
        if target != part:
            set_field(context, part, S_TARGET, target)
    return PLAIN


@inner
def _is_sure(context: Context, part: int) -> bool:
    """Whether a part is known to have an instance."""
    if part == ANY_PART:
        return True
    if part_field(context, part, S_KIND) == REFERENCE:
        part = part_field(context, part, S_TARGET)
    return part_field(context, part, S_SURE) != 0


@inner
def _judged(context: Context, part: int) -> bool:
    """Whether each option of a part has an instance, as far as is known."""
    options, rows = part_field(context, part, S_OPTIONS), int32s(context, MEMBER)
    parted = part_field(context, part, S_KIND) == PARTED
    needed = parted and options & OF_ARRAY != 0 and part_field(context, part, S_LOW) > 0
    if needed and not _is_sure(context, part_field(context, part, S_ITEM)):
        return False
    group = part_field(context, part, S_KIND) == GROUP
    first = part_field(context, part, S_MEMBER)
    for row in range(first, first + part_field(context, part, S_COUNT)):
        needed = group or rows[row * 6 + 3] != 0
        if needed and not _is_sure(context, int(rows[row * 6 + 2])):
            return False
    return True


@once
def _settle(context: Context) -> int:
    """Find out which parts have an instance; NOT_PLAIN if not all surely have one.

    A part mostly stands before those that it holds, so that one round, backwards, is enough.
    """
    changed, unsure = True, 0
    while changed:
        changed, unsure = False, 0
        for part in range(int(context[PARTS]) - 1, -1, -1):
            kind = part_field(context, part, S_KIND)
            if kind in (PARTED, GROUP) and part_field(context, part, S_SURE) == 0:
                if _judged(context, part):
                    set_field(context, part, S_SURE, 1)
                    changed = True
                else:
                    unsure += 1
    return PLAIN if unsure == 0 else NOT_PLAIN


@inner
def _possible(context: Context, part: int) -> int:
    """The types that the values of a part may have."""
    if part_field(context, part, S_KIND) == REFERENCE:
        part = part_field(context, part, S_TARGET)
    kind, types = part_field(context, part, S_KIND), part_field(context, part, S_TYPES)
    if kind == GROUP:
        return ANYTHING
    if kind == PARTED:
        options = part_field(context, part, S_OPTIONS)
        types |= (OBJECT if options & OF_OBJECT else 0) | (ARRAY if options & OF_ARRAY else 0)
    return types | NUMBER if types & INTEGER != 0 else types


@inner
def _exclude(context: Context, part: int) -> bool:
    """Whether the parts of a GROUP have no type in common."""
    rows, first, found = int32s(context, MEMBER), part_field(context, part, S_MEMBER), 0
    for row in range(first, first + part_field(context, part, S_COUNT)):
        types = _possible(context, int(rows[row * 6 + 2]))
        if types & found != 0:
            return False
        found |= types
    return True


@once
def finish_parts(context: Context) -> None:
    """Leave those GROUPs to others that would need a search, and say where each LEAF is."""
    for part in range(int(context[PARTS])):
        group = part_field(context, part, S_KIND) == GROUP
        if group and part_field(context, part, S_OPTIONS) != 0 and not _exclude(context, part):
            ask(context, part)
        if part_field(context, part, S_KIND) == LEAF:
            value = part_field(context, part, S_VALUE)
            set_field(context, part, S_LOW, value_field(context, value, V_BEGIN))
            set_field(context, part, S_HIGH, value_field(context, value, V_END))


@once
def read_parts(context: Context, size: int) -> int:
    """Read a schema of so many bytes; NOT_PLAIN if others have to."""
    if read_values(context, size) < 0:
        return NOT_PLAIN
    part = part_of(context, 0)
    while part < context[PARTS]:
        if read_part(context, part) < 0:
            return NOT_PLAIN
        part += 1
    if _resolve(context) < 0 or _settle(context) < 0:
        return NOT_PLAIN
    finish_parts(context)
    return PLAIN if _is_sure(context, 0) else NOT_PLAIN
