"""A table of what lives, by what makes it different; its entries may outlive what they are of."""

import gc

from guideway.language.nodes import Interned, _Entry


class Thing:
    """Something that can be held weakly."""


def test_what_is_known_is_given_and_what_nobody_holds_is_not():
    table, first = Interned[Thing](), Thing()
    assert table.intern("a", first) is first
    assert table.intern("a", Thing()) is first
    assert table.known("b") is None
    del first
    gc.collect()
    assert not table.nodes


def test_an_entry_of_which_nobody_has_been_told_is_replaced():
    """Its callback comes when a thread goes on; what has taken its place meanwhile stays."""
    table, gone = Interned[Thing](), Thing()
    late = _Entry(gone)
    late.key = "a"
    table.nodes["a"] = late
    del gone
    gc.collect()
    following = Thing()
    assert table.intern("a", following) is following
    table._forget(late)
    assert table.known("a") is following
