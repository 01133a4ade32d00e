"""The laws of `Constraint`, on every kind of language and vocabulary."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

from budget_law import check_within
from guideway.automaton.token_tries import unpack
from guideway.constraint.compiled import CompiledConstraint
from guideway.errors import TokenRejected, UnsatisfiableError
from guideway.language.budget import Budget
from guideway.language.derivative import Derivatives
from guideway.language.expr import concat, literal
from guideway.vocabulary.vocabulary import Vocabulary
from toys import ALPHABET, distinct, expressions, is_distinct, language, nested, strings

singles = [bytes((b,)) for b in b"ab,[]"]
longer = st.lists(
    st.lists(st.sampled_from(b"ab,[]"), min_size=2, max_size=4).map(bytes), max_size=8
)
leads = st.sampled_from([b"", b"", b"a"])


@st.composite
def vocabularies(draw):
    """Closed ones, and ones that lack single bytes."""
    lacking = draw(st.sets(st.sampled_from(singles), max_size=2))
    tokens = [t for t in singles if t not in lacking] + draw(longer)
    tokens = draw(st.permutations(tokens))
    ends = draw(st.integers(0, 2))
    ids = range(len(tokens), len(tokens) + ends)
    named = [*tokens, *[b"<end>"] * ends]
    return Vocabulary(named, set(ids), width=len(named) + 3, lead=draw(leads))


languages = st.one_of(expressions(), st.builds(nested))


def built(expr, vocabulary):
    machine = Derivatives(expr, vocabulary.spellable)
    start = concat(literal(vocabulary.lead), expr)
    if not machine.alive(start):
        reject()
    try:
        return CompiledConstraint(expr, machine, vocabulary, Budget())
    except UnsatisfiableError:
        reject()


def walk(constraint, choices):
    """The states along a path of allowed tokens, with what was taken."""
    state, taken = constraint.start(), []
    yield state, taken
    for choice in choices:
        allowed = unpack(constraint.mask(state)).tolist()
        if not allowed:
            return
        taken = [*taken, allowed[choice % len(allowed)]]
        state = constraint.advance(state, taken[-1])
        yield state, taken


paths = st.lists(st.integers(0, 50), max_size=7)


@pytest.mark.untraced
@given(expressions(), vocabularies(), paths)
def test_masks_advance_and_ends_agree(expr, vocabulary, choices):
    constraint = built(expr, vocabulary)
    for state, _ in walk(constraint, choices):
        allowed = set(unpack(constraint.mask(state)).tolist())
        if constraint.accepts(state):
            assert vocabulary.eos_ids <= allowed
        else:
            assert allowed
            assert not vocabulary.eos_ids & allowed
        for token in range(-1, vocabulary.width + 2):
            if token in allowed:
                constraint.advance(state, token)
            else:
                with pytest.raises(TokenRejected) as rejected:
                    constraint.advance(state, token)
                assert rejected.value.token == token


@pytest.mark.untraced
@given(expressions(), vocabularies(), paths)
def test_after_an_end_id_only_end_ids_follow(expr, vocabulary, choices):
    constraint = built(expr, vocabulary)
    assume(vocabulary.eos_ids)
    for state, _ in walk(constraint, choices):
        if constraint.accepts(state):
            ended = constraint.advance(state, min(vocabulary.eos_ids))
            assert constraint.accepts(ended)
            assert set(unpack(constraint.mask(ended)).tolist()) == vocabulary.eos_ids
            assert constraint.advance(ended, max(vocabulary.eos_ids)).ended
            assert constraint.mask_within(ended, 0) is constraint.mask(ended)


@pytest.mark.untraced
@given(expressions(), vocabularies())
def test_exactly_the_texts_of_the_language_that_tokens_spell_are_produced(expr, vocabulary):
    constraint = built(expr, vocabulary)
    text_tokens = [t for t in vocabulary.tokens if t]
    size = 3
    spelled = {b""}
    for _ in range(size + len(vocabulary.lead)):
        spelled |= {s + t for s in spelled for t in text_tokens if len(s + t) <= size + 2}
    expected = {text for text in language(expr, size) if vocabulary.lead + text in spelled}
    produced, states = set(), [(constraint.start(), b"")]
    while states:
        state, text = states.pop()
        if constraint.accepts(state):
            produced.add(text.removeprefix(vocabulary.lead))
        for token in unpack(constraint.mask(state)).tolist():
            if token not in vocabulary.eos_ids:
                longer_text = text + vocabulary.tokens[token]
                if len(longer_text) <= size + len(vocabulary.lead):
                    states.append((constraint.advance(state, token), longer_text))
    # The oracle lists strings over its own alphabet; a complement has others as well.
    assert {p for p in produced if len(p) <= size and not p.strip(ALPHABET)} == expected
    for text in strings(2):
        assert constraint.matches(text) == (text in expected)


@given(languages, vocabularies(), paths)
def test_distance_falls_along_some_token_and_budgets_are_kept(expr, vocabulary, choices):
    if expr.regular is False:
        assume(vocabulary.closed)
    constraint = built(expr, vocabulary)
    for state, _ in walk(constraint, choices):
        if state.ended:
            break
        distance = constraint.distance(state)
        check_within(constraint, state, [*range(max(distance - 1, 0), distance + 4), 10**9])


@given(expressions(), vocabularies(), paths)
def test_forced_tokens_are_those_without_a_choice(expr, vocabulary, choices):
    constraint = built(expr, vocabulary)
    for state, _ in walk(constraint, choices):
        if state.ended:
            break
        chain, at = [], state
        while not at.ended and len(allowed := unpack(constraint.mask(at))) == 1 and len(chain) < 30:
            chain.append(int(allowed[0]))
            at = constraint.advance(at, chain[-1])
        forced = constraint.forced(state)
        assert list(forced) == chain[: len(forced)]
        assert len(forced) == len(chain) or len(chain) == 30


@given(languages, st.integers(0, 3))
def test_forced_bytes_begin_every_text(expr, steps):
    vocabulary = Vocabulary(singles)
    constraint = built(expr, vocabulary)
    states = [s for s, _ in walk(constraint, [1] * steps)]
    common = constraint.forced_bytes(states[-1])
    state = states[-1]
    for byte in common:
        assert unpack(constraint.mask(state)).tolist() == [singles.index(bytes((byte,)))]
        state = constraint.advance(state, singles.index(bytes((byte,))))


@pytest.mark.untraced
@given(expressions(), vocabularies())
def test_the_example_is_a_shortest_text(expr, vocabulary):
    constraint = built(expr, vocabulary)
    example = constraint.example()
    assert constraint.matches(example)
    for text in strings(min(len(example) - 1, 3)) if example else ():
        assert not constraint.matches(text)


def test_captured_words_never_repeat_whatever_the_tokens():
    tokens = [*singles, b"a,", b",a", b"a,b", b"b,a]", b",a,a", b"aa", b",b,a,"]
    vocabulary = Vocabulary(tokens)
    constraint = built(distinct(), vocabulary)
    for path in itertools.product(range(len(tokens)), repeat=4):
        state, text = constraint.start(), b""
        for token in path:
            text += tokens[token]
            if not constraint.mask(state)[0] >> token & 1:
                break
            state = constraint.advance(state, token)
        else:
            if constraint.accepts(state):
                assert is_distinct(text)
            distance = constraint.distance(state)
            check_within(constraint, state, (distance, distance + 2))


@pytest.mark.parametrize("token", ["[", None, 1.0, b"["])
def test_a_token_is_an_id(token):
    constraint = built(nested(), Vocabulary(singles))
    with pytest.raises(TokenRejected, match="must be an id"):
        constraint.advance(constraint.start(), token)
    bracket = np.int64(singles.index(b"["))
    assert constraint.advance(constraint.start(), bracket)


def test_states_are_values_and_stay_as_they_were():
    constraint = built(nested(), Vocabulary(singles))
    first = constraint.start()
    before = constraint.mask(first).tobytes()
    second = constraint.advance(first, singles.index(b"["))
    assert constraint.start() == first
    assert constraint.mask(first).tobytes() == before
    assert constraint.advance(first, singles.index(b"[")) == second
    assert second != first
