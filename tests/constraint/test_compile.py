"""The whole pipeline: what is compiled, what is remembered, what is refused."""

import gc
import json
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterable
from itertools import accumulate

import pytest

import guideway as gw
from guideway.automaton.pushdown_automaton import PushdownAutomaton
from guideway.automaton.token_mask_cache import TokenMaskCache
from guideway.automaton.token_tries import unpack
from guideway.constraint import caches
from guideway.constraint.compiled import CompiledConstraint
from guideway.constraint.lowering import lower_source
from guideway.json_schema import scalars as json_scalars
from guideway.sources.sources import Source
from random_walks import BYTES, masks_along, read, reads
from small_tokenizers import byte_level, sentencepiece


def test_any_text_ends_only_between_characters():
    constraint = gw.compile(gw.Text(), BYTES)
    state = constraint.start()
    assert constraint.accepts(state)
    state = constraint.advance(state, "é".encode()[0])
    assert not constraint.accepts(state)
    assert set(unpack(constraint.mask(state)).tolist()) == set(range(0x80, 0xC0))
    assert not gw.compile(~gw.Regex("a"), BYTES).matches(b"\xff")


def test_a_source_is_remembered_by_content():
    first = gw.compile(gw.Regex("abc"), BYTES)
    assert gw.compile(gw.Regex("abc"), BYTES) is first
    again = gw.Vocabulary([*BYTES.tokens[:256], b"<end>"], {256})
    assert gw.compile(gw.Regex("abc"), again) is first
    assert gw.compile(gw.Regex("abc"), BYTES, budget=gw.Budget(rows=3)) is not first
    for number in range(100):
        gw.compile(gw.Regex(f"other{number}"), BYTES)
    assert gw.compile(gw.Regex("abc"), BYTES) is not first


def test_bytes_that_the_vocabulary_lacks_are_never_waited_for():
    vocabulary = gw.Vocabulary([b"a", b"b", b"c"])
    constraint = gw.compile(gw.Regex("a\x04|bc"), vocabulary)
    assert unpack(constraint.mask(constraint.start())).tolist() == [1]
    assert not constraint.matches("a\x04")


def test_a_source_of_an_unknown_kind_is_refused():
    class Strange(Source):
        pass

    with pytest.raises(gw.SourceError, match="Strange is not a source of guideway"):
        gw.compile(Strange(), BYTES)


def test_operators_upon_operators_without_end_are_refused():
    source: Source = gw.Regex("a*")
    for count in range(2000):
        source = ~(source | gw.Regex(f"b{{{count}}}"))
    with pytest.raises(gw.LimitError, match="levels"):
        gw.compile(source, BYTES)


@pytest.mark.parametrize("count", [2**30, 2**31 - 1, 2**31, 2**32, 2**32 + 1, 2**64, 10**30])
@pytest.mark.parametrize(("keyword", "kind", "texts"), [
    ("Length", {"type": "string"}, ('""', '"a"')),
    ("Items", {"type": "array", "items": {"type": "null"}}, ("[]", "[null]")),
    ("Items", {"type": "array", "items": {"maxLength": 99}}, ("[]", '["a"]')),
])  # fmt: skip
def test_no_text_is_as_long_as_a_count_beyond_all_bounds(count, keyword, kind, texts):
    fewest, most = f"min{keyword}", f"max{keyword}"
    at_most = gw.compile(gw.JsonSchema({**kind, most: count}), BYTES)
    at_least = gw.compile(gw.JsonSchema({"items": {**kind, fewest: count}}), BYTES)
    for text in texts:
        assert reads(at_most, text.encode())
        assert not reads(at_least, f"[{text}]".encode())


IN_ANOTHER: dict[str, Callable[[Source], Source]] = {
    "tag": lambda inner: gw.tag("<", inner, ">"),
    "repetition": lambda inner: gw.repeat(inner, 1, 2),
    "twice": lambda inner: gw.capture("x", inner) | inner,
}


@pytest.mark.parametrize(("kind", "deepest"), [("tag", 100), ("repetition", 100), ("twice", 6)])
def test_sources_in_too_many_levels_are_refused(kind: str, deepest: int) -> None:
    source: Source = gw.Regex("a")
    for level in range(1, 1001):
        source = IN_ANOTHER[kind](source)
        if level == deepest:
            text = "<" * 100 + "a" + ">" * 100 if kind == "tag" else "a"
            assert gw.compile(source, BYTES).matches(text)
        if level in (150, 1000):
            with pytest.raises(gw.LimitError, match="nests more than 100 levels deep"):
                gw.compile(source, BYTES)


def test_a_text_begins_with_any_bytes_that_tokens_spell():
    constraint = gw.compile("yes", BYTES)
    assert constraint.start(bytearray(b":")) is constraint.start(b":")
    led = gw.Vocabulary([b"a", b"<end>"], eos_ids={1}, lead=b" ")
    with pytest.raises(gw.UnsatisfiableError, match="0x20"):
        gw.compile("a", led)


def test_what_is_composed_means_what_it_is_spelled_out_as() -> None:
    tag = gw.tag("<a>", gw.Regex("[0-9]"), "</a>")
    assert lower_source(tag) is lower_source("<a>" + gw.Regex("[0-9]") + "</a>")


# Warming up changes nothing but the time of the first call.

CODE = """
import sys
import guideway as gw

def indenter():
    from lark.indenter import Indenter

    names = dict(NL_type="NL", OPEN_PAREN_types=[], CLOSE_PAREN_types=[], tab_len=8)
    return type("Blocks", (Indenter,), dict(names, INDENT_type="_I", DEDENT_type="_D"))

vocabulary = gw.Vocabulary([bytes((b,)) for b in range(256)])
gw.warmup()
opened = []
sources = [
    gw.Regex(r"[a-z]+ \\\\w"),
    gw.JsonSchema({"type": "string", "format": "date"}),
    gw.JsonSchema({"type": "string", "maxLength": 5}),
    gw.Lark('start: NAME ("," start)?\\n%import common.CNAME -> NAME\\n%ignore " "'),
    gw.Lark('start: "a" start "b" |', lexer="dynamic"),
    gw.Lark('start: "a" NL _I "b" _D\\nNL: /\\\\n */\\n%declare _I _D', postlex=indenter()),
    gw.Gbnf('root ::= [a-z]+ ("," root)?'),
]
sys.addaudithook(lambda event, args: opened.append(args) if event in {"open", "import"} else None)
for source in sources:
    constraint = gw.compile(source, vocabulary)
    state = constraint.start()
    for byte in constraint.example().encode():
        constraint.mask(state)
        state = constraint.advance(state, byte)
    constraint.mask(state)
    constraint.distance(state)
constraint = gw.compile(gw.Regex("a{2,9}"), vocabulary)
constraint.mask_within(constraint.start(), 3)
constraint.tables()
sys.exit(f"opened {opened}" if opened else 0)
"""


def test_after_it_compiling_and_masking_open_nothing():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.untraced
def test_what_was_compiled_before_it_is_compiled_the_same_after_it():
    source = gw.JsonSchema({"type": "string", "format": "date"})
    before = gw.compile(source, BYTES)
    gw.warmup()
    gw.clear_cache()
    after = gw.compile(source, BYTES)
    assert after is not before
    assert after.example() == before.example()
    assert masks_along(after) == masks_along(before)


def test_after_it_no_format_is_made_anew(monkeypatch):
    gw.warmup()
    monkeypatch.setattr(json_scalars, "lower_format", None)
    for name in ("date-time", "email", "idn-hostname", "uri"):
        for spelling in ("any", "plain"):
            source = gw.JsonSchema({"type": "string", "format": name}, spelling=spelling)
            assert gw.compile(source, BYTES).example()


def test_after_it_a_vocabulary_of_a_tokenizer_has_what_all_its_constraints_share():
    gw.warmup()
    gw.warmup()
    whole = gw.Vocabulary.from_tokenizer_json(sentencepiece())
    assert "fingerprint" in vars(whole)
    assert gw.compile(gw.JsonSchema({"type": "array"}), whole).matches("[]")
    few = gw.Vocabulary.from_tokenizer_json(byte_level())  # which cannot spell all
    assert "fingerprint" not in vars(few)


def test_after_it_masks_of_usual_parts_of_schemas_are_known(monkeypatch):
    gw.warmup()
    whole = gw.Vocabulary.from_tokenizer_json(sentencepiece())
    monkeypatch.setattr(TokenMaskCache, "make", None)
    tokens = {known: token for token, known in enumerate(whole.tokens)}
    for schema, value in caches.USUAL:
        constraint = gw.compile(gw.JsonSchema({"type": "array", "items": schema}), whole)
        text = [tokens[bytes((byte,))] for byte in json.dumps([value]).encode()]
        assert constraint.accepts(read(constraint, text, constraint.start(lead=b"")))


def test_after_it_what_was_there_is_not_searched_for_garbage_and_what_comes_later_is():
    class Ring:
        def __init__(self):
            self.ring = self

    before = weakref.ref(Ring())
    gc.unfreeze()
    gw.warmup()
    assert gc.get_freeze_count() > 10_000
    assert before() is None
    after = weakref.ref(Ring())
    gc.collect()
    assert after() is None


# States of vocabularies that cannot spell every byte: made once, and forgotten without harm.

VOCABULARY = gw.Vocabulary([b"ab", b"abab", b"abc", b"<end>"], eos_ids={3})


def masks(constraint: CompiledConstraint, tokens: Iterable[int]) -> list[list[int]]:
    states = accumulate(tokens, constraint.advance, initial=constraint.start())
    return [constraint.mask(state).tolist() for state in states]


def test_what_is_forgotten_is_made_again_the_same() -> None:
    constraint = gw.compile(gw.Regex("(ab)+c"), VOCABULARY)
    # Only `abc` has a c: after it nothing but the end, before it everything else.
    expected = [[0b0111], [0b0111], [0b0111], [0b1000]]
    assert masks(constraint, [0, 1, 2]) == expected
    held = constraint._states.held()
    assert held.rows > 0
    constraint.forget()
    assert constraint._states.held().rows < held.rows
    assert masks(constraint, [0, 1, 2]) == expected


LACKING = gw.Vocabulary([b"ab", b"b", b"<eos>"], {2})


def test_a_language_that_tokens_cannot_spell_is_refused():
    with pytest.raises(gw.UnsatisfiableError, match="cannot spell any text"):
        gw.compile(gw.Choice(["a", "ba"]), LACKING)
    constraint = gw.compile(gw.Choice(["b"]), LACKING)
    with pytest.raises(gw.UnsatisfiableError, match="cannot spell any text"):
        constraint.start(lead=b"aa")
    assert constraint.distance(constraint.start(lead=b"ab")) == 2


def test_a_language_with_too_many_states_is_refused_by_name():
    tokens = [bytes((byte,)) for byte in b'{}[]":,n'] + [b"null", b"ul"]
    vocabulary = gw.Vocabulary(tokens)
    with pytest.raises(gw.UnsupportedError, match="single bytes b'lu'"):
        gw.compile(gw.JsonSchema(True), vocabulary)


def test_only_the_first_missing_bytes_are_listed():
    pairs = [bytes((65, byte)) for byte in range(66, 90)]
    vocabulary = gw.Vocabulary([b'"', b"{", b"}", b":", b"1", *pairs])
    schema = {"type": "object", "additionalProperties": {"const": 1}}
    with pytest.raises(gw.UnsupportedError, match="and more"):
        gw.compile(gw.JsonSchema(schema, whitespace="compact"), vocabulary)


def test_what_a_text_meets_first_is_translated_when_compiling(monkeypatch) -> None:
    members = {"properties": {"a": {"type": "integer"}}, "additionalProperties": False}
    constraint = gw.compile(gw.JsonSchema({"type": "object", **members}), BYTES)
    monkeypatch.delattr(PushdownAutomaton, "_translate")
    assert read(constraint, b'{"a":')


def test_any_json_value_is_translated_once_for_all_constraints(monkeypatch) -> None:
    text = b'{"a": [-1.5e2, "\\u00e9", null, {}]}'
    first = masks(gw.compile(gw.JsonSchema({"description": "first"}), BYTES), text)
    monkeypatch.delattr(PushdownAutomaton, "_translate")
    assert masks(gw.compile(gw.JsonSchema({"description": "second"}), BYTES), text) == first
