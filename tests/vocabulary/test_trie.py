"""The trie against a dictionary of prefixes, which shares no code with it."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from guideway.vocabulary.trie import Trie

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


@given(VOCABULARIES)
def test_a_subtree_holds_the_tokens_that_begin_so(tokens: list[bytes | None]) -> None:
    trie = Trie.build(tokens)
    for node in range(len(trie)):
        path = prefix_of(trie, node)
        expected = [i for i, token in enumerate(tokens) if token and token.startswith(path)]
        assert sorted(trie.subtree_tokens(node).tolist()) == expected


@given(VOCABULARIES, st.text("ab\0ÿ", max_size=8).map(lambda text: text.encode("latin-1")))
def test_prefixes_are_the_lengths_of_the_tokens_the_data_begins_with(
    tokens: list[bytes | None], data: bytes
) -> None:
    trie = Trie.build(tokens)
    for at in range(len(data) + 1):
        expected = {len(token) for token in tokens if token and data.startswith(token, at)}
        assert trie.prefixes(data, at) == sorted(expected)


def test_the_picture_in_the_module_is_right() -> None:
    trie = Trie.build([b"a", b"ab", b"b", b"ab"])
    assert trie.byte.tobytes()[1:] == b"abb"
    assert trie.parent.tolist() == [-1, 0, 0, 1]
    assert trie.first_child.tolist() == [1, 3, 4, 4, 4]
    assert trie.token_offsets.tolist() == [0, 0, 1, 2, 4]
    assert trie.token_ids.tolist() == [0, 2, 1, 3]
    assert trie.level_offsets.tolist() == [0, 1, 3, 4]


def test_a_token_of_two_thousand_bytes_is_an_ordinary_path() -> None:
    long = bytes(range(250)) * 8
    trie = Trie.build([long, b"a", long[:1500]])
    assert len(trie) == 2002
    assert trie.ids(long).tolist() == [0]
    assert trie.prefixes(long + b"a") == [1500, 2000]


def test_a_vocabulary_without_spellings_is_a_root_alone() -> None:
    trie = Trie.build([None, b""])
    assert len(trie) == 1
    assert trie.first_child.tolist() == [1, 1]
    assert trie.subtree_tokens(0).tolist() == []


def test_the_arrays_cannot_be_written() -> None:
    trie = Trie.build([b"a"])
    arrays = (getattr(trie, name) for name in Trie.__slots__)
    assert not any(array.flags.writeable for array in arrays)
    assert {getattr(trie, name).dtype for name in Trie.__slots__} == {
        np.dtype(np.uint8),
        np.dtype(np.int32),
    }
