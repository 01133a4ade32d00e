"""The trie against a dictionary of prefixes, which shares no code with it."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guideway.errors import LimitError
from guideway.vocabulary.trie import FlatTrie, Trie

VOCABULARIES = st.lists(
    st.one_of(
        st.none(),
        st.text("ab\0ÿ", max_size=5).map(lambda text: text.encode("latin-1")),
        st.binary(max_size=4),
    ),
    max_size=40,
)


def prefix_of(trie: Trie, node: int) -> bytes:
    spelling = bytearray()
    while node:
        spelling.append(int(trie.byte[node]))
        node = int(trie.parent[node])
    return bytes(reversed(spelling))


def prefixes_of(tokens: list[bytes | None]) -> dict[bytes, list[int]]:
    """Each prefix of a token, with the ids that are spelled exactly so."""
    table: dict[bytes, list[int]] = {b"": []}
    for number, token in enumerate(tokens):
        for length in range(1, len(token or b"") + 1):
            table.setdefault((token or b"")[:length], [])
        if token:
            table[token].append(number)
    return table


@given(VOCABULARIES)
def test_nodes_are_the_prefixes_breadth_first_in_byte_order(tokens: list[bytes | None]) -> None:
    trie = Trie.build(tokens)
    paths = [prefix_of(trie, node) for node in range(len(trie))]
    assert paths == sorted(prefixes_of(tokens), key=lambda prefix: (len(prefix), prefix))
    assert [prefix_of(trie, int(parent)) for parent in trie.parent[1:]] == [
        path[:-1] for path in paths[1:]
    ]
    assert trie.parent[0] == -1


@given(VOCABULARIES)
def test_levels_hold_the_prefixes_of_one_length(tokens: list[bytes | None]) -> None:
    trie = Trie.build(tokens)
    offsets = trie.level_offsets.tolist()
    assert offsets[0] == 0
    assert offsets[-1] == len(trie)
    for length, (low, high) in enumerate(itertools.pairwise(offsets)):
        assert low < high
        assert {len(prefix_of(trie, node)) for node in range(low, high)} == {length}


@given(VOCABULARIES)
def test_every_node_holds_the_ids_spelled_so_duplicates_included(
    tokens: list[bytes | None],
) -> None:
    trie = Trie.build(tokens)
    table = prefixes_of(tokens)
    for node in range(len(trie)):
        low, high = trie.token_offsets[node], trie.token_offsets[node + 1]
        assert trie.token_ids[low:high].tolist() == table[prefix_of(trie, node)]
    for prefix, ids in table.items():
        assert trie.ids(prefix).tolist() == ids


@given(VOCABULARIES, st.binary(max_size=2))
def test_children_are_the_prefixes_one_byte_longer(tokens: list[bytes | None], tail: bytes) -> None:
    trie = Trie.build(tokens)
    table = prefixes_of(tokens)
    for node in range(len(trie)):
        path = prefix_of(trie, node)
        low, high = trie.first_child[node], trie.first_child[node + 1]
        children = sorted(p for p in table if len(p) == len(path) + 1 and p.startswith(path))
        assert [prefix_of(trie, child) for child in range(low, high)] == children
        for byte in tail:
            child = trie.child(node, byte)
            assert (child >= 0) == (path + bytes([byte]) in table)
    assert trie.ids(tail).tolist() == table.get(tail, [])


@given(VOCABULARIES, st.text("ab\0ÿ", max_size=8).map(lambda text: text.encode("latin-1")))
def test_prefixes_are_the_lengths_of_the_tokens_the_data_begins_with(
    tokens: list[bytes | None], data: bytes
) -> None:
    trie = Trie.build(tokens)
    for at in range(len(data) + 1):
        expected = {len(token) for token in tokens if token and data.startswith(token, at)}
        assert trie.prefixes(data, at) == sorted(expected)


def test_the_arrays_cannot_be_written() -> None:
    trie = Trie.build([b"a"])
    arrays = (getattr(trie, name) for name in Trie.__slots__)
    assert not any(array.flags.writeable for array in arrays)
    assert {getattr(trie, name).dtype for name in Trie.__slots__} == {
        np.dtype(np.uint8),
        np.dtype(np.int32),
    }


# The trie in preorder, and the sort below it, against sorted sets of prefixes.

SPELLINGS = st.one_of(
    st.none(),
    st.text("ab\0ÿ", max_size=5).map(lambda text: text.encode("latin-1")),
    st.binary(max_size=4),
    # Long ones that agree in many bytes, NULs among them.
    st.tuples(st.integers(0, 18), st.sampled_from([b"", b"\0", b"a", b"a\0"])).map(
        lambda pair: bytes(pair[0]) + pair[1]
    ),
    st.tuples(st.integers(6, 18), st.binary(max_size=2)).map(lambda pair: b"x" * pair[0] + pair[1]),
)
TRIE_VOCABULARIES = st.lists(SPELLINGS, max_size=40)


def prefixes_of_flat(tokens: list[bytes | None]) -> list[bytes]:
    """All prefixes of tokens but the empty one, in byte order."""
    return sorted({token[:n] for token in tokens if token for n in range(1, len(token) + 1)})


@given(TRIE_VOCABULARIES)
def test_nodes_are_the_prefixes_in_byte_order(tokens: list[bytes | None]) -> None:
    trie, prefixes = FlatTrie.build(tokens), prefixes_of_flat(tokens)
    assert len(trie) == len(prefixes)
    assert trie.byte.tolist() == [prefix[-1] for prefix in prefixes]
    assert trie.depth.tolist() == [len(prefix) for prefix in prefixes]
    below = [sum(other.startswith(prefix) for other in prefixes) for prefix in prefixes]
    assert trie.end.tolist() == [i + count for i, count in enumerate(below)]


@given(TRIE_VOCABULARIES)
def test_the_tokens_below_a_node_are_one_range(tokens: list[bytes | None]) -> None:
    trie = FlatTrie.build(tokens)
    for node, prefix in enumerate(prefixes_of_flat(tokens)):
        low, high = trie.token_offsets[node], trie.token_offsets[node + 1]
        assert trie.token_ids[low:high].tolist() == [i for i, t in enumerate(tokens) if t == prefix]
        below = trie.token_ids[low : trie.token_offsets[trie.end[node]]].tolist()
        assert sorted(below) == [i for i, t in enumerate(tokens) if t and t.startswith(prefix)]


def test_a_longer_token_is_refused() -> None:
    with pytest.raises(LimitError, match="a token has 65536 bytes"):
        FlatTrie.build([b"a", bytes(65_536)])


def test_the_flat_arrays_cannot_be_written() -> None:
    trie = FlatTrie.build([b"a"])
    arrays = [getattr(trie, name) for name in FlatTrie.__slots__]
    assert not any(array.flags.writeable for array in arrays)
    assert [array.dtype for array in arrays] == [
        np.dtype(kind) for kind in ("u1", "u2", "i4", "i4", "i4", "i4")
    ]
