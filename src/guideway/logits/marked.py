"""`Watermarked`: a whole expression with a mark in what is drawn from it.

It is no node: nothing is computed with it. It stands around an expression, or is not there.

What this module does not know: watermarks (a mark is any hashable thing).
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TypeAlias, final

from guideway.errors import UnsupportedError
from guideway.logits.expr import Leaf, Node, show


@final
@dataclass(frozen=True, slots=True)
class Watermarked:
    """An expression from which tokens are drawn with a mark.

    Attributes:
        inner: the expression.
        mark: the watermark, printed as it prints itself.
    """

    inner: Node
    mark: Hashable


Whole: TypeAlias = Node | Watermarked


def unmarked(whole: Whole) -> Node:
    """The expression, if it has no mark.

    Raises:
        UnsupportedError: it has one.
    """
    if isinstance(whole, Watermarked):
        raise UnsupportedError(
            "a model with a watermark cannot be used in arithmetic: combine the models first, and "
            "write (…).watermarked(…) for the whole expression",
            feature="arithmetic on a watermarked model",
        )
    return whole


def inner(whole: Whole) -> Node:
    """The expression without its mark."""
    return whole.inner if isinstance(whole, Watermarked) else whole


def show_whole(whole: Whole) -> str:
    """The expression as it would be written, keys left out.

    >>> show_whole(Watermarked(Leaf(1, "base"), "left"))
    'base.watermarked(left)'
    """
    if not isinstance(whole, Watermarked):
        return show(whole)
    shown = show(whole.inner)
    return f"{shown if isinstance(whole.inner, Leaf) else f'({shown})'}.watermarked({whole.mark})"
