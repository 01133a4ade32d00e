"""Schemas as formulas over the atoms of one JSON type."""

from collections import defaultdict
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import TypeAlias, assert_never, cast

from guideway.json_schema.cases import contradicted
from guideway.json_schema.discriminators import (
    Like,
    Outlines,
    Unlike,
    any_like,
    exactly,
    exactly_one,
    like,
    like_one,
    list_of,
    merged,
    unevaluated,
)
from guideway.json_schema.formulas import (
    FALSE,
    TRUE,
    Among,
    Amount,
    Atom,
    Beside,
    Constants,
    Distinct,
    Exact,
    Flag,
    Formula,
    Holds,
    Leaf,
    Named,
    Required,
    Text,
    all_of,
    any_of,
    at_least,
    at_most,
    atoms,
    conjuncts,
    holding,
    item,
    items,
    leaf,
    matching,
    named,
    opposite,
    replace,
)
from guideway.json_schema.key_classes import any_of_strings, strings_with
from guideway.json_schema.scalars import text_content
from guideway.json_schema.spelling import JsonStyle
from guideway.json_schema.tree import (
    Address,
    Arrays,
    Document,
    Kind,
    Numbers,
    Objects,
    Schema,
    Strings,
)
from guideway.language.expr import complement
from guideway.language.fuel import spend
from guideway.language.nodes import Expr

_ANY_NUMBER, _ANY_STRING = Numbers(), Strings()


class Meaning:
    """The formulas of one document, made on demand."""

    def __init__(self, document: Document, style: JsonStyle) -> None:
        self.document = document
        self._ordered = style.ordered
        self.listing = True  # keep an `enum` as a list of values, instead of part by part
        self.lists = False  # True once a formula may list values
        self._spelling = style.spelling
        self._read: dict[tuple[Address, Kind], Formula] = {}
        self._denied: dict[tuple[Address, Kind], Formula] = {}
        self._turned: dict[Formula, Formula] = {}  # 2,000 tests of tests took 20 s one by one
        self.outlines = Outlines(document)
        self._constants = Constants()

    def formula(self, address: Address | None) -> Formula:
        """The formula that a schema holds; TRUE for None or a schema without conditions."""
        if address is None:
            return TRUE
        if not self.document.restricts(address):  # without reading it
            schema = self.document.schemas[address]
            if not schema.kinds:
                return FALSE
            if not schema.keywords:
                return TRUE
        return leaf(Holds(self.document.first(address)))

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
            found.setdefault(self.formula(part), []).append(keys)
        return [(any_of_strings(keys), formula) for formula, keys in found.items()]

    def _opposite(self, address: Address, kind: Kind) -> Formula:
        key = (address, kind)
        if key not in self._denied:
            self._denied[key] = opposite(self.schema(address, kind), self._turned)
        return self._denied[key]

    def _schema(self, schema: Schema, kind: Kind) -> Formula:
        if kind not in schema.kinds:
            return FALSE
        parts, loose = [self._own_formula(schema, kind)], schema.objects.unevaluated
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
        if kind in ("object", "array"):
            parts.append(unevaluated(self, schema, kind))
        return merged(all_of(*parts))

    def _exactly_one(self, group: tuple[Address, ...], kind: Kind) -> Formula:
        branches = [(part, self._read[(part, kind)]) for part in group]
        possible = [(part, formula) for part, formula in branches if formula is not FALSE]
        lists = [list_of(formula) for _, formula in possible]
        if all(lists):
            return like_one(filter(None, lists))
        exclude = self.outlines.exclude
        # Not for objects: after `{` 50 had more choices than are tried.
        return exactly_one(
            [formula for _, formula in possible],
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

    def _own_formula(self, schema: Schema, kind: Kind) -> Formula:
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
                if schema.value is None or not self.listing:
                    return self._part_by_part(schema, kind)
                self.lists = True
                places = (schema.address,) if self._ordered else ()
                return like((self._constants.value(schema),), places)
            case _:
                assert_never(kind)

    def _part_by_part(self, schema: Schema, kind: Kind) -> Formula:
        return self._array(schema.arrays) if kind == "array" else self._object(schema.objects)

    def spelled_out(self, listed: Like) -> list[Formula]:
        """The listed values part by part, members in the order of the schemas."""
        found: list[Formula] = []
        for value in self._constants.in_order(listed.values):
            places = [each for each in self._constants.places(value) if each in listed.places]
            schemas = [self.document.schemas[place] for place in places]
            found += [self._part_by_part(one, value[0]) for one in schemas] or [exactly(value)]
        return found

    def _array(self, arrays: Arrays) -> Formula:
        parts = [item(position, self.formula(part)) for position, part in enumerate(arrays.prefix)]
        parts.append(items(len(arrays.prefix), self.formula(arrays.items)))
        parts.append(at_least(arrays.low))
        if arrays.high is not None:
            parts.append(at_most(arrays.high))
        if arrays.contains is not None:
            contains = arrays.contains
            parts.append(holding(self.formula(contains.schema), contains.low, contains.high))
        if arrays.unique:
            parts.append(leaf(Distinct()))
        return all_of(*parts)

    def _object(self, objects: Objects) -> Formula:
        patterns = self.matched(objects)
        parts = [leaf(Named(name, self.formula(part))) for name, part in objects.properties.items()]
        parts += [leaf(Required(name)) for name in objects.required]
        parts += [matching(keys, formula) for keys, formula in patterns]
        if objects.additional is not None:
            beside = Beside(frozenset(objects.properties), tuple(keys for keys, _ in patterns))
            parts.append(matching(beside, self.formula(objects.additional)))
        names = self.of(self.formula(objects.names), "string")
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


_MOST_CONSTANTS = 64
_FEWEST_TESTS = 3
_LISTING = frozenset(("enum", "const", "type"))
_SCALARS = frozenset(("null", "boolean", "number", "string"))
_Constants: TypeAlias = "frozenset[Exact]"


class ConstantSplit:
    """Splits formulas about objects by the constant that one member is.

    Without it jfrog-pipelines, whose steps have one of 30 types, has too many alternatives.
    """

    def __init__(self, meaning: Meaning) -> None:
        self._meaning = meaning

    def parts(self, formula: Formula) -> list[Formula]:
        """Disjoint formulas that cover `formula`; only `formula` if no split helps."""
        name, constants = self._best(formula)
        if not constants:
            return [formula]
        is_there, other = leaf(Required(name)), leaf(Among(constants, False))
        absent = all_of(named(name, FALSE), _member(formula, name, None))
        another = _member(formula, name, lambda atom: self._with_another(atom, constants))
        groups: defaultdict[Formula, set[Exact]] = defaultdict(set)
        for constant in sorted(constants, key=repr):
            rest = _member(formula, name, partial(self._with_constant, constant=constant))
            groups[rest].add(constant)
            spend(1)
        chosen = (
            all_of(is_there, named(name, leaf(Among(frozenset(values)))), rest)
            for rest, values in groups.items()
        )
        others = all_of(is_there, named(name, other), another)
        return [part for part in (*chosen, others, absent) if not _is_excluded(part)]

    def _best(self, formula: Formula) -> tuple[str, _Constants]:
        """The member that most tests compare with constants, and these constants."""
        tests: defaultdict[str, dict[Formula, _Constants]] = defaultdict(dict)
        for atom in atoms(formula):
            if isinstance(atom, Named):
                compared = [self._constants(one) for one in atoms(atom.value)]
                tests[atom.name][atom.value] = frozenset[Exact]().union(*compared)
        best, found = "", frozenset[Exact]()
        most = _FEWEST_TESTS - 1
        for name, listed in tests.items():
            count = sum(bool(constants) for constants in listed.values())
            constants = frozenset[Exact]().union(*listed.values())
            if count > most and len(constants) <= _MOST_CONSTANTS:
                best, found, most = name, constants, count
        return best, found

    def _constants(self, atom: Atom) -> _Constants:
        """All constants that an atom admits or excludes; empty if unknown."""
        match atom:
            case Among(values):
                return values if all(kind in _SCALARS for kind, _ in values) else frozenset()
            case Holds(schema):
                outline = self._meaning.outlines.of(schema)
            case _:
                raise TypeError(f"{atom} says nothing about a value")
        if outline.scalars is None or not outline.kinds <= _SCALARS:
            return frozenset()
        return frozenset(value for value in outline.scalars if value[0] in outline.kinds)

    def _with_another(self, atom: Atom, constants: _Constants) -> Formula | None:
        """The value of an atom for a value that is no constant; None if unknown."""
        found = self._constants(atom)
        only = bool(found) and found <= constants
        return _truth(not _sign(atom)) if only else None

    def _with_constant(self, atom: Atom, constant: Exact) -> Formula | None:
        """The value of an atom for a constant; None if unknown."""
        if isinstance(atom, Among):
            return _truth((constant in atom.values) is atom.sign)
        address = cast("Holds", atom).schema  # the only other atoms about values
        outline = self._meaning.outlines.of(address)
        if outline.scalars is None:
            return None
        if constant not in outline.scalars or constant[0] not in outline.kinds:
            return _truth(not _sign(atom))
        schema = self._meaning.document.schemas[address]
        sure = _LISTING.issuperset(schema.keywords) and not schema.numbers.integer
        return _truth(_sign(atom)) if sure else None


def _truth(holds: bool) -> Formula:
    return TRUE if holds else FALSE


def _is_excluded(part: Formula) -> bool:
    return part is FALSE or contradicted(
        {p.atom: None for p in conjuncts(part) if isinstance(p, Leaf)}
    )


def _sign(atom: Atom) -> bool:
    return isinstance(atom, (Holds, Among)) and atom.sign


def _member(formula: Formula, name: str, test: Callable[[Atom], Formula | None] | None) -> Formula:
    """The formula if a member is absent (None), or if its value passes a test."""

    def change(atom: Atom) -> Formula | None:
        match atom:
            case Named(other, value) if other == name:
                return TRUE if test is None else named(name, replace(value, test))
            case Required(other) if other == name:
                return FALSE if test is None else TRUE
            case _:
                return None

    return replace(formula, change)
