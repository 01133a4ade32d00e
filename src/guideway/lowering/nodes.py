"""The nodes of expressions: fourteen frozen shapes, each a set of byte strings.

`lowering.expr` makes them. `inhabited`: surely not empty. `looks`: the number of levels of Ahead
inside. `yields`: can be passed without a byte if its Aheads hold.
"""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import field
from typing import ClassVar, Protocol, TypeAlias, final

from guideway.errors import GuidewayError
from guideway.syntax.frozen import by_identity

Least: TypeAlias = "Callable[[Expr], bytes | None]"


class Look(Protocol):
    """Answers about the parts of an expression."""

    @property
    def spellable(self) -> int:
        """The bytes that exist, as a 256-bit integer."""
        ...

    @property
    def settled(self) -> bool:
        """Whether nothing that was told so far may change."""
        ...

    def __call__(self, part: "Expr") -> bool | None:
        """Whether it has a text; None: not known yet, and then the question comes again."""
        ...

    def word(self, part: "Expr") -> bytes | None:
        """The shortest text of a part that no rule leads back to; None if it has none."""
        ...


class Template(Protocol):
    """A rule with a parameter, unfolded when it is reached."""

    def unfold(self, argument: Hashable, look: "Look") -> "Expr":
        """The expression that the call stands for; `look` tells at once."""
        ...

    def resume(self, argument: Hashable, captured: bytes | None) -> "Expr":
        """What follows a Capture that read `captured` (None: read, but not known)."""
        ...

    def resume_any(self, argument: Hashable) -> "Expr":
        """No less than what follows a Capture, whatever it read: for a proof that nothing does."""
        ...

    def remembers(self, argument: Hashable) -> bool:
        """Whether an argument says all that has been captured before."""
        ...

    def depends(self, argument: Hashable) -> bool:
        """Whether the length of what has to follow depends on what captures have read."""
        ...

    def lives(self, argument: Hashable, look: "Look") -> bool | None:
        """Whether `unfold(argument)` has a text; None where `look` has not told yet."""
        ...

    def lives_after(
        self, argument: Hashable, look: "Look", captured: "Callable[[], bytes | None]"
    ) -> bool | None:
        """The same for `resume(argument, captured())`; not known: about any string captured."""
        ...

    def parts(self, argument: Hashable) -> "Iterable[Expr]":
        """What may be entered from `unfold(argument)`, as far as it may be refused."""
        ...

    def least(self, argument: Hashable, least: "Least") -> bytes | None:
        """The least, in byte order, of the shortest strings of `unfold(argument)`; None if none."""
        ...

    def least_after(
        self, argument: Hashable, least: "Least", captured: bytes | None = None
    ) -> bytes | None:
        """The same for `resume(argument, captured)`; not known: about any string captured."""
        ...

    def least_begun(self, argument: Hashable, least: "Least", read: bytes) -> bytes | None:
        """The least capture that begins with `read`, and rest, if one that is needed begins so."""
        ...


@final
@by_identity
class Empty:
    """∅, the language without any string."""

    nullable: bool = False
    regular: bool = True
    inhabited: bool = False
    looks: ClassVar[int] = 0
    yields: ClassVar[bool] = False


@final
@by_identity
class Epsilon:
    """ε, the language of the empty string alone."""

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
    """Strings of both; both are regular."""

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
    """Byte strings that are not in `item`, which is regular."""

    item: "Expr"
    nullable: bool
    regular: bool = True
    inhabited: bool = False
    looks: ClassVar[int] = 0
    yields: ClassVar[bool] = False


@final
@by_identity
class Rule:
    """A name for a body that is given once, later: the knot of recursion. Never nullable."""

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
        """What the rule denotes."""
        make = self.make
        if not self.bodies and make is not None:
            self.bodies.append(make())
            object.__setattr__(self, "make", None)  # which holds what a body may be made of
        if not self.bodies:
            raise GuidewayError(f"rule {self.name} has no body yet")
        return self.bodies[0]

    def define(self, body: "Expr") -> None:
        """Tie the knot, once."""
        if self.bodies or body.nullable or body.yields:
            raise GuidewayError(f"rule {self.name} has a body already, or a nullable one")
        self.bodies.append(body)


@final
@by_identity
class Call:
    """What `template.unfold(argument)` denotes."""

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
    """No byte; what follows, up to the next Stop of this level or to the end, is in `item`."""

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
    """No byte; here ends what an Ahead of this level looks at."""

    level: int
    looks: int
    nullable: bool = True
    regular: bool = False
    inhabited: bool = False
    yields: ClassVar[bool] = True


@final
@by_identity
class Unsure:
    """Depends on bytes that are not known: to be decided by stepping through the bytes."""

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
    """One after the other, of which neither is nothing."""
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
    """Whether a Capture, or alternatives with one, stand at the head of `expr`."""
    head = expr.head if isinstance(expr, Concat) else expr
    return isinstance(head, Capture) or (isinstance(head, Alt) and head.captures)
