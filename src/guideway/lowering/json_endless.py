"""JSON values of which there are surely infinitely many, found without a search."""

from collections.abc import Iterable
from typing import Final
from weakref import WeakKeyDictionary

from guideway.lowering.endless import surely_open
from guideway.lowering.json_objects import START, ObjectTemplate
from guideway.lowering.json_text import QUOTE
from guideway.lowering.json_words import words_of
from guideway.lowering.nodes import Alt, Call, Concat, Expr, Rule
from guideway.lowering.regular import derivative

_ONES: Final = 32  # digits until they have to come again
_endless: "WeakKeyDictionary[Expr, tuple[bool, ...]]" = WeakKeyDictionary()


def options_in(value: Expr) -> Iterable[Expr]:
    """The options of a value, of each type."""
    value = value_of(value)
    return value.options if isinstance(value, Alt) else (value,)


def is_open_string(value: Expr) -> bool:
    """Whether these are strings, and every prefix has infinitely many ends.

    >>> from guideway.lowering.expr import concat
    >>> from guideway.lowering.json_text import Spelling
    >>> is_open_string(concat(QUOTE, Spelling(plain=True).content, QUOTE))
    True
    """
    match value:
        case Concat(head, Concat(content, tail)) if head is QUOTE and tail is QUOTE:
            return surely_open(content)
        case _:
            return False


def is_endless_object(value: Expr) -> bool:
    """Whether these are objects, infinitely many if any."""
    call = value_of(value)
    if not isinstance(call, Call) or not isinstance(call.template, ObjectTemplate):
        return False
    members = call.template.members
    if call.argument != START or members.allowed is not None:
        return False
    parts = (*members.values, members.others)
    return any(is_open_string(option) for part in parts for option in options_in(part))


def endless_options(value: Expr) -> list[Expr]:
    """The options of a value with surely infinitely many values, if any.

    >>> from guideway.lowering.number_forms import PLAIN_INTEGER
    >>> from guideway.lowering.expr import byte_set, literal
    >>> len(endless_options(PLAIN_INTEGER)), len(endless_options(byte_set(b"0123456789")))
    (1, 0)
    """
    options = options_in(value)
    found = _endless.get(value)
    if found is None:
        found = tuple(is_open_string(o) or is_endless_object(o) or _repeats(o) for o in options)
        _endless[value] = found
    return [option for option, endless in zip(options, found, strict=True) if endless]


def _repeats(option: Expr) -> bool:
    """Return whether some of 1, 11, 111, … recur: no two are the same number."""
    seen = dict[Expr, None]()
    while option.regular and option not in seen and len(seen) < _ONES:
        seen[option] = None
        option = derivative(option, ord("1"))
    around = [*seen][[*seen].index(option) :] if option in seen else ()
    return any(node.nullable for node in around)


def value_of(value: Expr) -> Expr:
    """The body of rules, but for long lists of words."""
    while isinstance(value, Rule) and words_of(value) is None:
        value = value.body
    return value
