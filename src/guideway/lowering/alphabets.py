"""Which bytes a regular expression reads, and whether plainly none of its strings has only some.

A pattern that wants a byte that a format has nowhere leaves none of its strings, nor does one
without a byte that the format cannot do without. A search for a string of both says so at last:
of times with a slash it took 3 to 5 s, and all that compiling may.

What this module does not know: patterns, formats.
"""

from guideway.lowering.expr import ALL_BYTES
from guideway.lowering.linear import parts_of
from guideway.lowering.nodes import Alt, And, Bytes, Concat, Empty, Epsilon, Expr, Not, Repeat


def apart_by_bytes(first: Expr, second: Expr) -> bool:
    """Whether the bytes of one of two leave no string of the other.

    >>> from guideway.lowering.expr import byte_set, literal, repeat
    >>> apart_by_bytes(repeat(byte_set(b"01:")), literal("1/2"))
    True
    """
    return not (_has_string(first, _bytes(second)) and _has_string(second, _bytes(first)))


def _bytes(root: Expr) -> int:
    """The bytes that strings have, as 256 bits, and perhaps others."""
    found, seen, todo = 0, {root}, [root]
    while todo:
        node = todo.pop()
        match node:
            case Bytes(members):
                found |= members
            case Concat() | Alt() | And() | Repeat():
                more = [part for part in parts_of(node) if part not in seen]
                seen.update(more)
                todo += more
            case Empty() | Epsilon():
                pass
            case _:  # of what may be anything: it is not looked into
                return ALL_BYTES
    return found


def _has_string(root: Expr, among: int) -> bool:
    """Whether there may be a string of some bytes: surely not, if not."""
    known: dict[Expr, bool] = {}
    todo = [root]
    while todo:
        node = todo[-1]
        missing = [part for part in parts_of(node) if part not in known]
        if missing and not isinstance(node, Not):
            todo += missing
        else:
            known[todo.pop()] = _may(node, known, among)
    return known[root]


def _may(node: Expr, known: dict[Expr, bool], among: int) -> bool:
    """Whether a node may have such a string, given that of its parts."""
    match node:
        case Bytes(members):
            return bool(members & among)
        case Concat(head, tail):
            return known[head] and known[tail]
        case And(left, right):
            return known[left] and known[right]
        case Alt(options):
            return any(known[option] for option in options)
        case Repeat(item, low):
            return low == 0 or known[item]
        case _:
            return not isinstance(node, Empty)
