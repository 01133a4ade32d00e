"""Keys of objects: frames know which names have come, and a trie of names gives those that may."""

import numpy as np

from guideway.automaton.jit.operands import checked, inner, once
from guideway.automaton.kernels import layout as at
from guideway.automaton.kernels.intern import add_hash, extras_of, full, mixed, node_of, text_of
from guideway.automaton.kernels.layout import Context, Name
from guideway.automaton.kernels.state_masks import is_lead


@inner
def name_of(context: Context, thing: int, rank: int) -> Name:
    return context.names[context.objects[thing].first_name + rank]


@inner
def may_come(context: Context, frame: int, rank: int) -> bool:
    place = context.frames[frame].bits
    return (context.bits[place + (rank >> 6)] >> np.uint64(rank & 63)) & np.uint64(1) != 0


@inner
def any_may_come(context: Context, frame: int, low: int, high: int) -> bool:
    """Return True if one of the names [low, high) may come next."""
    place = context.frames[frame].bits
    rank = low
    while rank < high:
        word = context.bits[place + (rank >> 6)] >> np.uint64(rank & 63)
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
    frames, bits = context.frames, context.bits
    words, fresh = context.objects[thing].words, bits.used
    code = mixed(mixed(mixed(thing, position), extras), missing)
    for word in range(words):
        code = mixed(code, int(np.int64(bits[fresh + word])))
    last = 2 * frames.room - 1
    place = code & last
    while frames.hashes[place] != 0:
        one = frames[frames.hashes[place] - 1]
        same = (
            one.thing == thing
            and one.position == position
            and one.extras == extras
            and one.missing == missing
        )
        for word in range(words):
            same = same and bits[one.bits + word] == bits[fresh + word]
        if same:
            return frames.hashes[place] - 1
        place = (place + 1) & last
    made = frames.used
    if made == frames.room:
        return full(context, at.FRAMES)
    frames.used, bits.used = made + 1, fresh + words
    frames.hashes[place] = made + 1
    others = context.objects[thing].other != at.DEAD
    waiting = context.objects[thing].ordered != 0 and missing > 0
    one = frames[made]
    one.thing, one.position, one.extras, one.missing = thing, position, extras, missing
    one.bits, one.others = fresh, 1 if others and not waiting else 0
    return made


@inner
def _clear_bits(context: Context, thing: int) -> int:
    """Prepare the words of an empty set of names; 0, or FULL."""
    words, fresh = context.objects[thing].words, context.bits.used
    if fresh + words > context.bits.room:
        return full(context, at.BITS)
    for word in range(words):
        context.bits[fresh + word] = np.uint64(0)
    return 0


@inner
def _set_bit(context: Context, thing: int, rank: int) -> None:
    if name_of(context, thing, rank).value != at.DEAD:
        place = context.bits.used + (rank >> 6)
        context.bits[place] |= np.uint64(1) << np.uint64(rank & 63)


@inner
def _set_ordered(context: Context, thing: int, position: int) -> None:
    """Allow the names from `position` on up to the first required one."""
    for index in range(position, context.objects[thing].name_count):
        rank = name_of(context, thing, index).rank
        _set_bit(context, thing, rank)
        if name_of(context, thing, rank).required != 0:
            return


@inner
def first_frame(context: Context, thing: int) -> int:
    checked(_clear_bits(context, thing))
    missing = 0
    count = context.objects[thing].name_count
    for rank in range(count):
        missing += name_of(context, thing, rank).required
    if context.objects[thing].ordered != 0:
        _set_ordered(context, thing, 0)
    else:
        for rank in range(count):
            _set_bit(context, thing, rank)
    return _frame_of(context, thing, 0, 0, missing)


@inner
def _copy_bits(context: Context, thing: int, frame: int) -> None:
    bits, place = context.bits, context.frames[frame].bits
    for word in range(context.objects[thing].words):
        bits[context.bits.used + word] = bits[place + word]


@inner
def frame_after_name(context: Context, frame: int, rank: int) -> int:
    thing = context.frames[frame].thing
    if context.objects[thing].bare != 0:
        return frame
    checked(_clear_bits(context, thing))
    position = 0
    if context.objects[thing].ordered != 0:
        position = name_of(context, thing, rank).index + 1
        _set_ordered(context, thing, position)
    else:
        _copy_bits(context, thing, frame)
        place = context.bits.used + (rank >> 6)
        context.bits[place] &= ~(np.uint64(1) << np.uint64(rank & 63))
    missing = context.frames[frame].missing - name_of(context, thing, rank).required
    return _frame_of(context, thing, position, context.frames[frame].extras, missing)


@inner
def has_extra(context: Context, extras: int, text: int) -> bool:
    while extras != 0:
        if context.extras[extras] >> 32 == text:
            return True
        extras = context.extras[extras] & 0xFFFFFFFF
    return False


@inner
def _with_extra(context: Context, extras: int, text: int) -> int:
    """The set with one more text, in ascending order."""
    rest, smaller = extras, 0
    while rest != 0 and context.extras[rest] >> 32 < text:
        rest, smaller = context.extras[rest] & 0xFFFFFFFF, smaller + 1
    made = checked(extras_of(context, text, rest))
    for left in range(smaller, 0, -1):
        rest = extras
        for _ in range(left - 1):
            rest = context.extras[rest] & 0xFFFFFFFF
        made = checked(extras_of(context, context.extras[rest] >> 32, made))
    return made


@inner
def frame_after_other(context: Context, frame: int, text: int) -> int:
    """The frame after an undeclared name; UNKNOWN_TEXT if it was not kept."""
    if context.objects[context.frames[frame].thing].is_class != 0:
        frame = context.frames[frame].position
    thing, extras = context.frames[frame].thing, context.frames[frame].extras
    if text != at.UNKNOWN_TEXT or not has_extra(context, extras, text):
        extras = _with_extra(context, extras, text)
    if extras < 0:
        return extras
    checked(_clear_bits(context, thing))
    position = 0
    if context.objects[thing].ordered != 0:
        position = context.objects[thing].name_count
    else:
        _copy_bits(context, thing, frame)
    return _frame_of(context, thing, position, extras, context.frames[frame].missing)


@inner
def frame_of_class(context: Context, frame: int, thing: int) -> int:
    """The frame before a key of a class, whose object is `thing`."""
    checked(_clear_bits(context, thing))
    return _frame_of(context, thing, frame, context.frames[frame].extras, 0)


@inner
def key_child(context: Context, node: int, byte: int) -> int:
    """The key trie node after one more byte, -1 if no name matches."""
    keys = context.key_nodes
    first = keys[node].child
    for child in range(first, first + keys[node].children):
        if keys[child].byte == byte:
            return child
    return -1


@inner
def key_ends(context: Context, thing: int, node: int) -> int:
    """The rank of the name that ends at a key trie node, -1 if none."""
    rank, depth = context.key_nodes[node].low, context.key_nodes[node].depth
    if rank < context.key_nodes[node].high and name_of(context, thing, rank).length == depth:
        return rank
    return -1


@inner
def build_keys(context: Context, thing: int, free: int) -> int:
    """Write the trie of an object's names, sorted by bytes, from row `free` on; return its end."""
    keys, pool = context.key_nodes, context.pool
    root = free
    context.objects[thing].keys = root
    count = context.objects[thing].name_count
    keys[root].byte, keys[root].depth = 0, 0
    keys[root].low, keys[root].high = 0, count
    free, node = root + 1, root
    while node < free:
        low, high = keys[node].low, keys[node].high
        depth = keys[node].depth
        keys[node].child = free
        rank = low + (1 if key_ends(context, thing, node) >= 0 else 0)
        while rank < high:
            byte = pool[name_of(context, thing, rank).at + depth]
            keys[free].byte, keys[free].depth = byte, depth + 1
            keys[free].low = rank
            while rank < high and pool[name_of(context, thing, rank).at + depth] == byte:
                rank += 1
            keys[free].high = rank
            free += 1
        keys[node].children = free - keys[node].child
        node += 1
    return free


@inner
def rehash_frames(context: Context) -> None:
    for number in range(context.frames.used):
        one = context.frames[number]
        code = mixed(mixed(mixed(one.thing, one.position), one.extras), one.missing)
        for word in range(context.objects[one.thing].words):
            code = mixed(code, int(np.int64(context.bits[one.bits + word])))
        add_hash(context.frames.hashes, context.frames.room, code, number + 1)


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
    pool = context.pool
    lead = pool[place]
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
    keys, thing = context.key_nodes, context.frames[frame].thing
    depth, plain = keys[node].depth, context.objects[thing].plain
    for rank in range(keys[node].low, keys[node].high):
        if name_of(context, thing, rank).length > depth and may_come(context, frame, rank):
            code = _character_at(context, name_of(context, thing, rank).at + depth)
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
    return any_may_come(context, frame, context.key_nodes[node].low, context.key_nodes[node].high)


@inner
def key_after(context: Context, key: int, byte: int) -> int:
    """The KEY node after one more byte that does not end it; DEAD (0), or a code."""
    one = context.nodes[key]
    frame = one.a
    context.key.trie, context.key.text = one.b, one.c
    context.key.state, context.key.escape = one.d, one.e
    alive = key_step(context, frame, byte, context.frames[frame].others)
    if alive == IN_DOUBT:
        context.doubtful |= 1
        return 0
    if alive <= 0:
        return alive
    node, text = context.key.trie, context.key.text
    state, escape = context.key.state, context.key.escape
    return node_of(context, at.KEY, frame, node, text, state, escape)


@inner
def key_step(context: Context, frame: int, byte: int, texts: int) -> int:
    """Read a byte of the key in `key.trie`, ...: 1, 0 if no key matches, IN_DOUBT or a code."""
    node = context.key.trie
    text = context.key.text
    escape = context.key.escape
    state = context.transitions[context.key.state].after[byte]
    if state <= 0:
        if state == 0:
            context.want = context.key.state
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
    if context.frames[frame].others == 0 and not _can_come(context, frame, node, escape):
        return 0
    context.key.trie, context.key.text = node, text
    context.key.state, context.key.escape = state, escape
    return some_left(context, frame, text, state, escape) if texts != 0 else 1


@inner
def some_left(context: Context, frame: int, text: int, state: int, escape: int) -> int:
    """Return 1 if a string that has not come goes on from here, IN_DOUBT, or a code."""
    thing, extras = context.frames[frame].thing, context.frames[frame].extras
    if extras == 0 or context.objects[thing].colon != at.NIL:
        return 1
    return _some_left(context, extras, text, state, escape)


@once
def _some_left(context: Context, extras: int, text: int, state: int, escape: int) -> int:
    """As `some_left` after some used strings: 1 if a byte leads on with which none of them goes on.

    If a text is unknown, two such bytes are needed. A single way on, as in "https://", is followed.
    """
    rows, first = context.transitions, context.lexer_leads
    maybe = 1 if has_extra(context, extras, at.UNKNOWN_TEXT) else 0
    while True:
        if rows[state].after[0] == 0:
            context.want = state
            return at.NEED_LEX
        left, follow, inside = -maybe, _byte_after(context, extras, text), -1
        for byte in range(256):
            if is_lead(first[state].words, byte):
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
        state = rows[state].after[follow]
        if state <= 0 or text < 0:
            return IN_DOUBT if text >= 0 else text


@inner
def _is_another(context: Context, extras: int, text: int, byte: int, escape: int) -> bool:
    """Return True if a byte leads to strings that have not come and no other byte leads to."""
    if escape == 0 and byte in (at.QUOTE_BYTE, at.BACKSLASH):
        return byte == at.QUOTE_BYTE and not has_extra(context, extras, text)
    if escape != 0 and (byte == 0x75 or 0x41 <= byte <= 0x46):  # another byte spells the same
        return False
    pairs, after, code = context.extras, 0, byte
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
def _byte_after(context: Context, extras: int, text: int) -> int:
    """A byte that follows `text` in one of some texts; -1 if none."""
    pairs, behind = context.extras, -1
    while extras != 0 and behind < 0:
        behind, extras = _next_byte(context, pairs[extras] >> 32, text), pairs[extras] & 0xFFFFFFFF
    return behind


@inner
def _next_byte(context: Context, whole: int, text: int) -> int:
    """The byte that follows `text` in `whole`; -1 if it is no proper prefix."""
    texts, byte = context.texts, -1
    while whole > text:
        whole, byte = texts[whole] >> 32, texts[whole] & 0xFF
    return byte if whole == text else -1


@inner
def may_end(context: Context, state: int) -> int:
    """Return 1 if an undeclared key may end in a lexical state, else 0."""
    after = context.transitions[state].after[at.QUOTE_BYTE]
    if after == 0:
        context.want = state
        return at.NEED_LEX
    return 1 if after > 0 else 0


@inner
def is_prefix(context: Context, text: int, whole: int) -> bool:
    """Return True if `whole` begins with `text`; later texts have greater numbers."""
    while whole > text:
        whole = context.texts[whole] >> 32
    return whole == text


@inner
def is_special(context: Context, frame: int) -> bool:
    """Return True if `context.key` may become a declared or a repeated name."""
    if context.key.trie >= 0:
        return True
    pairs, extras = context.extras, context.frames[frame].extras
    while extras != 0:
        if is_prefix(context, context.key.text, pairs[extras] >> 32):
            return True
        extras = pairs[extras] & 0xFFFFFFFF
    return False
