"""The nodes of a JSON Schema's parts, laid when they are entered: Python has no say in it.

    part                   nodes
    TYPED                  those of the stencil, which every schema has
    WORDS                  MEMBER, as names behind which nothing else is; null, true, false
    TEXT                   LITERAL quote, COUNTED
    PARTED: an object      LITERAL "{", OPENED
    PARTED: an array       LITERAL "[", then EXPR of how many items have come
    LEAF                   what Python makes of it

What this module does not know: how schemas are read (`schema_parts`).
"""

from guideway.masks.kernels.frames import build_keys, first_frame
from guideway.masks.kernels.intern import full, node_of
from guideway.masks.kernels.layout import (
    CHOICE,
    COUNTED,
    DEAD,
    EDGE,
    EXPR,
    LAID,
    LEXEME,
    LITERAL,
    MEMBER,
    N_AT,
    N_VALUE,
    NAME,
    NIL,
    NODE,
    NODE_ROOM,
    NODES,
    O_BARE,
    O_CLOSING,
    O_COLON,
    O_COMMA,
    O_KEYS,
    O_NAME,
    O_NAMES,
    O_ORDERED,
    O_OTHER,
    O_PLAIN,
    O_QUOTED,
    O_START,
    O_WORDS,
    OBJECT,
    OPENED,
    SCHEMA_EDGE,
    SCHEMA_KEYS,
    SCHEMA_NAME,
    SCHEMA_OBJECT,
    SCHEMA_PART,
    SCHEMA_POOL,
    SEQUENCE,
    STENCIL,
    TARGET,
)
from guideway.masks.kernels.schema_layout import (
    ANY_PART,
    ANYTHING,
    GROUP,
    LEAF,
    NOTHING,
    OF_ARRAY,
    OF_OBJECT,
    REFERENCE,
    ROOT,
    S_COUNT,
    S_EDGE,
    S_HIGH,
    S_ITEM,
    S_KEYS,
    S_KIND,
    S_LAID,
    S_LOW,
    S_MEMBER,
    S_OBJECT,
    S_OPTIONS,
    S_OTHER,
    S_TARGET,
    S_TYPES,
    T_ANYTHING,
    T_BRACKETS,
    T_CHARACTERS,
    T_CLOSING,
    T_COLON,
    T_COMMA,
    T_EDGE,
    T_FILLED,
    T_LAST,
    T_OPENED,
    T_PLAIN,
    T_QUOTED,
    T_START,
    T_TYPES,
    TEXT,
    TYPE_COUNT,
    TYPED,
    WORD_FALSE,
    WORD_NULL,
    WORD_TRUE,
    WORDS,
)
from guideway.masks.kernels.views import Context, apart, inner, int32s

NOT_LAID = -100
_MOST_NODES = 32  # that a part has, but for those of its members


@inner
def _field(context: Context, part: int, field: int) -> int:
    """A field of a part."""
    return int(int32s(context, SCHEMA_PART)[part * 16 + field])


@inner
def _stencil(context: Context, place: int) -> int:
    """What all schemas have."""
    return int(int32s(context, STENCIL)[place])


@inner
def _behind(context: Context, first: int, rest: int) -> int:
    """The node of one node and what follows it."""
    if first == NIL:
        return rest
    return first if rest == NIL else node_of(context, SEQUENCE, first, rest, 0, 0, 0)


@inner
def _bracket(context: Context, which: int, rest: int) -> int:
    """The node of a bracket, the first, second or third of "{[]", and what follows it."""
    return node_of(context, LITERAL, _stencil(context, T_BRACKETS) + which, 1, rest, 0, 0)


@inner
def _of_part(context: Context, part: int, items: int) -> int:
    """The node of a part, or of what follows some of its items."""
    return node_of(context, EXPR, LAID + part, items, 0, 0, 0)


@inner
def _lone_type(types: int) -> int:
    """Where the node of a type is in the stencil; -1 for several types."""
    if types == ANYTHING:
        return T_ANYTHING
    for place in range(TYPE_COUNT):
        if types == 1 << place:
            return T_TYPES + place
    return -1


@inner
def _value(context: Context, part: int) -> int:
    """The node of a part's values."""
    if part == ANY_PART:
        return _stencil(context, T_ANYTHING)
    if _field(context, part, S_KIND) == REFERENCE:
        part = _field(context, part, S_TARGET)
    kind = _field(context, part, S_KIND)
    if kind == TYPED:
        place = _lone_type(_field(context, part, S_TYPES))
        if place >= 0:
            return _stencil(context, place)
    return DEAD if kind == NOTHING else _of_part(context, part, 0)


@inner
def _name_all(context: Context, part: int) -> int:
    """Write the names of a part and the fields about them; the row of OBJECT."""
    thing = int(context[SCHEMA_OBJECT]) + _field(context, part, S_OBJECT)
    first = int(context[SCHEMA_NAME]) + _field(context, part, S_MEMBER)
    rows, count = int32s(context, NAME), _field(context, part, S_COUNT)
    if _field(context, part, S_LAID) == 0:
        int32s(context, SCHEMA_PART)[part * 16 + S_LAID] = 1
        words = _field(context, part, S_KIND) == WORDS
        for row in range(first, first + count):
            rows[row * 6 + N_AT] += context[SCHEMA_POOL]
            value = NIL if words else _value(context, int(rows[row * 6 + N_VALUE]))
            rows[row * 6 + N_VALUE] = value
    fields, at = int32s(context, OBJECT), thing * 16
    for field in range(16):
        fields[at + field] = 0
    fields[at + O_WORDS], fields[at + O_NAMES] = max((count + 63) >> 6, 1), count
    fields[at + O_NAME], fields[at + O_ORDERED] = first, 0
    fields[at + O_START] = _stencil(context, T_START)
    fields[at + O_QUOTED] = _stencil(context, T_QUOTED)
    fields[at + O_PLAIN] = _stencil(context, T_PLAIN)
    keys = int(context[SCHEMA_KEYS]) + _field(context, part, S_KEYS)
    fields[at + O_KEYS] = keys
    build_keys(context, thing, keys)
    return thing


@inner
def _strings(context: Context, part: int) -> int:
    """The node of one of some strings."""
    thing = _name_all(context, part)
    int32s(context, OBJECT)[thing * 16 + O_BARE] = 1
    frame = first_frame(context, thing)
    return node_of(context, MEMBER, frame, 0, 0, 0, 0) if frame >= 0 else frame


@inner
def _text(context: Context, part: int) -> int:
    """The node of strings of some length."""
    low, high = _field(context, part, S_LOW), _field(context, part, S_HIGH)
    if low == 1 and high < 0:
        return node_of(context, LEXEME, _stencil(context, T_FILLED), 0, 0, 0, 0)
    quote, state = _stencil(context, T_BRACKETS) + 12, _stencil(context, T_CHARACTERS)
    end = node_of(context, LITERAL, quote, 1, NIL, 0, 0)
    counted = node_of(context, COUNTED, state, low, high, state, 0)
    return node_of(context, LITERAL, quote, 1, _behind(context, counted, end), 0, 0)


@inner
def _words(context: Context, part: int) -> int:
    """The node of one of some strings, or of null, true, false."""
    edges, others, count = int32s(context, EDGE), _field(context, part, S_OPTIONS), 0
    place = int(context[SCHEMA_EDGE]) + _field(context, part, S_EDGE)
    if _field(context, part, S_COUNT) > 0:
        node = _strings(context, part)
        if node < 0:
            return node
        edges[place], count = node, 1
    if others & WORD_NULL != 0:
        edges[place + count] = _stencil(context, T_TYPES)
        count += 1
    pool = _stencil(context, T_BRACKETS) + 3
    if others & WORD_TRUE != 0:
        edges[place + count] = node_of(context, LITERAL, pool, 4, NIL, 0, 0)
        count += 1
    if others & WORD_FALSE != 0:
        edges[place + count] = node_of(context, LITERAL, pool + 4, 5, NIL, 0, 0)
        count += 1
    return int(edges[place]) if count == 1 else node_of(context, CHOICE, place, count, 0, 0, 0)


@inner
def _object(context: Context, part: int) -> int:
    """The node of an object."""
    thing = _name_all(context, part)
    fields, at = int32s(context, OBJECT), thing * 16
    fields[at + O_OTHER] = _value(context, _field(context, part, S_OTHER))
    fields[at + O_COMMA] = _stencil(context, T_COMMA)
    fields[at + O_COLON] = _stencil(context, T_COLON)
    fields[at + O_CLOSING] = _stencil(context, T_CLOSING)
    frame = first_frame(context, thing)
    if frame < 0:
        return frame
    opened = node_of(context, OPENED, frame, 0, 0, 0, 0)
    return _bracket(context, 0, _behind(context, _stencil(context, T_OPENED), opened))


@inner
def _either(context: Context, place: int, a: int, b: int) -> int:
    """The node of either of two, written to EDGE."""
    edges = int32s(context, EDGE)
    edges[place], edges[place + 1] = a, b
    return node_of(context, CHOICE, place, 2, 0, 0, 0)


@inner
def _items(context: Context, part: int, read: int) -> int:
    """The node of what follows so many items, or the opening bracket and what may stand there."""
    low, high = _field(context, part, S_LOW), _field(context, part, S_HIGH)
    end = _bracket(context, 2, NIL) if read == 0 else _stencil(context, T_LAST)
    if read == high:
        return end
    most = max(low, 1) if high < 0 else high  # from there on, nothing changes
    more = _of_part(context, part, min(read + 1, most))
    more = _behind(context, _value(context, _field(context, part, S_ITEM)), more)
    if read > 0:
        more = _behind(context, _stencil(context, T_COMMA), more)
    place = int(context[SCHEMA_EDGE]) + _field(context, part, S_EDGE) + TYPE_COUNT + 2 * read
    return more if read < low else _either(context, place, end, more)


@inner
def _array(context: Context, part: int) -> int:
    """The node of an array."""
    opened = _behind(context, _stencil(context, T_OPENED), _items(context, part, 0))
    return _bracket(context, 1, opened)


@inner
def _options(context: Context, part: int) -> int:
    """The node of a part that may be of several types."""
    edges, count = int32s(context, EDGE), 0
    place = int(context[SCHEMA_EDGE]) + _field(context, part, S_EDGE)
    options = _field(context, part, S_OPTIONS)
    if options & OF_OBJECT != 0:
        node = _object(context, part)
        if node < 0:
            return node
        edges[place], count = node, 1
    if options & OF_ARRAY != 0:
        edges[place + count] = _array(context, part)
        count += 1
    for bit in range(TYPE_COUNT):
        if _field(context, part, S_TYPES) & (1 << bit) != 0:
            edges[place + count] = _stencil(context, T_TYPES + bit)
            count += 1
    return int(edges[place]) if count == 1 else node_of(context, CHOICE, place, count, 0, 0, 0)


@inner
def _group(context: Context, part: int) -> int:
    """The node of any of some parts."""
    edges, rows = int32s(context, EDGE), int32s(context, NAME)
    place = int(context[SCHEMA_EDGE]) + _field(context, part, S_EDGE)
    first = int(context[SCHEMA_NAME]) + _field(context, part, S_MEMBER)
    count = _field(context, part, S_COUNT)
    for option in range(count):
        edges[place + option] = _value(context, int(rows[(first + option) * 6 + N_VALUE]))
    return int(edges[place]) if count == 1 else node_of(context, CHOICE, place, count, 0, 0, 0)


@inner
def lay(context: Context, node: int) -> int:
    """What the node of a part is, NOT_LAID where Python has to make it, or FULL."""
    apart()
    nodes = int32s(context, NODE)
    part, items = int(nodes[node * 6 + 1]) - LAID, int(nodes[node * 6 + 2])
    kind = _field(context, part, S_KIND)
    if kind == LEAF and items == 0:
        return NOT_LAID
    if context[NODES] + _field(context, part, S_COUNT) + _MOST_NODES > context[NODE_ROOM]:
        return full(context, NODES)
    if items == ROOT:
        edge = _stencil(context, T_EDGE)
        made = _behind(context, edge, _behind(context, _value(context, part), edge))
    elif items > 0:
        made = _items(context, part, items)
    elif kind == WORDS:
        made = _words(context, part)
    elif kind == TEXT:
        made = _text(context, part)
    elif kind == GROUP:
        made = _group(context, part)
    else:
        made = _options(context, part)
    if made >= 0:
        int32s(context, TARGET)[node] = made + 1
    return made
