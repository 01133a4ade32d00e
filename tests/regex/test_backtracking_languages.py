"""Languages as numbers: what they hold is found by walking, and equal ones are one number."""

import random
from itertools import product

import pytest

from guideway.errors import LimitError
from guideway.language.expr import (
    ANYTHING,
    EMPTY,
    EPSILON,
    alt,
    byte_set,
    complement,
    concat,
    repeat,
)
from guideway.language.nodes import Expr
from guideway.regex.backtracking_automaton import ALL, MOST_STATES, NONE, Languages

WORDS = [word for size in range(7) for word in product(range(2), repeat=size)]


def drawn(draw: random.Random, depth: int) -> Expr:
    kind = draw.choice(["row", "either", "count", "not"]) if depth else "atom"
    if kind == "atom":
        return draw.choice([byte_set(1), byte_set(2), byte_set(3), EPSILON, ANYTHING])
    one, other = drawn(draw, depth - 1), drawn(draw, depth - 1)
    if kind == "row":
        return concat(one, other)
    if kind == "either":
        return alt(one, other)
    return complement(one) if kind == "not" else repeat(one, draw.randint(0, 1), None)


def words(languages: Languages, number: int) -> frozenset[tuple[int, ...]]:
    """The short words of a language."""
    found = set[tuple[int, ...]]()
    for word in WORDS:
        at = number
        for atom in word:
            at = languages.rows[at][atom]
        if languages.ends[at]:
            found.add(word)
    return frozenset(found)


def test_equal_languages_are_one_number_however_they_are_made():
    draw = random.Random(2)
    for _ in range(12):
        languages = Languages(2)
        numbers = {languages.number(drawn(draw, draw.randint(1, 4))) for _ in range(6)}
        for left, right in product(sorted(numbers), repeat=2):
            one, other = words(languages, left), words(languages, right)
            assert words(languages, languages.both(left, right)) == one & other
            assert words(languages, languages.either(left, right)) == one | other
            assert words(languages, languages.opposite(left)) == {*WORDS} - one
            assert languages.both(left, right) == languages.both(right, left)
            back = languages.opposite(languages.opposite(left))
            either = languages.either(languages.both(left, right), left)
            assert back == left == either
            assert languages.both(left, languages.opposite(left)) == NONE
            assert languages.either(left, languages.opposite(left)) == ALL
        rows = {(end, *row) for end, row in zip(languages.ends, languages.rows, strict=True)}
        assert len(rows) == len(languages.rows)
        # With few states, what differs, differs in a short word.
        if len(languages.rows) < 7:
            alike = {words(languages, number) for number in range(len(languages.rows))}
            assert len(alike) == len(languages.rows)


def test_circles_that_were_there_before_are_found_again():
    languages = Languages(2)
    even = repeat(concat(byte_set(1), byte_set(1)))
    odd = concat(byte_set(1), even)
    number = languages.number(even)
    count = len(languages.rows)
    assert languages.number(odd) == languages.rows[number][0]
    # The same, unrolled: its circle has four states, its tail two.
    four = repeat(concat(*[byte_set(1)] * 4))
    unrolled = alt(EPSILON, concat(*[byte_set(1)] * 2, alt(four, concat(*[byte_set(1)] * 2, four))))
    assert languages.number(alt(unrolled, even)) == number
    assert languages.number(alt(four, concat(byte_set(1), byte_set(1), four))) == number
    assert len(languages.rows) == count
    assert languages.number(EMPTY) == NONE
    assert languages.number(alt(odd, concat(byte_set(2), odd))) == count


def test_too_many_states_are_refused():
    long = concat(ANYTHING, byte_set(1), repeat(byte_set(3), 13, 13))
    with pytest.raises(LimitError, match=f"more than {MOST_STATES} states"):
        Languages(2).number(long)
