"""Strings of an enum, as a rule of which is known what it lists.

The kernels read such strings like the names of members, by a trie of them: a node for all, where
each letter took several, as it has many spellings. What the rule denotes is only made where
somebody derives it.

What this module does not know: schemas.
"""

from collections.abc import Iterable
from typing import Final
from weakref import WeakKeyDictionary

from fairlead.lowering.expr import EPSILON, concat
from fairlead.lowering.json_text import QUOTE, JsonStyle
from fairlead.lowering.nodes import Expr, Rule

_MOST_LETTERS: Final = 1 << 16  # a table has a row for each, which may never be asked for

_listed: "WeakKeyDictionary[Rule, tuple[tuple[str, ...], JsonStyle]]" = WeakKeyDictionary()


def words_rule(values: Iterable[str], style: JsonStyle) -> Rule | None:
    """Any of some strings, with quotes; None if there are none, or too many.

    >>> from fairlead.lowering.json_text import json_style
    >>> from fairlead.syntax.json_schema_source import JsonSchema
    >>> rule = words_rule(["b", "a", "b"], json_style(JsonSchema({})))
    >>> rule and words_of(rule)[0]
    ('b', 'a')
    """
    words = tuple(dict.fromkeys(values))
    if not words or sum(map(len, words)) > _MOST_LETTERS or not _is_text(words):
        return None
    spelling = style.spelling

    def make() -> Expr:
        return concat(QUOTE, spelling.choose((word, EPSILON) for word in words), QUOTE)

    rule = Rule("words", inhabited=True, make=make)
    _listed[rule] = words, style
    return rule


def words_of(rule: Rule) -> tuple[tuple[str, ...], JsonStyle] | None:
    """The strings of a rule that lists some, and how they are spelled."""
    return _listed.get(rule)


def _is_text(words: tuple[str, ...]) -> bool:
    """Whether they can be written: half of a surrogate pair cannot."""
    return not any("\ud800" <= char <= "\udfff" for word in words for char in word)
