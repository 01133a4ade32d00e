"""Keys of objects: frames know which names have come, and a trie of names gives those that may."""

import numpy as np

from guideway.automaton.jit.views import Context, inner, int32s, int64s, once, uint8s, uint64s
from guideway.automaton.kernels import layout as at
from guideway.automaton.kernels.intern import extras_of, full, mixed, node_of, text_of
from guideway.automaton.kernels.state_masks import is_lead


@inner
def object_field(context: Context, thing: int, field: int) -> int:
    return int32s(context, at.OBJECT)[thing * 16 + field]


@inner
def name_field(context: Context, thing: int, rank: int, field: int) -> int:
    return int32s(context, at.NAME)[(object_field(context, thing, at.O_NAME) + rank) * 6 + field]


@inner
def frame_field(context: Context, frame: int, field: int) -> int:
    """A field of a frame: object, position, extras, missing, bits, others."""
    return int32s(context, at.FRAME)[frame * 6 + field]


@inner
def may_come(context: Context, frame: int, rank: int) -> bool:
    place = frame_field(context, frame, 4)
    return (uint64s(context, at.BIT)[place + (rank >> 6)] >> np.uint64(rank & 63)) & np.uint64(
        1
    ) != 0


@inner
def any_may_come(context: Context, frame: int, low: int, high: int) -> bool:
    """Return True if one of the names [low, high) may come next."""
    bits, place = uint64s(context, at.BIT), frame_field(context, frame, 4)
    rank = low
    while rank < high:
        word = bits[place + (rank >> 6)] >> np.uint64(rank & 63)
        ahead = min(64 - (rank & 63), high - rank)
        if ahead < 64:
            word &= (np.uint64(1) << np.uint64(ahead)) - np.uint64(1)
        if word != 0:
            return True
        rank += ahead
    return False


@inner
def _frame_of(context: Context, thing: int, position: int, extras: int, missing: int) -> int:
    """The frame whose allowed names are the bits after the last used ones."""
    frames = int32s(context, at.FRAME)
    table = int32s(context, at.FRAME_HASH)
    bits = uint64s(context, at.BIT)
    words, fresh = object_field(context, thing, at.O_WORDS), context[at.BITS]
    code = mixed(mixed(mixed(thing, position), extras), missing)
    for word in range(words):
        code = mixed(code, int(np.int64(bits[fresh + word])))
    last = 2 * context[at.FRAME_ROOM] - 1
    place = code & last
    while table[place] != 0:
        start = (table[place] - 1) * 6
        same = (
            frames[start] == thing
            and frames[start + 1] == position
            and frames[start + 2] == extras
            and frames[start + 3] == missing
        )
        for word in range(words):
            same = same and bits[frames[start + 4] + word] == bits[fresh + word]
        if same:
            return int(table[place]) - 1
        place = (place + 1) & last
    made = context[at.FRAMES]
    if made == context[at.FRAME_ROOM]:
        return full(context, at.FRAMES)
    context[at.FRAMES], context[at.BITS] = made + 1, fresh + words
    table[place] = made + 1
    others = object_field(context, thing, at.O_OTHER) != at.DEAD
    waiting = object_field(context, thing, at.O_ORDERED) != 0 and missing > 0
    start = made * 6
    frames[start], frames[start + 1], frames[start + 2], frames[start + 3] = (
        thing,
        position,
        extras,
        missing,
    )
    frames[start + 4], frames[start + 5] = fresh, 1 if others and not waiting else 0
    return made


@inner
def _clear_bits(context: Context, thing: int) -> int:
    """Prepare the words of an empty set of names; 0, or FULL."""
    words, fresh = object_field(context, thing, at.O_WORDS), context[at.BITS]
    if fresh + words > context[at.BIT_ROOM]:
        return full(context, at.BITS)
    bits = uint64s(context, at.BIT)
    for word in range(words):
        bits[fresh + word] = np.uint64(0)
    return 0


@inner
def _set_bit(context: Context, thing: int, rank: int) -> None:
    if name_field(context, thing, rank, at.N_VALUE) != at.DEAD:
        place = context[at.BITS] + (rank >> 6)
        uint64s(context, at.BIT)[place] |= np.uint64(1) << np.uint64(rank & 63)


@inner
def _set_ordered(context: Context, thing: int, position: int) -> None:
    """Allow the names from `position` on up to the first required one."""
    for index in range(position, object_field(context, thing, at.O_NAMES)):
        rank = name_field(context, thing, index, at.N_RANK)
        _set_bit(context, thing, rank)
        if name_field(context, thing, rank, at.N_REQUIRED) != 0:
            return


@inner
def first_frame(context: Context, thing: int) -> int:
    code = _clear_bits(context, thing)
    if code < 0:
        return code
    missing = 0
    count = object_field(context, thing, at.O_NAMES)
    for rank in range(count):
        missing += name_field(context, thing, rank, at.N_REQUIRED)
    if object_field(context, thing, at.O_ORDERED) != 0:
        _set_ordered(context, thing, 0)
    else:
        for rank in range(count):
            _set_bit(context, thing, rank)
    return _frame_of(context, thing, 0, 0, missing)


@inner
def _copy_bits(context: Context, thing: int, frame: int) -> None:
    bits, place = uint64s(context, at.BIT), frame_field(context, frame, 4)
    for word in range(object_field(context, thing, at.O_WORDS)):
        bits[context[at.BITS] + word] = bits[place + word]


@inner
def frame_after_name(context: Context, frame: int, rank: int) -> int:
    thing = frame_field(context, frame, 0)
    if object_field(context, thing, at.O_BARE) != 0:
        return frame
    code = _clear_bits(context, thing)
    if code < 0:
        return code
    position = 0
    if object_field(context, thing, at.O_ORDERED) != 0:
        position = name_field(context, thing, rank, at.N_INDEX) + 1
        _set_ordered(context, thing, position)
    else:
        _copy_bits(context, thing, frame)
        place = context[at.BITS] + (rank >> 6)
        uint64s(context, at.BIT)[place] &= ~(np.uint64(1) << np.uint64(rank & 63))
    missing = frame_field(context, frame, 3) - name_field(context, thing, rank, at.N_REQUIRED)
    return _frame_of(context, thing, position, frame_field(context, frame, 2), missing)


@inner
def has_extra(context: Context, extras: int, text: int) -> bool:
    pairs = int64s(context, at.EXTRA)
    while extras != 0:
        if pairs[extras] >> 32 == text:
            return True
        extras = pairs[extras] & 0xFFFFFFFF
    return False


@inner
def _with_extra(context: Context, extras: int, text: int) -> int:
    """The set with one more text, in ascending order."""
    pairs = int64s(context, at.EXTRA)
    rest, smaller = extras, 0
    while rest != 0 and pairs[rest] >> 32 < text:
        rest, smaller = pairs[rest] & 0xFFFFFFFF, smaller + 1
    made = extras_of(context, text, rest)
    for left in range(smaller, 0, -1):
        if made < 0:
            return made
        rest = extras
        for _ in range(left - 1):
            rest = pairs[rest] & 0xFFFFFFFF
        made = extras_of(context, pairs[rest] >> 32, made)
    return made


@inner
def frame_after_other(context: Context, frame: int, text: int) -> int:
    """The frame after an undeclared name; UNKNOWN_TEXT if it was not kept."""
    if object_field(context, frame_field(context, frame, 0), at.O_OF_CLASS) != 0:
        frame = frame_field(context, frame, 1)
    thing, extras = frame_field(context, frame, 0), frame_field(context, frame, 2)
    if text != at.UNKNOWN_TEXT or not has_extra(context, extras, text):
        extras = _with_extra(context, extras, text)
    if extras < 0:
        return extras
    code = _clear_bits(context, thing)
    if code < 0:
        return code
    position = 0
    if object_field(context, thing, at.O_ORDERED) != 0:
        position = object_field(context, thing, at.O_NAMES)
    else:
        _copy_bits(context, thing, frame)
    return _frame_of(context, thing, position, extras, frame_field(context, frame, 3))


@inner
def frame_of_class(context: Context, frame: int, thing: int) -> int:
    """The frame before a key of a class, whose object is `thing`."""
    code = _clear_bits(context, thing)
    if code < 0:
        return code
    return _frame_of(context, thing, frame, frame_field(context, frame, 2), 0)


@inner
def key_child(context: Context, node: int, byte: int) -> int:
    """The key trie node after one more byte, -1 if no name matches."""
    keys = int32s(context, at.KEYS)
    first = keys[node * 6 + at.K_CHILD]
    for child in range(first, first + keys[node * 6 + at.K_CHILDREN]):
        if keys[child * 6 + at.K_BYTE] == byte:
            return child
    return -1


@inner
def key_ends(context: Context, thing: int, node: int) -> int:
    """The rank of the name that ends at a key trie node, -1 if none."""
    keys = int32s(context, at.KEYS)
    rank, depth = keys[node * 6 + at.K_LOW], keys[node * 6 + at.K_DEPTH]
    if rank < keys[node * 6 + at.K_HIGH] and name_field(context, thing, rank, at.N_LENGTH) == depth:
        return rank
    return -1


@inner
def build_keys(context: Context, thing: int, free: int) -> int:
    """Write the trie of an object's names, sorted by bytes, from row `free` on; return its end."""
    keys, pool = int32s(context, at.KEYS), uint8s(context, at.POOL)
    root = free
    int32s(context, at.OBJECT)[thing * 16 + at.O_KEYS] = root
    count = object_field(context, thing, at.O_NAMES)
    keys[root * 6 + at.K_BYTE], keys[root * 6 + at.K_DEPTH] = 0, 0
    keys[root * 6 + at.K_LOW], keys[root * 6 + at.K_HIGH] = 0, count
    free, node = root + 1, root
    while node < free:
        low, high = keys[node * 6 + at.K_LOW], keys[node * 6 + at.K_HIGH]
        depth = keys[node * 6 + at.K_DEPTH]
        keys[node * 6 + at.K_CHILD] = free
        rank = low + (1 if key_ends(context, thing, node) >= 0 else 0)
        while rank < high:
            byte = pool[name_field(context, thing, rank, at.N_AT) + depth]
            keys[free * 6 + at.K_BYTE], keys[free * 6 + at.K_DEPTH] = byte, depth + 1
            keys[free * 6 + at.K_LOW] = rank
            while rank < high and pool[name_field(context, thing, rank, at.N_AT) + depth] == byte:
                rank += 1
            keys[free * 6 + at.K_HIGH] = rank
            free += 1
        keys[node * 6 + at.K_CHILDREN] = free - keys[node * 6 + at.K_CHILD]
        node += 1
    return free


@inner
def rehash_frames(context: Context) -> None:
    frames = int32s(context, at.FRAME)
    table = int32s(context, at.FRAME_HASH)
    bits = uint64s(context, at.BIT)
    last = 2 * context[at.FRAME_ROOM] - 1
    for number in range(context[at.FRAMES]):
        start = number * 6
        code = mixed(
            mixed(mixed(frames[start], frames[start + 1]), frames[start + 2]), frames[start + 3]
        )
        for word in range(object_field(context, frames[start], at.O_WORDS)):
            code = mixed(code, int(np.int64(bits[frames[start + 4] + word])))
        place = code & last
        while table[place] != 0:
            place = (place + 1) & last
        table[place] = number + 1


IN_DOUBT = 2
BEGUN_ESCAPE = 1 << 26  # after a backslash: phase 1


@inner
def _short_escape(byte: int) -> int:
    """The character of a two-character escape, by its second."""
    if byte == 0x6E:
        return 0x0A
    if byte == 0x74:
        return 0x09
    if byte == 0x72:
        return 0x0D
    if byte == 0x62:
        return 0x08
    if byte == 0x66:
        return 0x0C
    return byte


@inner
def read_escape(escape: int, byte: int) -> tuple[int, int]:
    """The escape after one more byte, and the character that it spells, -1 if unfinished."""
    phase = escape >> 26
    if phase == 1:
        return (2 << 26, -1) if byte == 0x75 else (0, _short_escape(byte))
    if phase in (6, 7):
        return escape + (1 << 26), -1
    digits = ((escape & 0xFFFF) << 4) | (byte - 0x30 if byte < 0x3A else (byte & 0xDF) - 0x37)
    if phase not in (5, 11):
        return ((escape >> 16) << 16) + (1 << 26) | digits, -1
    if phase == 11:
        high = (escape >> 16) & 0x3FF
        return 0, 0x10000 + (high << 10) + (digits - 0xDC00)
    if 0xD800 <= digits < 0xDC00:
        return (6 << 26) | ((digits - 0xD800) << 16), -1
    return 0, digits


@inner
def _follow(context: Context, texts: int, node: int, text: int, byte: int) -> tuple[int, int]:
    """Key trie node and text after one more byte of UTF-8; a negative text is FULL."""
    child = key_child(context, node, byte) if node >= 0 else -1
    return child, text_of(context, text, byte) if texts != 0 else 0


@inner
def _follow_character(
    context: Context, texts: int, node: int, text: int, code: int
) -> tuple[int, int]:
    if code < 0x80:
        return _follow(context, texts, node, text, code)
    if code < 0x800:
        node, text = _follow(context, texts, node, text, 0xC0 | (code >> 6))
    else:
        if code < 0x10000:
            node, text = _follow(context, texts, node, text, 0xE0 | (code >> 12))
        else:
            node, text = _follow(context, texts, node, text, 0xF0 | (code >> 18))
            if text >= 0:
                node, text = _follow(context, texts, node, text, 0x80 | ((code >> 12) & 63))
        if text >= 0:
            node, text = _follow(context, texts, node, text, 0x80 | ((code >> 6) & 63))
    if text < 0:
        return node, text
    return _follow(context, texts, node, text, 0x80 | (code & 63))


@inner
def _character_at(context: Context, place: int) -> int:
    """The character whose UTF-8 begins at this place of the pool."""
    pool = uint8s(context, at.POOL)
    lead = int(pool[place])
    if lead < 0x80:
        return lead
    if lead < 0xE0:
        return ((lead & 31) << 6) | (pool[place + 1] & 63)
    if lead < 0xF0:
        return ((lead & 15) << 12) | ((pool[place + 1] & 63) << 6) | (pool[place + 2] & 63)
    high = ((lead & 7) << 18) | ((pool[place + 1] & 63) << 12)
    return high | ((pool[place + 2] & 63) << 6) | (pool[place + 3] & 63)


@inner
def _has_short(code: int) -> bool:
    return code in (0x22, 0x5C, 0x08, 0x0C, 0x0A, 0x0D, 0x09)


@inner
def _spelled_so(code: int, escape: int, plain: int) -> bool:
    """Return True if an unfinished escape can become this character."""
    phase = escape >> 26
    if phase == 1:
        return plain == 0 or code < 0x20 or _has_short(code)
    if plain != 0 and (code >= 0x20 or _has_short(code)):
        return False
    high = (0xD800 + ((code - 0x10000) >> 10)) if code >= 0x10000 else code
    if phase <= 5:
        return (high >> (4 * (6 - phase))) == (escape & 0xFFFF)
    if code < 0x10000 or high - 0xD800 != (escape >> 16) & 0x3FF:
        return False
    low = 0xDC00 + ((code - 0x10000) & 0x3FF)
    return phase <= 7 or (low >> (4 * (12 - phase))) == (escape & 0xFFFF)


@inner
def _can_escape(context: Context, frame: int, node: int, escape: int) -> bool:
    """Return True if an allowed name below a key trie node goes on as this escape."""
    if node < 0:
        return False
    keys, thing = int32s(context, at.KEYS), frame_field(context, frame, 0)
    depth, plain = keys[node * 6 + at.K_DEPTH], object_field(context, thing, at.O_PLAIN)
    for rank in range(keys[node * 6 + at.K_LOW], keys[node * 6 + at.K_HIGH]):
        if name_field(context, thing, rank, at.N_LENGTH) > depth and may_come(context, frame, rank):
            code = _character_at(context, name_field(context, thing, rank, at.N_AT) + depth)
            if _spelled_so(code, escape, plain):
                return True
    return False


@inner
def _can_come(context: Context, frame: int, node: int, escape: int) -> bool:
    """Return True if an allowed name is below a key trie node."""
    if node < 0:
        return False
    if escape != 0:
        return _can_escape(context, frame, node, escape)
    keys = int32s(context, at.KEYS)
    return any_may_come(context, frame, keys[node * 6 + at.K_LOW], keys[node * 6 + at.K_HIGH])


@inner
def key_after(context: Context, key: int, byte: int) -> int:
    """The KEY node after one more byte that does not end it; DEAD (0), or a code."""
    place = key * 6
    nodes = int32s(context, at.NODE)
    frame = int(nodes[place + 1])
    context[at.KEY_TRIE], context[at.KEY_TEXT] = nodes[place + 2], nodes[place + 3]
    context[at.KEY_STATE], context[at.KEY_ESCAPE] = nodes[place + 4], nodes[place + 5]
    alive = key_step(context, frame, byte, frame_field(context, frame, 5))
    if alive == IN_DOUBT:
        context[at.DOUBTFUL] |= 1
        return 0
    if alive <= 0:
        return alive
    node, text = int(context[at.KEY_TRIE]), int(context[at.KEY_TEXT])
    state, escape = int(context[at.KEY_STATE]), int(context[at.KEY_ESCAPE])
    return node_of(context, at.KEY, frame, node, text, state, escape)


@inner
def key_step(context: Context, frame: int, byte: int, texts: int) -> int:
    """Read a byte of the key in KEY_TRIE, ...: 1, 0 if no key matches, IN_DOUBT or a code."""
    node = int(context[at.KEY_TRIE])
    text = int(context[at.KEY_TEXT])
    escape = int(context[at.KEY_ESCAPE])
    state = int(int32s(context, at.LEX)[context[at.KEY_STATE] * 256 + byte])
    if state <= 0:
        if state == 0:
            context[at.WANT] = context[at.KEY_STATE]
            return at.NEED_LEX
        return 0
    code = -1
    if escape != 0:
        escape, code = read_escape(escape, byte)
    elif byte == at.BACKSLASH:
        escape = BEGUN_ESCAPE
    else:
        node, text = _follow(context, texts, node, text, byte)
    if code >= 0:
        node, text = _follow_character(context, texts, node, text, code)
    if text < 0:
        return text
    if frame_field(context, frame, 5) == 0 and not _can_come(context, frame, node, escape):
        return 0
    context[at.KEY_TRIE], context[at.KEY_TEXT] = node, text
    context[at.KEY_STATE], context[at.KEY_ESCAPE] = state, escape
    return some_left(context, frame, text, state, escape) if texts != 0 else 1


@inner
def some_left(context: Context, frame: int, text: int, state: int, escape: int) -> int:
    """Return 1 if a string that has not come goes on from here, IN_DOUBT, or a code."""
    thing, extras = frame_field(context, frame, 0), frame_field(context, frame, 2)
    if extras == 0 or object_field(context, thing, at.O_COLON) != at.NIL:
        return 1
    return _some_left(context, extras, text, state, escape)


@once
def _some_left(context: Context, extras: int, text: int, state: int, escape: int) -> int:
    """As `some_left` where some strings have come: 1 if a byte leads on that none of them has next.

    If a text is unknown, two such bytes are needed. A single way on, as in "https://", is followed.
    """
    rows, first = int32s(context, at.LEX), uint64s(context, at.LEX_FIRST)
    maybe = 1 if has_extra(context, extras, at.UNKNOWN_TEXT) else 0
    while True:
        if rows[state * 256] == 0:
            context[at.WANT] = state
            return at.NEED_LEX
        left, follow, inside = -maybe, _byte_behind(context, extras, text), -1
        for byte in range(256):
            if is_lead(first, state * 4, byte):
                left += 1 if _is_another(context, extras, text, byte, escape) else 0
                if left > 0:
                    return 1
                if escape != 0:
                    after, code = read_escape(escape, byte)
                    follow, inside = (byte, after) if code < 0 else (follow, inside)
        if inside > 0:
            escape = inside
        elif escape != 0 or follow < 0x20 or follow in (at.QUOTE_BYTE, at.BACKSLASH):
            return IN_DOUBT
        else:
            text = text_of(context, text, follow)
        state = int(rows[state * 256 + follow])
        if state <= 0 or text < 0:
            return IN_DOUBT if text >= 0 else text


@inner
def _is_another(context: Context, extras: int, text: int, byte: int, escape: int) -> bool:
    """Return True if a byte leads to strings that have not come and no other byte leads to."""
    if escape == 0 and byte in (at.QUOTE_BYTE, at.BACKSLASH):
        return byte == at.QUOTE_BYTE and not has_extra(context, extras, text)
    if escape != 0 and (byte == 0x75 or 0x41 <= byte <= 0x46):  # another byte spells the same
        return False
    pairs, after, code = int64s(context, at.EXTRA), 0, byte
    if escape != 0:
        after, code = read_escape(escape, byte)
    while extras != 0:
        behind, extras = _next_byte(context, pairs[extras] >> 32, text), pairs[extras] & 0xFFFFFFFF
        if behind == code >= 0 or (escape != 0 and behind >= 0x80):
            return False
        if code < 0 <= behind and _spelled_so(behind, after, 0):
            return False
    return True


@inner
def _byte_behind(context: Context, extras: int, text: int) -> int:
    """A byte that follows `text` in one of some texts; -1 if none."""
    pairs, behind = int64s(context, at.EXTRA), -1
    while extras != 0 and behind < 0:
        behind, extras = _next_byte(context, pairs[extras] >> 32, text), pairs[extras] & 0xFFFFFFFF
    return behind


@inner
def _next_byte(context: Context, whole: int, text: int) -> int:
    """The byte that follows `text` in `whole`; -1 if it is no proper prefix."""
    texts, byte = int64s(context, at.TEXT), -1
    while whole > text:
        whole, byte = texts[whole] >> 32, texts[whole] & 0xFF
    return byte if whole == text else -1


@inner
def may_end(context: Context, state: int) -> int:
    """Return 1 if an undeclared key may end in a lexical state, else 0."""
    after = int(int32s(context, at.LEX)[state * 256 + at.QUOTE_BYTE])
    if after == 0:
        context[at.WANT] = state
        return at.NEED_LEX
    return 1 if after > 0 else 0


@inner
def is_prefix(context: Context, text: int, whole: int) -> bool:
    """Return True if `whole` begins with `text`; later texts have greater numbers."""
    texts = int64s(context, at.TEXT)
    while whole > text:
        whole = texts[whole] >> 32
    return whole == text


@inner
def is_special(context: Context, frame: int) -> bool:
    """Return True if the key in KEY_TRIE and KEY_TEXT may become a declared or a repeated name."""
    if context[at.KEY_TRIE] >= 0:
        return True
    pairs, extras = int64s(context, at.EXTRA), frame_field(context, frame, 2)
    while extras != 0:
        if is_prefix(context, int(context[at.KEY_TEXT]), pairs[extras] >> 32):
            return True
        extras = pairs[extras] & 0xFFFFFFFF
    return False
