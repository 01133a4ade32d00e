"""Values that are no source, or texts that look like another source, and what to write instead."""

import dataclasses
import json
import re
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from typing import Final, cast

from guideway.errors import brief, warn

_LONGEST: Final = 2_000  # characters; longer texts are not checked
_KEYWORDS: Final = frozenset(  # one of these in almost every schema
    (
        *("$schema", "$ref", "type", "properties", "required", "items", "enum", "const"),
        *("anyOf", "oneOf", "allOf", "not"),
    )
)
_PATTERN: Final = re.compile(
    r"""
      \\[dDsSwWbB]                          # \d
    | \[\^? [^]\[\\]? -[^]\[\\]             # [a-z, [0-9
    | \[ [^]\[]+ \] [*+?{]                  # [abc]+
    | [\])] \{ [0-9]+ ,? [0-9]* \}          # ){3}
    | \( \? (?: [:=!<] | P< | [aimsux]+ )   # (?:
    | \. [*+]                               # .*
    | \( [^()|]+ (?: \| [^()|]+ )+ \)       # (yes|no)
    | \A \w+ (?: \| \w+ )+ \Z               # yes|no
    | \A \^ .* \$ \Z
    """,
    re.VERBOSE | re.DOTALL,
)


def instead(value: object) -> str:  # noqa: PLR0911  an arm for each
    """Advice for a value that is no source; "" for a possible type.

    >>> instead(["yes", "no"])
    "for one of several texts write guideway.Choice(['yes', 'no'])"
    """
    match value:
        case None:
            return "guideway.Text() is any text"
        case bytes():
            return "a text is a str: decode it"
        case bool() | int() | float():
            shown = brief(cast("object", value))
            return f"for exactly this text write '{shown}', for a value typing.Literal[{shown}]"
        case dict():
            return "wrap a schema as guideway.JsonSchema(...)"
        case list() | tuple() | set() | frozenset():
            return _about_list(list(cast("list[object]", value)))
        case Enum():
            return f"for this value write typing.Literal[{value}]"
        case type():
            return ""
        case _:
            return _about_object(value)


def _about_list(items: list[object]) -> str:
    if items and all(isinstance(item, str) for item in items):
        return f"for one of several texts write guideway.Choice({brief(items)})"
    return (
        "for alternatives combine sources, as in guideway.source(int) | guideway.Choice([...]); a "
        "list of sources goes with a list of prompts"
    )


def _about_object(value: object) -> str:
    name = type(value).__name__
    if has(value, "advance", "mask", "start"):
        return "pass the source of this compiled constraint"
    if is_tokenizer(value):
        return "a tokenizer is none: guideway.compile(source, vocabulary) has the source first"
    if has(value, "eos_ids", "tokens"):
        return "a vocabulary is none: guideway.compile(source, vocabulary) has the source first"
    if has(value, "generate"):
        return "a model is none: call model.generate(prompt, source)"
    if hasattr(type(value), "__pydantic_validator__") or dataclasses.is_dataclass(value):
        return f"it is an instance; pass the type: {name}"
    return ""


def has(value: object, *names: str) -> bool:
    """Return True if an object, not a type, has all of these attributes."""
    return not isinstance(value, type) and all(hasattr(value, name) for name in names)


def is_tokenizer(value: object) -> bool:
    """Return True for a tokenizer of transformers or tokenizers."""
    return has(value, "encode", "decode", "get_vocab")


def vocabulary_of(value: object) -> str:
    """Code that makes a vocabulary of a value, or ""."""
    if has(value, "vocabulary"):
        return "; write model.vocabulary"
    if has(value, "to_str", "encode"):  # of tokenizers
        return "; write guideway.Vocabulary.from_tokenizer_json(tokenizer.to_str().encode())"
    if is_tokenizer(value):
        return "; write guideway.Vocabulary.from_transformers(tokenizer)"
    if has(value, "__fspath__") or isinstance(value, str):
        return "; write guideway.Vocabulary.from_tokenizer_json(path)"
    return ""


def check_literal(text: str) -> None:
    """Warn of a text that looks like something else than a literal."""
    if len(text) > _LONGEST:
        return
    name = next((name for name, looks in _LOOKS if looks(text)), None)
    if name is not None:
        given = brief(text)
        warn(
            f"a str is a literal text, and {given} looks like something else: write "
            f"guideway.{name}({given}), or guideway.Choice([{given}]) for the literal text"
        )


def _is_pattern(text: str) -> bool:
    if _PATTERN.search(text) is None:
        return False
    with suppress(re.error, RecursionError, OverflowError):
        re.compile(text)
        return True
    return False


def _is_schema(text: str) -> bool:
    if not text.lstrip().startswith("{"):
        return False
    with suppress(ValueError, RecursionError):
        value = json.loads(text)
        return isinstance(value, dict) and not _KEYWORDS.isdisjoint(
            cast("dict[str, object]", value)
        )
    return False


_LOOKS: Final[tuple[tuple[str, Callable[[str], object]], ...]] = (
    ("JsonSchema", _is_schema),
    ("Gbnf", re.compile(r"^root\s*::=", re.MULTILINE).search),
    ("Lark", re.compile(r"^\??start\s*:", re.MULTILINE).search),
    ("Regex", _is_pattern),
)
