"""New networks and their seeds, one for each gallery."""

import threading
from functools import lru_cache
from weakref import WeakKeyDictionary

from guideway.automata.derivative import Derivatives
from guideway.lowering.expr import ALL_BYTES
from guideway.lowering.nodes import Expr
from guideway.masks.gallery import Gallery, shared_gallery
from guideway.masks.lexicon import Lexicon, large_lexicon, shared_lexicon
from guideway.masks.network import Network
from guideway.masks.seeds import Seed, plain_values
from guideway.vocabulary.spellings import Vocabulary

_seeds: "WeakKeyDictionary[Gallery, Seed]" = WeakKeyDictionary()
_bare: "WeakKeyDictionary[Gallery, Seed]" = WeakKeyDictionary()
_lock = threading.Lock()
_values = lru_cache(maxsize=1)(plain_values)


def new_network(expr: Expr, machine: Derivatives, gallery: Gallery) -> Network:
    """A network, from the seed of plain JSON values if the vocabulary spells all bytes.

    With lookaheads it starts bare, as nodes are then examined when they are made.
    """
    plain = not expr.looks and gallery.lexicon.spellable == ALL_BYTES
    with _lock:
        seed = _seed(gallery) if plain else _bare_seed(gallery)
    gallery.lexicon.count_anew()
    return Network(expr, machine, gallery, seed)


def succeed(vocabulary: Vocabulary, lexicon: Lexicon) -> None:
    """Make the next seed when a lexicon is outgrown: the next caller need not wait 15 ms."""
    lexicon.outgrown = False
    following = shared_lexicon(lexicon.spellable)
    if following is not lexicon and lexicon.spellable == ALL_BYTES:
        gallery = shared_gallery(vocabulary, following)
        with _lock:
            _seed(gallery)


def succeed_large(vocabulary: Vocabulary) -> None:
    """`succeed` after a compilation that asks for no mask."""
    large = large_lexicon(vocabulary.spellable)
    if large is not None:
        succeed(vocabulary, large)


def _seed(gallery: Gallery) -> Seed:
    found = _present(_seeds, gallery)
    if found is None:
        values = _values()
        made = Network(values, Derivatives(values), gallery, Seed.bare(gallery))
        found = _seeds[gallery] = made.seed(values)
    return found


def _bare_seed(gallery: Gallery) -> Seed:
    found = _present(_bare, gallery)
    if found is None:
        found = _bare[gallery] = Seed.bare(gallery)
    return found


def _present(seeds: "WeakKeyDictionary[Gallery, Seed]", gallery: Gallery) -> Seed | None:
    """The seed of a gallery for its current shelf, if it has one."""
    found, shelf = seeds.get(gallery), gallery.shelf()
    if found is not None and found.shelf is not shelf:
        found = seeds[gallery] = found.beside(shelf)
    return found
