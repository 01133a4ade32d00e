"""Nodes of expressions: fourteen frozen shapes, each a set of byte strings; see `lowering.expr`.

`inhabited`: surely not empty. `looks`: number of levels of Ahead inside. `yields`: may match the
empty string if its Aheads hold.
"""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import field
from typing import ClassVar, Protocol, TypeAlias, final

from guideway.errors import GuidewayError
from guideway.syntax.frozen import by_identity

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

    def resume_any(self, argument: Hashable) -> "Expr":
        """A superset of the rest after a Capture of any string, to prove that there is none."""
        ...

    def remembers(self, argument: Hashable) -> bool:
        """Return True if an argument determines all that was captured before."""
        ...

    def depends(self, argument: Hashable) -> bool:
        """Return True if the length of the rest depends on what captures read."""
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

    def least_after(
        self, argument: Hashable, least: "Least", captured: bytes | None = None
    ) -> bytes | None:
        """`least` of `resume(argument, captured)`; None means any captured string."""
        ...

    def least_begun(self, argument: Hashable, least: "Least", read: bytes) -> bytes | None:
        """The least capture that begins with `read`, and its rest; None if no needed one does."""
        ...


@final
@by_identity
class Empty:
    """The empty language."""

    nullable: bool = False
    regular: bool = True
    inhabited: bool = False
    looks: ClassVar[int] = 0
    yields: ClassVar[bool] = False


@final
@by_identity
class Epsilon:
    """The language of the empty string."""

    nullable: bool = True
    regular: bool = True
    inhabited: bool = True
    looks: ClassVar[int] = 0
    yields: ClassVar[bool] = False


@final
@by_identity
class Bytes:
    """One byte b with bit b of `members` set."""

    members: int
    nullable: bool = False
    regular: bool = True
    inhabited: bool = True
    looks: ClassVar[int] = 0
    yields: ClassVar[bool] = False


@final
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


@final
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


@final
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


@final
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


@final
@by_identity
class Not:
    """Complement of a regular expression, over byte strings."""

    item: "Expr"
    nullable: bool
    regular: bool = True
    inhabited: bool = False
    looks: ClassVar[int] = 0
    yields: ClassVar[bool] = False


@final
@by_identity
class Rule:
    """A named expression, defined later to allow recursion. Never nullable."""

    name: str
    bodies: "list[Expr]" = field(default_factory=list["Expr"], repr=False)
    nullable: bool = False
    regular: bool = False
    inhabited: bool = False
    make: "Callable[[], Expr] | None" = field(default=None, repr=False)
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


@final
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


@final
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


@final
@by_identity
class Ahead:
    """Lookahead: what follows, up to the next Stop of this level or the end, is in `item`."""

    item: "Expr"
    level: int
    nullable: bool
    looks: int
    regular: bool = False
    inhabited: bool = False
    yields: ClassVar[bool] = True


@final
@by_identity
class Stop:
    """The end of the text that an Ahead of this level looks at."""

    level: int
    looks: int
    nullable: bool = True
    regular: bool = False
    inhabited: bool = False
    yields: ClassVar[bool] = True


@final
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
