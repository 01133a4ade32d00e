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
from fairlead.masks.stencils import stencil_of

_seeds: "WeakKeyDictionary[Gallery, Seed]" = WeakKeyDictionary()
_bare: "WeakKeyDictionary[Gallery, Seed]" = WeakKeyDictionary()
_lock = threading.Lock()
_values = lru_cache(maxsize=1)(plain_values)


def new_network(expr: Expr, machine: Derivatives, gallery: Gallery) -> Network:
    """A network for an expression, with the nodes of plain values, but not for such ones.

    A vocabulary that cannot spell each byte has none: of plain values, some would have no text.
    Where something is looked ahead for, nodes are looked at as they are made.
    """
    plain = not expr.looks and gallery.lexicon.spellable == ALL_BYTES
    with _lock:
        seed = _seed(gallery) if plain else _bare_seed(gallery)
    return Network(expr, machine, gallery, seed)


def _seed(gallery: Gallery) -> Seed:
    found = _seeds.get(gallery)
    if found is None or not _holds(found, gallery):
        values = _values()
        made = Network(values, Derivatives(values), gallery, _bare_seed(gallery))
        found = _seeds[gallery] = made.seed(values, stencil_of(made))
    return found


def _bare_seed(gallery: Gallery) -> Seed:
    found = _bare.get(gallery)
    if found is None or not _holds(found, gallery):
        found = _bare[gallery] = Seed.bare(gallery)
    return found


def _holds(seed: Seed, gallery: Gallery) -> bool:
    """Whether what a seed was made for is still there."""
    return seed.shelf is gallery.shelf() and seed.bounds is shared_bounds(gallery)
