"""Warming up changes nothing but the time of the first call."""

import gc
import json
import subprocess
import sys
import weakref

import pytest

import guideway as gw
from guideway.automaton.token_mask_cache import TokenMaskCache
from guideway.constraint import caches
from guideway.json_schema import scalars as json_scalars
from small_tokenizers import byte_level, sentencepiece

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
    vocabulary = gw.Vocabulary([bytes((b,)) for b in range(256)])
    source = gw.JsonSchema({"type": "string", "format": "date"})
    before = gw.compile(source, vocabulary)
    gw.warmup()
    gw.clear_cache()
    after = gw.compile(source, vocabulary)
    assert after is not before
    assert after.example() == before.example()
    states = [before.start(), after.start()]
    for byte in before.example().encode():
        masks = [one.mask(at).tolist() for one, at in zip((before, after), states, strict=True)]
        assert masks[0] == masks[1]
        states = [one.advance(at, byte) for one, at in zip((before, after), states, strict=True)]


def test_after_it_no_format_is_made_anew(monkeypatch):
    gw.warmup()
    monkeypatch.setattr(json_scalars, "lower_format", None)
    vocabulary = gw.Vocabulary([bytes((b,)) for b in range(256)])
    for name in ("date-time", "email", "idn-hostname", "uri"):
        for spelling in ("any", "plain"):
            schema = {"properties": {"a": {"type": "string", "format": name}}, "required": ["a"]}
            source = gw.JsonSchema(schema, spelling=spelling)
            assert gw.compile(source, vocabulary).example()


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
        state = constraint.start(lead=b"")
        for byte in json.dumps([value]).encode():
            constraint.mask(state)
            state = constraint.advance(state, tokens[bytes((byte,))])
        assert constraint.accepts(state)


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
