"""What a model writes under the shipped grammars, judged by somebody else where there is one."""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from benchmarks.report import Line

if TYPE_CHECKING:
    from guideway.api.model import Model
    from guideway.context_free.shipped import Shipped


def write(model: "Model", one: "Shipped", texts: int, tokens: int) -> Line:
    """What a model writes under a grammar, at temperature 0.7, with a seed for each text."""
    from guideway.cli.models import as_prompt
    from guideway.context_free.shipped_sources import grammar

    prompt = as_prompt(model, f"Write an example. {one.title}.", None)
    valid = judge(one, model)
    results = [
        model.generate(prompt, grammar(one.name), max_new_tokens=tokens, temperature=0.7, seed=seed)
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


def judge(one: "Shipped", model: "Model") -> Callable[[str], bool]:
    """Lark's own parser for a grammar in Lark, the constraint for another."""
    from benchmarks.grammar_engines import is_lark
    from guideway.constraint.compile import compile as compile_source
    from guideway.context_free.shipped_sources import grammar

    if is_lark(one):
        return lark_reads(one.name)
    return compile_source(grammar(one.name), model.vocabulary).matches


def lark_maker(name: str) -> Callable[[], Any]:
    """What makes Lark's own parser of a shipped grammar, with its Indenter where that is meant."""
    from guideway.context_free.lark.reader import read_lark
    from guideway.context_free.lark.source import Lark
    from guideway.context_free.shipped import paths
    from guideway.context_free.shipped_sources import grammar

    library: Any = import_module("lark")
    indenters: Any = import_module("guideway.context_free.lark.indenter")
    source = grammar(name)
    tree: Any = read_lark(source) if isinstance(source, Lark) else None
    # Where there are no items it does what Lark's own does.
    options: dict[str, Any] = {"postlex": indenters.ItemIndenter()} if tree.indentation else {}
    path = str(paths()[name])
    return lambda: library.Lark.open(path, parser="lalr", start=tree.start, **options)


def lark_reads(name: str) -> Callable[[str], bool]:
    """Whether Lark parses a text with a shipped grammar."""
    library: Any = import_module("lark")
    indenter: Any = import_module("lark.indenter")
    parser = lark_maker(name)()

    def reads(text: str) -> bool:
        try:
            parser.parse(text)
        except (library.UnexpectedInput, indenter.DedentError):
            return False
        return True

    return reads
