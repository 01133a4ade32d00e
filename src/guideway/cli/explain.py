"""`guideway explain`: how a source is enforced, and the value of each stage.

First each keyword with its JSON pointer and how it is enforced, then the syntax tree, the core
expression, the automaton, the first mask, and the states along a text.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from guideway.cli.console import print_json, print_line
from guideway.cli.models import open_model
from guideway.cli.options import Resources
from guideway.cli.sources import FORMS, read_file, read_source

if TYPE_CHECKING:
    from guideway.constraint.compiled import CompiledConstraint
    from guideway.language.derivative import Derivatives
    from guideway.language.nodes import Expr
    from guideway.sources.sources import Source
    from guideway.vocabulary.vocabulary import Vocabulary

STATES_AT_MOST: Final = 2_000
TOKENS_SHOWN: Final = 12
STEPS_AT_MOST: Final = 500  # of a text
LINES_AT_MOST: Final = 500
PLACES_AT_MOST: Final = 48  # characters of the column of places


def explain(
    source: Annotated[str, typer.Argument(help=f"{FORMS}.")],
    resources: Resources = None,
    tokenizer: Annotated[
        Path | None, typer.Option(help="Use the tokens of this tokenizer.json.", dir_okay=False)
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="Use the tokens of this model.")
    ] = None,
    text: Annotated[
        str | None,
        typer.Option(help="Show the states along this text, complete or not. Else a shortest one."),
    ] = None,
    lines: Annotated[
        int, typer.Option(help="The maximum number of lines of each tree.", min=1)
    ] = 40,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object.")] = False,
) -> None:
    """Print how each part of a source is enforced, and the value of each stage.

    Without a tokenizer or a model, every byte is a token.

    Example: guideway explain schema.json
    """
    vocabulary = read_vocabulary(tokenizer, model)
    explained = explain_source(read_source(source, resources), vocabulary, text)
    if as_json:
        print_json(explained)
        return
    for line in sections(explained, lines):
        print_line(line)


def read_vocabulary(tokenizer: Path | None, model: str | None) -> "Vocabulary":
    """The tokens of a file or of a model; without either, the 256 bytes and an end id."""
    from guideway.vocabulary.vocabulary import Vocabulary

    if tokenizer is not None:
        read_file(tokenizer)  # raises if there is no such file
        return Vocabulary.from_tokenizer_json(tokenizer)
    if model is not None:
        return open_model(model).vocabulary
    return Vocabulary([*(bytes([byte]) for byte in range(256)), b"<end>"], eos_ids={256})


def explain_source(
    written: object, vocabulary: "Vocabulary", text: str | None = None
) -> dict[str, Any]:
    """Run every stage on a source, and return the object that `--json` prints.

    Lists have at most `LINES_AT_MOST` lines; the byte automaton is explored up to `STATES_AT_MOST`
    states (`complete`: these are all). `steps` are along `text`, or along a shortest text, and
    `rejected` is the rest of it that is not allowed.
    """
    from guideway.api.linting.enforcement import enforcement
    from guideway.api.prompts import plain
    from guideway.automaton.token_tries import unpack
    from guideway.cli.drawing import draw
    from guideway.constraint.compile import compile as compile_source
    from guideway.constraint.lowering import lower_source
    from guideway.constraint.special_tokens import resolve
    from guideway.language.derivative import Derivatives
    from guideway.language.finite_languages import Decisions
    from guideway.sources.sources import source

    read = plain(source(written))  # as `generate` reads it
    constraint = compile_source(read, vocabulary)
    start = constraint.start()
    allowed: list[int] = unpack(constraint.mask(start)).tolist()
    resolved = resolve(read, vocabulary)
    expr = lower_source(resolved.source, Decisions())
    machine = Derivatives(expr, resolved.vocabulary.spellable)
    states, arcs, complete = count_states(machine, expr)
    example = constraint.example()
    steps, rejected = walk(constraint, (example if text is None else text).encode())
    return {
        "enforced": [asdict(each) for each in islice(enforcement(read), LINES_AT_MOST)],
        "tree": list(islice(syntax_lines(read), LINES_AT_MOST)),
        "core": list(islice(draw(expr), LINES_AT_MOST)),
        "states": states,
        "arcs": arcs,
        "complete": complete,
        "width": vocabulary.width,
        "first_mask": allowed,
        "first_tokens": list(islice(_spellings(allowed, vocabulary), TOKENS_SHOWN)),
        "example": example,
        "shortest_bytes": len(example.encode()),
        "shortest_tokens": constraint.distance(start),
        "steps": steps,
        "rejected": rejected,
    }


def walk(constraint: "CompiledConstraint", text: bytes) -> tuple[list[dict[str, Any]], str | None]:
    """The states along a text, and the part that is rejected; each token is the longest allowed."""
    from guideway.automaton.outline import outline
    from guideway.automaton.token_tries import unpack

    tokens, steps = constraint.vocabulary.tokens, list[dict[str, Any]]()
    state = constraint.start()
    while len(steps) < STEPS_AT_MOST:
        allowed: list[int] = unpack(constraint.mask(state)).tolist()
        spelled = {tokens[token] or b"": token for token in allowed if token < len(tokens)}
        found = max((one for one in spelled if one and text.startswith(one)), key=len, default=None)
        shown = None if found is None else found.decode(errors="backslashreplace")
        steps.append({"state": list(outline(state)), "allowed": len(allowed), "token": shown})
        if found is None:
            break
        state, text = constraint.advance(state, spelled[found]), text[len(found) :]
    return steps, text.decode(errors="backslashreplace") or None


def syntax_lines(read: "Source") -> Iterator[str]:
    """The lines of a source's syntax tree; a combination is its own tree."""
    from guideway.cli.drawing import draw
    from guideway.context_free.gbnf import parse_gbnf
    from guideway.context_free.lark.reader import read_lark
    from guideway.context_free.lark.source import Lark
    from guideway.json_schema.parser import parse_json_schema
    from guideway.json_schema.source import JsonSchema
    from guideway.python_types.source import type_source
    from guideway.regex.parser import parse_regex
    from guideway.sources.sources import Gbnf, PythonType, Regex

    match read:
        case Regex(pattern, dialect, flags):
            return draw(parse_regex(pattern, dialect, flags).body)
        case Gbnf(text, root):
            return draw(parse_gbnf(text, root))
        case Lark():
            return draw(replace(read_lark(read), table=None))
        case JsonSchema():
            return draw(parse_json_schema(read))
        case PythonType():
            return syntax_lines(type_source(read))
        case _:
            return draw(read)


def count_states(machine: "Derivatives", start: "Expr") -> tuple[int, int, bool]:
    """Count the states reached from `start` and their arcs; False if there are more states."""
    seen, waiting, arcs = {start}, [start], 0
    while waiting:
        for _, following in machine.arcs(waiting.pop()):
            arcs += 1
            if following not in seen:
                if len(seen) == STATES_AT_MOST:
                    return len(seen), arcs, False
                seen.add(following)
                waiting.append(following)
    return len(seen), arcs, True


def sections(explained: Mapping[str, Any], lines: int) -> Iterator[str]:
    """The lines of the report, with `lines` of each tree at most."""
    some = "" if explained["complete"] else "more than "
    allowed, shown = len(explained["first_mask"]), explained["first_tokens"]
    tokens = " ".join(shown) + (f" and {allowed - len(shown)} more" if allowed > len(shown) else "")
    lists: dict[str, list[str]] = {
        "enforced": list(enforced_lines(explained["enforced"])),
        "tree": explained["tree"],
        "core expression": explained["core"],
    }
    for title, drawn in lists.items():
        if drawn:
            yield title
        yield from (f"  {line}" for line in drawn[:lines])
        if len(drawn) > lines:
            more = "" if len(drawn) < LINES_AT_MOST else " at least"
            yield f"  …{more} {len(drawn) - lines} more lines (--lines {len(drawn)} shows them)"
    states, arcs = explained["states"], explained["arcs"]
    yield f"automaton   {some}{states} states, {some}{arcs} arcs, over bytes"
    yield f"first mask  {allowed} of {explained['width']} tokens: {tokens}"
    yield f"example     {explained['example']!r}"
    size, fewest = explained["shortest_bytes"], explained["shortest_tokens"]
    yield f"shortest    {size} bytes, {fewest} tokens"
    yield "states"
    for step in explained["steps"][:lines]:
        taken = "no more text" if step["token"] is None else f"takes {step['token']!r}"
        if step["token"] is None and explained["rejected"] is not None:
            taken = f"rejects {explained['rejected']!r}"
        yield f"  {step['allowed']} allowed, {taken}"
        yield from (f"    {line}" for line in step["state"])
    if len(explained["steps"]) > lines:
        yield f"  … {len(explained['steps']) - lines} more states"


def enforced_lines(enforced: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """A line for each part: its place, its standing, and how it is enforced."""
    widest = min(max((len(one["place"]) for one in enforced), default=0), PLACES_AT_MOST)
    for one in enforced:
        named = "" if one["place"].endswith(one["part"]) else f"{one['part']}: "
        yield f"{one['place']:<{widest}}  {one['standing']:<10}  {named}{one['how']}"


def _spellings(ids: list[int], vocabulary: "Vocabulary") -> Iterator[str]:
    """The spellings of ids; names for ids without one."""
    names = {number: name for name, number in vocabulary.special.items()}
    for number in ids:
        text = vocabulary.spelling(number).decode(errors="backslashreplace")
        yield repr(text) if text else names.get(number, f"<{number}>")
