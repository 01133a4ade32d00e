"""The engines that benchmarks `masks`, `batches` and `grammars` run, behind one face.

guideway is always there. Others take part where somebody has installed them; nothing of theirs is
needed.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import typer

import guideway as gw
from guideway.automaton.token_tries import has
from guideway.constraint.compiled import CompiledConstraint
from guideway.vocabulary.backend import Backend

Schema = Mapping[str, Any]


class Text(Protocol):
    def mask(self) -> object: ...
    def step(self, token: int) -> bool: ...  # computes the mask, and takes a token that it allows
    def ends(self) -> bool: ...


Begin = Callable[[], Text]
"""Starts a text under a compiled source."""
Compile = Callable[[Schema], Begin]
"""Compiles a schema, or raises."""


def engines(backend: Backend, vocabulary: gw.Vocabulary) -> dict[str, Compile]:
    found: dict[str, Compile] = {
        "guideway": lambda schema: guideway(gw.JsonSchema(schema), vocabulary)
    }
    if find_spec("llguidance"):
        begin = llguidance(backend)
        found["llguidance"] = lambda schema: begin(llguidance_grammar(schema))
    if find_spec("xgrammar"):
        compiler, started = xgrammar(vocabulary)
        options = {"any_whitespace": True, "strict_mode": False}
        found["xgrammar"] = lambda schema: started(
            compiler.compile_json_schema(json.dumps(schema), **options)
        )
    return found


def opened(tokenizer: Path | None) -> tuple[Backend, gw.Vocabulary]:
    """A tokenizer, of the built-in model if None, as its library has it and as bytes."""
    if tokenizer is None:
        from guideway.models.builtin import builtin_folder

        tokenizer = builtin_folder()
    path = tokenizer / "tokenizer.json" if tokenizer.is_dir() else tokenizer
    vocabulary = gw.Vocabulary.from_tokenizer_json(path)
    return Backend.load(path.read_bytes(), str(path)), vocabulary


def tokens_of(backend: Backend, text: str) -> Sequence[int]:
    """A text as the tokenizer writes it.

    Raises:
        typer.BadParameter: it cannot.
    """
    tokens = backend.encode(text) if text else []
    if tokens is None:
        raise typer.BadParameter("this tokenizer cannot encode the texts of the benchmark")
    return tokens


def guideway(source: Any, vocabulary: gw.Vocabulary) -> Begin:
    constraint = gw.compile(source, vocabulary)
    return lambda: GuidewayText(constraint)


class GuidewayText:
    def __init__(self, constraint: CompiledConstraint) -> None:
        self._constraint, self._state = constraint, constraint.start()

    def mask(self) -> object:
        return self._constraint.mask(self._state)

    def step(self, token: int) -> bool:
        if not has(self._constraint.mask(self._state), token):
            return False
        self._state = self._constraint.advance(self._state, token)
        return True

    def ends(self) -> bool:
        return self._constraint.accepts(self._state)


def llguidance_grammar(schema: Schema) -> str:
    return json.dumps({"grammars": [{"json_schema": schema}]})


def llguidance(backend: Backend) -> Callable[[str], Begin]:
    """llguidance, given a grammar in its words."""
    library, fills = import_module("llguidance"), import_module("llguidance.numpy")
    tokenizer = library.LLTokenizer(backend.tokenizer.to_str())
    bitmask = fills.allocate_token_bitmask(1, tokenizer.vocab_size)

    def compiled(grammar: str) -> Begin:
        matcher = library.LLMatcher(tokenizer, grammar)
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        return lambda: LlguidanceText(matcher.deep_copy(), bitmask, fills)

    return compiled


class LlguidanceText:
    def __init__(self, matcher: Any, bitmask: Any, fills: Any) -> None:
        self._matcher, self._bitmask, self._fill = matcher, bitmask, fills.fill_next_token_bitmask

    def mask(self) -> object:
        return self._fill(self._matcher, self._bitmask, 0)

    def step(self, token: int) -> bool:
        self._fill(self._matcher, self._bitmask, 0)
        allowed = bool(int(self._bitmask[0, token // 32]) >> token % 32 & 1)
        return allowed and bool(self._matcher.consume_token(token))

    def ends(self) -> bool:
        return bool(self._matcher.is_accepting())


def xgrammar(vocabulary: gw.Vocabulary) -> tuple[Any, Callable[[Any], Begin]]:
    """xgrammar's compiler, and what starts texts under a grammar that it compiled."""
    library = import_module("xgrammar")
    info = library.TokenizerInfo(
        [token or b"" for token in vocabulary.tokens],
        library.VocabType.RAW,
        vocab_size=vocabulary.width,
        stop_token_ids=sorted(vocabulary.eos_ids),
    )
    bitmask = np.zeros((1, -(-vocabulary.width // 32)), np.int32)

    def started(grammar: Any) -> Begin:
        return lambda: XgrammarText(library.GrammarMatcher(grammar), bitmask)

    return library.GrammarCompiler(info, max_threads=1), started


class XgrammarText:
    def __init__(self, matcher: Any, bitmask: Any) -> None:
        self._matcher, self._bitmask = matcher, bitmask

    def mask(self) -> object:
        return self._matcher.fill_next_token_bitmask(self._bitmask)

    def step(self, token: int) -> bool:
        self._matcher.fill_next_token_bitmask(self._bitmask)
        return bool(self._matcher.accept_token(token))

    def ends(self) -> bool:
        return bool(self._matcher.is_completed())
