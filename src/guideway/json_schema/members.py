"""Objects whose members depend on one another: what a formula allows after each member."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from functools import cached_property, partial
from operator import itemgetter
from typing import Generic, TypeVar

from guideway.json_schema.discriminators import Outlines
from guideway.json_schema.formula_derivative import Pairs, Progress, holds_at_end
from guideway.json_schema.formulas import (
    Formula,
    Found,
    Matching,
    Named,
    Required,
    Truth,
    all_of,
    atoms,
    holds,
    leaf,
)
from guideway.json_schema.key_classes import Keysets
from guideway.json_schema.objects import (
    Extras,
    KeyTexts,
    ObjectTemplate,
    Places,
    Rest,
    asks,
    bounded,
    is_in_bytes,
    read_member,
    writes,
)
from guideway.json_schema.shortest_members import (
    Chosen,
    Completions,
    Member,
    Unsettled,
    Words,
    Write,
    first_members,
    key_of,
    least_members,
    size,
)
from guideway.json_schema.spelling import QUOTE, JsonStyle
from guideway.language.expr import ALL_BYTES, call, concat
from guideway.language.fuel import spend
from guideway.language.nodes import Answers, Expr, Least, Look

_MOST = 1 << 16  # cached questions
_EACH = 8  # cached answers to each

_NONE: Extras = frozenset()

_LOOK, _PAIR = 30, 300  # work of a look at a value, and of one with its rest

Answer = TypeVar("Answer")


class AnswerCache(Generic[Answer]):
    """Answers by question; `no` is the answer "none", which more used keys cannot change."""

    def __init__(self, no: Answer) -> None:
        self._no = no
        self._found: dict[Hashable, list[tuple[Extras, set[str], Answer]]] = {}

    def ask(
        self,
        question: Hashable,
        extras: Extras,
        find: Callable[[Extras, set[str]], Answer],
        settled: Callable[[], bool],
    ) -> Answer:
        """The answer to a question after the keys `extras`, cached if it is True or `settled`.

        `find` gets the used keys and a set to which it adds the keys it depends on. It is tried
        without used keys first, as most do not matter: a step took 3 s with hundreds of keys.
        """

        def look(then: Extras) -> tuple[Answer, set[str]]:
            looked = set[str]()
            answer = find(then, looked)
            if settled() or (isinstance(answer, bool) and answer):
                if len(self._found) > _MOST:
                    self._found.clear()
                answers = self._found.setdefault(question, [])
                if len(answers) < _EACH:
                    answers.append((then, looked, answer))
            return answer, looked

        found = self.known_answer(question, extras)
        if found is None and extras and self.known_answer(question, _NONE) is None:
            answer, looked = look(_NONE)
            if answer is None or answer is self._no or looked.isdisjoint(extras):
                return answer
        return look(extras)[0] if found is None else found[0]

    def known_answer(self, question: Hashable, extras: Extras) -> tuple[Answer] | None:
        for then, looked, answer in self._found.get(question, ()):
            if then <= extras and (answer is self._no or looked.isdisjoint(extras - then)):
                return (answer,)
        return None


def _joined(value: bytes, members: list[bytes]) -> bytes:
    return value + b"".join(b"," + part for part in members) + b"}"


_MOST_KNOWN = 1 << 16
_LARGE = 100_000  # parts that are read for all classes of keys, .3 s
_READ = 8  # parts of automata that take as long as one of those, 5 µs
_FEW_TESTS = 10  # of one member; they have 2^10 answers, which is MOST_PAIRS


class Dependent:
    """A `Reading` of members that satisfy a formula together; `Rest.formula` is the rest of it."""

    dependent = True

    def __init__(
        self,
        formula: Formula,
        value: Callable[[Formula], Expr],
        style: JsonStyle,
        keysets: Keysets,
        judge: Outlines,
    ) -> None:
        listed = atoms(formula)
        self._formula, self.value, self.style = formula, value, style
        names = keysets.names(listed)
        self.names = tuple(str(key.name) for key in names)
        self.count = len(names)
        self.keys = keys = (*names, *keysets.classes(listed))
        self.texts = KeyTexts(keys, keysets, style.spelling)
        self.template = ObjectTemplate(self)
        self.places = Places(self.count, style.ordered)
        self._progress = tuple(Progress(partial(read_member, key=key), judge) for key in keys)
        self._closing, self._ending = dict[Formula, bool](), AnswerCache[bool | None](no=False)
        self._completions = defaultdict[int, Completions](lambda: Completions(keys, listed))

    def start(self) -> Expr:
        """The whole object."""
        return call(self.template, Rest(-1, frozenset(), self._formula))

    def coming(self, rest: Rest) -> list[int]:
        return self.places.free(rest.place)

    def others(self, rest: Rest) -> list[int]:
        return [key for key in self.texts.classes if self.pairs(rest.formula, key)]

    def after(self, rest: Rest, key: int) -> list[tuple[Expr, Rest]]:
        return [(self.value(value), left) for value, left in self.steps(rest, key)]

    def steps(self, rest: Rest, key: int) -> list[tuple[Formula, Rest]]:
        """The formulas of a member of a key, with the rests after it."""
        place = self.places.after_key(rest.place, key)
        found = self.pairs(rest.formula, key).items()
        return [(value, Rest(place, rest.extras, formula)) for formula, value in found]

    def pairs(self, formula: Formula, key: int) -> Pairs:
        """The derivative of a formula by a member of a key."""
        return self._progress[key].pairs(formula)

    def may_close(self, rest: Rest) -> bool:
        return self.holds(rest.formula)

    def holds(self, formula: Formula) -> bool:
        """Return True if a formula holds when no more members come."""
        if len(self._closing) > _MOST_KNOWN:
            self._closing = {}
        return holds(formula, holds_at_end, self._closing)

    def depends(self, key: int) -> bool:
        return key in self._asked_classes

    @cached_property
    def _asked_classes(self) -> frozenset[int]:
        listed = atoms(self._formula)
        return frozenset(
            key for key in self.texts.classes if any(asks(atom, self.keys[key]) for atom in listed)
        )

    def parts(self) -> Iterator[Expr]:
        """The values of single members; those of several formulas together come later."""
        formula, listed = self._formula, atoms(self._formula)
        tests: defaultdict[str | None, set[Formula]] = defaultdict(set)
        about = [atom for atom in listed if isinstance(atom, (Named, Matching, Found))]
        for atom in about:
            if not isinstance(atom.value, Truth):
                tests[atom.name if isinstance(atom, Named) else None].add(atom.value)
        parts, classes = size(formula), len(self.texts.classes)
        large = classes > 1 and parts * classes > _LARGE  # a mask looks at them, and at no name
        spend(_READ * parts * classes if large else 0)
        for key, one in enumerate(self.keys):
            many = len(tests[None] | tests[one.name]) > _FEW_TESTS
            if many or (large and key >= self.count):
                self.pairs(formula, key)  # which is refused if that is too much
        yield from (self.value(atom.value) for atom in about)

    # Shortest completions

    def least(self, rest: Rest, least: Least) -> list[bytes] | None:
        """The shortest members that suffice, in order; None if none do."""
        words, answers = self._words_at(rest.place, least), Answers.of(least)
        formula = bounded(rest.formula, rest.place, "{}", writes(least))

        def find(extras: Extras, looked: set[str]) -> Chosen | None:
            first = self._first_members(Rest(rest.place, extras, formula), answers, looked)
            known = None if first is None else self._with_texts(first, extras, least, looked)
            if known is None:
                return None
            write = self._writing(least, looked)
            return least_members(words, formula, extras, write, known, answers.afford)

        standing = answers.recall(self, partial(AnswerCache[Chosen | None], None))
        found = standing.ask((rest.place, formula), rest.extras, find, answers.settled)
        return None if found is None else words.in_order(found)

    def least_after_key(self, rest: Rest, key: int, least: Least) -> bytes | None:
        """The shortest value of a key together with the shortest rest.

        A `oneOf` of fifty objects of 50 names took .2 s with all alternatives searched.
        """
        answers, question = Answers.of(least), self._question(rest, key)
        if self._ending.known_answer(question, rest.extras) == (False,):
            return None
        best = self._named(rest, key, answers)
        if best is not None and not answers.afford(size(rest.formula)):
            return best
        found = list[tuple[int, bytes, Rest]]()
        for value, behind in self.steps(rest, key):
            if best is not None and not answers.afford(_PAIR):
                break
            word = least(concat(self.style.colon, self.value(value)))
            if word is not None:
                undone = self._words_at(behind.place, least).undone(behind.formula)
                found.append((len(word) + undone + len("}"), word, behind))
        for bound, word, behind in sorted(found, key=itemgetter(0, 1)):
            if best is not None and bound > len(best):
                break
            members = self.least(behind, least)
            if members is not None:
                whole = _joined(word, members)
                best = min(best or whole, whole, key=lambda one: (len(one), one))
        return best

    def _named(self, rest: Rest, key: int, answers: Answers) -> bytes | None:
        """The value of a name and a rest that suffice, if they are found soon."""
        if key >= self.count:
            return None
        formula = all_of(rest.formula, leaf(Required(str(self.keys[key].name))))
        place = key if self.style.ordered else rest.place
        first = self._first_members(Rest(place, rest.extras, formula), answers, set())
        if first is None:
            return None
        value = next(one.value for one in first if one.key == key)
        text = answers(concat(self.style.colon, self.value(value)))
        others = tuple(one for one in first if one.key != key)
        members = self._with_texts(others, rest.extras, answers, set())
        if text is None or members is None:
            return None
        return _joined(text, self._words_at(place, answers).in_order(members))

    def _writing(self, least: Least, looked: set[str]) -> Write:
        """The shortest member of a key; adds the keys of classes to `looked`."""

        def write(key: int, value: Formula, used: Extras) -> tuple[bytes, Extras] | None:
            colon = self.style.colon
            if key < self.count:
                text = least(self.texts.member(key, colon, self.value(value)))
                return None if text is None else (text, used)
            name, text = self._unused_key(key, used, least), least(concat(colon, self.value(value)))
            if name is None or text is None:
                return None
            looked.add(key_of(name))
            return name + text, used | {key_of(name)}

        return write

    def _with_texts(
        self, members: Chosen, extras: Extras, least: Least, looked: set[str]
    ) -> Chosen | None:
        """Members with their shortest texts; None if one has none."""
        write, found = self._writing(least, looked), list[Member]()
        for key, value, _ in members:
            written = write(key, value, extras)
            if written is None:
                return None
            text, extras = written
            found.append(Member(key, value, text))
        return tuple(found)

    def _first_members(self, rest: Rest, answers: Answers, looked: set[str]) -> Chosen | None:
        """The first members found that suffice; None also if the search takes too long."""
        free, completions = self.coming(rest), self._completions[answers.spellable]
        way = completions.way(rest.formula, sum(1 << key for key in free))
        if way is not None:
            return way.members
        write, afford = self._writing(answers, looked), answers.portion()

        def lives(key: int, value: Formula) -> bool | None:
            return write(key, value, frozenset()) is not None if afford(_LOOK) else None

        try:
            return self._find(
                rest.formula, free, lives, answers, answers.spellable, rest.extras, looked
            )
        except Unsettled:
            return None

    def _find(
        self,
        formula: Formula,
        free: list[int],
        lives: Callable[[int, Formula], bool | None],
        word: Least,
        spellable: int,
        extras: Extras,
        looked: set[str],
    ) -> Chosen | None:
        """Members of free names and of classes that suffice; adds keys of classes to `looked`."""

        def write(key: int, value: Formula, used: Extras) -> tuple[bytes, Extras] | None:
            found = lives(key, value)
            if found is None:
                raise Unsettled
            if not found or key < self.count or self.texts.endless(key, spellable):
                return (b"", used) if found else None
            name = self._unused_key(key, used, word)
            if name is None:
                return None
            looked.add(key_of(name))
            return b"", used | {key_of(name)}

        found = first_members(self._words(free), formula, extras, write)
        classes = {one.key for one in found or () if one.key >= self.count}
        if found is not None and all(self.texts.endless(key, spellable) for key in classes):
            self._completions[spellable].keep(found)
        return found

    def _unused_key(self, key: int, used: Extras, least: Least) -> bytes | None:
        """The shortest key of a class that is not used, with quotes."""
        return least(concat(QUOTE, self.texts.unused(key, used), QUOTE))

    def _words(self, free: list[int]) -> Words:
        return Words(self.keys, free, self.pairs, self.holds, ordered=self.style.ordered)

    def _words_at(self, place: int, least: Least) -> Words:
        """The members that may come from a place on, cached."""
        return Answers.of(least).recall((self, place), lambda: self._words(self.places.free(place)))

    # Lives

    def lives(self, rest: Rest, look: Look) -> bool | None:
        formula = rest.formula
        if look.spellable != ALL_BYTES:
            formula = bounded(formula, rest.place, "{}", is_in_bytes(look.spellable))
        free, known = self._free(rest.place), self._completions[look.spellable]
        return self._ending.ask(
            (rest.place, formula, look.spellable),
            rest.extras,
            lambda extras, looked: (
                known.suffice(formula, free)
                or self._find_end(formula, self.coming(rest), look, extras, looked)
            ),
            lambda: look.settled,
        )

    def names_of(self, rest: Rest, look: Look) -> list[int]:
        """The names after which the rest can be completed."""
        free = self.coming(rest)
        told = self._completed(rest, free, look) if look.spellable == ALL_BYTES else ()
        return [key for key in free if key in told or self.lives_after_key(rest, key, look)]

    def lives_after_key(self, rest: Rest, key: int, look: Look) -> bool | None:
        if key < self.count and look.spellable == ALL_BYTES:
            find, question = partial(self._completes, rest, key, look), self._question(rest, key)
            return self._ending.ask(question, rest.extras, find, lambda: look.settled)
        for value, behind in self.steps(rest, key):
            found = self._lives(key, value, look) and self.lives(behind, look)
            if found is not False:
                return found
        return False

    def _question(self, rest: Rest, key: int) -> Hashable:
        return rest.formula, self.places.after_key(rest.place, key), key

    def _completes(
        self, rest: Rest, key: int, look: Look, extras: Extras, looked: set[str]
    ) -> bool | None:
        if self._completed(rest, [key], look):
            return True
        formula = all_of(rest.formula, leaf(Required(self.names[key])))
        free = [key, *self.places.free(self.places.after_key(rest.place, key))]
        return self._find_end(formula, free, look, extras, looked)

    def _completed(self, rest: Rest, keys: list[int], look: Look) -> set[int]:
        """Names after which a known completion serves."""
        known, ordered = self._completions[ALL_BYTES], self.style.ordered
        free = {key: self._free(key if ordered else rest.place) for key in keys}
        return known.with_members(rest.formula, free, lambda formula: look(self.value(formula)))

    def _find_end(
        self, formula: Formula, free: list[int], look: Look, extras: Extras, looked: set[str]
    ) -> bool | None:
        def lives(key: int, value: Formula) -> bool | None:
            return self._lives(key, value, look)

        try:
            found = self._find(formula, free, lives, look.word, look.spellable, extras, looked)
        except Unsettled:
            return None
        return found is not None

    def _free(self, place: int) -> int:
        used = (1 << max(place, 0)) - 1 if self.style.ordered else max(place, 0)
        return (1 << self.count) - 1 & ~used

    def _lives(self, key: int, value: Formula, look: Look) -> bool | None:
        return self.texts.lives(key, self.style.colon, self.value(value), look)
