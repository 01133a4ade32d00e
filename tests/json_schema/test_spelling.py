"""Spellings of strings and whitespace, against `json`, which reads back what was meant."""

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guideway.json_schema.source import JsonSchema
from guideway.json_schema.spelling import QUOTE, JsonStyle, Spelling, json_style, spell_character
from guideway.language.derivative import Derivatives
from guideway.language.expr import EMPTY, EPSILON, concat, literal
from guideway.language.nodes import Expr
from guideway.language.utf8 import SCALARS, CodePoints, points
from guideway.sources.json_style import Whitespace
from json_schemas import quote
from plain_texts import draw, matches

ANY, PLAIN = Spelling(plain=False), Spelling(plain=True)
SCALAR = st.characters(exclude_categories=["Cs"])
TEXTS = st.text(
    SCALAR | st.sampled_from('"\\/\b\f\n\r\t\x00\x1f\x7f é\u2028💩\U0010ffff'), max_size=6
)
SEEDS = st.integers(0, 2**32).map(random.Random)


def spelled(expr: Expr) -> Derivatives:
    return Derivatives(concat(QUOTE, expr, QUOTE))


@given(TEXTS, SEEDS)
def test_every_spelling_of_a_string_is_read_as_that_string(text, chance):
    engine = spelled(ANY.text(text))
    written = quote(text, chance)
    assert json.loads(written) == text
    assert matches(engine, written)
    assert matches(spelled(ANY.content), written)
    assert json.loads(draw(engine, chance)) == text


@pytest.mark.untraced
@given(TEXTS, SEEDS)
def test_the_plain_spelling_is_that_of_json_dumps_and_the_only_one(text, chance):
    engine = spelled(PLAIN.text(text))
    written = json.dumps(text, ensure_ascii=False)
    assert matches(engine, written)
    assert engine.shortest(engine.start()) == draw(engine, chance) == written.encode()
    assert matches(spelled(PLAIN.content), written)


WRONG = [
    '"', '""x', '"\n"', '"\x1f"', '"\\x41"', '"\\u00g0"', '"\\u12"', '"\\U0041"', '"\\\'"', '"\\"',
    '"\\ud800"', '"\\udc00"', '"\\ud800\\u0041"', '"\\ud800x"', '"\\udc00\\ud800"',
    '"\\ud800\\ud800"',
    b'"\xff"', b'"\xc0\x80"', b'"\xed\xa0\x80"', b'"\xf4\x90\x80\x80"',
]  # fmt: skip
ESCAPED = ['"\\u0061"', '"\\/"', '"\\u000a"', '"\\u001F"', '"\\ud83d\\udca9"']


@pytest.mark.parametrize("text", [*WRONG, *ESCAPED])
def test_what_is_no_json_string_is_not_spelled_nor_plain_what_can_do_without_an_escape(text):
    assert matches(spelled(ANY.content), text) is (text in ESCAPED)
    assert not matches(spelled(PLAIN.content), text)


RANGES = st.lists(st.tuples(SCALAR.map(ord), st.integers(0, 3000)), min_size=1, max_size=3)


@given(RANGES, st.lists(SCALAR), st.booleans(), SEEDS)
def test_a_set_of_characters_spells_its_members_and_no_other(ranges, others, plain, chance):
    members: CodePoints = tuple((low, min(low + more, 0x10FFFF)) for low, more in ranges)
    # Not sorted and overlapping: `points` puts small sets in order.
    codes = sorted({c for low, high in members for c in {low, high, (low + high) // 2}})
    scalars = [code for code in codes if not 0xD800 <= code <= 0xDFFF]
    engine = spelled(spell_character(points(codes), plain))
    for code in scalars:
        written = json.dumps(chr(code), ensure_ascii=False) if plain else quote(chr(code), chance)
        assert matches(engine, written)
    for other in others:
        assert matches(engine, json.dumps(other, ensure_ascii=False)) == (ord(other) in scalars)


@given(st.sets(st.integers(0, 0x7F), min_size=1, max_size=40), st.booleans())
def test_a_set_of_ascii_has_all_spellings_of_its_members_and_no_other(codes, outside):
    kept = set(range(0x80)) - codes if outside else codes
    engine = spelled(spell_character(points(sorted(kept)), plain=False))
    for code in range(0x82):
        forms = [chr(code), f"\\u{code:04x}", f"\\u{code:04X}", f"\\u{code + 256:04x}"]
        forms += [f"\\{chr(code)}", f"\\u{code:x}", f"\\u{code:03x}"]
        for form in forms:
            try:
                meant = json.loads(f'"{form}"')
            except json.JSONDecodeError:
                meant = None
            assert matches(engine, f'"{form}"') == (meant in [*map(chr, kept)])


@pytest.mark.parametrize("plain", [False, True])
def test_every_scalar_value_is_one_character_and_nothing_else_is(plain):
    engine = spelled(spell_character(SCALARS, plain))
    for code in (*range(0x180), 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF):
        assert matches(engine, json.dumps(chr(code), ensure_ascii=False))
        assert matches(engine, json.dumps(chr(code))) == (not plain or code < 0x7F)
    for none in (((0xD800, 0xDFFF),), ()):
        assert spell_character(none, plain) is EMPTY


@given(st.lists(TEXTS, min_size=1, max_size=5), TEXTS, SEEDS)
def test_a_choice_spells_exactly_its_strings(options, other, chance):
    engine = spelled(ANY.choose((text, EPSILON) for text in options))
    only = spelled(ANY.text(options[0]))
    for text in (*options, other):
        written = quote(text, chance)
        assert matches(engine, written) == (text in options)
        assert matches(only, written) == (text == options[0])


def test_a_choice_goes_on_with_what_belongs_to_the_string():
    pairs = [("a", literal("1")), ("ab", literal("2")), ("a", literal("3")), ("", EPSILON)]
    engine = Derivatives(ANY.choose(pairs))
    right = ["", "a1", "a3", "ab2", "\\u0061b2"]
    assert [text for text in [*right, "a2", "ab1"] if matches(engine, text)] == right
    assert ANY.choose([]) is EMPTY


# Whitespace


def style(**options) -> JsonStyle:
    return json_style(JsonSchema(True, **options))


GAPS = ["", " ", "  ", "\n", "\n  ", "\n" + " " * 64, "\n" + " " * 65, "\n\n", "\t", "\r\n"]


@pytest.mark.parametrize(("whitespace", "allowed_where_lines_break", "allowed_behind_a_colon"), [
    ("any", GAPS, GAPS),
    ("compact", [""], [""]),
    ("natural", ["", " ", "\n", "\n  ", "\n" + " " * 64], ["", " "]),
    (Whitespace(spaces=2, newline=False), ["", " ", "  "], ["", " ", "  "]),
    (Whitespace(spaces=0, indent=2), ["", "\n", "\n  "], [""]),
])  # fmt: skip
def test_whitespace_is_what_the_policy_says(
    whitespace, allowed_where_lines_break, allowed_behind_a_colon
):
    found = style(whitespace=whitespace)
    for expr in (found.opened, found.closing):
        assert [g for g in GAPS if matches(Derivatives(expr), g)] == allowed_where_lines_break
    commas = [g for g in GAPS if matches(Derivatives(found.comma), "," + g)]
    colons = [g for g in GAPS if matches(Derivatives(found.colon), ":" + g)]
    assert (commas, colons) == (allowed_where_lines_break, allowed_behind_a_colon)
    before = [g for g in GAPS if matches(Derivatives(found.comma), g + ",")]
    edges = [g for g in GAPS if matches(Derivatives(found.edge), g)]
    assert before == edges == (GAPS if whitespace == "any" else [""])
