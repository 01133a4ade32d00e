"""Meets and differences of what nests: recognisers in plain Python are the oracle."""

import itertools
import random
import re
from collections.abc import Callable
from itertools import product
from typing import Any, TypeAlias

import interegular
import lark
import pytest
from hypothesis import given
from hypothesis import strategies as st

import guideway as gw
from guideway.automaton.token_tries import unpack
from guideway.constraint.compiled import CompiledConstraint
from guideway.constraint.lowering import lower_source
from guideway.errors import GuidewayError, LimitError, UnsatisfiableError
from guideway.language.derivative import Derivatives
from guideway.language.expr import EMPTY, alt, both, concat, literal, optional, repeat
from guideway.language.finite_languages import Decisions
from guideway.language.nodes import Expr, Rule
from guideway.language.set_algebra import solid
from guideway.sources.sources import Source
from lark_samples import ERRORS, Blocks, OutOfFuelError, accepted, by_chance, parsed, short_strings
from plain_texts import matches
from regex_samples import oracle, reader, trees

WORDS = ["".join(w) for n in range(7) for w in product("(x)", repeat=n)]
BALANCED = gw.Gbnf('root ::= ("(" root ")" | "x" root)?')
NEST = gw.Gbnf('root ::= "(" root ")" | "x" | root root')
LIST = gw.Choice(["x", "xx", "(x)", "((x)", ""])


def balanced(text: str) -> bool:
    depth = 0
    for character in text:
        depth += {"(": 1, ")": -1, "x": 0}[character]
        if depth < 0:
            return False
    return depth == 0


def nests(text: str) -> bool:
    return bool(text) and balanced(text) and "()" not in text


def once(text: str) -> bool:
    """`BALANCED`: after a closing bracket nothing follows but another one."""
    return balanced(text) and ")x" not in text and ")(" not in text


def cut(text: str, first: Callable[[str], bool], second: Callable[[str], bool]) -> bool:
    """Whether `text` is one of the first and then one of the second."""
    return any(first(text[:n]) and second(text[n:]) for n in range(len(text) + 1))


def boxed(text: str) -> bool:
    return nests(text) and text.startswith("(") and text.endswith("x)") and text != "(x)"


def opened(text: str) -> bool:
    return once(text) and text[:1] != "x"


def in_line(text: str) -> bool:
    return once(text) and re.fullmatch(r"x*\(*x?\)*", text) is not None


def begun(text: str) -> bool:
    return text[-1:] == "x" and nests(text[:-1]) and text[0] == "x" and len(text) % 2 == 0


FRAMED = NEST & gw.Regex(r"\(.*") & gw.Regex(r".*x\)") - gw.Choice(["(x)"])
TWICE = gw.repeat(BALANCED & gw.Regex(r"\(.*|"), 2, 2)
MEETS: list[tuple[Source, Callable[[str], bool]]] = [
    (NEST & gw.Regex(r"[^x]*x[^x]*"), lambda t: nests(t) and t.count("x") == 1),
    (NEST - gw.Regex("x*"), lambda t: nests(t) and "(" in t),
    (FRAMED, boxed),
    (BALANCED & gw.Regex("(?s:.{0,3})"), lambda t: once(t) and len(t) < 4),
    (BALANCED - "", lambda t: once(t) and bool(t)),
    (BALANCED - ~gw.Regex(r"x*\(*x?\)*"), in_line),
    # Meets inside meets, in sequences and repetitions: each looks at its own text only.
    (
        (NEST & gw.Regex("x*")) + (NEST - gw.Regex("x*")),
        lambda t: cut(t, lambda u: set(u) == {"x"}, lambda u: nests(u) and "(" in u),
    ),
    (TWICE, lambda t: cut(t, opened, opened)),
    (((NEST & gw.Regex("x.*")) + "x") & gw.Regex("(..)*"), begun),
    # A short list is tried text by text.
    (LIST & NEST & BALANCED, lambda t: t in LIST.options and nests(t) and once(t)),
    (LIST - NEST, lambda t: t in LIST.options and not nests(t)),
    (BALANCED & gw.Regex(".{0,2}") & NEST, lambda t: len(t) < 3 and once(t) and nests(t)),
    (NEST & gw.Text() - gw.Regex(".*[(].*|x{3,}") & BALANCED, lambda t: t in ("x", "xx")),
]


@pytest.mark.parametrize(("source", "belongs"), MEETS)
def test_what_meets_is_what_a_plain_recogniser_says(
    source: Source, belongs: Callable[[str], bool]
) -> None:
    decisions = Decisions()
    expr = lower_source(source, decisions)
    for word in WORDS:
        assert decisions.contains(expr, word.encode()) == belongs(word), word


BYTES = gw.Vocabulary([bytes((b,)) for b in range(256)] + [b"<eos>"], {256})
TOKENS = gw.Vocabulary([b"(", b"x", b")", b"((", b"x)", b"))", b"xx", b"(x)", b"<eos>"], {8})


@pytest.mark.parametrize("source", [MEETS[0][0], MEETS[2][0], MEETS[7][0]])
def test_masks_allow_what_can_go_on_and_nothing_else(source: Source) -> None:
    constraint = gw.compile(source, TOKENS)
    texts = {w for w in WORDS if constraint.matches(w)}
    assert constraint.example() == min(texts, key=lambda w: (len(w), w))

    def walk(state: Any, text: str) -> None:
        if len(text) > 4:
            return
        allowed = set(unpack(constraint.mask(state)).tolist())
        assert (8 in allowed) == (text in texts)
        for token, spelling in enumerate(TOKENS.tokens[:8]):
            longer = text + (spelling or b"").decode()
            if len(longer) <= 4 and any(w.startswith(longer) for w in texts):
                assert token in allowed
            if token in allowed:
                state_after = constraint.advance(state, token)
                assert constraint.distance(state_after) >= 0
                walk(state_after, longer)

    walk(constraint.start(), "")


@pytest.mark.parametrize(("source", "feature"), [
    (NEST & BALANCED, "& of Gbnf"),
    (gw.Regex("[x()]*") - NEST, "- or ~ of Gbnf"),
    (~NEST, "- or ~ of Gbnf"),
    (NEST & gw.JsonSchema({"type": "array"}), "& of Gbnf"),
])  # fmt: skip
def test_what_cannot_be_decided_is_refused_by_name(source: Source, feature: str) -> None:
    with pytest.raises(gw.UnsupportedError, match=r"nests? without end") as error:
        gw.compile(source, BYTES)
    assert error.value.feature.startswith(feature)
    with pytest.raises(gw.UnsupportedError):
        lower_source(source)


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
    for text in ("".join(w) for n in range(6) for w in product("[]45,|", repeat=n)):
        expected = any(all(matches(one, text) for one in pair) for pair in each)
        assert matches(found, text) == expected, text
        accepted += expected
    assert accepted


def test_alternatives_are_refused_where_one_is_and_where_they_are_too_many():
    with pytest.raises(gw.UnsupportedError, match=r"Gbnf.*& Gbnf"):
        lower_source((NEST | ONE) & BALANCED, Decisions())
    many = NEST | "a" | "b" | "c" | "d" | "e" | "f" | "g" | "h"
    with pytest.raises(gw.UnsupportedError, match=r"\| 'h'.*nest without end"):
        lower_source(many & (BALANCED | many), Decisions())
    assert lower_source((ONE | TWO) & gw.JsonSchema({"type": "object"}), Decisions()) is EMPTY


def rule() -> Expr:
    found = Rule("a+")
    found.define(alt(literal("a"), concat(literal("a"), found)))
    return found


A = rule()


@pytest.mark.parametrize("expr", [
    A,
    optional(A),
    concat(optional(A), optional(concat(literal("b"), A))),
    repeat(optional(A), 0, 2),
    repeat(concat(A, literal("b"))),
    concat(repeat(literal("b")), optional(A)),
    alt(repeat(concat(A, literal("b"))), both(literal("ab"), repeat(literal("ab")))),
])  # fmt: skip
def test_all_but_the_empty_text_is_all_but_the_empty_text(expr: Expr) -> None:
    decisions, without = Decisions(), solid(expr)
    assert not without.nullable
    for word in ("".join(w) for n in range(5) for w in product("ab", repeat=n)):
        expected = bool(word) and decisions.contains(expr, word.encode())
        assert decisions.contains(without, word.encode()) == expected, word


def test_what_is_taken_from_special_tokens_leaves_texts() -> None:
    vocabulary = gw.Vocabulary([b"a", b"b", b"<s>"], special={"<s>": 2})
    made = gw.compile((gw.special("<s>") | "a") - gw.Regex("b"), vocabulary)
    assert made.mask(made.start()).tolist() == [1]


# Sources combine like sets; `re` is the oracle for each of them, and for the shortest witness.

ALGEBRA_WORDS = ["".join(word) for size in range(5) for word in product("ab\n", repeat=size)]
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
    belonging: list[str] = []
    for text in ALGEBRA_WORDS:
        here, there = bool(first.fullmatch(text)), bool(second.fullmatch(text))
        expected = {
            "&": here and there,
            "|": here or there,
            "-": here and not there,
            "~": not here and not there,
        }[operator]
        assert accepts(text) == expected, text
        belonging += [text] if expected else []
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


@pytest.mark.parametrize(("left", "right", "witness"), [
    ("[ab]*", "a*", "b"),
    ("(a|b)*a", "(b*a)+", None),
    ("(?!.*ab)[ab]*", "b*a*", None),
    (r"\w+", r"[a-z]+", "0"),
    (r"(?:a{2}){1,3}", "a{2,6}", None),
    ("a{2,6}", r"(?:a{2}){1,3}", "aaa"),
])  # fmt: skip
def test_what_is_in_one_and_not_in_the_other_has_a_shortest_witness(
    left: str, right: str, witness: str | None
) -> None:
    expr = lower_source(gw.Regex(left) - gw.Regex(right))
    machine = Derivatives(expr)
    assert machine.alive(expr) == (witness is not None)
    if witness is not None:
        assert machine.shortest(expr).decode() == witness


# Grammars that meet regexes accept what both accept: Lark and `re` are the oracles.

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
        gw.compile(gw.Lark(text), gw.Vocabulary([bytes([b]) for b in range(256)]))
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


def test_all_short_strings_are_told_apart() -> None:
    """The law above holds of words that are read one byte at a time, here of the words."""
    source = gw.Lark('start: "a" start "b" | /c+/\n%ignore " "') - gw.Regex(".* c.*")
    byte = gw.Vocabulary([bytes([b]) for b in range(256)])
    constraint = gw.compile(source, byte)
    parser = lark.Lark('start: "a" start "b" | /c+/\n%ignore " "', parser="lalr")
    known = parsed(parser, "abc ", 6)
    for text in short_strings("abc ", 6):
        assert constraint.matches(text) == (text in known and " c" not in text)


def test_what_is_compared_is_paid_for() -> None:
    schemas = {"type": "array", "items": {"type": "integer"}}, {"not": {"type": "integer"}}
    numbers, others = (gw.JsonSchema(schema, whitespace="compact") for schema in schemas)
    with pytest.raises(LimitError, match="compiling takes more than 400000 parts"):
        gw.compile(
            (numbers + "x") & others,
            gw.Vocabulary([bytes((b,)) for b in range(256)]),
            gw.Budget.untrusted(),
        )


# Shipped grammars that meet regexes: refused by name when compiled, or read to any length.

GRAMMARS = (
    "arithmetic", "json", "json_lines", "graphql", "lark", "mermaid", "regex", "sql", "toml", "xml",
    "yaml",
)  # fmt: skip
MEET_MEETINGS = (("(?s).{1,200}", True), (r"(?s).*\*.*", False), ("(?s).*ab.*", True))
LONG = {(name, MEET_MEETINGS[0][0]) for name in ("mermaid", "toml", "yaml")}  # nightly
MET = [
    pytest.param(name, *met, marks=[pytest.mark.slow] if (name, met[0]) in LONG else [])
    for name in GRAMMARS
    for met in MEET_MEETINGS
]


@pytest.mark.untraced
@pytest.mark.parametrize(("name", "regex", "wanted"), MET)
def test_no_mask_fails_once_all_is_compiled(name: str, regex: str, wanted: bool) -> None:
    grammar, partner = gw.grammar(name), gw.Regex(regex)
    try:
        constraint = gw.compile(grammar & partner if wanted else grammar - partner, BYTES)
    except (LimitError, UnsatisfiableError) as error:
        said = str(error)
    else:
        _walk(constraint, regex, wanted)
        return
    assert "Regex(" in said
    assert "Lark(" in said or "Gbnf(" in said


def _walk(constraint: CompiledConstraint, regex: str, wanted: bool) -> None:
    for seed in range(2):
        dice, state, text = random.Random(seed), constraint.start(), b""
        for _ in range(30):
            allowed = unpack(constraint.mask(state)).tolist()
            assert allowed, text
            if constraint.accepts(state):
                assert (re.fullmatch(regex, text.decode()) is not None) is wanted
            shown = [token for token in allowed if 32 <= token < 127]
            token = dice.choice(shown or [token for token in allowed if token < 256] or [256])
            if token == 256:
                break
            state, text = constraint.advance(state, token), text + bytes((token,))


# Meets of grammars and regexes, put together in any way: against their texts, one by one.

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


TOGETHER_GRAMMARS: list[Part] = [
    (gw.Lark(text, lexer=lexer), {each for each in TEXTS if _read(text, parser, each)})
    for text, parser, lexer in LARKS
]
TOGETHER_GRAMMARS.append((gw.Gbnf('root ::= [12+]+ | "(" root "("'), {*filter(_nests, TEXTS)}))


def _met(part: Part, regex: str) -> Part:
    return part[0] & gw.Regex(regex), {text for text in part[1] if re.fullmatch(regex, text)}


def _any(dice: random.Random, depth: int) -> Part:
    makers: list[Callable[[], Part]] = [
        lambda: _met(_met(dice.choice(TOGETHER_GRAMMARS), ".{0,4}"), dice.choice(REGEXES)),
        lambda: _without(_met(dice.choice(TOGETHER_GRAMMARS), ".{0,4}"), dice.choice(REGEXES)),
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
