"""Small languages with an oracle that shares no code with the engine: sets of strings.

`language(expr, size)` lists the strings over `ALPHABET` up to `size` bytes by operations on sets,
straight from the meaning of each node. `Distinct` is the smallest template there is.
"""

from collections.abc import Callable, Hashable
from itertools import product

from hypothesis import strategies as st

from guideway.language.derivative import Derivatives
from guideway.language.expr import (
    EMPTY,
    EPSILON,
    UNSURE,
    alt,
    both,
    byte_set,
    call,
    capture,
    complement,
    concat,
    literal,
    repeat,
)
from guideway.language.nodes import (
    Alt,
    And,
    Bytes,
    Call,
    Concat,
    Epsilon,
    Expr,
    Look,
    Not,
    Repeat,
    Rule,
)

ALPHABET = b"ab,"


def strings(size: int, alphabet: bytes = ALPHABET) -> set[bytes]:
    """All strings up to `size` bytes."""
    return {bytes(s) for n in range(size + 1) for s in product(alphabet, repeat=n)}


def language(expr: Expr, size: int) -> set[bytes]:  # noqa: PLR0911  an arm for each node
    """The strings of a regular expression up to `size` bytes."""
    match expr:
        case Epsilon():
            return {b""}
        case Bytes(members):
            return {bytes((b,)) for b in ALPHABET if members >> b & 1 and size}
        case Concat(head, tail):
            return joined(language(head, size), language(tail, size), size)
        case Alt(options):
            return set().union(*(language(option, size) for option in options))
        case Repeat(item, low, high):
            return repeated(language(item, size), low, high, size)
        case And(left, right):
            return language(left, size) & language(right, size)
        case Not(item):
            return strings(size) - language(item, size)
        case _:
            return set()


def joined(left: set[bytes], right: set[bytes], size: int) -> set[bytes]:
    fitting = [[y for y in right if len(y) <= room] for room in range(size + 1)]
    return {x + y for x in left if len(x) <= size for y in fitting[size - len(x)]}


def repeated(item: set[bytes], low: int, high: int | None, size: int) -> set[bytes]:
    power, found = {b""}, set[bytes]()
    # Beyond `size` rounds only the empty string adds, and it adds nothing new.
    for rounds in range(max(low, size) + 1 if high is None else high + 1):
        if rounds >= low:
            found |= power
        before, power = power, joined(power, item, size)
        if power == before:
            return found | power
    return found


def expressions() -> st.SearchStrategy[Expr]:
    """Regular expressions over `ALPHABET`, with intersection and complement."""
    leaves = st.one_of(
        st.sampled_from([EPSILON, EMPTY]),
        st.sets(st.sampled_from(ALPHABET), min_size=1).map(byte_set),
        st.lists(st.sampled_from(ALPHABET), max_size=3).map(bytes).map(literal),
    )
    return st.recursive(leaves, _combined, max_leaves=8)


def _combined(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    counts = st.tuples(st.integers(0, 2), st.sampled_from([None, 0, 1, 2, 3]))
    return st.one_of(
        st.tuples(inner, inner).map(lambda pair: concat(*pair)),
        st.tuples(inner, inner).map(lambda pair: alt(*pair)),
        st.tuples(inner, inner).map(lambda pair: both(*pair)),
        inner.map(complement),
        st.tuples(inner, counts).map(
            lambda p: repeat(p[0], p[1][0], None if p[1][1] is None else p[1][0] + p[1][1])
        ),
    )


class Distinct:
    """`[`, then words of one or two letters a and b, none twice, each after a comma, then `]`.

    The argument is the set of words used, None in it for one that is not known.
    """

    word = repeat(byte_set(b"ab"), 1, 2)

    def unfold(self, argument: Hashable, look: Look) -> Expr:
        used = argument if isinstance(argument, frozenset) else frozenset()
        if None in used:
            another = UNSURE
        else:
            taken = alt(*(literal(word) for word in sorted(used)))
            another = capture(both(self.word, complement(taken)), b"", self, used)
        return alt(literal("]"), concat(literal(","), another))

    def resume(self, argument: Hashable, captured: bytes | None) -> Expr:
        used = argument if isinstance(argument, frozenset) else frozenset()
        return call(self, used | {captured})

    def remembers(self, argument: Hashable) -> bool:
        return not (isinstance(argument, frozenset) and None in argument)

    def depends(self, argument: Hashable) -> bool:
        return True

    def lives(self, argument: Hashable, look: Look) -> bool | None:
        return True

    def lives_after(
        self, argument: Hashable, look: Look, captured: Callable[[], bytes | None]
    ) -> bool | None:
        return True

    def parts(self, argument: Hashable) -> tuple[Expr, ...]:
        return ()

    def least(self, argument: Hashable, least: Callable[[Expr], bytes | None]) -> bytes | None:
        return least(literal("]"))


def distinct() -> Expr:
    """The language of `Distinct`."""
    return concat(literal("["), call(Distinct(), frozenset()))


def unfolded(node: Expr) -> Expr:
    """What a call stands for."""
    assert isinstance(node, Call)
    return Derivatives(node).unfold(node)


def is_distinct(text: bytes) -> bool:
    """The same in plain Python."""
    if not (text.startswith(b"[") and text.endswith(b"]")) or len(text) < 2:
        return False
    inner = text[1:-1]
    words = inner[1:].split(b",") if inner.startswith(b",") else []
    whole = b"".join(b"," + word for word in words) == inner
    return (
        whole
        and all(w.strip(b"ab") == b"" and 1 <= len(w) <= 2 for w in words)
        and (len(set(words)) == len(words))
    )


def nested() -> Expr:
    """Words in balanced brackets: a, [a], [a,a], [[a],a] …"""
    rule = Rule("nested")
    listed = concat(rule, repeat(concat(literal(","), rule)))
    rule.define(alt(literal("a"), concat(literal("["), listed, literal("]"))))
    return rule
