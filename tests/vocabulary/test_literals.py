"""Added tokens: which are matched in a text, told while it grows."""

import pytest

from guideway.vocabulary.canonical.tokens import NONE, AddedTexts, span


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
