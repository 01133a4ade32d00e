"""Boolean formulas over atoms in negation normal form, hash-consed and never multiplied out."""

from collections.abc import Callable, Iterable
from typing import ClassVar, Final, Protocol, TypeAlias, TypeVar, final

from guideway.lowering.fuel import spend
from guideway.lowering.interning import Interned
from guideway.syntax.frozen import by_identity


class Atom(Protocol):
    """Something that holds or does not; a hashable value."""

    def opposite(self) -> "Formula":
        """The negation."""
        ...


@final
@by_identity
class Truth:
    """A constant."""

    holds: bool
    parts: ClassVar[tuple[()]] = ()
    denies: ClassVar[None] = None


@final
@by_identity
class Leaf:
    """An atom; `denies` is the atom that it negates, if that is a leaf too."""

    atom: Atom
    denies: "Formula | None" = None
    parts: ClassVar[tuple[()]] = ()


@final
@by_identity
class Every:
    """All of two or more parts, none an Every."""

    parts: "tuple[Formula, ...]"
    denies: ClassVar[None] = None


@final
@by_identity
class Some:
    """Any of two or more parts, none a Some."""

    parts: "tuple[Formula, ...]"
    denies: ClassVar[None] = None


Formula: TypeAlias = Truth | Leaf | Every | Some
TRUE: Formula = Truth(True)
FALSE: Formula = Truth(False)
_Made = TypeVar("_Made")
_MANY: Final = 64  # parts joined without fuel
_EACH: Final = 8  # parts per unit of fuel above that: 4,000 bounds of 4,000 schemas took 4 s

_nodes = Interned[Formula]()


def leaf(atom: Atom, denies: Formula | None = None) -> Formula:
    """The formula of one atom; `denies` is the leaf that it negates."""
    found = _nodes.known(atom)
    return _nodes.intern(atom, Leaf(atom, denies)) if found is None else found


def all_of(*parts: Formula) -> Formula:
    """Conjunction."""
    return _joined(parts, Every, Some, TRUE, FALSE)


def any_of(*parts: Formula) -> Formula:
    """Disjunction."""
    return _joined(parts, Some, Every, FALSE, TRUE)


def _joined(
    parts: Iterable[Formula],
    same: type[Every] | type[Some],
    other: type[Every] | type[Some],
    neutral: Formula,
    deciding: Formula,
) -> Formula:
    flat: dict[Formula, None] = {}
    for part in parts:
        if part is deciding:
            return deciding
        if type(part) is same:
            flat |= dict.fromkeys(part.parts)
        elif part is not neutral:
            flat[part] = None
    if len(flat) > 1:
        if len(flat) > _MANY:
            spend(len(flat) // _EACH)
        key = (same is Every, *map(id, flat))  # ints: the garbage collector skips them
        found = _nodes.known(key)
        if found is not None:  # one third of calls
            return found
        if not flat.keys().isdisjoint([one.denies for one in flat]):
            return deciding
        if _absorb(flat, other):
            return _joined(flat, same, other, neutral, deciding)
        return _nodes.intern(key, same(tuple(flat)))
    return next(iter(flat), neutral)


def _absorb(flat: dict[Formula, None], other: type[Every] | type[Some]) -> bool:
    """Remove absorbed parts: a or (a and b) is a."""
    known = flat.keys()
    lost = [one for one in flat if type(one) is other and not known.isdisjoint(one.parts)]
    for one in lost:
        del flat[one]
    return bool(lost)


def opposite(formula: Formula, known: "dict[Formula, Formula] | None" = None) -> Formula:
    """The negation of a formula; `known` caches negations of parts."""

    def turn(node: Formula, turned: dict[Formula, Formula]) -> Formula:
        match node:
            case Every(parts):
                return any_of(*map(turned.__getitem__, parts))
            case Some(parts):
                return all_of(*map(turned.__getitem__, parts))
            case Leaf(atom):
                return atom.opposite()
            case _:
                return FALSE if node is TRUE else TRUE

    return fold(formula, turn, known if any(part.parts for part in formula.parts) else None)


def replace(formula: Formula, change: Callable[[Atom], Formula | None]) -> Formula:
    """Replace each atom by what `change` returns; None keeps it."""

    def put(node: Formula, changed: dict[Formula, Formula]) -> Formula:
        if type(node) is Leaf:
            found = change(node.atom)
            return node if found is None else found
        parts = tuple(map(changed.__getitem__, node.parts))
        if parts == node.parts:
            return node
        return all_of(*parts) if isinstance(node, Every) else any_of(*parts)

    return fold(formula, put)


def holds(
    formula: Formula,
    judge: Callable[[Atom], bool],
    known: "dict[Formula, bool] | None" = None,
) -> bool:
    """Evaluate a formula, given the value of each atom; `known` caches values of parts."""

    def make(node: Formula, made: dict[Formula, bool]) -> bool:
        match node:
            case Every(parts):
                return all(map(made.__getitem__, parts))
            case Some(parts):
                return any(map(made.__getitem__, parts))
            case Leaf(atom):
                return judge(atom)
            case _:
                return node is TRUE

    return fold(formula, make, known)


def atoms(formula: Formula) -> list[Atom]:
    """The atoms, each once, in order of mention."""
    found: dict[Atom, None] = {}
    seen: set[Formula] = set()
    todo = [formula]
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        if type(node) is Leaf:
            found[node.atom] = None
        todo += reversed(node.parts)
    return list(found)


def fold(
    root: Formula,
    make: "Callable[[Formula, dict[Formula, _Made]], _Made]",
    known: "dict[Formula, _Made] | None" = None,
) -> "_Made":
    """Evaluate `make` bottom-up, for each shared part once; `known` holds earlier results."""
    made: dict[Formula, _Made] = {} if known is None else known
    if known is None and not [part for part in root.parts if part.parts]:  # most values
        for part in root.parts:
            made[part] = make(part, made)
        return make(root, made)
    stack, begun = [root], len(made)
    while stack:
        node = stack[-1]
        if node not in made:
            missing = [part for part in node.parts if part not in made]
            if missing:
                stack += missing
                continue
            made[node] = make(node, made)
        stack.pop()
    spend(len(made) - begun)
    return made[root]
