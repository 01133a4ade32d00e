"""Token healing on toy vocabularies, with all splits of the prompt as the oracle."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import guideway as gw
from guideway.vocabulary.healing import across

SPELLINGS = st.lists(
    st.text("ab", min_size=1, max_size=4).map(str.encode), min_size=1, max_size=8, unique=True
)


@given(SPELLINGS, st.data())
def test_what_is_taken_back_is_all_that_a_token_may_read_across(
    spellings: list[bytes], data: st.DataObject
) -> None:
    vocabulary = gw.Vocabulary([*spellings, b"<s>"], eos_ids={len(spellings)})
    ids = st.integers(0, len(spellings))
    prompt = data.draw(st.lists(ids, max_size=6))
    kept, lead = gw.heal(prompt, vocabulary)

    spelled = [vocabulary.tokens[token] for token in prompt]
    begin = max((n + 1 for n, each in enumerate(spelled) if each is None), default=0)
    ends = {n: b"".join(each or b"" for each in spelled[n:]) for n in range(begin, len(prompt))}
    crossed = [
        n for n, end in ends.items() if any(s.startswith(end) and s != end for s in spellings)
    ]
    first = min(crossed, default=len(prompt))
    assert kept == tuple(prompt[:first])
    assert lead == ends.get(first, b"")

    taken = tuple(prompt[first:])
    for n in range(len(taken)):
        rest = ends[first + n]
        expected = {taken[n]} | {t for t, s in enumerate(spellings) if s.startswith(rest)}
        assert across(vocabulary, taken[n:]) == tuple(sorted(expected))


def test_ids_that_are_none_are_refused():
    with pytest.raises(gw.SourceError, match="9 is not a token of"):
        gw.heal([0, 9], gw.Vocabulary([b"a"]))
