"""The trie against sorted sets of prefixes, which share no code with it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guideway.errors import LimitError
from guideway.vocabulary.trie import Trie, levels
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
    trie, prefixes = Trie.build(tokens), prefixes_of(tokens)
    assert len(trie) == len(prefixes)
    assert trie.byte.tolist() == [prefix[-1] for prefix in prefixes]
    assert trie.depth.tolist() == [len(prefix) for prefix in prefixes]
    below = [sum(other.startswith(prefix) for other in prefixes) for prefix in prefixes]
    assert trie.end.tolist() == [i + count for i, count in enumerate(below)]


@given(VOCABULARIES)
def test_the_tokens_below_a_node_are_one_range(tokens: list[bytes | None]) -> None:
    trie = Trie.build(tokens)
    for node, prefix in enumerate(prefixes_of(tokens)):
        low, high = trie.token_offsets[node], trie.token_offsets[node + 1]
        assert trie.token_ids[low:high].tolist() == [i for i, t in enumerate(tokens) if t == prefix]
        below = trie.token_ids[low : trie.token_offsets[trie.end[node]]].tolist()
        assert sorted(below) == [i for i, t in enumerate(tokens) if t and t.startswith(prefix)]


@given(VOCABULARIES)
def test_levels_hold_the_prefixes_of_one_length_with_their_parents(
    tokens: list[bytes | None],
) -> None:
    prefixes, count = [*prefixes_of(tokens), b""], 0  # the empty one is last: -1
    for length, (nodes, parents) in enumerate(levels(Trie.build(tokens).depth), 1):
        assert {len(prefixes[node]) for node in nodes} == {length}
        assert [prefixes[p] for p in parents] == [prefixes[node][:-1] for node in nodes]
        count += len(nodes)
    assert count == len(prefixes) - 1


@given(VOCABULARIES, st.binary(max_size=2) | st.sampled_from([b"a", b"ab", b"a\0", b"xxxx"]))
def test_tokens_are_found_by_their_bytes(tokens: list[bytes | None], data: bytes) -> None:
    vocabulary = Vocabulary(tokens)
    assert vocabulary.ids(data) == [i for i, token in enumerate(tokens) if token and token == data]
    begun = sorted(i for i, token in enumerate(tokens) if token and token.startswith(data))
    assert sorted(vocabulary.beginning(data).tolist()) == begun
    for at in range(len(data) + 1):
        expected = {len(token) for token in tokens if token and data.startswith(token, at)}
        assert vocabulary.prefixes(data, at) == sorted(expected)


def test_a_longer_token_is_refused() -> None:
    with pytest.raises(LimitError, match="a token has 65536 bytes"):
        Trie.build([b"a", bytes(65_536)])


def test_the_arrays_cannot_be_written() -> None:
    trie = Trie.build([b"a"])
    assert not any(getattr(trie, name).flags.writeable for name in Trie.__slots__)
