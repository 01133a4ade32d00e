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
    from guideway.api.heads import train_heads
    from guideway.api.lint import lint
    from guideway.api.load import load
    from guideway.api.memory import Memory, memory
    from guideway.api.model import Model
    from guideway.api.ngram import ngram
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
    from guideway.automata.budget import Budget
    from guideway.constraints.batch import fill_bitmask
    from guideway.constraints.caches import CacheInfo, cache_info, clear_cache, warmup
    from guideway.constraints.comparison import Comparison
    from guideway.constraints.compile import compile
    from guideway.constraints.matcher import Matcher
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
    from guideway.logits.bitmask import allocate_token_bitmask, apply_token_bitmask_inplace
    from guideway.logits.classifier import Classifier
    from guideway.logits.classifier_sources import Lexicon, classifier, fudge
    from guideway.sampling.settings import Sampling
    from guideway.sampling.speculation import best_gamma, expected_speedup
    from guideway.syntax.json_schema_source import JsonSchema
    from guideway.syntax.json_style import Whitespace
    from guideway.syntax.lark_indenter import ItemIndenter
    from guideway.syntax.lark_source import Lark
    from guideway.syntax.regions import (
        capture,
        regions,
        special,
        substring,
        tag,
        tagged,
        thinking,
        until,
    )
    from guideway.syntax.shipped_sources import grammar
    from guideway.syntax.sources import Choice, Gbnf, Regex, Text, repeat, source
    from guideway.syntax.tools import ToolCall, tools
    from guideway.vocabulary.healing import heal
    from guideway.vocabulary.spellings import Vocabulary

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

HOMES: Final = {
    "Budget": "guideway.automata.budget",
    "CacheInfo": "guideway.constraints.caches",
    "Choice": "guideway.syntax.sources",
    "Classifier": "guideway.logits.classifier",
    "Comparison": "guideway.constraints.comparison",
    "DeadEndError": "guideway.errors",
    "Engine": "guideway.api.engine",
    "Gbnf": "guideway.syntax.sources",
    "GenerationInterrupted": "guideway.errors",
    "GuidewayError": "guideway.errors",
    "GuidewayWarning": "guideway.errors",
    "InvalidValueError": "guideway.errors",
    "ItemIndenter": "guideway.syntax.lark_indenter",
    "JsonSchema": "guideway.syntax.json_schema_source",
    "Lark": "guideway.syntax.lark_source",
    "Lexicon": "guideway.logits.classifier_sources",
    "LimitError": "guideway.errors",
    "Matcher": "guideway.constraints.matcher",
    "Memory": "guideway.api.memory",
    "Model": "guideway.api.model",
    "ModelError": "guideway.errors",
    "Part": "guideway.api.result",
    "Regex": "guideway.syntax.sources",
    "Result": "guideway.api.result",
    "Sampling": "guideway.sampling.settings",
    "SourceError": "guideway.errors",
    "Text": "guideway.syntax.sources",
    "TokenRejected": "guideway.errors",
    "ToolCall": "guideway.syntax.tools",
    "UnsatisfiableError": "guideway.errors",
    "UnsupportedError": "guideway.errors",
    "Vocabulary": "guideway.vocabulary.spellings",
    "Watermark": "guideway.api.watermark",
    "Whitespace": "guideway.syntax.json_style",
    "allocate_token_bitmask": "guideway.logits.bitmask",
    "apply_token_bitmask_inplace": "guideway.logits.bitmask",
    "best_gamma": "guideway.sampling.speculation",
    "cache_info": "guideway.constraints.caches",
    "capture": "guideway.syntax.regions",
    "cfg": "guideway.api.recipes",
    "classifier": "guideway.logits.classifier_sources",
    "clear_cache": "guideway.constraints.caches",
    "compile": "guideway.constraints.compile",
    "context_aware": "guideway.api.recipes",
    "contrast": "guideway.api.recipes",
    "describe": "guideway.api.describe",
    "dexperts": "guideway.api.recipes",
    "dola": "guideway.api.recipes",
    "expected_speedup": "guideway.sampling.speculation",
    "fill_bitmask": "guideway.constraints.batch",
    "fudge": "guideway.logits.classifier_sources",
    "gedi": "guideway.api.recipes",
    "grammar": "guideway.syntax.shipped_sources",
    "heal": "guideway.vocabulary.healing",
    "lint": "guideway.api.lint",
    "load": "guideway.api.load",
    "maximum": "guideway.api.recipes",
    "memory": "guideway.api.memory",
    "minimum": "guideway.api.recipes",
    "ngram": "guideway.api.ngram",
    "proxy_tune": "guideway.api.recipes",
    "published": "guideway.api.recipes",
    "regions": "guideway.syntax.regions",
    "repeat": "guideway.syntax.sources",
    "source": "guideway.syntax.sources",
    "special": "guideway.syntax.regions",
    "substring": "guideway.syntax.regions",
    "tag": "guideway.syntax.regions",
    "tagged": "guideway.syntax.regions",
    "thinking": "guideway.syntax.regions",
    "tools": "guideway.syntax.tools",
    "train_heads": "guideway.api.heads",
    "until": "guideway.syntax.regions",
    "warmup": "guideway.constraints.caches",
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
