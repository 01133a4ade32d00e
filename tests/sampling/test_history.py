"""Text that was drawn before: repeated and completed sequences by comparing all of them, and that
remembering is a value."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guideway.errors import LimitError
from guideway.sampling.history import LARGEST, Endings, History, Repeats, Rules, completing
from guideway.sampling.settings import Sampling
from guideway.vocabulary.vocabulary import Vocabulary

ASCII = [bytes([b]) for b in range(128)] + [b"\xc3", b"\xa9", b"foo", b"bar", b": ", b"<end>"]
END = len(ASCII) - 1
WORDS = Vocabulary(ASCII, eos_ids={END}, width=len(ASCII) + 2)
SMALL = [bytes(s) for n in (1, 2, 3) for s in product(b"ab", repeat=n)] + [b"\xc3", b"\xa9", None]
SPELLING = Vocabulary([*SMALL, b"<end>"], eos_ids={len(SMALL)})

words = st.text("abé", min_size=1, max_size=4)
spelled_by = st.lists(st.sampled_from(range(len(SMALL) - 1)), max_size=6)
texts = st.lists(st.tuples(st.integers(0, 2), st.sampled_from([False] * 9 + [True])), min_size=1)


def lengths(text: list[tuple[int, bool]]) -> list[int]:
    """How much of what is before each place is the end of the text as well, breaks apart."""
    found = list[int]()
    for place in range(len(text)):
        size = 0
        while size < place:
            here, last = text[place - 1 - size], text[len(text) - 1 - size]
            if here[0] != last[0] or here[1] or last[1]:
                break
            size += 1
        found.append(size)
    return found


@given(texts, texts, st.integers(1, 3))
def test_repeats_are_those_of_all_pairs_of_places(text, more, allowed: int):
    ids = np.array([token for token, _ in text])
    repeats = Repeats.of(ids, [broken for _, broken in text])
    assert repeats.lengths.tolist() == lengths(text)
    for token, broken in more[:6]:
        repeats = repeats.after(ids, token, breaks=broken)
        ids, text = np.append(ids, token), [*text, (token, broken)]
        assert repeats.lengths.tolist() == lengths(text)
        assert repeats.breaks.tolist() == [broken for _, broken in text]
    longest: dict[int, int] = {}
    for (token, broken), length in zip(text, lengths(text), strict=True):
        if length >= allowed and not broken:
            longest[token] = max(length, longest.get(token, 0))
    tokens, penalties = repeats.penalties(ids, multiplier=0.8, base=1.75, allowed=allowed)
    assert tokens.tolist() == sorted(longest)
    expected = [0.8 * 1.75 ** (longest[token] - allowed) for token in sorted(longest)]
    assert penalties.tolist() == pytest.approx(expected)


def test_a_penalty_is_finite_however_long_the_sequence():
    text = np.zeros(3000, np.int64)
    repeats = Repeats.of(text, [False] * 3000)
    _, penalties = repeats.penalties(text, multiplier=0.8, base=1.75, allowed=2)
    assert penalties.tolist() == [LARGEST]


@given(st.lists(st.integers(0, 2), min_size=1, max_size=12), st.integers(1, 4))
def test_a_token_completes_an_ngram_exactly_if_it_is_there_already(text: list[int], size: int):
    def grams(tokens: list[int]) -> list[tuple[int, ...]]:
        return [tuple(tokens[n : n + size]) for n in range(len(tokens) - size + 1)]

    expected = [t for t in range(3) if len(text) >= size and grams([*text, t])[-1] in grams(text)]
    assert completing(np.array(text), size).tolist() == expected


@given(words, spelled_by)
def test_texts_are_completed_by_the_tokens_after_which_they_are_there(word: str, text: list[int]):
    """Within what was generated, or at its end."""
    before, data = b"".join(SMALL[token] or b"" for token in text), word.encode()
    for within in (True, False):
        endings = Endings.of([(word, 1.0)], SPELLING, within=within, what="words")
        groups = [*endings.always, *endings.completed(np.array(text, np.int64), before)]
        expected = set[int]()
        for token, spelling in enumerate(SMALL):
            after = (before + (spelling or b""))[max(0, len(before) - len(data) + 1) :]
            if spelling and (data in after if within else after.endswith(data)):
                expected.add(token)
        assert {int(token) for ids, _ in groups for token in ids} == expected


def test_a_sequence_is_completed_where_its_beginning_stands_last():
    pairs = [((3,), 1.0), ((1, 2), 2.0), ((0, 1, 2), 3.0), ((1, 4), 4.0)]
    endings = Endings.of(pairs, SPELLING, within=False, what="bias")
    values = [(ids.tolist(), value) for ids, value in endings.completed(np.array([5, 0, 1]), b"")]
    assert values == [([2], 2.0), ([4], 4.0), ([2], 3.0)]
    assert [(ids.tolist(), value) for ids, value in endings.always] == [([3], 1.0)]
    for none in ([1, 0], []):
        assert list(endings.completed(np.array(none, np.int64), b"")) == []


def begin(prompt: str = "", joint: bytes = b"", **settings: object) -> History:
    return History.begin(Rules.of(Sampling.of(settings), WORDS), ids(prompt) or (END,), joint)


def ids(text: str) -> tuple[int, ...]:
    return tuple(map(ord, text))


def grown(history: History, text: str) -> History:
    for token in ids(text):
        history = history.after(token)
    return history


def test_prompt_and_text_are_told_apart_where_anything_asks_for_them():
    history = begin("ab", temperature=0.5, top_p=0.9)
    assert history.after(3) is history
    history = grown(begin("aba", presence_penalty=1), "bc")
    assert bytes(history.generated.tolist()) == b"bc"
    assert bytes(history.tokens.tolist()) == b"ababc"
    assert sorted(history.seen.tolist()) == sorted(map(ord, "abbc"))
    rules = Rules.of(Sampling(repetition_penalty=2), WORDS)
    assert History.begin(rules, [5, 999]).seen.tolist() == [5]  # the other has no logit
    many = grown(begin("x", bad_words_ids=["ab"], no_repeat_ngram_size=2), "a")
    for found in (many.bad_words(), many.repeated_ngrams(), many.seen):
        assert found.dtype == np.int64


def test_two_texts_go_on_from_one_history():
    trunk = grown(begin("q", dry_multiplier=1.0, mirostat_mode=2, mirostat_tau=3), "abcab")
    left, right = trunk.after(ord("c"), 5.0), trunk.after(ord("x"), 1.0)
    assert [h.dry()[0].tolist() for h in (trunk, left, right)] == [[ord("c")], [ord("a")], []]
    assert [h.text for h in (trunk, left, right)] == ["abcab", "abcabc", "abcabx"]
    assert [h.ceiling for h in (trunk, left, right)] == pytest.approx([6.0, 5.8, 6.2])
    assert begin(mirostat_mode=1).after(3, None).ceiling == 10.0  # there was no choice


def test_dry_looks_at_the_prompt_and_never_at_ends():
    tokens, penalties = begin("abcdab", dry_multiplier=0.8).dry()
    assert (tokens.tolist(), penalties.tolist()) == ([ord("c")], [0.8])
    rules = Rules.of(Sampling(dry_multiplier=1.0), WORDS)
    colon = ASCII.index(b": ")  # a breaker, as in JSON
    for prompt in ([1, 2, END, 1, 2], [1, colon, 2, 1, colon]):
        assert History.begin(rules, prompt).dry()[0].tolist() == []
    assert [len(each) for each in begin("abcabc", flat_penalty=1).dry()] == [0, 0]  # it is off


@pytest.mark.parametrize(
    ("breakers", "expected"),
    [((), "c"), (["b"], ""), ("\n", "c"), (["zz", "ab"], ""), (["c"], ""), ("xab", "c")],
)
def test_a_breaker_may_be_spread_over_tokens(breakers: object, expected: str):
    history = grown(begin("q", dry_multiplier=1.0, dry_sequence_breakers=breakers), "abcdab")
    assert history.dry()[0].tolist() == list(ids(expected))


def test_bad_words_are_found_in_the_text_and_ngrams_in_the_prompt_too():
    history = grown(begin("fo", bad_words_ids=["foo", [1, 2]]), "o")
    assert history.bad_words().tolist() == []
    assert set(grown(history, "fo").bad_words().tolist()) == {ord("o")}
    assert set(history.after(1).bad_words().tolist()) == {2}
    assert [ids.tolist() for ids, _ in history.rules.words.always] == [[ASCII.index(b"foo")]]
    assert grown(begin("abc", no_repeat_ngram_size=3), "ab").repeated_ngrams().tolist() == [99]
    assert begin("abcab").repeated_ngrams().tolist() == []


def sums(history: History) -> dict[int, float]:
    found: dict[int, float] = {}
    for ids, value in (*history.rules.bias.always, *history.biases()):
        for token in ids.tolist():
            found[token] = found.get(token, 0) + value
    return found


def test_biases_that_come_together_are_added():
    history = begin("q", logit_bias={(1, 2): 1.5, 2: 0.25, 3: 9, "ab": 4})
    assert sums(history) == {2: 0.25, 3: 9.0}
    assert sums(history.after(1)) == {2: 1.75, 3: 9.0}
    assert sums(history.after(ord("a"))) == {2: 0.25, 3: 9.0, ord("b"): 4.0}
    pairs = begin("q", sequence_bias=[[[1, 2], 1.5], [[2], 0.25]])
    assert sums(pairs.after(1)) == {2: 1.75}


def test_a_bias_may_depend_on_the_text_so_far():
    seen: list[str] = []

    def bias(text: str) -> dict[object, float]:
        seen.append(text)
        return {"!": 2.0, (ord("b"), 5): 1.0, 7: -1.0}

    history = grown(begin("prompt", logit_bias=bias), "ab")
    assert sums(history) == {7: -1.0, 5: 1.0, ord("!"): 2.0}
    assert sums(history.after(ASCII.index(b"\xc3"))) == {7: -1.0, ord("!"): 2.0}
    assert seen == ["ab", "ab"]  # half a character is held back
    grown(begin("x", b" ", logit_bias=bias), " a").biases()
    assert seen[-1] == "a"


def test_what_cannot_be_is_refused():
    for given_back in (3, [1], {"a": float("nan")}, None):
        with pytest.raises(LimitError, match="this is what the function gave"):
            begin("x", logit_bias=lambda text, given=given_back: given).biases()
    with pytest.raises(LimitError, match=f"bad_words_ids has the end id {END}"):
        begin("x", bad_words_ids=[[END]])
    begin("x", bad_words_ids=[[5, END]])
    for settings in ({"logit_bias": {999: 1.0}}, {"bad_words_ids": [[1, 999]]}):
        with pytest.raises(LimitError, match="has the token 999: it must be below 136") as caught:
            begin("x", **settings)
        assert (caught.value.limit, caught.value.given) == (next(iter(settings)), 999)
