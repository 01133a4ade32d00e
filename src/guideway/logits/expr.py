"""Expressions over the logits of several models, as frozen nodes.

    Leaf                  the log-probabilities of one model
    Linear                Σ coefficient · node, without normalisation
    Extreme               the maximum or minimum of log-probabilities, token by token
    Filtered              the same values, fewer tokens
    Farthest              of several nodes the one that differs most from another (DoLa)
    Guided                a node with classifier terms

Nodes are flat: `base + 1.5 * (expert - anti)` is one `Linear` of three leaves; equal leaves are
added up, and `base + 0 * x` is `base`, bit for bit. A filter of a node with a positive coefficient
holds for the whole sum; a subtracted node never removes tokens. A temperature t is the coefficient
1 / t.
"""

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Final, Literal, TypeAlias, assert_never, cast

from guideway.errors import LimitError, SourceError, UnsupportedError
from guideway.logits.classifier import ClassifierTerm, WeightedTerm

LARGEST: Final = 1e6  # of coefficients; float32 sums stay finite (logits.rows)
DEEPEST: Final = 100  # nodes within one another, which are walked by recursion
MOST: Final = 1000  # nodes; one that is written twice counts twice
Mask: TypeAlias = Literal["post_mask", "pre_mask"]


@dataclass(frozen=True, slots=True)
class Leaf:
    """The log-probabilities of one model; leaves with equal sources are equal."""

    source: Hashable
    name: str = field(compare=False)


@dataclass(frozen=True, slots=True)
class Linear:
    """Σ coefficient · node, without repeated nodes, nested `Linear` and zero coefficients.

    Without terms it is 0, which can be added but not run.
    """

    terms: tuple[tuple[float, "Node"], ...]


@dataclass(frozen=True, slots=True)
class Extreme:
    """The greatest or least log-probability of each token.

    Union and intersection of Dekoninck et al. 2024.
    """

    kind: Literal["maximum", "minimum"]
    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Filtered:
    """The most probable tokens.

    Attributes:
        kind: "nucleus" has the smallest set with a mass (Holtzman et al. 2020), "plausible" the
            tokens at least `share` times as probable as the most probable one (Li et al. 2022).
        share: the mass, above 0 and at most 1, or the factor (alpha in the paper).
        when: "post_mask" uses allowed tokens, "pre_mask" all tokens, as papers do; if that leaves
            no allowed token, all allowed ones stay.
    """

    kind: Literal["nucleus", "plausible"]
    inner: "Node"
    share: float | int
    when: Mask = "post_mask"


@dataclass(frozen=True, slots=True)
class Farthest:
    """The node of `among` with the greatest Jensen-Shannon divergence from `of`, row by row."""

    of: "Node"
    among: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class GediTerm(WeightedTerm):
    """Two models as a classifier: adds alpha · log P(wanted | text so far, token).

    P is Bayes' rule with equal priors (Krause et al. 2021, "GeDi", arXiv 2009.06367).
    """

    wanted: Leaf  # model of texts of the wanted kind
    unwanted: Leaf  # model of other texts
    alpha: float | int  # weight (ω in the paper)
    rho: float | int  # share of the model's mass that is removed, tokens of the least P first
    tau: float | int  # tokens with a greater P are never removed

    def __post_init__(self) -> None:
        """Check the weight, which arithmetic changes."""
        number(self.alpha, "alpha")

    def __str__(self) -> str:
        """As it is printed in an expression."""
        return f"gedi({self.wanted.name}, {self.unwanted.name}, alpha={self.alpha:g})"


Term: TypeAlias = ClassifierTerm | GediTerm


@dataclass(frozen=True, slots=True)
class Guided:
    """A node with classifier terms."""

    inner: "Node"
    terms: tuple[Term, ...]


Node: TypeAlias = Leaf | Linear | Extreme | Filtered | Farthest | Guided


def total(parts: Sequence[tuple[float | int, Node]]) -> Node:
    """The sum of coefficient · node.

    >>> a, b = Leaf(1, "a"), Leaf(2, "b")
    >>> show(total([(1, a), (1.5, total([(1, b), (-1, a)]))]))
    '-0.5*a + 1.5*b'
    >>> total([(1, a), (0, b)]) is a
    True
    >>> show(total([(1, a), (-1, a)]))
    '0'
    """
    coefficients = dict[Node, float]()
    terms = list[Term]()
    for given, node in parts:
        factor = number(given, "a coefficient")
        inner, guides = (node.inner, node.terms) if isinstance(node, Guided) else (node, ())
        terms.extend(term * factor for term in guides)
        inside = inner.terms if isinstance(inner, Linear) else ((1.0, inner),)
        for weight, each in inside:
            coefficients[each] = coefficients.get(each, 0.0) + factor * weight
    left = tuple((weight, each) for each, weight in coefficients.items() if weight)
    for weight, _ in left:
        number(weight, "a coefficient")
    lone = len(left) == 1 and left[0][0] == 1
    return guided(left[0][1] if lone else Linear(left), [term for term in terms if term.alpha])


def guided(node: Node, terms: Sequence[Term]) -> Node:
    if not terms:
        return node
    if isinstance(node, Guided):
        return Guided(node.inner, (*node.terms, *terms))
    return Guided(node, tuple(terms))


def normalized(node: Node) -> Node:
    """The node divided by the sum of its coefficients (Dekoninck et al. 2024, theorem 1).

    The division acts as a temperature: `child - 0.6 * adult` normalised samples at 0.4.
    """
    inner = node.inner if isinstance(node, Guided) else node
    weight = math.fsum(c for c, _ in inner.terms) if isinstance(inner, Linear) else 1.0
    if abs(weight) < 1e-9:
        raise SourceError(f"the coefficients of {show(inner)} sum to 0: there is no normal form")
    return total([(1 / weight, node)])


def leaves(node: Node) -> list[Leaf]:
    """Leaves without duplicates, in the order of the expression."""
    return list(dict.fromkeys(each for each in walk(node) if isinstance(each, Leaf)))


def walk(node: Node) -> Iterator[Node]:
    """All nodes, outer ones first."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        yield each
        waiting.extend(reversed(inside(each)))


def check_size(node: Node) -> None:
    """Refuse expressions that are nested too deeply or have too many nodes."""
    level, depth, count = [node], 0, 0
    while level:
        depth, count = depth + 1, count + len(level)
        for name, given, most in (("depth", depth, DEEPEST), ("size", count, MOST)):
            if given > most:
                raise LimitError(
                    f"the {name} of the expression is at least {given} nodes, and at most {most} "
                    "are allowed",
                    limit=f"expression {name}",
                    given=given,
                )
        level = [inner for each in level for inner in inside(each)]


def inside(node: Node) -> tuple[Node, ...]:
    """The nodes directly below, those of classifier terms included."""
    match node:
        case Leaf():
            return ()
        case Linear(terms):
            return tuple(each for _, each in terms)
        case Extreme(_, parts):
            return parts
        case Filtered(_, inner):
            return (inner,)
        case Farthest(of, among):
            return (of, *among)
        case Guided(inner, terms):
            pairs = [term for term in terms if isinstance(term, GediTerm)]
            return (inner, *(leaf for pair in pairs for leaf in (pair.wanted, pair.unwanted)))
        case _:
            assert_never(node)


def mapped(node: Node, change: Callable[[Leaf], Leaf]) -> Node:
    """The node with each leaf of a model replaced; those of classifier terms stay."""
    match node:
        case Leaf():
            made = change(node)
        case Linear(terms):
            made = total([(c, mapped(each, change)) for c, each in terms])
        case Extreme(kind, parts):
            made = Extreme(kind, tuple(mapped(each, change) for each in parts))
        case Filtered(_, inner):
            made = replace(node, inner=mapped(inner, change))
        case Farthest(of, among):
            made = Farthest(mapped(of, change), tuple(mapped(each, change) for each in among))
        case Guided(inner, terms):
            made = guided(mapped(inner, change), terms)
        case _:
            assert_never(node)
    return made


def show(node: Node) -> str:
    match node:
        case Leaf(_, name):
            text = name
        case Linear(terms):
            text = _show_sum(terms)
        case Extreme(kind, parts):
            text = f"{kind}({', '.join(map(show, parts))})"
        case Filtered(kind, inner, share, when):
            mask = "" if when == "post_mask" else f", {when!r}"
            text = f"{_show_inner(inner)}.{kind}({share:g}{mask})"
        case Farthest(of, among):
            text = f"farthest({', '.join(map(show, (of, *among)))})"
        case Guided(inner, terms):
            text = " + ".join([show(inner), *map(str, terms)])
        case _:
            assert_never(node)
    return text


def _show_sum(terms: tuple[tuple[float, Node], ...]) -> str:
    text = "" if terms else "0"
    for coefficient, node in terms:
        size = abs(coefficient)
        inner = _show_inner(node) if size != 1 or isinstance(node, Guided) else show(node)
        written = inner if size == 1 else f"{size:g}*{inner}"
        if not text:
            text = written if coefficient > 0 else f"-{written}"
        else:
            text += f" {'+' if coefficient > 0 else '-'} {written}"
    return text


def _show_inner(node: Node) -> str:
    return f"({show(node)})" if isinstance(node, Linear | Guided) else show(node)


def number(
    given: object, what: str, low: float | int = -LARGEST, high: float | int = LARGEST
) -> float:
    """`given` as a float from `low` to `high`."""
    if not isinstance(given, bool) and isinstance(given, Real):
        value = cast("float", given)  # of Python, of numpy, or a fraction
        if low <= value <= high:
            return float(value)
    raise SourceError(f"{what} is {given!r}: it must be a number from {low:g} to {high:g}")


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
