"""What a state does not know of what captures have read."""

import pytest

from guideway.language import shortest_string as captures
from guideway.language.expr import UNSURE, ahead, alt, call, capture, concat, literal, repeat
from guideway.language.shortest_string import CERTAIN, UNTOLD, VAGUE, Doubts
from toys import Distinct

A, B = literal("a"), literal("b")
TEMPLATE = Distinct()
KNOWN = call(TEMPLATE, frozenset((b"a",)))
UNKNOWN = call(TEMPLATE, frozenset((None,)))


@pytest.mark.parametrize(
    ("state", "doubt"),
    [
        (A, CERTAIN),
        (KNOWN, CERTAIN),
        (alt(concat(A, KNOWN), concat(B, capture(A, b"", TEMPLATE, frozenset()))), CERTAIN),
        (UNKNOWN, VAGUE),
        (concat(ahead(A), repeat(concat(A, UNKNOWN)), B), VAGUE),
        (capture(A, None, TEMPLATE, frozenset()), VAGUE),
        (capture(concat(A, UNKNOWN), b"", TEMPLATE, frozenset()), VAGUE),
        (UNSURE, UNTOLD),
        (alt(concat(A, UNKNOWN), concat(B, UNSURE)), UNTOLD),
    ],
)
def test_what_is_not_known_is_found_wherever_it_stands(state, doubt):
    doubts = Doubts()
    assert [doubts.of(state), doubts.of(state)] == [doubt, doubt]


def test_what_is_certain_is_looked_at_again_when_that_is_forgotten(monkeypatch):
    monkeypatch.setattr(captures, "_MOST_KNOWN", 0)
    doubts = Doubts()
    assert [doubts.of(KNOWN) for _ in range(3)] == [CERTAIN] * 3
