"""The children that are listed by their bytes are those that the trie has."""

import random

import numpy as np

import guideway as gw
from guideway.masks.forest import Forest
from guideway.masks.gallery import shared_gallery
from guideway.masks.kernels.children import MANY
from guideway.masks.lexicon import shared_lexicon


def checked(forest: Forest, last: int) -> int:
    """How many nodes have many children, all of which are listed."""
    ends, bytes_, found = forest._end, forest._byte, 0
    for node in range(last):
        child, children = node + 1, list[int]()
        while child < ends[node]:
            children.append(child)
            child = int(ends[child])
        number = int(forest._children_at[node])
        assert (number > 0) == (len(children) >= MANY and ends[node] - node > MANY)
        if number:
            found += 1
            first = int(forest._child_first[number])
            assert forest._child_node[first : first + len(children)].tolist() == children
            bits = np.unpackbits(forest._child_set[number].view(np.uint8), bitorder="little")
            assert np.flatnonzero(bits).tolist() == [int(bytes_[child]) for child in children]
    return found


def test_all_that_has_many_children_is_listed() -> None:
    draw = random.Random(5)
    letters = [*b'abcdefghij"\\, \n{}:[]0123456789.-', *range(0xC2, 0xE0), *range(0x80, 0xC0)]
    tokens = {bytes((byte,)) for byte in range(256)}
    tokens |= {bytes(draw.choices(letters, k=draw.randint(2, 5))) for _ in range(6000)}
    vocabulary = gw.Vocabulary([*sorted(tokens), None], eos_ids={len(tokens)})
    constraint = gw.compile(gw.JsonSchema({"properties": {"ab": {"type": "string"}}}), vocabulary)
    state = constraint.start()
    for byte in b'{"ab":"c","d":[1]}':
        constraint.mask(state)
        state = constraint.advance(state, vocabulary.tokens.index(bytes((byte,))))
    forest = shared_gallery(vocabulary, shared_lexicon(vocabulary.spellable)).forest
    whole = int(forest._end[0])
    first = checked(forest, whole)
    assert forest._free > whole  # with tries of what is left behind strings and numbers
    assert checked(forest, forest._free) > first > 20
