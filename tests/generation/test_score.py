import math

import pytest

import guideway as gw
from guideway.generation import score as module
from guideway.generation.ensemble.ensemble import Ensemble
from guideway.generation.score import score
from guideway.models.fake import FakeModel

LETTERS = gw.Vocabulary([b"a", b"b", b"c", b"<eos>", b"<end>"], eos_ids={3, 4})
MODEL = FakeModel.random(LETTERS, seed=7, scale=2.0)


def one_forward_each(prompt: tuple[int, ...], tokens: tuple[int, ...], *, end: bool) -> float:
    """The log-probability by the definition: a product over prefixes."""
    total = 0.0
    for count, token in enumerate(tokens):
        _, logits = MODEL.prefill([(*prompt, *tokens[:count])])
        total += float(logits[0].log_softmax(0)[token])
    _, logits = MODEL.prefill([(*prompt, *tokens)])
    return total + float(logits[0].softmax(0)[[3, 4]].sum().log()) * end


@pytest.mark.parametrize("most", [1, 10, 40, 10_000])
def test_scores_are_those_of_one_forward_each(most: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MOST_LOGITS", most)  # how many rows go together changes nothing
    texts = [(0,), (1, 2), (0, 0, 1, 2), (2,), (1, 2, 2)]
    ends = [True, False, True, False, True]
    found = score(Ensemble.of(MODEL), ((1, 0),), texts, ends)
    for text, end, log in zip(texts, ends, found, strict=True):
        assert log == pytest.approx(one_forward_each((1, 0), text, end=end), abs=1e-5)


def test_an_end_without_end_ids_and_logits_that_are_no_numbers_are_refused():
    model = FakeModel.random(gw.Vocabulary([b"a"]))
    with pytest.raises(gw.ModelError, match="no end ids"):
        score(Ensemble.of(model), ((0,),), [(0,)], [True])
    assert score(Ensemble.of(model), ((0,),), [(0,)], [False]) == [0.0]
    for value in (math.nan, math.inf):
        broken = FakeModel(LETTERS, lambda prefix, value=value: [value] * 5)
        with pytest.raises(gw.ModelError, match="NaN or infinite"):
            score(Ensemble.of(broken), ((0,),), [(0,), (1, 2)], [False, False])


def test_what_is_longer_than_the_context_is_refused():
    model = FakeModel(LETTERS, lambda prefix: [0.0] * 5, context=4)
    assert len(score(Ensemble.of(model), ((0, 1),), [(0,), (1, 2)], [False, True])) == 2
    with pytest.raises(gw.LimitError, match="have 5 tokens") as caught:
        score(Ensemble.of(model), ((0, 1),), [(0,), (1, 2, 0)], [False, False])
    assert (caught.value.limit, caught.value.given, caught.value.needed) == ("context", 4, 5)
