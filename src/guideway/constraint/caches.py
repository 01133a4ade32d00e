"""Caches of compilation, and their warm-up."""

import gc
import json
from dataclasses import astuple, dataclass
from typing import Any, Final, Protocol, runtime_checkable
from weakref import WeakSet

import numpy as np

from guideway.automaton.token_tries import total, tracked
from guideway.constraint.compile import compile as compile_source
from guideway.constraint.compile import remembered
from guideway.context_free.lark.source import Lark
from guideway.json_schema.formats import FORMATS
from guideway.json_schema.source import JsonSchema
from guideway.language.expr import ALL_BYTES
from guideway.sources.sources import Gbnf, Regex, Source
from guideway.vocabulary.vocabulary import Vocabulary, prepared


@dataclass(frozen=True, slots=True)
class PrefixInfo:
    """The prefix cache: texts that models do not read again.

    Attributes:
        texts: number of texts that are kept.
        bytes: their memory.
        most_bytes: memory above which the least recently used text is dropped.
        hits: prompts that begin like a kept text.
        misses: other prompts.
        tokens: tokens that were not read again.
    """

    texts: int = 0
    bytes: int = 0
    most_bytes: int = 0
    hits: int = 0
    misses: int = 0
    tokens: int = 0


@runtime_checkable  # the tests check annotations
class Clearable(Protocol):
    """A cache that comes with models."""

    def clear(self) -> None:
        """Forget everything."""
        ...


@runtime_checkable
class Prefixes(Clearable, Protocol):
    """A cache of prefixes."""

    def info(self) -> PrefixInfo:
        """Return the counts."""
        ...


_clearable: Final = WeakSet[Clearable]()


def clear_too(cache: Clearable) -> None:
    """Let `clear_cache` clear it, and `cache_info` count it if it has prefixes."""
    _clearable.add(cache)


def _prefix_info() -> PrefixInfo:
    infos = [astuple(each.info()) for each in [*_clearable] if isinstance(each, Prefixes)]
    return PrefixInfo(*map(sum, zip(*infos, strict=True)))


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """The contents of guideway's caches in this process.

    Attributes:
        constraints: number of constraints that `compile` keeps.
        most_constraints: their greatest number.
        constraint_bytes: their memory.
        most_constraint_bytes: memory above which the least recently used one is dropped.
        compile_hits: number of `compile` calls that found their constraint.
        compile_misses: number of `compile` calls that built one.
        caches: constraints in use, kept or not, and the caches that they share.
        rows: number of masks in them.
        row_bytes: memory of the masks.
        states: number of states whose transitions are kept.
        state_bytes: memory of the transitions.
        row_hits: number of masks that were found.
        row_misses: number of masks that were computed.
        prefixes: what models have read.
    """

    constraints: int
    most_constraints: int
    constraint_bytes: int
    most_constraint_bytes: int
    compile_hits: int
    compile_misses: int
    caches: int
    rows: int
    row_bytes: int
    states: int
    state_bytes: int
    row_hits: int
    row_misses: int
    prefixes: PrefixInfo = PrefixInfo()

    @property
    def bytes(self) -> int:
        """Memory of all rows and transitions."""
        return self.row_bytes + self.state_bytes


def cache_info() -> CacheInfo:
    """Return what guideway keeps in memory in this process.

    Example:
        >>> import guideway as gw
        >>> vocabulary = gw.Vocabulary([b"a", b"b"])
        >>> constraint = gw.compile(gw.Choice(["a"]), vocabulary)
        >>> before = gw.cache_info().row_misses
        >>> row = constraint.mask(constraint.start())
        >>> gw.cache_info().row_misses - before
        1
    """
    caches = tracked()
    held = total(cache.held() for cache in caches)
    return CacheInfo(
        constraints=len(remembered),
        most_constraints=remembered.most,
        constraint_bytes=remembered.bytes(),
        most_constraint_bytes=remembered.most_bytes,
        compile_hits=remembered.hits,
        compile_misses=remembered.misses,
        caches=len(caches),
        rows=held.rows,
        row_bytes=held.row_bytes,
        states=held.states,
        state_bytes=held.state_bytes,
        row_hits=held.hits,
        row_misses=held.misses,
        prefixes=_prefix_info(),
    )


def clear_cache() -> None:
    """Free the memory of compiled constraints, masks, transitions, prefixes and captured steps.

    Constraints in use still work, and build again what they need.

    Example:
        >>> import guideway as gw
        >>> gw.clear_cache()
        >>> gw.cache_info().constraints
        0
    """
    remembered.clear()
    for each in [*_clearable]:
        each.clear()
    for cache in tracked():
        cache.forget()


FORMS: Final[tuple[dict[str, Any], ...]] = ({}, {"key_order": "declared", "spelling": "plain"})
GRAMMAR: Final = r"""
start: /\w+/ ("," start)?
%ignore " "
"""


def warmup() -> None:
    """Load the front ends, and build the tables that every source shares.

    The call takes about two seconds, once in a process: Unicode's classes, the formats of JSON
    strings, numbers, Lark's loader. Compiling and masking open no files afterwards. Without
    `warmup`, the first calls are slower, and the results are the same.

    A vocabulary that is read from a tokenizer after `warmup` builds at once what schemas share: its
    tries, and the masks of usual strings, numbers and formats. The first constraints do not wait
    for them. It takes 0.13 s longer for Llama 3.

    `warmup` excludes all loaded objects from garbage collection (`gc.freeze`), because full
    collections while compiling otherwise take twice as long (with torch and transformers loaded).
    `gc.unfreeze()` undoes this.

    Example:
        >>> import guideway
        >>> guideway.warmup()
    """
    schemas: list[dict[str, Any]] = [{"type": "string", "format": name} for name in FORMATS]
    schemas.append({"type": "string", "pattern": r"^\s\S\d\w.\p{L}$"})
    schemas.append({"type": ["number", "array", "boolean", "null", "object"]})
    sources: list[Source] = [JsonSchema(schema, **form) for schema in schemas for form in FORMS]
    vocabulary = Vocabulary([bytes((byte,)) for byte in range(256)])
    sources += [Regex(r"\w\d\s.(?i:k)"), Gbnf('root ::= "a"'), Lark(GRAMMAR)]
    for source in sources:
        _begin(source, vocabulary)
    remembered.forget(vocabulary)
    np.unique(np.zeros(1))  # imports numpy.ma
    prepared[_prepare] = None
    gc.collect()  # frozen garbage would keep the lexer DFA for ever
    gc.freeze()


# Parts of schemas that are common, each with a text: lengths, bounds, formats.
USUAL: Final[tuple[tuple[dict[str, Any], Any], ...]] = (
    ({"type": "object"}, {"a": "b"}),
    ({"type": "string", "maxLength": 40}, "lamp, brass"),
    ({"type": "array", "items": {"type": "string"}, "maxItems": 4}, ["a", "b"]),
    ({"type": "integer", "minimum": 0, "maximum": 150}, 105),
    ({"type": "number", "exclusiveMinimum": 0}, 49.9),
    ({"type": "string", "format": "date-time"}, "2024-02-29T19:30:00Z"),
    ({"type": "string", "format": "date"}, "2024-02-29"),
    ({"type": "string", "format": "uuid"}, "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"),
    ({"type": "string", "format": "uri"}, "https://example.org/a?b=c"),
    ({"type": "string", "format": "email"}, "ada.bo@example.org"),
    ({"type": "string", "format": "ipv4"}, "192.0.2.17"),
    ({"type": "string", "format": "hostname"}, "tides.example.org"),
)


def _prepare(vocabulary: Vocabulary) -> None:
    """Build what many schemas of a vocabulary share: its digest, tries, masks of usual parts."""
    if not vocabulary.closed or vocabulary.spellable != ALL_BYTES:
        return  # the schema may have no text, or the search for one takes long
    schemas, values = zip(*USUAL, strict=True)
    constraint = compile_source(JsonSchema({"type": "array", "prefixItems": schemas}), vocabulary)
    bytes_ = {known: token for token, known in enumerate(vocabulary.tokens) if known is not None}
    state = constraint.start(lead=b"")
    for byte in json.dumps(values).encode():
        constraint.mask(state)
        state = constraint.advance(state, bytes_[bytes((byte,))])


def _begin(source: Source, vocabulary: Vocabulary) -> None:
    constraint = compile_source(source, vocabulary)
    constraint.mask(constraint.start())
