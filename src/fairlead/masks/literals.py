"""Runs of single bytes at the head of an expression, which are read at once.

What this module does not know: nodes.
"""

from typing import Final, TypeGuard

from fairlead.lowering.endless import surely_open
from fairlead.lowering.expr import ALL_BYTES, EPSILON
from fairlead.lowering.nodes import Bytes, Concat, Expr, Unsure

_LONGEST: Final = 4096  # bytes of a literal translated at once


def is_byte(expr: Expr) -> TypeGuard[Bytes]:
    """Whether it is one byte, always the same."""
    return isinstance(expr, Bytes) and expr.members & (expr.members - 1) == 0


def ends_lexeme(head: Expr, tail: Concat, spellable: int) -> bool:
    """Whether what begins `tail` is a byte that is read in one with `head`.

    Not if what follows is in doubt, and that something does is not before the byte: of a lexeme
    with a doubt behind it all tokens are in doubt.
    """
    if isinstance(tail.tail, Unsure) and spellable == ALL_BYTES and surely_open(head):
        return False
    return is_byte(tail.head)


def run_of(expr: Expr) -> tuple[bytes, Expr]:
    """The single bytes that an expression begins with, and what follows them."""
    found = bytearray()
    rest = expr
    while len(found) < _LONGEST:
        head = rest.head if isinstance(rest, Concat) else rest
        if not is_byte(head):
            break
        found.append(head.members.bit_length() - 1)
        if not isinstance(rest, Concat):
            return bytes(found), EPSILON
        rest = rest.tail
    return bytes(found), rest
