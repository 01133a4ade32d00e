"""Grammars that meet regexes accept what both accept: Lark and `re` are the oracles."""

import random
import re

import lark
import pytest

import guideway as gw
from guideway.constraint.lowering import lower_source
from guideway.errors import GuidewayError, LimitError
from lark_samples import ERRORS, Blocks, OutOfFuelError, accepted, by_chance, parsed, short_strings

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
