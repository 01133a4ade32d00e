"""What the first compilation would otherwise build on the way: done now."""

import gc
from typing import Any, Final

from guideway.constraints.compile import compile as compile_source
from guideway.lowering.expr import ALL_BYTES
from guideway.syntax.json_schema_source import JsonSchema
from guideway.syntax.json_schema_values import FORMATS
from guideway.syntax.lark_source import Lark
from guideway.syntax.sources import Gbnf, Regex, Source
from guideway.vocabulary.spellings import Vocabulary, prepared

FORMS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"key_order": "declared", "spelling": "plain"},
)
GRAMMAR: Final = r"""
start: /\w+/ ("," start)?
%ignore " "
"""


def warmup() -> None:
    """Load the front ends, and build the tables that every source shares.

    Unicode's classes, the formats of JSON strings, numbers, Lark's loader: two seconds, once in a
    process. After it compiling and masking open no files; without it only the first call differs.

    Vocabularies that are read from a tokenizer afterwards have what their masks share made at once:
    their first constraint took 25 ms, most of it for that.

    What is loaded by then (modules, tables) stays for good, so Python's collector is told not to
    look through it again (`gc.freeze`): with torch and transformers that is 215,000 objects, half
    of the time of every full collection while constraints are made. `gc.unfreeze()` takes it back.

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
        constraint = compile_source(source, vocabulary)
        constraint.mask(constraint.start())
    prepared[_prepare] = None
    gc.collect()  # no garbage is kept with it
    gc.freeze()


def _prepare(vocabulary: Vocabulary) -> None:
    """Make what all schemas share with a vocabulary: its digest, tries and plain values."""
    if not vocabulary.closed or vocabulary.spellable != ALL_BYTES:
        return  # not each schema has a text, and finding one may take long
    constraint = compile_source(JsonSchema({"type": "object"}), vocabulary)
    constraint.mask(constraint.start())
