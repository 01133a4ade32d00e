"""How many places of a pattern may be open at once, against the states that its automaton has."""

import random

import pytest

import guideway as gw
from guideway.constraint.lowering import lower_source
from guideway.constraint.pattern_intersections import overlap
from guideway.language.derivative import Derivatives

LETTERS = b"abcd"
COUNTS = [("*", 1), ("+", 1), ("?", 1), *((f"{{{n}}}", n) for n in (2, 3, 5))]
COUNTS += [("{1,3}", 3), ("{2,}", 3)]


@pytest.mark.parametrize(
    ("pattern", "places"),
    [
        ("", 0),
        ("abc", 2),
        ("a{5}", 1),
        ("abc|def", 4),
        ("^(?:jpe?g|png)$", 0),
        ("a.{12}b", 14),
        (r"a\d{3}[^\]x]{2}\p{L}{4}b", 12),
        ("^a.{12}b", 0),
        ("^.*a.{12}b", 13),
        ("^a|b.{3}c", 6),
        ("^a|^b.{3}c", 1),
        ("(a.{3}b){4}", 14),
        ("^([a-z]{1,9}-){2,3}$", 19),
        ("^(?:.{7})*$", 3),
        ("^[a-z]{1,63}$", 1),
        ("^(?!.*ab)(?=.{2}c)", 3),
        ("(?<=a.{12})b", 14),
        ("^(a|b)*a(a|b){20}$", 21),
        ("^(a+)?b{2,}c*$", 3),
        ("a.{999999999}b.{999999999}", 1 << 20),
        ("a" * 10_001, 1 << 20),
        # What is no pattern has some number as well: it is refused elsewhere.
        ("*a", 1),
        ("a)b(.", 3),
        ("[", 1),
    ],
)
def test_places_that_may_be_open_at_once(pattern: str, places: int) -> None:
    assert overlap(pattern) == places


def _pattern(dice: random.Random, depth: int) -> tuple[str, int]:
    """A pattern, and how many characters it has where all that is counted is written out."""
    kind = dice.random()
    if depth == 0 or kind < 0.35:
        return dice.choice(["a", "b", "c", ".", "[ab]", "[^a]"]), 1
    if kind < 0.75:
        parts = [_pattern(dice, depth - 1) for _ in range(dice.randint(2, 4))]
        texts = [text for text, _ in parts]
        joined = "".join(texts) if kind < 0.6 else f"(?:{'|'.join(texts)})"
        return joined, sum(size for _, size in parts)
    text, size = _pattern(dice, depth - 1)
    count, often = dice.choice(
        [
            ("*", 1),
            ("+", 1),
            ("?", 1),
            ("{2}", 2),
            ("{3}", 3),
            ("{1,3}", 3),
            ("{2,}", 3),
            ("{5}", 5),
        ]
    )
    return f"(?:{text}){count}", size * often


def _states(pattern: str, most: int) -> int:
    """How many states an automaton has that looks for the pattern, if no more than so many."""
    beginning = "" if pattern.startswith("^") else "[abcd]*"
    start = lower_source(gw.Regex(f"{beginning}(?:{pattern.removeprefix('^')})[abcd]*"))
    machine = Derivatives(start)
    seen, todo = {start}, [start]
    while todo and len(seen) <= most:
        state = todo.pop()
        for letter in LETTERS:
            after = machine.after(state, letter)
            if after not in seen:
                seen.add(after)
                todo.append(after)
    return len(seen)


@pytest.mark.parametrize("seed", range(120))
def test_an_automaton_has_no_more_states_than_its_places_make(seed: int) -> None:
    dice = random.Random(seed)
    text, size = _pattern(dice, 3)
    for pattern in (text, f"^{text}"):
        most = 2 * (size + 2) << min(overlap(pattern), 10)
        if most < 4000:
            assert _states(pattern, most) <= most, pattern
