"""Quick sufficient checks that regular expressions are infinite, or finite, without a search."""

from collections.abc import Callable
from typing import Final, TypeAlias
from weakref import WeakKeyDictionary

from guideway.lowering.expr import ALL_BYTES, EMPTY, UNSURE, alt, both, byte_set, concat, repeat
from guideway.lowering.linear import arcs
from guideway.lowering.nodes import Alt, And, Bytes, Concat, Empty, Epsilon, Expr, Not, Repeat

_Known: TypeAlias = "WeakKeyDictionary[Expr, bool]"
_Answer: TypeAlias = Callable[[Expr], bool]

SOMETHING: Final = concat(byte_set(ALL_BYTES), UNSURE)
"""Some text surely exists, but it is unknown; with UNSURE alone there may be none."""

_LOOKED_AT: Final = 12  # derivatives in the search of `soon_endless`
_LETTERS: Final = 1 << 10  # parts of word lists, which are checked without a cache
_WAYS: Final = 4  # arcs tried for each, those with the most bytes first

_endless: _Known = WeakKeyDictionary()
_open: _Known = WeakKeyDictionary()
_ended: _Known = WeakKeyDictionary()


def surely_endless(expr: Expr, spellable: int = ALL_BYTES) -> bool:
    """Return True if the regular `expr` surely has infinitely many strings of these bytes."""
    if spellable != ALL_BYTES:
        expr = _spelled(expr, spellable)
    return _told(expr, _endless, _is_endless)


def soon_endless(expr: Expr, spellable: int = ALL_BYTES) -> bool:
    """`surely_endless` of the expression or of its derivatives by some short prefixes.

    >>> from guideway.lowering.expr import both, byte_set, complement, concat, literal, repeat
    >>> words = repeat(byte_set(b"abc"))
    >>> others = both(words, complement(concat(literal("a"), words)))
    >>> surely_endless(others), soon_endless(others)
    (False, True)
    """
    if surely_endless(expr, spellable):
        return True
    seen, todo = {expr}, [expr]
    for node in todo:  # grows while we go
        found = [(part, after) for members, after in arcs(node) if (part := members & spellable)]
        for _, after in sorted(found, key=_most_bytes)[:_WAYS]:
            if surely_endless(after, spellable):
                return True
            if len(seen) < _LOOKED_AT and after not in seen:
                seen.add(after)
                todo.append(after)
    return False


def _most_bytes(arc: tuple[int, Expr]) -> int:
    return -arc[0].bit_count()


def _spelled(root: Expr, spellable: int) -> Expr:
    """A subset of `root` that uses only these bytes; Not stays, if any byte is left."""
    made: dict[Expr, Expr] = {}
    stack = [root]
    while stack:
        node = stack[-1]
        parts = _parts(node)
        missing = [part for part in parts if part not in made]
        if missing:
            stack += missing
        else:
            made[stack.pop()] = _of(node, [made[part] for part in parts], spellable)
    return made[root]


def _parts(node: Expr) -> tuple[Expr, ...]:
    match node:
        case Concat(head, tail):
            return head, tail
        case And(left, right):
            return left, right
        case Alt(options):
            return options
        case Repeat(item):
            return (item,)
        case _:
            return ()


def _of(node: Expr, parts: list[Expr], spellable: int) -> Expr:  # noqa: PLR0911  one for each node
    match node:
        case Bytes(members):
            return byte_set(members & spellable)
        case Concat():
            return concat(*parts)
        case And():
            return both(*parts)
        case Alt():
            return alt(*parts)
        case Repeat(_, low, high):
            return repeat(parts[0], low, high)
        case Epsilon():
            return node
        case Not():
            return node if spellable else EMPTY
        case _:
            return EMPTY


def surely_open(expr: Expr) -> bool:
    """Return True if each prefix of a string of `expr` surely has infinitely many continuations."""
    return _told(expr, _open, _is_open)


def surely_ended(expr: Expr) -> bool:
    """Return True if the regular `expr` surely has finitely many strings."""
    return _is_few_words(expr) or _told(expr, _ended, _has_end)


def _is_few_words(expr: Expr) -> bool:
    """Return True if `expr` is a short list of words."""
    todo, left = [expr], _LETTERS
    while todo and left:
        node = todo.pop()
        left -= 1
        if isinstance(node, Concat):
            todo.append(node.head)
            todo.append(node.tail)
        elif isinstance(node, Alt):
            todo += node.options
        elif not isinstance(node, Bytes | Epsilon):
            return False
    return not todo


def _told(root: Expr, known: _Known, tell: Callable[[Expr, _Answer], bool]) -> bool:
    """Evaluate `tell` for each part once, with an explicit stack.

    `tell` must ask for all options at once: one by one, 5,000 keywords took 8 s.
    """
    stack = [root]
    while stack:
        node = stack[-1]
        missing: list[Expr] = []
        found = known.get(node)
        if found is None:

            def answer(part: Expr, missing: list[Expr] = missing) -> bool:
                found = known.get(part)
                if found is None:
                    missing.append(part)
                return found is True

            found = tell(node, answer)
            if missing and not found:
                stack.extend(missing)
                continue
            known[node] = found
        stack.pop()
    return known[root]


def _is_endless(node: Expr, endless: _Answer) -> bool:
    match node:
        case Concat(head, tail):
            return (tail.inhabited and endless(head)) or (head.inhabited and endless(tail))
        case Alt(options):
            return True in [*map(endless, options)]
        case Repeat(item, _, high):
            return item.inhabited and (high is None or endless(item))
        case _:
            return _takes_some_away(node, endless)


def _is_open(node: Expr, is_open: _Answer) -> bool:
    match node:
        case Concat(head, tail):
            return head.inhabited and is_open(tail)
        case Alt(options):
            return False not in [*map(is_open, options)]
        case Repeat(item, _, high):
            return item.inhabited and high is None
        case _:
            return _takes_some_away(node, is_open)


def _takes_some_away(node: Expr, answer: _Answer) -> bool:
    match node:
        case And(left, right):
            return (_all_but_some(right) and answer(left)) or (
                _all_but_some(left) and answer(right)
            )
        case Not(item):
            return surely_ended(item)
        case _:
            return False


def _all_but_some(node: Expr) -> bool:
    todo = [node]
    while todo:
        part = todo.pop()
        if isinstance(part, And):
            todo += [part.left, part.right]
        elif not (isinstance(part, Not) and surely_ended(part.item)):
            return False
    return True


def _has_end(node: Expr, ended: _Answer) -> bool:
    match node:
        case Empty() | Epsilon() | Bytes():
            return True
        case Concat(head, tail):
            return ended(head) and ended(tail)
        case Alt(options):
            return False not in [*map(ended, options)]
        case Repeat(item, _, high):
            return high is not None and ended(item)
        case And(left, right):
            return ended(left) or ended(right)
        case _:
            return False
