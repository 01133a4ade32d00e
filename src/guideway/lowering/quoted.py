"""JSON texts inside a JSON string: each byte as the string spells it.

Rules and templates are converted when they are entered; captures are decoded for the template.
Characters beyond ASCII are not escaped.
"""

import json
from collections.abc import Callable, Hashable, Iterable
from functools import cache
from typing import Final, final
from weakref import WeakValueDictionary

from guideway.errors import GuidewayError
from guideway.lowering.expr import (
    ALL_BYTES,
    ONE_BYTE,
    alt,
    both,
    byte_set,
    call,
    capture,
    complement,
    concat,
    repeat,
)
from guideway.lowering.json_text import Spelling
from guideway.lowering.nodes import (
    Alt,
    And,
    Bytes,
    Call,
    Capture,
    Concat,
    Empty,
    Epsilon,
    Expr,
    Least,
    Look,
    Not,
    Repeat,
    Rule,
    Template,
    Unsure,
)

_ASCII: Final = (1 << 128) - 1


def quoted(texts: Expr, spelling: Spelling) -> Expr:
    """JSON texts as the content of a JSON string, without its quotes."""
    return _quoting(spelling).of(texts)


def _written(text: bytes) -> bytes:
    return json.dumps(text.decode("latin-1"), ensure_ascii=False)[1:-1].encode("latin-1")


def _read(text: bytes) -> bytes:
    return str(json.loads(f'"{text.decode("latin-1")}"')).encode("latin-1")


@cache
def _quoting(spelling: Spelling) -> "_Quoting":
    return _Quoting(spelling)


@final
class _Quoting:
    def __init__(self, spelling: Spelling) -> None:
        self._bytes = [
            spelling.character(((byte, byte),)) if byte < 128 else ONE_BYTE[byte]
            for byte in range(256)
        ]
        self._any = repeat(alt(*self._bytes))
        self._rules: WeakValueDictionary[int, Rule] = WeakValueDictionary()
        self._templates: WeakValueDictionary[int, _Quoted] = WeakValueDictionary()
        self._spelling = spelling

    def of(self, expr: Expr) -> Expr:
        return self._of(expr, {})

    def _of(self, expr: Expr, made: dict[int, Expr]) -> Expr:
        found = made.get(id(expr))
        if found is None:
            found = made[id(expr)] = self._made(expr, made)
        return found

    def _made(self, expr: Expr, made: dict[int, Expr]) -> Expr:  # noqa: C901, PLR0911  an arm for each
        match expr:
            case Empty() | Epsilon() | Unsure():
                return expr
            case Bytes(members):
                return self._byte(members)
            case Concat():
                parts = list[Expr]()
                while isinstance(expr, Concat):
                    parts.append(self._of(expr.head, made))
                    expr = expr.tail
                return concat(*parts, self._of(expr, made))
            case Alt(options):
                return alt(*(self._of(option, made) for option in options))
            case Repeat(item, low, high):
                return repeat(self._of(item, made), low, high)
            case And(left, right):
                return both(self._of(left, made), self._of(right, made))
            case Not(item):
                return both(self._any, complement(self._of(item, made)))
            case Rule():
                return self._rule(expr)
            case Call(template, argument):
                return call(self._template(template), argument, inhabited=expr.inhabited)
            case Capture(item, read, template, argument):
                begun = None if read is None else _written(read)
                return capture(self._of(item, made), begun, self._template(template), argument)
            case _:
                raise GuidewayError(f"{type(expr).__name__} has no place in a JSON text")

    def _byte(self, members: int) -> Expr:
        ascii_only = members & _ASCII
        ranges = tuple((byte, byte) for byte in range(128) if ascii_only >> byte & 1)
        return alt(self._spelling.character(ranges), byte_set(members & ~_ASCII & ALL_BYTES))

    def _rule(self, rule: Rule) -> Rule:
        found = self._rules.get(id(rule))
        if found is None:
            make = lambda: self.of(rule.body)  # noqa: E731
            found = Rule(
                rule.name, [], rule.nullable, rule.regular, rule.inhabited, make, read=rule
            )
            self._rules[id(rule)] = found
        return found

    def _template(self, template: Template) -> "_Quoted":
        found = self._templates.get(id(template))
        if found is None:
            found = self._templates[id(template)] = _Quoted(template, self)
        return found

    def spellable(self, spellable: int) -> int:
        found = spellable & ~_ASCII
        for byte in range(128):
            letters = _written(bytes((byte,)))
            found |= all(spellable >> letter & 1 for letter in letters) << byte
        return found


@final
class _Look:
    """A `Look` for a template: spells the parts that it asks about."""

    def __init__(self, look: Look, quoting: _Quoting) -> None:
        self._look, self._quoting = look, quoting

    @property
    def spellable(self) -> int:
        return self._quoting.spellable(self._look.spellable)

    @property
    def settled(self) -> bool:
        return self._look.settled

    def __call__(self, part: Expr) -> bool | None:
        return self._look(self._quoting.of(part))

    def word(self, part: Expr) -> bytes | None:
        found = self._look.word(self._quoting.of(part))
        return None if found is None else _read(found)


@final
class _Quoted:
    """Wraps a template: spells its expressions and decodes captures."""

    def __init__(self, template: Template, quoting: _Quoting) -> None:
        self._template, self._quoting = template, quoting

    def unfold(self, argument: Hashable, look: Look) -> Expr:
        return self._quoting.of(self._template.unfold(argument, _Look(look, self._quoting)))

    def resume(self, argument: Hashable, captured: bytes | None) -> Expr:
        read = None if captured is None else _read(captured)
        return self._quoting.of(self._template.resume(argument, read))

    def resume_any(self, argument: Hashable) -> Expr:
        return self._quoting.of(self._template.resume_any(argument))

    def remembers(self, argument: Hashable) -> bool:
        return self._template.remembers(argument)

    def depends(self, argument: Hashable) -> bool:
        return self._template.depends(argument)

    def lives(self, argument: Hashable, look: Look) -> bool | None:
        return self._template.lives(argument, _Look(look, self._quoting))

    def lives_after(
        self, argument: Hashable, look: Look, captured: Callable[[], bytes | None]
    ) -> bool | None:
        def read() -> bytes | None:
            found = captured()
            return None if found is None else _read(found)

        return self._template.lives_after(argument, _Look(look, self._quoting), read)

    def parts(self, argument: Hashable) -> Iterable[Expr]:
        return map(self._quoting.of, self._template.parts(argument))

    def least(self, argument: Hashable, least: Least) -> bytes | None:
        return self._spelled(self._template.least(argument, self._inner(least)))

    def least_after(
        self, argument: Hashable, least: Least, captured: bytes | None = None
    ) -> bytes | None:
        read = None if captured is None else _read(captured)
        return self._spelled(self._template.least_after(argument, self._inner(least), read))

    def least_begun(self, argument: Hashable, least: Least, read: bytes) -> bytes | None:
        try:
            begun = _read(read)
        except ValueError:
            return None
        found = self._spelled(self._template.least_begun(argument, self._inner(least), begun))
        return found if found is not None and found.startswith(read) else None

    def _inner(self, least: Least) -> Least:
        def of(part: Expr) -> bytes | None:
            found = least(self._quoting.of(part))
            return None if found is None else _read(found)

        return of

    def _spelled(self, text: bytes | None) -> bytes | None:
        return None if text is None else _written(text)
