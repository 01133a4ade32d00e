"""The lexeme or literal at the head of a regular sequence."""

from collections.abc import Callable
from typing import Final, TypeGuard

from guideway.lowering.endless import surely_open
from guideway.lowering.expr import ALL_BYTES, EPSILON, concat, literal, repeat
from guideway.lowering.json_text import QUOTE
from guideway.lowering.nodes import Alt, Bytes, Concat, Expr, Repeat, Unsure
from guideway.masks.lexicon import Lexicon

_MOST_PARTS: Final = 64  # parts of a lexeme
_BACKSLASH: Final = literal("\\")
_ESCAPE: Final = 1 << ord("\\")  # first byte of most characters
_SHORT: Final = 8  # greatest count that may be written out as states
_LONGEST: Final = 4096  # bytes of a literal translated at once


def is_byte(expr: Expr) -> TypeGuard[Bytes]:
    return isinstance(expr, Bytes) and expr.members & (expr.members - 1) == 0


def _is_doubtful(head: Expr, rest: Expr, spellable: int) -> bool:
    """Return True if `rest` is Unsure and `head` can always continue, so all tokens are unsure."""
    return isinstance(rest, Unsure) and spellable == ALL_BYTES and surely_open(head)


def lexeme_of(
    head: Expr, tail: Expr, lexicon: Lexicon, is_apart: Callable[[Expr], bool]
) -> tuple[Expr, Expr] | None:
    """The lexeme at the head of a regular sequence, and the rest; None if the head is a count.

    `is_apart` says which parts have nodes of their own.
    """
    if isinstance(head, Repeat) and lexicon.is_counted(head):
        if not _runs_on(head, tail, lexicon):
            return None
        return _string_end(head, tail, lexicon, is_apart, loops=True)
    found = None if is_apart(head) else _string_end(head, tail, lexicon, is_apart)
    return _to_character(head, tail, lexicon.spellable, is_apart) if found is None else found


def _runs_on(repeated: Repeat, tail: Expr, lexicon: Lexicon) -> bool:
    """Return True if an unbounded repetition with common first bytes follows a short count.

    Tokens would be read byte by byte: 1.7 ms a mask in a URL's `[a-z.]{2,6}[a-z/.]*`.
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
    """The sequence up to and including the next fixed characters, and the rest.

    `[a-z]+-` ends only at a "-", `[a-z]+` anywhere in a token. `[a-z][a-z_]*-` is read whole:
    44,000 trie nodes follow its first letter (1.5 ms).
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
    """The bytes of a character that is either one byte or an escape, else None."""
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
    """The sequence up to the quote that ends a string, and the rest; None if it is no lexeme.

    For an endless part before another (`.+@.+`), whose token suffixes would be five times the
    vocabulary, but which has a small DFA. `loops` says that the head is such a part.
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
    """The fixed bytes at the head of an expression, and the rest."""
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
