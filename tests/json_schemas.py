"""JSON Schemas, instances and spellings to test with, and the judges: two validators, offline.

The validators share no code with guideway or with each other. What they disagree about is left out.
"""

import json
import random
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

import jsonschema
import jsonschema_rs
from hypothesis import strategies as st
from referencing import Registry

from guideway.json_schema.lowering import lower_json_schema
from guideway.json_schema.source import JsonSchema
from guideway.language.derivative import Derivatives
from plain_texts import matches

# No instance fits into any budget of tokens.
MANY_MEGABYTES: list[dict[str, Any]] = [
    {"type": "string", "minLength": 1 << 25},
    {"type": "array", "minItems": 1, "items": {"type": "string", "minLength": 1 << 25}},
    {"type": "object", "properties": {"b": {"type": "string", "minLength": 1 << 25}},
     "required": ["b"]},
]  # fmt: skip

KEYS = ("a", "b", "key", "é", 'q"\\', "")
TEXTS = ("", "a", "ab", "abc", "é", "💩", '"', "\\", "\n", "\x7f", "\x00b", "a/b", "2024-02-29")
NUMBERS = (0, 1, -1, 2, 3, 10, -10, 12, 99, 100, 0.5, -0.5, 1.5, 2.25, -7.75, 1000000, 1e-3)


def machine(schema: Any, **options: Any) -> Derivatives:
    """Reads any whitespace unless an option says otherwise."""
    return Derivatives(lower_json_schema(JsonSchema(schema, **{"whitespace": "any", **options})))


def _offline(uri: str) -> Any:
    raise LookupError(uri)


_OLD, _NEW = "http://json-schema.org/draft-0{}/schema#", "https://json-schema.org/draft/{}/schema"
DRAFTS: dict[int, tuple[str, Any, Any]] = {
    4: (_OLD.format(4), jsonschema.Draft4Validator, jsonschema_rs.Draft4Validator),
    6: (_OLD.format(6), jsonschema.Draft6Validator, jsonschema_rs.Draft6Validator),
    7: (_OLD.format(7), jsonschema.Draft7Validator, jsonschema_rs.Draft7Validator),
    2019: (_NEW.format("2019-09"), jsonschema.Draft201909Validator,
           jsonschema_rs.Draft201909Validator),
    2020: (_NEW.format("2020-12"), jsonschema.Draft202012Validator,
           jsonschema_rs.Draft202012Validator),
}  # fmt: skip


class Judges:
    """The two validators of a schema."""

    def __init__(self, schema: Any, draft: int = 2020) -> None:
        _, first, second = DRAFTS[draft]
        self._first = first(schema, format_checker=first.FORMAT_CHECKER, registry=Registry())
        self._second = second(schema, validate_formats=True, retriever=_offline)

    def verdict(self, instance: Any) -> bool | None:
        """Whether an instance is valid; None where the judges disagree, or one gives up."""
        try:
            first = self._first.is_valid(instance)
        except BaseException as error:  # rpds below it panics where Python would say so
            if type(error).__name__ not in ("RecursionError", "PanicException"):
                raise
            return None
        return first if first == self._second.is_valid(instance) else None


def verdict(schema: Any, instance: Any) -> bool | None:
    """Whether an instance is valid; None where the judges disagree."""
    return Judges(schema).verdict(instance)


def check_texts(
    schema: Any, right: Sequence[str], wrong: Sequence[str], *, judged: bool = True, **options: Any
) -> None:
    """A schema allows the texts `right` and not those `wrong`, and no judge contradicts."""
    engine = machine(schema, **options)
    for text in (*right, *wrong):
        allowed = text in right
        assert matches(engine, text) is allowed, text
        if judged and (allowed or not options):
            assert _judged(schema, text) in (None, allowed), text


def _judged(schema: Any, text: str) -> bool | None:
    try:
        return verdict(schema, read_exactly(text)) if is_exact(text) else None
    except (ValueError, ArithmeticError, RecursionError):  # no JSON, or too deep for a judge
        return None


def check_values(schema: Any, values: Iterable[Any], **options: Any) -> None:
    """Of some values a schema allows those that both judges find valid."""
    engine = machine(schema, **{"whitespace": "natural", **options})
    judges = Judges(schema)
    for value in values:
        assert matches(engine, json.dumps(value)) == judges.verdict(value), value


def scalars() -> st.SearchStrategy[Any]:
    return st.one_of(
        st.none(),
        st.booleans(),
        st.sampled_from(NUMBERS),
        st.integers(-30, 130),
        st.sampled_from(TEXTS),
        st.text(st.sampled_from('ab"\\é\n💩/'), max_size=4),
    )


def instances() -> st.SearchStrategy[Any]:
    return st.recursive(
        scalars(),
        lambda inner: st.one_of(
            st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
        ),
        max_leaves=8,
    )


def write(value: Any, chance: random.Random) -> str:
    """`value` as JSON in some spelling: whitespace, escapes, order of keys, forms of numbers."""
    return _gap(chance) + "".join(_pieces(value, chance)) + _gap(chance)


def _gap(chance: random.Random) -> str:
    return "".join(chance.choice(" \t\r\n") for _ in range(chance.choice((0, 0, 0, 1, 3))))


def _pieces(value: Any, chance: random.Random) -> Iterator[str]:
    match value:
        case dict():
            members = list(value.items())
            chance.shuffle(members)
            yield from ("{", _gap(chance))
            for index, (key, part) in enumerate(members):
                yield from ("," + _gap(chance) if index else "", quote(key, chance), _gap(chance))
                yield from (":", _gap(chance), *_pieces(part, chance), _gap(chance))
            yield "}"
        case list():
            yield from ("[", _gap(chance))
            for index, part in enumerate(value):
                yield from ("," + _gap(chance) if index else "", *_pieces(part, chance))
                yield _gap(chance)
            yield "]"
        case str():
            yield quote(value, chance)
        case bool() | None:
            yield json.dumps(value)
        case _:
            yield number(value, chance)


def quote(text: str, chance: random.Random) -> str:
    return '"' + "".join(_letter(letter, chance) for letter in text) + '"'


_SHORT = {'"': '"', "\\": "\\", "/": "/", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}


def _letter(letter: str, chance: random.Random) -> str:
    options = [] if letter in '"\\' or letter < " " else [letter, letter]
    if letter in _SHORT:
        options.append("\\" + _SHORT[letter])
    units = letter.encode("utf-16-be")
    escape = "".join(f"\\u{units[i] << 8 | units[i + 1]:04x}" for i in range(0, len(units), 2))
    options.append(escape)
    options.append(escape.upper().replace("\\U", "\\u"))
    return chance.choice(options)


def number(value: float, chance: random.Random) -> str:
    """One of the spellings that are promised even beside bounds and `integer`."""
    options = [f"{value:f}".rstrip("0") + "0", json.dumps(value)]
    if value == int(value):
        digits = str(abs(int(value)))
        stripped = digits.rstrip("0")
        options += [str(int(value)), f"{int(value)}.00"]
        if len(stripped) == 1:
            sign = "-" if value < 0 else ""
            options += [
                f"{sign}{stripped}e{len(digits) - 1}",
                f"{sign}{stripped}.0E+0{len(digits) - 1}",
            ]
    return chance.choice(options)


def read_exactly(text: str) -> Any:
    """A JSON text with its numbers as they are: 1e400 is a whole number, not infinity."""

    def number(digits: str) -> float | int:
        value = Decimal(digits)
        if value and value.adjusted() > 4000:
            return int(Decimal((value.as_tuple().sign, (1,), 4000)))
        return int(value) if value == value.to_integral_value() else float(value)

    return json.loads(text, parse_float=number)


def is_exact(text: str) -> bool:
    """Whether the validators see the numbers that are written, not some close to them."""
    exact: list[bool] = []

    def number(digits: str) -> float:
        value = Decimal(digits)
        near = not value or abs(value.adjusted()) < 300
        exact.append(near and Decimal(repr(float(digits))) == value)
        return 0.0

    json.loads(text, parse_float=number)
    return all(exact)
