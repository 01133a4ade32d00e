"""Equal nodes are the same object: the table of all that live, by what makes each different.

A key names the parts of a node by `id`: as long as the node lives, so do its parts, and no other
object has their ids. Were the parts in the key, the table would keep every recursive rule alive.
"""

import threading
import weakref
from collections.abc import Hashable

from fairlead.lowering.fuel import spend
from fairlead.lowering.nodes import Expr

nodes: dict[Hashable, "weakref.KeyedRef[Hashable, Expr]"] = {}
_lock = threading.RLock()  # taken again when the collector calls _forget in the middle


def known(key: Hashable) -> Expr | None:
    """The node with this key, which tells everything that makes it different.

    A key names the parts by `id`: as long as the node lives, so do its parts, and no other object
    has their ids. Were the parts in the key, this table would keep every recursive rule alive.
    """
    found = nodes.get(key)
    return None if found is None else found()


def intern(key: Hashable, node: Expr) -> Expr:
    """The node that is known by this key: `node`, if there was none."""
    spend(1)
    made = weakref.KeyedRef(node, _forget, key)
    with _lock:
        found = known(key)
        if found is None:
            nodes[key] = made
        return found or node


def _forget(gone: "weakref.KeyedRef[Hashable, Expr]") -> None:
    """What nobody holds has no key any more."""
    with _lock:
        if nodes.get(gone.key) is gone:
            del nodes[gone.key]
