"""Guided generation for language models: the public names, sorted, and nothing else.

`import fairlead` itself loads nothing: a name is fetched from its home when it is first used, so
that constraints cost no torch, and a command's `--help` no numpy (PEP 562). The table of homes is
mirrored under `TYPE_CHECKING` for type checkers and editors; a test compares the two.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fairlead.api.describe import describe
    from fairlead.api.load import load
    from fairlead.api.model import Model
    from fairlead.api.ngram import ngram
    from fairlead.api.recipes import (
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
    from fairlead.api.result import Part, Result
    from fairlead.api.tool_calls import ToolCall
    from fairlead.api.watermark import Watermark
    from fairlead.automata.budget import Budget
    from fairlead.constraints.batch import fill_bitmask
    from fairlead.constraints.caches import CacheInfo, cache_info, clear_cache
    from fairlead.constraints.comparison import Comparison
    from fairlead.constraints.compile import compile
    from fairlead.constraints.matcher import Matcher
    from fairlead.constraints.warmup import warmup
    from fairlead.errors import (
        DeadEndError,
        FairleadError,
        LimitError,
        ModelError,
        SourceError,
        TokenRejected,
        UnsatisfiableError,
        UnsupportedError,
    )
    from fairlead.logits.bitmask import allocate_token_bitmask, apply_token_bitmask_inplace
    from fairlead.logits.classifier import Classifier
    from fairlead.logits.classifier_sources import classifier, fudge
    from fairlead.logits.lexicon import Lexicon
    from fairlead.sampling.settings import Sampling
    from fairlead.syntax.json_schema_source import JsonSchema, Whitespace
    from fairlead.syntax.lark_indenter import ItemIndenter
    from fairlead.syntax.lark_source import Lark
    from fairlead.syntax.regions import capture, regions, tag, tagged, thinking, until
    from fairlead.syntax.shipped_sources import grammar
    from fairlead.syntax.sources import Choice, Gbnf, Regex, Text, repeat, source
    from fairlead.syntax.special import special
    from fairlead.syntax.substrings import substring
    from fairlead.syntax.tools import tools
    from fairlead.vocabulary.healing import heal
    from fairlead.vocabulary.spellings import Vocabulary

__all__ = [
    "Budget",
    "CacheInfo",
    "Choice",
    "Classifier",
    "Comparison",
    "DeadEndError",
    "FairleadError",
    "Gbnf",
    "ItemIndenter",
    "JsonSchema",
    "Lark",
    "Lexicon",
    "LimitError",
    "Matcher",
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
    "fill_bitmask",
    "fudge",
    "gedi",
    "grammar",
    "heal",
    "load",
    "maximum",
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
    "until",
    "warmup",
]

HOMES: Final = {
    "Budget": "fairlead.automata.budget",
    "CacheInfo": "fairlead.constraints.caches",
    "Choice": "fairlead.syntax.sources",
    "Classifier": "fairlead.logits.classifier",
    "Comparison": "fairlead.constraints.comparison",
    "DeadEndError": "fairlead.errors",
    "FairleadError": "fairlead.errors",
    "Gbnf": "fairlead.syntax.sources",
    "ItemIndenter": "fairlead.syntax.lark_indenter",
    "JsonSchema": "fairlead.syntax.json_schema_source",
    "Lark": "fairlead.syntax.lark_source",
    "Lexicon": "fairlead.logits.lexicon",
    "LimitError": "fairlead.errors",
    "Matcher": "fairlead.constraints.matcher",
    "Model": "fairlead.api.model",
    "ModelError": "fairlead.errors",
    "Part": "fairlead.api.result",
    "Regex": "fairlead.syntax.sources",
    "Result": "fairlead.api.result",
    "Sampling": "fairlead.sampling.settings",
    "SourceError": "fairlead.errors",
    "Text": "fairlead.syntax.sources",
    "TokenRejected": "fairlead.errors",
    "ToolCall": "fairlead.api.tool_calls",
    "UnsatisfiableError": "fairlead.errors",
    "UnsupportedError": "fairlead.errors",
    "Vocabulary": "fairlead.vocabulary.spellings",
    "Watermark": "fairlead.api.watermark",
    "Whitespace": "fairlead.syntax.json_schema_source",
    "allocate_token_bitmask": "fairlead.logits.bitmask",
    "apply_token_bitmask_inplace": "fairlead.logits.bitmask",
    "cache_info": "fairlead.constraints.caches",
    "capture": "fairlead.syntax.regions",
    "cfg": "fairlead.api.recipes",
    "classifier": "fairlead.logits.classifier_sources",
    "clear_cache": "fairlead.constraints.caches",
    "compile": "fairlead.constraints.compile",
    "context_aware": "fairlead.api.recipes",
    "contrast": "fairlead.api.recipes",
    "describe": "fairlead.api.describe",
    "dexperts": "fairlead.api.recipes",
    "dola": "fairlead.api.recipes",
    "fill_bitmask": "fairlead.constraints.batch",
    "fudge": "fairlead.logits.classifier_sources",
    "gedi": "fairlead.api.recipes",
    "grammar": "fairlead.syntax.shipped_sources",
    "heal": "fairlead.vocabulary.healing",
    "load": "fairlead.api.load",
    "maximum": "fairlead.api.recipes",
    "minimum": "fairlead.api.recipes",
    "ngram": "fairlead.api.ngram",
    "proxy_tune": "fairlead.api.recipes",
    "published": "fairlead.api.recipes",
    "regions": "fairlead.syntax.regions",
    "repeat": "fairlead.syntax.sources",
    "source": "fairlead.syntax.sources",
    "special": "fairlead.syntax.special",
    "substring": "fairlead.syntax.substrings",
    "tag": "fairlead.syntax.regions",
    "tagged": "fairlead.syntax.regions",
    "thinking": "fairlead.syntax.regions",
    "tools": "fairlead.syntax.tools",
    "until": "fairlead.syntax.regions",
    "warmup": "fairlead.constraints.warmup",
}
"""Where each public name lives."""

if not TYPE_CHECKING:  # a type checker would take every misspelt name for one of these

    def __getattr__(name: str) -> object:
        """The public name `name`, fetched from its home and kept here."""
        home = HOMES.get(name)
        if home is None:
            raise AttributeError(f"module 'fairlead' has no attribute {name!r}")
        value = getattr(import_module(home), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """What `dir(fairlead)` and completion in a shell show."""
    return list(__all__)
