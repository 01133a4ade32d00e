"""Benchmark `grammars`: the shipped grammars in guideway, in other engines, and under a model.

Each engine that is here gets each grammar as it stands: those in Lark and those in GBNF, which
llguidance converts and xgrammar reads as its own notation. What it takes must judge the examples
of the file as the file says; texts that the grammar has are then gone through, a mask and a commit
for each token, the first pass not counted. Times are of the processor: what else the machine does
counts little. With `--texts` a model writes some under each grammar.
"""

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Any, Final, TypeAlias, cast
from unittest import mock

import lark
import typer
from lark.indenter import DedentError

import guideway as gw
from benchmarks.mask_engines import Begin, guideway, llguidance, opened, tokens_of, xgrammar
from benchmarks.report import Engines, Line, ModelName, Rounds, TokenizerFile, chosen, show
from guideway.cli.console import busy
from guideway.cli.models import as_prompt
from guideway.cli.options import BUILT_IN, AsJson
from guideway.context_free import shipped_sources
from guideway.context_free.lark.reader import read_lark
from guideway.context_free.shipped import Shipped, paths, shipped
from guideway.vocabulary.backend import Backend

PASSES: Final = 3
Take: TypeAlias = Callable[[Shipped, str], Begin]
"""Compiles a shipped grammar, given its text, or raises."""


def grammars(
    tokenizer: TokenizerFile = None,
    grammar: Annotated[
        list[str] | None, typer.Option(help="Only this one; may be given several times.")
    ] = None,
    engine: Engines = None,
    rounds: Rounds = 3,
    texts: Annotated[
        int, typer.Option(help="Let the model write so many under each, instead.", min=0)
    ] = 0,
    tokens: Annotated[int, typer.Option(help="Of such a text, at most.", min=1)] = 100,
    model: ModelName = BUILT_IN,
    as_json: AsJson = False,
) -> None:
    """The shipped grammars: which engines read them, how fast, and what a model writes under them.

    llguidance and xgrammar take part if they are installed (pip install llguidance xgrammar).
    """
    asked = [shipped(name) for name in grammar or paths()]
    if texts:
        with busy("writing"):
            loaded = gw.load(model)
            lines = [write(loaded, one, texts, tokens) for one in asked]
    else:
        with busy("measuring"):
            backend, vocabulary = opened(tokenizer)
            found = chosen(engines(backend, vocabulary), engine)
            gw.warmup()
            lines = [
                measure(one, name, take, backend, rounds)
                for one in asked
                for name, take in found.items()
            ]
    show(lines, as_json=as_json)


def is_lark(one: Shipped) -> bool:
    return paths()[one.name].suffix == ".lark"


def engines(backend: Backend, vocabulary: gw.Vocabulary) -> dict[str, Take]:
    found: dict[str, Take] = {
        "guideway": lambda one, text: guideway(
            shipped_sources.as_source(one.name, text), vocabulary
        )
    }
    if find_spec("llguidance"):
        library, begin = import_module("llguidance"), llguidance(backend)
        convert = import_module("llguidance.gbnf_to_lark").gbnf_to_lark
        found["llguidance"] = lambda one, text: begin(
            library.grammar_from("lark", text if is_lark(one) else convert(text))
        )
    if find_spec("xgrammar"):
        other, (compiler, started) = import_module("xgrammar"), xgrammar(vocabulary)

        def taken(one: Shipped, text: str) -> Begin:
            if is_lark(one):
                raise ValueError("it has no reader of Lark grammars")
            return started(compiler.compile_grammar(other.Grammar.from_ebnf(text)))

        found["xgrammar"] = taken
    return found


def measure(one: Shipped, engine: str, take: Take, backend: Backend, rounds: int) -> Line:
    """One grammar in one engine.

    "reads" is "wrong" where it judges an example otherwise than the file; "why" has that example,
    or what an engine said that refuses the grammar. "Lark" is the time in which Lark makes its
    parser of a grammar in Lark, "read" that in which guideway reads it, with the table of states.
    """
    try:
        begin, loaded, first = compiled(one, take, rounds)
    except Exception as error:  # noqa: BLE001  each library has errors of its own
        told = str(error).strip().splitlines() or [type(error).__name__]
        return {"grammar": one.name, "engine": engine, "reads": "refused", "why": told[0][:200]}
    examples = [(text, True) for text in one.accepted] + [(text, False) for text in one.rejected]
    wrong = [
        text for text, right in examples if accepts(begin, tokens_of(backend, text)) is not right
    ]
    step = stepping(begin, [tokens_of(backend, text) for text in one.accepted])
    itself: float | None = None
    if loaded and is_lark(one):
        make = lark_maker(one.name)
        itself = 1e3 * min(timed(make) for _ in range(rounds))
    return {
        "grammar": one.name,
        "engine": engine,
        "reads": "wrong" if wrong else "yes",
        "why": repr(wrong[0]) if wrong else None,
        "Lark, ms": itself,
        "read, ms": 1e3 * loaded if loaded else None,
        "first mask, ms": 1e3 * first,
        "mask + commit, µs": 1e6 * step,
    }


def timed(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def compiled(one: Shipped, take: Take, rounds: int) -> tuple[Begin, float, float]:
    """The grammar in an engine, seconds of reading it, and seconds from there to the first mask.

    Each round's text has another comment, so that nothing compiled before is handed out; what
    counts is the quickest round.
    """
    loads, firsts, begun = list[float](), list[float](), list[Begin]()

    def first_mask(text: str) -> None:
        begun.append(take(one, text))
        begun[-1]().mask()

    for number in range(rounds):
        marked = f"{one.text}\n{one.text.split()[0]} round {number}\n"
        with reading_apart() as spent:
            seconds = timed(lambda: first_mask(marked))  # noqa: B023
        loads.append(sum(spent))
        firsts.append(seconds - loads[-1])
    return begun[-1], min(loads), min(firsts)


@contextmanager
def reading_apart() -> Generator[list[float]]:
    """The seconds that guideway takes within to read texts to trees: they are timed where it does.

    The difference of two times would be as uncertain as the greater of them: of python.lark the
    reading is five times what comes behind it.
    """
    spent, lowering = list[float](), import_module("guideway.constraint.lowering")
    places = {"read_lark": lowering, "parse_gbnf": lowering, "as_source": shipped_sources}

    def clocked(reader: Callable[..., object]) -> Callable[..., object]:
        def read(*given: object) -> object:
            begun = time.process_time()
            try:
                return reader(*given)
            finally:
                spent.append(time.process_time() - begun)

        return read

    with ExitStack() as stack:
        for name, place in places.items():
            stack.enter_context(mock.patch.object(place, name, clocked(getattr(place, name))))
        yield spent


def accepts(begin: Begin, tokens: Sequence[int]) -> bool:
    text = begin()
    return all(text.step(token) for token in tokens) and text.ends()


def stepping(begin: Begin, texts: Sequence[Sequence[int]]) -> float:
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


def write(model: gw.Model, one: Shipped, texts: int, tokens: int) -> Line:
    """What a model writes under a grammar, at temperature 0.7, with a seed for each text.

    Lark's own parser judges the texts of a grammar in Lark, the constraint those of another.
    """
    source = gw.grammar(one.name)
    valid = lark_reads(one.name) if is_lark(one) else gw.compile(source, model.vocabulary).matches
    prompt = as_prompt(model, f"Write an example. {one.title}.", None)
    results = [
        model.generate(prompt, source, max_new_tokens=tokens, temperature=0.7, seed=seed)
        for seed in range(texts)
    ]
    count = sum(len(result.tokens) for result in results)
    seconds = sum(len(result.tokens) / result.stats.tokens_per_second for result in results)
    return {
        "grammar": one.name,
        "texts": texts,
        "valid": sum(valid(result.text) for result in results),
        "tokens": count / texts,
        "tokens/s": count / seconds,
        "masks of a token, µs": 1e6 * sum(result.stats.mask_time for result in results) / count,
    }


def lark_maker(name: str) -> Callable[[], Any]:
    """What makes Lark's own parser of a shipped grammar, with its Indenter where that is meant."""
    tree: Any = read_lark(cast("gw.Lark", gw.grammar(name)))
    # Where there are no items it does what Lark's own does.
    options: dict[str, Any] = {"postlex": gw.ItemIndenter()} if tree.indentation else {}
    path = str(paths()[name])
    return lambda: lark.Lark.open(path, parser="lalr", start=tree.start, **options)


def lark_reads(name: str) -> Callable[[str], bool]:
    parser = lark_maker(name)()

    def reads(text: str) -> bool:
        try:
            parser.parse(text)
        except (lark.UnexpectedInput, DedentError):
            return False
        return True

    return reads
