"""Arrays that are read item by item, against a formula."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Final, cast
from weakref import ref

from guideway.json_schema.discriminators import Outlines
from guideway.json_schema.formula_derivative import (
    ItemSteps,
    Rest,
    Step,
    Used,
    among,
    beside,
    pay,
    split_twice,
)
from guideway.json_schema.formulas import (
    FALSE,
    AtLeast,
    AtMost,
    Exact,
    Formula,
    Items,
    Leaf,
    all_of,
    any_of,
    conjuncts,
    read_exact,
)
from guideway.json_schema.objects import (
    UNKNOWN,
    endless_options,
    is_endless_object,
    is_in_bytes,
    is_open_string,
    options_in,
    room,
    value_of,
    writes,
)
from guideway.json_schema.spelling import QUOTE, JsonStyle, words_of
from guideway.language.expr import (
    ALL_BYTES,
    EMPTY,
    UNSURE,
    alt,
    byte_set,
    call,
    capture,
    concat,
    literal,
)
from guideway.language.fuel import spend
from guideway.language.nodes import Concat, Expr, Least, Look, Rule
from guideway.language.regular import SOMETHING


@dataclass(frozen=True, slots=True)
class DistinctStrings:
    """Items of such an array: strings that `begun` matches after the quote, or `words`.

    `begun` is EMPTY if all strings are listed. There are `low` to `high` items.
    """

    begun: Expr
    words: tuple[str, ...]
    low: int
    high: int | None


def distinct_strings(formula: Formula, value: Callable[[Formula], Expr]) -> DistinctStrings | None:
    """The items of an array of distinct strings, None for any other formula."""
    items, low, high = list[Formula](), 0, None
    for part in conjuncts(formula):
        match part:
            case Leaf(Items(0, item)):
                items.append(item)
            case Leaf(AtLeast(count)):
                low = max(low, count)
            case Leaf(AtMost(count)):
                high = count if high is None else min(high, count)
            case _:
                return None
    if len(items) != 1:
        return None
    strings = value_of(value(items[0]))
    if isinstance(strings, Rule):
        listed = words_of(strings)
        if listed is None or low > 1 or high is not None:
            return None
        return DistinctStrings(EMPTY, listed[0], low, high)
    if isinstance(strings, Concat) and strings.head is QUOTE and strings.regular:
        return DistinctStrings(strings.tail, (), low, high)
    return None


@dataclass(frozen=True, slots=True)
class _Ahead:
    """A rest, and the condition on the value that repeats; None if it has not come."""

    rest: Rest
    again: Formula | None = None


def can_end(ways: ItemSteps, start: Rest, look: "Callable[[Expr], bool | None]") -> bool | None:
    """Return True if some items complete the array; None if that is not known yet."""
    stack: list[tuple[_Ahead, Formula | None]] = [(_Ahead(start), None)]
    seen: set[_Ahead] = set()
    while stack:
        ahead, value = stack.pop()
        found = True if value is None else look(ways.value(value))
        if found is None:
            return None
        if not found or ahead in seen:
            continue
        if ways.ends(ahead.rest):
            return True
        seen.add(ahead)
        stack += reversed(_following(ways, ahead))
        pay(len(seen))
    return False


def _following(ways: ItemSteps, ahead: _Ahead) -> list[tuple[_Ahead, Formula | None]]:
    rest, found = ahead.rest, list[tuple[_Ahead, Formula | None]]()
    for step in ways.steps(rest):
        plain = Rest(step.position, frozenset(), step.formula)
        if rest.twice is None:
            found.append((_Ahead(plain), step.value))
            continue
        waiting = Rest(step.position, rest.used, step.formula, True)
        found.append((_Ahead(plain), among(step.value, rest.used)))
        if ahead.again is None:
            found.append((_Ahead(waiting, step.value), step.value))
        else:
            found.append((_Ahead(plain), all_of(step.value, ahead.again)))
        found.append((_Ahead(waiting, ahead.again), step.value))
    return found


def repeatable(ways: ItemSteps, start: Rest, look: "Callable[[Expr], bool | None]") -> Formula:
    """The formula of values that may come and repeat from here on."""
    found: Formula = FALSE
    todo, seen = [start], {start}
    while todo:
        rest = todo.pop()
        for step in ways.steps(rest):
            if not look(ways.value(step.value)):
                continue
            if can_end(ways, Rest(step.position, frozenset(), step.formula), look):
                found = any_of(found, step.value)
            after = Rest(step.position, rest.used, step.formula, True)
            if after not in seen:
                seen.add(after)
                todo.append(after)
        pay(len(seen))
    return found


# Fuel to exclude one value: 150 of 200 listed numbers were refused after 8.5 s.
_TAKEN: Final = 80
_SPELLED: Final = literal(bytes(range(256)))  # has a text only if every byte can be spelled


def deal(ways: ItemSteps, start: Rest, least: Least) -> "Dealt | None":
    """Distinct unused values for items that complete the array, None if there are none."""
    dealt = Dealt(ways, start.used, least)
    stack = [(start, iter(ways.steps(start)))]
    on_the_way, hopeless = {(start.position, start.formula)}, set[object]()
    tries = 0
    while not ways.may_close(stack[-1][0].formula):
        rest, steps = stack[-1]
        step = next((s for s in steps if (s.position, s.formula) not in on_the_way), None)
        if step is None:
            hopeless.add(_situation(rest, dealt))
            stack.pop()
            on_the_way.remove((rest.position, rest.formula))
            if not stack:
                return None
            dealt.drop()
            continue
        tries += 1
        pay(tries)
        if dealt.add(step.value):
            after = Rest(step.position, start.used, step.formula, False)
            if hopeless and _situation(after, dealt) in hopeless:
                dealt.drop()
                continue
            stack.append((after, iter(ways.steps(after))))
            on_the_way.add((after.position, after.formula))
    return dealt


def critical(ways: ItemSteps, start: Rest, least: Least) -> frozenset[Exact] | None:
    """Values that the next item must leave to later ones; None if no completion is left."""
    dealt = deal(ways, start, least)
    if dealt is None:
        return None
    found: set[Exact] = set()
    for value in dealt.scarce():
        if not dealt.can_do_without(value):
            without = Rest(start.position, start.used | {value}, start.formula, False)
            if deal(ways, without, least) is None:
                found.add(value)
    return frozenset(found)


def _situation(rest: Rest, dealt: "Dealt") -> object:
    return rest.position, rest.formula, frozenset(Counter(dealt.items).items())


@dataclass(slots=True)
class Dealt:
    """Items, each with a value of its own.

    `used`: values that no item may have. `owners`: the item that has a value. `endless`: cache of
    `_is_endless`; without it, 1,000 items took 1.1 s in one mask.
    """

    ways: ItemSteps
    used: Used
    least: Least
    items: list[Formula] = field(default_factory=list[Formula])
    owners: dict[Exact, int] = field(default_factory=dict[Exact, int])
    endless: dict[Formula, bool] = field(default_factory=dict[Formula, bool])

    def add(self, value: Formula) -> bool:
        """Find a value for one more item; if there is none, change nothing."""
        self.items.append(value)
        if self._is_endless(value) or self._find(len(self.items) - 1, self.used):
            return True
        self.items.pop()
        return False

    def drop(self) -> None:
        self.items.pop()
        last = len(self.items)
        self.owners = {value: item for value, item in self.owners.items() if item != last}

    def scarce(self) -> list[Exact]:
        """The values of items that have no free value to change to."""
        taken = self.used | self.owners.keys()
        owning = {self.items[item] for item in self.owners.values()}
        spare = {one: self._unused_value(one, taken) is not None for one in owning}
        return [value for value, item in self.owners.items() if not spare[self.items[item]]]

    def can_do_without(self, value: Exact) -> bool:
        """Return True if the items find values without this one."""
        index = self.owners.pop(value, None)
        if index is None or self._find(index, self.used | {value}):
            return True
        self.owners[value] = index
        return False

    def _is_endless(self, value: Formula) -> bool:
        """Return True if infinitely many values satisfy a formula and can be spelled."""
        if value not in self.endless:
            self.endless[value] = self._looks_endless(value)
        return self.endless[value]

    def _looks_endless(self, value: Formula) -> bool:
        options = endless_options(self.ways.value(value))
        # Regular options have texts: searching for the least took half of a compilation.
        found = any(option.regular or self.least(option) is not None for option in options)
        return found and self.least(_SPELLED) is not None

    def _find(self, index: int, used: Used) -> bool:
        """Find a value for an item, along an augmenting path."""
        wanted: dict[Exact, int] = {}  # a value in use, and the item that would take it
        free: dict[Formula, Exact | None] = {}
        waiting = [index]
        for item in waiting:  # grows while it is read
            formula = self.items[item]
            if formula not in free:
                free[formula] = self._unused_value(formula, used | self.owners.keys())
            own = free[formula]
            if own is not None:
                self._exchange(item, own, wanted, index)
                return True
            for value, owner in self.owners.items():
                if value not in wanted and self._word(among(formula, frozenset((value,)))):
                    wanted[value] = item
                    waiting.append(owner)
        return False

    def _unused_value(self, formula: Formula, taken: Used) -> Exact | None:
        listed = self.ways.listed(formula)
        for value in listed:
            if value not in taken and self._word(among(formula, frozenset((value,)))):
                return value
        spend(_TAKEN * len(self.owners))
        word = None if listed else self._word(beside(formula, taken))
        return None if word is None else read_exact(word)

    def _exchange(self, item: int, value: Exact, wanted: dict[Exact, int], index: int) -> None:
        """Give an item a free value, its old value to the item that wants it, and so on."""
        while item != index:
            own = next(value for value, owner in self.owners.items() if owner == item)
            self.owners[value] = item
            value, item = own, wanted[own]
        self.owners[value] = item

    def _word(self, value: Formula) -> bytes | None:
        return self.least(self.ways.value(value))


_REMEMBERED = 4096
_OTHERS: Final = byte_set(b"{[-0123456789tfn")  # first bytes of values that are not strings


class ItemsTemplate:
    """Unfolds the rest of an array, given its formula."""

    def __init__(
        self, formula: Formula, value: Callable[[Formula], Expr], style: JsonStyle, judge: Outlines
    ) -> None:
        self._formula, self._value, self.style = formula, value, style
        self._ways = ItemSteps(formula, value, judge)
        # Of the last caller, weakly: it would live as long as schemas share a template.
        self._unfolded: tuple[ref[Look] | None, dict[Hashable, Expr]] = None, {}

    def distinct_strings(self, rest: Rest) -> DistinctStrings | None:
        """The items, if the formula only asks for distinct strings."""
        whole = rest.position < 0 and rest.twice is False
        return distinct_strings(rest.formula, self._value) if whole else None

    def start(self) -> Expr:
        none = frozenset[None]()
        starts = (Rest(-1, none, formula, twice) for formula, twice in split_twice(self._formula))
        return alt(*(call(self, rest) for rest in starts))

    def unfold(self, argument: Hashable, look: Look) -> Expr:
        asker, known = self._unfolded
        if asker is None or asker() is not look or len(known) >= _REMEMBERED:
            known = dict[Hashable, Expr]()
            self._unfolded = ref(look), known
        found = known.get(argument)
        if found is None:
            found = known[argument] = self._unfold(cast("Rest", argument), look)
        return found

    def resume(self, argument: Hashable, captured: bytes | None) -> Expr:
        return call(self, _rest_after(cast("Rest", argument), captured))

    def remembers(self, argument: Hashable) -> bool:
        return UNKNOWN not in cast("Rest", argument).used

    def depends(self, argument: Hashable) -> bool:
        del argument
        return True

    def lives(self, argument: Hashable, look: Look) -> bool | None:
        return self._lives(cast("Rest", argument), look)

    def _lives(self, rest: Rest, look: Look) -> bool | None:
        left = room(rest.position, "[]", is_in_bytes(look.spellable))
        if left is not None:
            return self._lives_limited(rest, left, look)
        if UNKNOWN in rest.used:
            return True
        if rest.twice is False:
            return deal(self._ways, rest, look.word) is not None
        return can_end(self._ways, rest, look)

    def lives_after(
        self, argument: Hashable, look: Look, captured: Callable[[], bytes | None]
    ) -> bool | None:
        if look.spellable == ALL_BYTES:
            return True
        return self._lives(_rest_after(cast("Rest", argument), captured()), look)

    def parts(self, argument: Hashable) -> Iterator[Expr]:
        rest = cast("Rest", argument)
        for position in range(-1, self._ways.single):
            steps = self._ways.steps(Rest(position, frozenset(), rest.formula))
            yield from (self._value(step.value) for step in steps)

    def least(self, argument: Hashable, least: Least) -> bytes | None:
        """The shortest rest, or nearly so if earlier values matter."""
        rest = cast("Rest", argument)
        left = room(rest.position, "[]", writes(least))
        words = self._words(rest, least) if left is None else self._words_limited(rest, left, least)
        if words is None:
            return None
        text = b",".join(words)
        if rest.position < 0:
            return b"[" + text + b"]"
        return b"," * bool(words) + text + b"]"

    def _unfold(self, rest: Rest, look: Look) -> Expr:
        style = self.style
        close = literal("]") if self._ways.ends(rest) else EMPTY
        item = self._doubtful(rest, look) if UNKNOWN in rest.used else self._item(rest, look)
        if rest.position < 0:
            return concat(literal("["), alt(concat(style.opened, close), item))
        return alt(concat(style.edge, literal(","), item), concat(style.closing, close))

    def _item(self, rest: Rest, look: Look) -> Expr:
        options: list[Expr] = []
        for value, after in self._options(rest, look, look.word):
            item = concat(self.style.opened, self._value(value))
            if after.twice is None:
                options.append(concat(item, call(self, after)))
            else:
                options.append(capture(item, b"", self, after))
        return alt(*options)

    def _doubtful(self, rest: Rest, look: Look) -> Expr:
        """An item after an unknown one: only prefixes of infinitely many values are sure."""
        steps, options = self._ways.steps(rest), list[Expr]()
        free = all(self._ways.may_close(step.formula) for step in steps)  # later items are free
        if rest.twice is False and free and look.spellable == ALL_BYTES:
            options = [part for step in steps for part in options_in(self._value(step.value))]
        begun = [found for part in options if (found := self._open_prefix(part, look)) is not None]
        if not begun:
            return UNSURE
        others = [] if len(begun) == len(options) else [concat(_OTHERS, UNSURE)]
        return concat(self.style.opened, alt(*begun, *others))

    def _open_prefix(self, value: Expr, look: Look) -> Expr | None:
        """A prefix of infinitely many values, None if none is known."""
        if is_open_string(value):
            return concat(value, UNSURE)
        if is_endless_object(value) and look(value):
            member = alt(concat(QUOTE, SOMETHING), concat(literal("}"), UNSURE))
            return concat(literal("{"), self.style.opened, member)
        return None

    def _options(
        self, rest: Rest, look: Callable[[Expr], bool | None], least: Least
    ) -> Iterator[tuple[Formula, Rest]]:
        """Conditions on the next item that lead to an end, and the rest after it."""
        for step in self._ways.steps(rest):
            plain = Rest(step.position, frozenset(), step.formula)
            after = Rest(step.position, rest.used, step.formula, rest.twice)
            if rest.twice is None:
                yield step.value, plain
            elif rest.twice:
                yield among(step.value, rest.used), plain
                yield self._new(step, after, look), after
            else:
                needed = critical(self._ways, after, least)
                if needed is not None:
                    yield beside(step.value, rest.used | needed), after

    def _new(self, step: Step, after: Rest, look: Callable[[Expr], bool | None]) -> Formula:
        """A new value; one that can be repeated, if no other value will be."""
        new = beside(step.value, after.used)
        if can_end(self._ways, after, look):
            return new
        return all_of(new, repeatable(self._ways, after, look))

    def _lives_limited(self, rest: Rest, left: int, look: Look) -> bool | None:
        """`lives` for vocabularies without a comma or bracket."""
        if left < 0 or self._ways.ends(rest):
            return left >= 0
        values = self._last_values(rest) if left else ()
        return next((found for part in values if (found := look(part)) is not False), False)

    def _words_limited(self, rest: Rest, left: int, least: Least) -> list[bytes] | None:
        if left < 0 or self._ways.ends(rest):
            return None if left < 0 else []
        words = [least(part) for part in self._last_values(rest)] if left else []
        found = [word for word in words if word is not None]
        return [min(found, key=lambda word: (len(word), word))] if found else None

    def _last_values(self, rest: Rest) -> list[Expr]:
        return [
            self._value(step.value)
            for step in self._ways.steps(rest)
            if self._ways.ends(Rest(step.position, rest.used, step.formula, rest.twice))
        ]

    def _words(self, rest: Rest, least: Least) -> list[bytes] | None:
        """Items that complete the array: the nearest end, or the least items, one by one."""

        def look(part: Expr) -> bool:
            return least(part) is not None

        words: list[bytes] = []
        while rest.twice is not True or can_end(self._ways, rest, look):
            found = self._ways.nearest(rest, least)
            if found is not None:
                return words + found
            chosen = None if rest.twice is None else self._chosen(rest, look, least)
            if chosen is None:
                break
            word, rest = chosen
            words.append(word)
        return None

    def _chosen(
        self, rest: Rest, look: Callable[[Expr], bool | None], least: Least
    ) -> tuple[bytes, Rest] | None:
        """The least item that leads to another position or formula, and the rest after it."""
        for value, after in self._options(rest, look, least):
            stays = after.formula is rest.formula and after.position == rest.position
            if not stays and after.twice is not None:
                word = least(self._value(value))
                if word is not None:
                    return word, _rest_after(after, word)
        return None


def _rest_after(rest: Rest, captured: bytes | None) -> Rest:
    value = UNKNOWN if captured is None else read_exact(captured)
    return Rest(rest.position, rest.used | {value}, rest.formula, rest.twice)
