"""Values of which there plainly are endlessly many: told without a search.

    any string, or one of two characters at least    however it begins, it may go on endlessly
    an object with a member of such a value          there are endlessly many that are not empty

What this module does not know: formulas, arrays.
"""

from collections.abc import Iterable

from fairlead.lowering.endless import surely_open
from fairlead.lowering.json_objects import START, ObjectTemplate
from fairlead.lowering.json_text import QUOTE
from fairlead.lowering.json_words import words_of
from fairlead.lowering.nodes import Alt, Call, Concat, Expr, Rule


def options_in(value: Expr) -> Iterable[Expr]:
    """The options of a value, of each type."""
    value = _body(value)
    return value.options if isinstance(value, Alt) else (value,)


def is_open_string(value: Expr) -> bool:
    """Whether these are strings, and every beginning before the closing quote has endlessly many.

    >>> from fairlead.lowering.expr import concat
    >>> from fairlead.lowering.json_text import Spelling
    >>> is_open_string(concat(QUOTE, Spelling(plain=True).content, QUOTE))
    True
    """
    match value:
        case Concat(head, Concat(content, tail)) if head is QUOTE and tail is QUOTE:
            return surely_open(content)
        case _:
            return False


def is_endless_object(value: Expr) -> bool:
    """Whether these are objects of which there are endlessly many, if there are any."""
    call = _body(value)
    if not isinstance(call, Call) or not isinstance(call.template, ObjectTemplate):
        return False
    members = call.template.members
    if call.argument != START or members.allowed is not None:
        return False
    parts = (*members.values, members.others)
    return any(is_open_string(option) for part in parts for option in options_in(part))


def _body(value: Expr) -> Expr:
    """What rules denote; not of long lists of words, which take long to make, and have an end."""
    while isinstance(value, Rule) and words_of(value) is None:
        value = value.body
    return value
