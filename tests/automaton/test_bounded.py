"""Patterns whose length is bounded: whole masks, near both bounds and far from them.

The plain engine knows no bounds beside patterns, but one expression for both.
"""

from typing import Any

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

import guideway as gw
from guideway.automaton.kernels import layout as at
from regex_samples import trees
from shares import one_in
from two_engines import Both, explored, vocabulary

PATTERNS = [  # with the fewest and the most characters
    (r"^[a-z][a-z0-9]*$", 0, 9),
    (r"^[a-z][a-z0-9]*$", 5, None),
    (r"^(ab)*$", 5, 9),
    (r"^(abc)*d?$", 5, 12),
    (r"^\S+( \S+){0,3}$", 6, 20),
    (r"^é+$|^x+y$", 4, 7),
    (r"^(a|bb)*(💩|zz)$", 6, 8),
    (r"[0-9]", 4, 8),
    (r"^(?!abc).*$", 0, 8),
    (r'^(?:\\+|x)"💩$', 5, None),
    (r"^(\d{3}|\d{5})x*$", 5, 9),
    (r"^[^\d]*z$", 0, 24),
    (r"a.{5}b", 0, 12),
    (r"é.{5}x|\d.{3}z$", 3, 11),
    (r"^[a-z]{1,9}(@[a-z.]{2,6}){0,2}$", 0, 20),
    (r"^(?:[a-z]{3,9}|[a-m]{2}[0-9]{12})x$", 4, 18),
    (r"^[a-z0-9]{0,7}(?:[xyz]{5}é|\d{2,9}y)$", 0, 22),
]


@pytest.fixture(autouse=True)
def _anew() -> None:
    """Each test makes its own lexical states."""
    gw.clear_cache()


def strings(pattern: str, low: int, high: int | None) -> dict[str, Any]:
    bounds = {"minLength": low, "maxLength": high}
    return {"type": "string", "pattern": pattern, **{k: v for k, v in bounds.items() if v}}


def bounded_nodes(both: Both) -> int:
    arena = both.fast._states._pda.arena
    return sum(arena.record(node)[0] == at.BOUNDED for node in range(arena.context.nodes.used))


def check(schema: Any, texts: int) -> Both:
    both, seen = Both(gw.JsonSchema(schema), vocabulary(700)), set[Any]()
    for place in explored(both, str(schema), texts, 14):
        if place[0] not in seen:
            seen.add(place[0])
            both.check(place)
    return both


@pytest.mark.parametrize(("pattern", "low", "high"), PATTERNS)
def test_masks_are_those_of_the_plain_engine(pattern: str, low: int, high: int | None) -> None:
    assert bounded_nodes(check(strings(pattern, low, high), 5)) > 2


FORMATS = [  # of characters of one byte, whose fewest are told by those alone
    {"format": "ipv4", "minLength": 9, "maxLength": 12},
    {"format": "hostname", "minLength": 5, "maxLength": 8, "pattern": "a.b"},
    {"format": "time", "minLength": 12, "maxLength": 16},
    {"format": "date-time", "minLength": 24},
    {"format": "uri", "maxLength": 12},
    {"format": "duration", "minLength": 4, "pattern": "[13]"},
    {"allOf": [{"format": "ipv6"}, {"maxLength": 9}, {"not": {"format": "ipv6", "minLength": 6}}]},
]


@pytest.mark.parametrize("schema", FORMATS, ids=str)
def test_masks_of_formats_are_those_of_the_plain_engine(schema: dict[str, Any]) -> None:
    check({"type": "string", **schema}, 4)


ATOMS = ["a", "b", "[ab]", "[a-z]", "é", ".", r"\S", "[^a]", "ab", "(?:ab|c)", '"', r"\\", "💩"]
INNER = trees(ATOMS, 8).map(lambda pattern: pattern.replace("{,", "{0,"))
FRAMES = st.sampled_from(["^{}$", "^{}$", "{}", "^(?!ab){}$"])
FEWEST = st.sampled_from([0, 0, 1, 2, 3, 5, 8])
MORE = st.sampled_from([None, 0, 1, 3, 7, 20])


@pytest.mark.untraced
@one_in(4)
@given(FRAMES, INNER, FEWEST, MORE, st.booleans())
def test_masks_of_drawn_patterns_are_those_of_the_plain_engine(
    frame: str, inner: str, low: int, more: int | None, within: bool
) -> None:
    schema = strings(frame.format(inner), low, None if more is None else low + more)
    try:
        check({"type": "array", "items": schema, "maxItems": 3} if within else schema, 2)
    except gw.UnsatisfiableError:
        reject()
