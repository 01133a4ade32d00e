"""JSON Schema to the core: the JSON texts of the instances that a schema allows.

What is said of a value is a formula (`json_meaning`). For each type it is restricted to that type:
null and booleans are evaluated, numbers and strings are regular, and every array and object becomes
a rule whose body is made when it is first entered. So nothing recurses here: nesting and chains of
references have no depth, what is shared is lowered once, and recursive schemas are rules that
mention themselves.

Objects and arrays of few cases are plain ones (`json_objects`; items in a row). Others are read
member by member against their formula (`json_members`, `json_items`).

Whether a part has an instance at all is for the automata to find out; they prune what has none, so
a property without an instance is never offered. `json_conflicts` then tells why.

What this module does not know: how JSON is spelled (`json_text`, `numbers`), what schemas say
together (`json_meaning`).
"""

from collections.abc import Callable
from typing import assert_never, final

from fairlead.lowering.expr import EMPTY, EPSILON, alt, concat, literal, optional, repeat
from fairlead.lowering.json_atoms import Flag, Holds, Item, Items, Longer, Shorter
from fairlead.lowering.json_cases import Case, cases
from fairlead.lowering.json_formulas import FALSE, Formula, all_of, holds, leaf
from fairlead.lowering.json_items import ItemsTemplate
from fairlead.lowering.json_keysets import Keysets
from fairlead.lowering.json_meaning import Meaning
from fairlead.lowering.json_members import MembersTemplate
from fairlead.lowering.json_objects import Members, json_object
from fairlead.lowering.json_scalars import number, text_content
from fairlead.lowering.json_tame import has_empty, is_tame
from fairlead.lowering.json_text import QUOTE, JsonStyle, json_style
from fairlead.lowering.nodes import Expr, Rule
from fairlead.syntax.json_schema import parse_json_schema
from fairlead.syntax.json_schema_source import JsonSchema
from fairlead.syntax.json_schema_tree import KINDS, Kind

_KINDS: tuple[Kind, ...] = tuple(sorted(KINDS))


def lower_json_schema(source: JsonSchema) -> Expr:
    """The JSON texts that a schema allows.

    >>> schema = JsonSchema({"enum": [True, None]}, whitespace="compact")
    >>> lower_json_schema(schema) is alt(literal("true"), literal("null"))
    True

    Raises:
        SourceError, UnsupportedError, LimitError: as `parse_json_schema` says.
    """
    return Lowering(source).text()


@final
class Lowering:
    """The values of one document, lowered when they are first asked for."""

    def __init__(self, source: JsonSchema) -> None:
        self.document = parse_json_schema(source)
        self._style: JsonStyle = json_style(source)
        self.meaning = Meaning(self.document, self._style.spelling)
        self.keysets = Keysets(self._style.spelling)
        self._tame = is_tame(self.document)
        self._values: dict[Formula, Expr] = {}
        self._kinds: dict[tuple[Kind, Formula], Expr] = {}
        self._rules: dict[tuple[Kind, Case | Formula], Rule] = {}

    def text(self) -> Expr:
        """A whole JSON text of the root."""
        value = self.value(leaf(Holds(self.document.root)))
        return concat(self._style.edge, value, self._style.edge)

    @property
    def rules(self) -> list[Rule]:
        """The rules so far; those that were entered have bodies."""
        return list(self._rules.values())

    def value(self, said: Formula) -> Expr:
        """The values that a formula allows."""
        found = self._values.get(said)
        if found is None:
            found = self._values[said] = alt(
                *(self._kind(kind, self.meaning.of(said, kind)) for kind in _KINDS)
            )
        return found

    def _kind(self, kind: Kind, said: Formula) -> Expr:
        if said is FALSE:
            return EMPTY
        key = (kind, said)
        found = self._kinds.get(key)
        if found is None:
            found = self._kinds[key] = self._lowered(kind, said)
        return found

    def _lowered(self, kind: Kind, said: Formula) -> Expr:
        match kind:
            case "null":
                return literal("null")
            case "boolean":
                return alt(*(_boolean(value) for value in (True, False) if _allows(said, value)))
            case "number":
                return number(said, plain=self._style.spelling.plain)
            case "string":
                return concat(QUOTE, text_content(said, self._style.spelling), QUOTE)
            case "array":
                return self._cases(kind, said, self._array)
            case "object":
                return self._cases(kind, said, self._object)
            case _:
                assert_never(kind)

    def _cases(self, kind: Kind, said: Formula, lower: Callable[[Case], Expr]) -> Expr:
        """A rule for each case, or one for all."""
        listed = cases(said)
        if listed is None:
            return self._rule(kind, said, lambda: self._general(kind, said))
        return alt(*(self._rule(kind, case, lambda case=case: lower(case)) for case in listed))

    def _rule(self, kind: Kind, key: Case | Formula, make: Callable[[], Expr]) -> Rule:
        found = self._rules.get((kind, key))
        if found is None:
            name = f"{kind} {len(self._rules)}"
            optional = self._tame and isinstance(key, tuple) and has_empty(key)
            found = self._rules[(kind, key)] = Rule(name, inhabited=optional, make=make)
        return found

    def _general(self, kind: Kind, said: Formula) -> Expr:
        judge = self.meaning.outlines
        if kind == "array":
            return ItemsTemplate(said, self.value, self._style, judge).start()
        return MembersTemplate(said, self.value, self._style, self.keysets, judge).start()

    # Arrays

    def _array(self, case: Case) -> Expr:
        """Items from the last to the first: what may follow the ones so far."""
        if not all(isinstance(atom, Item | Items | Longer | Shorter) for atom in case):
            return self._general("array", all_of(*map(leaf, case)))
        style = self._style
        low = max((atom.count for atom in case if isinstance(atom, Longer)), default=0)
        high = min((atom.count for atom in case if isinstance(atom, Shorter)), default=None)
        single = max(1, prefix_length(case))  # how many items are written one by one
        if high is not None:
            single = min(single, high)
        more = concat(style.comma, self.value(item_of(case, single)))
        found = repeat(more, max(low - single, 0), None if high is None else high - single)
        for position in range(single - 1, -1, -1):
            found = concat(self.value(item_of(case, position)), found)
            if position:
                found = concat(style.comma, found)
                found = found if position < low else optional(found)
        filled = concat(found, style.closing) if single else EMPTY
        empty = EPSILON if low == 0 else EMPTY
        return concat(literal("["), style.opened, alt(filled, empty), literal("]"))

    # Objects

    def _object(self, case: Case) -> Expr:
        plain = self.keysets.plain(case)
        if plain is None:
            return self._general("object", all_of(*map(leaf, case)))
        members = Members(
            plain.names,
            tuple(self.value(value) for value in plain.values),
            plain.required,
            self.value(plain.others),
            plain.allowed,
            self._style.ordered,
            self._tame,
        )
        return json_object(members, self._style)


def _boolean(value: bool) -> Expr:
    return literal("true" if value else "false")


def _allows(said: Formula, value: bool) -> bool:
    return holds(said, lambda atom: isinstance(atom, Flag) and value in atom.values)


def prefix_length(case: Case) -> int:
    """From this position on all items are the same."""
    positions = [atom.position + 1 for atom in case if isinstance(atom, Item)]
    positions += [atom.start for atom in case if isinstance(atom, Items)]
    return max(positions, default=0)


def item_of(case: Case, position: int) -> Formula:
    """What is said of the item at a position."""
    parts: list[Formula] = []
    for atom in case:
        match atom:
            case Item(at, value) if at == position:
                parts.append(value)
            case Items(start, value) if start <= position:
                parts.append(value)
            case _:
                pass
    return all_of(*parts)
