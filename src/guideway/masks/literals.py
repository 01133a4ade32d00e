"""Runs of single bytes at the head of an expression, which are read at once.

What this module does not know: nodes.
"""

from collections.abc import Callable
from typing import Final, TypeGuard

from guideway.lowering.endless import surely_open
from guideway.lowering.expr import ALL_BYTES, EPSILON, concat, literal, repeat
from guideway.lowering.json_text import QUOTE
from guideway.lowering.nodes import Alt, Bytes, Concat, Expr, Repeat, Unsure
from guideway.masks.lexicon import Lexicon

_MOST_PARTS: Final = 64  # of a string that may be read in one
_BACKSLASH: Final = literal("\\")
_ESCAPE: Final = 1 << ord("\\")  # which most characters may begin with
_SHORT: Final = 8  # counts up to this may have states
_LONGEST: Final = 4096  # bytes of a literal translated at once


def is_byte(expr: Expr) -> TypeGuard[Bytes]:
    """Whether it is one byte, always the same."""
    return isinstance(expr, Bytes) and expr.members & (expr.members - 1) == 0


def _is_doubtful(head: Expr, rest: Expr, spellable: int) -> bool:
    """Whether what follows is in doubt, and that something does is not behind `head`.

    Of a lexeme with a doubt behind it all tokens are in doubt.
    """
    return isinstance(rest, Unsure) and spellable == ALL_BYTES and surely_open(head)


def lexeme_of(
    head: Expr, tail: Expr, lexicon: Lexicon, is_apart: Callable[[Expr], bool]
) -> tuple[Expr, Expr] | None:
    """What is read in one at the head of a regular sequence, and what follows it; None: a count.

    Args:
        head: what it begins with,
        tail: and what comes then.
        lexicon: the lexical states.
        is_apart: whether a part is read by nodes of its own.
    """
    if isinstance(head, Repeat) and lexicon.is_counted(head):
        if not _runs_on(head, tail, lexicon):
            return None
        return _string_end(head, tail, lexicon, is_apart, loops=True)
    found = None if is_apart(head) else _string_end(head, tail, lexicon, is_apart)
    return _to_character(head, tail, lexicon.spellable, is_apart) if found is None else found


def _runs_on(repeated: Repeat, tail: Expr, lexicon: Lexicon) -> bool:
    """Whether a short count goes on, by what begins as it does, with what has no end.

    Where it ends is not known then, and each token was read byte by byte: in the last part of a URL
    as `[a-z.]{2,6}[a-z/.]*` has it, 1.7 ms a mask.
    """
    behind = tail.head if isinstance(tail, Concat) else tail
    if not isinstance(behind, Repeat) or not (repeated.regular and behind.regular):
        return False
    if repeated.high is None or repeated.high > _SHORT or behind.high is not None:
        return False
    one, other = (lexicon.state(repeat(part.item)) for part in (repeated, behind))
    lexicon.expand(one)
    lexicon.expand(other)
    first = int.from_bytes(lexicon.first[one].tobytes(), "little")
    return lexicon.begins(other, first & ~_ESCAPE)


def _to_character(
    head: Expr, tail: Expr, spellable: int, is_apart: Callable[[Expr], bool]
) -> tuple[Expr, Expr]:
    """All up to the characters that come next, and what follows.

    Where `[a-z]+-` ends is where a "-" is, and where `[a-z]+` may, anywhere in a token. Behind the
    first letter of `[a-z][a-z_]*-` is all of it: 44,000 nodes are left of tokens there (1.5 ms).
    """
    parts, rest = [head], tail
    if isinstance(tail, Concat) and (isinstance(head, Bytes) or _raw(head) is not None):
        again = tail.head
        if isinstance(again, Repeat) and again.high is None and not is_apart(again):
            parts, rest = [head, again], tail.tail
    while len(parts) < _MOST_PARTS:
        part, after = (rest.head, rest.tail) if isinstance(rest, Concat) else (rest, EPSILON)
        raw = part if is_byte(part) else _raw(part)
        if raw is None or _is_doubtful(head, after, spellable):
            break
        parts.append(part)
        rest = after
        if part is raw or not is_byte(raw):
            break
    return concat(*parts), rest


def _raw(expr: Expr) -> Bytes | None:
    """The bytes that a character is, where it is one byte or an escape; else None."""
    if not isinstance(expr, Alt) or len(expr.options) != 2:
        return None
    raw, escaped = expr.options
    if isinstance(raw, Concat):
        raw, escaped = escaped, raw
    spelled = isinstance(escaped, Concat) and escaped.head is _BACKSLASH
    return raw if spelled and isinstance(raw, Bytes) else None


def _string_end(
    head: Expr,
    tail: Expr,
    lexicon: Lexicon,
    is_apart: Callable[[Expr], bool],
    *,
    loops: bool = False,
) -> tuple[Expr, Expr] | None:
    """All up to the quote that ends a string, and what follows; None: that is not read in one.

    It is where a part is repeated without end, behind which another begins anywhere, as in
    `.+@.+`: what is left of tokens is then five times the vocabulary. Few states read both. `loops`
    says that it is so.
    """
    parts, rest = [head], tail
    while isinstance(rest, Concat) and rest.head is not QUOTE and len(parts) < _MOST_PARTS:
        loops = loops or (isinstance(parts[-1], Repeat) and parts[-1].high is None)
        parts.append(rest.head)
        rest = rest.tail
    closing, rest = (rest.head, rest.tail) if isinstance(rest, Concat) else (rest, EPSILON)
    apart = any(map(is_apart, parts[1:]))
    if closing is not QUOTE or not loops or isinstance(rest, Unsure) or apart:
        return None
    whole = concat(*parts, QUOTE)
    return (whole, rest) if lexicon.is_small(whole) else None


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
