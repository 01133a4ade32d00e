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
    """A string of any of the options.

    >>> from guideway.lowering.expr import byte_set
    >>> either([b"ab", literal("ac"), b"ad"]) is concat(literal("a"), byte_set(b"bcd"))
    True
    """
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
    """Intersection of regular expressions; complements are joined into the complement of one union.

    >>> from guideway.lowering.expr import byte_set
    >>> denied = [complement(literal("a")), complement(literal("b"))]
    >>> all_of(denied) is complement(byte_set(b"ab"))
    True
    """
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
    """One of the words, then what goes with it: a trie, made in the words' order (Daciuk 2000).

    >>> from guideway.lowering.expr import byte_set
    >>> words = [("ab", EPSILON), ("ac", EPSILON)]
    >>> branching(words, literal) is concat(literal("a"), byte_set(b"bc"))
    True

    Args:
        entries: words, all of them str or all bytes, with what follows each.
        letter: what one letter of a word stands for: a character, or the number of a byte.
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
        if alone:  # the end of this word and of no other, by far the most letters of all words
            first, ending = spell(alone[0]), _tail(alone[1:], rest, spell)
            opened[-1].branches.setdefault(ending, []).append(first)
        else:
            opened[-1].ending = alt(opened[-1].ending, rest)
        last = word[: len(opened) - 1]
    _close(opened, last, 0, spell)
    return opened[0].made()


@final
class _Open:
    """An open node of the trie: first letters by what follows them."""

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
        spend(len(word) // _FREE)  # they pay for themselves, unless they are known
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
    """Make expressions of the nodes on the way to `word` below `depth`."""
    if len(opened) - depth > _FREE:
        spend((len(opened) - depth) // _FREE)  # they pay for themselves, unless they are known
    while len(opened) - 1 > depth:
        rest = opened.pop().made()
        opened[-1].branches.setdefault(rest, []).append(letter(word[len(opened) - 1]))


def _either_of_parts(options: Iterable[Expr]) -> Expr:
    # The trie: node 0 is the root, (node, head) → child; a child comes after its parent.
    children: dict[tuple[int, Expr], int] = {}
    ends: set[int] = set()
    # Behind a node that one option alone has come to, its rest, not taken apart: most of all parts.
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
    if node is None:  # where nothing comes after it, as after most last letters
        return EPSILON if ends else EMPTY
    node.ending = EPSILON if ends else EMPTY
    return node.made()


def alt_by_head(
    options: Sequence[Expr],
    known: dict[tuple[Expr, ...], Expr] | None = None,
    depth: int = _PUT_TOGETHER,
) -> Expr:
    """`alt` with common heads factored out: x·y | x·z is x·(y|z), `depth` parts deep.

    Args:
        options: the alternatives.
        known: unions made before, by what they unite; filled. The arcs of a state often share them.
        depth: how many parts are looked at.
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
