"""Expressions over models: leaves that share what runs, caches, rows that end apart."""

import math

import pytest
import torch

import guideway as gw
from guideway.generation.ensemble.ensemble import Ensemble, reading
from guideway.generation.ensemble.prompt import PromptReader
from guideway.generation.ensemble.views import Reading, System
from guideway.generation.row.request import Request
from guideway.generation.score import score
from guideway.logits.evaluate import Step, evaluate
from guideway.logits.expr import Filtered, GediTerm, Leaf, guided, total
from guideway.logits.rescore import TextContext
from guideway.models.fake import FakeModel
from whole_batches import generate

LETTERS = gw.Vocabulary([b"a", b"b", b"c", b"<eos>"], eos_ids={3})
TURNED = gw.Vocabulary([b"<end>", b"c", b"b", b"a"], eos_ids={0}, width=5)


class Counting:
    """A fake model that counts its forwards and their rows."""

    def __init__(self, vocabulary=LETTERS, seed=0, context=None):
        self.inner = FakeModel.random(vocabulary, seed, scale=2.0)
        self.vocabulary, self.device = vocabulary, torch.device("cpu")
        self.context = context
        self.calls = []

    def prefill(self, prompts):
        self.calls.append(len(prompts))
        return self.inner.prefill(prompts)

    def extend(self, cache, tokens):
        self.calls.append(len(tokens))
        return self.inner.extend(cache, tokens)

    def select(self, cache, rows):
        return self.inner.select(cache, rows)


def leaf(model, name="m", *, reader=None, **changes) -> Leaf:
    return Leaf(Reading(model, reader or PromptReader(model.vocabulary), **changes), name)


def alone(model, tokens):
    """The logits of a model after a prefix, computed by itself."""
    return model.inner.prefill([tokens])[1][0]


def test_leaves_of_one_model_run_as_one_batch_and_equal_prompts_are_read_once():
    model, other = Counting(), Counting(seed=1)
    reader = PromptReader(LETTERS)
    plain = leaf(model, reader=reader)
    told = leaf(model, reader=reader, views=(System("c"),))
    ensemble = Ensemble(total([(2, plain), (-1, told), (1, leaf(other))]))
    assert [reading(each).views for each in ensemble.leaves] == [(), (System("c"),), ()]
    rows = [((0,), (2, 0), (0,)), ((0,), (2, 0), (0,)), ((1,), (2, 1), (1,))]
    cache, logits = ensemble.prefill(rows)
    assert (model.calls, other.calls) == ([4], [2])
    for number, row in enumerate(rows):
        for place, each in enumerate(ensemble.leaves):
            expected = alone(reading(each).model, row[place])
            torch.testing.assert_close(logits[each][number], expected)
    cache, logits = ensemble.extend(cache, torch.tensor([[0, 1], [1, 1], [2, 0]]))
    assert (model.calls[1:], other.calls[1:]) == ([6], [3])
    for each, place in zip(ensemble.leaves, range(3), strict=True):
        expected = alone(reading(each).model, (*rows[2][place], 2, 0))
        torch.testing.assert_close(logits[each][2, 1], expected)
    cache = ensemble.select(cache, [2, 0])
    _, logits = ensemble.extend(cache, torch.tensor([[1], [0]]))
    for place, each in enumerate(ensemble.leaves):
        for row, read in enumerate(((*rows[2][place], 2, 0, 1), (*rows[0][place], 0, 1, 0))):
            torch.testing.assert_close(logits[each][row, 0], alone(reading(each).model, read))


def test_another_vocabulary_is_read_in_the_ids_of_the_main_one():
    main, other = Counting(), Counting(TURNED, 1)
    ensemble = Ensemble(total([(1, leaf(main)), (1, leaf(other))]))
    cache, logits = ensemble.prefill([((0,), (3,))])
    second = ensemble.leaves[1]
    expected = alone(other, (3,))
    torch.testing.assert_close(logits[second][0], expected[[3, 2, 1, 0]])
    _, logits = ensemble.extend(cache, torch.tensor([[1, 2]]))  # "bc" is 2, 1 there
    torch.testing.assert_close(logits[second][0, 1], alone(other, (3, 2, 1))[[3, 2, 1, 0]])


def test_the_vocabulary_is_the_one_that_all_models_have_in_whatever_order_they_are_written():
    more = gw.Vocabulary([b"a", b"c", b"bc", b"b", b"<eos>", b"ab"], eos_ids={4})
    small, large = Counting(), Counting(more, 1)
    first, second = (
        Ensemble(total([(1, leaf(each)) for each in order]))
        for order in ((small, large), (large, small))
    )
    assert first.vocabulary == second.vocabulary == small.vocabulary
    assert [each.model for each in second.contexts] == [small, large]
    request = Request((0,), None, gw.Sampling(seed=1, max_new_tokens=6), others=((0,),))
    assert generate(first, [request])[0].tokens == generate(second, [request])[0].tokens
    strange = gw.Vocabulary([b"a", b"b", b"<eos>", b"c", b"d"], eos_ids={2})
    with pytest.raises(gw.UnsupportedError, match="lacks 2 of the tokens"):
        Ensemble(total([(1, leaf(large)), (1, leaf(Counting(strange)))]))
    other = gw.Vocabulary([b"a", b"x", b"<eos>"], eos_ids={2})
    with pytest.raises(gw.UnsupportedError, match=r"different vocabularies.*b'[bcx]'"):
        Ensemble(total([(1, leaf(small)), (1, leaf(Counting(other)))]))
    one = Counting(gw.Vocabulary([b"a", b"<eos>"], eos_ids={1}))
    for order in ((one, large), (large, one)):  # what few tokens spell is no text that others read
        with pytest.raises(gw.UnsupportedError, match="lacks 4 of the tokens"):
            Ensemble(total([(1, leaf(each)) for each in order]))


def test_probabilities_are_those_of_the_arithmetic_before_the_constraint():
    models = [Counting(seed=n) for n in range(2)]
    node = total([(1, leaf(models[0])), (2, leaf(models[1]))])
    constraint = gw.compile(gw.Regex("(a|b)c"), LETTERS)
    done = generate(Ensemble(node), [Request((0,), constraint, others=((0,),))])[0]
    prefix, logs, kept = (0,), [], []
    for token in done.tokens:
        row = sum((n + 1) * alone(model, prefix).log_softmax(0) for n, model in enumerate(models))
        row = row.log_softmax(0)
        logs.append(float(row[token]))
        kept.append(float(row[[0, 1]].logsumexp(0)) if len(prefix) == 1 else float(row[2]))
        prefix = (*prefix, token)
    assert done.logprobs == pytest.approx(logs, abs=1e-5)
    assert done.log_allowed == pytest.approx(kept, abs=1e-5)


def test_the_shortest_context_is_the_limit():
    node = total([(1, leaf(Counting(context=20))), (1, leaf(Counting(seed=1, context=4)))])
    ensemble = Ensemble(node)
    done = generate(ensemble, [Request((0,), others=((0, 0),))])[0]
    assert len(done.tokens) <= 2
    with pytest.raises(gw.LimitError, match="context is 4"):
        generate(ensemble, [Request((0,), others=((0,) * 4,))])


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_model_of_a_pair_that_gives_no_numbers_is_told(bad):
    broken = FakeModel(LETTERS, lambda prefix: [bad if len(prefix) == 3 else 0.0, 0.0, 0.0, 9.0])
    term = GediTerm(leaf(broken), leaf(Counting()), 2.0, 0, 1)
    pair = Ensemble(guided(leaf(Counting(seed=1)), [term]))
    with pytest.raises(gw.ModelError, match="NaN"):
        score(pair, ((0,),) * len(pair.contexts), [(0,), (1, 2, 0)], [False, False])


def test_filters_that_leave_nothing_are_a_dead_end():
    one, other = (FakeModel.table(LETTERS, [row] * 4) for row in ([9.0, 0, 0, -9], [0, 9.0, 0, -9]))
    node = total([(1, Filtered("nucleus", leaf(each), 0.5)) for each in (one, other)])
    with pytest.raises(gw.DeadEndError, match=r"row 0: no token is left at step 0.*leave none"):
        generate(Ensemble(node), [Request((0,), others=((0,),))])


def test_the_sums_of_a_gedi_pair_are_those_of_the_text_so_far():
    base, wanted, unwanted = (Counting(seed=n) for n in range(3))
    pair = GediTerm(leaf(wanted), leaf(unwanted), 2.0, 0, 1)
    ensemble = Ensemble(guided(leaf(base), [pair]))
    cache, _ = ensemble.prefill([((0,), (1,), (2,)), ((0,), (1,), (2,))])
    assert cache.last[pair.wanted].logsumexp(1).tolist() == pytest.approx([0, 0], abs=1e-6)
    for tokens in ([[0, 1], [2, 2]], [[2], [1]]):
        cache, _ = ensemble.extend(cache, torch.tensor(tokens))
    cache = ensemble.select(cache, [1, 0])
    for row, text in ((1, (0, 1, 2)), (0, (2, 2, 1))):
        for each, start in ((pair.wanted, 1), (pair.unwanted, 2)):
            expected = score(Ensemble.of(reading(each).model), ((start,),), [text], [False])[0]
            found = cache.last[each][row].logsumexp(0).item()
            assert found == pytest.approx(expected, abs=1e-5)


def test_scores_below_a_filter_are_those_of_one_step_at_a_time():
    base, wanted, unwanted = (Counting(seed=n) for n in range(3))
    term = GediTerm(leaf(wanted), leaf(unwanted), 2.0, 0, 1)
    node = Filtered("nucleus", guided(total([(1, leaf(base)), (0.5, leaf(wanted))]), [term]), 1)
    ensemble = Ensemble(node)
    prompts = ((0,),) * len(ensemble.contexts)
    texts = [(0,), (1, 2), (2, 2, 0)]
    found = score(ensemble, prompts, texts, [True, False, True])
    for text, end, log in zip(texts, [True, False, True], found, strict=True):
        steps = [(text[:place], token) for place, token in enumerate(text)] + [(text, 3)] * end
        expected = sum(stepwise(ensemble, prompts, texts, *each) for each in steps)
        assert log == pytest.approx(expected, abs=1e-4)


def stepwise(ensemble, prompts, texts, before, token):
    """The log-probability of a token after a text that is read token by token."""
    cache, logits = ensemble.prefill([prompts])
    for each in before:
        cache, longer = ensemble.extend(cache, torch.tensor([[each]]))
        logits = {leaf: row[:, 0] for leaf, row in longer.items()}
    nexts = {text[len(before)] for text in texts if text[: len(before)] == before != text}
    if before in (texts[0], texts[2]):
        nexts.add(3)
    allowed = torch.tensor([[token in nexts for token in range(4)]])
    contexts = [TextContext.of(before, LETTERS)]
    rows = evaluate(ensemble.node, Step(logits, allowed, LETTERS, contexts))
    return float(rows.closed(allowed).log_softmax(1)[0, token])
