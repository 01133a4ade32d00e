"""Grammars over the letters a, b and c by chance, which look ahead here and there."""

import random
from typing import Final

from guideway.language.expr import (
    ANYTHING,
    ahead,
    alt,
    byte_set,
    complement,
    concat,
    literal,
    repeat,
    stop,
)
from guideway.language.nodes import Expr, Rule

NOT_A: Final = complement(concat(byte_set(b"a"), ANYTHING))
NOT_AB: Final = complement(concat(literal("ab"), ANYTHING))
EVEN: Final = repeat(concat(byte_set(b"abc"), byte_set(b"abc")))
HAS_C: Final = concat(ANYTHING, literal("c"), ANYTHING)
GUARDS: Final = {NOT_A: "(?!a).*", NOT_AB: "(?!ab).*", EVEN: "(..)*", HAS_C: ".*c.*"}


def random_grammar(seed: int) -> Expr:
    """Rules that begin with a letter each."""
    chance = random.Random(seed)
    rules = [Rule(f"r{number}", looks=2) for number in range(3)]

    def letter() -> Expr:
        return byte_set(bytes(chance.sample(b"abc", chance.choice([1, 1, 2]))))

    def lookahead() -> Expr:
        return ahead(chance.choice([*GUARDS]), chance.randrange(2))

    def part(depth: int) -> Expr:
        often = chance.choice([1, 2, None])
        flat = [letter, letter, lookahead, lambda: chance.choice(rules)]
        flat.append(lambda: repeat(letter(), 0, often))
        deep = [
            lambda: alt(word(depth - 1), word(depth - 1)),
            lambda: alt(lookahead(), word(depth - 1)),
            lambda: repeat(word(depth - 1), 0, often),
        ]
        return chance.choice([*flat, *deep] if depth else flat)()

    def word(depth: int) -> Expr:
        return concat(letter(), *(part(depth) for _ in range(chance.choice([0, 1, 1, 2]))))

    for rule in rules:
        rule.define(alt(word(2), word(1), letter()))
    inner = concat(ahead(chance.choice([*GUARDS])), rules[0], stop(0))
    return chance.choice(
        [
            rules[0],
            concat(rules[0], rules[1]),
            concat(ahead(HAS_C, 1), rules[0]),
            concat(inner, rules[1]),
            concat(ahead(EVEN, 1), inner, repeat(byte_set(b"ac")), stop(1), repeat(letter())),
        ]
    )
