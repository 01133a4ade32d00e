"""Meets and differences of what nests: recognisers in plain Python are the oracle."""

import random
import re
from typing import TypeAlias

import interegular
import lark
import pytest
from hypothesis import given
from hypothesis import strategies as st

import guideway as gw
from guideway.automaton.token_tries import unpack
from guideway.constraint.lowering import lower_source
from guideway.errors import GuidewayError, LimitError, UnsatisfiableError
from guideway.language.derivative import Derivatives
from guideway.language.finite_languages import Decisions
from guideway.sources.sources import Source
from lark_samples import ERRORS, Blocks, OutOfFuelError, accepted, by_chance, parsed
from plain_texts import matches, short_strings
from random_walks import BYTES, text_of
from regex_samples import oracle, reader, trees

BALANCED = gw.Gbnf('root ::= ("(" root ")" | "x" root)?')
NEST = gw.Gbnf('root ::= "(" root ")" | "x" | root root')


def listed(most: int, low: int) -> gw.JsonSchema:
    """Arrays of whole numbers, and what is in them; nested, so that they are not regular."""
    number = {"type": "integer", "minimum": low}
    inner = {"type": "array", "items": {"anyOf": [number, {"$ref": "#"}]}, "maxItems": most}
    return gw.JsonSchema(inner, whitespace="compact")


PIPE, ONE, TWO, FIVE = (
    gw.Gbnf('root ::= "[" root "]" | "|"'),
    listed(1, 0),
    listed(9, 5),
    listed(9, 0),
)


@pytest.mark.parametrize(("source", "pairs"), [
    ((ONE | gw.Regex(r"\[[0-9]\]")) & TWO, [(ONE, TWO), (gw.Regex(r"\[[0-9]\]"), TWO)]),
    ((ONE & TWO | gw.Choice(["[[5]]", "[[4]]"])) & FIVE,
     [(ONE, TWO), (gw.Choice(["[[5]]", "[[4]]"]), FIVE)]),
    ((ONE | TWO) & (FIVE | gw.Choice(["[]"])), [(ONE, FIVE), (TWO, FIVE)]),
    (gw.Choice(["[5]", "[|]", "[[|]]", "[4,5]"]) - (PIPE | TWO), [(gw.Choice(["[4,5]"]), FIVE)]),
    (gw.Choice(["[5]", "[4]", "[5,5]", "|"]) - (ONE & TWO),
     [(gw.Choice(["[4]", "[5,5]"]), FIVE), (gw.Choice(["|"]), PIPE)]),
])  # fmt: skip
def test_alternatives_that_nest_meet_one_by_one(source, pairs):
    found = Derivatives(lower_source(source, Decisions()))
    each = [[Derivatives(lower_source(one, Decisions())) for one in pair] for pair in pairs]

    accepted = 0
    for text in short_strings("[]45,|", 5):
        expected = any(all(matches(one, text) for one in pair) for pair in each)
        assert matches(found, text) == expected, text
        accepted += expected
    assert accepted


MANY = NEST | "a" | "b" | "c" | "d" | "e" | "f" | "g" | "h"


@pytest.mark.parametrize(("source", "feature", "said"), [
    (NEST & BALANCED, "& of Gbnf", ""),
    (gw.Regex("[x()]*") - NEST, "- or ~ of Gbnf", ""),
    (~NEST, "- or ~ of Gbnf", ""),
    (NEST & gw.JsonSchema({"type": "array"}), "& of Gbnf", ""),
    ((NEST | ONE) & BALANCED, "& of", "Gbnf.*& Gbnf.*"),  # one of the alternatives is
    (MANY & (BALANCED | MANY), "& of", r"\| 'h'.*"),  # and they are too many
])  # fmt: skip
def test_what_cannot_be_decided_is_refused_by_name(source: Source, feature: str, said: str) -> None:
    with pytest.raises(gw.UnsupportedError, match=rf"{said}nests? without end") as error:
        gw.compile(source, BYTES)
    assert error.value.feature.startswith(feature)
    with pytest.raises(gw.UnsupportedError):
        lower_source(source)


def test_what_is_taken_from_special_tokens_leaves_texts() -> None:
    vocabulary = gw.Vocabulary([b"a", b"b", b"<s>"], special={"<s>": 2})
    made = gw.compile((gw.special("<s>") | "a") - gw.Regex("b"), vocabulary)
    assert made.mask(made.start()).tolist() == [1]


ALGEBRA_WORDS = short_strings("ab\n", 4)
SIMPLE = trees(["a", "b", "ab", "[ab]", ".", "", r"\n", "^", "$", "a{2}"], 5)
PLAIN = trees(["a", "b", "ab", "[ab]", "a{2}", "(?:aab){1,3}", "[^a]"], 5)
ALPHABET = interegular.fsm.Alphabet.from_groups("a", "b", {interegular.fsm.anything_else})


@pytest.mark.untraced
@given(SIMPLE, SIMPLE, st.sampled_from("&|-~"))
def test_operators_are_those_of_sets(left: str, right: str, operator: str) -> None:
    a, b = gw.Regex(left), gw.Regex(right)
    combined = {"&": a & b, "|": a | b, "-": a - b, "~": ~a & ~b}[operator]
    first, second = oracle(left), oracle(right)
    accepts = reader(lower_source(combined))
    here = {text for text in ALGEBRA_WORDS if first.fullmatch(text)}
    there = {text for text in ALGEBRA_WORDS if second.fullmatch(text)}
    neither = {*ALGEBRA_WORDS} - here - there
    belonging = {"&": here & there, "|": here | there, "-": here - there, "~": neither}[operator]
    assert {text for text in ALGEBRA_WORDS if accepts(text)} == belonging
    machine = Derivatives(lower_source(combined & gw.Regex(r"[ab\n]*")))
    if belonging:
        assert machine.shortest(machine.start()).decode() == min(belonging, key=in_order)


@given(PLAIN, PLAIN)
def test_whole_languages_meet_and_hold_each_other_as_automata_say(left: str, right: str) -> None:
    # Words of a few characters cannot say that of languages with long ones.
    one, other = (interegular.parse_pattern(text).to_fsm(ALPHABET) for text in (left, right))
    a, b = gw.Regex(left), gw.Regex(right)
    for source, empty in (
        (a & b, one.isdisjoint(other)),
        (a - b, one.issubset(other)),
        (b - a, other.issubset(one)),
    ):
        machine = Derivatives(lower_source(source))
        assert machine.alive(machine.start()) != empty


def in_order(text: str) -> tuple[int, bytes]:
    return len(text.encode()), text.encode()


MEETINGS = (
    "a*", "[^b]*", "(?!.*c).*", ".*ab.*", ".{1,3}", "(..)*", "a.*", ".*c", ".{2,4}", "[^a]*c?",
    "(?!.*aa).*",
)  # fmt: skip


@pytest.mark.untraced
@pytest.mark.parametrize("seed", range(150))
def test_small_grammars_meet_regexes_as_lark_and_re_say(seed: int) -> None:
    text, dice = by_chance(seed), random.Random(seed)
    try:
        parser = lark.Lark(text, parser="lalr", lexer="contextual")
        gw.compile(gw.Lark(text), BYTES)
    except (*ERRORS, GuidewayError):
        return
    known = parsed(parser, "abc", 6)
    for regex in dice.sample(MEETINGS, 3):
        for source, wanted in (
            (gw.Lark(text) & gw.Regex(regex), True),
            (gw.Lark(text) - gw.Regex(regex), False),
        ):
            expected = {t for t in known if (re.fullmatch(regex, t) is not None) is wanted}
            try:
                found = accepted(lower_source(source), "abc", 6)
            except OutOfFuelError:
                continue
            assert found == expected, (text, regex, wanted)


INDENTED = """
    start: x+
    x: "a" _NL | "b" ":" _NL _IN x+ _OUT | "(" "a"* ")" _NL
    _NL: /(\\r?\\n[ ]*|#)+/
    LPAR: "("
    RPAR: ")"
    %declare _IN _OUT
"""


@pytest.mark.parametrize("regex", ["[^\n]*\n", "(?s)[^a]*", "(?s)(?!.*b:\n a).*", "[^ ]*", "a?b?"])
@pytest.mark.parametrize("denied", [False, True])
def test_indented_lines_meet_regexes(regex: str, denied: bool) -> None:
    grammar = gw.Lark(INDENTED, postlex=Blocks())
    parser = lark.Lark(INDENTED, parser="lalr", postlex=Blocks())
    known = parsed(parser, "ab:\n ", 6) | parsed(parser, "(a)\n#", 5)
    expected = {t for t in known if (re.fullmatch(regex, t) is None) is denied}
    source = grammar - gw.Regex(regex) if denied else grammar & gw.Regex(regex)
    expr = lower_source(source)
    assert accepted(expr, "ab:\n ", 6) | accepted(expr, "(a)\n#", 5) == expected


def test_what_is_compared_is_paid_for() -> None:
    schemas = {"type": "array", "items": {"type": "integer"}}, {"not": {"type": "integer"}}
    numbers, others = (gw.JsonSchema(schema, whitespace="compact") for schema in schemas)
    with pytest.raises(LimitError, match="compiling takes more than 400000 parts"):
        gw.compile((numbers + "x") & others, BYTES, gw.Budget.untrusted())


# Shipped grammars that meet regexes: refused by name when compiled, or read to any length.

GRAMMARS = (
    "arithmetic", "json", "json_lines", "graphql", "lark", "mermaid", "regex", "sql", "toml", "xml",
    "yaml",
)  # fmt: skip
SHORT = "(?s).{1,200}"
LONG = ("mermaid", "toml", "yaml")  # which such a length makes slow


@pytest.mark.untraced
@pytest.mark.parametrize(("name", "regex", "wanted"), [
    *((name, SHORT, True) for name in GRAMMARS if name not in LONG),
    *(pytest.param(name, SHORT, True, marks=pytest.mark.slow) for name in LONG),
    *((name, r"(?s).*\*.*", False) for name in GRAMMARS),
    *((name, "(?s).*ab.*", True) for name in GRAMMARS),
])  # fmt: skip
def test_no_mask_fails_once_all_is_compiled(name: str, regex: str, wanted: bool) -> None:
    grammar, partner = gw.grammar(name), gw.Regex(regex)
    try:
        constraint = gw.compile(grammar & partner if wanted else grammar - partner, BYTES)
    except (LimitError, UnsatisfiableError) as error:
        said = str(error)
        assert "Regex(" in said
        assert "Lark(" in said or "Gbnf(" in said
        return
    for seed in range(6):
        text = text_of(constraint, random.Random(seed), 30).decode()
        assert (re.fullmatch(regex, text) is not None) is wanted


TOKENS = [*(bytes((b,)) for b in range(128)), b"12", b"+1", b"((", b"1(", b"2+1", b"11"]
VOCABULARY = gw.Vocabulary(TOKENS)
TEXTS = short_strings("12+(", 4)
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


def _matching(pattern: str) -> set[str]:
    return {text for text in TEXTS if re.fullmatch(pattern, text)}


TOGETHER_GRAMMARS: list[Part] = [
    *((gw.Lark(text, lexer=lexer), {each for each in TEXTS if _read(text, parser, each)})
      for text, parser, lexer in LARKS),
    (gw.Gbnf('root ::= [12+]+ | "(" root "("'), {*filter(_nests, TEXTS)}),
    (gw.Gbnf('root ::= "1" | root "+" root'), _matching(r"1(\+1)*")),
    # Of short texts; there may be nothing.
    (gw.Gbnf('root ::= ("(" root "2" | "1" root)?'), _matching(r"1*(\(1*(\(1*2)?2)?")),
]  # fmt: skip


def _met(part: Part, regex: str) -> Part:
    return part[0] & gw.Regex(regex), part[1] & _matching(regex)


def _leaf(dice: random.Random) -> Part:
    """A grammar that a regex meets, one without what it matches, or a list of texts."""
    kind, regex = dice.randrange(3), dice.choice(REGEXES)
    source, texts = _met(dice.choice(TOGETHER_GRAMMARS), ".{0,4}")
    if kind == 0:
        return _met((source, texts), regex)
    if kind == 1:
        return source - gw.Regex(regex), texts - _matching(regex)
    listed = dice.sample(TEXTS, dice.randint(1, 3))
    return gw.Choice(listed), {*listed}


def _any(dice: random.Random, depth: int) -> Part:
    kind = dice.choice(["leaf"] * 3 + ["met", "repeated", "followed", "either"])
    if not depth or kind == "leaf":
        return _leaf(dice)
    (one, texts), (other, more) = _any(dice, depth - 1), _any(dice, depth - 1)
    match kind:
        case "met":
            regex = dice.choice(REGEXES)
            return one & gw.Regex(regex), {text for text in texts if re.fullmatch(regex, text)}
        case "repeated":
            low = dice.randrange(2)
            twice = {text + behind for text in texts for behind in texts}
            return gw.repeat(one, low, 2), twice | texts | ({""} if not low else set())
        case "followed":
            return one + other, {text + behind for text in texts for behind in more}
        case _:
            return one | other, texts | more


@pytest.mark.untraced
@pytest.mark.parametrize(
    "seed", [*range(60), *(pytest.param(n, marks=pytest.mark.slow) for n in range(60, 2_000))]
)
def test_meets_in_sequences_choices_and_meets_have_the_texts_that_they_should(seed: int) -> None:
    dice = random.Random(seed)
    made, texts = _any(dice, 2)
    most = max(8, min(map(len, texts), default=0))
    source = made & gw.Regex(f"(?s).{{0,{most}}}")
    try:
        constraint = gw.compile(source, VOCABULARY)
    except UnsatisfiableError:
        assert not texts
        return
    texts = {text for text in texts if len(text) <= most}
    assert [text for text in TEXTS if constraint.matches(text)] == [t for t in TEXTS if t in texts]
    assert constraint.example() == min(texts, key=in_order)
    begun = {text[:end].encode() for text in texts for end in range(1, len(text) + 1)}
    for _ in range(2):
        state, text = constraint.start(), b""
        while True:
            allowed = unpack(constraint.mask(state)).tolist()
            assert allowed == [t for t, token in enumerate(TOKENS) if text + token in begun], text
            assert constraint.accepts(state) is (text.decode() in texts)
            if not allowed:
                break
            token = dice.choice(allowed)
            state, text = constraint.advance(state, token), text + TOKENS[token]
