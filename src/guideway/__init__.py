"""Guided generation for language models. This module lists the public names.

`import guideway` loads no other module. A name is imported from its home at its first use
(PEP 562), so constraints work without torch, and `guideway --help` without numpy. `TYPE_CHECKING`
repeats the table of homes for type checkers and editors, which read `import A as A` as public; a
test compares the two.
"""

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from guideway.api.describe import describe as describe
    from guideway.api.engine import Engine as Engine
    from guideway.api.linting.lint import lint as lint
    from guideway.api.load import load as load, ngram as ngram, train_heads as train_heads
    from guideway.api.memory import Memory as Memory, memory as memory
    from guideway.api.model import Model as Model
    from guideway.api.recipes import (
        cfg as cfg,
        context_aware as context_aware,
        contrast as contrast,
        dexperts as dexperts,
        dola as dola,
        gedi as gedi,
        maximum as maximum,
        minimum as minimum,
        proxy_tune as proxy_tune,
        published as published,
    )
    from guideway.api.running import Part as Part
    from guideway.api.watermark import Watermark as Watermark
    from guideway.chat.tools import ToolCall as ToolCall, tools as tools
    from guideway.constraint.batch import fill_bitmask as fill_bitmask
    from guideway.constraint.caches import (
        CacheInfo as CacheInfo,
        cache_info as cache_info,
        clear_cache as clear_cache,
        warmup as warmup,
    )
    from guideway.constraint.comparison import Comparison as Comparison
    from guideway.constraint.compile import compile as compile
    from guideway.constraint.matcher import Matcher as Matcher
    from guideway.context_free.lark.indenter import ItemIndenter as ItemIndenter
    from guideway.context_free.lark.source import Lark as Lark
    from guideway.context_free.shipped_sources import grammar as grammar
    from guideway.errors import (
        DeadEndError as DeadEndError,
        GenerationInterrupted as GenerationInterrupted,
        GuidewayError as GuidewayError,
        GuidewayWarning as GuidewayWarning,
        InvalidValueError as InvalidValueError,
        LimitError as LimitError,
        ModelError as ModelError,
        SourceError as SourceError,
        TokenRejected as TokenRejected,
        UnsatisfiableError as UnsatisfiableError,
        UnsupportedError as UnsupportedError,
    )
    from guideway.generation.row.result import Result as Result
    from guideway.json_schema.source import JsonSchema as JsonSchema
    from guideway.language.budget import Budget as Budget
    from guideway.logits.bitmask import (
        allocate_token_bitmask as allocate_token_bitmask,
        apply_token_bitmask_inplace as apply_token_bitmask_inplace,
    )
    from guideway.logits.classifier import Classifier as Classifier
    from guideway.logits.classifier_sources import (
        Lexicon as Lexicon,
        classifier as classifier,
        fudge as fudge,
    )
    from guideway.sampling.settings import Sampling as Sampling
    from guideway.sampling.speculation import (
        best_gamma as best_gamma,
        expected_speedup as expected_speedup,
    )
    from guideway.sources.json_style import Whitespace as Whitespace
    from guideway.sources.regions import (
        capture as capture,
        regions as regions,
        special as special,
        substring as substring,
        tag as tag,
        tagged as tagged,
        thinking as thinking,
        until as until,
    )
    from guideway.sources.sources import (
        Choice as Choice,
        Gbnf as Gbnf,
        Regex as Regex,
        Text as Text,
        repeat as repeat,
        source as source,
    )
    from guideway.vocabulary.healing import heal as heal
    from guideway.vocabulary.vocabulary import Vocabulary as Vocabulary

__version__ = "0.2.0"  # the only place: pyproject.toml reads it

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
    "api.running": "Part",
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
    "generation.row.result": "Result",
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
__all__ = list(HOMES)  # pyright: ignore[reportUnsupportedDunderAll]

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
    return [*HOMES]
