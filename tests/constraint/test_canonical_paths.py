"""Canonical tokens under a constraint, with brute force over all short texts as the oracle."""

import itertools
import json
import random
import threading
from functools import cache
from typing import Any

import pytest
from tokenizers import Tokenizer

import guideway as gw
from budget_law import check_within
from canonical_tokenizers import TOKENIZERS, automaton, library, vocabulary
from guideway.automaton.token_tries import unpack
from guideway.constraint.compile import canonical_automaton
from guideway.constraint.compiled import CompiledConstraint, DecodeState
from guideway.vocabulary.self_check import FRAGMENTS, SPACES
from real_tokenizers import NAMES, real_vocabulary, tokenizer_folder
from small_tokenizers import word_piece

Sequence = tuple[int, ...]

# Each has finitely many texts, or is cut at so many characters.
SOURCES: dict[str, tuple[str, Any, str]] = {
    "gpt2 any": ("gpt2", gw.Regex("[ab' ]{0,4}"), "ab' "),
    "gpt2 forced": ("gpt2", gw.Regex("(a|b)b{1,2}( a|'s)?"), "ab's "),
    "gpt2 blanks": ("gpt2", gw.Regex(" {0,4}(a?|1?2?)"), " a12"),
    "gpt2 characters": ("gpt2", gw.Regex("(é|ê|a|日){1,3}"), "éêa日"),
    "llama3": ("llama3", gw.Regex("[ab]{1,4}|[ \n]{0,3}b?|[123]{2,4}|é?a"), "ab \n123é"),
    "digits": ("digits", gw.Regex("[ab12 ]{1,4}"), "ab12 "),
    "nfc": ("nfc", gw.Regex("[aebé\u0301\u0300\u212b]{1,3}"), "aebé\u0301\u0300\u212b"),
    "odd": ("odd", gw.Regex("[ab]{2,6}"), "ab"),
    "pieces": ("pieces", gw.Regex("[ab \né]{1,4}"), "ab \né"),
    "words": ("words", gw.Regex("[ab ]{1,4}"), "ab "),
    "repeated": ("gpt2", gw.Regex("(ab?|b|') ?\\1"), "ab' "),
}


def compiled(name: str, source: Any) -> CompiledConstraint:
    return gw.compile(source, vocabulary(name), canonical=library(name))


def sequences(constraint: CompiledConstraint) -> set[Sequence]:
    """All that the masks allow, and no dead end: each mask allows something, or may end."""
    ends = constraint.vocabulary.eos_ids
    found = set[Sequence]()
    stack: list[tuple[Sequence, DecodeState]] = [((), constraint.start(b""))]
    while stack:
        tokens, state = stack.pop()
        allowed = [int(token) for token in unpack(constraint.mask(state))]
        assert allowed
        assert constraint.accepts(state) == ends.issubset(allowed)
        if constraint.accepts(state):
            found.add(tokens)
            assert constraint.distance(state) == 0
        going_on = [token for token in allowed if token not in ends]
        stack += [((*tokens, token), constraint.advance(state, token)) for token in going_on]
    return found


@pytest.mark.parametrize("name", SOURCES)
def test_what_is_allowed_is_what_encoding_the_texts_of_the_language_gives(name: str) -> None:
    which, source, letters = SOURCES[name]
    plain, own = gw.compile(source, vocabulary(which)), automaton(which)
    texts = ("".join(t) for n in range(7) for t in itertools.product(letters, repeat=n))
    members = [t for t in texts if len(letters) ** len(t) < 5000 and plain.matches(t)]
    wanted = {own.encode(text.encode()) for text in members} - {None}
    assert sequences(compiled(which, source)) == wanted
    assert wanted


@pytest.mark.parametrize("name", ["gpt2 any", "gpt2 characters", "odd", "nfc"])
def test_the_distance_falls_and_a_mask_within_holds_its_limit(name: str) -> None:
    which, source, _ = SOURCES[name]
    constraint = compiled(which, source)
    ends = constraint.vocabulary.eos_ids
    stack = [constraint.start(b"")]
    seen = set[DecodeState]()
    while stack:
        state = stack.pop()
        if state in seen:
            continue
        seen.add(state)
        needed = constraint.distance(state)
        check_within(constraint, state, range(max(needed - 1, 0), needed + 2))
        allowed = unpack(constraint.mask(state)).tolist()
        stack += [constraint.advance(state, token) for token in allowed if token not in ends]


def test_a_text_that_is_not_what_its_tokens_spell_is_left_out() -> None:
    constraint = compiled("nfc", gw.Choice(["e\u0301", "a", "<end>"]))
    assert [constraint.matches(text) for text in ("e\u0301", "a", "<end>")] == [False, True, False]
    assert constraint.example() == "a"
    with pytest.raises(gw.UnsatisfiableError, match="no text of the source survives"):
        compiled("nfc", gw.Choice(["e\u0301"])).start()


def test_a_lead_is_encoded_with_the_text() -> None:
    constraint = compiled("gpt2", gw.Choice(["b", " a"]))
    (joined,) = [t for t in unpack(constraint.mask(constraint.start(b"a"))).tolist() if t != 0]
    assert constraint.vocabulary.tokens[joined] == b"ab"


def test_after_an_end_only_ends_come_and_other_tokens_are_refused() -> None:
    constraint = compiled("gpt2", gw.Regex("a?"))
    (end,) = constraint.vocabulary.eos_ids
    state = constraint.advance(constraint.start(), end)
    assert unpack(constraint.mask(state)).tolist() == [end]
    assert unpack(constraint.mask_within(state, 1)).tolist() == [end]
    assert constraint.distance(state) == 0
    for refused in (0, 1, 9_999):
        with pytest.raises(gw.TokenRejected):
            constraint.advance(state, refused)
    with pytest.raises(gw.TokenRejected):
        constraint.advance(constraint.start(), 1)


def test_constraints_of_one_tokenizer_wait_for_each_other() -> None:
    constraint, asked = compiled("gpt2", gw.Regex("a+'s")), list[bool]()

    def ask() -> None:
        constraint.mask(constraint.start(b"a"))
        asked.append(constraint.matches("aa's"))

    with canonical_automaton(library("gpt2"), constraint.vocabulary).lock:
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join(0.02)
        assert not asked
    thread.join()
    assert asked == [True]


def test_special_tokens_that_a_source_names_stand_as_they_are_read() -> None:
    named = json.loads(TOKENIZERS["gpt2"])
    named["added_tokens"][0]["id"] = 20
    named["added_tokens"] += [{**named["added_tokens"][0], "id": 30, "content": "<b>"}]
    text = json.dumps(named).encode()
    own = gw.Vocabulary.from_tokenizer_json(text, eos="<end>")
    tokenizer = Tokenizer.from_buffer(text)
    source = gw.Choice(["a"]) + gw.special("<b>") + gw.Choice(["b", ""])
    constraint = gw.compile(source, own, canonical=tokenizer)
    marked = own.special["<b>"]
    found = sequences(constraint)
    assert found == {(0, marked), (0, marked, 1)}
    assert constraint.matches("a<b>b")
    assert constraint.example() == "a<b>"


def test_keys_that_are_remembered_are_cut_canonically() -> None:
    schema = {"type": "array", "items": {"enum": ["a", "ab"]}, "uniqueItems": True}
    constraint = compiled("gpt2 json", gw.JsonSchema(schema, whitespace="compact"))
    own = automaton("gpt2 json")
    texts = ["[]", '["a"]', '["ab"]', '["a","ab"]', '["ab","a"]']
    assert sequences(constraint) == {own.encode(text.encode()) for text in texts}


def test_tables_and_other_tokenizers_are_refused_by_name() -> None:
    with pytest.raises(gw.UnsupportedError, match="tables do not support canonical"):
        compiled("gpt2", gw.Regex("a")).tables()
    with pytest.raises(gw.ModelError, match="does not belong to the vocabulary"):
        gw.compile("a", vocabulary("gpt2"), canonical=library("odd"))
    with pytest.raises(gw.ModelError, match="not a fast transformers tokenizer"):
        gw.compile("a", vocabulary("gpt2"), canonical="gpt2")
    for truth in (True, False):
        with pytest.raises(gw.SourceError, match=f"canonical is {truth}: guideway.compile needs"):
            gw.compile("a", vocabulary("gpt2"), canonical=truth)
    own = gw.Vocabulary.from_tokenizer_json(word_piece(), eos="[SEP]")
    with pytest.raises(gw.UnsupportedError, match="its model is WordPiece"):
        gw.compile(gw.Text(), own, canonical=Tokenizer.from_buffer(word_piece()))


# Canonical tokens of real tokenizers: random walks, and texts cut by the tokenizer itself.

pytestmark = pytest.mark.untraced  # the merges of a real tokenizer take seconds

REAL_SOURCES = {
    "any text": gw.Text(),
    "regex": gw.Regex(r"[a-z]{1,6}( {1,3}\d+|'s|\n+)*[.!]"),
    "characters": gw.Regex("[à-ü日本語‘’]{1,5}"),
    "schema": gw.JsonSchema({"type": "object", "properties": {"a": {"type": "string"}}}),
    "grammar": gw.Gbnf('root ::= "(" root? ")" | [a-z]+ " " root'),
}
REAL = [name if name == "smollm2" else pytest.param(name, marks=pytest.mark.slow) for name in NAMES]
SLOW = {"regex", "schema", "grammar"}
CHOSEN = [s if s not in SLOW else pytest.param(s, marks=pytest.mark.slow) for s in REAL_SOURCES]


@cache
def tokenizer(name: str) -> Tokenizer:
    return Tokenizer.from_file(str(tokenizer_folder(name) / "tokenizer.json"))


@pytest.mark.parametrize("source", CHOSEN)
@pytest.mark.parametrize("name", REAL)
def test_a_random_walk_ends_with_what_encoding_its_text_gives(name: str, source: str) -> None:
    own, vocabulary = tokenizer(name), real_vocabulary(name)
    constraint = gw.compile(REAL_SOURCES[source], vocabulary, canonical=own)
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
        halves = [vocabulary.ids(half) for half in (data[:1], data[1:])]
        if len(data) > 1 and all(halves):
            other = [*tokens[:at], *(half[0] for half in halves), *tokens[at + 1 :]]
            assert not automaton.ends(automaton.run(automaton.start, other, joined=False)), text
