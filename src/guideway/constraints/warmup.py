"""`warmup`: build in advance what the first compilation would build."""

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

    The call takes about two seconds, once in a process: Unicode's classes, the formats of JSON
    strings, numbers, Lark's loader. Compiling and masking open no files afterwards. Without
    `warmup`, the first calls are slower, and the results are the same.

    A vocabulary that is read from a tokenizer after `warmup` builds its shared tables at once, so
    its first constraint does not wait for them.

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
        constraint = compile_source(source, vocabulary)
        constraint.mask(constraint.start())
    prepared[_prepare] = None
    gc.collect()  # no garbage is kept with it
    gc.freeze()


def _prepare(vocabulary: Vocabulary) -> None:
    """Build what all schemas of a vocabulary share: its digest, tries and plain values."""
    if not vocabulary.closed or vocabulary.spellable != ALL_BYTES:
        return  # the schema may have no text, or the search for one takes long
    constraint = compile_source(JsonSchema({"type": "object"}), vocabulary)
    constraint.mask(constraint.start())
