"""Context-free grammars against their languages by brute force: sets of strings, to a fixpoint."""

import itertools
import random

import pytest

import guideway as gw
from guideway.automaton.token_tries import unpack
from guideway.context_free.gbnf import Characters, Grammar, Item, Name, Terminal, Word, parse_gbnf
from guideway.context_free.lowering import lower_grammar
from guideway.language.derivative import Derivatives
from plain_texts import matches

LETTERS = gw.Vocabulary([b"a", b"b", b"ab", b"<eos>"], eos_ids={3})
LONGEST = 5
STRINGS = ["".join(p) for n in range(LONGEST + 1) for p in itertools.product("ab", repeat=n)]


def language(grammar: Grammar) -> set[str]:
    """Its texts up to `LONGEST` letters."""
    known: dict[str, set[str]] = {name: set() for name in grammar.rules}
    while True:
        grown = {
            name: set().union(*(joined([counted(i, known) for i in each]) for each in alternatives))
            for name, alternatives in grammar.rules.items()
        }
        if grown == known:
            return known[grammar.start]
        known = grown


def joined(parts: list[set[str]]) -> set[str]:
    found = {""}
    for part in parts:
        found = {x + y for x in found for y in part if len(x + y) <= LONGEST}
    return found


def counted(item: Item, known: dict[str, set[str]]) -> set[str]:
    one = atom(item, known)
    high = item.low + LONGEST if item.high is None else item.high
    return set().union(*(joined([one] * count) for count in range(item.low, high + 1)))


def atom(item: Item, known: dict[str, set[str]]) -> set[str]:
    match item.atom:
        case Word(text):
            return {text}
        case Name(rule):
            return known[rule]
        case Characters(ranges, negated):
            return {c for c in "ab" if any(x <= ord(c) <= y for x, y in ranges) != negated}
        case Terminal(name):
            raise AssertionError(f"GBNF has no terminals, but here is {name}")


def check(text: str) -> None:
    expected = language(parse_gbnf(text))
    try:
        constraint = gw.compile(gw.Gbnf(text), LETTERS)
    except gw.UnsatisfiableError:
        assert not expected, text
        return
    assert {s for s in STRINGS if constraint.matches(s)} == expected, text
    assert spelled(constraint) == expected, text


def spelled(constraint) -> set[str]:
    """What can be reached by single letters, mask by mask."""
    found: set[str] = set()
    states = [("", constraint.start())]
    while states:
        text, state = states.pop()
        if constraint.accepts(state):
            found.add(text)
        if len(text) < LONGEST:
            allowed = set(unpack(constraint.mask(state)).tolist()) & {0, 1}
            states.extend((text + "ab"[t], constraint.advance(state, t)) for t in allowed)
    return found


@pytest.mark.parametrize(
    "text",
    [
        'root ::= root root | "a" | ""',
        'root ::= x "a" | "b"\nx ::= root "b" | "a"',
        'root ::= y root "a" | "b"\ny ::= "b"?',
        'root ::= x\nx ::= y "b" | root "a"\ny ::= x | "b" | root root',
        'root ::= x{2,3} | "" y*\nx ::= [^b] root?\ny ::= "b" x?',
        'root ::= x* "b"\nx ::= x x | ("a" | x "b")?',
        'root ::= ((("a"))+ "b"?){2}',
        'root ::= x y? z\nx ::= "a" | ""\ny ::= z "b" | x\nz ::= y "a" | "b"',
        'root ::= x\nx ::= y | "a" | ""\ny ::= z | y x "b"\nz ::= x y | root "a" | "b"',
        'root ::= "a" x "b" | y\nx ::= y | "b"\ny ::= x | root "a" | root{0} "b"',
    ],
)
def test_a_grammar_has_exactly_its_texts(text: str):
    check(text)


@pytest.mark.parametrize("seed", range(20))
def test_random_grammars_have_exactly_their_texts(seed: int):
    rng = random.Random(seed)

    def piece() -> str:
        part = rng.choice(['"a"', '"b"', '"ab"', "[a-b]", "root", "x", '"a" root', '("b" | x)'])
        return part + rng.choice(["", "", "", "?", "*", "{1,2}"])

    def rule() -> str:
        options = [" ".join(piece() for _ in range(rng.randint(1, 2))) for _ in range(2)]
        return " | ".join([*options, '"b"'])

    check(f"root ::= {rule()}\nx ::= {rule()}")


def test_a_grammar_whose_texts_never_end_is_refused_by_the_names_of_its_rules():
    with pytest.raises(gw.UnsatisfiableError, match="leads to one of them: root, x") as caught:
        gw.compile(gw.Gbnf('root ::= "a" x\nx ::= (root | x) "b"\ny ::= "a"'), LETTERS)
    assert caught.value.conflict == ("root", "x")


@pytest.mark.parametrize("rest", ["", ' "a"'])
def test_a_circle_of_a_thousand_left_recursive_rules_is_no_trouble(rest: str):
    circle = [f'r{n} ::= r{(n + 1) % 1000}{rest} | "{n:b}"' for n in range(1000)]
    source = gw.Gbnf("\n".join(["root ::= r0", *circle]))
    digits = gw.Vocabulary([b"0", b"1", b"a", b"<eos>"], eos_ids={3})
    constraint = gw.compile(source, digits, gw.Budget(fuel=100_000))
    assert constraint.matches("111" + "a" * 7 * len(rest[:1]))
    assert constraint.matches("0" + "a" * 2000 * len(rest[:1]))
    assert not constraint.matches("111a")


@pytest.mark.untraced
@pytest.mark.parametrize(("text", "right"), [
    ("root ::= r0\n" + "".join(f"r{n} ::= r{n + 1}\n" for n in range(3000)) + 'r3000 ::= "a"', "a"),
    ("\n".join(["root ::= r0", *(f'r{n} ::= "a" r{n + 1} "b"' for n in range(2000)),
                'r2000 ::= "b"']), "a" * 2000 + "b" * 2001),
    ("root ::= " + "(" * 3000 + '"a"' + ")" * 3000, "a"),
], ids=["chain", "deep", "nested"])  # fmt: skip
def test_long_chains_of_rules_are_no_trouble(text: str, right: str):
    assert gw.compile(gw.Gbnf(text), LETTERS).matches(right)


@pytest.mark.parametrize(("text", "letters"), [
    ('root ::= root root | "a"', "a" * 300),
    ('root ::= "a" root "a" | "a" root | "a"', "a" * 60),
    ('root ::= "b" | root root "a" | root "a" root root | ""', "ba" * 20),
    ('root ::= a b | b a | ""\na ::= root "x" root | "x"\nb ::= root "y" root | "y"', "xyyx" * 8),
])  # fmt: skip
def test_ambiguous_grammars_take_no_time_exponential_in_the_text(text: str, letters: str) -> None:
    spent = 0

    def count(made: int) -> None:
        nonlocal spent
        spent += made

    machine = Derivatives(lower_grammar(parse_gbnf(text, "root")), fuel=count)
    assert matches(machine, letters)
    assert spent < 20_000
