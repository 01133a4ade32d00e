"""What is remembered of a text, and that remembering is a value."""

import numpy as np
import pytest

from guideway.errors import LimitError
from guideway.sampling.history import History, Rules
from guideway.sampling.settings import Sampling
from guideway.vocabulary.vocabulary import Vocabulary

TOKENS = [bytes([b]) for b in range(128)] + [b"\xc3", b"\xa9", b"foo", b"bar", b": ", b"<end>"]
END = len(TOKENS) - 1
ASCII = Vocabulary(TOKENS, eos_ids={END}, width=len(TOKENS) + 2)


def begin(prompt: str = "", joint: bytes = b"", **settings: object) -> History:
    return History.begin(Rules.of(Sampling.of(settings), ASCII), ids(prompt) or (END,), joint)


def ids(text: str) -> tuple[int, ...]:
    return tuple(map(ord, text))


def grown(history: History, text: str) -> History:
    for token in ids(text):
        history = history.after(token)
    return history


def test_nothing_is_remembered_where_nothing_asks_for_it():
    history = begin("ab", temperature=0.5, top_p=0.9)
    assert history.after(3) is history


def test_prompt_and_text_are_told_apart():
    history = grown(begin("aba", presence_penalty=1), "bc")
    assert bytes(history.generated.tolist()) == b"bc"
    assert bytes(history.tokens.tolist()) == b"ababc"
    assert sorted(history.seen.tolist()) == sorted(map(ord, "abbc"))


def test_tokens_of_the_prompt_without_a_logit_are_not_seen():
    rules = Rules.of(Sampling(repetition_penalty=2), ASCII)
    assert History.begin(rules, [5, 999]).seen.tolist() == [5]


def test_two_texts_go_on_from_one_history():
    trunk = grown(begin("q", dry_multiplier=1.0, mirostat_mode=2, mirostat_tau=3), "abcab")
    left, right = trunk.after(ord("c"), 5.0), trunk.after(ord("x"), 1.0)
    assert trunk.dry()[0].tolist() == [ord("c")]
    assert left.dry()[0].tolist() == [ord("a")]
    assert right.dry()[0].tolist() == []
    assert [h.text for h in (trunk, left, right)] == ["abcab", "abcabc", "abcabx"]
    assert trunk.ceiling == pytest.approx(6.0)
    assert left.ceiling == pytest.approx(5.8)
    assert right.ceiling == pytest.approx(6.2)


def test_a_token_without_a_choice_leaves_the_ceiling():
    assert begin(mirostat_mode=1).after(3, None).ceiling == 10.0


def test_dry_looks_at_the_prompt_and_never_at_ends():
    history = begin("abcdab", dry_multiplier=0.8)
    tokens, penalties = history.dry()
    assert (tokens.tolist(), penalties.tolist()) == ([ord("c")], [0.8])
    rules = Rules.of(Sampling(dry_multiplier=1.0), ASCII)
    ended = History.begin(rules, [1, 2, END, 1, 2])
    assert ended.dry()[0].tolist() == []


def test_dry_is_off_until_it_has_a_multiplier():
    tokens, penalties = begin("abcabc", flat_penalty=1).dry()
    assert (len(tokens), len(penalties)) == (0, 0)


@pytest.mark.parametrize(
    ("breakers", "expected"),
    [((), "c"), (["b"], ""), ("\n", "c"), (["zz", "ab"], ""), (["c"], ""), ("xab", "c")],
)
def test_a_breaker_may_be_spread_over_tokens(breakers: object, expected: str):
    history = grown(begin("q", dry_multiplier=1.0, dry_sequence_breakers=breakers), "abcdab")
    assert history.dry()[0].tolist() == list(ids(expected))


def test_the_default_breakers_are_those_of_json():
    tokens = TOKENS.index(b": ")
    rules = Rules.of(Sampling(dry_multiplier=1.0), ASCII)
    history = History.begin(rules, [1, tokens, 2, 1, tokens])
    assert history.dry()[0].tolist() == []


def test_bad_words_are_found_in_the_text_and_not_in_the_prompt():
    history = grown(begin("fo", bad_words_ids=["foo", [1, 2]]), "o")
    assert history.bad_words().tolist() == []
    assert set(grown(history, "fo").bad_words().tolist()) == {ord("o")}
    assert set(history.after(1).bad_words().tolist()) == {2}
    assert [ids.tolist() for ids, _ in history.rules.words.always] == [[TOKENS.index(b"foo")]]


def test_repeated_ngrams_count_those_of_the_prompt():
    history = grown(begin("abc", no_repeat_ngram_size=3), "ab")
    assert history.repeated_ngrams().tolist() == [ord("c")]
    assert begin("abcab").repeated_ngrams().tolist() == []


def sums(history: History) -> dict[int, float]:
    found: dict[int, float] = {}
    for ids, value in (*history.rules.bias.always, *history.biases()):
        for token in ids.tolist():
            found[token] = found.get(token, 0) + value
    return found


def test_biases_that_come_together_are_added():
    bias = {(1, 2): 1.5, 2: 0.25, 3: 9, "ab": 4}
    history = begin("q", logit_bias=bias)
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

    history = begin("prompt", logit_bias=bias).after(ord("a")).after(ord("b"))
    assert sums(history) == {7: -1.0, 5: 1.0, ord("!"): 2.0}
    assert sums(history.after(TOKENS.index(b"\xc3"))) == {7: -1.0, ord("!"): 2.0}
    assert seen == ["ab", "ab"]  # half a character is held back
    begin("x", b" ", logit_bias=bias).after(ord(" ")).after(ord("a")).biases()
    assert seen[-1] == "a"


@pytest.mark.parametrize("given", [3, [1], {"a": float("nan")}, None])
def test_a_function_must_give_a_bias(given: object):
    with pytest.raises(LimitError, match="this is what the function gave"):
        begin("x", logit_bias=lambda text: given).biases()


def test_an_end_id_is_no_bad_word():
    with pytest.raises(LimitError, match=f"bad_words_ids has the end id {END}"):
        begin("x", bad_words_ids=[[END]])
    begin("x", bad_words_ids=[[5, END]])


def test_ids_beyond_the_vocabulary_are_refused():
    for settings in ({"logit_bias": {999: 1.0}}, {"bad_words_ids": [[1, 999]]}):
        with pytest.raises(LimitError, match="has the token 999"):
            begin("x", **settings)


def test_ids_are_numpy_integers_of_64_bits():
    history = grown(begin("x", bad_words_ids=["ab"], no_repeat_ngram_size=2), "a")
    for found in (history.bad_words(), history.repeated_ngrams(), history.seen):
        assert found.dtype == np.int64
