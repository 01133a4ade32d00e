"""Rules that are told to have no end of strings: counting the lengths of their strings says so."""

import random

import guideway as gw
from guideway.automata.decided import Decisions
from guideway.automata.derivative import Derivatives
from guideway.errors import UnsatisfiableError
from guideway.lowering.endless_rules import surely_endless_rules
from guideway.lowering.expr import EMPTY, alt, concat, literal, repeat
from guideway.lowering.meets import looking
from guideway.lowering.nodes import Expr, Rule
from guideway.lowering.sources import lower_source

RULES, SYMBOLS = ("root", "p", "q"), 3
LONGEST = SYMBOLS ** len(RULES)  # of a text in which no rule stands in its own
Bodies = dict[str, list[list[str]]]


def by_chance(chance: random.Random) -> Bodies:
    symbols = ('"a"', '"b"', '"c"?', *RULES)
    return {
        rule: [
            [chance.choice(symbols) for _ in range(chance.randint(1, SYMBOLS))]
            for _ in range(chance.randint(1, 2))
        ]
        for rule in RULES
    }


def lengths(bodies: Bodies) -> set[int]:
    """Those of the strings of `root`, up to three times the longest that ends."""
    found = {rule: set[int]() for rule in RULES} | {'"a"': {1}, '"b"': {1}, '"c"?': {0, 1}}
    grown = True
    while grown:
        grown = False
        for rule, options in bodies.items():
            for option in options:
                sums = {0}
                for symbol in option:
                    sums = {one + more for one in sums for more in found[symbol]}
                new = {each for each in sums if each <= 3 * LONGEST} - found[rule]
                found[rule] |= new
                grown = grown or bool(new)
    return found["root"]


def test_what_is_told_to_be_endless_has_texts_of_any_length() -> None:
    chance, told, endless = random.Random(6), 0, 0
    for _ in range(400):
        bodies = by_chance(chance)
        text = "\n".join(
            f"{rule} ::= {' | '.join(map(' '.join, options))}" for rule, options in bodies.items()
        )
        long = any(length > LONGEST for length in lengths(bodies))
        try:
            expr = lower_source(gw.Gbnf(text))
        except UnsatisfiableError:
            continue
        answer = surely_endless_rules(expr, Derivatives(EMPTY).alive)
        assert long or not answer, text
        endless += long
        told += answer
    assert told > 0.7 * endless > 50, (told, endless)


def test_a_rule_is_endless_only_where_it_can_be_written() -> None:
    never = Rule("never")
    never.bodies.append(concat(literal("a"), never))

    def rule(*options: Expr) -> Rule:
        found = Rule("p")
        found.bodies.append(alt(*(concat(option, found) for option in options), literal("b")))
        return found

    lives = Derivatives(EMPTY).alive
    assert surely_endless_rules(rule(literal("a")), lives)
    assert surely_endless_rules(repeat(rule(literal("a")), 0, 2), lives)
    assert not surely_endless_rules(concat(rule(literal("a")), never), lives)
    assert not surely_endless_rules(rule(never), lives)
    assert not surely_endless_rules(looking(rule(literal("a")), literal("b")), lives)
    assert not surely_endless_rules(Rule("p", [literal("a")]), lives)


def test_palindromes_are_refused_beside_one_another_without_a_search() -> None:
    palindrome = gw.Gbnf('root ::= "a" root "a" | "b" root "b" | "c"?')
    made: list[int] = []
    assert Decisions(made.append).words(lower_source(palindrome)) is None
    assert sum(made) < 100
