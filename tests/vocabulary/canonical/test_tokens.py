"""Canonical tokens, held to the tokenizers library: every short sequence, and texts at random."""

import itertools
import random

import numpy as np
import pytest

from canonical_tokenizers import TOKENIZERS, automaton, vocabulary
from guideway.vocabulary.canonical.tokens import NONE, AddedTexts, CanonicalAutomaton, span


def is_canonical(own: CanonicalAutomaton, tokens: tuple[int, ...]) -> bool:
    """As the automaton has it, what the normaliser might change included."""
    place, before, tail = own.start, -1, ""
    for token in tokens:
        joined = own.joins(before, token)
        after = own.after(place, token, joined=joined)
        if not after or not own.stays(place, tail, token):
            return False
        tail = own.tail(place, tail, token)
        place, before = after, token
    return own.ends(place)


@pytest.mark.parametrize("name", TOKENIZERS)
def test_a_sequence_is_canonical_exactly_if_encoding_its_text_gives_it(name: str) -> None:
    own, spelled = automaton(name), vocabulary(name).tokens
    tokens = [token for token, data in enumerate(spelled) if data]
    found = 0
    for length in (1, 2, 3):
        for some in itertools.product(tokens, repeat=length):
            text = b"".join(spelled[token] or b"" for token in some)
            wanted = own.encode(text) == some
            assert is_canonical(own, some) == wanted, (text, some)
            found += wanted
    assert found > 50


@pytest.mark.parametrize("name", TOKENIZERS)
def test_a_longer_text_has_one_canonical_sequence_and_the_automaton_takes_it(name: str) -> None:
    own, spelled = automaton(name), vocabulary(name).tokens
    tokens = [token for token, data in enumerate(spelled) if data]
    chance = random.Random(0)
    for _ in range(300):
        some = tuple(chance.choices(tokens, k=chance.randint(4, 9)))
        text = b"".join(spelled[token] or b"" for token in some)
        encoded = own.encode(text)
        assert encoded is None or is_canonical(own, encoded), text
        assert is_canonical(own, some) == (encoded == some), text


@pytest.mark.parametrize("name", TOKENIZERS)
def test_what_is_read_for_all_tokens_at_once_is_what_is_read_for_each(name: str) -> None:
    own, spelled = automaton(name), vocabulary(name).tokens
    tokens = np.array([token for token, data in enumerate(spelled) if data])
    chance = random.Random(1)
    for _ in range(40):
        place, before = own.start, -1
        for _ in range(6):
            each = {
                joined: [own.after(place, int(token), joined=joined) for token in tokens]
                for joined in (False, True)
            }
            for joined, after in each.items():
                assert own.afters(place, tokens, joined=joined).tolist() == after
            ways = [
                (int(token), after)
                for at, token in enumerate(tokens)
                if (after := each[own.joins(before, int(token))][at])
            ]
            if not ways:
                break
            before, place = chance.choice(ways)


def test_what_completes_a_character_is_told_with_the_fewest_tokens() -> None:
    own, spelled = automaton("gpt2"), vocabulary("gpt2").tokens
    (lead,) = [token for token, data in enumerate(spelled) if data == b"\xc3"]
    place = own.after(own.start, lead, joined=False)
    found = own.completions(place, lead)
    completed = [[spelled[token] for token in route] for route in found.routes]
    assert completed == [[b"\xaa"], [b"\x97"], [b"\xa5"]]  # with 0xA9 it is merged
    assert not found.others
    assert own.completions(place, lead) is found


def test_one_that_began_before_is_matched_in_the_place_of_another() -> None:
    marks = AddedTexts(["ab", "bc"])
    begun = marks.read(NONE, "a")
    assert begun is not None
    assert marks.goes_on(begun, "b")
    assert marks.matched(begun, "bc") is None
    assert marks.matched(NONE, "bc") == NONE


@pytest.mark.parametrize("length", [1, 2, 3])
def test_the_characters_that_begin_with_some_bytes_are_a_span(length: int) -> None:
    spans: dict[bytes, tuple[int, int]] = {}
    for code in [*range(0x80, 0xD800, 7), *range(0xE000, 0x110000, 97), 0x7FF, 0x800, 0x10FFFF]:
        begun = chr(code).encode()[:length]
        if len(chr(code).encode()) > length:
            low, high = spans.setdefault(begun, span(begun))
            assert low <= code <= high
    assert all(chr(low).encode().startswith(begun) for begun, (low, _) in spans.items())
    assert all(
        high in range(0xD800, 0xE000) or chr(high).encode().startswith(begun)
        for begun, (_, high) in spans.items()
    )
