"""Laws of numbers that kernels read digit by digit: they are those of the plain engine."""

import random
from dataclasses import replace
from decimal import Decimal
from itertools import product

import pytest

from guideway.lowering.expr import ALL_BYTES
from guideway.lowering.nodes import Expr
from guideway.lowering.numbers import lower_numbers
from guideway.lowering.regular import contains
from guideway.masks.kernels import record_layout as at
from guideway.masks.kernels.layout import ACCEPTS, DEAD_END, GOES_ON
from guideway.masks.lexicon import Lexicon
from guideway.masks.records import Records
from guideway.syntax.json_schema_tree import Bound, Numbers

BOUNDS = [
    *("0", "1", "-1", "5", "10", "65535", "0.5", "-0.001", "99.99", "1e3", "12345678901234567890"),
    *("1e-7", "2.5e8", "-32768", "123456", "0.000001", "1e300", "-1e-300", "7.000001", "100000"),
]
TEXTS = [
    *("0", "-0", "0.0", "1", "-1", "5.0", "50e-1", "0.5", "0.05e1", "65535", "65536", "65535.0"),
    *("6.5535e4", "655350e-1", "1e5", "1E+5", "100000", "1e-7", "0.0000001", "123456789", "1e400"),
    *("12345678901234567890", "12345678901234567891", "-32768", "-32769.5", "99.990", "99.991"),
    *("0.000000", "00", "1.", ".5", "1e", "5e00", "5e-0", "1e1000", "250000000", "2.5E8", "7.0"),
]


def ranges(seed: int) -> list[tuple[Numbers, bool]]:
    """Numbers between random bounds, and whether they are written plainly."""
    chosen = random.Random(seed)
    found: list[tuple[Numbers, bool]] = []
    for _ in range(60):
        low, high = (
            (Bound(Decimal(chosen.choice(BOUNDS)), chosen.random() < 0.3),)
            if chosen.random() < 0.7
            else ()
            for _ in range(2)
        )
        integer = chosen.random() < 0.5
        digits = integer and chosen.random() < 0.2
        plain = chosen.random() < 0.3
        factors = () if integer else (Decimal(chosen.choice(("0.1", "0.01", "1", "0.001"))),)
        multiples = factors if chosen.random() < 0.5 else ()
        numbers = Numbers(integer=integer, digits=digits, lower=low, upper=high)
        found.append((replace(numbers, multiples=multiples), plain))
    return found


def read(lexicon: Lexicon, state: int, text: bytes) -> int:
    """The state behind a text."""
    for byte in text:
        lexicon.expand(state)
        state = int(lexicon.rows[state][byte])
        if state == DEAD_END:
            break
    return state


def texts(seed: int) -> list[str]:
    """Texts of numbers, some of them none."""
    chosen = random.Random(seed)
    signs, letters = ("", "", "-"), ("", "", "", "e", "E-", "e+")
    found = [*TEXTS]
    for _ in range(150):
        digits = "".join(chosen.choices("0015679", k=chosen.randint(1, 7)))
        fraction = "." + "".join(chosen.choices("0019", k=chosen.randint(1, 7)))
        letter = chosen.choice(letters)
        exponent = letter + str(chosen.randint(0, 9)) if letter else ""
        found.append(chosen.choice(signs) + digits + chosen.choice(("", "", fraction)) + exponent)
    return found


@pytest.mark.parametrize("seed", range(8))
def test_places_are_those_of_the_plain_engine(seed: int) -> None:
    lexicon = Lexicon(ALL_BYTES)
    for numbers, plain in ranges(seed):
        expr = lower_numbers(numbers, plain=plain)
        if not lexicon.alive(expr):
            assert not any(contains(expr, text.encode()) for text in texts(seed))
            continue
        start = lexicon.state(expr)
        for text in texts(seed):
            state = read(lexicon, start, text.encode())
            taken = state != DEAD_END and bool(lexicon.flags[state] & ACCEPTS)
            assert taken == contains(expr, text.encode()), (numbers, plain, text)


@pytest.mark.parametrize("seed", range(4))
def test_what_kernels_say_of_a_place_is_an_expression_again(seed: int) -> None:
    """And a state that is no end always goes on to one."""
    lexicon, chosen = Lexicon(ALL_BYTES), random.Random(seed)
    for numbers, plain in ranges(seed):
        expr = lower_numbers(numbers, plain=plain)
        if not lexicon.alive(expr):
            continue
        for text in chosen.sample(texts(seed), 12):
            cut = chosen.randint(0, len(text))
            state = read(lexicon, lexicon.state(expr), text[:cut].encode())
            if state == DEAD_END:
                continue
            lexicon.expand(state)
            assert lexicon.flags[state] & (ACCEPTS | GOES_ON)
            rest: Expr = lexicon.expr(state)
            for more in (text[cut:], "", "0", ".5", "e1"):
                assert contains(rest, more.encode()) == contains(expr, (text[:cut] + more).encode())


def test_ranges_are_written_as_places_and_other_multiples_are_not() -> None:
    def is_place(numbers: Numbers, spellable: int = ALL_BYTES) -> bool:
        records = Records(spellable, 100)
        records.record(lower_numbers(numbers))
        kinds = records._arrays[at.RECORD][at.KIND :: at.WIDTH]
        return at.PLACE in kinds.tolist()

    low = (Bound(Decimal(3)),)
    assert is_place(Numbers(lower=low))
    assert is_place(Numbers(integer=True, lower=low))
    assert is_place(Numbers(lower=low, multiples=(Decimal("0.1"),)))
    assert is_place(Numbers(lower=low, multiples=(Decimal("0.01"),)))
    assert not is_place(Numbers(lower=low, multiples=(Decimal("0.001"),)))
    assert not is_place(Numbers(lower=low, multiples=(Decimal(3),)))
    assert not is_place(Numbers(lower=low), ALL_BYTES & ~(1 << ord("e")))


@pytest.mark.parametrize("factor", [None, "1", "0.1", "0.01"])
def test_a_range_that_surely_has_a_number_has_one(factor: str | None) -> None:
    values = [Decimal(text) for text in ("-2", "-1.5", "0", "0.2", "0.4", "1", "1.5", "2", "3.7")]
    values += [Decimal(text) for text in ("0.04", "0.051", "0.057", "1.98")]
    multiples = () if factor is None else (Decimal(factor),)
    for low, high in product(values, values):
        for closed in product((False, True), repeat=2):
            bounds = (Bound(low, closed[0]),), (Bound(high, closed[1]),)
            expr = lower_numbers(Numbers(multiples=multiples, lower=bounds[0], upper=bounds[1]))
            step = Decimal(factor or "0.01")
            counts = {int(end / step) + more for end in (low, high) for more in range(-1, 2)}
            between = [low, high, (low + high) / 2, *(step * count for count in counts)]
            some = any(contains(expr, str(value).encode()) for value in between)
            assert expr.inhabited == some, (low, high, closed)
