"""Canonical tokens of real tokenizers: random walks, and texts cut by the tokenizer itself."""

import random
from functools import cache

import pytest
from tokenizers import Tokenizer

import guideway as gw
from guideway.automaton.token_tries import unpack
from guideway.constraint.compile import canonical_automaton
from guideway.vocabulary.self_check import FRAGMENTS, SPACES
from real_tokenizers import NAMES, real_vocabulary, tokenizer_folder

pytestmark = pytest.mark.untraced  # the merges of a real tokenizer take seconds

SOURCES = {
    "any text": gw.Text(),
    "regex": gw.Regex(r"[a-z]{1,6}( {1,3}\d+|'s|\n+)*[.!]"),
    "characters": gw.Regex("[à-ü日本語‘’]{1,5}"),
    "schema": gw.JsonSchema({"type": "object", "properties": {"a": {"type": "string"}}}),
    "grammar": gw.Gbnf('root ::= "(" root? ")" | [a-z]+ " " root'),
}
REAL = [name if name == "smollm2" else pytest.param(name, marks=pytest.mark.slow) for name in NAMES]
SLOW = {"regex", "schema", "grammar"}
CHOSEN = [s if s not in SLOW else pytest.param(s, marks=pytest.mark.slow) for s in SOURCES]


@cache
def tokenizer(name: str) -> Tokenizer:
    return Tokenizer.from_file(str(tokenizer_folder(name) / "tokenizer.json"))


@pytest.mark.parametrize("source", CHOSEN)
@pytest.mark.parametrize("name", REAL)
def test_a_random_walk_ends_with_what_encoding_its_text_gives(name: str, source: str) -> None:
    own, vocabulary = tokenizer(name), real_vocabulary(name)
    constraint = gw.compile(SOURCES[source], vocabulary, canonical=own)
    chance = random.Random(0)
    for _ in range(2):
        state, tokens = constraint.start(b""), list[int]()
        while True:
            left = max(constraint.distance(state), 12 - len(tokens))
            allowed = unpack(constraint.mask_within(state, left)).tolist()
            going_on = [token for token in allowed if token not in vocabulary.eos_ids]
            assert allowed or constraint.accepts(state)
            over = not going_on or left == 0 or chance.random() < 0.1
            if constraint.accepts(state) and over:
                break
            tokens.append(chance.choice(going_on))
            state = constraint.advance(state, tokens[-1])
        text = b"".join(vocabulary.tokens[token] or b"" for token in tokens).decode()
        assert own.encode(text, add_special_tokens=False).ids == tokens, text


@pytest.mark.parametrize("name", REAL)
def test_the_tokens_of_any_text_are_canonical_and_no_others(name: str) -> None:
    own, vocabulary = tokenizer(name), real_vocabulary(name)
    automaton = canonical_automaton(own, vocabulary)
    chance = random.Random(1)
    for _ in range(150):
        text = chance.choice(FRAGMENTS) + chance.choice(SPACES) + chance.choice(FRAGMENTS)
        tokens = automaton.encode(text.encode())
        if tokens is None:
            continue
        place = automaton.run(automaton.start, tokens, joined=False)
        assert automaton.ends(place), text
        at = chance.randrange(len(tokens))  # cut one token in two
        data = vocabulary.tokens[tokens[at]] or b""
        halves = [vocabulary.trie.ids(half) for half in (data[:1], data[1:])]
        if len(data) > 1 and all(half.size for half in halves):
            other = [*tokens[:at], *(int(half[0]) for half in halves), *tokens[at + 1 :]]
            assert not automaton.ends(automaton.run(automaton.start, other, joined=False)), text
