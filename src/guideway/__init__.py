"""Guided generation for language models. This module lists the public names.

`import guideway` loads no other module. A name is imported from its home at its first use
(PEP 562), so constraints work without torch, and `guideway --help` without numpy. `TYPE_CHECKING`
repeats the table of homes for type checkers and editors; a test compares the two.
"""

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from guideway.api.describe import describe
    from guideway.api.engine import Engine
    from guideway.api.linting.lint import lint
    from guideway.api.load import load, ngram, train_heads
    from guideway.api.memory import Memory, memory
    from guideway.api.model import Model
    from guideway.api.recipes import (
        cfg,
        context_aware,
        contrast,
        dexperts,
        dola,
        gedi,
        maximum,
        minimum,
        proxy_tune,
        published,
    )
    from guideway.api.result import Part, Result
    from guideway.api.watermark import Watermark
    from guideway.chat.tools import ToolCall, tools
    from guideway.constraint.batch import fill_bitmask
    from guideway.constraint.caches import CacheInfo, cache_info, clear_cache, warmup
    from guideway.constraint.comparison import Comparison
    from guideway.constraint.compile import compile
    from guideway.constraint.matcher import Matcher
    from guideway.context_free.lark.indenter import ItemIndenter
    from guideway.context_free.lark.source import Lark
    from guideway.context_free.shipped_sources import grammar
    from guideway.errors import (
        DeadEndError,
        GenerationInterrupted,
        GuidewayError,
        GuidewayWarning,
        InvalidValueError,
        LimitError,
        ModelError,
        SourceError,
        TokenRejected,
        UnsatisfiableError,
        UnsupportedError,
    )
    from guideway.json_schema.source import JsonSchema
    from guideway.language.budget import Budget
    from guideway.logits.bitmask import allocate_token_bitmask, apply_token_bitmask_inplace
    from guideway.logits.classifier import Classifier
    from guideway.logits.classifier_sources import Lexicon, classifier, fudge
    from guideway.sampling.settings import Sampling
    from guideway.sampling.speculation import best_gamma, expected_speedup
    from guideway.sources.json_style import Whitespace
    from guideway.sources.regions import (
        capture,
        regions,
        special,
        substring,
        tag,
        tagged,
        thinking,
        until,
    )
    from guideway.sources.sources import Choice, Gbnf, Regex, Text, repeat, source
    from guideway.vocabulary.healing import heal
    from guideway.vocabulary.vocabulary import Vocabulary

__version__ = "0.2.0"  # the only place: pyproject.toml reads it

__all__ = [
    "Budget",
    "CacheInfo",
    "Choice",
    "Classifier",
    "Comparison",
    "DeadEndError",
    "Engine",
    "Gbnf",
    "GenerationInterrupted",
    "GuidewayError",
    "GuidewayWarning",
    "InvalidValueError",
    "ItemIndenter",
    "JsonSchema",
    "Lark",
    "Lexicon",
    "LimitError",
    "Matcher",
    "Memory",
    "Model",
    "ModelError",
    "Part",
    "Regex",
    "Result",
    "Sampling",
    "SourceError",
    "Text",
    "TokenRejected",
    "ToolCall",
    "UnsatisfiableError",
    "UnsupportedError",
    "Vocabulary",
    "Watermark",
    "Whitespace",
    "allocate_token_bitmask",
    "apply_token_bitmask_inplace",
    "best_gamma",
    "cache_info",
    "capture",
    "cfg",
    "classifier",
    "clear_cache",
    "compile",
    "context_aware",
    "contrast",
    "describe",
    "dexperts",
    "dola",
    "expected_speedup",
    "fill_bitmask",
    "fudge",
    "gedi",
    "grammar",
    "heal",
    "lint",
    "load",
    "maximum",
    "memory",
    "minimum",
    "ngram",
    "proxy_tune",
    "published",
    "regions",
    "repeat",
    "source",
    "special",
    "substring",
    "tag",
    "tagged",
    "thinking",
    "tools",
    "train_heads",
    "until",
    "warmup",
]

_NAMES: Final = {
    "api.describe": "describe",
    "api.engine": "Engine",
    "api.linting.lint": "lint",
    "api.load": "load ngram train_heads",
    "api.memory": "Memory memory",
    "api.model": "Model",
    "api.recipes": (
        "cfg context_aware contrast dexperts dola gedi maximum minimum proxy_tune published"
    ),
    "api.result": "Part Result",
    "api.watermark": "Watermark",
    "chat.tools": "ToolCall tools",
    "constraint.batch": "fill_bitmask",
    "constraint.caches": "CacheInfo cache_info clear_cache warmup",
    "constraint.comparison": "Comparison",
    "constraint.compile": "compile",
    "constraint.matcher": "Matcher",
    "context_free.lark.indenter": "ItemIndenter",
    "context_free.lark.source": "Lark",
    "context_free.shipped_sources": "grammar",
    "errors": (
        "DeadEndError GenerationInterrupted GuidewayError GuidewayWarning InvalidValueError "
        "LimitError ModelError SourceError TokenRejected UnsatisfiableError UnsupportedError"
    ),
    "json_schema.source": "JsonSchema",
    "language.budget": "Budget",
    "logits.bitmask": "allocate_token_bitmask apply_token_bitmask_inplace",
    "logits.classifier": "Classifier",
    "logits.classifier_sources": "Lexicon classifier fudge",
    "sampling.settings": "Sampling",
    "sampling.speculation": "best_gamma expected_speedup",
    "sources.json_style": "Whitespace",
    "sources.regions": "capture regions special substring tag tagged thinking until",
    "sources.sources": "Choice Gbnf Regex Text repeat source",
    "vocabulary.healing": "heal",
    "vocabulary.vocabulary": "Vocabulary",
}
HOMES: Final = {
    name: f"guideway.{home}"
    for name, home in sorted((name, home) for home in _NAMES for name in _NAMES[home].split())
}
"""The module of each public name."""

logging.getLogger("guideway").addHandler(logging.NullHandler())

if not TYPE_CHECKING:  # otherwise type checkers accept every misspelt name

    def __getattr__(name: str) -> object:
        """Import the public name `name` from its home, and keep it here."""
        home = HOMES.get(name)
        if home is None:
            raise AttributeError(f"module 'guideway' has no attribute {name!r}")
        try:
            value = getattr(import_module(home), name)
        except ModuleNotFoundError as error:
            from guideway.extras import explained

            raise explained(error, f"guideway.{name}") from None
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """List the public names, for `dir(guideway)` and completion in a shell."""
    return list(__all__)
