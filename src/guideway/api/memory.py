"""`memory`: bytes that a model needs, before it is loaded or for another batch and context."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

import torch

from guideway.api.model import Model
from guideway.errors import SourceError, UnsupportedError, brief
from guideway.generation.ensemble.ensemble import Ensemble
from guideway.models.footprint import config_of, skeleton, traced
from guideway.models.load import precision_of
from guideway.models.packed import parts_of
from guideway.sources.names import did_you_mean
from guideway.sources.sources import check_count

NEEDED: Final = ("layers", "heads", "head_dim", "parameters")
KEYS: Final = (*NEEDED, "kv_heads", "hidden", "intermediate", "vocabulary", "window", "windowed")
UNITS: Final = {"TB": 10**12, "GB": 10**9, "MB": 10**6, "kB": 10**3}


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory to generate, in bytes; `str` shows how each number is made.

    Attributes:
        parameters: the weights.
        kv_cache: keys and values of all tokens.
        activations: the most that a forward needs besides, when it reads all tokens at once.
        batch: rows.
        context: tokens of a row, prompt and text together.
        formulas: the formulas of these three numbers.
    """

    parameters: int
    kv_cache: int
    activations: int
    batch: int
    context: int
    formulas: tuple[str, str, str]

    @property
    def total(self) -> int:
        return self.parameters + self.kv_cache + self.activations

    def __str__(self) -> str:
        """A line for each number, with its formula."""
        rows = "1 row" if self.batch == 1 else f"{self.batch} rows"
        lines = zip(
            ("parameters", "KV cache", "activations", "total"),
            (self.parameters, self.kv_cache, self.activations, self.total),
            (*self.formulas, f"{rows} of {self.context:,} tokens"),
            strict=True,
        )
        return "\n".join(f"{name:12}{as_size(size):>9}  {formula}" for name, size, formula in lines)


Need: TypeAlias = tuple[int, str]
"""A number of bytes, and how it is made."""
Plan: TypeAlias = Callable[[int, int], tuple[Need, Need, Need]]
"""From a batch and a context to the parameters, the cache and the activations."""


def memory(
    source: "Model | str | Path | Mapping[str, Any] | Any",
    *,
    batch: int = 1,
    context: int | None = None,
    dtype: "str | torch.dtype | None" = None,
) -> Memory:
    """Compute the memory that a model needs to generate.

    No weights are read. The parameters are those of the model built from its configuration on
    torch's meta device; cache and activations are measured there, with a forward that reads
    `context` tokens at once. Dicts of sizes are computed with the formulas of a decoder.

    Example:
        >>> sizes = {"layers": 12, "heads": 12, "head_dim": 64, "parameters": 108_369_656}
        >>> need = memory(sizes, context=4096, dtype="float16")
        >>> need.parameters, need.kv_cache == 144 * 2**20
        (216739312, True)
        >>> print(need)
        parameters    216.7 MB  108,369,656 × 2 bytes
        KV cache      151.0 MB  2 × 12 layers × 12 heads × 64 × 4,096 tokens × 2 bytes
        activations   100.7 MB  4,096 tokens × (3 × 3,072 + 4 × 768) × 2 bytes
        total         468.4 MB  1 row of 4,096 tokens

    Args:
        source: a `Model` (or an expression of several), a transformers model or configuration,
            whatever `guideway.load` takes as a name, or a dict: the content of a config.json, or
            sizes: "layers", "heads", "head_dim", "parameters", and optionally "kv_heads" (grouped
            queries), "hidden", "intermediate", "vocabulary", "window" (tokens that a layer keeps)
            and "windowed" (the number of layers that have the window; default: all).
        batch: the number of rows.
        context: the tokens of a row. Default: the greatest number that the model was made for.
        dtype: type of weights, cache and activations. Default: that of the model or of its
            configuration, else float32.

    Raises:
        ModelError: there is no such model, or its configuration is broken.
        UnsupportedError: the model does not generate, or its forward needs the weights' values.
        SourceError: an argument or a size is out of range.
    """
    plan, longest = planned(source, dtype)
    return needed(plan, batch, longest if context is None else context)


def needed(plan: Plan, batch: int, context: int | None) -> Memory:
    """The memory of a plan for a batch and a context."""
    check_count("batch", batch, 1)
    check_count("context", context, 1)
    length = cast("int", context)
    (weights, first), (cache, second), (rest, third) = plan(batch, length)
    return Memory(weights, cache, rest, batch, length, (first, second, third))


def planned(source: Any, dtype: "str | torch.dtype | None" = None) -> tuple[Plan, int | None]:
    """The plan of a source, and the longest context of the model if it is known."""
    given = precision_of(dtype)
    kind = given if isinstance(given, torch.dtype) else None
    if isinstance(source, Mapping) and "model_type" not in source:
        sizes = cast("Mapping[str, Any]", source)
        return _of_sizes(sizes, kind or torch.float32), None
    if isinstance(source, Model):
        return _of_expression(source, kind)
    if isinstance(source, str | Path | Mapping):
        source = config_of(cast("Any", source))
    module = source if callable(getattr(source, "can_generate", None)) else None
    config = source if module is None else module.config
    if not hasattr(config, "model_type"):
        raise SourceError(
            "memory is that of a model, of a configuration of transformers, of a name or of a "
            f"dict, not of {brief(source)}"
        )
    return _of_config(config, module, kind)


def _of_expression(model: Model, dtype: "torch.dtype | None") -> tuple[Plan, int | None]:
    """Models of an expression: each has a row for each of its prompts, and runs after the last."""
    rows = Counter(context.model for context in Ensemble(model.whole).contexts)
    parts: list[tuple[Plan, int | None, int]] = []
    for each, count in rows.items():
        module = getattr(each, "module", None)
        if module is None:
            name = type(each).__name__
            raise UnsupportedError(f"the memory of a {name} is not known", feature=name)
        parts.append((*_of_config(module.config, module, dtype), count))
    longest = min((context for _, context, _ in parts if context), default=None)

    def plan(batch: int, context: int) -> tuple[Need, Need, Need]:
        needs = [part(batch * count, context) for part, _, count in parts]
        weights, caches, activations = zip(*needs, strict=True)
        return _summed(weights), _summed(caches), max(activations, key=itemgetter(0))

    return plan, longest


def _of_config(config: Any, module: Any, dtype: "torch.dtype | None") -> tuple[Plan, int | None]:
    """A configuration, with the module itself if it is loaded."""
    stored = getattr(config, "dtype", None) if module is None else module.dtype
    used = dtype or (stored if isinstance(stored, torch.dtype) else torch.float32)
    empty = skeleton(config, used, None if module is None else cast("type[Any]", type(module)))
    weights = empty if dtype or module is None else module
    counts = Counter[int]()
    for each in weights.parameters():
        for part in parts_of(each):
            counts[part.element_size()] += part.numel()
    parameters = _summed(
        (size * count, f"{count:,} × {bytes_of(size)}") for size, count in counts.items()
    )

    def plan(batch: int, context: int) -> tuple[Need, Need, Need]:
        found = traced(empty, batch, context)
        cache, formula = _summed(
            (
                prod(shape) * size * n,
                f"{n} × ({' × '.join(f'{side:,}' for side in shape)}) × {bytes_of(size)}",
            )
            for (shape, size), n in found.cache.items()
        )
        rest = found.peak - cache
        at_peak = _at_peak(found.live, batch, context, rest)
        return parameters, (cache, formula or "none"), (rest, at_peak)

    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    longest = getattr(text, "max_position_embeddings", None)
    return plan, longest if isinstance(longest, int) and longest > 0 else None


def _summed(needs: Iterable[Need]) -> Need:
    listed = [*needs]
    return sum(size for size, _ in listed), " + ".join(formula for _, formula in listed)


def _at_peak(live: Mapping[tuple[int, int], int], batch: int, context: int, total: int) -> str:
    """The large tensors at the peak, as products of tokens or rows; then the size of the others."""
    groups: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for (count, size), n in live.items():
        unit = batch * context if count % (batch * context) == 0 else batch
        if count % unit == 0 and n * count * size * 50 > total:  # 2 % or more
            groups.setdefault((unit, size), []).append((n, count // unit))
    terms = list[str]()
    for (unit, size), widths in groups.items():
        widths.sort(key=lambda each: -each[0] * each[1])
        inner = " + ".join(f"{n} × {width:,}" for n, width in widths)
        word = "tokens" if unit > batch else "rows"
        terms.append(f"{unit:,} {word} × ({inner}) × {bytes_of(size)}")
        total -= unit * size * sum(n * width for n, width in widths)
    if total < 0:  # the last layer's part of the cache did not exist yet
        return f"{' + '.join(terms)} - {as_size(-total)}"
    return " + ".join([*terms, as_size(total)] if total or not terms else terms)


def _of_sizes(sizes: Mapping[str, Any], dtype: "torch.dtype") -> Plan:
    """Formulas of a decoder with these sizes."""
    for name, value in sizes.items():
        if name not in KEYS:
            raise SourceError(
                f"{brief(name)} is not a size of a model: sizes are {', '.join(KEYS)}"
                f"{did_you_mean(name, KEYS)}"
            )
        if type(value) is not int or value < (name not in {"vocabulary", "windowed"}):
            raise SourceError(f"{name} must be a whole number above 0, got {brief(value)}")
    if missing := [name for name in NEEDED if name not in sizes]:
        raise SourceError(f"the sizes of a model need {', '.join(missing)}")
    layers, heads, width, parameters = (sizes[name] for name in NEEDED)
    keyed = sizes.get("kv_heads", heads)
    hidden = sizes.get("hidden", heads * width)
    inner = sizes.get("intermediate", 4 * hidden)
    vocabulary = sizes.get("vocabulary", 0)
    windowed = min(sizes.get("windowed", layers), layers) if "window" in sizes else 0
    each = bytes_of(dtype.itemsize)

    def plan(batch: int, context: int) -> tuple[Need, Need, Need]:
        rows, tokens = "" if batch == 1 else f"{batch} rows × ", batch * context
        kinds = (layers - windowed, context), (windowed, min(context, sizes.get("window", context)))
        cache = _summed(
            (
                batch * 2 * count * keyed * width * kept * dtype.itemsize,
                f"{rows}2 × {count} layers × {keyed} heads × {width} × {kept:,} tokens × {each}",
            )
            for count, kept in kinds
            if count
        )
        size = tokens * (3 * inner + 4 * hidden) * dtype.itemsize
        rest = [(size, f"{tokens:,} tokens × (3 × {inner:,} + 4 × {hidden:,}) × {each}")]
        if vocabulary:
            rest.append((batch * vocabulary * 4, f"{batch} × {vocabulary:,} × 4 bytes"))
        weights = parameters * dtype.itemsize, f"{parameters:,} × {each}"
        return weights, cache, _summed(rest)

    return plan


def fitting(plan: Plan, card: int, longest: int) -> Iterator[tuple[int, int]]:
    """For each batch the longest context that fits into `card` bytes, in powers of two.

    Batches go up to 256, contexts from 128 to `longest`.
    """
    batch, context = 1, 2 ** (longest.bit_length() - 1)
    while batch <= 256 and context >= 128:
        if sum(size for size, _ in plan(batch, context)) <= card:
            yield batch, context
            batch *= 2
        else:
            context //= 2


def bytes_of(size: int) -> str:
    return "1 byte" if size == 1 else f"{size} bytes"


def as_size(size: int) -> str:
    """A number of bytes with its unit, in powers of 1,000.

    >>> as_size(216_739_312), as_size(12)
    ('216.7 MB', '12 B')
    """
    for unit, least in UNITS.items():
        if size >= least:
            return f"{size / least:.1f} {unit}"
    return f"{size} B"
