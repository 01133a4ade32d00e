"""Benchmark `grammars`: the shipped grammars in guideway, in other engines, and under a model.

Each engine that is here gets each grammar as it stands: those in Lark and those in GBNF, which
llguidance converts and xgrammar reads as its own notation. What it takes must judge the examples
of the file as the file says; texts that the grammar has are then gone through, a mask and a commit
for each token, the first pass not counted. Times are of the processor: what else the machine does
counts little. With `--texts` a model writes some under each grammar.
"""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final, cast

import typer

from benchmarks.report import Engines, Line, ModelName, Rounds, TokenizerFile, chosen, show
from guideway.cli.console import busy
from guideway.cli.options import BUILT_IN, AsJson

if TYPE_CHECKING:
    from benchmarks.grammar_engines import Take
    from benchmarks.mask_engines import Begin
    from guideway.context_free.shipped import Shipped
    from guideway.vocabulary.backend import Backend

PASSES: Final = 3


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
    from benchmarks.grammar_engines import grammar_engines
    from benchmarks.grammars_written import write
    from benchmarks.mask_engines import opened
    from guideway.constraint.caches import warmup
    from guideway.context_free.shipped import paths, shipped

    asked = [shipped(name) for name in grammar or paths()]
    if texts:
        import guideway as gw

        with busy("writing"):
            loaded = gw.load(model)
            lines = [write(loaded, one, texts, tokens) for one in asked]
    else:
        with busy("measuring"):
            backend, vocabulary = opened(tokenizer)
            found = chosen(grammar_engines(backend, vocabulary), engine)
            warmup()
            lines = [
                measure(one, name, take, backend, rounds)
                for one in asked
                for name, take in found.items()
            ]
    show(lines, as_json=as_json)


def measure(one: "Shipped", engine: str, take: "Take", backend: "Backend", rounds: int) -> Line:
    """One grammar in one engine.

    "reads" is "wrong" where it judges an example otherwise than the file; "why" has that example,
    or what an engine said that refuses the grammar. "Lark" is the time in which Lark makes its
    parser of a grammar in Lark, "read" that in which guideway reads it, with the table of states.
    """
    from benchmarks.grammar_engines import is_lark
    from benchmarks.mask_engines import tokens_of

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
    return {
        "grammar": one.name,
        "engine": engine,
        "reads": "wrong" if wrong else "yes",
        "why": repr(wrong[0]) if wrong else None,
        "Lark, ms": 1e3 * lark_itself(one, rounds) if loaded and is_lark(one) else None,
        "read, ms": 1e3 * loaded if loaded else None,
        "first mask, ms": 1e3 * first,
        "mask + commit, µs": 1e6 * step,
    }


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
