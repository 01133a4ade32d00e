"""The engines that benchmark `grammars` asks, behind the face of those of `masks`."""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.mask_engines import Begin, GuidewayText, LlguidanceText, XgrammarText
from guideway.constraint.compile import compile as compile_source
from guideway.context_free.shipped import paths
from guideway.context_free.shipped_sources import as_source
from guideway.vocabulary.backend import Backend
from guideway.vocabulary.vocabulary import Vocabulary

if TYPE_CHECKING:
    from guideway.context_free.shipped import Shipped

Take = Callable[["Shipped", str], Begin]
"""Compiles a shipped grammar, given its text, or raises."""


def grammar_engines(backend: Backend, vocabulary: Vocabulary) -> dict[str, Take]:
    """The engines that there are here, by name."""
    found: dict[str, Take] = {"guideway": _guideway(vocabulary)}
    if find_spec("llguidance"):
        found["llguidance"] = _llguidance(backend)
    if find_spec("xgrammar"):
        found["xgrammar"] = _xgrammar(vocabulary)
    return found


@contextmanager
def reading_apart() -> Generator[list[float]]:
    """The seconds that guideway takes within to read texts to trees: they are timed where it does.

    The difference of two times would be as uncertain as the greater of them: of python.lark the
    reading is five times what comes behind it. What looks in a text for imports and for what is no
    Lark reads it too: 2.6 ms of python.lark, .06 of json.lark.
    """
    spent, where = list[float](), import_module("guideway.constraint.lowering")
    places = {"read_lark": where, "parse_gbnf": where, "as_source": import_module(__name__)}
    readers: dict[str, Callable[..., object]] = {
        name: getattr(place, name) for name, place in places.items()
    }

    def timed(reader: Callable[..., object]) -> Callable[..., object]:
        def read(*told: object) -> object:
            begun = time.process_time()
            try:
                return reader(*told)
            finally:
                spent.append(time.process_time() - begun)

        return read

    for name, reader in readers.items():
        setattr(places[name], name, timed(reader))
    try:
        yield spent
    finally:
        for name, reader in readers.items():
            setattr(places[name], name, reader)


def _guideway(vocabulary: Vocabulary) -> Take:
    def taken(one: "Shipped", text: str) -> Begin:
        constraint = compile_source(as_source(one.name, text), vocabulary)
        return lambda: GuidewayText(constraint)

    return taken


def _llguidance(backend: Backend) -> Take:
    library, fills = import_module("llguidance"), import_module("llguidance.numpy")
    convert = import_module("llguidance.gbnf_to_lark").gbnf_to_lark
    tokenizer = library.LLTokenizer(backend.tokenizer.to_str())
    bitmask = fills.allocate_token_bitmask(1, tokenizer.vocab_size)

    def taken(one: "Shipped", text: str) -> Begin:
        read = text if paths()[one.name].suffix == ".lark" else convert(text)
        matcher = library.LLMatcher(tokenizer, library.grammar_from("lark", read))
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        return lambda: LlguidanceText(matcher.deep_copy(), bitmask, fills)

    return taken


def _xgrammar(vocabulary: Vocabulary) -> Take:
    library = import_module("xgrammar")
    info = library.TokenizerInfo(
        [token or b"" for token in vocabulary.tokens],
        library.VocabType.RAW,
        vocab_size=vocabulary.width,
        stop_token_ids=sorted(vocabulary.eos_ids),
    )
    compiler = library.GrammarCompiler(info, max_threads=1)
    bitmask = np.zeros((1, -(-vocabulary.width // 32)), np.int32)

    def taken(one: "Shipped", text: str) -> Begin:
        if paths()[one.name].suffix == ".lark":
            raise ValueError("it has no reader of Lark grammars")
        grammar = compiler.compile_grammar(library.Grammar.from_ebnf(text))
        return lambda: XgrammarText(library.GrammarMatcher(grammar), bitmask)

    return taken
