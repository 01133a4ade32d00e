"""Benchmark `watermark`: how often a mark is found in texts of a model, and in other texts.

Prompts are 50 tokens of the texts given; the model goes on from each, marked. Unmarked texts are
pieces of the same texts, of others, and of Python's documentation, as long as the marked ones. With
`--records` the model writes JSON instead: once with green tokens chosen among what the schema
allows, once in the whole vocabulary. What was generated is kept (`watermark_texts`): a
run that was interrupted goes on where it was, and one that was done before only counts.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final

import typer

import guideway as gw
from benchmarks import watermark_texts
from benchmarks.report import Line, ModelName, show
from benchmarks.watermark_texts import Marked, Plan, pieces, read_texts
from guideway.api.prompts import read_source
from guideway.api.watermark import Detection, modulus, spikes
from guideway.cli.console import busy, print_line
from guideway.cli.options import BUILT_IN, AsJson
from guideway.watermark.evidence import binomial_tail

ABOVE: Final = 4.0  # z of a text that is found
KEY: Final = "guideway bench watermark"


def watermark(
    texts: Annotated[
        list[Path] | None, typer.Argument(help="Texts; Python's documentation if none is given.")
    ] = None,
    also: Annotated[
        list[Path] | None, typer.Option(help="More texts without a mark (may be repeated).")
    ] = None,
    count: Annotated[int, typer.Option(help="Marked texts.", min=1)] = 500,
    tokens: Annotated[int, typer.Option(help="Tokens of each that count.", min=16)] = 200,
    unmarked: Annotated[int, typer.Option(help="Texts without a mark, at most.", min=0)] = 2000,
    gamma: Annotated[float, typer.Option(help="The share of green tokens.")] = 0.5,
    delta: Annotated[float, typer.Option(help="What is added to their logits.")] = 2.0,
    stage: Annotated[str, typer.Option(help="logits, or filtered.")] = "logits",
    temperature: Annotated[float, typer.Option(help="Of the draw.")] = 0.7,
    records: Annotated[bool, typer.Option("--records", help="JSON records instead.")] = False,
    entropies: Annotated[
        int, typer.Option(help="Marked texts whose spike entropy is looked at.", min=0)
    ] = 100,
    batch: Annotated[int, typer.Option(help="Texts at once.", min=1)] = 50,
    dtype: Annotated[str, typer.Option(help="Of the weights.")] = "float32",
    model: ModelName = BUILT_IN,
    as_json: AsJson = False,
) -> None:
    """How often a watermark is found in marked texts, and in unmarked ones.

    Example: python -m tests.benchmarks watermark tales.txt --count 50 --unmarked 200
    """
    corpus = read_texts(texts or [])
    loaded = gw.load(model, dtype=dtype)
    mark = gw.Watermark(key=KEY, gamma=gamma, delta=delta, stage=stage)  # pyright: ignore[reportArgumentType]
    plan = Plan(model, dtype, count, tokens, temperature, batch, corpus, records)
    spike = None
    with busy("generating and looking for marks"):
        if records:
            figures = of_records(loaded, mark, plan)
        else:
            marked = plan.texts(loaded, mark)
            figures = of_prose(loaded, mark, marked)
            spike = spike_entropy(loaded, mark, plan, marked[:entropies])
            others = {read_texts([]), corpus, *([read_texts(also)] if also else [])}
            human = pieces(loaded, sorted(others), tokens)[:unmarked]
            figures.append(figure("unmarked", [mark.detect(each) for each in human]))
    show(figures, as_json=as_json)
    if spike is not None and not as_json:
        print_line(f"spike entropy of {min(entropies, count)} marked texts: {spike:.3f}")


def of_prose(model: gw.Model, mark: gw.Watermark, marked: Sequence[Marked]) -> list[Line]:
    """Marked prose: by its tokens, by its text, and with repeated pairs counted each time."""
    found = {
        "tokens": [mark.detect(each.tokens) for each in marked],
        "text": [mark.detect(each.text, model) for each in marked],
        "tokens, repeats counted": [mark.detect(each.tokens, repeated="all") for each in marked],
    }
    return [figure(name, each, marked) for name, each in found.items()]


def of_records(model: gw.Model, mark: gw.Watermark, plan: Plan) -> list[Line]:
    """Marked JSON: green tokens in the whole vocabulary, and among those that are allowed."""
    schema = gw.compile(read_source(watermark_texts.RECORDS), model.vocabulary)
    plain = replace(mark, among="vocabulary")
    theirs, ours = plan.texts(model, plain), plan.texts(model, mark)
    found = {
        "plain": [plain.detect(each.tokens) for each in theirs],
        "plain, forced left out": [plain.detect(each.tokens, None, schema) for each in theirs],
        "among allowed": [mark.detect(each.tokens, None, schema) for each in ours],
        "among allowed, text": [mark.detect(each.text, model, schema) for each in ours],
    }
    return [
        figure(name, each, theirs if name.startswith("plain") else ours)
        for name, each in found.items()
    ]


def spike_entropy(
    model: gw.Model, mark: gw.Watermark, plan: Plan, marked: Sequence[Marked]
) -> float | None:
    """The mean spike entropy of the model, at temperature 1, before the tokens of marked texts."""
    factor = modulus(mark.settings.gamma, mark.settings.delta)
    prompts = plan.prompts(model)
    found = [
        value
        for prompt, each in zip(prompts, marked, strict=False)
        for value in spikes(model, prompt, each.tokens, None, factor)[1:]
    ]
    return sum(found) / len(found) if found else None


def figure(texts: str, found: Sequence[Detection], marked: Sequence[Marked] | None = None) -> Line:
    """What was found in some texts: means, and how many have z above 4.

    Their share has its 95 % interval (Wilson). "by chance" is how many of as many unmarked texts
    would be found, on average (exact binomial); None where the share of green tokens to expect is
    not one for all. "perplexity" is that of the model on what it wrote, given what was allowed.
    """
    count = len(found)
    above = sum(each.z > ABOVE for each in found)
    low, high = wilson(above, count)
    mean = max(1, count)
    losses = [each.loss for each in marked or ()]
    return {
        "texts": texts,
        "count": count,
        "tokens": sum(each.counted for each in found) / mean,
        "mean z": sum(each.z for each in found) / mean,
        "green": sum(each.green_fraction for each in found) / mean,
        "found": above,
        "share, 95 % interval": f"{above / mean:.3f} [{low:.3f}, {high:.3f}]",
        "by chance": by_chance(found),
        "perplexity": math.exp(sum(losses) / len(losses)) if losses else None,
    }


def by_chance(found: Sequence[Detection]) -> float | None:
    """How many unmarked texts of these lengths would be found, on average."""
    chances = {each.expected for each in found if each.counted}
    if len(chances) > 1:
        return None
    total = 0.0
    for each in found:
        chance = each.expected
        spread = math.sqrt(each.counted * chance * (1 - chance))
        least = math.floor(each.counted * chance + ABOVE * spread) + 1
        total += binomial_tail(each.counted, chance, least) if each.counted else 0.0
    return total


def wilson(found: int, count: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson 1927).

    >>> [round(end, 3) for end in wilson(490, 497)]
    [0.971, 0.993]
    """
    if not count:
        return 0.0, 1.0
    z, share = 1.959964, found / count
    middle = share + z * z / (2 * count)
    spread = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    whole = 1 + z * z / count
    return (middle - spread) / whole, (middle + spread) / whole
