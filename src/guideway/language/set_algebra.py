"""Intersection, difference and complement of expressions, by lookahead where an operand nests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from guideway.errors import UnsupportedError
from guideway.language.expr import (
    ANYTHING,
    EMPTY,
    EPSILON,
    ahead,
    all_of,
    alt,
    both,
    complement,
    concat,
    either,
    repeat,
    stop,
)
from guideway.language.finite_languages import Decisions
from guideway.language.nodes import Alt, And, Concat, Expr, Not, Repeat, rebuilt
from guideway.language.regular import parts_of, with_parts
from guideway.language.utf8 import TEXT, TEXT_CHAR


def among_texts(root: Expr) -> Expr:
    r"""A regular expression with the same texts; it may have other byte strings.

    >>> from guideway.language.expr import literal
    >>> from guideway.language.utf8 import TEXT
    >>> among_texts(concat(literal("a"), TEXT)) is concat(literal("a"), ANYTHING)
    True
    >>> among_texts(TEXT) is ANYTHING, among_texts(literal("a")) is literal("a")
    (True, True)
    """
    return rebuilt(root, _tail_parts, _with_free_tail)


def _tail_parts(node: Expr) -> tuple[Expr, ...]:
    match node:
        case Alt() | And() | Not():
            return parts_of(node)
        case Concat(_, tail):
            return (tail,)
        case _:
            return ()


def _with_free_tail(node: Expr, made: Mapping[Expr, Expr]) -> Expr:
    match node:
        case Alt() | And() | Not():
            return with_parts(node, [made[part] for part in parts_of(node)])
        case Concat(head, tail):
            return concat(head, made[tail])
        case Repeat(item, low, None) if item is TEXT_CHAR:
            return concat(repeat(TEXT_CHAR, low, low) if low else EPSILON, ANYTHING)
        case _:
            return node


FEW_PARTS = 2_000
"""Below this size, a regular expression without rules is cheaper than lookahead."""


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand, with its name for messages; `marked` ones may contain special tokens."""

    name: str
    expr: Expr
    denied: bool = False
    marked: bool = False


def meet(operands: Sequence[Operand], decide: Decisions | None, option: str = "") -> Expr:
    """The intersection of all operands, denied ones complemented.

    Without `decide` nothing is searched. `option` names the options that would make JSON Schemas
    one schema, for the message. Raises UnsupportedError for several context-free operands.
    """
    flat = [_flat(each, decide, FEW_PARTS) for each in operands]
    nested = [each for each in flat if not each.expr.regular]
    denied = [each.denied for each in nested]
    if denied.count(True) or denied.count(False) > 1:  # then a longer search is worth it
        flat = [_flat(each, decide) for each in flat]
        nested = [each for each in flat if not each.expr.regular]
    regular = _regular([each for each in flat if each.expr.regular])
    held = [each for each in nested if not each.denied]
    if not nested:
        return TEXT if regular is None else _only_text(regular, operands)
    if len(held) == len(nested) == 1:
        (one,) = held
        if regular is None:
            return one.expr
        return looking(one.expr, regular if one.marked else among_texts(regular))
    words = None if decide is None or regular is None else decide.words(regular)
    if decide is None or words is None:
        raise _refusal(nested, option)
    return _listed(words, nested, decide)


def _flat(operand: Operand, decide: Decisions | None, *most: int) -> Operand:
    found = None if decide is None else decide.flattened(operand.expr, *most)
    return operand if found is None else replace(operand, expr=found)


def _regular(operands: Sequence[Operand]) -> Expr | None:
    each = [complement(one.expr) if one.denied else one.expr for one in operands]
    return all_of(each) if each else None


def _only_text(regular: Expr, operands: Sequence[Operand]) -> Expr:
    """Intersect with TEXT after a complement, unless an operand holds only text."""
    texts = any(not each.denied and not each.marked for each in operands)
    return regular if texts or not any(each.denied for each in operands) else both(TEXT, regular)


def looking(nested: Expr, regular: Expr) -> Expr:
    """The texts of `nested` that are in a regular expression, by lookahead."""
    if regular is ANYTHING:
        return nested
    level = nested.looks
    rest = concat(ahead(regular, level), solid(nested), stop(level))
    return alt(EPSILON, rest) if nested.nullable and regular.nullable else rest


def _listed(words: Sequence[bytes], nested: Sequence[Operand], decide: Decisions) -> Expr:
    """The words that are in all operands, or not in denied ones."""
    return either(
        word
        for word in words
        if all(decide.contains(each.expr, word) != each.denied for each in nested)
    )


def _refusal(nested: Sequence[Operand], option: str) -> UnsupportedError:
    why = f"; with {option} they could be read as one schema" if option else ""
    denied = next((each for each in nested if each.denied), None)
    if denied is not None:
        return UnsupportedError(
            f"the complement of {denied.name} cannot be enforced exactly: it nests without end, "
            f"and the other side is not a short list of texts{why}",
            feature=f"- or ~ of {denied.name}",
        )
    one, other = nested[:2]
    return UnsupportedError(
        f"{one.name} & {other.name} cannot be enforced exactly: both nest without end, and neither "
        f"is a short list of texts{why}",
        feature=f"& of {one.name} and {other.name}",
    )


def solid(expr: Expr) -> Expr:
    """All texts but the empty one."""
    return rebuilt(expr, _nullable_parts, _solid)


def _nullable_parts(node: Expr) -> tuple[Expr, ...]:
    if not node.nullable or node.regular:
        return ()
    match node:
        case Alt(options):
            return options
        case Concat(head, tail):
            return (head, tail)
        case Repeat(item):
            return (item,)
        case _:
            return ()


def _solid(node: Expr, made: Mapping[Expr, Expr]) -> Expr:
    if not node.nullable:
        return node
    if node.regular:
        return both(node, complement(EPSILON))
    match node:
        case Alt(options):
            return alt(*(made[option] for option in options))
        case Concat(head, tail):
            return alt(concat(made[head], tail), made[tail])
        case Repeat(item, _, high):
            return concat(made[item], repeat(item, 0, None if high is None else high - 1))
        case _:
            return EMPTY
