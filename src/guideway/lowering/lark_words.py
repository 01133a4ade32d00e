"""Short texts of terminals, and checks of newline terminals."""

from collections.abc import Iterable
from functools import lru_cache
from itertools import islice
from typing import Final

from guideway.lowering.expr import EMPTY
from guideway.lowering.lark_terminals import one_word
from guideway.lowering.nodes import Expr
from guideway.lowering.regular import byte_classes, derivative, least_byte

_LOOKED_AT: Final = 256  # derivatives visited for a pattern
_NEWLINE: Final = b"\n"
_BLANK: Final = ord(" ")


@lru_cache(maxsize=1 << 10)
def shortest_words(text: Expr, spellable: int, most: int) -> tuple[bytes, ...]:
    """At most `most` of the shortest strings in these bytes; of a literal, itself."""
    word = one_word(text)
    if word is not None:
        return (word,) if all(spellable >> byte & 1 for byte in word) else ()
    return tuple(islice(_shortest(text, spellable), most))


def _shortest(text: Expr, spellable: int) -> Iterable[bytes]:
    todo, seen = [(b"", text)], {text}
    for word, node in todo:  # grows while we go
        if len(word) == _LOOKED_AT:
            return  # what follows is longer
        readable = (members & spellable for members in byte_classes(node))
        for byte in sorted(least_byte(members) for members in readable if members):
            after = derivative(node, byte)
            if after is not EMPTY and after not in seen and len(seen) < _LOOKED_AT:
                longer = word + bytes((byte,))
                if after.nullable:
                    yield longer
                seen.add(after)
                todo.append((longer, after))


def is_last(after: Expr) -> bool:
    """Return True if nothing may follow."""
    return after.nullable and all(
        derivative(after, least_byte(members)) is EMPTY for members in byte_classes(after)
    )


def takes_lines(text: Expr, ending: int = 0) -> bool:
    """Return True if each newline may end the text, with any number of blanks after it.

    `ending`: bytes that may precede the end, besides blanks and newlines.
    """
    todo, seen, begun = [text], {text}, False
    ending &= ~sum(1 << byte for byte in b"\n\t ")
    for node in todo:  # grows while we go
        if len(seen) > _LOOKED_AT:
            return False
        line = derivative(node, _NEWLINE[0])
        if line is not EMPTY:
            begun = True
            if not _takes_blanks(line, ending):
                return False
        for members in byte_classes(node):
            after = derivative(node, least_byte(members))
            if after is not EMPTY and after not in seen:
                seen.add(after)
                todo.append(after)
    return begun


def _takes_blanks(line: Expr, ending: int) -> bool:
    seen: set[Expr] = set()
    while line not in seen and len(seen) < _LOOKED_AT and _may_end(line, ending):
        seen.add(line)
        line = derivative(line, _BLANK)
    return line in seen


def _may_end(line: Expr, ending: int) -> bool:
    return line.nullable or any(True for _ in islice(_shortest(line, ending), 1))
