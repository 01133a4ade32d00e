"""The prefix tree of keys against lists of strings."""

from hypothesis import given
from hypothesis import strategies as st

from guideway.json_schema.key_classes import KeyTrie

NAMES = st.lists(st.text(st.sampled_from("abé"), max_size=4), unique=True, max_size=8)


@given(NAMES, st.data())
def test_a_walk_finds_the_chosen_keys_and_no_other(names, data):
    trie = KeyTrie(names)
    chosen = data.draw(st.sets(st.sampled_from(range(len(names))))) if names else set()
    keys = trie.among(chosen)
    found = {}
    todo = [(0, "")]
    while todo:
        node, prefix = todo.pop()
        below = {index for index in chosen if names[index].startswith(prefix)}
        assert set(trie.below(node, keys)) == below
        assert trie.depth(node) == len(prefix)
        index = trie.key(node, keys)
        if index is not None:
            found[prefix] = index
        todo += [(child, prefix + character) for character, child in trie.children(node, keys)]
    assert found == {names[index]: index for index in chosen}
