"""Meaning of schemas for values of one type: a formula over the atoms of that type."""

from collections.abc import Callable
from decimal import Decimal
from typing import assert_never, final

from guideway.lowering.expr import complement
from guideway.lowering.fuel import spend
from guideway.lowering.json_alike import Alike
from guideway.lowering.json_atoms import (
    Among,
    Amount,
    Beside,
    Distinct,
    Flag,
    Holds,
    Named,
    Required,
    Text,
    at_least,
    at_most,
    holding,
    item,
    items,
    longer,
    matching,
    shorter,
)
from guideway.lowering.json_constants import Constants, is_constant
from guideway.lowering.json_exclusive import Outlines, exactly_one
from guideway.lowering.json_formulas import (
    FALSE,
    TRUE,
    Atom,
    Every,
    Formula,
    Leaf,
    all_of,
    any_of,
    leaf,
    opposite,
    replace,
)
from guideway.lowering.json_given import Like, Unlike, any_like, exactly, like, merged
from guideway.lowering.json_patterns import any_of_strings, strings_with
from guideway.lowering.json_scalars import text_content
from guideway.lowering.json_text import JsonStyle
from guideway.lowering.json_unevaluated import unevaluated_items, unevaluated_members
from guideway.lowering.json_values import Exact
from guideway.lowering.nodes import Expr
from guideway.syntax.json_schema_tree import (
    Address,
    Arrays,
    Document,
    Kind,
    Numbers,
    Objects,
    Schema,
    Strings,
)

_ANY_NUMBER, _ANY_STRING = Numbers(), Strings()


@final
class Meaning:
    """The formulas of one document, made on demand."""

    def __init__(
        self,
        document: Document,
        style: JsonStyle,
        alike: Callable[[Address], Address] | None = None,
    ) -> None:
        self.document = document
        self._ordered = style.ordered
        self.listing = True  # keep an `enum` as a list of values, instead of part by part
        self.lists = False  # True once a formula may list values
        self._first = Alike(document).first if alike is None else alike
        self._spelling = style.spelling
        self._read: dict[tuple[Address, Kind], Formula] = {}
        self._denied: dict[tuple[Address, Kind], Formula] = {}
        self._turned: dict[Formula, Formula] = {}  # 2,000 tests of tests took 20 s one by one
        self.outlines = Outlines(document)
        self.constants = Constants(document)
        self._impossible: dict[Formula, bool] = {}

    def impossible(self, value: Formula) -> bool:
        """Return True if a formula plainly has no value of any type."""
        found = self._impossible.get(value)
        if found is None:
            found = self.outlines.impossible(value) or (
                isinstance(value, Every)
                and not any(self._left(value, kind) for kind in self.outlines.kinds(value))
            )
            self._impossible[value] = found
        return found

    def _left(self, value: Formula, kind: Kind) -> bool:
        return self.of(value, kind) is not FALSE

    def said(self, address: Address | None) -> Formula:
        """The formula that a schema holds; TRUE for None or a schema without conditions."""
        if address is None:
            return TRUE
        if not self.document.speaks(address):  # without reading it
            schema = self.document.schemas[address]
            if not schema.kinds:
                return FALSE
            if not schema.keywords:
                return TRUE
        return leaf(Holds(self._first(address)))

    def of(self, value: Formula, kind: Kind) -> Formula:
        if isinstance(value, Leaf) and isinstance(value.atom, Holds) and value.atom.sign:
            return self.schema(value.atom.schema, kind)  # nearly all values

        def change(atom: Atom) -> Formula:
            match atom:
                case Holds(schema, sign):
                    return self.schema(schema, kind) if sign else self._opposite(schema, kind)
                case Among(values, sign):
                    self.lists = True
                    return _among(values, sign, kind)
                case _:
                    raise TypeError(f"{atom} says nothing about a value")

        return replace(value, change)

    def schema(self, address: Address, kind: Kind) -> Formula:
        found = self._read.get((address, kind))
        if found is not None:
            return found
        if kind not in self.document.schemas[address].kinds:
            return FALSE
        stack = [address]
        while stack:
            key = (stack[-1], kind)
            schema = self.document.schemas[stack[-1]]
            missing: list[Address] = []
            if key not in self._read and kind in schema.kinds:
                missing = [part for part in schema.in_place if (part, kind) not in self._read]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            if key not in self._read:
                spend(1 + len(schema.in_place))
                self._read[key] = self._schema(schema, kind)
        return self._read[(address, kind)]

    def matched(self, objects: Objects) -> list[tuple[Expr, Formula]]:
        """Key patterns, joined if their values have the same formula."""
        found: dict[Formula, list[Expr]] = {}
        for pattern, part in objects.patterns:
            keys = strings_with(pattern, self._spelling)
            found.setdefault(self.said(part), []).append(keys)
        return [(any_of_strings(keys), said) for said, keys in found.items()]

    def _opposite(self, address: Address, kind: Kind) -> Formula:
        key = (address, kind)
        if key not in self._denied:
            many = frozenset[Exact]() if self.listing else self.constants.many(address, kind)
            self.lists |= bool(many)
            self._denied[key] = (
                leaf(Unlike(many)) if many else opposite(self.schema(address, kind), self._turned)
            )
        return self._denied[key]

    def _schema(self, schema: Schema, kind: Kind) -> Formula:
        if kind not in schema.kinds:
            return FALSE
        parts, loose = [self._own(schema, kind)], schema.objects.unevaluated
        if loose is schema.arrays.unevaluated is None and not schema.in_place:
            return parts[0]
        parts += [self._read[(part, kind)] for part in schema.all_of]
        for group in schema.any_of:
            parts.append(any_like(self._read[(branch, kind)] for branch in group))
        for group in schema.one_of:
            parts.append(self._exactly_one(group, kind))
        parts += [self._opposite(part, kind) for part in schema.none_of]
        parts.append(self._condition(schema, kind))
        if kind == "object":
            for name, part in schema.objects.dependents:
                parts.append(any_of(Required(name).opposite(), self._read[(part, kind)]))
            parts.append(unevaluated_members(self, schema))
        if kind == "array":
            parts.append(unevaluated_items(self, schema))
        return merged(all_of(*parts))

    def _exactly_one(self, group: tuple[Address, ...], kind: Kind) -> Formula:
        branches = [(part, self._read[(part, kind)]) for part in group]
        possible = [(part, said) for part, said in branches if said is not FALSE]
        if self.constants.differ([part for part, _ in possible]):
            return any_of(*(said for _, said in possible))
        exclude = self.outlines.exclude
        # Not for objects: after `{` 50 had more choices than are tried.
        return exactly_one(
            [said for _, said in possible],
            lambda first, second: exclude(possible[first][0], possible[second][0], kind),
            halved=kind == "string",
        )

    def _condition(self, schema: Schema, kind: Kind) -> Formula:
        condition = schema.condition
        if condition is None or condition.then is condition.otherwise is None:
            return TRUE
        test, denied = self._read[(condition.test, kind)], self._opposite(condition.test, kind)
        then, otherwise = (
            TRUE if part is None else self._read[(part, kind)]
            for part in (condition.then, condition.otherwise)
        )
        # With the test on both sides, a member that decides it leaves one of them.
        return any_of(all_of(test, then), all_of(denied, otherwise))

    def _own(self, schema: Schema, kind: Kind) -> Formula:
        match kind:
            case "null":
                return TRUE
            case "boolean":
                return TRUE if len(schema.booleans) == 2 else _flag(schema.booleans)
            case "number":
                plain = schema.numbers == _ANY_NUMBER
                return TRUE if plain else leaf(Amount(schema.numbers))
            case "string":
                plain = schema.strings == _ANY_STRING
                return TRUE if plain else leaf(Text(schema.strings))
            case "array" | "object":
                if not (self.listing and is_constant(schema)):
                    return self._part_by_part(schema, kind)
                self.lists = True
                address = schema.address
                return like((self.constants.value(address),), (address,) if self._ordered else ())
            case _:
                assert_never(kind)

    def _part_by_part(self, schema: Schema, kind: Kind) -> Formula:
        return self._array(schema.arrays) if kind == "array" else self._object(schema.objects)

    def spelled_out(self, listed: Like) -> list[Formula]:
        """The listed values part by part, members in the order of the schemas."""
        found: list[Formula] = []
        for value in self.constants.in_order(listed.values):
            places = [each for each in self.constants.places(value) if each in listed.places]
            schemas = [self.document.schemas[place] for place in places]
            found += [self._part_by_part(one, value[0]) for one in schemas] or [exactly(value)]
        return found

    def _array(self, arrays: Arrays) -> Formula:
        parts = [item(position, self.said(part)) for position, part in enumerate(arrays.prefix)]
        parts.append(items(len(arrays.prefix), self.said(arrays.items)))
        parts.append(longer(arrays.low))
        if arrays.high is not None:
            parts.append(shorter(arrays.high))
        if arrays.contains is not None:
            contains = arrays.contains
            parts.append(holding(self.said(contains.schema), contains.low, contains.high))
        if arrays.unique:
            parts.append(leaf(Distinct()))
        return all_of(*parts)

    def _object(self, objects: Objects) -> Formula:
        patterns = self.matched(objects)
        parts = [leaf(Named(name, self.said(part))) for name, part in objects.properties.items()]
        parts += [leaf(Required(name)) for name in objects.required]
        parts += [matching(keys, said) for keys, said in patterns]
        if objects.additional is not None:
            beside = Beside(frozenset(objects.properties), tuple(keys for keys, _ in patterns))
            parts.append(matching(beside, self.said(objects.additional)))
        names = self.of(self.said(objects.names), "string")
        if names is not TRUE:
            parts.append(matching(complement(text_content(names, self._spelling)), FALSE))
        parts.append(at_least(objects.low))
        if objects.high is not None:
            parts.append(at_most(objects.high))
        for name, others in objects.needs:
            needed = all_of(*(leaf(Required(other)) for other in others))
            parts.append(any_of(Required(name).opposite(), needed))
        return all_of(*parts)


def _flag(values: frozenset[bool]) -> Formula:
    return leaf(Flag(values)) if values else FALSE


def _among(values: frozenset[Exact], sign: bool, kind: Kind) -> Formula:
    here = frozenset(value for value in values if value[0] == kind)
    if not here:
        return TRUE if not sign else FALSE
    contents = [value[1] for value in here]
    match kind:
        case "null":
            return TRUE if sign else FALSE
        case "boolean":
            chosen = frozenset(content is True for content in contents)
            return _flag(chosen if sign else frozenset((True, False)) - chosen)
        case "number":
            amounts = frozenset(content for content in contents if isinstance(content, Decimal))
            return leaf(Amount(Numbers(values=amounts), sign))
        case "string":
            texts = frozenset(content for content in contents if isinstance(content, str))
            return leaf(Text(Strings(values=texts), sign))
        case "array" | "object":
            return like(here) if sign else leaf(Unlike(here))
        case _:
            assert_never(kind)
