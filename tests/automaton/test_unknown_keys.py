"""Tokens that end one undeclared key and begin another: whether any is left is mostly plain."""

import pytest

import guideway as gw
from guideway.automaton.lexer_dfa import shared_dfa
from guideway.automaton.pushdown_automaton import new_pda
from guideway.automaton.token_mask_cache import shared_mask_cache
from guideway.automaton.token_tries import unpack
from guideway.constraint.lowering import lower_source
from guideway.language.derivative import Derivatives

TOKENS = [b'":1,"', b'":1,"a', b'":1,"b', b'1,"', b',"']
WORDS = [*(bytes((b,)) for b in range(256)), *TOKENS, b"<end>"]
VOCABULARY = gw.Vocabulary(WORDS, eos_ids={len(WORDS) - 1})
ENDLESS = ["^[ab]+$", "^.+$", "^a[ab]*$"]
FEW = ["^(?!c)[ab]$", "^(?!c)(a|bb)$"]


def schema(pattern: str) -> gw.JsonSchema:
    parts = {"patternProperties": {pattern: {"const": 1}}, "additionalProperties": False}
    return gw.JsonSchema({"type": "object", **parts}, whitespace="compact")


@pytest.mark.parametrize("pattern", [*ENDLESS, *FEW])
@pytest.mark.parametrize("text", ['{"', '{"a', '{"b', '{"a":1,"b', '{"a":1,"bb', '{"b":1,"a'])
def test_each_token_may_come_if_its_bytes_may(pattern: str, text: str) -> None:
    constraint = gw.compile(schema(pattern), VOCABULARY)
    state = constraint.start()
    for byte in text.encode():
        if byte not in unpack(constraint.mask(state)).tolist():
            return
        state = constraint.advance(state, byte)
    allowed = {*unpack(constraint.mask(state)).tolist()}
    for token, word in enumerate(WORDS[:-1]):
        after = state
        for byte in word:
            readable = byte in unpack(constraint.mask(after)).tolist()
            if not readable:
                break
            after = constraint.advance(after, byte)
        else:
            assert token in allowed, word
            continue
        assert token not in allowed, word


@pytest.mark.parametrize("pattern", [*ENDLESS, *FEW])
def test_keys_that_never_run_out_leave_no_doubt_that_there_is_another(pattern: str) -> None:
    expr = lower_source(schema(pattern))
    mask_cache = shared_mask_cache(VOCABULARY, shared_dfa(VOCABULARY.spellable))
    pda = new_pda(expr, Derivatives(expr, VOCABULARY.spellable), mask_cache)
    macro = pda.enter(expr)
    for byte in b'{"a':
        macro = pda.read(macro, byte) >> 2
    _, unsure, _ = pda.fill(macro)
    doubtful = {WORDS[token] for token in unsure}
    assert (b'":1,"' in doubtful) == (pattern in FEW)
    assert doubtful <= {b'":1,"', b'":1,"a', b'":1,"b'}


def test_where_bytes_are_lacking_keys_run_out() -> None:
    words = [word for word in WORDS if b"b" not in word and word != b"\\"]
    vocabulary = gw.Vocabulary(words, eos_ids={len(words) - 1})
    constraint = gw.compile(schema("^(a|b+)$"), vocabulary)
    state = constraint.start()
    for byte in (b"{", b'"', b"a"):
        state = constraint.advance(state, words.index(byte))
    masked = {words[token] for token in unpack(constraint.mask(state)).tolist()}
    assert b'"' in masked
    assert not {*masked} & {*TOKENS}
