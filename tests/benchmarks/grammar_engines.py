"""The engines that benchmark `grammars` asks, behind the face of those of `masks`."""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from benchmarks.mask_engines import Begin, guideway, llguidance, xgrammar
from guideway.context_free.shipped import paths
from guideway.context_free.shipped_sources import as_source
from guideway.vocabulary.backend import Backend
from guideway.vocabulary.vocabulary import Vocabulary

if TYPE_CHECKING:
    from guideway.context_free.shipped import Shipped

Take = Callable[["Shipped", str], Begin]
"""Compiles a shipped grammar, given its text, or raises."""


def is_lark(one: "Shipped") -> bool:
    """Whether a grammar is one of Lark's notation."""
    return paths()[one.name].suffix == ".lark"


def grammar_engines(backend: Backend, vocabulary: Vocabulary) -> dict[str, Take]:
    """The engines that there are here, by name."""
    found: dict[str, Take] = {
        "guideway": lambda one, text: guideway(as_source(one.name, text), vocabulary)
    }
    if find_spec("llguidance"):
        library, begin = import_module("llguidance"), llguidance(backend)
        convert = import_module("llguidance.gbnf_to_lark").gbnf_to_lark
        found["llguidance"] = lambda one, text: begin(
            library.grammar_from("lark", text if is_lark(one) else convert(text))
        )
    if find_spec("xgrammar"):
        found["xgrammar"] = _xgrammar(vocabulary)
    return found


def _xgrammar(vocabulary: Vocabulary) -> Take:
    library, (compiler, started) = import_module("xgrammar"), xgrammar(vocabulary)

    def taken(one: "Shipped", text: str) -> Begin:
        if is_lark(one):
            raise ValueError("it has no reader of Lark grammars")
        return started(compiler.compile_grammar(library.Grammar.from_ebnf(text)))

    return taken


@contextmanager
def reading_apart() -> Generator[list[float]]:
    """The seconds that guideway takes within to read texts to trees: they are timed where it does.

    The difference of two times would be as uncertain as the greater of them: of python.lark the
    reading is five times what comes behind it.
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
