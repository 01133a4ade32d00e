"""Guiding by a classifier, against Bayes' rule by enumeration.

The toy is that of the literature's own definition: five tokens, texts of four, everything known.
"""

import itertools
import math
from collections.abc import Callable, Sequence

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from guideway.logits.classifier import ClassifierTerm
from guideway.logits.rescore import TextContext, gedi_log_probs, rescore
from guideway.logits.rows import Rows
from guideway.vocabulary.vocabulary import Vocabulary

LETTERS = "abcde"
LENGTH = 4
TOY = Vocabulary([letter.encode() for letter in LETTERS])
TEXTS = ["".join(letters) for letters in itertools.product(LETTERS, repeat=LENGTH)]
PREFIXES = [
    "".join(letters)
    for length in range(LENGTH + 1)
    for letters in itertools.product(LETTERS, repeat=length)
]


class Table:
    """A classifier that notes what it is asked."""

    def __init__(self, log_prob: Callable[[str], float]) -> None:
        self.log_prob = log_prob
        self.calls: list[list[str]] = []

    def log_probs(self, texts: Sequence[str]) -> torch.Tensor:
        self.calls.append(list(texts))
        return torch.tensor([self.log_prob(text) for text in texts], dtype=torch.float64)


def noise(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def language_model(seed: int) -> dict[str, torch.Tensor]:
    """The log-probabilities of the next letter after each beginning of a text."""
    rows = (2 * noise(seed, len(PREFIXES), len(LETTERS))).log_softmax(1)
    return dict(zip(PREFIXES, rows, strict=True))


def probabilities(model: dict[str, torch.Tensor]) -> dict[str, float]:
    return {
        text: math.exp(sum(float(model[text[:n]][LETTERS.index(text[n])]) for n in range(LENGTH)))
        for text in TEXTS
    }


def future(chances: dict[str, float], of_class: dict[str, float]) -> Table:
    """The classifier that knows how every beginning goes on: P(class | beginning)."""

    def log_prob(prefix: str) -> float:
        ends = [text for text in TEXTS if text.startswith(prefix)]
        both = math.fsum(chances[text] * of_class[text] for text in ends)
        mass = math.fsum(chances[text] for text in ends)
        return math.log(both / mass) if both else -math.inf

    return Table({prefix: log_prob(prefix) for prefix in PREFIXES}.__getitem__)


def context(text: str) -> TextContext:
    return TextContext(tuple(letter.encode() for letter in text))


def guided(model: dict[str, torch.Tensor], term: ClassifierTerm) -> dict[str, float]:
    """The probability of each text when every letter is drawn under guidance."""
    prefixes = [prefix for prefix in PREFIXES if len(prefix) < LENGTH]
    values = torch.stack([model[prefix] for prefix in prefixes]).float()
    rows = Rows(values, torch.ones_like(values, dtype=torch.bool))
    done = rescore(rows, term, [context(prefix) for prefix in prefixes], TOY)
    assert done.support.any(1).all()
    steps = dict(zip(prefixes, done.closed().double().softmax(1), strict=True))
    return {
        text: math.prod(float(steps[text[:n]][LETTERS.index(text[n])]) for n in range(LENGTH))
        for text in TEXTS
    }


@pytest.mark.parametrize("rest", ["drop", "keep"])
@pytest.mark.parametrize("kind", ["soft", "hard", "rare"])
@pytest.mark.parametrize("seed", range(3))
def test_guided_by_what_texts_become_it_is_bayes_rule_exactly(rest: str, kind: str, seed: int):
    """p(x | class) by enumeration, with all tokens rescored and a weight of 1."""
    model = language_model(seed)
    chances = probabilities(model)
    shares = dict(zip(TEXTS, noise(seed + 9, len(TEXTS)).sigmoid().tolist(), strict=True))
    of_class = {
        "soft": shares,
        "hard": {text: float("ab" in text) for text in TEXTS},
        "rare": {text: float(text == "edcb") for text in TEXTS},
    }[kind]
    term = ClassifierTerm(future(chances, of_class), 1, top=len(LETTERS), rest=rest)
    evidence = math.fsum(chances[text] * of_class[text] for text in TEXTS)
    for text, chance in guided(model, term).items():
        assert chance == pytest.approx(chances[text] * of_class[text] / evidence, abs=2e-6)


def everything(values: torch.Tensor) -> Rows:
    return Rows(values.float(), torch.ones_like(values, dtype=torch.bool))


@given(
    st.integers(0, 10**6),
    st.sampled_from([-5, -0.5, 0.3, 4]),
    st.integers(1, 6),
    st.sampled_from(["drop", "keep"]),
    st.booleans(),
)
def test_a_row_is_what_the_definition_gives_token_by_token(
    seed: int, alpha: float, top: int, rest: str, held: bool
):
    """Of candidates that are allowed, P(class | text and token) / P(class | text) by alpha.

    The rest is dropped, or kept with P(class | text); what is not within stays. Where all tokens
    are asked about, it says nothing which are within.
    """
    noisy = torch.Generator().manual_seed(seed)
    values = torch.randn(5, generator=noisy)
    within = torch.rand(5, generator=noisy) < 0.5 if held else torch.ones(5, dtype=torch.bool)
    within[int(torch.randint(5, (1,), generator=noisy))] = True
    said = dict(zip(["x", *(f"x{c}" for c in LETTERS)], (-3 * torch.rand(6)).tolist(), strict=True))
    table = Table(said.__getitem__)
    term = ClassifierTerm(table, alpha, top=top, rest=rest)
    done = rescore(everything(values[None]), term, [context("x")], TOY, within[None])
    within |= torch.tensor(top >= 5)
    ranked = values.masked_fill(~within, -math.inf).argsort(descending=True, stable=True).tolist()
    best = [token for token in ranked if within[token]][:top]
    expected = values + alpha * said["x"]
    for token in range(5):
        if token in best:
            expected[token] = values[token] + alpha * said[f"x{LETTERS[token]}"]
        elif within[token] and rest == "drop":
            expected[token] = -math.inf
    torch.testing.assert_close(done.closed().softmax(1), expected.softmax(0)[None])


@given(
    st.integers(0, 10**6),
    st.sampled_from([-5.0, -1.0, 0.5, 3.0]),
    st.integers(1, 6),
    st.sampled_from(["drop", "keep"]),
    st.sampled_from([None, 0.0, 0.8]),
    st.sampled_from([None, 1, 2]),
    st.integers(1, 3),
)
def test_no_row_changes_by_the_rows_around_it_and_nothing_comes_that_was_not_allowed(
    seed: int,
    alpha: float,
    top: int,
    rest: str,
    entropy: float | None,
    window: int | None,
    every: int,
):
    """With impossible classes, single tokens, rows at different steps, and models of no hope."""
    noisy = torch.Generator().manual_seed(seed)
    values = 3 * torch.randn(5, 5, generator=noisy)
    values[0, 0] = -1e30
    support = torch.rand(5, 5, generator=noisy) < 0.6
    support[torch.arange(5), torch.randint(5, (5,), generator=noisy)] = True
    contexts = [context("abcd"[: int(n)]) for n in torch.randint(4, (5,), generator=noisy)]

    def log_prob(text: str) -> float:
        place = sum(map(ord, text)) + seed
        return -math.inf if place % 3 == 0 else -((place % 7) ** 2)

    table = Table(log_prob)
    term = ClassifierTerm(
        table, alpha, top=top, rest=rest, entropy=entropy, window=window, every=every
    )
    rows = Rows(values, support)
    done = rescore(rows, term, contexts, TOY)
    assert len(table.calls) <= 1
    assert all(len(set(texts)) == len(texts) for texts in table.calls)
    assert sum(map(len, table.calls)) <= 5 * (top + 1)
    assert done.values.isfinite().all()
    assert done.support.any(1).all()
    assert not (done.support & ~support).any()
    if rest == "drop" and entropy is None and every == 1:
        single = support.sum(1) == 1
        assert (done.support.sum(1) <= top)[~single].all()
    for row in range(5):
        alone = rescore(
            Rows(values[row : row + 1], support[row : row + 1]), term, [contexts[row]], TOY
        )
        assert torch.equal(alone.values[0], done.values[row])
        assert torch.equal(alone.support[0], done.support[row])


def test_all_rows_are_one_call_and_equal_texts_are_asked_once():
    table = Table(lambda text: -float(len(text)))
    vocabulary = Vocabulary([b"a", b"b", b"ab", b"\xc3", b"<end>"], eos_ids={4})
    contexts = [TextContext((b"a",)), TextContext((b"a",)), TextContext((b"", b""))]
    term = ClassifierTerm(table, 1)
    rescore(everything(noise(4, 3, 5)), term, contexts, vocabulary)
    # The end and the beginning of a character both leave "a" as it is.
    assert [sorted(texts) for texts in table.calls] == [["", "a", "aa", "aab", "ab", "b"]]
    keep = ClassifierTerm(table, 1, top=1, rest="keep")
    rescore(everything(noise(4, 1, 5)), keep, contexts[:1], vocabulary)
    assert len(table.calls) == 2
    assert "a" in table.calls[1]


def test_where_there_is_nothing_to_weigh_nothing_is_asked_and_changed():
    table = Table(lambda text: -1.0)
    forced = Rows(noise(5, 2, 5).float(), torch.eye(5, dtype=torch.bool)[:2])
    one = Rows(torch.zeros(1, 1), torch.ones(1, 1, dtype=torch.bool))
    for rows, alpha, words in (
        (everything(noise(3, 2, 5)), 0, TOY),
        (forced, 5, TOY),
        (one, 5, Vocabulary([b"a"])),
    ):
        contexts = [TextContext()] * len(rows.values)
        assert rescore(rows, ClassifierTerm(table, alpha, top=1), contexts, words) is rows
    assert table.calls == []


def test_between_the_steps_of_every_nothing_is_asked_or_dropped():
    table = Table(lambda text: -float(text.count("a")))
    rows = everything(noise(6, 4, 5))
    contexts = [context("bcd"[:n]) for n in range(4)]
    done = rescore(rows, ClassifierTerm(table, 1, top=2, every=2), contexts, TOY)
    assert done.support.sum(1).tolist() == [2, 5, 2, 5]
    assert torch.equal(done.values[1::2], rows.values[1::2])
    assert {len(text) for text in table.calls[0]} == {1, 3}
    late = ClassifierTerm(table, 1, top=2, every=3)
    only = Rows(rows.values[1:3], rows.support[1:3])
    assert rescore(only, late, contexts[1:3], TOY) is only


def test_the_entropy_of_what_is_allowed_decides_row_by_row():
    values = torch.tensor([[9.0, 0.0, 0.0, 0.0, 9.0], [0.0] * 5])
    support = torch.tensor([[True, True, True, True, False], [True] * 4 + [False]])
    nats = math.log(4)  # of the second row; the first has next to none, but ln 2 without the mask
    for entropy, dropped in ((0, (1, 1)), (0.5, (0, 1)), (nats - 1e-4, (0, 1)), (nats + 1e-4, ())):
        term = ClassifierTerm(Table(lambda text: -1.0), 1, top=2, entropy=entropy)
        done = rescore(Rows(values, support), term, [TextContext()] * 2, TOY)
        expected = [2 if row < len(dropped) and dropped[row] else 4 for row in range(2)]
        assert done.support.sum(1).tolist() == expected


def test_the_classifier_reads_the_window_or_the_prompt():
    table = Table(lambda text: -1.0)
    rows = everything(noise(7, 1, 5))
    asked = TextContext((b"xy", b"z"), prompt="P")
    rescore(rows, ClassifierTerm(table, 1, top=5, window=2), [asked], TOY)
    rescore(rows, ClassifierTerm(table, 1, top=5, window=2, rest="keep"), [asked], TOY)
    rescore(rows, ClassifierTerm(table, 1, top=5, prompt=True), [asked], TOY)
    assert set(table.calls[0]) == {f"z{letter}" for letter in LETTERS}
    assert set(table.calls[1]) == {"z", *table.calls[0]}
    assert set(table.calls[2]) == {f"Pxyz{letter}" for letter in LETTERS}


@pytest.mark.parametrize("rest", ["drop", "keep"])
@pytest.mark.parametrize(
    ("alpha", "impossible", "left"),
    [
        (1, "a", "bcde"),  # the class is impossible after it: Bayes gives it nothing
        (-1, "ab", "ab"),  # infinitely far from the class
        (1, "abcde", "abcde"),  # impossible whatever comes: that says nothing
        (-1, "abcde", "abcde"),
    ],
)
def test_an_impossible_class_is_exact_and_never_empties_a_row(
    rest: str, alpha: int, impossible: str, left: str
):
    table = Table(lambda text: -math.inf if text and text[-1] in impossible else -1.5)
    values = noise(8, 1, 5).float()
    term = ClassifierTerm(table, alpha, top=5, rest=rest)
    done = rescore(everything(values), term, [TextContext()], TOY)
    kept = [LETTERS[token] for token in done.support[0].nonzero()[:, 0].tolist()]
    assert "".join(kept) == left
    expected = values.masked_fill(~done.support, -math.inf).softmax(1)
    torch.testing.assert_close(done.closed().softmax(1), expected)


def test_kept_tokens_take_over_where_the_class_is_impossible_after_all_candidates():
    values = torch.tensor([[3.0, 2.0, 1.0, 0.0, -1.0]])
    for so_far, left in ((-1.0, [2, 3, 4]), (-math.inf, [0, 1, 2, 3, 4])):
        table = Table(lambda text, so_far=so_far: -math.inf if text else so_far)
        term = ClassifierTerm(table, 1, top=2, rest="keep")
        done = rescore(everything(values), term, [TextContext()], TOY)
        assert done.support[0].nonzero()[:, 0].tolist() == left
        assert torch.equal(done.values[done.support], values[done.support])


def test_huge_weights_and_values_stay_finite():
    values = torch.tensor([[torch.finfo(torch.float32).min, -1e30, 0.0, 1e30, 3e38]])
    table = Table(lambda text: -1e300 if text == "a" else -700.0 * (1 + ord(text[-1]) % 5))
    for alpha in (1e300, -1e300, 1e-300, 10**300):
        term = ClassifierTerm(table, alpha, top=5)
        done = rescore(everything(values), term, [TextContext()], TOY)
        assert done.values.isfinite().all()
        assert done.support.all()


def test_a_pair_of_models_is_bayes_rule_with_the_mean_over_tokens():
    wanted, unwanted = noise(30, 2, 5).log_softmax(1), noise(31, 2, 5).log_softmax(1)
    sums, steps = noise(32, 2, 2), [0, 3]
    given = gedi_log_probs(wanted, unwanted, sums, steps)
    for row, count in enumerate((1, 4)):
        both = [(sums[row, 0] + wanted[row]) / count, (sums[row, 1] + unwanted[row]) / count]
        torch.testing.assert_close(given[row], torch.stack(both).log_softmax(0)[0])
    least = torch.full((1, 5), -1e30)  # it stays finite where both models see no chance
    assert gedi_log_probs(least, least * 0 - 3, torch.zeros(1, 2), [0]).isfinite().all()
    same = gedi_log_probs(least, least, torch.zeros(1, 2), [0])
    assert same.exp().tolist() == [pytest.approx([0.5] * 5)]
