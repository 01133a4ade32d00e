"""Strings of an enum as a rule, which kernels read by a trie."""

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Final, TypeAlias, cast, final
from weakref import WeakKeyDictionary

from guideway.lowering.alternatives import branching, either
from guideway.lowering.expr import ALL_BYTES, EPSILON, alt, call, concat, literal
from guideway.lowering.json_text import QUOTE, JsonStyle
from guideway.lowering.nodes import Expr, Least, Look, Rule
from guideway.lowering.uncaptured import Uncaptured

Begun: TypeAlias = tuple[int, int, int]  # the first word, the last but one, and the letters read
Text: TypeAlias = Callable[[str], Expr]  # one word, as it is spelled
Choose: TypeAlias = Callable[[Iterable[tuple[str, Expr]]], Expr]  # one of some, and what follows it

_FEW: Final = 64
_MANY: Final = 1024  # options of a choice that are no regular expression any more
# A table has 24 bytes for each, most of them never touched. 200,000 words of twelve take .7 s;
# where half as many letters were too many, they took 6 s.
_MOST_LETTERS: Final = 1 << 22

_listed: "WeakKeyDictionary[Rule, tuple[tuple[str, ...], JsonStyle]]" = WeakKeyDictionary()


def words_rule(values: Iterable[str], style: JsonStyle) -> Rule | None:
    """Any of some strings, with quotes; None if there are none, or too many.

    >>> from guideway.lowering.json_text import json_style
    >>> from guideway.syntax.json_schema_source import JsonSchema
    >>> rule = words_rule(["b", "a", "b"], json_style(JsonSchema({})))
    >>> rule and words_of(rule)[0]
    ('b', 'a')
    """
    words = tuple(dict.fromkeys(values))
    if not words or sum(map(len, words)) > _MOST_LETTERS or not is_written("".join(words)):
        return None

    def make() -> Expr:
        template = WordsTemplate(words, style.spelling.text, style.spelling.choose, QUOTE)
        return concat(QUOTE, template.rest((0, len(words), 0)))

    rule = Rule("words", inhabited=True, make=make)
    _listed[rule] = words, style
    return rule


def words_of(rule: Rule) -> tuple[tuple[str, ...], JsonStyle] | None:
    """The strings of a rule that lists some, and how they are spelled."""
    return _listed.get(rule)


def choice(options: Sequence[str], *, regular: bool) -> Expr:
    """Any of some texts; of many, no regular expression unless it has to be `regular`."""
    if regular or len(options) <= _MANY or sum(map(len, options)) > _MOST_LETTERS:
        return either(option.encode() for option in options)
    return WordsTemplate(options, literal, _choose, EPSILON).rest((0, len(options), 0))


def _choose(options: Iterable[tuple[str, Expr]]) -> Expr:
    return branching(options, literal)


@final
class WordsTemplate(Uncaptured):
    """Unfolds the rest of one of some different words and their end, given what they begin with."""

    def __init__(self, words: Sequence[str], text: Text, choose: Choose, end: Expr) -> None:
        self._words, self._text, self._choose, self._end = sorted(words), text, choose, end

    def rest(self, begun: Begun) -> Expr:
        """What may follow: made at once where it is little."""
        low, high, depth = begun
        if high - low <= _FEW:
            rests = ((word, EPSILON) for word in self._rests(begun))
            return concat(self._choose(rests), self._end)
        if len(self._words[low]) > depth:
            return call(self, begun)
        return alt(self._end, call(self, (low + 1, high, depth)))

    def verbatim(self, argument: Hashable) -> list[str] | None:
        """The texts of `unfold`, if words are spelled as they are."""
        return self._rests(argument) if self._text is literal else None

    def unfold(self, argument: Hashable, look: Look) -> Expr:
        """One more letter and what follows it."""
        low, high, depth = cast("Begun", argument)
        words, options = self._words, list[Expr]()
        while low < high:
            letter, first = words[low][depth], low
            low = bisect_right(words, letter, low, high, key=lambda word: word[depth])
            options.append(concat(self._text(letter), self.rest((first, low, depth + 1))))
        return alt(*options)

    def lives(self, argument: Hashable, look: Look) -> bool | None:
        """Whether one of the words can be spelled."""
        if look.spellable == ALL_BYTES:
            return True
        rests = (concat(self._text(rest), self._end) for rest in self._rests(argument))
        return next((found for rest in rests if (found := look(rest)) is not False), False)

    def least(self, argument: Hashable, least: Least) -> bytes | None:
        """The rest of the shortest word, spelled letter by letter."""
        rests, end = self._rests(argument), least(self._end)
        letters = {letter: least(self._text(letter)) for letter in set("".join(rests))}
        table = {ord(letter): (text or b"").decode() for letter, text in letters.items()}
        lost = {letter for letter, text in letters.items() if text is None}
        texts = (rest.translate(table).encode() for rest in rests if lost.isdisjoint(rest))
        best = min(texts, key=lambda text: (len(text), text), default=None)
        return None if best is None or end is None else best + end

    def _rests(self, argument: Hashable) -> list[str]:
        low, high, depth = cast("Begun", argument)
        return [word[depth:] for word in self._words[low:high]]


def is_written(text: str) -> bool:
    """Whether a text can be written: half of a surrogate pair cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
