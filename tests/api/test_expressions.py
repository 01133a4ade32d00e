"""Models as numbers: operators, recipes, and the same calls as on one model."""

import asyncio
import math
from fractions import Fraction
from functools import reduce
from types import MappingProxyType

import numpy as np
import pytest
import torch

import guideway as gw
from guideway.generation.ensemble.ensemble import reading
from guideway.logits.expr import Farthest, Filtered, Linear, leaves
from guideway.models.fake import FakeModel

BYTES = gw.Vocabulary([bytes([b]) for b in range(256)] + [b"<eos>"], {256})


def fake(seed: int, name: str) -> gw.Model:
    return gw.Model(FakeModel.random(BYTES, seed, scale=2.0), name=name)


BASE, EXPERT, ANTI = fake(0, "base"), fake(1, "expert"), fake(2, "anti")


class Even:
    """Likes texts with an even number of characters."""

    def log_probs(self, texts):
        return torch.tensor([math.log(0.9 if len(text) % 2 == 0 else 0.1) for text in texts])


TERM = gw.classifier(Even(), alpha=5, top=20)


@pytest.mark.parametrize(("model", "text"), [
    (BASE + 1.5 * (EXPERT - ANTI), "base + 1.5*expert - 1.5*anti"),
    (-BASE + EXPERT * 2 / 4, "-base + 0.5*expert"),
    (-2 * BASE, "-2*base"),
    (BASE - BASE, "0"),
    (sum([BASE, 0.5 * EXPERT]), "base + 0.5*expert"),
    ((BASE + EXPERT).plausible(0.1), "(base + expert).plausible(0.1)"),
    (BASE.nucleus(0.9) - ANTI.temperature(0.5), "base.nucleus(0.9) - 2*anti"),
    (BASE.plausible(0.1, "pre_mask"), "base.plausible(0.1, 'pre_mask')"),
    (gw.maximum(BASE, EXPERT) + gw.minimum(BASE, ANTI),
     "maximum(base, expert) + minimum(base, anti)"),
    (BASE.maximum(EXPERT).minimum(ANTI), "minimum(maximum(base, expert), anti)"),
    ((BASE - 0.5 * ANTI).normalized(), "2*base - anti"),
    (BASE.prompted("You are a pirate."), "base.prompted('You are a pirate.')"),
    (BASE.prompted("x" * 40), "base.prompted('" + "x" * 23 + "…')"),
    (BASE.prompted(str.upper), "base.prompted(upper)"),
    (BASE.unprompted().named("nothing"), "nothing"),
    (gw.dexperts(BASE, EXPERT, ANTI), "base.nucleus(0.9) + 2*expert - 2*anti"),
    (gw.dexperts(BASE, anti=ANTI, nucleus=None), "3*base - 2*anti"),
    (gw.dexperts(BASE, EXPERT, alpha=0), "base.nucleus(0.9)"),
    (gw.proxy_tune(BASE, EXPERT, ANTI), "base + expert - anti"),
    (gw.proxy_tune(BASE, [(EXPERT, 1), (ANTI, 0.5)], BASE, 2), "-base + 2*expert + anti"),
    (gw.contrast(EXPERT, ANTI), "1.5*expert.plausible(0.1) - 0.5*anti"),
    (gw.contrast(EXPERT, ANTI, style="li-2022"), "expert.plausible(0.1) - 2*anti"),
    (gw.cfg(BASE, ANTI), "1.5*base - 0.5*anti"),
    (gw.cfg(BASE, gamma=2), "2*base - base.unprompted()"),
    (gw.context_aware(BASE.prompted("d"), BASE), "1.5*base.prompted('d') - 0.5*base"),
    (BASE + gw.gedi(EXPERT, ANTI), "base + gedi(expert, anti, alpha=30)"),
])  # fmt: skip
def test_expressions_print_as_they_are_written(model, text):
    assert repr(model) == f"Model({text})"
    assert str(model).splitlines()[0] == text


def test_the_leaves_and_the_cost_of_a_token_are_listed():
    same = BASE.prompted("x")
    guided = BASE + 0.5 * (same - ANTI) + TERM
    assert str(guided).splitlines()[1:] == [
        "leaves: base, base.prompted('x'), anti",
        "per token: 2 forwards of 3 rows, 20 texts classified",
    ]
    assert str(BASE).endswith("per token: 1 forward")
    assert (guided.cost.batches, guided.cost.rows, guided.cost.texts) == (2, 3, 20)


PAIR = gw.gedi(EXPERT, ANTI, 4)


@pytest.mark.parametrize(("one", "other"), [
    # An alpha of 0 is the base, bit for bit.
    (BASE + 0 * (EXPERT - ANTI), BASE),
    (gw.proxy_tune(BASE, EXPERT, ANTI, 0), BASE),
    (BASE + gw.classifier(Even(), alpha=0), BASE),
    (BASE + 0 * PAIR, BASE),
    (0 * (BASE + TERM) + ANTI, ANTI),
    # So is what cancels.
    (BASE + 2 * (EXPERT - EXPERT + ANTI) - 2 * ANTI, BASE),
    (BASE + 3 * (EXPERT - EXPERT), BASE),
    (BASE.named("other") - BASE, BASE - BASE),
    # Classifiers stand on either side, and `sum` begins with 0.
    (TERM + BASE, BASE + TERM),
    (TERM - BASE, -BASE + TERM),
    (BASE - TERM, BASE + -1 * TERM),
    (2 * (BASE + TERM) - ANTI, 2 * BASE - ANTI + 2 * TERM),
    (BASE + 0.5 * PAIR, BASE - -PAIR / 2),
    (sum([TERM, BASE]), BASE + TERM),
    (sum([PAIR, BASE]), BASE + PAIR),
    (BASE + (TERM - 0), BASE - (0 - TERM)),
    (BASE + (0 + PAIR - 0), BASE - (0 - PAIR)),
    # Numbers may be numpy's or fractions.
    (BASE + TERM * np.float32(0.5) / Fraction(1, 2), BASE + TERM),
    (BASE * np.float32(1.5), np.int64(3) * BASE / Fraction(2)),
    (2 * BASE, BASE + BASE.named("other")),
    (BASE + 1.5 * (EXPERT - ANTI), BASE + 1.5 * EXPERT - 1.5 * ANTI),
])  # fmt: skip
def test_expressions_that_mean_the_same_are_equal(one, other):
    assert one.node == other.node


def test_models_are_equal_by_their_expressions():
    assert len({BASE + TERM, BASE + TERM, BASE - TERM, BASE.prompted("x"), BASE}) == 4
    assert BASE.node != BASE


def test_a_part_that_later_turns_out_to_cancel_is_refused_then():
    model = layered()
    with pytest.raises(gw.SourceError, match="or a part of it, is empty"):
        (model - model.exit_at(2)).nucleus(0.9).exit_at(1)


@pytest.mark.parametrize(("grown", "limit"), [
    (lambda model: model.nucleus(0.9), "expression depth"),
    (lambda model: gw.contrast(model, ANTI), "expression depth"),
    (lambda model: gw.maximum(model, model.plausible(0.1)), "expression size"),
])  # fmt: skip
def test_what_is_too_deep_or_too_much_is_refused_while_it_is_written(grown, limit):
    def grow(count):
        return reduce(lambda model, _: grown(model), range(count), BASE)

    assert grow(5).generate("Hi", max_new_tokens=1).tokens
    with pytest.raises(gw.LimitError) as caught:
        grow(200)
    assert caught.value.limit == limit


def test_factors_of_classifiers_are_checked():
    for bad in (True, "2", 10**400, np.float32("nan")):
        for term in (TERM, PAIR):
            with pytest.raises(gw.LimitError, match="factor of a classifier"):
                _ = term * bad
    with pytest.raises(gw.LimitError, match="divisor"):
        _ = TERM / 0


@pytest.mark.parametrize(("name", "recipe", "text"), [
    ("dexperts-sentiment", gw.dexperts, "base.nucleus(0.9) + 3.2*expert - 3.2*anti"),
    ("proxy-tuning", gw.proxy_tune, "base + expert - anti"),
    ("contrast-reasoning", gw.contrast, "1.5*base.plausible(0.1) - 0.5*expert"),
    ("contrast-open-ended", gw.contrast, "base.plausible(0.1) - 2*expert"),
    ("cfg", gw.cfg, "1.5*base - 0.5*expert"),
    ("context-aware-conflicts", gw.context_aware, "2*base - expert"),
    ("context-aware-summaries", gw.context_aware, "1.5*base - 0.5*expert"),
    ("gedi", gw.gedi, "gedi(base, expert, alpha=30)"),
    ("caif", gw.classifier, "classifier(Lexicon, alpha=5, top=100)"),
    ("fudge-topic", gw.classifier, "classifier(Lexicon, alpha=4, top=200)"),
])  # fmt: skip
def test_published_settings_are_arguments_as_they_are(name, recipe, text):
    count = 3 if recipe in (gw.dexperts, gw.proxy_tune) else 2
    models = [{"a": 1}] if recipe is gw.classifier else [BASE, EXPERT, ANTI][:count]
    assert str(recipe(*models, **gw.published(name))).splitlines()[0] == text


def test_unknown_published_settings_name_the_nearest():
    with pytest.raises(gw.UnsupportedError, match="did you mean 'dexperts-toxicity'"):
        gw.published("dexpert-toxicity")
    with pytest.raises(gw.UnsupportedError, match="there are dexperts"):
        gw.published("zzz")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: BASE + 1, "1 cannot be added to a model"),
        (lambda: "a" + BASE, "'a' cannot be added"),
        (lambda: BASE - None, "None cannot be added"),
        (lambda: BASE * BASE, "a coefficient is"),
        (lambda: BASE * math.nan, "a coefficient is nan"),
        (lambda: 1e6 * (1e6 * BASE), "a coefficient is"),
        (lambda: BASE / 0, "divided by 0"),
        (lambda: BASE / "2", "a divisor is '2'"),
        (lambda: (BASE - BASE).generate("Hi"), "cancel"),
        (lambda: (0 * BASE).vocabulary, "cancel"),
        ((BASE - ANTI).normalized, "sum to 0"),
        (lambda: BASE.nucleus(0), "p is 0"),
        (lambda: BASE.nucleus(0.5, "never"), "plausibility is 'never'"),
        (lambda: BASE.plausible(1.5), "alpha is 1.5"),
        (lambda: BASE.temperature(0), "a temperature is 0"),
        (lambda: BASE.prompted(3), "system must be a text or a function"),
        (gw.maximum, "at least one model"),
        (lambda: gw.maximum(BASE, 3), "3 is not a guideway.Model"),
        (lambda: gw.dexperts(BASE), "an expert or an anti-expert"),
        (lambda: gw.proxy_tune(BASE, []), "no model and no list"),
        (lambda: gw.proxy_tune(BASE, [(EXPERT, "1")]), "'1' is no model and no list"),
        (lambda: gw.contrast(BASE, ANTI, style="x"), "style is 'x'"),
        (lambda: gw.gedi(BASE, ANTI, rho=2), "rho is 2"),
        (lambda: 1 - BASE, "1 cannot be added"),
        (lambda: BASE.named(""), "not ''"),
        (lambda: BASE.adapted(5), "5 is not an adapter"),
        (lambda: gw.cfg("base", ANTI), "'base' is not a guideway.Model"),
        (lambda: gw.contrast(BASE, ANTI, style=[]), "style is"),
        (lambda: gw.dola(layered(), "middle"), "layers is 'middle'"),
        (lambda: gw.dola(layered(), []), "needs at least one block"),
        (lambda: 1e6 * (BASE + gw.gedi(BASE, ANTI)), "alpha is"),
        (lambda: 2 / BASE, "multiplied or divided by numbers; not with 2"),
        (lambda: BASE**2, "not with 2"),
        (lambda: 2**BASE, "not with 2"),
        (lambda: BASE // 2, "not with 2"),
        (lambda: BASE % 2, "not with 2"),
        (lambda: BASE @ ANTI, r"not with Model\(anti\)"),
        (lambda: TERM + TERM, "can be added to a model"),
        (lambda: TERM - gw.gedi(BASE, ANTI), "one after the other"),
        (lambda: TERM + 2, "can be added to a model"),
        (lambda: 2 - gw.gedi(BASE, ANTI), "can be added to a model"),
        (lambda: 2 / TERM, "be multiplied or divided by a number"),
        (lambda: gw.gedi(BASE, ANTI) ** 2, "be multiplied or divided by a number"),
        (lambda: gw.maximum(BASE, ANTI - ANTI), "or a part of it, is empty"),
        (lambda: gw.Model(3), "3 is not a language model"),
    ],
)
def test_what_is_no_arithmetic_is_refused(call, message):
    with pytest.raises(gw.SourceError, match=message):
        call()


@pytest.mark.parametrize(("call", "feature"), [
    (lambda: gw.dola(BASE), "early exits"),
    (lambda: gw.dola(BASE + ANTI), "dola of several"),
    (lambda: BASE.exit_at(2), "early exits"),
    (lambda: gw.gedi(BASE + ANTI, BASE), "gedi of expressions"),
    (lambda: BASE.adapted(tensors()).adapted(tensors()), "several adapters"),
    (lambda: gw.published([]), "[]"),
    (lambda: BASE + gw.Model(FakeModel.random(gw.Vocabulary([b"x", b"<e>"], {1}))),
     "arithmetic on different vocabularies"),
])  # fmt: skip
def test_what_cannot_be_combined_is_refused_by_name(call, feature):
    with pytest.raises(gw.UnsupportedError) as caught:
        call()
    assert caught.value.feature == feature


def tensors() -> dict[str, torch.Tensor]:
    return {"m.lora_A.weight": torch.ones(1, 2), "m.lora_B.weight": torch.ones(2, 1)}


def layered() -> gw.Model:
    def row(block):
        return FakeModel.random(BYTES, 10 + block, scale=2.0)._functions[-1]

    return gw.Model(FakeModel(BYTES, row(9), exits=[row(n) for n in range(1, 9)]), name="deep")


def test_early_exits_share_the_models_forward():
    model = layered()
    guided = model - 0.5 * model.exit_at(3)
    assert repr(guided) == "Model(deep - 0.5*deep.exit_at(3))"
    assert str(guided.cost) == "1 forward"
    assert guided.generate("Hi", gw.Regex("[ab]{5}")).value
    with pytest.raises(gw.SourceError, match="9 blocks, so the block must be from 1 to 8"):
        model.exit_at(9)
    early = model.exit_at(5)  # an exit of an exit is an earlier one
    assert reading(leaves(early.exit_at(3).node)[0]).exit == 3
    with pytest.raises(gw.SourceError, match="5 blocks, so the block must be from 1 to 4"):
        early.exit_at(5)


@pytest.mark.parametrize(
    ("layers", "blocks"), [("low", [2, 4]), ("high", [5, 7]), ([1, 3], [1, 3])]
)
def test_dola_looks_at_every_second_block(layers, blocks):
    model = layered()
    node = gw.dola(model, layers).node
    assert isinstance(node, Linear)
    (_, head), (weight, farthest) = node.terms
    assert (head, weight) == (Filtered("plausible", model.node, 0.1), -1)
    assert isinstance(farthest, Farthest)
    assert repr(gw.dola(model, layers)).startswith("Model(deep.plausible(0.1) - farthest(deep, ")
    assert [reading(leaf).exit for leaf in farthest.among] == blocks
    assert gw.dola(model, layers).generate("Hi", bool, max_new_tokens=9).value in (True, False)


EXPRESSIONS = {
    "proxy": BASE + 1.5 * (EXPERT - ANTI),
    "dexperts": gw.dexperts(BASE, EXPERT, ANTI),
    "contrast": gw.contrast(BASE, ANTI),
    "cfg": gw.cfg(BASE, BASE.prompted("Not: ")),
    "maximum": gw.maximum(BASE, EXPERT),
    "classifier": BASE + TERM,
    "gedi": BASE + gw.gedi(BASE.prompted("+"), BASE.prompted("-")),
}


@pytest.mark.parametrize("kind", EXPRESSIONS)
def test_every_expression_holds_to_the_constraint_in_every_call(kind):
    model, settings = EXPRESSIONS[kind], {"max_new_tokens": 20, "temperature": 0.9, "seed": 4}
    result = model.generate("Go: ", list[int], **settings)
    assert all(isinstance(number, int) for number in result.value)
    assert result.log_z < 0
    *_, last = model.stream("Go: ", list[int], **settings)
    assert last.result.text == result.text
    assert asyncio.run(model.agenerate("Go: ", list[int], **settings)).text == result.text
    batch = model.generate(["Go: ", "Hi"], [list[int], bool], **settings)
    assert batch[0].text == result.text
    assert batch[1].value in (True, False)
    assert math.fsum(model.choose("Go: ", ["yes", "no", "maybe"]).values()) == pytest.approx(1)


def log_probability(model, text, prompt=b"Go: "):
    """Of the bytes of a text, step by step."""
    places = range(len(text))
    rows = [model.prefill([tuple(prompt + text[:place])])[1][0].log_softmax(0) for place in places]
    return sum(float(row[byte]) for row, byte in zip(rows, text, strict=True))


class Mood:
    """Likes no bad, and sees it in whole texts only."""

    said = MappingProxyType({"bad": 0.1, "not bad": 0.9, "meh": 0.5})

    def __init__(self, impossible=()):
        self.asked, self.impossible = [], impossible

    def log_probs(self, texts):
        self.asked.extend(texts)
        logs = [math.log(self.said.get(text, 0.01)) for text in texts]
        return [-math.inf if t in self.impossible else x for t, x in zip(texts, logs, strict=True)]


@pytest.mark.parametrize("settings", [{}, {"rest": "keep", "top": 1}, {"every": 3, "entropy": 9}])
def test_choices_are_judged_as_whole_texts_by_bayes_rule(settings):
    mood = Mood()
    found = (BASE + gw.classifier(mood, alpha=2, **settings)).choose("Go: ", list(Mood.said))
    model = reading(leaves(BASE.node)[0]).model
    weights = {
        text: math.exp(log_probability(model, text.encode())) * p**2
        for text, p in Mood.said.items()
    }
    assert mood.asked == list(Mood.said)
    assert found == pytest.approx({t: w / sum(weights.values()) for t, w in weights.items()}, 1e-4)


@pytest.mark.parametrize(("alpha", "impossible", "left"), [
    (1, {"meh"}, {"bad", "not bad"}),
    (-1, {"meh"}, {"meh"}),
    (1, {"bad", "not bad", "meh"}, {"bad", "not bad", "meh"}),
    (1e308, {"meh"}, {"not bad"}),
    (-1e308, set(), {"bad"}),
])  # fmt: skip
def test_a_class_that_is_impossible_in_a_choice_decides(alpha, impossible, left):
    found = (BASE + gw.classifier(Mood(impossible), alpha=alpha)).choose("Go: ", list(Mood.said))
    assert {text for text, p in found.items() if p > 0} == left
    assert sum(found.values()) == pytest.approx(1)


def test_a_pair_of_models_judges_whole_choices():
    texts = ["ab", "bab", "c"]
    guided = BASE + gw.gedi(EXPERT, ANTI, 3.0) + gw.classifier({"c": 1}, alpha=1, window=1)
    base, expert, anti = (reading(leaves(each.node)[0]).model for each in (BASE, EXPERT, ANTI))
    logs = []
    for text in texts:
        data = text.encode()
        odds = (log_probability(expert, data) - log_probability(anti, data)) / len(data)
        log = log_probability(base, data) + 3 * torch.tensor(odds).sigmoid().log()
        logs.append(float(log) + math.log(1 / (1 + math.exp(-(text == "c")))))
    expected = torch.tensor(logs).softmax(0).tolist()
    assert list(guided.choose("Go: ", texts).values()) == pytest.approx(expected, abs=1e-5)


def test_models_of_an_expression_are_those_of_its_first_leaf():
    guided = EXPERT + BASE
    assert guided.language_model is EXPERT.language_model
    assert guided.tokenizer is None
    assert guided.vocabulary == BYTES
    assert leaves(guided.node) == [EXPERT.node, BASE.node]
