"""Rejection and ASAp: what is learned, limits, what is refused, independence of the batch."""

import math

import pytest
import torch

import guideway as gw
from guideway.models.fake import FakeModel
from guideway.search.adaptive import Rejection
from open_law import open_law, shares
from whole_batches import search

BITS = gw.Vocabulary([b"0", b"1", b"<eos>"], eos_ids={2})
LETTERS = gw.Vocabulary([*(bytes([b]) for b in b"abctruefls"), b"<eos>"], eos_ids={10})
EXACT = ("rejection", "asap", "smc")


def test_nothing_is_rejected_once_all_of_a_finite_language_is_known(
    monkeypatch: pytest.MonkeyPatch,
):
    searches = list[Rejection]()
    begin = Rejection.begin
    monkeypatch.setattr(Rejection, "begin", lambda self: (searches.append(self), begin(self))[1])
    model = FakeModel(BITS, lambda prefix: [0.0, 0.5, 0.2])
    texts = ["0", "10", "110", "111"]
    more = search(model, gw.Choice(texts), seed=3, exactness="rejection", num_return_sequences=99)
    assert {done.text for done in more} == set(texts)
    law = open_law(model, [text.encode() for text in texts])
    truth = math.log(math.fsum(law.values()))
    assert searches[0].trie.bound == pytest.approx(truth, abs=1e-5)
    assert sum(done.attempts or 0 for done in more) < 99 / math.exp(truth)


def test_too_many_attempts_are_an_error_that_says_what_was_learned():
    # Every beginning is new, and one text of a hundred million is in the language.
    model = FakeModel.random(LETTERS, 4)
    with pytest.raises(gw.LimitError, match="none of the last 30 texts") as caught:
        search(model, gw.Regex("(ab|ba|cc|rt){8}"), seed=3, exactness="rejection", max_attempts=30)
    assert (caught.value.limit, caught.value.given) == ("max_attempts", 30)
    assert 'exactness="smc"' in str(caught.value)


@pytest.mark.parametrize("mode", EXACT)
def test_a_beginning_after_which_filters_leave_nothing_is_given_up(mode: str):
    def logits(prefix: tuple[int, ...]) -> list[float]:
        return {1: [2.0, 1.9, 0.0], 2: [9.0, 9.0, 0.0]}.get(len(prefix), [9.0, 0.0, 0.0])

    more = {"particles": 40} if mode == "smc" else {}
    # "01…" and "11…" go on with the 0 of the filter only, which no text has there.
    found = search(
        FakeModel(BITS, logits), gw.Regex("0(11|00)|1(11|0)"), seed=3, exactness=mode, top_k=2,
        epsilon_cutoff=0.1, num_return_sequences=20, **more,
    )  # fmt: skip
    assert {done.text for done in found} == {"000", "10"}


@pytest.mark.parametrize("mode", EXACT)
def test_texts_are_the_same_whatever_the_batch_around_them(mode: str):
    model = FakeModel.random(BITS, 7)
    prompts, source = ["0", "11", "10"], gw.Regex("1(0|01)*1")
    settings = {"exactness": mode, "seed": 5, "num_return_sequences": 3, "max_new_tokens": 7}
    together = gw.Model(model).generate(prompts, source, **settings)
    alone = [gw.Model(model).generate(prompt, source, **settings) for prompt in prompts]
    assert [r.tokens for r in together] == [r.tokens for each in alone for r in each]
    assert [r.attempts for r in together] == [r.attempts for each in alone for r in each]
    assert all(gw.compile(source, BITS).matches(r.text) and len(r.tokens) <= 7 for r in together)
    assert all(r.log_z < 0 for r in together)
    other = gw.Model(model).generate(prompts, source, **settings | {"seed": 6})
    assert [r.tokens for r in together] != [r.tokens for r in other]


@pytest.mark.parametrize("mode", EXACT)
def test_the_probability_of_what_was_allowed_is_reported_as_ordinary_sampling_does(mode: str):
    model = FakeModel.random(BITS, 9)
    done = search(model, gw.Regex("1[01]{2}"), seed=3, exactness=mode, temperature=0.5)[0]
    allowed = [[1], [0, 1], [0, 1]]
    rows = [model.prefill([(0, *done.tokens[:place])])[1][0].log_softmax(0) for place in range(3)]
    kept = [float(row[ids].logsumexp(0)) for row, ids in zip(rows, allowed, strict=True)]
    assert done.log_allowed == pytest.approx(kept, abs=1e-6)
    own = [float(row[token]) for row, token in zip(rows, done.tokens, strict=True)]
    assert done.logprobs == pytest.approx(own, abs=1e-6)


@pytest.mark.parametrize("mode", EXACT)
def test_free_text_is_drawn_as_ever_since_nothing_holds_it(mode: str):
    vocabulary = gw.Vocabulary([b"0", b"1", b"<eos>", None], eos_ids={2})
    model = FakeModel(vocabulary, lambda prefix: [0.0, 1.0, 0.0, 50.0])
    found = search(
        model,
        None,
        seed=3,
        exactness=mode,
        num_return_sequences=30,
        max_new_tokens=4,
        min_new_tokens=2,
    )
    assert {len(done.tokens) for done in found} == {2, 3, 4}
    assert {done.finish_reason for done in found} == {"stop", "length"}
    if mode == "rejection":
        assert {done.attempts for done in found} == {1}
    if mode == "smc":
        assert found[0].population is not None
        assert found[0].population.log_evidence == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("mode", EXACT)
def test_an_expression_is_conditioned_as_a_whole(mode: str):
    one, other = FakeModel.random(BITS, 1), FakeModel.random(BITS, 2)
    guided = gw.Model(one) + 0.5 * gw.Model(other)

    def logits(prefix: tuple[int, ...]) -> torch.Tensor:
        rows = [each.prefill([prefix])[1][0].log_softmax(0) for each in (one, other)]
        return rows[0] + 0.5 * rows[1]

    more = {"particles": 200} if mode == "smc" else {}
    found = guided.generate(
        "0", gw.Regex("0|1[01]"), exactness=mode, seed=1, num_return_sequences=200, **more
    )
    law = shares(open_law(FakeModel(BITS, logits), [b"0", b"10", b"11"]))
    for tokens, p in law.items():
        share = sum(r.tokens == tokens for r in found) / 200
        assert abs(share - p) < 4 * math.sqrt(p * (1 - p) / 200)
