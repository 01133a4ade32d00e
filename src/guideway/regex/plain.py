"""Parts of a pattern that match by themselves, as expressions."""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import TypeAlias, assert_never

from guideway.language.expr import EMPTY, concat, either, literal, repeat
from guideway.language.fuel import spend
from guideway.language.nodes import Expr
from guideway.language.utf8 import CodePoints, character, points
from guideway.regex.tree import (
    Alternation,
    Anchor,
    Back,
    Boundary,
    Class,
    Dot,
    Group,
    Look,
    Node,
    Repeat,
    Sequence,
    Shorthand,
    Text,
    folded,
)
from guideway.regex.unicode import leaf_points, literal_points

Spell: TypeAlias = Callable[[CodePoints], Expr]


class NotByParts(Exception):  # noqa: N818  it says how to go on, and is no error
    """A pattern cannot be put together from its parts."""


def lower_plain(root: Node, spell: Spell) -> Expr:
    """The texts of a part; `spell` gives the spellings of a character.

    Raises NotByParts if the part refers to a group, or depends on the text around it.
    """
    return _plain(folded(root, partial(_value, spell)))


def _value(spell: Spell, node: Node, parts: list[Expr | bytes]) -> Expr | bytes:
    match node:
        case Text():
            return _text(node, spell)
        case Class() | Shorthand() | Dot():
            found = leaf_points(node)
            spend(len(found))
            return spell(found)
        case Anchor() | Boundary() | Look() | Back():
            raise NotByParts
        case Group():
            return parts[0]
        case Repeat(_, low, high):
            return repeat(_plain(parts[0]), low, high)
        case Sequence():
            return concat(*map(_plain, parts))
        case Alternation():
            return either(parts)
        case _:
            assert_never(node)


def _text(node: Text, spell: Spell) -> Expr | bytes:
    if node.mode.ignore_case:
        return concat(*(spell(literal_points(char, node.mode)) for char in node.text))
    if spell is not character:
        return concat(*(_letter(spell, char) for char in node.text))
    try:
        return node.text.encode()
    except UnicodeEncodeError:  # texts have no lone surrogates
        return EMPTY


@lru_cache(maxsize=1024)
def _letter(spell: Spell, char: str) -> Expr:
    return spell(points([ord(char)]))


def _plain(value: Expr | bytes) -> Expr:
    return literal(value) if isinstance(value, bytes) else value
