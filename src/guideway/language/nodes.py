"""Nodes of expressions: frozen, interned shapes. Each denotes a set of byte strings."""

import threading
import weakref
from collections.abc import Callable, Hashable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import field
from operator import itemgetter
from typing import Any, ClassVar, Final, Generic, Protocol, TypeAlias, TypeVar

from guideway.errors import GuidewayError
from guideway.language.fuel import spend
from guideway.language.values import by_identity

Least: TypeAlias = "Callable[[Expr], bytes | None]"


class Look(Protocol):
    """Answers about parts of an expression."""

    @property
    def spellable(self) -> int:
        """The available bytes, as a 256-bit integer."""
        ...

    @property
    def settled(self) -> bool:
        """Return True if no answer given so far can change."""
        ...

    def __call__(self, part: "Expr") -> bool | None:
        """Return True if the part has a text; None: not known yet, to be asked again."""
        ...

    def word(self, part: "Expr") -> bytes | None:
        """The shortest text of a part without recursion; None if it has none."""
        ...


class Template(Protocol):
    """A parametrized rule, unfolded when it is reached."""

    def unfold(self, argument: Hashable, look: "Look") -> "Expr":
        """The expression of the call; `look` answers at once."""
        ...

    def resume(self, argument: Hashable, captured: bytes | None) -> "Expr":
        """The rest after a Capture that read `captured` (None: unknown)."""
        ...

    def remembers(self, argument: Hashable) -> bool:
        """Return True if an argument determines all that was captured before."""
        ...

    def depends(self, argument: Hashable) -> bool:
        """Return True if the length of the rest depends on captured bytes."""
        ...

    def lives(self, argument: Hashable, look: "Look") -> bool | None:
        """Return True if `unfold(argument)` has a text; None if `look` does not know yet."""
        ...

    def lives_after(
        self, argument: Hashable, look: "Look", captured: "Callable[[], bytes | None]"
    ) -> bool | None:
        """`lives` of `resume(argument, captured())`; None means any captured string."""
        ...

    def parts(self, argument: Hashable) -> "Iterable[Expr]":
        """Calls that `unfold(argument)` may enter and that may be refused."""
        ...

    def least(self, argument: Hashable, least: "Least") -> bytes | None:
        """The shortest string of `unfold(argument)`, least in byte order; None if none."""
        ...


@by_identity
class Empty:
    """The empty language."""

    nullable: bool = False
    regular: bool = True
    inhabited: bool = False
    looks: ClassVar[int] = 0
    yields: ClassVar[bool] = False


@by_identity
class Epsilon:
    """The language of the empty string."""

    nullable: bool = True
    regular: bool = True
    inhabited: bool = True
    looks: ClassVar[int] = 0
    yields: ClassVar[bool] = False


@by_identity
class Bytes:
    """One byte b with bit b of `members` set."""

    members: int
    nullable: bool = False
    regular: bool = True
    inhabited: bool = True
    looks: ClassVar[int] = 0
    yields: ClassVar[bool] = False


@by_identity
class Concat:
    """`head`, which is no Concat, then `tail`."""

    head: "Expr"
    tail: "Expr"
    nullable: bool
    regular: bool
    inhabited: bool
    looks: int = 0
    yields: bool = False


@by_identity
class Alt:
    """Any of `options`: at least two, none an Alt, none twice."""

    options: "tuple[Expr, ...]"
    nullable: bool
    regular: bool
    captures: bool
    inhabited: bool
    looks: int = 0
    yields: bool = False


@by_identity
class Repeat:
    """`item` at least `low` and at most `high` times (None: any number)."""

    item: "Expr"
    low: int
    high: int | None
    nullable: bool
    regular: bool
    inhabited: bool
    looks: int = 0
    yields: ClassVar[bool] = False


@by_identity
class And:
    """Intersection of two regular expressions."""

    left: "Expr"
    right: "Expr"
    nullable: bool
    regular: bool = True
    inhabited: bool = False
    looks: ClassVar[int] = 0
    yields: ClassVar[bool] = False


@by_identity
class Not:
    """Complement of a regular expression, over byte strings."""

    item: "Expr"
    nullable: bool
    regular: bool = True
    inhabited: bool = False
    looks: ClassVar[int] = 0
    yields: ClassVar[bool] = False


@by_identity
class Rule:
    """A named expression, defined later to allow recursion. Never nullable."""

    name: str
    bodies: "list[Expr]" = field(default_factory=list["Expr"], repr=False)
    nullable: bool = False
    regular: bool = False
    inhabited: bool = False
    make: "Callable[[], Expr] | None" = field(default=None, repr=False)
    waits: bool = False  # nothing in it is refused, so no error comes when it is entered
    looks: int = 0
    needs: int = (1 << 256) - 1
    read: object = field(default=None, repr=False)
    yields: ClassVar[bool] = False

    @property
    def body(self) -> "Expr":
        make = self.make
        if not self.bodies and make is not None:
            self.bodies.append(make())
            object.__setattr__(self, "make", None)  # release what it refers to
        if not self.bodies:
            raise GuidewayError(f"rule {self.name} has no body yet")
        return self.bodies[0]

    def define(self, body: "Expr") -> None:
        """Set the body, once."""
        if self.bodies or body.nullable or body.yields:
            raise GuidewayError(f"rule {self.name} has a body already, or a nullable one")
        self.bodies.append(body)


@by_identity
class Call:
    """The language of `template.unfold(argument)`."""

    template: Template
    argument: Hashable
    nullable: bool = False
    regular: bool = False
    inhabited: bool = False
    looks: int = 0
    yields: ClassVar[bool] = False


@by_identity
class Capture:
    """A string of `item`, then `template.resume(argument, that string)`."""

    item: "Expr"
    read: bytes | None
    template: Template
    argument: Hashable
    nullable: bool = False
    regular: bool = False
    inhabited: bool = False
    looks: ClassVar[int] = 0
    yields: ClassVar[bool] = False


@by_identity
class Ahead:
    """Lookahead: the text up to the next Stop of this level, or to the end, is in `item`."""

    item: "Expr"
    level: int
    nullable: bool
    looks: int
    regular: bool = False
    inhabited: bool = False
    yields: ClassVar[bool] = True


@by_identity
class Stop:
    """The end of the text that an Ahead of this level looks at."""

    level: int
    looks: int
    nullable: bool = True
    regular: bool = False
    inhabited: bool = False
    yields: ClassVar[bool] = True


@by_identity
class Unsure:
    """An unknown language, decided byte by byte."""

    nullable: bool = False
    regular: bool = False
    inhabited: bool = False
    looks: ClassVar[int] = 0
    yields: ClassVar[bool] = False


Expr: TypeAlias = (
    Empty
    | Epsilon
    | Bytes
    | Concat
    | Alt
    | Repeat
    | And
    | Not
    | Rule
    | Call
    | Capture
    | Ahead
    | Stop
    | Unsure
)


def pair(head: Expr, tail: Expr) -> Concat:
    """Concat node of two expressions, neither of them Epsilon."""
    return Concat(
        head,
        tail,
        head.nullable and tail.nullable,
        head.regular and tail.regular,
        head.inhabited and tail.inhabited,
        max(tail.looks, head.looks),
        (head.yields or tail.yields)
        and (head.nullable or head.yields)
        and (tail.nullable or tail.yields),
    )


def operands(conjunction: Expr) -> list[Expr]:
    """The operands of nested intersections; of anything else, itself."""
    found: list[Expr] = []
    todo: list[Expr] = [conjunction]
    while todo:
        part = todo.pop()
        if isinstance(part, And):
            todo += [part.right, part.left]
        else:
            found.append(part)
    return found


def begins_with_capture(expr: Expr) -> bool:
    """Return True if `expr` begins with a Capture, or with alternatives that have one."""
    head = expr.head if isinstance(expr, Concat) else expr
    return isinstance(head, Capture) or (isinstance(head, Alt) and head.captures)


_Node = TypeVar("_Node")


class _Entry(weakref.ref[_Node]):
    """A weak reference with its key; three times as fast to make as `weakref.KeyedRef`."""

    __slots__ = ("key",)
    key: Hashable


class Interned(Generic[_Node]):
    """The live nodes of one kind; `nodes` is public for callers without time for a call."""

    __slots__ = ("_forgotten", "_lock", "nodes")

    def __init__(self) -> None:
        self.nodes: dict[Hashable, _Entry[_Node]] = {}
        self._lock = threading.RLock()  # reentrant: the collector may call `_forget` inside
        self._forgotten = self._forget

    def known(self, key: Hashable) -> _Node | None:
        """The live node with this key, if any."""
        found = self.nodes.get(key)
        return None if found is None else found()

    def intern(self, key: Hashable, node: _Node) -> _Node:
        """The live node with this key, or else `node`."""
        made = _Entry(node, self._forgotten)
        made.key = key
        entry = self.nodes.setdefault(key, made)  # atomic
        if entry is made:
            return node
        with self._lock:
            found = self.known(key)
            if found is None:  # the other node is dead
                self.nodes[key] = made
            return node if found is None else found

    def _forget(self, gone: weakref.ref[_Node]) -> None:
        """Drop the key of a dead node; uses no globals, which are gone at exit."""
        key = getattr(gone, "key", None)
        with self._lock:
            if self.nodes.get(key) is gone:
                del self.nodes[key]


_exprs = Interned[Expr]()
nodes, known = _exprs.nodes, _exprs.known


def intern(key: Hashable, node: Expr) -> Expr:
    """The live expression with this key, or else `node`; costs one unit of fuel."""
    spend(1)
    return _exprs.intern(key, node)


Range: TypeAlias = tuple[int, int | None]

# Larger products of counts stay two counts, as counters in registers have 64 bits.
_MOST = 1 << 60


def counted(expr: Expr) -> tuple[Expr, Range]:
    """The item of a repetition and its range; x? is x, 0 to 1; all else is itself, once."""
    if isinstance(expr, Repeat):
        return expr.item, (expr.low, expr.high)
    if isinstance(expr, Alt) and len(expr.options) == 2:
        first, second = expr.options
        if isinstance(first, Epsilon):
            return second, (0, 1)
        if isinstance(second, Epsilon):
            return first, (0, 1)
    return expr, (1, 1)


def added(left: Range, right: Range) -> Range:
    """Sum of two ranges."""
    (low, high), (more, most) = left, right
    return low + more, None if high is None or most is None else high + most


def multiplied(inner: Range, outer: Range) -> Range | None:
    """Product of two ranges; None if it has gaps or is too large. Both must allow more than 0."""
    (low, high), (least, most) = inner, outer
    after = 0 if least == 0 else None if high is None else least * high
    if least != most and after is not None and after + 1 < (least + 1) * low:
        return None
    found = low * least, None if high is None or most is None else most * high
    return None if (found[1] or found[0]) > _MOST else found


def united(ranges: Iterable[Range]) -> list[Range]:
    """The fewest ranges with the same numbers."""
    found: list[Range] = []
    for low, high in sorted(ranges, key=itemgetter(0)):
        last, end = found[-1] if found else (0, -1)
        if not found or (end is not None and end + 1 < low):
            found.append((low, high))
        elif end is not None and (high is None or high > end):
            found[-1] = (last, high)
    return found


def looking_apart(
    options: Iterable[Expr],
) -> tuple[dict[Ahead, list[Expr | None]], list[Expr], list[Expr]]:
    """Sort by head: the tails of each Ahead; others that can be passed; the rest."""
    looking: dict[Ahead, list[Expr | None]] = {}
    passed: list[Expr] = []
    others: list[Expr] = []
    for option in options:
        head, rest = (option.head, option.tail) if isinstance(option, Concat) else (option, None)
        if isinstance(head, Ahead):
            looking.setdefault(head, []).append(rest)
        else:
            (passed if option.yields else others).append(option)
    return looking, passed, others


def meets_stop(root: Expr) -> bool:
    """Return True if `root` may reach a Stop before any byte."""
    todo, seen = [root], set[Expr]()
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, Stop):
            return True
        if isinstance(node, Alt):
            todo.extend(option for option in node.options if option.looks)
        elif isinstance(node, Concat):
            todo.append(node.head)
            if node.head.nullable or node.head.yields:
                todo.append(node.tail)
    return False


_MOST_KEPT: Final = 4096

Made = TypeVar("Made")


class Answers:
    """The shortest texts of expressions, as `Template.least` asks for them.

    Args:
        ask: tells the shortest text; None if there is none, or if it is not known yet.
        settled: whether no answer so far is to be mended, as those are that are not known yet.
        kept: what has been made of settled answers, for as long as they are known.
        afford: pays for so much work to find or shorten a text; False if there is too much.
        portion: the same for one search, which may take a part of what is left.
        spellable: bits of the bytes of texts.
    """

    def __init__(
        self,
        ask: Least,
        settled: Callable[[], bool],
        kept: dict[Hashable, Any],
        afford: Callable[[int], bool] = lambda work: True,
        portion: Callable[[], Callable[[int], bool]] = lambda: lambda work: True,
        spellable: int = (1 << 256) - 1,
    ) -> None:
        self._ask, self.settled, self._kept = ask, settled, kept
        self.afford, self.portion, self.spellable = afford, portion, spellable

    def __call__(self, part: Expr) -> bytes | None:
        """The shortest text."""
        return self._ask(part)

    @classmethod
    def of(cls, least: Least) -> "Answers":
        """Wrap `least`, if needed; then nothing is kept.

        >>> answers = Answers.of(lambda part: b"{}")
        >>> answers.settled(), Answers.of(answers) is answers
        (False, True)
        """
        return least if isinstance(least, cls) else cls(least, lambda: False, {})

    def recall(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """The cached value of a key, made if it is missing; a full cache is cleared."""
        found = self._kept.get(key)
        if found is None:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            found = self._kept[key] = make()
        return found


Match: TypeAlias = Callable[[str], Expr]
"""The strings that an ECMA pattern matches as a whole, spelled in some way."""

Lower: TypeAlias = Callable[[Match], Expr]
"""The strings of a format, made by matching."""


def rebuilt(
    root: Expr,
    parts: Callable[[Expr], Sequence[Expr]],
    make: Callable[[Expr, Mapping[Expr, Made]], Made],
    made: MutableMapping[Expr, Made] | None = None,
) -> Made:
    """Apply `make` bottom-up: to each node, with the results for its parts; `made` keeps them.

    >>> from guideway.language.expr import literal
    >>> rebuilt(literal("a"), lambda node: (), lambda node, made: literal("b")) is literal("b")
    True
    """
    made = {} if made is None else made
    stack = [root]
    while stack:
        node = stack[-1]
        missing = [] if node in made else [part for part in parts(node) if part not in made]
        stack += missing
        if not missing:
            stack.pop()
            if node not in made:
                made[node] = make(node, made)
    return made[root]
