"""The laws of schedulers: each row is what our own loop says of it alone, whatever joins or leaves
beside it. Constraints, samplers, penalties, stop strings, watermarks and guidance are mixed."""

import gc
import weakref
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

import guideway as gw
import small_models
from fake_pages import FakePages
from guideway.api.model import Model
from guideway.api.speculate import speculation
from guideway.errors import ModelError
from guideway.generation import scheduling, step
from guideway.generation.ensemble.ensemble import Ensemble
from guideway.generation.limits import checked
from guideway.generation.paged import PagedRows, Scheduler, readable
from guideway.generation.row.request import Request
from guideway.generation.row.result import Result
from guideway.generation.row.sequence import Sequence
from guideway.generation.scheduling import Batches
from guideway.generation.speculation import Rates, Speculation
from guideway.generation.step import Batch, drawn_step, held_step
from guideway.models.fake import FakeModel
from guideway.models.protocol import NO_DRAFT, Draft
from guideway.models.transformers_paged import TransformersPages
from guideway.sampling.settings import Sampling
from whole_batches import generate

LIST = gw.Gbnf('root ::= item\nitem ::= [a-c]+ | "(" item ("," item)* ")"')
PERSON = gw.JsonSchema(
    {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
     "required": ["name", "age"]},
    key_order="declared", whitespace="compact",
)  # fmt: skip
CASES: list[tuple[Any, dict[str, Any]]] = [
    (None, {"max_new_tokens": 6}),
    (gw.Regex("[a-z]{3,9}( [a-z]{1,4}){0,2}!"), {"max_new_tokens": 14}),
    (PERSON, {"max_new_tokens": 30, "temperature": 1.0, "seed": 3}),
    (LIST, {"max_new_tokens": 9, "temperature": 1.5, "seed": 1, "top_p": 0.9}),
    (None, {"max_new_tokens": 8, "repetition_penalty": 1.3, "no_repeat_ngram_size": 2}),
    (gw.Choice(["yes", "no", "perhaps"]), {"temperature": 2.0, "min_p": 0.01, "seed": 7}),
    (gw.Text(), {"max_new_tokens": 10, "stop": ["e"], "temperature": 1.0, "seed": 2}),
    (gw.Regex(".{40}"), {"max_new_tokens": 40, "mirostat_tau": 4.0, "seed": 5}),
]


def loaded(kind: str, layers: int = 2) -> Model:
    backend = small_models.tiny(kind, layers)
    return Model(backend, backend.tokenizer, name=f"{kind}-{layers}")


BASE = loaded("llama")
GUIDED = BASE + 0.7 * (loaded("qwen2") - loaded("llama", 3))
FAKED = FakeModel.random(small_models.tiny().vocabulary)
FAKE = Model(FAKED, small_models.tiny().tokenizer)
MARKED = BASE.watermarked(gw.Watermark(key=1, delta=3.0))
TWICE = FAKE + 0.5 * FAKE.unprompted()
PAIR = FAKE + gw.gedi(FAKE, Model(FakeModel.random(FAKED.vocabulary, 1)), 1.5)
LENGTHS = gw.classifier(lambda texts: [len(text) / 99 for text in texts], alpha=2, top=20)


@cache
def ensemble(model: Model) -> Ensemble:
    return Ensemble(model.whole)


def pages(*models: Model) -> Scheduler:
    backends = [reading.model for model in models for reading in ensemble(model).contexts]
    return PagedRows(TransformersPages([*dict.fromkeys(backends)], rows=3, chunk=16))


def fakes() -> Scheduler:
    return PagedRows(FakePages([FAKED], chunk=2))


EVERY: dict[str, tuple[Callable[[], Scheduler], list[Model]]] = {
    "batches": (Batches, [BASE]),
    "batches of several expressions": (Batches, [GUIDED, BASE, FAKE]),
    "batches of several contexts": (Batches, [BASE - 0.4 * BASE.exit_at(1), TWICE, PAIR]),
    "pages": (lambda: pages(BASE), [BASE]),
    "pages of a watermark": (lambda: pages(BASE), [MARKED, BASE]),
    "pages of a classifier": (lambda: pages(BASE), [BASE + LENGTHS]),
    "pages of an expression": (lambda: pages(GUIDED), [GUIDED, BASE, GUIDED.nucleus(0.5)]),
    "pages of a fake": (fakes, [FAKE]),
}
DRAFTS: dict[str, Any] = {
    "batches": "auto",
    "batches of several expressions": "forced",
    "batches of several contexts": "auto",
    "pages": "auto",
    "pages of a watermark": loaded("llama", 1),
    "pages of an expression": "forced",
    "pages of a fake": Model(FAKED, small_models.tiny().tokenizer),
}


@cache
def requests(model: Model) -> list[Request]:
    made = list[Request]()
    whole = ensemble(model)
    for place, (source, settings) in enumerate(CASES):
        tokens = tuple((7 * place + n) % 26 for n in range(1, 34 - 3 * place))
        constraint = None if source is None else gw.compile(source, whole.vocabulary)
        more = {"others": (tokens,) * (len(whole.contexts) - 1), "free": source is None}
        sampling = Sampling.of(settings)
        made.append(Request(tokens, constraint, sampling, trace=place % 2, **more))
    return made


@cache
def alone(model: Model, place: int) -> Result:
    return generate(ensemble(model), [requests(model)[place]])[0]


def row(model: Model, place: int) -> Sequence:
    request, whole = requests(model)[place], ensemble(model)
    made = Sequence(place, request, whole.vocabulary, checked(request, whole))
    made.begin(0.0)
    return made


def drain(scheduler: Scheduler, rows: list[Sequence]) -> None:
    left = [each for each in rows if each.finish_reason is None]
    for _ in range(300):
        if not left:
            break
        before = {each.number: each.steps for each in left}
        events = scheduler.step()
        assert {event.row for event in events} <= before.keys()
        for each in left:
            own = [event for event in events if event.row == each.number]
            assert len(own) == each.steps - before[each.number] + (each.error is not None)
            assert [event.finish_reason for event in own[-1:]] in ([], [each.finish_reason])
        left = [each for each in left if each.finish_reason is None]
    assert not left
    assert not scheduler.step()


def bare(done: Result) -> Result:
    """Without what rounding changes."""
    return replace(done, logprobs=(), log_allowed=(), log_end=0.0, trace=None)


def wait_each_time(monkeypatch: pytest.MonkeyPatch) -> list[Sequence]:
    """Each mask after a refused token is late, so that rows draw in a later step; which did."""
    waited = list[Sequence]()

    def late(rows: list[Sequence]) -> list[int]:
        waited.extend(rows)
        return [*range(len(rows))]

    for each in (held_step, drawn_step):

        def run(whole: Any, batch: Any, _: Any, each: Any = each) -> Any:
            return each(whole, batch, late)

        monkeypatch.setattr(scheduling, each.__name__, run)
    return waited


@pytest.mark.parametrize(("name", "speculate", "late"), [
    *((name, "off", False) for name in EVERY),
    *((*each, False) for each in DRAFTS.items()),
    *((name, drafts, True)
      for name in EVERY if name.startswith("batches") for drafts in ("off", DRAFTS[name])),
], ids=str)  # fmt: skip
def test_a_row_gets_the_tokens_that_it_gets_alone(
    name: str, speculate: Any, late: bool, monkeypatch: pytest.MonkeyPatch
):
    def longest(self: Speculation, rows: int, odds: list[Any], drafting: float = 0) -> int:
        return min(5, max(map(len, odds)))

    monkeypatch.setattr(Speculation, "_length", longest)  # whatever a forward takes
    monkeypatch.setattr(Rates, "pays", lambda *_: True)
    waited = wait_each_time(monkeypatch) if late else []
    make, models = EVERY[name]
    scheduler = make()
    rows = list[tuple[Model, int, Sequence]]()
    drafts = {model: speculation(ensemble(model), speculate) for model in models}
    for place in range(len(CASES)):
        model = models[place % len(models)]
        rows.append((model, place, row(model, place)))
        scheduler.add(rows[-1][2], ensemble(model), drafts[model])
        if place % 3:
            scheduler.step()  # the next ones join rows that run
    drain(scheduler, [each for _, _, each in rows])
    for model, place, each in rows:
        done, wanted = each.completion(0), alone(model, place)
        assert bare(done) == bare(wanted), CASES[place]
        assert done.logprobs == pytest.approx(wanted.logprobs, abs=1e-3)
        assert (done.trace is None) == (wanted.trace is None)
    counts = [each.completion(0).stats for _, _, each in rows]
    assert (sum(stats.accepted for stats in counts) > 0) == (speculate != "off")
    assert bool(waited) == late


@pytest.mark.parametrize("name", EVERY)
def test_a_row_that_was_removed_leaves_the_others_as_they_are(name: str):
    make, (model, *_) = EVERY[name]
    scheduler, rows = make(), [row(model, place) for place in range(4)]
    for each in rows:
        scheduler.add(each, ensemble(model))
    scheduler.step()
    scheduler.step()
    for place in (0, 2):
        if rows[place].finish_reason is None:
            scheduler.remove(rows[place])
    steps = rows[0].steps, rows[2].steps
    drain(scheduler, [rows[1], rows[3]])
    assert (rows[0].steps, rows[2].steps) == steps
    for place in (1, 3):
        assert bare(rows[place].completion(0)) == bare(alone(model, place))


def test_an_error_of_a_batch_stays_in_its_rows():
    gone = list[bool]()

    def failing(texts: list[str]) -> list[float]:
        if gone:
            raise ModelError("the classifier is gone")
        return [0.0] * len(texts)

    guided = FAKE + gw.classifier(failing, alpha=1, top=3)
    batches, fine, broken = Batches(), row(FAKE, 1), row(FAKE, 2)
    batches.add(broken, ensemble(guided))
    batches.add(fine, ensemble(FAKE))
    batches.step()
    gone.append(True)
    drain(batches, [fine, broken])
    assert isinstance(broken.error, ModelError)
    assert bare(fine.completion(0)) == bare(alone(FAKE, 1))


def test_readable_are_expressions_whose_models_read_the_same_tokens():
    other = BASE + 0.1 * loaded("qwen2").prompted(lambda prompt: "Never. " + prompt)
    for model, right in [
        (BASE, True),
        (GUIDED, True),
        (MARKED, True),
        (other, True),  # as long as the prompts are equal
        (BASE + 0.1 * BASE.prompted(lambda prompt: "Never. " + prompt), False),
        (BASE + 0.1 * BASE.exit_at(1), False),
        (BASE + gw.gedi(loaded("qwen2"), loaded("llama", 3)), False),
    ]:
        assert readable(ensemble(model), row(model, 0)) == right, model
    request = replace(requests(other)[0], others=((1,),))
    assert not readable(ensemble(other), Sequence(0, request, ensemble(other).vocabulary, 5))


def test_rows_that_join_later_share_a_forward():
    vocabulary = gw.Vocabulary([b"a", b"b", b"<eos>"], {2})
    fake = FakeModel(vocabulary, lambda prefix: [float(len(prefix) % 3), 1.5, -99.0])
    extended = list[int]()
    extend = fake.extend

    def watched(cache: Any, tokens: Any) -> Any:
        extended.append(len(tokens))
        return extend(cache, tokens)

    fake.extend = watched
    whole, batches = Ensemble.of(fake), Batches()
    for number in range(3):
        request = Request((0,) * (number + 1), sampling=Sampling(max_new_tokens=9))
        batches.add(Sequence(number, request, vocabulary, 9), whole)
        batches.step()
    batches.step()
    assert extended == [1, 2, 3]


def test_a_long_prompt_is_read_in_parts_beside_other_rows(monkeypatch: pytest.MonkeyPatch):
    """It reads as much as alone, and the other row goes on in each step."""
    monkeypatch.setattr("guideway.generation.scheduling.PART", 32)
    monkeypatch.setattr("guideway.generation.scheduling.PATIENCE", 60)
    backend = small_models.tiny()
    read = list[int]()
    hook = backend.module.get_input_embeddings().register_forward_hook(
        lambda module, given, output: read.append(given[0].numel())
    )
    whole, batches = Ensemble.of(backend), Batches()
    short = Request((1, 2, 3), sampling=Sampling(max_new_tokens=12))
    long = Request(tuple(n % 26 for n in range(1, 131)), sampling=Sampling(max_new_tokens=3))
    rows = [Sequence(n, each, whole.vocabulary, 12 - 9 * n) for n, each in enumerate([short, long])]
    batches.add(rows[0], whole)
    batches.step()
    batches.add(rows[1], whole)
    for _ in range(4):
        assert [event.row for event in batches.step()] == [0]
    drain(batches, rows)
    hook.remove()
    assert sum(read) == 3 + 11 + 130 + 2
    assert max(read) == 32
    for each in rows:
        assert bare(each.completion(0)) == bare(generate(whole, [each.request])[0])


def test_an_expression_that_is_gone_is_not_kept():
    batches, whole = Batches(), Ensemble.of(FakeModel.random(FAKED.vocabulary))
    batches.add(Sequence(0, Request((1,)), whole.vocabulary, 3), whole)
    while batches.step():
        pass
    gone = weakref.ref(whole)
    del whole
    gc.collect()
    assert gone() is None


def test_rows_that_still_draw_come_in_the_order_of_their_batch(monkeypatch: pytest.MonkeyPatch):
    """The second row waits at the first token, the first row at the second."""
    whole, rows = ensemble(FAKE), [row(FAKE, 1), row(FAKE, 3)]
    batch = Batch.of(rows, whole.device)
    _, logits = whole.prefill([each.request.prompts for each in rows])
    columns = {leaf: each[:, None].repeat(1, 2, 1) for leaf, each in logits.items()}

    def take(_: Any, __: Any, batch: Batch, places: list[int], *___: Any) -> list[int]:
        if len(places) == 1:
            return [0]
        batch.rows[0].tokens.append(7)
        return [1]

    monkeypatch.setattr(step, "take", take)
    drafts = [Draft((7,), (("forced", 0),)), NO_DRAFT]
    verified = step.verified(whole, batch, columns, drafts, step.on_time)
    assert verified[1:] == ([1, 0], [0, 1])
