"""Free text up to words that overlap, against looking for them from left to right."""

from itertools import product

import pytest

from guideway.lowering.fuel import metered
from guideway.lowering.regular import contains
from guideway.lowering.stop_words import up_to_words

LONG = "a" * 17  # which overlaps with itself often enough for an automaton


def first(text: str, words: list[str]) -> int | None:
    """Where the first word that is complete ends."""
    return next((n for n in range(len(text) + 1) if text[:n].endswith((*words,))), None)


@pytest.mark.parametrize(
    ("stops", "others"),
    [
        ([LONG + "b"], []),
        ([LONG], ["b"]),
        ([LONG + "b", "bab"], ["aab", "c" + LONG]),
        ([LONG + "é", "éa"], []),
        ([LONG + "é"], ["bé", "ê"]),
        (["é" * 17 + "b"], ["\U0001f600a"]),
    ],
)
def test_a_text_ends_with_the_first_word(stops: list[str], others: list[str]) -> None:
    said, more = [w.encode() for w in stops], [w.encode() for w in others]
    ended = up_to_words(said, more)
    without = up_to_words(said, more, include=False)
    assert ended is not None
    assert without is not None
    for letters in product(["a", "b", "é", "ê", LONG, "é" * 17, "\U0001f600"], repeat=3):
        text = "".join(letters)
        found = first(text, [*stops, *others])
        at_end = found == len(text) and text.endswith((*stops,))
        assert contains(ended, text.encode()) == at_end, text
        assert contains(without, text.encode()) == (found is None), text
        assert not contains(without, text.encode()[:-1] + b"\xff")


def test_few_beginnings_of_short_words_stay_an_expression() -> None:
    assert up_to_words([b"</think>", b"\n\n"]) is None
    assert up_to_words([b"a" * 16]) is None
    assert up_to_words([f"{n:04}".encode() * 20 for n in range(3)]) is not None
    assert up_to_words([bytes(range(32, 127)) * 5 + b"abcdefghijklmnopqrstuvwxyz" * 3]) is not None


def test_an_automaton_takes_as_many_parts_as_its_words() -> None:
    made: list[int] = []
    word = b"a" * 3000
    with metered(made.append):
        found = up_to_words([word])
        assert found is not None
        assert contains(found, word[1:] + b"b" + word)
    assert sum(made) < 60 * len(word)


def test_stops_of_many_lengths_overlap() -> None:
    words = [b"a" * n for n in range(2, 30)]
    found = up_to_words(words[10:], words[:10])
    assert found is not None
    assert not contains(found, words[0])  # another word is complete before a stop can be
    assert not contains(found, words[20])
