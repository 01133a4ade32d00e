"""The text of a JSON Schema: where its values are, which words are keywords, and names in order.

The text is compact ASCII JSON as `syntax.json_text` writes it, so it is neither checked nor are
words looked for under escapes, which their letters never have.
"""

from guideway.masks.kernels.keys import BEGUN_ESCAPE, read_escape
from guideway.masks.kernels.schema_layout import (
    DEPTH,
    LETTER,
    LETTERS,
    MEMBER,
    MOST_DEPTH,
    NOT_PLAIN,
    PLAIN,
    SOURCE,
    V_BEGIN,
    V_END,
    V_NEXT,
    V_PART,
    VALUE,
    VALUES,
    W_UNKNOWN,
    WORD,
    WORD_ROOM,
    WORD_TEXT,
)
from guideway.masks.kernels.views import Context, inner, int32s, once, uint8s

_QUOTE = 0x22
_BACKSLASH = 0x5C


@inner
def end_of_scalar(context: Context, begin: int, size: int) -> int:
    """Where a string, number, or word without quotes ends."""
    text, at = uint8s(context, SOURCE), begin + 1
    if text[begin] == _QUOTE:
        while text[at] != _QUOTE:
            at += 2 if text[at] == _BACKSLASH else 1
        return at + 1
    while at < size and text[at] not in (0x2C, 0x5D, 0x7D):
        at += 1
    return at


@once
def read_values(context: Context, size: int) -> int:
    """List all values and keys; NOT_PLAIN if they nest too deep."""
    text, rows, depth = uint8s(context, SOURCE), int32s(context, VALUE), int32s(context, DEPTH)
    at, made, opened = 0, 0, 0
    while at < size:
        byte = text[at]
        if byte in (0x2C, 0x3A):  # a comma, a colon
            at += 1
        elif byte in (0x5D, 0x7D):
            at, opened = at + 1, opened - 1
            row = depth[opened] * 4
            rows[row + V_END], rows[row + V_NEXT] = at, made
        else:
            row = made * 4
            made += 1
            rows[row + V_BEGIN], rows[row + V_PART] = at, 0
            if byte in (0x5B, 0x7B):
                if opened == MOST_DEPTH:
                    return NOT_PLAIN
                depth[opened] = made - 1
                at, opened = at + 1, opened + 1
            else:
                at = end_of_scalar(context, at, size)
                rows[row + V_END], rows[row + V_NEXT] = at, made
    context[VALUES] = made
    return PLAIN


@inner
def first_byte(context: Context, value: int) -> int:
    """What a value begins with, which says of which kind it is."""
    return int(uint8s(context, SOURCE)[int32s(context, VALUE)[value * 4 + V_BEGIN]])


@inner
def value_field(context: Context, value: int, field: int) -> int:
    """A field of a value."""
    return int(int32s(context, VALUE)[value * 4 + field])


@inner
def word_of(context: Context, value: int) -> int:
    """The number of the word that a string is, W_UNKNOWN if it is none."""
    text, words, letters = (
        uint8s(context, SOURCE),
        int32s(context, WORD),
        uint8s(context, WORD_TEXT),
    )
    begin = value_field(context, value, V_BEGIN) + 1
    size = value_field(context, value, V_END) - 1 - begin
    code = size
    for at in range(begin, begin + size):
        code = (code * 31 + text[at]) & 0xFFFF
    place = code % WORD_ROOM
    while words[place * 3 + 1] != 0:
        if words[place * 3 + 1] == size:
            same, at = 0, int(words[place * 3])
            while same < size and text[begin + same] == letters[at + same]:
                same += 1
            if same == size:
                return int(words[place * 3 + 2])
        place = (place + 1) % WORD_ROOM
    return W_UNKNOWN


@inner
def _put(context: Context, code: int) -> None:
    """Append a character."""
    letters, at = uint8s(context, LETTER), context[LETTERS]
    if code < 0x80:
        letters[at] = code
        context[LETTERS] = at + 1
        return
    more = 1 if code < 0x800 else 2 if code < 0x10000 else 3
    letters[at] = ((0x780 >> more) & 0xFF) | (code >> (6 * more))
    for left in range(more - 1, -1, -1):
        at += 1
        letters[at] = 0x80 | ((code >> (6 * left)) & 0x3F)
    context[LETTERS] = at + 1


@inner
def put_name(context: Context, value: int) -> int:
    """Append the characters of a string; gives how many bytes they take."""
    text, begun, escape = uint8s(context, SOURCE), int(context[LETTERS]), 0
    first, end = value_field(context, value, V_BEGIN) + 1, value_field(context, value, V_END) - 1
    for at in range(first, end):
        code = int(text[at])
        if escape != 0:
            escape, code = read_escape(escape, code)
        elif code == _BACKSLASH:
            escape, code = BEGUN_ESCAPE, -1
        if code >= 0:
            _put(context, code)
    return int(context[LETTERS]) - begun


@inner
def _compared(context: Context, a: int, b: int) -> int:
    """Below 0, 0 or above 0, as the name of one row is before, equal to or behind another's."""
    rows, letters = int32s(context, MEMBER), uint8s(context, LETTER)
    left, right = int(rows[a * 6]), int(rows[b * 6])
    size = min(int(rows[a * 6 + 1]), int(rows[b * 6 + 1]))
    for place in range(size):
        if letters[left + place] != letters[right + place]:
            return int(letters[left + place]) - int(letters[right + place])
    return int(rows[a * 6 + 1]) - int(rows[b * 6 + 1])


@inner
def _swap(context: Context, a: int, b: int) -> None:
    rows = int32s(context, MEMBER)
    for field in range(6):
        held = rows[a * 6 + field]
        rows[a * 6 + field] = rows[b * 6 + field]
        rows[b * 6 + field] = held


@inner
def sort_names(context: Context, first: int, count: int) -> None:
    """Put rows of MEMBER in order (D. L. Shell 1959, gaps of M. Ciura 2001 and beyond)."""
    gap = 1
    while gap < count // 3:
        gap = gap * 9 // 4 + 1
    while gap > 0:
        for place in range(first + gap, first + count):
            at = place
            while at >= first + gap and _compared(context, at - gap, at) > 0:
                _swap(context, at - gap, at)
                at -= gap
        gap = 0 if gap == 1 else max(gap * 4 // 9, 1)


@inner
def find_name(context: Context, first: int, count: int, wanted: int) -> int:
    """The row among sorted ones with the name of the row `wanted`; -1 - where it would be."""
    low, high = first, first + count
    while low < high:
        middle = (low + high) >> 1
        order = _compared(context, middle, wanted)
        if order == 0:
            return middle
        if order < 0:
            low = middle + 1
        else:
            high = middle
    return -1 - low
