"""Emptiness of expressions, exact, mostly without finding a text.

Recursive rules take the least fixed point: an empty part is decided again when a part that it
depends on turns out to have a text.
"""

from collections.abc import Callable, Iterable
from typing import final

from guideway.automata.consulted import Consulted
from guideway.automata.least import Least
from guideway.lowering.endless import surely_endless
from guideway.lowering.expr import ALL_BYTES, EMPTY
from guideway.lowering.linear import parts_of
from guideway.lowering.nodes import (
    Ahead,
    Alt,
    And,
    Bytes,
    Call,
    Capture,
    Concat,
    Expr,
    Not,
    Repeat,
    Rule,
)

_DEEP = 200  # expressions visited before the shortest string is searched for
_PLAIN = 32  # and in the first quick look


@final
class Living:
    """Expressions known to have a text, and known to be empty."""

    def __init__(
        self,
        spellable: int,
        least: Least,
        arcs: Callable[[Expr], list[tuple[int, Expr]]],
        fuel: Callable[[int], None],
    ) -> None:
        self.least = least
        self._consulted: Consulted | None = None
        self.spellable = spellable
        self._arcs, self._fuel = arcs, fuel
        self._all_bytes = spellable == ALL_BYTES
        self._known: dict[Expr, bool] = {}

    def consult(self, consulted: Consulted | None) -> None:
        """Set the kernels that decide regular expressions; None: search for a text."""
        self.least.consulted = self._consulted = consulted

    def forget(self) -> None:
        self._known.clear()

    def check(self, root: Expr) -> bool:
        """Return True if `root` has a text.

        >>> from guideway.automata.derivative import Derivatives
        >>> from guideway.lowering.expr import EMPTY, alt, concat, literal
        >>> rule = Rule("list")
        >>> rule.define(concat(literal("."), rule))
        >>> Derivatives(rule).alive(rule), Derivatives(alt(rule, literal("."))).alive(rule)
        (False, False)
        """
        found = self.known(root)
        if found is None:
            found = self._is_plainly_alive(root) or self._solve(root)
        return found

    def _is_plainly_alive(self, root: Expr) -> bool:
        """Return True if the first options lead to a text."""
        todo, left = [root], _PLAIN
        while todo and left:
            part, left = todo.pop(), left - 1
            match part:
                case Concat(head, tail):
                    todo += (tail, head)
                case Alt(options):
                    todo.append(options[0])
                case Bytes(members) if members & self.spellable:
                    pass
                case Repeat(item, low):
                    todo += (item,) if low else ()
                case Ahead():
                    pass
                case _:
                    if not self.known(part):
                        return False
        return not todo

    def _solve(self, root: Expr) -> bool:
        known = self._known
        asked = {root}
        waiting: dict[Expr, dict[Expr, None]] = {}
        stack, look = [root], _Asking(self, root, asked, waiting)
        while stack and root not in known:
            node = look.node = stack[-1]
            look.missing, look.settled = None, True
            if node in known:
                stack.pop()
            elif self._tells(node, look):
                known[node] = True
                stack.pop()
                stack.extend(waiting.pop(node, ()))
            elif look.missing is not None:
                asked.add(look.missing)
                stack.append(look.missing)
            else:
                stack.pop()
            self._fuel(1)
        if root not in known:  # a fixed point: all else is empty
            known.update((node, False) for node in asked if node not in known)
        return known[root]

    def settle(self, root: Expr) -> None:
        """Decide each part that can be entered, so that errors come when compiling."""
        seen, todo = {root}, [root]
        while todo:
            node = todo.pop()
            self._fuel(2)
            if (node.looks or self.check(node)) and not node.regular:
                found = [part for part in _entered(node) if part not in seen]
                seen.update(found)
                todo.extend(found)

    def known(self, part: Expr) -> bool | None:
        return True if part.inhabited and self._all_bytes else self._known.get(part)

    @property
    def settled(self) -> bool:
        return True

    def __call__(self, part: Expr) -> bool:
        return self.check(part)

    def word(self, part: Expr) -> bytes | None:
        word = self.least.word(part)
        return None if word is None else word.text

    def _tells(self, node: Expr, look: "_Asking") -> bool:  # noqa: PLR0911  an arm for each node
        match node:
            case Bytes(members):
                return bool(members & self.spellable)
            case Concat(head, tail):
                return bool(look(head) and look(tail))
            case Alt(options):
                return any(look(option) for option in options)
            case Repeat(item, low):
                return low == 0 or bool(look(item))
            case And() | Not():
                return self._is_plain(node) or self._judged(node)
            case Rule():
                return bool(look(node.body))
            case Call(template, argument):
                return bool(template.lives(argument, look))
            case Capture(item, read):
                return bool(look(item)) and bool(
                    node.template.lives_after(node.argument, look, lambda: self._read(item, read))
                )
            case _:
                return node is not EMPTY

    def _is_plain(self, node: Expr) -> bool:
        """Return True if a regular expression has a string that needs no search."""
        return node.nullable or (self._all_bytes and (node.inhabited or surely_endless(node)))

    def _judged(self, root: Expr) -> bool:
        consulted = self._consulted
        return self._search(root) if consulted is None else consulted.alive(root)

    def _search(self, root: Expr) -> bool:
        """Search depth first for a few steps, then for the nearest text."""
        known = self._known
        came: dict[Expr, Expr | None] = {root: None}
        stack = [root]
        while stack:
            if len(came) > _DEEP:
                return self.least.word(root) is not None
            node = stack.pop()
            for _, target in self._arcs(node):
                if target in came or known.get(target) is False:
                    continue
                came[target] = node
                if target in known or self._is_plain(target):
                    way: Expr | None = target
                    while way is not None:
                        known[way], way = True, came[way]
                    return True
                stack.append(target)
            self._fuel(1)
        known.update(dict.fromkeys(came, False))
        return False

    def _read(self, item: Expr, read: bytes | None) -> bytes | None:
        """A complete content of a capture that has read `read`, or None."""
        text = None if read is None else self.word(item)
        return None if read is None or text is None else read + text


@final
class _Asking:
    """Questions of a node about its parts; records dependents, and the first unknown part."""

    __slots__ = ("_asked", "_known", "_living", "_waiting", "missing", "node", "settled")

    def __init__(
        self, living: Living, node: Expr, asked: set[Expr], waiting: dict[Expr, dict[Expr, None]]
    ) -> None:
        self._living, self._asked, self._waiting = living, asked, waiting
        self._known = living.known
        self.node = node
        self.missing: Expr | None = None
        self.settled = True

    @property
    def spellable(self) -> int:
        return self._living.spellable

    def __call__(self, part: Expr) -> bool | None:
        """Return True if a part has a text; None if it must be decided first."""
        found = self._known(part)
        if found is None:
            if isinstance(part, Ahead):  # a lookahead restricts only what follows
                return True
            self.settled = False
            if part in self._asked:
                self._waiting.setdefault(part, {})[self.node] = None
                return False
            self.missing = self.missing or part
        return found

    def word(self, part: Expr) -> bytes | None:
        return self._living.word(part)


def _entered(node: Expr) -> Iterable[Expr]:
    """Expressions that a text enters from a node that is not regular."""
    match node:
        case Rule():
            return () if node.inhabited else (node.body,)
        case Call(template, argument):
            return template.parts(argument)
        case _:  # captures appear while a template is read, never before
            return parts_of(node)
