"""The trie in preorder, against sorted sets of prefixes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guideway.errors import LimitError
from guideway.vocabulary.trie import FlatTrie
from guideway.vocabulary.vocabulary import Vocabulary

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
VOCABULARIES = st.lists(SPELLINGS, max_size=40)


def prefixes_of(tokens: list[bytes | None]) -> list[bytes]:
    """All prefixes of tokens but the empty one, in byte order."""
    return sorted({token[:n] for token in tokens if token for n in range(1, len(token) + 1)})


@given(VOCABULARIES)
def test_nodes_are_the_prefixes_in_byte_order(tokens: list[bytes | None]) -> None:
    trie, prefixes = FlatTrie.build(tokens), prefixes_of(tokens)
    assert len(trie) == len(prefixes)
    assert trie.byte.tolist() == [prefix[-1] for prefix in prefixes]
    assert trie.depth.tolist() == [len(prefix) for prefix in prefixes]
    below = [sum(other.startswith(prefix) for other in prefixes) for prefix in prefixes]
    assert trie.end.tolist() == [i + count for i, count in enumerate(below)]


@given(VOCABULARIES)
def test_the_tokens_below_a_node_are_one_range(tokens: list[bytes | None]) -> None:
    trie = FlatTrie.build(tokens)
    for node, prefix in enumerate(prefixes_of(tokens)):
        low, high = trie.token_offsets[node], trie.token_offsets[node + 1]
        assert trie.token_ids[low:high].tolist() == [i for i, t in enumerate(tokens) if t == prefix]
        below = trie.token_ids[low : trie.token_offsets[trie.end[node]]].tolist()
        assert sorted(below) == [i for i, t in enumerate(tokens) if t and t.startswith(prefix)]


@given(VOCABULARIES)
def test_the_root_knows_the_node_of_each_single_byte(tokens: list[bytes | None]) -> None:
    trie, prefixes = FlatTrie.build(tokens), prefixes_of(tokens)
    singles = {prefix[0]: node for node, prefix in enumerate(prefixes) if len(prefix) == 1}
    assert trie.root.tolist() == [singles.get(byte, -1) for byte in range(256)]


def test_the_picture_in_the_module_is_right() -> None:
    trie = Vocabulary([b"a", b"ab", b"b", b"ab"]).flat_trie
    assert trie.byte.tobytes() == b"abb"
    assert trie.depth.tolist() == [1, 2, 1]
    assert trie.end.tolist() == [2, 2, 3]
    assert trie.token_offsets.tolist() == [0, 1, 3, 4]
    assert trie.token_ids.tolist() == [0, 1, 3, 2]
    assert {byte: node for byte, node in enumerate(trie.root.tolist()) if node >= 0} == {
        ord("a"): 0,
        ord("b"): 2,
    }


def test_the_longest_token_that_a_depth_can_count_is_an_ordinary_path() -> None:
    long = bytes(range(255)) * 257
    trie = FlatTrie.build([long, b"a", long[:1500]])
    assert len(trie) == 65_536
    assert int(trie.depth.max()) == 65_535
    assert trie.token_ids.tolist() == [2, 0, 1]


def test_a_longer_token_is_refused() -> None:
    with pytest.raises(LimitError, match="a token has 65536 bytes"):
        FlatTrie.build([b"a", bytes(65_536)])


def test_a_vocabulary_without_spellings_has_no_nodes() -> None:
    trie = FlatTrie.build([None, b""])
    assert len(trie) == 0
    assert trie.token_offsets.tolist() == [0]


def test_the_arrays_cannot_be_written() -> None:
    trie = FlatTrie.build([b"a"])
    arrays = [getattr(trie, name) for name in FlatTrie.__slots__]
    assert not any(array.flags.writeable for array in arrays)
    assert [array.dtype for array in arrays] == [
        np.dtype(kind) for kind in ("u1", "u2", "i4", "i4", "i4", "i4")
    ]
