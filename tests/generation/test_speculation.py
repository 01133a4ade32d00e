"""Speculation changes no text: with any draft, each row is token for token what it is without.

The oracle is the same call with speculate="off". On the fake model equality is exact; it is drawn
with noise by counter, so it holds for samples too, not only for greedy texts."""

import itertools
import random
from dataclasses import dataclass
from typing import Any, Literal

import pytest
import torch
from pydantic import BaseModel

import guideway as gw
from guideway.generation.row.request import Request
from guideway.generation.row.sequence import Sequence
from guideway.generation.speculation import Costs, Rates, Speculation
from guideway.models.fake import FakeModel
from guideway.models.protocol import Draft
from small_models import model

BYTES = gw.Vocabulary(
    [*(bytes([b]) for b in range(256)), b"<end>", b'":', b'{"', b'", "', b"na", b"name", b"the "],
    {256},
)


def fake(seed: int = 0, scale: float = 1.0, vocabulary: gw.Vocabulary = BYTES) -> gw.Model:
    return gw.Model(FakeModel.random(vocabulary, seed, scale=scale), name=f"fake{seed}")


@pytest.fixture(autouse=True)
def eager(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Drafts of six tokens, whether they pay or not; not in tests of that, which are `judged`."""
    if not getattr(request, "param", True):
        return

    def longest(self: Speculation, rows: int, odds: list[list[float]], **_: float) -> int:
        return min(6, max(map(len, odds)))

    monkeypatch.setattr(Speculation, "_length", longest)
    monkeypatch.setattr(Rates, "pays", lambda *_: True)


judged = pytest.mark.parametrize("eager", [False], indirect=True, ids=[""])


class Person(BaseModel):
    name: Literal["Ada", "Grace", "Alan"]
    born: int
    tags: list[Literal["a", "name"]]


SOURCES: dict[str, Any] = {
    "type": Person,
    "free": None,
    "choice": gw.Choice(["the name", "the names of the", "na"]),
    "regex": gw.Regex(r"(na)*(the (name)?)+"),
}
SETTINGS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "sampled": {"temperature": 0.8, "top_p": 0.95, "seed": 3},
    "penalties": {"temperature": 1.5, "repetition_penalty": 1.3, "dry_multiplier": 0.8, "seed": 4},
    "mirostat": {"mirostat_tau": 3.0, "seed": 5},
    "least": {"min_new_tokens": 12, "seed": 6, "temperature": 1.0},
    "stop": {"stop": ["na"], "seed": 7, "temperature": 1.0},
}
PROMPTS = ['{"name": "Ada", "born": 3}', "the name of the name", "x"]


def rows(results: list[gw.Result[Any]]) -> list[Any]:
    return [
        (each.tokens, each.text, each.finish_reason, each.shortened, each.logprobs)
        for each in results
    ]


def both(own: gw.Model, source: Any, draft: Any, **settings: Any) -> list[gw.Result[Any]]:
    """The results with a draft, after they were compared with those without."""
    arguments = {"max_new_tokens": 40, "num_return_sequences": 1, **settings}
    plain = own.generate(PROMPTS, source, speculate="off", **arguments)
    found = own.generate(PROMPTS, source, speculate=draft, **arguments)
    assert rows(found) == rows(plain)
    for result in plain:
        assert (result.stats.drafted, result.stats.accepted) == (0, 0)
    for result in found:
        stats = result.stats
        assert stats.accepted <= stats.drafted
        drawn = len(result.log_allowed)  # with the end
        assert stats.forwards + stats.accepted == drawn
    return found


DRAFTS = ["forced", "lookup", "auto", "model", "other model", "expression", "ngram"]
CASES = [  # every pair of them, in a third of all combinations
    each
    for each in itertools.product(SOURCES, SETTINGS, DRAFTS)
    if ([*SOURCES].index(each[0]) + [*SETTINGS].index(each[1]) + DRAFTS.index(each[2])) % 3 == 0
]


@pytest.mark.parametrize(("source", "how", "draft"), CASES)
def test_a_draft_changes_nothing(source: str, how: str, draft: str):
    own = fake()
    given: Any = draft
    if draft == "model":
        given = fake()
    elif draft == "other model":
        given = fake(1)
    elif draft == "ngram":
        given = gw.ngram(PROMPTS, BYTES)
    elif draft == "expression":
        judge = gw.classifier(lambda texts: [1 / (1 + t.count("a")) for t in texts], alpha=2.0)
        own = (own + 0.5 * (fake(1) - fake(2)) + judge).watermarked(gw.Watermark(key=1, delta=4.0))
        given = fake()
    both(own, SOURCES[source], given, **SETTINGS[how])


LETTERS = gw.Vocabulary([*(bytes([b]) for b in range(256)), b"<end>"], {256})


def test_drafts_that_are_right_save_forwards():
    found = both(fake(), Person, fake(), temperature=1.0, seed=2)  # the model itself
    drafted = sum(each.stats.drafted for each in found)
    assert drafted > 10
    assert sum(each.stats.accepted for each in found) == drafted
    stutter = FakeModel(  # with other tokens
        LETTERS, lambda prefix: [float(b == b"na"[prefix[-1] == 110]) for b in range(257)]
    )
    found = both(fake(), gw.Regex(r"(na){20,}"), gw.Model(stutter))
    drafted = sum(each.stats.drafted for each in found)
    assert 0 < sum(each.stats.accepted for each in found) <= drafted
    found = both(fake(vocabulary=LETTERS), gw.Regex("(?:a long string){2}|b"), "forced")
    assert all(3 * each.stats.forwards < len(each.tokens) or each.text == "b" for each in found)
    own = fake(scale=8.0)  # what was written before is a draft
    first, again = (own.generate("x", max_new_tokens=60, speculate="lookup") for _ in range(2))
    assert again.tokens == first.tokens
    assert again.stats.forwards < first.stats.forwards
    for draft in ("lookup", fake(1)):  # samples of one prompt, of different lengths
        several = {"temperature": 1.0, "seed": 5, "num_return_sequences": 5}
        both(fake(scale=0.7), None, draft, **several)


@pytest.mark.parametrize(
    ("given", "more", "error", "message"),
    [
        *((each, {}, gw.SourceError, "speculate is") for each in ("fast", None)),
        (fake() + fake(1), {}, gw.UnsupportedError, "a draft must be one model"),
        ("lookup", {"num_beams": 2}, gw.UnsupportedError, "speculate does not work with a search"),
    ],
)
def test_what_is_no_draft_is_refused(given: Any, more: dict[str, Any], error: Any, message: str):
    with pytest.raises(error, match=message):
        fake().generate("x", max_new_tokens=2, speculate=given, **more)
    assert fake().generate("x", max_new_tokens=2, **more).text is not None


def test_a_model_that_cannot_forget_goes_without():
    own = gw.Model(model("mistral"))
    assert own.generate("ab", max_new_tokens=3).stats.drafted == 0
    with pytest.raises(gw.UnsupportedError, match="whose cache can forget tokens"):
        own.generate("ab", max_new_tokens=3, speculate="lookup")


@dataclass
class Flat:
    """A drafter that is never asked; each of its tokens takes so long."""

    seconds: float

    def draft(self, rows: Any, most: int) -> Any:
        raise NotImplementedError


@judged
@pytest.mark.parametrize(
    ("acceptance", "cost"), [(0.7, 0.13), (0.8, 0.05), (0.9, 0.05), (0.5, 0.9)]
)
def test_the_length_is_that_of_the_formula(acceptance: float, cost: float):
    costs = Costs()
    for tokens in 8 * [*range(1, 66)]:
        costs.note(tokens, 1.0)  # a forward takes a second, whatever it reads
    found = Speculation(Flat(cost), Rates(), costs)._length(1, [[acceptance] * 64])
    assert found == gw.best_gamma(acceptance, cost)


def test_the_length_follows_costs_between_measured_sizes():
    """llama.cpp multiplies packed weights token by token: 8 tokens take three times as long."""
    costs = Costs()
    for tokens in 8 * [1, 5, 9]:
        costs.note(tokens, 0.7 + 0.3 * tokens)
    for tokens in range(3, 12):
        assert costs.seconds(tokens) == pytest.approx(0.7 + 0.3 * tokens, rel=0.16)


@dataclass
class Chance:
    """Drafts after places that share one to three tokens."""

    chance: random.Random
    seconds = 0.0

    def draft(self, rows: Any, most: int) -> list[Draft]:
        lengths = [self.chance.randrange(1, 4) for _ in rows]
        places = [[("held", min(8, length + n)) for n in range(most)] for length in lengths]
        return [Draft((0,) * most, tuple(origins)) for origins in places]


def time_a_token(rows: int, acceptance: float, slow: float, seed: int) -> float:
    """Beside that without drafts, where one forward in five seems `slow` times as slow."""
    chance, most = random.Random(seed), 10**6
    given = [Sequence(n, Request((0,)), BYTES, most) for n in range(rows)]
    spent = tokens = 0.0
    speculation = Speculation(Chance(chance), Rates(), Costs())
    for _ in range(300):
        drafts = speculation.drafts(given)
        tries = ([chance.random() < acceptance for _ in draft.tokens] for draft in drafts)
        accepted = [[*right, False].index(False) for right in tries]
        count = rows * (1 + max(len(draft.tokens) for draft in drafts))
        seconds = forward_seconds(count)
        spent, tokens = spent + seconds, tokens + rows + sum(accepted)
        seems = seconds * (slow if chance.random() < 0.2 else 1)
        speculation.judge(given, drafts, accepted, seems)
    return spent / tokens / (forward_seconds(rows) / rows)


def forward_seconds(tokens: int) -> float:
    """What a forward takes on a CPU, about."""
    return 1.0 if tokens == 1 else 1.3 + 0.04 * tokens


@judged
@pytest.mark.parametrize("slow", [1, 5])
@pytest.mark.parametrize("rows", [1, 4, 16])
def test_the_length_is_none_where_drafts_cost_more_than_they_save(rows: int, slow: float):
    few = [time_a_token(rows, 0.05, slow, seed) for seed in range(4)]
    assert max(few) < 1.035
    many = [time_a_token(rows, 0.9, slow, seed) for seed in range(2)]
    assert max(many) < {1: 0.35, 4: 0.4, 16: 0.7}[rows]


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_transformers_models_give_the_same_in_float32(kind: str):
    own, source = gw.Model(model(kind)), gw.Regex("[a-d]{3,30}")
    settings = {"max_new_tokens": 30, "num_return_sequences": 2, "temperature": 1.0, "seed": 1}
    plain, *drafted = (
        own.generate(["ab", "abcabcabc", "c"], source, speculate=draft, **settings)
        for draft in ("off", "lookup", gw.Model(model(kind)).exit_at(1))
    )
    for found in drafted:
        assert [each.tokens for each in found] == [each.tokens for each in plain]


def test_the_first_blocks_are_the_early_exit():
    whole = model("llama")
    tokens = [[5, 6, 7, 8]]
    _, heads = whole.prefill_varied(tokens, [None], [1])
    first = whole.first_blocks(1)
    _, logits = first.prefill(tokens)
    torch.testing.assert_close(logits, heads[1])
    assert first.module.get_decoder().layers[0] is whole.module.get_decoder().layers[0]
    assert len(whole.module.get_decoder().layers) == whole.layers


def test_a_stream_has_a_part_for_each_token():
    own = fake(scale=8.0)
    plain = [*own.stream("x", max_new_tokens=30, speculate="off")]
    own.generate("x", max_new_tokens=30)
    found = [*own.stream("x", max_new_tokens=30)]
    assert [part.text for part in found] == [part.text for part in plain]
    assert found[-1].result is not None
    assert found[-1].result.stats.forwards < 30


@pytest.mark.parametrize(
    "how", [{"num_beams": 3}, {"exactness": "smc"}, {"exactness": "rejection"}]
)
def test_searches_count_their_forwards(how: dict[str, Any]):
    more = {} if "num_beams" in how else {"seed": 1, "temperature": 1.0}
    found = fake().generate("x", gw.Regex("[ab]{5}"), max_new_tokens=8, **how, **more)
    assert found.stats.forwards in (len(found.tokens), len(found.tokens) + 1)  # an end may be read


@pytest.mark.parametrize(
    "vocabulary", [BYTES, gw.Vocabulary(BYTES.tokens[:257], {256})], ids=["same", "other"]
)
def test_a_draft_whose_context_is_full_drafts_nothing(vocabulary: gw.Vocabulary):
    def logits(prefix: tuple[int, ...]) -> torch.Tensor:
        assert len(prefix) <= 30
        return torch.arange(float(vocabulary.width)).roll(len(prefix))

    draft = gw.Model(FakeModel(vocabulary, logits, context=30))
    both(fake(), None, draft, seed=1, temperature=1.0)
    long = fake().generate("x" * 40, max_new_tokens=5, speculate=draft)
    assert long.stats.drafted == 0


@judged
def test_drafts_that_saved_much_are_tried_after_wrong_ones() -> None:
    rates, draft = Rates(), Draft((1, 2, 3), (("held", 3),) * 3)
    for _ in range(50):
        rates.settle([draft], [3], price=0.5)
    for _ in range(6):
        rates.settle([draft], [0], price=1.0)
    assert rates.pays(draft)
    for _ in range(300):
        rates.settle([draft], [0], price=1.0)
    assert not rates.pays(draft)
