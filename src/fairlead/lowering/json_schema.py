"""JSON Schema to the core: the JSON texts of the instances that a schema allows.

Every array and object that a case allows becomes a rule, whose body is made later, from a list of
rules still to define. So nothing recurses here: nesting and chains of references have no depth,
what is shared is lowered once, and recursive schemas are rules that mention themselves. Strings,
numbers and literals are regular, and keywords about them meet in `both`.

Whether a part has an instance at all is for the automata to find out; they prune what has none, so
a property without an instance is never offered. `json_conflicts` then tells why.

What this module does not know: how JSON is spelled (`json_text`, `numbers`), how objects keep count
of their keys (`json_objects`), what schemas say together (`json_meets`).
"""

from functools import lru_cache, reduce
from itertools import combinations
from typing import assert_never, final

from fairlead.errors import UnsupportedError
from fairlead.lowering.expr import EMPTY, EPSILON, alt, both, concat, literal, optional, repeat
from fairlead.lowering.formats import lower_format
from fairlead.lowering.json_meets import Case, Meet, booleans, expand, surely_empty
from fairlead.lowering.json_objects import Members, json_object
from fairlead.lowering.json_text import QUOTE, JsonStyle, Spelling, json_style
from fairlead.lowering.nodes import Expr, Rule
from fairlead.lowering.numbers import digits_range, exactly, integer_range, number_range
from fairlead.lowering.regex import lower_regex, lower_search
from fairlead.lowering.unicode import SCALARS
from fairlead.syntax.json_schema import parse_json_schema
from fairlead.syntax.json_schema_source import JsonSchema
from fairlead.syntax.json_schema_tree import Document, Kind, Strings
from fairlead.syntax.regex import parse_regex


def lower_json_schema(source: JsonSchema) -> Expr:
    """The JSON texts that a schema allows.

    >>> schema = JsonSchema({"enum": [True, None]}, whitespace="compact")
    >>> lower_json_schema(schema) is alt(literal("true"), literal("null"))
    True

    Raises:
        SourceError, UnsupportedError, LimitError: as `parse_json_schema` says.
        UnsupportedError: branches of a `oneOf` that cannot be shown to exclude each other.
    """
    return Lowering(source).text()


@final
class Lowering:
    """The values of one document, lowered when they are first asked for."""

    def __init__(self, source: JsonSchema) -> None:
        self.document: Document = parse_json_schema(source)
        self._style: JsonStyle = json_style(source)
        self._values: dict[Meet, Expr] = {}
        self._rules: dict[tuple[Kind, Meet], Rule] = {}
        self._undefined: list[tuple[Rule, Kind, Case]] = []
        _check_one_of(self.document)

    def text(self) -> Expr:
        """A whole JSON text of the root."""
        value = self.value((self.document.root,))
        return concat(self._style.edge, value, self._style.edge)

    def value(self, meet: Meet) -> Expr:
        """The instances that satisfy all schemas of a meet, every rule in it defined."""
        value = self._value(meet)
        while self._undefined:
            rule, kind, case = self._undefined.pop()
            rule.define(self._array(case) if kind == "array" else self._object(case))
        return value

    def _value(self, meet: Meet) -> Expr:
        found = self._values.get(meet)
        if found is None:
            found = self._values[meet] = alt(
                *(
                    self._kind(kind, case)
                    for case in expand(self.document, meet)
                    for kind in sorted(case.kinds)
                )
            )
        return found

    def _kind(self, kind: Kind, case: Case) -> Expr:
        match kind:
            case "null":
                return literal("null")
            case "boolean":
                return alt(*(literal("true" if value else "false") for value in booleans(case)))
            case "number":
                return self._number(case)
            case "string":
                return concat(QUOTE, self._string(case), QUOTE)
            case "array" | "object":
                key = (kind, case.meet)
                rule = self._rules.get(key)
                if rule is None:
                    rule = self._rules[key] = Rule(f"{kind} {' '.join(case.meet) or 'any'}")
                    self._undefined.append((rule, kind, case))
                return rule
            case _:
                assert_never(kind)

    def _number(self, case: Case) -> Expr:
        numbers, plain = case.numbers(), self._style.spelling.plain
        lower, upper = next(iter(numbers.lower), None), next(iter(numbers.upper), None)
        given = numbers.values
        values = None if given is None else alt(*(exactly(v, plain=plain) for v in sorted(given)))
        if not numbers.integer:
            return number_range(lower, upper, plain=plain) if values is None else values
        if numbers.digits and not plain:
            shape = digits_range(lower, upper)
        else:
            shape = integer_range(lower, upper, plain=plain)
        return shape if values is None else both(values, shape)

    def _string(self, case: Case) -> Expr:
        """What is between the quotes."""
        spelling = self._style.spelling
        first, *others = case.strings()
        if first.values is not None:
            found = spelling.choose((value, EPSILON) for value in sorted(first.values))
        else:
            found = repeat(spelling.character(SCALARS), first.low, first.high)
            if others and (first.low, first.high) == (0, None):
                found = None
        parts = [found, *(part for other in others for part in self._shapes(other))]
        return reduce(both, (part for part in parts if part is not None))

    def _shapes(self, strings: Strings) -> list[Expr]:
        """The strings of a pattern and of a format."""
        spelling, shapes = self._style.spelling, list[Expr]()
        if strings.pattern is not None:
            shapes.append(lower_search(strings.pattern, spelling.character))
        if strings.format is not None:
            shapes.append(_format(strings.format, spelling))
        return shapes

    def _array(self, case: Case) -> Expr:
        """Items from the last to the first: what may follow the ones so far."""
        style, lengths = self._style, case.arrays()
        low, high = lengths.low, lengths.high
        single = max(case.prefix_length(), 1)  # how many items are written one by one
        if high is not None:
            single = min(single, high)
        more = concat(style.comma, self._value(case.item(single)))
        items = repeat(more, max(low - single, 0), None if high is None else high - single)
        for position in range(single - 1, -1, -1):
            items = concat(self._value(case.item(position)), items)
            if position:
                items = concat(style.comma, items)
                items = items if position < low else optional(items)
        filled = concat(items, style.closing) if single else EMPTY
        empty = EPSILON if low == 0 else EMPTY
        return concat(literal("["), style.opened, alt(filled, empty), literal("]"))

    def _object(self, case: Case) -> Expr:
        names, required = case.names(), case.required()
        keys = case.property_names()
        members = Members(
            names,
            tuple(self._value(case.property(name)) for name in names),
            tuple(name in required for name in names),
            self._value(case.additional()),
            self._keys(keys) if keys else None,
            self._style.ordered,
        )
        return json_object(members, self._style)

    def _keys(self, meet: Meet) -> Expr:
        """What property names may be, between their quotes."""
        cases = expand(self.document, meet)
        return alt(*(self._string(case) for case in cases if "string" in case.kinds))


@lru_cache(maxsize=32)
def _format(name: str, spelling: Spelling) -> Expr:
    """The strings of a format, kept: the second of 60 in a time makes 40 ms of work."""

    def match(pattern: str) -> Expr:
        return lower_regex(parse_regex(pattern, "ecma"), spelling.character)

    return lower_format(name, match)


def _check_one_of(document: Document) -> None:
    """Refuse a `oneOf` unless its branches exclude each other: then it is an `anyOf`."""
    for address, schema in document.schemas.items():
        for group in schema.one_of:
            for first, second in combinations(range(len(group)), 2):
                if not surely_empty(document, (group[first], group[second])):
                    raise UnsupportedError(
                        f"branches {first} and {second} of oneOf cannot be shown to exclude each "
                        "other: give them different types, or a required property with different "
                        "values (const or enum), or say anyOf",
                        feature="oneOf",
                        place=f"{address.partition('#')[2]}/oneOf",
                    )
