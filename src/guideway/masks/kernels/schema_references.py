"""Where the references in a JSON Schema lead, within its text.

What this module does not know: parts.
"""

from guideway.masks.kernels.schema_fields import opening, opens
from guideway.masks.kernels.schema_layout import (
    SEARCHED,
    SEARCHED_NEXT,
    SEARCHED_OPENS,
    SOURCE,
    V_BEGIN,
    V_END,
    V_NEXT,
)
from guideway.masks.kernels.schema_texts import first_byte, value_field, word_of
from guideway.masks.kernels.views import Context, inner, uint8s

_OPEN_BRACE = 0x7B
_QUOTE = 0x22


@inner
def _found(context: Context, key: int, end: int, begin: int, size: int) -> int:
    """The value of the key, of those from one on, that is so many bytes of the text; -1 if none."""
    text = uint8s(context, SOURCE)
    while key < end:
        at, same = value_field(context, key, V_BEGIN) + 1, 0
        if value_field(context, key, V_END) - 1 - at == size:
            while same < size and text[begin + same] == text[at + same]:
                same += 1
            if same == size:
                return key + 1
        key = value_field(context, key + 1, V_NEXT)
    return -1


@inner
def _child(context: Context, value: int, begin: int, size: int) -> int:
    """The value of a key in an object; -1 if there is none, or a resource may begin there.

    That is told by all keys, once where the next reference leads into the same object: 500 of them
    into 120 definitions took 1.3 ms of 2. Each search begins behind the key that was found last, as
    references are often in the order of what they name: 8,000 took .5 s.
    """
    if first_byte(context, value) != _OPEN_BRACE:
        return -1
    first, end = value + 1, value_field(context, value, V_NEXT)
    if value == 0:
        return _found(context, first, end, begin, size)
    if context[SEARCHED] != value:
        key, met = first, 0
        while key < end:
            met |= opening(word_of(context, key))
            key = value_field(context, key + 1, V_NEXT)
        context[SEARCHED], context[SEARCHED_NEXT] = value, first
        context[SEARCHED_OPENS] = 1 if opens(met) else 0
    if context[SEARCHED_OPENS] != 0:
        return -1
    last = int(context[SEARCHED_NEXT])
    found = _found(context, last, end, begin, size)
    if found < 0:
        found = _found(context, first, last, begin, size)
    if found > 0:
        context[SEARCHED_NEXT] = value_field(context, found, V_NEXT)
    return found


@inner
def target_of(context: Context, value: int) -> int:
    """The value that a reference names; -1 if it is not within the same text, or not plainly so."""
    text = uint8s(context, SOURCE)
    at, end = value_field(context, value, V_BEGIN) + 1, value_field(context, value, V_END) - 1
    if first_byte(context, value) != _QUOTE or at == end or text[at] != 0x23:
        return -1
    for place in range(at, end):
        if text[place] in (0x25, 0x7E, 0x5C):  # what is escaped
            return -1
    at, target = at + 1, 0
    while at < end:
        if text[at] != 0x2F:
            return -1
        begin = at + 1
        at = begin
        while at < end and text[at] != 0x2F:
            at += 1
        target = _child(context, target, begin, at - begin)
        if target < 0:
            return -1
    return target
