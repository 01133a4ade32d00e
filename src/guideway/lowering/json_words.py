"""Strings of an enum as a rule, which kernels read with a trie."""

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Final, TypeAlias, cast, final
from weakref import WeakKeyDictionary

from guideway.lowering.alternatives import branching, either
from guideway.lowering.expr import ALL_BYTES, EPSILON, alt, call, concat, literal
from guideway.lowering.json_text import QUOTE, JsonStyle
from guideway.lowering.nodes import Expr, Least, Look, Rule
from guideway.lowering.uncaptured import Uncaptured

Begun: TypeAlias = tuple[int, int, int]  # first word, one past the last word, letters read
Text: TypeAlias = Callable[[str], Expr]  # spelling of a word
Choose: TypeAlias = Callable[[Iterable[tuple[str, Expr]]], Expr]  # union of words and their rests

_FEW: Final = 64
_MANY: Final = 1024  # most options of a choice that is a regular expression
# A table has 24 bytes per letter, mostly untouched. 200,000 words of twelve letters take 0.7 s;
# with half this limit they took 6 s.
_MOST_LETTERS: Final = 1 << 22

_listed: "WeakKeyDictionary[Rule, tuple[tuple[str, ...], JsonStyle]]" = WeakKeyDictionary()


def words_rule(values: Iterable[str], style: JsonStyle) -> Rule | None:
    """Rule for any of some strings, with quotes; None for none, too many or lone surrogates."""
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
    """Strings and style of a rule made by `words_rule`."""
    return _listed.get(rule)


def choice(options: Sequence[str], *, regular: bool) -> Expr:
    """Union of texts; many of them are no regular expression unless `regular` is set."""
    if regular or len(options) <= _MANY or sum(map(len, options)) > _MOST_LETTERS:
        return either(option.encode() for option in options)
    return WordsTemplate(options, literal, _choose, EPSILON).rest((0, len(options), 0))


def _choose(options: Iterable[tuple[str, Expr]]) -> Expr:
    return branching(options, literal)


@final
class WordsTemplate(Uncaptured):
    """Template for the rests of distinct words, then `end`, after a common prefix."""

    def __init__(self, words: Sequence[str], text: Text, choose: Choose, end: Expr) -> None:
        self._words, self._text, self._choose, self._end = sorted(words), text, choose, end

    def rest(self, begun: Begun) -> Expr:
        """Expression after a prefix: explicit for few words, else a call."""
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
        """One letter and the expression after it."""
        low, high, depth = cast("Begun", argument)
        words, options = self._words, list[Expr]()
        while low < high:
            letter, first = words[low][depth], low
            low = bisect_right(words, letter, low, high, key=lambda word: word[depth])
            options.append(concat(self._text(letter), self.rest((first, low, depth + 1))))
        return alt(*options)

    def lives(self, argument: Hashable, look: Look) -> bool | None:
        """Return True if one of the words can be spelled, None if that is unknown."""
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
    """Return False for texts with a lone surrogate, which UTF-8 cannot encode."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
