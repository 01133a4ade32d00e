"""`Watermarked`: a whole expression with a watermark for draws from it. It is not a node."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TypeAlias, final

from guideway.errors import UnsupportedError
from guideway.logits.expr import Leaf, Node, show


@final
@dataclass(frozen=True, slots=True)
class Watermarked:
    """An expression whose tokens are drawn with a watermark; `mark` is any hashable value."""

    inner: Node
    mark: Hashable


Whole: TypeAlias = Node | Watermarked


def unmarked(whole: Whole) -> Node:
    """The expression; one with a mark is refused."""
    if isinstance(whole, Watermarked):
        raise UnsupportedError(
            "a model with a watermark cannot be used in arithmetic: combine the models first, and "
            "write (…).watermarked(…) for the whole expression",
            feature="arithmetic on a watermarked model",
        )
    return whole


def inner(whole: Whole) -> Node:
    return whole.inner if isinstance(whole, Watermarked) else whole


def show_whole(whole: Whole) -> str:
    """The expression as code, without keys."""
    if not isinstance(whole, Watermarked):
        return show(whole)
    shown = show(whole.inner)
    return f"{shown if isinstance(whole.inner, Leaf) else f'({shown})'}.watermarked({whole.mark})"
