"""The engines that benchmark `masks` runs side by side, behind one face.

guideway's own two are always there: the one that `guideway.compile` gives, and the plain one, which
steps through derivatives and walks the trie with numpy, and which the tests hold against the first.
Others take part where somebody has installed them; nothing of theirs is needed.
"""

import json
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, final

import numpy as np

from guideway.automaton.plain_masks import Rows
from guideway.automaton.token_tries import has
from guideway.constraint.compile import compile as compile_source
from guideway.constraint.compiled import CompiledConstraint
from guideway.constraint.lowering import lower_source
from guideway.json_schema.source import JsonSchema
from guideway.language.budget import Budget
from guideway.language.derivative import Derivatives
from guideway.language.expr import concat, literal
from guideway.language.nodes import Expr
from guideway.vocabulary.backend import Backend
from guideway.vocabulary.vocabulary import Vocabulary

Schema = Mapping[str, Any]


class Text(Protocol):
    """A text in the making."""

    def mask(self) -> object:
        """Compute the mask of the next token."""
        ...

    def step(self, token: int) -> bool:
        """Compute the mask, and take `token` if it allows it."""
        ...

    def ends(self) -> bool:
        """Whether the text may end here."""
        ...


Begin = Callable[[], Text]
"""Starts a text under a compiled schema."""
Compile = Callable[[Schema], Begin]
"""Compiles a schema, or raises."""


def engines(backend: Backend, vocabulary: Vocabulary) -> dict[str, Compile]:
    """The engines that there are here, by name.

    Args:
        backend: the tokenizer, for engines that read it themselves.
        vocabulary: the same as bytes.
    """
    found: dict[str, Compile] = {
        "guideway": lambda schema: _guideway(schema, vocabulary),
        "plain": lambda schema: _plain(schema, vocabulary),
    }
    if find_spec("llguidance"):
        found["llguidance"] = _llguidance(backend)
    if find_spec("xgrammar"):
        found["xgrammar"] = _xgrammar(vocabulary)
    return found


def opened(tokenizer: Path | None) -> tuple[Backend, Vocabulary]:
    """A tokenizer, of the built-in model if None, as its library has it and as bytes."""
    if tokenizer is None:
        from guideway.models.builtin import builtin_folder

        tokenizer = builtin_folder()
    path = tokenizer / "tokenizer.json" if tokenizer.is_dir() else tokenizer
    vocabulary = Vocabulary.from_tokenizer_json(path)
    return Backend.load(path.read_bytes(), str(path)), vocabulary


def _guideway(schema: Schema, vocabulary: Vocabulary) -> Begin:
    constraint = compile_source(JsonSchema(schema), vocabulary)
    return lambda: GuidewayText(constraint)


@final
class GuidewayText:
    """What `guideway.compile` gives."""

    def __init__(self, constraint: CompiledConstraint) -> None:
        self._constraint, self._state = constraint, constraint.start()

    def mask(self) -> object:
        """Compute the mask."""
        return self._constraint.mask(self._state)

    def step(self, token: int) -> bool:
        """Mask and advance."""
        if not has(self._constraint.mask(self._state), token):
            return False
        self._state = self._constraint.advance(self._state, token)
        return True

    def ends(self) -> bool:
        """Whether it accepts."""
        return self._constraint.accepts(self._state)


def _plain(schema: Schema, vocabulary: Vocabulary) -> Begin:
    expr = concat(literal(vocabulary.lead), lower_source(JsonSchema(schema)))
    machine = Derivatives(expr, vocabulary.spellable)
    rows = Rows(machine, vocabulary, Budget.default())
    return lambda: PlainText(expr, machine, rows)


@final
class PlainText:
    """The plain engine: a state is an expression."""

    def __init__(self, expr: Expr, machine: Derivatives, rows: Rows) -> None:
        self._state, self._machine, self._rows = expr, machine, rows

    def mask(self) -> object:
        """Compute the mask."""
        return self._rows.row(self._state)

    def step(self, token: int) -> bool:
        """Mask and advance."""
        allowed = has(self._rows.row(self._state), token)
        following = self._rows.after(self._state, token) if allowed else None
        self._state = following or self._state
        return following is not None

    def ends(self) -> bool:
        """Whether it accepts."""
        return self._machine.accepts(self._state)


def _llguidance(backend: Backend) -> Compile:
    library, fills = import_module("llguidance"), import_module("llguidance.numpy")
    tokenizer = library.LLTokenizer(backend.tokenizer.to_str())
    bitmask = fills.allocate_token_bitmask(1, tokenizer.vocab_size)

    def compiled(schema: Schema) -> Begin:
        grammar = json.dumps({"grammars": [{"json_schema": schema}]})
        matcher = library.LLMatcher(tokenizer, grammar)
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        return lambda: LlguidanceText(matcher.deep_copy(), bitmask, fills)

    return compiled


@final
class LlguidanceText:
    """llguidance's matcher."""

    def __init__(self, matcher: Any, bitmask: Any, fills: Any) -> None:
        self._matcher, self._bitmask, self._fill = matcher, bitmask, fills.fill_next_token_bitmask

    def mask(self) -> object:
        """Compute the mask."""
        return self._fill(self._matcher, self._bitmask, 0)

    def step(self, token: int) -> bool:
        """Mask and consume."""
        self._fill(self._matcher, self._bitmask, 0)
        allowed = bool(int(self._bitmask[0, token // 32]) >> token % 32 & 1)
        return allowed and bool(self._matcher.consume_token(token))

    def ends(self) -> bool:
        """Whether it accepts."""
        return bool(self._matcher.is_accepting())


def _xgrammar(vocabulary: Vocabulary) -> Compile:
    library = import_module("xgrammar")
    info = library.TokenizerInfo(
        [token or b"" for token in vocabulary.tokens],
        library.VocabType.RAW,
        vocab_size=vocabulary.width,
        stop_token_ids=sorted(vocabulary.eos_ids),
    )
    compiler = library.GrammarCompiler(info, max_threads=1)
    bitmask = np.zeros((1, -(-vocabulary.width // 32)), np.int32)

    def compiled(schema: Schema) -> Begin:
        grammar = compiler.compile_json_schema(
            json.dumps(schema), any_whitespace=True, strict_mode=False
        )
        return lambda: XgrammarText(library.GrammarMatcher(grammar), bitmask)

    return compiled


@final
class XgrammarText:
    """xgrammar's matcher."""

    def __init__(self, matcher: Any, bitmask: Any) -> None:
        self._matcher, self._bitmask = matcher, bitmask

    def mask(self) -> object:
        """Compute the mask."""
        return self._matcher.fill_next_token_bitmask(self._bitmask)

    def step(self, token: int) -> bool:
        """Mask and accept."""
        self._matcher.fill_next_token_bitmask(self._bitmask)
        return bool(self._matcher.accept_token(token))

    def ends(self) -> bool:
        """Whether it accepts."""
        return bool(self._matcher.is_completed())
