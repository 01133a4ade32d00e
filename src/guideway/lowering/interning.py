"""Hash-consing: a table of all live nodes; keys name parts by `id`."""

import threading
import weakref
from collections.abc import Hashable
from typing import Generic, TypeVar, final

from guideway.lowering.fuel import spend
from guideway.lowering.nodes import Expr

_Node = TypeVar("_Node")


@final
class _Entry(weakref.ref[_Node]):
    """A weak reference with its key; three times as fast to make as `weakref.KeyedRef`."""

    __slots__ = ("key",)
    key: Hashable


@final
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
