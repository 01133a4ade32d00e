"""Meets of grammars and regexes, put together in any way: against their texts, one by one.

A sequence of meets, a choice of them, a meet of that again: what `&` looks ahead for ends where its
part of the text does. The oracle has the texts of each part of at most four letters, from Lark and
`re`, and puts these together as sets.
"""

import itertools
import random
import re
from collections.abc import Callable
from typing import TypeAlias

import lark
import pytest

import guideway as gw
from guideway.automaton.token_tries import unpack
from guideway.errors import UnsatisfiableError
from guideway.sources.sources import Source

VOCABULARY = gw.Vocabulary([bytes((b,)) for b in range(128)])
TEXTS = ["".join(text) for length in range(5) for text in itertools.product("12+(", repeat=length)]
LARKS = (
    ('start: N ("+" N)*\nN: /[12]+/\n', "lalr", "contextual"),
    ('start: x\nx: "(" x "(" | N\nN: /1+2?/\n', "lalr", "contextual"),
    ('start: (W | N)+\nN: /[12]+/\nW: /\\+(?!1)/\n%ignore "("\n', "lalr", "contextual"),
    ('start: A B | A C\nA: /1+/\nB: "2"\nC: /12|1\\+/\n', "earley", "dynamic"),
)
REGEXES = (
    ".{1,3}", ".{2,4}", "1.*|2", "[12]*", r".*\+.*", "..?1?", r"(1|\+)*", ".*2", r"\(.*", r"1\+?1?",
    "(..)*", "[^1]*1?",
)  # fmt: skip

Part: TypeAlias = tuple[Source, set[str]]


def _read(grammar: str, parser: str, text: str) -> bool:
    try:
        _parsers[grammar, parser].parse(text)
    except lark.exceptions.LarkError:
        return False
    return True


_parsers = {(text, parser): lark.Lark(text, parser=parser) for text, parser, _ in LARKS}
_NESTED = re.compile(r"(\(*)[12+]+(\(*)")


def _nests(text: str) -> bool:
    found = _NESTED.fullmatch(text)
    return found is not None and len(found[1]) == len(found[2])


GRAMMARS: list[Part] = [
    (gw.Lark(text, lexer=lexer), {each for each in TEXTS if _read(text, parser, each)})
    for text, parser, lexer in LARKS
]
GRAMMARS.append((gw.Gbnf('root ::= [12+]+ | "(" root "("'), {*filter(_nests, TEXTS)}))


def _met(part: Part, regex: str) -> Part:
    return part[0] & gw.Regex(regex), {text for text in part[1] if re.fullmatch(regex, text)}


def _any(dice: random.Random, depth: int) -> Part:
    makers: list[Callable[[], Part]] = [
        lambda: _met(_met(dice.choice(GRAMMARS), ".{0,4}"), dice.choice(REGEXES)),
        lambda: _without(_met(dice.choice(GRAMMARS), ".{0,4}"), dice.choice(REGEXES)),
        lambda: _listed(dice.sample(TEXTS, dice.randint(1, 3))),
        lambda: _followed(_any(dice, depth - 1), _any(dice, depth - 1)),
        lambda: _or(_any(dice, depth - 1), _any(dice, depth - 1)),
        lambda: _met(_any(dice, depth - 1), dice.choice(REGEXES)),
    ]
    return dice.choice(makers if depth else makers[:3])()


def _without(part: Part, regex: str) -> Part:
    return part[0] - gw.Regex(regex), {text for text in part[1] if not re.fullmatch(regex, text)}


def _listed(texts: list[str]) -> Part:
    return gw.Choice(texts), {*texts}


def _followed(part: Part, other: Part) -> Part:
    return part[0] + other[0], {text + more for text in part[1] for more in other[1]}


def _or(part: Part, other: Part) -> Part:
    return part[0] | other[0], part[1] | other[1]


@pytest.mark.untraced
@pytest.mark.parametrize("seed", [*range(40), 157, 229])
def test_meets_in_sequences_choices_and_meets_have_the_texts_that_they_should(seed: int) -> None:
    _check(seed)


@pytest.mark.slow
@pytest.mark.untraced
@pytest.mark.parametrize("seed", range(40, 2_000))
def test_the_same_of_many(seed: int) -> None:
    _check(seed)


def _check(seed: int) -> None:
    dice = random.Random(seed)
    made, texts = _any(dice, 2)
    most = max(8, min(map(len, texts), default=0))
    source = made & gw.Regex(f"(?s).{{0,{most}}}")
    try:
        constraint = gw.compile(source, VOCABULARY)
    except UnsatisfiableError:
        assert not texts
        return
    assert texts
    for text in TEXTS:
        assert constraint.matches(text) is (text in texts), text
    for _ in range(2):
        state, text = constraint.start(), ""
        while True:
            allowed = unpack(constraint.mask(state)).tolist()
            wanted = {each[len(text)] for each in texts if len(text) < len(each) <= most
                      and each.startswith(text)}  # fmt: skip
            assert set(allowed) == {*map(ord, wanted)}, text
            assert constraint.accepts(state) is (text in texts)
            if not allowed:
                break
            token = dice.choice(allowed)
            state, text = constraint.advance(state, token), text + chr(token)
