"""The core: constructors of expressions that denote sets of byte strings.

Every front end ends here and everything after starts here; nothing after this stage knows which
front end was used. The nodes (`lowering.nodes`) are hash-consed: the constructors return the same
object for the same structure, so equality is identity and memo tables are dictionaries on nodes.
They also simplify (∅·e = ∅, ε·e = e, e|e = e, …), which is what keeps derivatives finite
(Brzozowski 1964, §5).

Concatenation is a right-nested pair, which makes it a stack as well: a derivative of a context-free
expression is what is left of the current rule followed by what the callers still want.

What this module does not know: tokens, characters, JSON, automata.
"""

import threading
import weakref
from collections.abc import Hashable, Iterable

from fairlead.errors import FairleadError
from fairlead.lowering.nodes import (
    Alt,
    And,
    Bytes,
    Call,
    Capture,
    Concat,
    Empty,
    Epsilon,
    Expr,
    Not,
    Repeat,
    Template,
    Unsure,
)

ALL_BYTES = (1 << 256) - 1
EMPTY: Expr = Empty()
EPSILON: Expr = Epsilon()
UNSURE: Expr = Unsure()

_nodes: "weakref.WeakValueDictionary[Hashable, Expr]" = weakref.WeakValueDictionary()
_lock = threading.Lock()


def _intern(key: Hashable, node: Expr) -> Expr:
    """The node that is known by this key, which tells everything that makes it different.

    A key names the parts by `id`: as long as the node lives, so do its parts, and no other object
    has their ids. Were the parts in the key, this table would keep every recursive rule alive.
    """
    with _lock:
        return _nodes.setdefault(key, node)


def byte_set(members: Iterable[int] | int) -> Expr:
    """One byte out of `members`: byte values, or the 256-bit integer with their bits set.

    >>> byte_set(b"ab") is byte_set(0b11 << 97)
    True
    """
    bits = members if isinstance(members, int) else sum({1 << b for b in members})
    if bits == 0:
        return EMPTY
    return _intern((Bytes, bits), Bytes(bits))


def literal(text: bytes | str) -> Expr:
    """Exactly `text` (a str in UTF-8)."""
    data = text.encode() if isinstance(text, str) else text
    result = EPSILON
    for byte in reversed(data):
        result = concat(byte_set(1 << byte), result)
    return result


def concat(*parts: Expr) -> Expr:
    """One string of each part, in order."""
    result = EPSILON
    for part in reversed(parts):
        result = _pair(part, result)
    return result


def _pair(head: Expr, tail: Expr) -> Expr:
    if tail is EPSILON:  # a spine is never walked for nothing, or a literal would take O(n²)
        return head
    heads: list[Expr] = []
    while isinstance(head, Concat):  # (a·b)·c becomes a·(b·c)
        heads.append(head.head)
        head = head.tail
    heads.append(head)
    for part in reversed(heads):
        tail = _cons(part, tail)
    return tail


def _cons(head: Expr, tail: Expr) -> Expr:
    if head is EMPTY or tail is EMPTY:
        return EMPTY
    if head is EPSILON:
        return tail
    if tail is EPSILON or head is UNSURE:
        return head
    key = (Concat, id(head), id(tail))
    found = _nodes.get(key)
    if found is not None:
        return found
    node = Concat(head, tail, head.nullable and tail.nullable, head.regular and tail.regular)
    return _intern(key, node)


def alt(*options: Expr) -> Expr:
    """A string of any option; bytes merge into one set, nested alternatives flatten.

    An option that is unsure makes the whole unsure: its bytes decide, so they decide for all.
    """
    flat: dict[Expr, None] = {}
    members = 0
    for option in options:
        for part in option.options if isinstance(option, Alt) else (option,):
            if isinstance(part, Bytes):
                members |= part.members
            elif part is not EMPTY:
                flat[part] = None
    if UNSURE in flat:
        return UNSURE
    if members:
        flat[byte_set(members)] = None
    if EPSILON in flat and any(part.nullable for part in flat if part is not EPSILON):
        del flat[EPSILON]
    if len(flat) <= 1:
        return next(iter(flat), EMPTY)
    key = (Alt, frozenset(map(id, flat)))
    found = _nodes.get(key)
    if found is not None:
        return found
    nullable, regular = any(part.nullable for part in flat), all(part.regular for part in flat)
    captures = not regular and any(begins_with_capture(part) for part in flat)
    return _intern(key, Alt(tuple(flat), nullable, regular, captures))


def begins_with_capture(expr: Expr) -> bool:
    """Whether a Capture, or alternatives with one, stand at the head of `expr`."""
    head = expr.head if isinstance(expr, Concat) else expr
    return isinstance(head, Capture) or (isinstance(head, Alt) and head.captures)


def repeat(item: Expr, low: int = 0, high: int | None = None) -> Expr:
    """`low` to `high` strings of `item`, in a row; `high` None is any number.

    >>> repeat(EPSILON) is EPSILON, repeat(literal("a"), 1, 1) is literal("a")
    (True, True)
    """
    if high is not None and high < low:
        return EMPTY
    if high == 0 or item is EPSILON:
        return EPSILON
    if item is EMPTY:
        return EMPTY if low else EPSILON
    if low == 1 and high == 1:
        return item
    if item.nullable:
        low = 0  # the same language, and fewer states
    key = (Repeat, id(item), low, high)
    found = _nodes.get(key)
    if found is not None:
        return found
    return _intern(key, Repeat(item, low, high, low == 0, item.regular))


def optional(item: Expr) -> Expr:
    """`item` or nothing."""
    return alt(item, EPSILON)


def both(left: Expr, right: Expr) -> Expr:
    """Strings of both operands, which are regular."""
    if left is right or right is ANYTHING:
        return left
    if left is ANYTHING:
        return right
    if left is EMPTY or right is EMPTY:
        return EMPTY
    if left is EPSILON or right is EPSILON:
        return EPSILON if left.nullable and right.nullable else EMPTY
    if isinstance(left, Bytes) and isinstance(right, Bytes):
        return byte_set(left.members & right.members)
    key = (And, frozenset((id(left), id(right))))
    found = _nodes.get(key)
    return found if found is not None else _intern(key, _both_node(left, right))


def _both_node(left: Expr, right: Expr) -> Expr:
    if not (left.regular and right.regular):
        raise FairleadError("only regular expressions intersect")
    return And(left, right, left.nullable and right.nullable)


def complement(item: Expr) -> Expr:
    """Every byte string that is not in the regular `item`."""
    if isinstance(item, Not):
        return item.item
    if not item.regular:
        raise FairleadError("only regular expressions have a complement")
    return _intern((Not, id(item)), Not(item, not item.nullable))


ANYTHING: Expr = complement(EMPTY)


def call(template: Template, argument: Hashable) -> Expr:
    """The call of `template` with `argument`."""
    return _intern((Call, id(template), argument), Call(template, argument))


def capture(item: Expr, read: bytes | None, template: Template, argument: Hashable) -> Expr:
    """The rest of a captured string, `read` being its beginning."""
    if item is EMPTY:
        return EMPTY
    node = Capture(item, read, template, argument)
    return _intern((Capture, id(item), read, id(template), argument), node)
