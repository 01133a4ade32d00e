"""Walks against stepping through the bytes of each token: the mask by brute force."""

from hypothesis import given
from hypothesis import strategies as st

from guideway.automaton.plain_masks import Rows
from guideway.automaton.token_tries import unpack
from guideway.language.budget import Budget
from guideway.language.derivative import Derivatives
from guideway.vocabulary.vocabulary import Vocabulary
from toys import distinct, expressions, nested

vocabularies = st.lists(
    st.one_of(st.none(), st.lists(st.sampled_from(b"ab,[]"), min_size=1, max_size=4).map(bytes)),
    min_size=1,
    max_size=30,
).map(lambda tokens: Vocabulary([*tokens, b"<eos>", None], {len(tokens)}, width=len(tokens) + 5))

languages = st.one_of(expressions(), st.builds(distinct), st.builds(nested))


def brute_force(machine, state, vocabulary):
    """What the mask must be, from the definition alone."""
    allowed = set(vocabulary.eos_ids) if machine.accepts(state) else set()
    for token, spelling in enumerate(vocabulary.tokens):
        after = state
        for byte in spelling or b"":
            after = after if after is None else machine.step(after, byte)
        if spelling and after is not None:
            allowed.add(token)
    return allowed


budgets = st.sampled_from([Budget(), Budget(rows=1, table_bytes=1)])


@given(languages, vocabularies, st.lists(st.integers(0, 40), max_size=6), budgets)
def test_the_mask_is_what_stepping_through_each_token_says(expr, vocabulary, choices, budget):
    machine = Derivatives(expr, vocabulary.spellable)
    made = Rows(machine, vocabulary, budget)
    state = machine.start()
    for choice in choices:
        allowed = unpack(made.row(state)).tolist()
        assert set(allowed) == brute_force(machine, state, vocabulary)
        text = [t for t in allowed if t not in vocabulary.eos_ids]
        if not text:
            break
        state = made.after(state, text[choice % len(text)])
