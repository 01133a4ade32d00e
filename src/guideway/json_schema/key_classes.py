"""Classes of property names that no keyword distinguishes."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final, TypeAlias
from weakref import WeakKeyDictionary

from guideway.errors import LimitError, SourceError, UnsupportedError
from guideway.json_schema.discriminators import Unlike
from guideway.json_schema.formulas import (
    FALSE,
    Atom,
    Beside,
    Formula,
    Found,
    Keys,
    Matching,
    Named,
    Required,
    all_of,
    members_of,
)
from guideway.json_schema.satisfiability.parts import is_plain_pattern
from guideway.json_schema.spelling import Spelling
from guideway.language import regular
from guideway.language.expr import ANYTHING, alt, both, complement
from guideway.language.fuel import paying, spend
from guideway.language.nodes import Expr
from guideway.language.regular import contains
from guideway.language.values import by_identity, by_value
from guideway.regex.lowering import lower_search
from guideway.regex.parser import parse_search
from guideway.regex.tree import Pattern

_found: "WeakKeyDictionary[Expr, Pattern]" = WeakKeyDictionary()
_parts: "WeakKeyDictionary[Expr, frozenset[Expr]]" = WeakKeyDictionary()  # of what has any of many


@lru_cache(maxsize=512)
def strings_with(pattern: Pattern, spelling: Spelling) -> Expr:
    """The strings in which a pattern is found, without their quotes.

    Raises:
        UnsupportedError, LimitError: as `lower_search` says.
    """
    made = lower_search(pattern, spelling.character)
    _found[made] = pattern
    return made


def plainly_lowers(pattern: str) -> bool:
    """Return True if a pattern is well formed and needs no product of automata."""
    spend(len(pattern))
    return is_plain_pattern(pattern)


@lru_cache(maxsize=512)
def lowers(spelling: Spelling, pattern: str) -> bool:
    """Return True if a pattern is well formed and has an automaton, which is then cached."""
    if plainly_lowers(pattern):
        return True
    try:
        strings_with(parse_search(pattern), spelling)
    except (SourceError, UnsupportedError):
        return False
    return True


def any_of_strings(parts: Iterable[Expr]) -> Expr:
    """The union of some sets, each made by `strings_with`."""
    listed = dict.fromkeys(parts)
    made = alt(*listed)
    if made not in listed:
        _parts[made] = frozenset(listed)
    return made


@lru_cache(maxsize=1 << 14)
def has_string(strings: Expr, text: str, spelling: Spelling) -> bool:
    """Return True if a set of strings has this one.

    >>> from guideway.regex.parser import parse_regex
    >>> spelling = Spelling(plain=False)
    >>> has_string(strings_with(parse_regex("^x-", "ecma"), spelling), "x-a", spelling)
    True
    """
    listed = ((part, _plain(part)) for part in _parts.get(strings, (strings,)))
    return any(
        contains(part, spelling.write(text)) if plain is None else contains(plain, text.encode())
        for part, plain in listed
    )


@lru_cache(maxsize=1 << 17)  # pairs of 255 patterns that exclude each other
def surely_apart(first: Expr, second: Expr) -> bool:
    """Return True if short searches show that two sets are disjoint."""
    others = _parts.get(second, (second,))
    return all(_search_apart(one, other) for one in _parts.get(first, (first,)) for other in others)


def _search_apart(first: Expr, second: Expr) -> bool:
    plain, other = _plain(first), _plain(second)
    if plain is None or other is None:
        return regular.surely_apart(first, second)
    return regular.surely_apart(plain, other)


def surely_within(first: Expr, second: Expr) -> bool:
    """Return True if the patterns of two sets show that the second includes the first."""
    return _parts.get(first, frozenset((first,))) <= _parts.get(second, frozenset((second,)))


def _plain(strings: Expr) -> Expr | None:
    pattern = _found.get(strings)
    return None if pattern is None else _utf8(pattern)


@lru_cache(maxsize=4096)
def _utf8(pattern: Pattern) -> Expr:
    return lower_search(pattern)


MOST_CLASSES = 1024
_MOST_LATER = 1 << 14  # after compiling, where more classes only take longer
_FEW = 8  # key languages whose classes are all made
NO_RULES: Final[Mapping[Expr, bool]] = MappingProxyType({})


@by_value
class KeyClass:
    """Keys that no atom distinguishes: one name, or a class with `content` between the quotes.

    `inside`: the key languages that contain them.
    """

    name: str | None
    content: Expr
    inside: frozenset[Expr]

    def among(self, keys: Keys) -> bool:
        """Return True if `keys` contains this class."""
        if isinstance(keys, Beside):
            return self.name not in keys.names and not self.inside.intersection(keys.patterns)
        return keys in self.inside


_Part: TypeAlias = tuple[tuple[Expr, ...], tuple[Expr, ...]]
"""The languages that keys are in, and those that they are not in and otherwise might be."""


@by_identity
class Members:
    """Members of an object that say nothing of one another.

    Attributes:
        values: of each name; EMPTY if it may not come.
        classes: disjoint sets of undeclared keys, between their quotes, with their values; None for
            all other keys. A set may include names.
        lazy: True if no value can be refused, so that values may be made lazily.
    """

    names: tuple[str, ...]
    values: tuple[Expr, ...]
    required: tuple[bool, ...]
    classes: "tuple[tuple[Expr | None, Expr], ...]" = ()
    lazy: bool = False


class Keysets:
    """Divides keys, as texts spell them, into names and classes."""

    def __init__(self, spelling: Spelling) -> None:
        self._spelling = spelling

    def names(self, atoms: Iterable[Atom]) -> list[KeyClass]:
        """Names that atoms mention: first those with values, then those only required."""
        listed = list(atoms)
        found = dict.fromkeys(atom.name for atom in listed if isinstance(atom, Named))
        found |= dict.fromkeys(atom.name for atom in listed if isinstance(atom, Required))
        for atom in listed:
            if isinstance(atom, (Matching, Found)) and isinstance(atom.keys, Beside):
                found |= dict.fromkeys(sorted(atom.keys.names.difference(found)))
            elif isinstance(atom, Unlike):
                found |= dict.fromkeys(sorted({n for v in atom.values for n in members_of(v)}))
        languages = _languages(listed)
        return [self._name(name, languages) for name in found]

    def classes(
        self, atoms: Iterable[Atom], ruled: Mapping[Expr, bool] = NO_RULES
    ) -> list[KeyClass]:
        """All other keys, by the patterns they match; names are not removed from them.

        `ruled` maps a language to True if all keys must match it, or False if none may.
        """
        languages = _languages(atoms)
        parts: list[_Part] = [((), ())]
        for language in languages:
            rule = ruled.get(language)
            inside = [self._narrowed(part, language) for part in parts if rule is not False]
            outside = [self._outside(part, language) for part in parts if not rule]
            parts = [part for part in (*inside, *outside) if part is not None]
            spend(len(parts))
            most = MOST_CLASSES if paying() else _MOST_LATER
            if len(parts) > most + len(languages):
                raise LimitError(
                    f"key patterns overlap in more than {most} ways",
                    limit="classes of keys",
                    given=most,
                    needed=len(parts) - len(languages),
                )
        return [KeyClass(None, _content(*part), frozenset(part[0])) for part in parts]

    def is_of(self, name: str, part: KeyClass, languages: Iterable[Expr]) -> bool:
        """Return True if a key is in a class, as far as `languages` distinguish."""
        return all(
            has_string(keys, name, self._spelling) == (keys in part.inside) for keys in languages
        )

    def members(
        self, case: tuple[Atom, ...], value: Callable[[Formula], Expr], *, ordered: bool
    ) -> Members | None:
        """The members of a case; None if it counts, or has several classes of keys in order."""
        if not all(isinstance(atom, (Named, Required, Matching)) for atom in case):
            return None
        languages = _languages(case)
        ruled = _ruled(case) if len(languages) > _FEW else NO_RULES
        names, classes = self.names(case), self.classes(case, ruled)
        about = by_name(case)
        kept: defaultdict[Formula, list[KeyClass]] = defaultdict(list)
        for part in classes:
            kept[formula_of(about[None], part)].append(part)
        unlimited = len(kept) == 1 and not ruled
        kept.pop(FALSE, None)
        if ordered and len(kept) > 1:
            return None
        required = {atom.name for atom in case if isinstance(atom, Required)}
        return Members(
            tuple(str(name.name) for name in names),
            tuple(value(formula_of(about[name.name], name)) for name in names),
            tuple(name.name in required for name in names),
            tuple(
                (None if unlimited else self._united(parts, classes, ruled), value(rule))
                for rule, parts in kept.items()
            ),
        )

    def _united(
        self, parts: list[KeyClass], classes: list[KeyClass], ruled: Mapping[Expr, bool]
    ) -> Expr:
        if not ruled and [part for part in classes if part.inside] == parts:
            return alt(*{keys: None for part in parts for keys in part.inside})  # any pattern
        return alt(*map(self.content, parts))

    def content(self, part: KeyClass) -> Expr:
        """The keys of a class, or a name, between their quotes."""
        if part.name is not None:
            return self._spelling.text(part.name)
        return both(self._spelling.content, part.content)

    def _name(self, name: str, languages: Iterable[Expr]) -> KeyClass:
        inside = frozenset(keys for keys in languages if has_string(keys, name, self._spelling))
        return KeyClass(name, ANYTHING, inside)

    def _narrowed(self, part: _Part, language: Expr) -> _Part | None:
        """The keys of a class that are in a language, too; None if there plainly are none."""
        inside, outside = part
        if any(surely_apart(language, other) for other in inside):
            return None
        # Languages that exclude this one are implied: for 255 keys, each matched by one pattern,
        # their complements cost 8 s until the first value instead of .8.
        met = tuple(other for other in outside if not surely_apart(language, other))
        return (*inside, language), met

    def _outside(self, part: _Part, language: Expr) -> _Part | None:
        """The keys of a class that are not in a language; None if there plainly are none."""
        inside, outside = part
        if any(surely_apart(language, other) for other in inside):
            return part
        if any(surely_within(other, language) for other in inside):
            return None
        return inside, (*outside, language)


def formula_of(atoms: Iterable[Atom], key: KeyClass) -> Formula:
    """The formula of the value of a key, from atoms that all hold."""
    parts: list[Formula] = []
    for atom in atoms:
        if type(atom) is Named:
            if atom.name == key.name:
                parts.append(atom.value)
        elif type(atom) is Matching and key.among(atom.keys):
            parts.append(atom.value)
    return parts[0] if len(parts) == 1 else all_of(*parts)


def by_name(atoms: Iterable[Atom]) -> "defaultdict[str | None, list[Atom]]":
    """The atoms about the value of each name."""
    listed = list(atoms)
    everywhere: list[Atom] = [atom for atom in listed if isinstance(atom, Matching)]
    named: defaultdict[str, list[Atom]] = defaultdict(list)
    for atom in listed:
        if isinstance(atom, Named):
            named[atom.name].append(atom)
    found: defaultdict[str | None, list[Atom]] = defaultdict(lambda: everywhere)
    found.update((name, [*own, *everywhere]) for name, own in named.items())
    return found


def _languages(atoms: Iterable[Atom]) -> list[Expr]:
    found: dict[Expr, None] = {}
    for atom in atoms:
        if isinstance(atom, (Matching, Found)):
            keys = atom.keys
            found |= dict.fromkeys(keys.patterns if isinstance(keys, Beside) else (keys,))
    return list(found)


def _ruled(case: Iterable[Atom]) -> dict[Expr, bool]:
    """Languages that every unnamed key of a case must match, or must not."""
    ruled = dict[Expr, bool]()
    for atom in case:
        if isinstance(atom, Matching) and atom.value is FALSE:
            keys = atom.keys
            if not isinstance(keys, Beside):
                ruled[keys] = False
            elif len(keys.patterns) == 1:
                ruled.setdefault(keys.patterns[0], True)
    return ruled


def _content(inside: tuple[Expr, ...], outside: tuple[Expr, ...]) -> Expr:
    content = ANYTHING
    for place, language in enumerate(inside):
        if not any(surely_within(other, language) for other in inside[:place]):
            content = _intersect(content, language)
    return _intersect(content, complement(alt(*outside))) if outside else content


def _intersect(first: Expr, second: Expr) -> Expr:
    return second if first is ANYTHING else both(first, second)
