"""Languages that are disjoint because one needs a byte that the other never has."""

from guideway.lowering.expr import ALL_BYTES
from guideway.lowering.nodes import Alt, And, Bytes, Concat, Empty, Epsilon, Expr, Not, Repeat
from guideway.lowering.regular import parts_of


def apart_by_bytes(first: Expr, second: Expr) -> bool:
    """Return True if the bytes of one expression are too few for any string of the other.

    A search for a common string of a format and a pattern can take all fuel: 4 s for a time with a
    slash.

    >>> from guideway.lowering.expr import byte_set, literal, repeat
    >>> apart_by_bytes(repeat(byte_set(b"01:")), literal("1/2"))
    True
    """
    return not (_has_string(first, _bytes(second)) and _has_string(second, _bytes(first)))


def _bytes(root: Expr) -> int:
    """A superset of the bytes of all strings, as 256 bits."""
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
            case _:
                return ALL_BYTES
    return found


def _has_string(root: Expr, among: int) -> bool:
    """Return False if no string has only the bytes `among`; True is no proof."""
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
