"""Unions whose options share their common prefixes: a trie over the parts of sequences."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from typing import Any, TypeAlias, final

from guideway.lowering.expr import (
    EMPTY,
    EPSILON,
    ONE_BYTE,
    alt,
    both,
    complement,
    concat,
    lead,
    literal,
)
from guideway.lowering.fuel import spend
from guideway.lowering.nodes import Alt, Capture, Concat, Expr, Not, operands

Word: TypeAlias = str | bytes

_FREE = 16

# `r = a b | b a | ε, a = r x r | x, b = r y r | y` takes 2.2 s for 32 letters with 1, .02 with 3.
_PUT_TOGETHER = 3


def either(options: Iterable[bytes | Expr]) -> Expr:
    """Union of the options, with common prefixes factored out."""
    letters: list[bytes] = []
    others: list[Expr] = []
    for option in _flatten(options):
        if isinstance(option, bytes):
            letters.append(option)
        else:
            others.append(option)
    if not others:
        return branching(((word, EPSILON) for word in letters), ONE_BYTE.__getitem__)
    if len(others) == 1 and not letters:
        return others[0]
    return _either_of_parts([*map(_spelled, letters), *others])


def all_of(exprs: Iterable[Expr]) -> Expr:
    """Intersection; complements are joined into the complement of one union."""
    held: dict[Expr, None] = {}
    denied: dict[Expr, None] = {}
    for expr in exprs:
        for part in operands(expr):
            if isinstance(part, Not):
                denied[part.item] = None
            else:
                held[part] = None
    return reduce(both, held, complement(either(denied)))


def branching(entries: Iterable[tuple[Word, Expr]], letter: Callable[[Any], Expr]) -> Expr:
    """Trie of words, each followed by its expression, built in sorted order (Daciuk 2000).

    `letter` lowers one character of a str, or one byte as an int.
    """
    ordered = sorted(entries, key=_word)
    spelled: dict[Any, Expr] = {}

    def spell(one: Any) -> Expr:
        found = spelled.get(one)
        if found is None:
            found = spelled[one] = letter(one)
        return found

    opened: list[_Open] = [_Open()]
    last: Word = b""
    for index, (word, rest) in enumerate(ordered):
        shared = _common(last, word)
        _close(opened, last, shared, spell)
        beyond = _common(word, ordered[index + 1][0]) if index + 1 < len(ordered) else 0
        opened += [_Open() for _ in range(max(shared, beyond) - shared)]
        alone = word[len(opened) - 1 :]
        if alone:  # suffix of this word only: by far the most letters
            first, ending = spell(alone[0]), _tail(alone[1:], rest, spell)
            opened[-1].branches.setdefault(ending, []).append(first)
        else:
            opened[-1].ending = alt(opened[-1].ending, rest)
        last = word[: len(opened) - 1]
    _close(opened, last, 0, spell)
    return opened[0].made()


@final
class _Open:
    """An open node of the trie: letters by the expression after them."""

    __slots__ = ("branches", "ending")

    def __init__(self) -> None:
        self.branches: dict[Expr, list[Expr]] = {}
        self.ending = EMPTY

    def made(self) -> Expr:
        if len(self.branches) == 1 and self.ending is EMPTY:  # most nodes, by far
            [(rest, heads)] = self.branches.items()
            return concat(heads[0] if len(heads) == 1 else alt(*heads), rest)
        options = [concat(alt(*heads), rest) for rest, heads in self.branches.items()]
        return alt(*options, self.ending)


def _tail(word: Word, rest: Expr, letter: Callable[[Any], Expr]) -> Expr:
    if len(word) > _FREE:
        spend(len(word) // _FREE)  # new nodes cost fuel themselves, known ones do not
    for one in reversed(word):
        rest = lead(letter(one), rest)
    return rest


def _word(entry: tuple[Word, Expr]) -> Any:
    return entry[0]


def _common(left: Word, right: Word) -> int:
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count


def _close(opened: list[_Open], word: Word, depth: int, letter: Callable[[Any], Expr]) -> None:
    """Build the nodes on the path to `word` below `depth`."""
    if len(opened) - depth > _FREE:
        spend((len(opened) - depth) // _FREE)  # new nodes cost fuel themselves, known ones do not
    while len(opened) - 1 > depth:
        rest = opened.pop().made()
        opened[-1].branches.setdefault(rest, []).append(letter(word[len(opened) - 1]))


def _either_of_parts(options: Iterable[Expr]) -> Expr:
    # The trie: node 0 is the root, (node, head) → child; a child comes after its parent.
    children: dict[tuple[int, Expr], int] = {}
    ends: set[int] = set()
    # The unsplit rest after a node that only one option reaches: most parts.
    alone: dict[int, Expr] = {}
    for option in options:
        node, rest = 0, option
        while rest is not EPSILON:
            head, rest = _parted(rest)
            child = children.get((node, head))
            if child is None:
                children[node, head] = child = len(children) + 1
                alone[child] = rest
                break
            node, other = child, alone.pop(child, None)
            if other is EPSILON:
                ends.add(node)
            elif other is not None:
                first, left = _parted(other)
                children[node, first] = child = len(children) + 1
                alone[child] = left
        else:
            ends.add(node)
    spend(len(children))
    below: dict[int, _Open] = {}
    for (node, head), child in reversed(children.items()):
        rest = alone.get(child) or _ended(below.pop(child, None), child in ends)
        opened = below.get(node)
        if opened is None:
            opened = below[node] = _Open()
        opened.branches.setdefault(rest, []).append(head)
    return _ended(below.pop(0, None), 0 in ends)


def _ended(node: _Open | None, ends: bool) -> Expr:
    if node is None:  # no children, as for most last letters
        return EPSILON if ends else EMPTY
    node.ending = EPSILON if ends else EMPTY
    return node.made()


def alt_by_head(
    options: Sequence[Expr],
    known: dict[tuple[Expr, ...], Expr] | None = None,
    depth: int = _PUT_TOGETHER,
) -> Expr:
    """`alt` with common heads factored out: x·y | x·z is x·(y|z), `depth` parts deep.

    `known` caches unions, which the arcs of a state often share.
    """
    if len(options) == 1:
        return options[0]
    known = {} if known is None else known
    key = tuple(options)
    found = known.get(key)
    if found is None:
        found = known[key] = _put_together(key, known, depth) if depth > 0 else alt(*key)
    return found


def _put_together(
    options: tuple[Expr, ...], known: dict[tuple[Expr, ...], Expr], depth: int
) -> Expr:
    tails: dict[Expr, dict[Expr, None]] = {}
    others: list[Expr] = []
    for option in options:
        for part in option.options if isinstance(option, Alt) else (option,):
            if isinstance(part, Concat) and not isinstance(part.head, Capture):
                tails.setdefault(part.head, {})[part.tail] = None
            else:
                others.append(part)
    for head, rest in tails.items():
        further = 0 if head.regular else depth - 1
        others.append(concat(head, alt_by_head(tuple(rest), known, further)))
    return alt(*others)


def _flatten(options: Iterable[bytes | Expr]) -> Iterator[bytes | Expr]:
    for option in options:
        if isinstance(option, Alt):
            yield from option.options
        elif option is not EMPTY:
            yield option


def _spelled(word: bytes) -> Expr:
    spend(len(word) // _FREE)
    return literal(word)


def _parted(option: Expr) -> tuple[Expr, Expr]:
    return (option.head, option.tail) if isinstance(option, Concat) else (option, EPSILON)
