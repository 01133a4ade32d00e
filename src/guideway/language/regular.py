"""Regular expressions: derivatives by byte, membership, disjointness, finiteness."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Final, TypeAlias
from weakref import WeakKeyDictionary

from guideway.errors import GuidewayError
from guideway.language.expr import (
    ALL_BYTES,
    ANYTHING,
    EMPTY,
    EPSILON,
    UNSURE,
    alt,
    alt_by_head,
    both,
    byte_set,
    complement,
    concat,
    repeat,
)
from guideway.language.nodes import (
    Alt,
    And,
    Bytes,
    Concat,
    Empty,
    Epsilon,
    Expr,
    Not,
    Repeat,
    Rule,
    operands,
    rebuilt,
)

_FEW: Final = 4


def fewer(lines: list[tuple[int, Expr]]) -> list[tuple[int, Expr]]:
    """One line for each byte set, if they are more than a few.

    >>> from guideway.language.expr import literal
    >>> [members for members, _ in fewer([(1, literal(text)) for text in "abcde"])]
    [1]
    """
    if len(lines) <= _FEW:
        return lines
    targets: dict[int, dict[Expr, None]] = {}
    for members, target in lines:
        targets.setdefault(members, {})[target] = None
    return [(members, alt_by_head([*found])) for members, found in targets.items()]


def partition(lines: list[tuple[int, Expr]]) -> list[tuple[int, list[Expr]]]:
    """Split the byte sets of `lines` where they overlap.

    >>> from guideway.language.expr import EMPTY, EPSILON
    >>> [members for members, exprs in partition([(0b011, EMPTY), (0b110, EPSILON)])]
    [2, 1, 4]
    """
    alike: dict[int, list[Expr]] = {}
    for members, expr in lines:
        alike.setdefault(members, []).append(expr)
    parts: list[tuple[int, list[Expr]]] = []
    covered = 0
    for members, exprs in alike.items():
        if members & covered:
            parts = _split(parts, members, exprs)
        else:
            parts.append((members, exprs))
        covered |= members
    return parts


def _split(
    parts: list[tuple[int, list[Expr]]], members: int, exprs: list[Expr]
) -> list[tuple[int, list[Expr]]]:
    split: list[tuple[int, list[Expr]]] = []
    for part, before in parts:
        common = part & members
        if common:
            split.append((common, before + exprs))
            members &= ~common
        if part & ~common:
            split.append((part & ~common, before))
    if members:
        split.append((members, exprs))
    return split


Lines: TypeAlias = list[tuple[int, Expr]]
_REMEMBERED: Final = 1 << 13  # expressions
_known: list[dict[Expr, Lines]] = [{}]


@lru_cache(maxsize=1 << 12)
def arcs(root: Expr) -> Lines:
    """Derivatives of a regular expression, each with all bytes that lead to it.

    >>> from guideway.language.expr import literal
    >>> [(bin(members).count("1"), left is EPSILON) for members, left in arcs(literal("a"))]
    [(1, True)]
    """
    if len(_known[0]) > _REMEMBERED:
        _known[0] = {}  # other threads keep the old one
    return _disjoint(rebuilt(root, firsts, partial(line, disjoint=_disjoint), _known[0]))


def _disjoint(lines: Lines) -> Lines:
    found: dict[Expr, int] = {}
    for members, lefts in partition(lines):
        after = lefts[0] if len(lefts) == 1 else alt(*lefts)
        if after is not EMPTY:
            found[after] = found.get(after, 0) | members
    return [(members, after) for after, members in found.items()]


def line(  # noqa: PLR0911  an arm for each node
    node: Expr,
    known: Mapping[Expr, Lines],
    disjoint: Callable[[Lines], Lines],
    spellable: int = ALL_BYTES,
) -> Lines:
    """Byte sets with parts of the derivative, from those of `firsts(node)`.

    `disjoint` turns them into disjoint sets with whole derivatives, for intersections and
    complements.
    """
    match node:
        case Empty() | Epsilon():
            return []
        case Bytes(members):
            return [(members & spellable, EPSILON)] if members & spellable else []
        case Concat(head, tail):
            here = [(members, concat(left, tail)) for members, left in known[head]]
            return fewer(here + known[tail]) if head.nullable else here
        case Alt(options):
            lines = [line for option in options for line in known[option]]
            return lines if node.regular else fewer(lines)
        case Repeat(item, low, high):
            rest = repeat(item, max(low - 1, 0), None if high is None else high - 1)
            return [(members, concat(left, rest)) for members, left in known[item]]
        case And(left, right):
            return _common(disjoint(known[left]), disjoint(known[right]))
        case Not(item):
            lines = disjoint(known[item])
            others = spellable & ~sum(members for members, _ in lines)
            opposite = [(members, complement(left)) for members, left in lines]
            return [*opposite, (others, ANYTHING)] if others else opposite
        case Rule():
            return known[node.body]
        case _:
            raise GuidewayError("only regular expressions are searched here")


def _common(lines: Lines, others: Lines) -> Lines:
    return [
        (members & more, both(one, other))
        for members, one in lines
        for more, other in others
        if members & more
    ]


def firsts(node: Expr) -> tuple[Expr, ...]:
    """The parts whose derivatives make up that of `node`."""
    if isinstance(node, Rule):
        return (node.body,)
    if isinstance(node, Concat) and not node.head.nullable:
        return (node.head,)
    return parts_of(node)


def parts_of(node: Expr) -> tuple[Expr, ...]:
    """The expressions that the regular `node` is made of."""
    match node:
        case Concat(head, tail):
            return (head, tail)
        case Alt(options):
            return options
        case Repeat(item) | Not(item):
            return (item,)
        case And(left, right):
            return (left, right)
        case _:
            return ()


def with_parts(node: Expr, parts: Sequence[Expr]) -> Expr:
    """`node` made of other parts than `parts_of(node)`."""
    match node:
        case Concat():
            return concat(*parts)
        case Alt():
            return alt(*parts)
        case Repeat(_, low, high):
            return repeat(parts[0], low, high)
        case Not():
            return complement(parts[0])
        case And():
            return both(*parts)
        case _:
            return node


_LOOKED_AT = 24  # pairs of derivatives in a search


def remainder(expr: Expr, text: bytes) -> Expr:
    """The derivative of the regular `expr` by a text."""
    for byte in text:
        expr = derivative(expr, byte)
        if expr is EMPTY or expr is ANYTHING:
            break
    return expr


def contains(expr: Expr, text: bytes) -> bool:
    """Return True if `text` is in the regular `expr`."""
    return remainder(expr, text).nullable


def surely_apart(first: Expr, second: Expr) -> bool:
    """Return True if a short search shows that two regular expressions are disjoint.

    >>> from guideway.language.expr import literal, repeat
    >>> surely_apart(repeat(literal("ab")), repeat(literal("ba"), 1))
    True
    """
    todo = [(first, second)]
    seen = {*todo}
    for looked_at, (one, other) in enumerate(todo):  # grows, shortest strings first
        if (one.nullable and other.nullable) or looked_at > _LOOKED_AT:
            return False
        for members, left in arcs(one):
            for more, right in arcs(other):
                pair = left, right
                if members & more and pair not in seen:
                    seen.add(pair)
                    todo.append(pair)
    return True


def least_byte(members: int) -> int:
    """The least byte of a nonempty set."""
    return (members & -members).bit_length() - 1


def bytes_of(members: int) -> list[int]:
    """The bytes of a set, ascending."""
    return [byte for byte in range(256) if members >> byte & 1]


@lru_cache(maxsize=1 << 14)
def derivative(root: Expr, byte: int) -> Expr:
    """The derivative of the regular `root` by one byte."""
    return next((left for members, left in arcs(root) if members >> byte & 1), EMPTY)


_Answers: TypeAlias = "WeakKeyDictionary[Expr, bool]"

SOMETHING: Final = concat(byte_set(ALL_BYTES), UNSURE)
"""Some text surely exists, but it is unknown; with UNSURE alone there may be none."""

_ENDLESS_LOOKED_AT: Final = 12  # derivatives in the search of `soon_endless`
_WAYS: Final = 4  # arcs tried for each, those with the most bytes first

_endless: _Answers = WeakKeyDictionary()
_open: _Answers = WeakKeyDictionary()
_ended: _Answers = WeakKeyDictionary()


def surely_endless(expr: Expr, spellable: int = ALL_BYTES) -> bool:
    """Return True if the regular `expr` surely has infinitely many strings of these bytes."""
    if spellable != ALL_BYTES:
        expr = _restricted(expr, spellable)
    return rebuilt(expr, _positive_parts, _is_endless, _endless)


def soon_endless(expr: Expr, spellable: int = ALL_BYTES) -> bool:
    """`surely_endless` of the expression or of its derivatives by some short prefixes.

    >>> from guideway.language.expr import both, byte_set, complement, concat, literal, repeat
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
            if len(seen) < _ENDLESS_LOOKED_AT and after not in seen:
                seen.add(after)
                todo.append(after)
    return False


def _most_bytes(arc: tuple[int, Expr]) -> int:
    return -arc[0].bit_count()


def _restricted(root: Expr, spellable: int) -> Expr:
    """A subset of `root` that uses only these bytes; Not stays, if any byte is left."""
    return rebuilt(root, _positive_parts, partial(_restricted_node, spellable, True))


def _positive_parts(node: Expr) -> tuple[Expr, ...]:
    return () if isinstance(node, Not) else parts_of(node)


def _restricted_node(spellable: int, subset: bool, node: Expr, made: Mapping[Expr, Expr]) -> Expr:
    """`node` with only these bytes: a subset of those strings, or a superset."""
    match node:
        case Bytes(members):
            return byte_set(members & spellable)
        case Not():
            return node if spellable or not subset else EMPTY
        case Epsilon() | Concat() | And() | Alt() | Repeat():
            return with_parts(node, [made[part] for part in parts_of(node)])
        case _:
            return EMPTY if subset else node


def surely_open(expr: Expr) -> bool:
    """Return True if each prefix of a string of `expr` surely has infinitely many continuations."""
    return rebuilt(expr, _positive_parts, _is_open, _open)


def surely_ended(expr: Expr) -> bool:
    """Return True if the regular `expr` surely has finitely many strings."""
    return rebuilt(expr, _positive_parts, _has_end, _ended)


def _is_endless(node: Expr, endless: Mapping[Expr, bool]) -> bool:
    match node:
        case Concat(head, tail):
            return (tail.inhabited and endless[head]) or (head.inhabited and endless[tail])
        case Alt(options):
            return any(endless[option] for option in options)
        case Repeat(item, _, high):
            return item.inhabited and (high is None or endless[item])
        case _:
            return _takes_some_away(node, endless)


def _is_open(node: Expr, is_open: Mapping[Expr, bool]) -> bool:
    match node:
        case Concat(head, tail):
            return head.inhabited and is_open[tail]
        case Alt(options):
            return all(is_open[option] for option in options)
        case Repeat(item, _, high):
            return item.inhabited and high is None
        case _:
            return _takes_some_away(node, is_open)


def _takes_some_away(node: Expr, answers: Mapping[Expr, bool]) -> bool:
    match node:
        case And(left, right):
            return (answers[left] and _all_but_some(right)) or (
                answers[right] and _all_but_some(left)
            )
        case Not(item):
            return surely_ended(item)
        case _:
            return False


def _all_but_some(node: Expr) -> bool:
    return all(isinstance(part, Not) and surely_ended(part.item) for part in operands(node))


def _has_end(node: Expr, ended: Mapping[Expr, bool]) -> bool:
    match node:
        case Empty() | Epsilon() | Bytes():
            return True
        case Concat(head, tail):
            return ended[head] and ended[tail]
        case Alt(options):
            return all(ended[option] for option in options)
        case Repeat(item, _, high):
            return high is not None and ended[item]
        case And(left, right):
            return ended[left] or ended[right]
        case _:
            return False


def apart_by_bytes(first: Expr, second: Expr) -> bool:
    """Return True if the bytes of one expression are too few for any string of the other.

    A search for a common string of a format and a pattern can take all fuel: 4 s for a time with a
    slash.

    >>> from guideway.language.expr import byte_set, literal, repeat
    >>> apart_by_bytes(repeat(byte_set(b"01:")), literal("1/2"))
    True
    """
    return any(
        rebuilt(one, _positive_parts, partial(_restricted_node, _bytes(other), False)) is EMPTY
        for one, other in ((first, second), (second, first))
    )


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
