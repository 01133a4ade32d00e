"""Benchmark `grammars`: the shipped grammars in guideway, in other engines, and under a model.

Each engine that is here gets each grammar as it stands: those in Lark and those in GBNF, which
llguidance converts and xgrammar reads as its own notation. What it takes must judge the examples
of the file as the file says; texts that the grammar has are then gone through, a mask and a commit
for each token, the first pass not counted. Times are of the processor: what else the machine does
counts little. With `--texts` a model writes some under each grammar.
"""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, cast, final

import typer

from guideway.cli.console import busy, print_json, print_line, warn
from guideway.cli.options import BUILT_IN, AsJson

if TYPE_CHECKING:
    from benchmarks.grammar_engines import Take
    from benchmarks.mask_engines import Begin
    from guideway.context_free.shipped import Shipped
    from guideway.vocabulary.backend import Backend

PASSES: Final = 3
READS: Final = "yes"


@final
@dataclass(frozen=True, slots=True)
class Figure:
    """One grammar in one engine.

    Attributes:
        grammar: its name.
        engine: which.
        reads: "yes", "wrong" where it judges an example otherwise than the file, or "refused".
        why: the example, or what the engine said.
        lark: milliseconds that Lark itself takes to make its parser of a grammar in Lark,
        loaded: and that guideway takes to read it: of Lark by Lark's own loader, with the table of
            states.
        first: milliseconds from there to the first mask; with reading where that is None.
        step: microseconds of a mask and a commit, on average.
    """

    grammar: str
    engine: str
    reads: str
    why: str = ""
    lark: float | None = None
    loaded: float | None = None
    first: float | None = None
    step: float | None = None


def grammars(
    tokenizer: Annotated[
        Path | None,
        typer.Option(help="A tokenizer.json, or its folder; the built-in model's if not given."),
    ] = None,
    grammar: Annotated[
        list[str] | None, typer.Option(help="Only this one; may be given several times.")
    ] = None,
    engine: Annotated[
        list[str] | None, typer.Option(help="Only this engine; may be given several times.")
    ] = None,
    rounds: Annotated[int, typer.Option(help="How often each is compiled.", min=1)] = 3,
    texts: Annotated[
        int, typer.Option(help="Let the model write so many under each, instead.", min=0)
    ] = 0,
    tokens: Annotated[int, typer.Option(help="Of such a text, at most.", min=1)] = 100,
    model: Annotated[str, typer.Option("--model", "-m", help="What writes.")] = BUILT_IN,
    as_json: AsJson = False,
) -> None:
    """The shipped grammars: which engines read them, how fast, and what a model writes under them.

    llguidance and xgrammar take part if they are installed (pip install llguidance xgrammar).
    """
    from benchmarks.grammars_written import write
    from guideway.context_free.shipped import paths, shipped

    chosen = [shipped(name) for name in grammar or paths()]
    if texts:
        import guideway as gw

        with busy("writing"):
            loaded = gw.load(model)
            written = [write(loaded, one, texts, tokens) for one in chosen]
        show([asdict(one) for one in written], as_json=as_json)
        return
    with busy("measuring"):
        figures = measure(chosen, tokenizer, engine or [], rounds)
    show([asdict(one) for one in figures], as_json=as_json)
    for one in figures:
        if one.why and not as_json:
            warn(f"{one.engine}, {one.grammar}: {one.reads}: {one.why}")


def show(rows: Sequence[dict[str, Any]], *, as_json: bool) -> None:
    """A table with a column for each field but those that are long."""
    if as_json:
        print_json(rows)
        return
    for row in ({name: name for name in rows[0]}, *rows):
        cells = [cell(value) for name, value in row.items() if name not in ("why", "example")]
        print_line(f"{cells[0]:18}" + "".join(f"{one:>12}" for one in cells[1:]))


def cell(value: object) -> str:
    """A value in a table."""
    if isinstance(value, float):
        return f"{value:.1f}"
    return "" if value is None else str(value)


def measure(
    chosen: "Sequence[Shipped]", tokenizer: Path | None, only: Sequence[str], rounds: int
) -> list[Figure]:
    """Each grammar in each engine.

    Raises:
        typer.BadParameter: there is no such engine here.
    """
    from benchmarks.grammar_engines import grammar_engines
    from benchmarks.mask_engines import opened
    from guideway.constraint.caches import warmup

    backend, vocabulary = opened(tokenizer)
    found = grammar_engines(backend, vocabulary)
    for name in only:
        if name not in found:
            raise typer.BadParameter(f"there is no engine {name!r} here, only {list(found)}")
    warmup()
    return [
        figure(one, name, found[name], backend, rounds) for one in chosen for name in only or found
    ]


def figure(one: "Shipped", engine: str, take: "Take", backend: "Backend", rounds: int) -> Figure:
    """One grammar in one engine."""
    try:
        begin, loaded, first = compiled(one, take, rounds)
    except Exception as error:  # noqa: BLE001  each library has errors of its own
        return Figure(one.name, engine, "refused", first_line(error))
    wrong = [
        text
        for texts, right in ((one.accepted, True), (one.rejected, False))
        for text in texts
        if accepts(begin, tokens_of(backend, text)) is not right
    ]
    step = stepping(begin, [tokens_of(backend, text) for text in one.accepted])
    return Figure(
        grammar=one.name,
        engine=engine,
        reads="wrong" if wrong else READS,
        why=repr(wrong[0]) if wrong else "",
        lark=1e3 * lark_itself(one, rounds) if loaded and is_lark(one) else None,
        loaded=1e3 * loaded if loaded else None,
        first=1e3 * first,
        step=1e6 * step,
    )


def compiled(one: "Shipped", take: "Take", rounds: int) -> "tuple[Begin, float, float]":
    """The grammar in an engine, seconds of reading it, and seconds from there to the first mask.

    Each round's text has another comment, so that nothing compiled before is handed out; what
    counts is the quickest round.
    """
    from benchmarks.grammar_engines import reading_apart

    loads, firsts = list[float](), list[float]()
    begin: Begin | None = None
    for number in range(rounds):
        marked = f"{one.text}\n{one.text.split()[0]} round {number}\n"
        with reading_apart() as spent:
            begun = time.process_time()
            begin = take(one, marked)
            begin().mask()
            ended = time.process_time()
        loads.append(sum(spent))
        firsts.append(ended - begun - loads[-1])
    return cast("Begin", begin), min(loads), min(firsts)


def is_lark(one: "Shipped") -> bool:
    """Whether a grammar is one of Lark's notation."""
    from guideway.context_free.shipped import paths

    return paths()[one.name].suffix == ".lark"


def lark_itself(one: "Shipped", rounds: int) -> float:
    """Seconds in which Lark makes its own parser of a grammar, in the quickest round."""
    from benchmarks.grammars_written import lark_maker

    make, spent = lark_maker(one.name), list[float]()
    for _ in range(rounds):
        begun = time.process_time()
        make()
        spent.append(time.process_time() - begun)
    return min(spent)


def accepts(begin: "Begin", tokens: Sequence[int]) -> bool:
    """Whether an engine allows each token in turn, and the end."""
    text = begin()
    return all(text.step(token) for token in tokens) and text.ends()


def stepping(begin: "Begin", texts: Sequence[Sequence[int]]) -> float:
    """Seconds of a mask and a commit on average, once all texts were gone through."""
    spent, steps = 0.0, 0
    for number in range(1 + PASSES):
        for tokens in texts:
            text = begin()
            begun = time.process_time()
            for token in tokens:
                text.step(token)
            spent += (time.process_time() - begun) * bool(number)
            steps += len(tokens) * bool(number)
    return spent / max(steps, 1)


def tokens_of(backend: "Backend", text: str) -> Sequence[int]:
    """A text as the tokenizer writes it.

    Raises:
        typer.BadParameter: it cannot.
    """
    tokens = backend.encode(text) if text else []
    if tokens is None:
        raise typer.BadParameter("this tokenizer cannot encode the texts of the benchmark")
    return tokens


def first_line(error: Exception) -> str:
    """What an engine said, in one line."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:200]
