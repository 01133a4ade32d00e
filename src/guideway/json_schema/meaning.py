"""Schemas as formulas over the atoms of one JSON type."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import TypeAlias, assert_never, cast

from guideway.errors import UnsupportedError
from guideway.json_schema.cases import contradicted
from guideway.json_schema.discriminators import Outlines, Unlike, exactly_one
from guideway.json_schema.formulas import (
    FALSE,
    TRUE,
    Among,
    Amount,
    Atom,
    Beside,
    Distinct,
    Every,
    Exact,
    Flag,
    Formula,
    Holds,
    Leaf,
    Named,
    Required,
    Some,
    Text,
    all_of,
    any_of,
    at_least,
    at_most,
    atoms,
    conjuncts,
    exact,
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
from guideway.json_schema.text import Json
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
_FEW = 4  # denied values that are expanded
_CONSTANT, _OPTION = 32, 16  # fuel for one listed array or object, and for one beside others


class Meaning:
    """The formulas of one document, made on demand."""

    def __init__(self, document: Document, style: JsonStyle) -> None:
        self.document = document
        self._spelling = style.spelling
        self._read: dict[tuple[Address, Kind], Formula] = {}
        self._denied: dict[tuple[Address, Kind], Formula] = {}
        self._turned: dict[Formula, Formula] = {}  # 2,000 tests of tests took 20 s one by one
        self.outlines = Outlines(document)
        self._constants: dict[Formula, Json] = {}  # arrays and objects, by their formulas

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
            held = self.schema(address, kind)
            options = held.parts if isinstance(held, Some) else (held,)
            if self._constants.keys() >= set(options):
                values = frozenset(exact(self._constants[option]) for option in options)
                found = leaf(Unlike(values))
                self._turned[found] = held  # with the order of its members
            else:
                found = self._turned.get(held) or opposite(held, self._turned)
            self._denied[key] = found
        return self._denied[key]

    def _schema(self, schema: Schema, kind: Kind) -> Formula:
        if kind not in schema.kinds:
            return FALSE
        parts, loose = [self._own_formula(schema, kind)], schema.objects.unevaluated
        if loose is schema.arrays.unevaluated is None and not schema.in_place:
            return parts[0]
        parts += [self._read[(part, kind)] for part in schema.all_of]
        for group in schema.any_of:
            parts.append(any_of(*(self._read[(branch, kind)] for branch in group)))
        for group in schema.one_of:
            parts.append(self._exactly_one(group, kind))
        parts += [self._opposite(part, kind) for part in schema.none_of]
        parts.append(self._condition(schema, kind))
        if kind == "object":
            for name, part in schema.objects.dependents:
                parts.append(any_of(Required(name).opposite(), self._read[(part, kind)]))
        if kind in ("object", "array"):
            parts.append(unevaluated(self, schema, kind))
        return all_of(*parts)

    def _exactly_one(self, group: tuple[Address, ...], kind: Kind) -> Formula:
        branches = [(part, self._read[(part, kind)]) for part in group]
        possible = [(part, formula) for part, formula in branches if formula is not FALSE]
        exclude = self.outlines.exclude
        # Not for objects: after `{` 50 had more choices than are tried.
        return exactly_one(
            [formula for _, formula in possible],
            lambda branch: self._opposite(possible[branch][0], kind),
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
                made = (
                    self._array(schema.arrays) if kind == "array" else self._object(schema.objects)
                )
                if schema.value is not None:
                    spend(_CONSTANT)
                    self._constants[made] = schema.value
                return made
            case _:
                assert_never(kind)

    def alternatives(self, formula: Formula) -> list[Formula]:
        """Formulas whose union is `formula`: one for each listed array or object, and the rest."""
        if isinstance(formula, Some):
            apart = dict.fromkeys(part for part in formula.parts if self._lists(part))
            plain = any_of(*(part for part in formula.parts if part not in apart))
            return [*apart, *(() if plain is FALSE else (plain,))]
        parts = formula.parts if isinstance(formula, Every) else ()
        for part in reversed(parts):  # the first list gives the order of members
            if isinstance(part, Some) and self._lists(part):
                others = [other for other in parts if other is not part]
                options = self.alternatives(part)
                spend(_OPTION * len(options))
                return [all_of(option, *self._undenied(option, others)) for option in options]
        return [replace(formula, _by_parts)]

    def _undenied(self, option: Formula, others: list[Formula]) -> list[Formula]:
        """Other conditions on a listed value; [FALSE] if one denies it."""
        if option not in self._constants:
            return others
        value, kept = exact(self._constants[option]), list[Formula]()
        for other in others:
            atom = other.atom if isinstance(other, Leaf) else None
            if not isinstance(atom, Unlike):
                kept.append(other)
            elif value in atom.values:
                return [FALSE]
        return kept

    def _lists(self, formula: Formula) -> bool:
        """Return True if some part in place of a formula is a listed array or object."""
        listed = self._constants
        return bool(listed) and (formula in listed or any(map(self._lists, formula.parts)))

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
            return leaf(Unlike(here)) if not sign else Unlike(here).opposite()
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


def _by_parts(atom: Atom) -> Formula | None:
    """The denial of a few values, by their parts: their members then need no formulas of their own.

    Otherwise a second name among 2,461 took .3 s (cryproj).
    """
    few = isinstance(atom, Unlike) and len(atom.values) <= _FEW
    return opposite(atom.opposite()) if few else None


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


MOST_ALTERNATIVES = 1 << 10
_DEEPEST = 200


@dataclass(frozen=True, slots=True)
class _Seen:
    """Evaluated parts: everything, or names, patterns, a prefix of items, some items."""

    all: bool = False
    names: frozenset[str] = frozenset()
    patterns: frozenset[Expr] = frozenset()
    count: int = 0
    holding: tuple[Formula, ...] = ()

    def join(self, other: "_Seen") -> "_Seen":
        return _Seen(
            self.all or other.all,
            self.names | other.names,
            self.patterns | other.patterns,
            max(self.count, other.count),
            tuple(dict.fromkeys(self.holding + other.holding)),
        )


_NOTHING = _Seen()
_Options: TypeAlias = "dict[tuple[Formula, _Seen], None]"
_ALWAYS: _Options = {(TRUE, _NOTHING): None}


def unevaluated(reader: Meaning, schema: Schema, kind: Kind) -> Formula:
    """Formula of `unevaluatedProperties` for objects, of `unevaluatedItems` for arrays."""
    held = schema.objects.unevaluated if kind == "object" else schema.arrays.unevaluated
    if held is None:
        return TRUE
    value, parts = reader.formula(held), list[Formula]()
    for condition, seen in _Finder(reader, kind, schema).around(schema, 0, outermost=True):
        rest = TRUE
        if not seen.all and kind == "object":
            rest = matching(Beside(seen.names, tuple(seen.patterns)), value)
        elif not seen.all:
            rest = items(seen.count, any_of(value, *seen.holding))
        parts.append(all_of(condition, rest))
    return any_of(*parts)


class _Finder:
    """Finds the parts that in-place subschemas evaluate, with their conditions."""

    def __init__(self, reader: Meaning, kind: Kind, root: Schema) -> None:
        self._reader, self._root = reader, root
        self._kind: Kind = kind

    def around(self, schema: Schema, depth: int, *, outermost: bool = False) -> _Options:
        if depth > _DEEPEST:
            raise self._too_many(f"look through more than {_DEEPEST} schemas in place")
        options: _Options = {(TRUE, self._own_parts(schema, outermost)): None}
        for part in schema.all_of:
            options = self._product(options, self._branch(part, depth))
        for group in schema.any_of:
            for branch in group:
                inside = self._branch(branch, depth)
                if list(inside) != list(_ALWAYS):
                    held = self._under(self._formula(branch), inside)
                    options = self._product(options, {**_ALWAYS, **held})
        for group in schema.one_of:
            each: _Options = {}
            for branch in group:
                each |= self._under(self._formula(branch), self._branch(branch, depth))
            options = self._product(options, each)
        options = self._product(options, self._conditional(schema, depth))
        for name, part in schema.objects.dependents if self._kind == "object" else ():
            held = self._under(leaf(Required(name)), self._branch(part, depth))
            options = self._product(options, {**_ALWAYS, **held})
        return options

    def _conditional(self, schema: Schema, depth: int) -> _Options:
        condition = schema.condition
        if condition is None:
            return _ALWAYS
        test = self._formula(condition.test)
        then = self._product(
            self._branch(condition.test, depth), self._branch(condition.then, depth)
        )
        otherwise = self._branch(condition.otherwise, depth)
        return self._under(test, then) | self._under(opposite(test), otherwise)

    def _branch(self, part: Address | None, depth: int) -> _Options:
        if part is None or part.startswith("="):  # enum and const evaluate nothing
            return _ALWAYS
        schema = self._reader.document.schemas[part]
        return self.around(schema, depth + 1) if self._kind in schema.kinds else _ALWAYS

    def _formula(self, part: Address) -> Formula:
        return self._reader.schema(part, self._kind)

    def _own_parts(self, schema: Schema, outermost: bool) -> _Seen:
        objects, arrays = schema.objects, schema.arrays
        if self._kind == "object":
            unevaluated = objects.unevaluated is not None and not outermost
            return _Seen(
                objects.additional is not None or unevaluated,
                frozenset(objects.properties),
                frozenset(keys for keys, _ in self._reader.matched(objects)),
            )
        unevaluated = arrays.unevaluated is not None and not outermost
        contains = arrays.contains
        marked = contains is not None and contains.marks
        return _Seen(
            arrays.items is not None or unevaluated,
            count=len(arrays.prefix),
            holding=(self._reader.formula(contains.schema),)
            if contains is not None and marked
            else (),
        )

    def _under(self, condition: Formula, options: _Options) -> _Options:
        return self._satisfiable((all_of(condition, other), seen) for other, seen in options)

    def _product(self, left: _Options, right: _Options) -> _Options:
        if right is _ALWAYS or left is _ALWAYS:
            return left if right is _ALWAYS else right
        return self._satisfiable(
            (all_of(first, second), here.join(there))
            for first, here in left
            for second, there in right
        )

    def _satisfiable(self, options: Iterable[tuple[Formula, _Seen]]) -> _Options:
        kept: _Options = {}
        for condition, seen in options:
            if condition is not FALSE:
                kept[(condition, seen)] = None
            if len(kept) > MOST_ALTERNATIVES:
                raise self._too_many(f"depend on more than {MOST_ALTERNATIVES} sets of branches")
        return kept

    def _too_many(self, why: str) -> UnsupportedError:
        name = "unevaluatedProperties" if self._kind == "object" else "unevaluatedItems"
        pointer = self._root.address.partition("#")[2]
        return UnsupportedError(f"{name} would {why}", feature=name, place=f"{pointer}/{name}")
