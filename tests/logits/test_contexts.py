"""What a classifier reads of a text that is being generated."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guideway.logits.rescore import OpenText, TextContext, candidate_texts
from guideway.vocabulary.vocabulary import Vocabulary


@given(st.text(max_size=12), st.lists(st.integers(0, 60), max_size=8), st.integers(0, 20))
def test_a_text_is_the_whole_characters_of_its_bytes(text: str, places: list[int], at: int):
    """Oracle: the longest beginning of the bytes that is UTF-8."""
    data = text.encode()
    ends = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    pieces = tuple(data[a:b] for a, b in pairwise(ends))
    at = min(at, len(pieces))
    opened = OpenText.of(TextContext(pieces[:at]))
    so_far = b"".join(pieces[:at])
    whole = [len(text[:n].encode()) for n in range(len(text) + 1)]
    assert opened.text.encode() == so_far[: max(n for n in whole if n <= len(so_far))]
    assert opened.after(b"".join(pieces[at:])) == text


def test_an_unfinished_character_is_held_back_and_bytes_that_are_none_are_replaced():
    opened = OpenText.of(TextContext((b"a\xf0\x9f",)))
    assert opened.text == opened.after(b"\x98") == "a"
    assert opened.after(b"\x98\x80!") == "a😀!"
    assert opened.after(b"b") == "a\ufffdb"
    assert OpenText.of(TextContext((b"\xff", b"x"))).text == "\ufffdx"


def test_ids_without_spelling_leave_the_text_as_it_is():
    vocabulary = Vocabulary([b"a", None, b"<end>", b"b"], eos_ids={2}, width=6)
    context = TextContext.of([0, 1, 3], vocabulary, prompt="p")
    assert (context.pieces, context.step) == ((b"a", b"", b"b"), 3)
    texts = candidate_texts(OpenText.of(context), [0, 1, 2, 3, 5], vocabulary)
    assert texts == ["aba", "ab", "ab", "abb", "ab"]


def test_the_prompt_is_read_where_that_is_asked_for():
    context = TextContext((b"x", b"\xc3"), prompt="P: ")
    assert OpenText.of(context).after(b"\xa9") == "xé"
    assert OpenText.of(context, prompt=True).after(b"\xa9") == "P: xé"
    assert OpenText.of(TextContext(prompt="P: "), prompt=True).text == "P: "


def test_the_joint_is_no_part_of_the_text_however_it_is_cut():
    joint = b"\n\n"
    for pieces in ((), (b"\n",), (b"\n\n",), (b"\n\nab",), (b"\n", b"\nab")):
        rest = b"\n\nabc"[len(b"".join(pieces)) :]
        opened = OpenText.of(TextContext(pieces, prompt="P", joint=joint), prompt=True)
        assert opened.text == "P" + b"".join(pieces).decode().lstrip("\n")
        assert opened.after(rest) == "Pabc"
    begun = OpenText.of(TextContext((b"\n",), joint=joint))
    assert begun.after(b"") == ""
    assert begun.after(b"x") == "\nx"  # free text may begin otherwise
    assert OpenText.of(TextContext((b"x",), joint=joint)).text == "x"


def test_a_window_is_the_candidate_and_the_tokens_just_before_it():
    context = TextContext((b"one ", b"two ", b"three "), prompt="P")
    for window, text in ((1, ""), (2, "three "), (3, "two three "), (99, "one two three ")):
        opened = OpenText.of(context, window=window)
        assert opened.text == text
        assert opened.after(b"four") == text + "four"
    context = TextContext((b"\n", b"\n", b"a", b"b"), joint=b"\n\n")  # never a part of the joint
    assert [OpenText.of(context, window=window).text for window in (2, 4)] == ["b", "ab"]


@pytest.mark.parametrize("window", [1, 2, 3])
def test_a_window_begins_with_a_whole_character(window: int):
    context = TextContext((b"x\xf0\x9f", b"\x98", b"\x80"))
    opened = OpenText.of(context, window=window)
    assert opened.after(b"!") == {1: "!", 2: "😀!", 3: "😀!"}[window]
    inside = OpenText.of(TextContext((b"x\xe2", b"\x82")), window=window)
    assert inside.text == {1: "", 2: "", 3: "x"}[window]
    assert inside.after(b"\xac") == {1: "€", 2: "€", 3: "x€"}[window]
