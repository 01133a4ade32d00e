"""Unions with their common beginnings shared: a trie over the parts of sequences.

`foo|food|far` becomes `f(o·o(ε|d)|a·r)`, so that a step costs what one option costs, however many
there are. The letters of the trie are whatever stands at the head of a sequence, a byte, a set of
bytes, a repetition; bytes that lead to the same rest merge, and the rests, being hash-consed, are
shared too. Languages do not change: union distributes over concatenation.
"""

from collections.abc import Iterable, Iterator, Sequence

from fairlead.lowering.expr import EMPTY, EPSILON, alt, byte_set, concat
from fairlead.lowering.fuel import spend
from fairlead.lowering.nodes import Alt, Concat, Expr

_BYTES = tuple(byte_set(1 << byte) for byte in range(256))


def either(options: Iterable[bytes | Expr]) -> Expr:
    """A string of any of the options.

    >>> from fairlead.lowering.expr import literal
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
        return _either_of_bytes(letters)
    return _either_of_parts([*letters, *others])


def _either_of_bytes(words: list[bytes]) -> Expr:
    """The trie in byte order, which needs the open branch alone (Daciuk 2000)."""
    open_nodes: list[tuple[dict[Expr, list[Expr]], bool]] = [({}, False)]
    last = b""
    for word in sorted(set(words)):
        shared = _common(last, word)
        _close(open_nodes, last, shared)
        open_nodes += [({}, False) for _ in range(len(word) - shared)]
        open_nodes[-1] = (open_nodes[-1][0], True)
        last = word
    _close(open_nodes, last, 0)
    return _node(*open_nodes[0])


def _common(left: bytes, right: bytes) -> int:
    """How many bytes both begin with."""
    most = min(len(left), len(right))
    return next((i for i in range(most) if left[i] != right[i]), most)


def _close(open_nodes: list[tuple[dict[Expr, list[Expr]], bool]], word: bytes, depth: int) -> None:
    """Make expressions of the nodes on the way to `word` below `depth`: they are complete."""
    spend((len(open_nodes) - depth) // 4)  # most of them are known already, which is less work
    while len(open_nodes) - 1 > depth:
        rest = _node(*open_nodes.pop())
        head = _BYTES[word[len(open_nodes) - 1]]
        open_nodes[-1][0].setdefault(rest, []).append(head)


def _either_of_parts(options: Iterable[bytes | Expr]) -> Expr:
    # The trie: node 0 is the root, (node, head) → child; a child comes after its parent.
    children: dict[tuple[int, Expr], int] = {}
    ends: set[int] = set()
    for option in options:
        node = 0
        for head in _heads(option):
            node = children.setdefault((node, head), len(children) + 1)
        ends.add(node)
    spend(len(children))
    below: dict[int, dict[Expr, list[Expr]]] = {}
    for (node, head), child in reversed(children.items()):
        rest = _node(below.pop(child, {}), child in ends)
        below.setdefault(node, {}).setdefault(rest, []).append(head)
    return _node(below.pop(0, {}), 0 in ends)


def alt_by_head(options: Sequence[Expr], known: dict[tuple[Expr, ...], Expr] | None = None) -> Expr:
    """The same as `alt`, with what begins alike put together: x·y | x·z is x·(y|z).

    Only the first parts are looked at, and only regular ones: what follows is put together when it
    is reached. Inside a character that several options read, that leaves one of them.

    Args:
        options: the alternatives.
        known: unions made before, by what they unite; filled. The arcs of a state often share them.
    """
    if len(options) == 1:
        return options[0]
    tails: dict[Expr, list[Expr]] = {}
    others: list[Expr] = []
    for option in options:
        for part in option.options if isinstance(option, Alt) else (option,):
            if isinstance(part, Concat) and part.head.regular:
                tails.setdefault(part.head, []).append(part.tail)
            else:
                others.append(part)
    for head, rest in tails.items():
        others.append(concat(head, _any_known(tuple(rest), {} if known is None else known)))
    return _any_known(tuple(others), {} if known is None else known)


def _any_known(options: tuple[Expr, ...], known: dict[tuple[Expr, ...], Expr]) -> Expr:
    if len(options) == 1:
        return options[0]
    found = known.get(options)
    if found is None:
        found = known[options] = alt(*options)
    return found


def _flatten(options: Iterable[bytes | Expr]) -> Iterator[bytes | Expr]:
    for option in options:
        if isinstance(option, Alt):
            yield from option.options
        elif option is not EMPTY:
            yield option


def _heads(option: bytes | Expr) -> Iterator[Expr]:
    if isinstance(option, bytes):
        yield from map(_BYTES.__getitem__, option)
        return
    while isinstance(option, Concat):
        yield option.head
        option = option.tail
    if option is not EPSILON:
        yield option


def _node(branches: dict[Expr, list[Expr]], ends: bool) -> Expr:
    """The union of what goes on from a node: the heads that lead to the same rest go together."""
    if len(branches) == 1 and not ends:  # most nodes, by far
        [(rest, heads)] = branches.items()
        return concat(heads[0] if len(heads) == 1 else alt(*heads), rest)
    options = [concat(alt(*heads), rest) for rest, heads in branches.items()]
    return alt(*options, EPSILON) if ends else alt(*options)
