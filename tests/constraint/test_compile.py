"""The whole pipeline: what is compiled, what is remembered, what is refused."""

import re
import threading
from typing import Annotated

import pytest
from pydantic import Field

import guideway as gw
from guideway.automaton.token_tries import unpack
from guideway.constraint.compiled import CompiledConstraint
from guideway.language import derivative
from guideway.sources.sources import Source
from json_schemas import MANY_MEGABYTES

BYTES = gw.Vocabulary([bytes((b,)) for b in range(256)] + [b"<eos>"], {256})


def test_sources_mean_what_they_say():
    year = gw.Regex(r"\d{4}", flags="a")
    dated = gw.Choice(["in ", "by "]) + year + gw.repeat(gw.Regex("!"), 0, 2)
    constraint = gw.compile(dated, BYTES)
    oracle = re.compile(r"(in|by) \d{4}!{0,2}", re.ASCII)
    for text in ["in 1999", "by 2001!!", "by 2001!!!", "at 1999", "in 199", ""]:
        assert constraint.matches(text) == bool(oracle.fullmatch(text))


def test_and_not_and_difference():
    letters = gw.Regex("[a-z]{1,3}")
    without = gw.compile(letters - gw.Choice(["cat", "dog"]), BYTES)
    assert without.matches("cow")
    assert not without.matches("cat")
    both = gw.compile(letters & gw.Regex(".*a.*"), BYTES)
    assert [both.matches(t) for t in ("cat", "dog", "catt")] == [True, False, False]
    other = gw.compile(~letters, BYTES)
    assert other.matches("")
    assert other.matches("catt")
    assert not other.matches("cat")
    assert not other.matches(b"\xff")


def test_any_text_ends_only_between_characters():
    constraint = gw.compile(gw.Text(), BYTES)
    state = constraint.start()
    assert constraint.accepts(state)
    state = constraint.advance(state, "é".encode()[0])
    assert not constraint.accepts(state)
    assert set(unpack(constraint.mask(state)).tolist()) == set(range(0x80, 0xC0))


def test_languages_that_nest_without_end_have_no_complement():
    schema = gw.JsonSchema({"type": "array"})
    for source in (~schema, gw.Text() - schema):
        with pytest.raises(
            gw.UnsupportedError, match=r"the complement of JsonSchema.* nests without"
        ):
            gw.compile(source, BYTES)


def test_a_source_is_remembered_by_content():
    first = gw.compile(gw.Regex("abc"), BYTES)
    assert gw.compile(gw.Regex("abc"), BYTES) is first
    again = gw.Vocabulary([bytes((b,)) for b in range(256)] + [b"<eos>"], {256})
    assert gw.compile(gw.Regex("abc"), again) is first
    assert gw.compile(gw.Regex("abc"), BYTES, budget=gw.Budget(rows=3)) is not first
    for number in range(100):
        gw.compile(gw.Regex(f"other{number}"), BYTES)
    assert gw.compile(gw.Regex("abc"), BYTES) is not first


def test_languages_without_text_are_refused():
    with pytest.raises(gw.UnsatisfiableError, match="no text is in both"):
        gw.compile(gw.Regex("a") & gw.Regex("b"), BYTES)
    with pytest.raises(gw.UnsatisfiableError, match=r"cannot spell any .* such as b'x'"):
        gw.compile(gw.Regex("x"), gw.Vocabulary([b"a", b"b"]))


ENDLESS = {"type": "object", "properties": {"x": {"$ref": "#"}}, "required": ["x"]}


@pytest.mark.parametrize(
    ("source", "place", "named"),
    [
        (gw.JsonSchema({"type": "integer", "minimum": 5, "maximum": 3}), "", "minimum"),
        (gw.JsonSchema({"const": 1, "type": "string"}), "", "const"),
        (Annotated[int, Field(ge=5, le=3)], "", "m"),
        (gw.JsonSchema(ENDLESS), "/properties/x", 'required "x"'),
    ],
)
def test_a_schema_without_instance_names_the_keywords_in_conflict(source, place, named):
    with pytest.raises(gw.UnsatisfiableError) as error:
        gw.compile(source, BYTES)
    assert error.value.place == place
    assert named in str(error.value.conflict)


def test_bytes_that_the_vocabulary_lacks_are_never_waited_for():
    vocabulary = gw.Vocabulary([b"a", b"b", b"c"])
    constraint = gw.compile(gw.Regex("a\x04|bc"), vocabulary)
    assert unpack(constraint.mask(constraint.start())).tolist() == [1]
    assert not constraint.matches("a\x04")


def test_what_is_no_vocabulary_is_refused():
    with pytest.raises(gw.SourceError, match=r"guideway\.Vocabulary, not str"):
        gw.compile(gw.Text(), "gpt2")


def test_what_is_no_budget_is_refused():
    with pytest.raises(gw.SourceError, match=r"guideway\.Budget, not int"):
        gw.compile(gw.Text(), BYTES, 5)


@pytest.mark.parametrize("given", [None, 5, {"a": 1}, [1, 2]])
def test_only_texts_are_matched(given):
    with pytest.raises(gw.SourceError, match=r"a text (must be|is) str"):
        gw.compile(gw.Text(), BYTES).matches(given)


def test_too_much_work_is_a_limit_error():
    with pytest.raises(gw.LimitError, match="more than 100 parts"):
        gw.compile(gw.Regex("(a{500}){500}") & gw.Regex("[ab]*b"), BYTES, gw.Budget(fuel=100))


def test_threads_share_a_constraint():
    constraint = gw.compile(gw.Regex(r"(\w+ ){3,9}\w+"), BYTES)
    expected = walk(constraint)
    results = []
    threads = [threading.Thread(target=lambda: results.append(walk(constraint))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 8


def walk(constraint):
    state, rows = constraint.start(), []
    for token in b"one two three fou":
        rows.append(constraint.mask(state).tobytes())
        state = constraint.advance(state, token)
    return rows


def test_a_source_of_an_unknown_kind_is_refused():
    class Strange(Source):
        pass

    with pytest.raises(gw.SourceError, match="Strange is not a source of guideway"):
        gw.compile(Strange(), BYTES)


def test_a_chain_without_end_is_followed_once_around():
    constraint = gw.compile(gw.Regex("(ab)*"), gw.Vocabulary([b"a", b"b"]))
    assert constraint.forced(constraint.start()) == (0, 1)


def test_a_budget_above_the_size_of_the_vocabulary_is_still_a_budget():
    vocabulary = gw.Vocabulary([b"0", b"1", b"<eos>"], eos_ids={2})
    constraint = gw.compile(gw.Regex("0{7}|1{5}"), vocabulary)
    assert constraint.mask_within(constraint.start(), 6).tolist() == [0b10]
    assert constraint.mask_within(constraint.start(), 7).tolist() == [0b11]


@pytest.mark.parametrize("inner", MANY_MEGABYTES)
def test_a_part_of_many_megabytes_fits_into_no_number_of_tokens(inner: dict[str, object]):
    schema = {"type": "object", "properties": {"a": inner}, "additionalProperties": False}
    source = gw.JsonSchema(schema, whitespace="compact")
    constraint = gw.compile(source, BYTES, gw.Budget.untrusted())
    state = constraint.advance(constraint.start(), ord("{"))
    assert set(unpack(constraint.mask(state)).tolist()) == {ord("}"), ord('"')}
    assert unpack(constraint.mask_within(state, 60)).tolist() == [ord("}")]


def test_operators_upon_operators_without_end_are_refused():
    source: Source = gw.Regex("a*")
    for count in range(2000):
        source = ~(source | gw.Regex(f"b{{{count}}}"))
    with pytest.raises(gw.LimitError, match="levels"):
        gw.compile(source, BYTES)


@pytest.mark.parametrize("count", [2**30, 2**31 - 1, 2**31, 2**32, 2**32 + 1, 2**64, 10**30])
@pytest.mark.parametrize(
    ("keyword", "kind", "texts"),
    [
        ("Length", {"type": "string"}, ('""', '"a"')),
        ("Items", {"type": "array", "items": {"type": "null"}}, ("[]", "[null]")),
        ("Items", {"type": "array", "items": {"maxLength": 99}}, ("[]", '["a"]')),
    ],
)
def test_no_text_is_as_long_as_a_count_beyond_all_bounds(count, keyword, kind, texts):
    fewest, most = f"min{keyword}", f"max{keyword}"
    at_most = gw.compile(gw.JsonSchema({**kind, most: count}), BYTES)
    at_least = gw.compile(gw.JsonSchema({"items": {**kind, fewest: count}}), BYTES)
    for text in texts:
        assert reads(at_most, text)
        assert not reads(at_least, f"[{text}]")


def reads(constraint: CompiledConstraint, text: str) -> bool:
    """Whether masks allow a text, byte by byte."""
    state = constraint.start()
    for byte in text.encode():
        if byte not in unpack(constraint.mask(state)):
            return False
        state = constraint.advance(state, byte)
    return constraint.accepts(state)


def test_where_no_shortest_text_is_found_soon_none_is_named(monkeypatch):
    twice = gw.Regex(r'\{("[a-z]{3}":1,)+"a":1,"a":1\}')
    objects = gw.JsonSchema({"type": "object"})
    without = gw.Vocabulary([bytes([byte]) for byte in range(256) if byte != ord("}")])
    with pytest.raises(gw.UnsatisfiableError, match=r"cannot spell any text of the source$"):
        gw.compile(objects & twice, without)
    constraint = gw.compile(objects & twice, BYTES)
    monkeypatch.setattr(derivative, "THOROUGH", 500)
    with pytest.raises(gw.LimitError, match="stopped after 500 states"):
        constraint.example()


def nested(kind: str, levels: int) -> Source:
    made: Source = gw.Regex("a")
    for _ in range(levels):
        if kind == "tag":
            made = gw.tag("<", made, ">")
        elif kind == "repetition":
            made = gw.repeat(made, 1, 2)
        else:
            made = gw.capture("x", made) | made
    return made


@pytest.mark.parametrize("kind", ["tag", "repetition", "twice"])
def test_sources_in_too_many_levels_are_refused(kind: str) -> None:
    deepest = 6 if kind == "twice" else 100
    assert gw.compile(nested(kind, deepest), BYTES).matches("<" * 100 + "a" + ">" * 100) == (
        kind == "tag"
    )
    for levels in (150, 250, 1000):
        with pytest.raises(gw.LimitError, match="nests more than 100 levels deep"):
            gw.compile(nested(kind, levels), BYTES)


def test_a_text_begins_with_any_bytes_that_tokens_spell():
    constraint = gw.compile("yes", BYTES)
    assert constraint.start(bytearray(b":")) is constraint.start(b":")
    led = gw.Vocabulary([b"a", b"<end>"], eos_ids={1}, lead=b" ")
    with pytest.raises(gw.UnsatisfiableError, match="0x20"):
        gw.compile("a", led)
