"""Operators of models: nodes in, nodes out, arguments checked."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from torch import Tensor

from guideway.errors import SourceError, UnsupportedError
from guideway.generation.ensemble.ensemble import reading
from guideway.generation.ensemble.views import LastToken, Rewritten, System, View
from guideway.logits.classifier import ClassifierTerm
from guideway.logits.expr import GediTerm, Leaf, Mask, Node, guided, leaves, mapped, total
from guideway.logits.marked import Watermarked, Whole, inner
from guideway.models.adapter import Adapter
from guideway.models.peft_folder import read_adapter
from guideway.models.protocol import LanguageModel, VariedModel
from guideway.watermark.scheme import Scheme

NO_ARITHMETIC: Final = (
    "models are added to and taken from one another, and multiplied or divided by numbers"
)
NOT_ADDED: Final = (
    "cannot be added to a model: models, guideway.classifier(…) and guideway.gedi(…) can, and "
    "numbers multiply"
)
SHOWN: Final = 24  # characters of a prompt in a leaf's name


def with_term(node: Node, term: ClassifierTerm | GediTerm, sign: float) -> Node:
    """The node with a classifier's term; a weight of zero leaves no trace."""
    signed = replace(term, alpha=sign * term.alpha)
    return guided(node, [signed] if signed.alpha else [])


def difference(node: Node, other: Node, sign: float) -> Node:
    """The node plus or minus another."""
    return total([(1.0, node), (sign, other)])


def prompted(node: Node, system: str | Callable[[Any], Any]) -> Node:
    """The expression with a text before every leaf's prompt, or a function of the prompt."""
    if isinstance(system, str):
        short = system if len(system) <= SHOWN else system[: SHOWN - 1] + "…"
        return viewed(node, System(system), f"prompted({short!r})")
    if not callable(system):
        raise SourceError(f"system must be a text or a function, not {system!r}"[:300])
    name = getattr(system, "__name__", "function")
    return viewed(node, Rewritten(system), f"prompted({name})")


def watermarked(whole: Whole, watermark: object) -> Watermarked:
    """The expression with a watermark, which replaces an earlier one."""
    mark = getattr(watermark, "settings", None)
    if not isinstance(mark, Scheme):
        raise SourceError(f"watermark must be a guideway.Watermark, not {watermark!r}"[:300])
    return Watermarked(inner(whole), mark)


def named(node: Node, name: object) -> Node:
    """The expression with another name for every leaf."""
    if not isinstance(name, str) or not name:
        raise SourceError(f"the name of a model must be a text, not {name!r}"[:300])
    return mapped(node, lambda leaf: Leaf(leaf.source, name))


def viewed(node: Node, view: View, name: str) -> Node:
    """Return the expression with one more view of the prompt in every leaf, as its first one."""
    return mapped(node, lambda leaf: _leaf(leaf, name, views=(view, *reading(leaf).views)))


def unprompted(node: Node) -> Node:
    """Return the expression without the prompt in every leaf."""
    return viewed(node, LastToken(), "unprompted()")


def exited(node: Node, block: int) -> Node:
    """The expression with an early exit in every leaf."""
    return mapped(node, lambda leaf: _exit(leaf, block))


def adapted(node: Node, source: str | Path | Adapter | Mapping[str, Tensor], name: str) -> Node:
    """The expression with a LoRA adapter (folder, tensors or `Adapter`) in every leaf."""
    if isinstance(source, Adapter):
        adapter = source
    elif isinstance(source, Mapping):
        adapter = Adapter.of(name or "adapter", source)
    elif isinstance(source, str | Path):  # pyright: ignore[reportUnnecessaryIsInstance]
        adapter = read_adapter(source)
    else:
        raise SourceError(
            f"{source!r} is not an adapter: give a folder that PEFT wrote, or its tensors"[:300]
        )
    for leaf in leaves(node):
        if (there := reading(leaf).adapter) is not None:
            raise UnsupportedError(
                f"{leaf.name} has the adapter {there!r} already, and takes only one",
                feature="several adapters",
            )
        if not isinstance(reading(leaf).model, VariedModel):
            raise UnsupportedError(f"{leaf.name} does not support adapters", feature="adapters")
    shown = f"adapted({name or adapter.name})"
    return mapped(node, lambda leaf: _leaf(leaf, shown, adapter=adapter))


def layers_of(leaf: Leaf) -> int:
    """Number of blocks of a leaf's model; refused if unknown."""
    model = reading(leaf).model
    layers = model.layers if isinstance(model, VariedModel) else 0
    if layers < 2:
        raise UnsupportedError(
            f"{leaf.name} does not support early exits: its blocks are not known",
            feature="early exits",
        )
    return layers


def check_language_model(given: object) -> None:
    """Refuse other objects than language models."""
    if not isinstance(given, LanguageModel):
        raise SourceError(f"{given!r} is not a language model: guideway.load loads one"[:300])


def checked_mask(given: object) -> Mask:
    """Return `given` as the value of `plausibility`."""
    if given == "post_mask":
        return "post_mask"
    if given == "pre_mask":
        return "pre_mask"
    raise SourceError(f"plausibility is {given!r}: it must be 'post_mask' or 'pre_mask'")


def _exit(leaf: Leaf, block: int) -> Leaf:
    layers = reading(leaf).exit or layers_of(leaf)
    if not isinstance(block, int) or isinstance(block, bool) or not 1 <= block < layers:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise SourceError(
            f"exit_at({block!r}): {leaf.name} has {layers} blocks, so the block must be from 1 to "
            f"{layers - 1}"
        )
    return _leaf(leaf, f"exit_at({block})", exit=block)


def _leaf(leaf: Leaf, name: str, **changes: Any) -> Leaf:
    return Leaf(replace(reading(leaf), **changes), f"{leaf.name}.{name}")
