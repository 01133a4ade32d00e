"""Benchmark `generation`: forwards and seconds of whole texts, with drafts and without.

Seven parts, each a table:

extraction  one row for each document of `extraction`: drafts beside none, and beside transformers'
            `generate` with xgrammar's processor where that is installed. "cold" reads each document
            in a session of its own, "warm" one after the other in one session.
rows        forwards of a few tokens, beside the same weights in torch's linear layers
free        free text, where drafts are seldom right and must cost nothing
draft       drafts of a fixed length by a model, beside the formula of Leviathan et al. (2023)
formula     that formula alone: the examples of notes on speculative decoding
chat        the second turn of a long chat beside its new words alone
packed      one row with packed weights, where torchao is installed

Engines take turns on each document, and ratios are medians of the runs. Seconds of the processor
count what the process used; other seconds depend on what else the machine does.
"""

import contextlib
import copy
import json
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass, replace
from functools import partial
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Final, TypeAlias

import torch
import typer

import guideway as gw
from benchmarks import report
from benchmarks.extraction.run import machine
from benchmarks.extraction.tasks import Task, read_tasks
from benchmarks.report import Line, ModelName, rotated, table
from guideway.api.jobs import Call
from guideway.api.speculate import speculation
from guideway.cli.console import busy, print_json, print_line
from guideway.cli.models import open_model
from guideway.cli.options import BUILT_IN, AsJson
from guideway.errors import ModelError
from guideway.extras import installed
from guideway.generation.ensemble.ensemble import Ensemble
from guideway.generation.ensemble.prefix_cache import PrefixCache
from guideway.generation.loop import Decoding
from guideway.generation.speculation import Speculation
from guideway.models.packed import KINDS, pack
from guideway.models.protocol import NO_DRAFT
from guideway.models.transformers import TransformersModel
from guideway.sampling.speculation import best_gamma, expected_speedup, expected_tokens

XGRAMMAR: Final = "transformers + xgrammar"
GAMMA: Final = 3  # drafted tokens of `draft`
QUESTION: Final = "Which of these texts is the shortest? Answer in one sentence."
PROMPTS: Final = (
    "The history of the lighthouse begins in the year in which",
    "Dear Anna,\n\nthank you for your letter. The garden",
    "How to bake bread without an oven:\n\n1.",
)


@dataclass(frozen=True, slots=True)
class Cost:
    tokens: int = 0
    forwards: int = 0
    seconds: float = 0.0
    processor: float = 0.0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(*map(sum, zip(astuple(self), astuple(other), strict=True)))


Engine: TypeAlias = Callable[[Any], Cost]


def generation(
    model: ModelName = BUILT_IN,
    parts: Annotated[str, typer.Option(help="Which parts, with commas.")] = "",
    runs: Annotated[int, typer.Option(help="Runs of each part.", min=1)] = 3,
    documents: Annotated[int, typer.Option(help="Documents to extract.", min=1, max=10)] = 10,
    tokens: Annotated[int, typer.Option(help="The longest text.", min=8)] = 256,
    as_json: AsJson = False,
) -> None:
    """Forwards and seconds of whole texts: drafts, prefix cache, batches."""
    chosen = parts.split(",") if parts else [*PARTS]
    if unknown := {*chosen} - {*PARTS}:
        raise typer.BadParameter(f"--parts has {sorted(unknown)}: it may have {[*PARTS]}")
    opened = open_model(model)
    figures: dict[str, Any] = {**machine(), "model": model, "runs": runs, "max_new_tokens": tokens}
    for name in chosen:
        with busy(name):
            figures[name] = PARTS[name](opened, Size(runs, documents, tokens))
        if not as_json:
            print_line(f"\n{name}\n\n{table(figures[name])}")
    if as_json:
        print_json(figures)


@dataclass(frozen=True, slots=True)
class Size:
    runs: int
    documents: int
    tokens: int


def extraction(model: gw.Model, size: Size) -> list[Line]:
    """JSON of the documents, one row at a time."""
    tasks = read_tasks()[: size.documents]
    settings = {"max_new_tokens": size.tokens}
    for task in tasks:  # compiles the constraints
        request(model, "", task.type, size.tokens)
    peer = xgrammar_engine(model, tasks, size.tokens)
    runs = list[Mapping[str, Cost]]()
    for number in range(size.runs):
        with model.session() as session:
            engines = {
                "off": partial(anew, model, speculate="off", **settings),
                "auto, cold": partial(anew, model, speculate="auto", **settings),
                "auto, warm": partial(held, session, **settings),
            }
            runs.append(in_turns({**engines, **peer}, tasks, number))
    return compared(runs, ("off", XGRAMMAR))


def held(model: gw.Model, asked: Task | str, **settings: Any) -> Cost:
    """The cost of one document, or of free text after a prompt."""
    if isinstance(asked, str):
        return measured(lambda: model.generate(asked, **settings))
    prompt = asked.prompt(model.tokenizer)
    return measured(lambda: model.generate(prompt, asked.type, **settings))


def anew(model: gw.Model, asked: Task | str, **settings: Any) -> Cost:
    """The same in a session that knows no earlier text."""
    with model.session() as session:
        return held(session, asked, **settings)


def free(model: gw.Model, size: Size) -> list[Line]:
    lines = list[Line]()
    ways: dict[str, dict[str, Any]] = {"greedy": {}, "sampled": {"temperature": 1.0, "seed": 0}}
    for way, more in ways.items():
        settings = {"max_new_tokens": size.tokens // 2, **more}
        engines = {
            f"{how}, {way}": partial(anew, model, speculate=how, **settings)
            for how in ("off", "auto")
        }
        runs = [in_turns(engines, [*PROMPTS], number) for number in range(size.runs)]
        lines += compared(runs, (f"off, {way}",))
    return lines


def measured(work: Callable[[], Any]) -> Cost:
    results = list[Any]()
    cost = timed(lambda: results.append(work()))
    return replace(cost, tokens=len(results[0].log_allowed), forwards=results[0].stats.forwards)


def timed(work: Callable[[], int | None]) -> Cost:
    """The cost of a text of so many tokens, each a forward."""
    began, processor = time.perf_counter(), time.process_time()
    count = work() or 0
    return Cost(count, count, time.perf_counter() - began, time.process_time() - processor)


def in_turns(engines: Mapping[str, Engine], documents: list[Any], number: int) -> dict[str, Cost]:
    """Each document by all engines, one after the other; the first one changes."""
    costs = dict.fromkeys(engines, Cost())
    for place, document in enumerate(documents):
        for name in rotated([*engines], number + place):
            costs[name] += engines[name](document)
    return costs


def compared(runs: list[Mapping[str, Cost]], others: tuple[str, ...]) -> list[Line]:
    """A line for each engine; how many times as fast as others it is."""
    lines = list[Line]()
    for name, cost in runs[-1].items():
        own = [run[name] for run in runs]
        line: Line = {
            "engine": name,
            "tokens": cost.tokens,
            "forwards": cost.forwards,
            "tokens a forward": cost.tokens / cost.forwards,
            "tokens a processor second": statistics.median(map(speed, own)),
            "tokens a second": statistics.median(each.tokens / each.seconds for each in own),
        }
        for other in (each for each in others if each in runs[0]):
            shares = [speed(run[name]) / speed(run[other]) for run in runs]
            line[f"× {other}"] = statistics.median(shares)
        lines.append(line)
    return lines


def speed(cost: Cost) -> float:
    return cost.tokens / cost.processor


def xgrammar_engine(model: gw.Model, tasks: list[Task], tokens: int) -> dict[str, Engine]:
    """transformers' `generate` with xgrammar's processor; nothing where it is not installed."""
    try:
        import xgrammar  # pyright: ignore[reportMissingImports]
        from xgrammar.contrib.hf import LogitsProcessor  # pyright: ignore[reportMissingImports]
    except ImportError:
        return {}
    backend: Any = model.language_model
    module = usual(backend.module)
    info = xgrammar.TokenizerInfo.from_huggingface(
        model.tokenizer, vocab_size=backend.vocabulary.width
    )
    compiler = xgrammar.GrammarCompiler(info)
    compiled = {task.name: compiler.compile_json_schema(task.type) for task in tasks}

    def run(task: Task) -> Cost:
        read = model.tokenizer(
            task.prompt(model.tokenizer), return_tensors="pt", add_special_tokens=False
        )
        settings = {"do_sample": False, "pad_token_id": min(backend.vocabulary.eos_ids)}

        def generated() -> int:
            processor = LogitsProcessor(compiled[task.name])
            found = module.generate(
                **read, logits_processor=[processor], max_new_tokens=tokens, **settings
            )
            return found.shape[1] - read["input_ids"].shape[1]

        return timed(generated)

    return {XGRAMMAR: run}


def usual(module: Any) -> Any:
    """The same weights in the layers that transformers makes."""
    made: Any = copy.deepcopy(module, {id(each): each for each in module.parameters()})
    for each in made.modules():
        if isinstance(each, torch.nn.Linear):
            each.__class__ = torch.nn.Linear
    return made


def rows(model: gw.Model, size: Size) -> list[Line]:
    """Milliseconds of a forward. Both take turns; the figure is one that a tenth of them beats."""
    backend: Any = model.language_model
    layers = {"usual layers": usual(backend.module), "guideway": backend.module}
    held, lines = [backend.prefill([[1] * size.tokens])[0]], list[Line]()

    def forward(module: Any, count: int) -> Cost:
        backend.module = module
        return timed_forward(backend, held, count)

    for count in (1, 2, 4, 6, 8, 12, 16, 24, 48):
        works = {name: partial(forward, module, count) for name, module in layers.items()}
        costs = report.in_turns(works, 10 * size.runs)
        line: Line = {"tokens": count}
        for field, unit in {"seconds": "ms", "processor": "processor ms"}.items():
            for name, each in costs.items():
                least = sorted(getattr(cost, field) for cost in each)[size.runs]
                line[f"{name}, {unit}"] = 1e3 * least
        lines.append(line)
    backend.module = layers["guideway"]
    return lines


def draft(model: gw.Model, size: Size) -> list[Line]:
    """The speed-up that a draft gives, and that of the formula with what was measured."""
    layers = getattr(model.language_model, "layers", 0)
    answers = [json.dumps(task.expected) for task in read_tasks()]
    drafts: dict[str, gw.Model | Path] = {
        f"exit_at({count})": model.exit_at(count) for count in sorted({layers * 2 // 3, layers - 2})
    }
    drafts["ngram of the answers"] = gw.ngram(answers, model)
    held, times = [model.language_model.prefill([[1] * size.tokens])[0]], dict[int, float]()
    for count in (1, 1 + GAMMA):
        costs = [timed_forward(model.language_model, held, count) for _ in range(9)]
        times[count] = min(cost.processor for cost in costs)
    forward = times[1 + GAMMA] / times[1]
    with TemporaryDirectory() as folder:
        drafts["heads of the answers"] = gw.train_heads(model, answers, Path(folder), GAMMA)
        return [drafted(model, name, small, size, forward) for name, small in drafts.items()]


def drafted(model: gw.Model, name: str, small: gw.Model | Path, size: Size, forward: float) -> Line:
    """The figures of one draft, with the cost of a forward of `1 + GAMMA` tokens."""
    gains, watches = list[float](), list[Fixed]()
    for _ in range(size.runs):
        plain, fast, watch = 0.0, 0.0, Fixed(model, small)
        for task in read_tasks()[: min(size.documents, 3)]:
            plain += decoding_seconds(model, task, size.tokens, None)
            fast += decoding_seconds(model, task, size.tokens, watch)
        gains.append(plain / fast)
        watch.step = plain / watch.drawn
        watches.append(watch)
    rate = statistics.median(watch.rate for watch in watches)
    cost = statistics.median(watch.cost for watch in watches)
    gain = statistics.median(gains)
    whole = expected_tokens(rate, GAMMA) / (GAMMA * cost + forward)
    return {
        "draft": name,
        "α": rate,
        "c": cost,
        f"forward of {1 + GAMMA} : 1": forward,
        "speed-up": gain,
        "formula": expected_speedup(rate, GAMMA, cost),
        "formula, forward as measured": whole,
        "measured : that": gain / whole,
    }


class Fixed:
    """Drafts of `GAMMA` tokens, whether they pay or not."""

    def __init__(self, model: gw.Model, small: gw.Model | Path) -> None:
        self._model, self._small = model, small
        self._drafter: Any = None
        self._learn: Any = None
        self.step = self.seconds = 0.0
        self.drawn = self.drafted = self.right = self.tried = 0

    def begin(self) -> Speculation:
        made: Any = speculation(Ensemble(self._model.node), self._small)
        self._drafter, self._learn = made._drafter, made.judge
        made.drafts, made.judge = self.drafts, self.judge
        return made

    def drafts(self, rows: Any, *_: Any) -> Any:
        room = min(row.most - len(row.tokens) for row in rows)
        if room < 1 or self._drafter is None:
            return [NO_DRAFT] * len(rows)
        began = time.process_time()
        found = self._drafter.draft(rows, min(GAMMA, room))
        self.seconds += time.process_time() - began
        self.drafted += max(len(each.tokens) for each in found)
        return found

    def judge(self, rows: Any, drafts: Any, accepted: Any, seconds: Any, states: Any = ()) -> None:
        self._learn(rows, drafts, accepted, None, states)
        for each, right in zip(drafts, accepted, strict=True):
            self.right += right
            self.tried += min(right + 1, len(each.tokens))

    @property
    def rate(self) -> float:
        """α: how often a token was right, of those that were compared."""
        return self.right / max(1, self.tried)

    @property
    def cost(self) -> float:
        """c: a drafted token in steps without drafts."""
        return self.seconds / max(1, self.drafted) / self.step


def decoding_seconds(model: gw.Model, task: Task, tokens: int, watch: Fixed | None) -> float:
    asked = request(model, task.prompt(model.tokenizer), task.type, tokens)
    speculation = None if watch is None else watch.begin()
    ensemble = Ensemble(model.node, PrefixCache(0))
    decoding = Decoding(ensemble, [asked], speculation=speculation)
    events = iter(decoding)
    next(events)
    began = time.process_time()
    for _ in events:
        pass
    seconds = time.process_time() - began
    if watch is not None:
        watch.drawn += len(decoding.completions[0].log_allowed) - 1
    return seconds


def request(model: gw.Model, prompt: Any, source: Any, tokens: int) -> Any:
    """One row as the engine reads it; its constraint is compiled."""
    settings: dict[str, object] = {"max_new_tokens": tokens}
    return Call(Ensemble(model.node), prompt, source, **settings).only_job().request


def formula(model: gw.Model, size: Size) -> list[Line]:
    """Examples of the formula; the notes give 1.82, and 3.4 for the third, which was measured."""
    lines = list[Line]()
    for rate, gamma, cost in ((0.7, 3, 0.13), (0.7, 4, 0.13), (0.75, 7, 0.02), (0.8, 5, 0.13)):
        gain = f"{expected_speedup(rate, gamma, cost):.4f}"
        best = best_gamma(rate, cost)
        lines.append({"α": rate, "γ": gamma, "c": cost, "speed-up": gain, "best γ": best})
    return lines


def chat(model: gw.Model, size: Size) -> list[Line]:
    """Processor seconds to the first token of a second turn."""
    texts, first = cycle(task.messages[0]["content"] for task in read_tasks()), ""
    while len(model.tokenizer.encode(first)) < 4 * size.tokens:
        first = f"{first}\n\n{next(texts)}"
    times: dict[str, list[float]] = {"second turn": [], "its new words alone": [], "all again": []}
    read: Line = {}
    for _ in range(size.runs):
        talk: list[dict[str, Any]] = [{"role": "user", "content": first}]
        with model.session() as session:
            answer = session.generate(talk, max_new_tokens=min(16, size.tokens))
            talk += [answer.message, {"role": "user", "content": QUESTION}]
            seconds, stats = first_token(session, talk)
            times["second turn"].append(seconds)
        new = stats.prompt_tokens - stats.cached_tokens
        tail = request(model, talk, None, 1).prompt[-new:]
        read = {"second turn": new, "its new words alone": new, "all again": stats.prompt_tokens}
        others = {"its new words alone": model.tokenizer.decode(tail), "all again": talk}
        for name, prompt in others.items():
            with model.session() as session:
                times[name].append(first_token(session, prompt)[0])
    ms = {name: 1e3 * statistics.median(each) for name, each in times.items()}
    alone = ms["its new words alone"]
    return [
        {"first token of": name, "tokens read": read[name], "ms": each, "× new words": each / alone}
        for name, each in ms.items()
    ]


def first_token(model: gw.Model, prompt: Any) -> tuple[float, Any]:
    began, seconds = time.process_time(), 0.0
    for part in model.stream(prompt, max_new_tokens=2):
        seconds = seconds or time.process_time() - began
        if part.result is not None:
            return seconds, part.result.stats
    raise RuntimeError("the stream has no last part")


def packed(model: gw.Model, size: Size) -> list[Line]:
    """Tokens a second of one row after 100 others; the weights take turns."""
    backend: Any = model.language_model
    models: dict[str, Any] = {str(backend.module.dtype).removeprefix("torch."): backend}
    for kind in KINDS if installed("torchao") else ():
        module = copy.deepcopy(backend.module)
        with contextlib.suppress(ModelError):  # its layers have other sizes
            pack(module, kind)
            models[kind] = TransformersModel(module, model.tokenizer)
    seconds: dict[str, list[float]] = {name: [] for name in models}
    for _ in range(size.runs):
        for name, each in models.items():
            held = [each.prefill([[1] * 100])[0]]
            seconds[name] += [timed_forward(each, held, 1).processor for _ in range(10)]
    least = {name: min(each) for name, each in seconds.items()}
    first = next(iter(least.values()))
    return [
        {"weights": name, "tokens a processor second": 1 / each, "× the first": first / each}
        for name, each in least.items()
    ]


def timed_forward(backend: Any, held: list[Any], count: int) -> Cost:
    """A forward of so many tokens after the cache in `held`, which forgets them."""
    new = torch.ones(1, count, dtype=torch.int64, device=backend.device)
    found = list[Any]()
    cost = timed(lambda: found.append(backend.extend(held.pop(), new)[0]))
    held.append(backend.crop(found[0], [count]))
    return cost


PARTS: Final[Mapping[str, Callable[[gw.Model, Size], list[Line]]]] = {
    each.__name__: each for each in (extraction, rows, free, draft, formula, chat, packed)
}
