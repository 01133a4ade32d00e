"""New networks, and what they begin with: a seed for each gallery, made for its first network.

What this module does not know: what is in a seed.
"""

import threading
from functools import lru_cache
from weakref import WeakKeyDictionary

from fairlead.automata.derivative import Derivatives
from fairlead.lowering.expr import ALL_BYTES
from fairlead.lowering.nodes import Expr
from fairlead.masks.bounded import shared_bounds
from fairlead.masks.gallery import Gallery
from fairlead.masks.network import Network
from fairlead.masks.seeds import Seed, plain_values

_seeds: "WeakKeyDictionary[Gallery, Seed]" = WeakKeyDictionary()
_lock = threading.Lock()
_values = lru_cache(maxsize=1)(plain_values)


def new_network(expr: Expr, machine: Derivatives, gallery: Gallery) -> Network:
    """A network for an expression, with the nodes of plain values, but not for such ones.

    A vocabulary that cannot spell each byte has none: of plain values, some would have no text.
    Where something is looked ahead for, nodes are looked at as they are made.
    """
    plain = not expr.looks and gallery.lexicon.spellable == ALL_BYTES
    return Network(expr, machine, gallery, _seed(gallery) if plain else Seed.bare(gallery))


def _seed(gallery: Gallery) -> Seed:
    shelf, bounds = gallery.shelf(), shared_bounds(gallery)
    with _lock:
        found = _seeds.get(gallery)
        if found is None or found.shelf is not shelf or found.bounds is not bounds:
            values = _values()
            made = Network(values, Derivatives(values), gallery, Seed.bare(gallery))
            found = _seeds[gallery] = made.seed(values)
        return found
