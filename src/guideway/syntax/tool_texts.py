"""Strings that a schema allows as sets of raw texts, if it allows only strings or null.

{"allOf": [{"type": "string"}, {"not": {"const": "a"}}]}      any text & ~"a"
"""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final, TypeAlias, final

from guideway.errors import LimitError, UnsupportedError
from guideway.syntax.frozen import by_identity
from guideway.syntax.json_schema_tree import (
    KINDS,
    Address,
    Arrays,
    Document,
    Kind,
    Numbers,
    Objects,
    Schema,
    Strings,
)
from guideway.syntax.json_schema_verdicts import Verdict, denied, every, one, some
from guideway.syntax.regex_finding import leading_flags
from guideway.syntax.sources import Both, Choice, Either, Inverse, Regex, Source, Text

MOST_PARTS: Final = 1000
DEEPEST: Final = 100
_TEXTS: Final[frozenset[Kind]] = frozenset(("string", "null"))
_ANY: Final = {"string": Strings(), "number": Numbers(), "array": Arrays(), "object": Objects({})}

_Verdicts: TypeAlias = dict[Address, Verdict]


@final
@by_identity
class _Set:
    """Some strings: source, the strings if listed, number of its sources, levels."""

    source: Source
    listed: frozenset[str] | None = None
    size: int = 1
    depth: int = 1


def texts_of(document: Document, root: Address, place: str) -> tuple[Source, bool] | None:
    """The strings of a schema, and whether it allows null; None if it may allow other values."""
    told = kinds_of(document, root)
    allowed = {kind for kind in KINDS if told[kind] is not False}
    if "string" not in allowed or not allowed <= _TEXTS:
        return None
    return strings_of(document, root, place), "null" in allowed


def kinds_of(document: Document, root: Address) -> dict[Kind, Verdict]:
    """For each kind, True if a schema allows all values, False if none, None if unknown."""
    order = _in_order(root, lambda address: document.schemas[address].in_place)
    return {kind: _verdicts(document, order, kind)[root] for kind in sorted(KINDS)}


def strings_of(document: Document, root: Address, place: str) -> Source:
    """The strings that a schema allows."""
    order = _in_order(root, lambda address: document.schemas[address].in_place)
    return _Strings(document, _verdicts(document, order, "string"), place).of(root).source


def has_boolean(document: Document, root: Address, value: bool) -> bool:
    order = _in_order(root, lambda address: document.schemas[address].in_place)
    return _verdicts(document, order, value)[root] is True


def _in_order(root: Address, parts: Callable[[Address], Iterable[Address]]) -> list[Address]:
    """All schemas applied to the same instance, parts first."""
    found, todo = dict[Address, None](), [root]
    while todo:
        missing = [part for part in parts(todo[-1]) if part not in found]
        if not missing:
            found[todo.pop()] = None
        todo += missing
    return list(found)


def _verdicts(document: Document, order: list[Address], kind: Kind | bool) -> _Verdicts:
    """Verdicts of schemas on all values of a kind, or on one boolean; exact for null."""
    known: _Verdicts = {}
    for address in order:
        schema = document.schemas[address]
        answers = [_itself(schema, kind)]
        answers += (known[part] for part in schema.all_of)
        answers += (some([known[part] for part in group]) for group in schema.any_of)
        answers += (one([known[part] for part in group]) for group in schema.one_of)
        answers += (denied(known[part]) for part in schema.none_of)
        answers.append(_conditional(schema, known))
        known[address] = every(answers)
    return known


def _itself(schema: Schema, kind: Kind | bool) -> Verdict:
    """Verdict of a schema without its applicators."""
    if isinstance(kind, bool):
        return "boolean" in schema.kinds and kind in schema.booleans
    if kind not in schema.kinds:
        return False
    match kind:
        case "null":
            return True
        case "boolean":
            return len(schema.booleans) == 2 or None
        case _:
            return getattr(schema, f"{kind}s") == _ANY[kind] or None


def _conditional(schema: Schema, known: _Verdicts) -> Verdict:
    condition = schema.condition
    if condition is None:
        return True
    test = known[condition.test]
    then, otherwise = (
        True if part is None else known[part] for part in (condition.then, condition.otherwise)
    )
    if test is None:
        return then if then is otherwise else None
    return then if test else otherwise


@final
class _Strings:
    """Makes the sets of one argument."""

    def __init__(self, document: Document, told: _Verdicts, place: str) -> None:
        self._schemas, self._told, self._place = document.schemas, told, place
        self._made: dict[Address, _Set] = {}

    def of(self, root: Address) -> _Set:
        """The strings of a schema; parts that do not depend on them are skipped."""
        for address in _in_order(root, self._parts):
            self._made[address] = self._set(address)
        return self._made[root]

    def _parts(self, address: Address) -> tuple[Address, ...]:
        return self._schemas[address].in_place if self._told[address] is None else ()

    def _set(self, address: Address) -> _Set:
        if self._told[address] is not None:
            return _ALL if self._told[address] else _NONE
        schema = self._schemas[address]
        parts = [self._itself(schema.strings), *(self._made[part] for part in schema.all_of)]
        parts += (self._either([self._made[part] for part in group]) for group in schema.any_of)
        parts += (self._one([self._made[part] for part in group]) for group in schema.one_of)
        parts += (self._not(self._made[part]) for part in schema.none_of)
        if schema.condition is not None:
            test = self._made[schema.condition.test]
            then, otherwise = (
                _ALL if part is None else self._made[part]
                for part in (schema.condition.then, schema.condition.otherwise)
            )
            parts.append(
                self._either([self._both([test, then]), self._both([self._not(test), otherwise])])
            )
        return self._both(parts)

    def _itself(self, said: Strings) -> _Set:
        if said.format is not None or said.holds is not None:
            told = "JSON in a string" if said.format is None else "format of a string"
            raise UnsupportedError(
                f"the tool {self._place}: {told} cannot be written as an element; the format "
                "'hermes' writes arguments as JSON",
                feature=told.partition(" ")[0],
            )
        low, high = said.low, said.high
        parts = [_ALL]
        if said.values is not None:
            fit = (v for v in said.values if low <= len(v) and (high is None or len(v) <= high))
            parts.append(_listed(fit))
        elif high is not None and high < low:
            parts.append(_NONE)
        elif low or high is not None:
            most = "" if high is None else str(high)
            parts.append(_Set(Regex(rf"[\s\S]{{{low},{most}}}")))
        if said.pattern is not None:
            parts.append(_Set(_containing(said.pattern.text)))
        return self._both(parts)

    # Sets of sets

    def _both(self, sets: list[_Set]) -> _Set:
        listed = [each.listed for each in sets if each.listed is not None]
        others = [each for each in sets if each.listed is None and each is not _ALL]
        if listed:
            common = _listed(listed[0].intersection(*listed[1:]))
            others = [common, *others] if common.listed else [_NONE]
        return self._made_of(Both, others or [_ALL])

    def _either(self, sets: list[_Set]) -> _Set:
        if _ALL in sets:
            return _ALL
        listed = [each.listed for each in sets if each.listed]
        others = [each for each in sets if each.listed is None]
        if listed:
            others.append(_listed(frozenset[str]().union(*listed)))
        return self._made_of(Either, others or [_NONE])

    def _one(self, sets: list[_Set]) -> _Set:
        """Strings in exactly one of the sets."""
        listed = [each.listed for each in sets if each.listed is not None]
        if len(listed) == len(sets):
            counted = Counter(value for values in listed for value in values)
            return _listed(value for value, times in counted.items() if times == 1)
        none, found = _ALL, _NONE
        for each in sets:
            besides = self._not(each)
            found = self._either([self._both([found, besides]), self._both([none, each])])
            none = self._both([none, besides])
        return found

    def _not(self, given: _Set) -> _Set:
        if given is _ALL:
            return _NONE
        if given.listed == frozenset():
            return _ALL
        return _Set(Inverse(given.source), None, given.size + 1, given.depth + 1)

    def _made_of(self, kind: type[Both] | type[Either], sets: list[_Set]) -> _Set:
        once = list({id(each): each for each in sets}.values())
        if len(once) == 1:
            return once[0]
        size = 1 + sum(each.size for each in once)
        depth = 1 + max(each.depth for each in once)
        for limit, given, needed in (("parts", MOST_PARTS, size), ("nesting", DEEPEST, depth)):
            if needed > given:
                raise LimitError(
                    f"the tool {self._place}: a string has too many conditions: {needed} sets of "
                    f"texts {'in as many levels' if limit == 'nesting' else 'together'}",
                    limit=f"{limit} of a string",
                    given=given,
                    needed=needed,
                )
        return _Set(kind(tuple(each.source for each in once)), None, size, depth)


def _containing(pattern: str) -> Regex:
    r"""The texts in which a pattern of a schema is found.

    >>> _containing("(?i)a$").pattern
    '(?i)[\\s\\S]*(?:a$)[\\s\\S]*'
    """
    flags = leading_flags(pattern)
    end = "\n)" if "x" in flags else ")"  # a newline ends a comment
    inside = pattern.removeprefix(flags) + end
    return Regex(rf"{flags}[\s\S]*(?:{inside}[\s\S]*", "python" if flags else "ecma")


def _listed(values: Iterable[str]) -> _Set:
    found = frozenset(values)
    return _Set(Choice(sorted(found)) if found else Inverse(Text()), found)


_ALL: Final = _Set(Text())
_NONE: Final = _listed(())
