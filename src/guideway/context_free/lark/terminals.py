"""Terminals of Lark's lexer as languages."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property, lru_cache
from itertools import chain, islice
from operator import itemgetter
from typing import Final

from guideway.context_free.lark.grammar import LarkGrammar, LarkTerminal
from guideway.errors import LimitError, SourceError, UnsupportedError
from guideway.language.expr import (
    ANYTHING,
    EMPTY,
    EPSILON,
    alt,
    both,
    byte_set,
    complement,
    concat,
    literal,
)
from guideway.language.fuel import spend
from guideway.language.nodes import Bytes, Concat, Expr
from guideway.language.regular import arcs, contains, least_byte, remainder
from guideway.regex.backtracking import Exit, Matches, matches
from guideway.regex.lowering import lower_regex
from guideway.regex.parser import parse_regex
from guideway.regex.tree import Pattern, refers_by_number


@lru_cache(maxsize=1 << 10)  # many grammars share terminals
def _parsed(regex: str) -> Pattern:
    """Parse a regex as Lark places it: a group among others."""
    try:
        pattern = parse_regex(f"(?:{regex})")
    except SourceError as error:
        raise UnsupportedError(str(error), feature="global flags") from None
    if refers_by_number(pattern):
        raise UnsupportedError(
            "a numbered back reference is not supported, because Lark's lexer numbers the groups "
            "of all terminals together; use (?P<name>...) and (?P=name), or lexer='dynamic'",
            feature="backreference",
        )
    return pattern


@lru_cache(maxsize=1 << 10)
def _matches(regex: str, marks: bool, solid: bool) -> Matches:
    return matches(_parsed(regex), marks, solid)


class Named:
    """Strings that have names of their own among the matches of a regex."""

    def __init__(self) -> None:
        self._words = set[bytes]()
        self._like: dict[bytes | None, list[Expr]] = {None: []}

    def add(self, string: "Terminal") -> None:
        if string.word is not None:
            self._words.add(string.word)
        self._like.setdefault(string.folded, []).append(string.whole)

    def has(self, word: bytes) -> bool:
        return word in self._words or contains(self.like(word.lower()), word)

    def like(self, folded: bytes | None) -> Expr:
        """The strings that may equal one with this case-folded text, or have flags."""
        if folded is None:
            return self.texts
        return alt(*self._like.get(folded, ()), *self._like[None])

    @property
    def texts(self) -> Expr:
        return alt(*(each for alike in self._like.values() for each in alike))


class Terminal:
    """The languages of a terminal, computed on demand."""

    def __init__(self, shape: LarkTerminal, marks: bool) -> None:
        self.shape, self._marks = shape, marks
        self.order = (-shape.priority, -shape.max_width, -shape.length, shape.name)
        self._within = cache(self._exits_among)
        # Plain strings skip the regex parser: there may be thousands.
        text = shape.text
        plain = text.encode() if text and text.isascii() and shape.flags <= {"i"} else None
        self.word = None if shape.flags else plain
        # Two strings match at one place only if one of these is a prefix of the other.
        self.folded = None if plain is None else plain.lower()

    def swallows(self, string: "Terminal") -> bool:
        """Return True if this regex matches a whole string of the same priority."""
        if string.shape.priority != self.shape.priority:
            return False
        word = (string.shape.text or "").encode()
        # `re.match` may take 2^n steps: 7 s for 27 letters by (a+)+c.
        return any(each.after.nullable and contains(each.text, word) for each in self.exits)

    def flags_hold(self, string: "Terminal") -> bool:
        """Return True if this regex has all flags of a string."""
        return string.shape.flags <= self.shape.flags

    def refuse(self) -> None:
        """Raise UnsupportedError or LimitError, naming the terminal, if it has no exits."""
        try:
            if self.word is None:
                self.exits  # noqa: B018  computed once
        except (UnsupportedError, LimitError) as error:
            raise named(self.shape, error) from None

    @cached_property
    def exits(self) -> tuple[Exit, ...]:
        """The texts of matches with the lookahead that they require."""
        if self.word is not None:
            return (Exit(literal(self.word), ANYTHING),)
        return _matches(self.shape.pattern, self._marks, self.shape.solid).exits

    @cached_property
    def begins(self) -> Expr:
        """The texts that begin with a match."""
        if self.word is not None:
            return concat(literal(self.word), ANYTHING)
        return _matches(self.shape.pattern, self._marks, self.shape.solid).begins

    @cached_property
    def whole(self) -> Expr:
        """The texts that equal this string under its flags."""
        if self.word is not None:
            return literal(self.word)
        return lower_regex(_parsed(self.shape.pattern))

    def exits_within(self, string: "Terminal", named: Named) -> tuple[Exit, ...]:
        """The exits of this regex that equal a string, without those named before."""
        words, word = string.whole, string.word or one_word(string.whole)
        if word is not None:
            words = EMPTY if named.has(word) else words
        else:
            words = both(words, complement(named.like(string.folded)))
        return self._within(words)

    def _exits_among(self, words: Expr) -> tuple[Exit, ...]:
        found = (Exit(_intersect_words(each.text, words), each.after) for each in self.exits)
        return tuple(each for each in found if each.text is not EMPTY)

    def exits_without(self, named: Named) -> tuple[Exit, ...]:
        """The exits of this regex without the named strings."""
        texts = named.texts
        return tuple(Exit(both(each.text, complement(texts)), each.after) for each in self.exits)


class Rivals:
    """Terminals in lexer order, and which of them may match at a text; sets are bit sets.

    `strings` are those without a regex, with their bits; `begun` the first bytes of each terminal.
    """

    def __init__(self, tried: Sequence[Terminal]) -> None:
        self._tried = tried
        self.bits = {each: 1 << place for place, each in enumerate(tried)}
        self.strings = [(e, bit) for e, bit in self.bits.items() if e.shape.text is not None]
        self.regexes = sum(self.bits.values()) - sum(bit for _, bit in self.strings)
        self._words = _Words((e.word, bit) for e, bit in self.bits.items() if not e.shape.flags)
        self._folded = _Words((e.folded, bit) for e, bit in self.bits.items())
        self._others: dict[int, list[Terminal]] = {}
        self._all: dict[int, int] = {}
        self._spelled = sum(bit for e, bit in self.bits.items() if e.folded is not None)
        self._at, self._of_word = cache(self._near_texts), cache(self._near_word)
        self.begun: dict[Terminal, int] = {}
        for each, bit in self.bits.items():
            begun = firsts([each.begins]) if each.word is None else 1 << each.word[0]
            self.begun[each] = begun
            self._all[begun] = self._all.get(begun, 0) | bit
            if each.folded is None:
                self._others.setdefault(begun, []).append(each)

    def among(self, terminals: int) -> tuple[Terminal, ...]:
        """The terminals of a set, in order."""
        found: list[Terminal] = []
        while terminals:
            found.append(self._tried[(terminals & -terminals).bit_length() - 1])
            terminals &= terminals - 1
        spend(len(found))
        return tuple(found)

    def of(self, exits: tuple[Exit, ...], called: Terminal) -> int:
        """The rivals that may match at these texts, which all carry the name `called`."""
        word = one_word(alt(*(each.text for each in exits)))
        return self._of_word(word) if word else self._at(exits, called.folded)

    def _near_texts(self, exits: tuple[Exit, ...], folded: bytes | None) -> int:
        begun, found = firsts(each.text for each in exits), 0
        for bits, terminals in self._all.items():
            found |= terminals if bits & begun else 0
        return found if folded is None else found & (self._folded.near(folded) | ~self._spelled)

    def _near_word(self, word: bytes) -> int:
        """The rivals that may match at a word, whatever follows it."""
        found = self._words.near(word)
        for each in self.among(self._folded.near(word.lower()) & ~found):
            found |= self.bits[each] if may_meet(word, each.begins) else 0
        for bits, others in self._others.items():
            for each in others if bits >> word[0] & 1 else ():
                found |= self.bits[each] if may_meet(word, each.begins) else 0
        return found


class _Words:
    """Index of strings by prefix."""

    def __init__(self, words: Iterable[tuple[bytes | None, int]]) -> None:
        self._equal, self._begun = dict[bytes, int](), dict[bytes, int]()
        for word, bit in words:
            if word is not None:
                self._equal[word] = self._equal.get(word, 0) | bit
                for prefix in (word[:size] for size in range(1, len(word) + 1)):
                    self._begun[prefix] = self._begun.get(prefix, 0) | bit

    def near(self, word: bytes) -> int:
        """The bits of strings that have this prefix or are a prefix of it."""
        found = self._begun.get(word, 0)
        for size in range(1, len(word)):
            found |= self._equal.get(word[:size], 0)
        return found


def shortest_beginnings(words: Iterable[bytes]) -> list[bytes]:
    """The words that have no other word as a prefix.

    >>> shortest_beginnings([b"ab", b"b", b"abc", b"ac"])
    [b'ab', b'ac', b'b']
    """
    found: list[bytes] = []
    for word in sorted(words):
        if not found or not word.startswith(found[-1]):
            found.append(word)
    return found


def named(
    shape: LarkTerminal, error: SourceError | UnsupportedError | LimitError
) -> UnsupportedError | LimitError:
    """Wrap an error in the pattern of a terminal with its name."""
    if isinstance(error, LimitError):
        return error.at("", f"the terminal {shape.written:.80}: {error}", text=shape.pattern)
    said = str(error).partition("\n")[0].removesuffix(f" (at {error.place})")
    return UnsupportedError(
        f"the terminal {shape.written}: {said}",
        feature=error.feature if isinstance(error, UnsupportedError) else "regex",
        text=shape.pattern,
    )


def _intersect_words(text: Expr, words: Expr) -> Expr:
    """Intersection written out along the finite language `words`.

    300 keywords of any case and a name: .4 s, with And nodes 6.5 s.
    """
    word = one_word(words)
    if word is not None:
        return words if contains(text, word) else EMPTY
    made: dict[tuple[Expr, Expr], Expr] = {}
    stack = [(text, words)]
    while stack:
        pair = stack[-1]
        steps = [
            (members & more, (left, right))
            for more, right in arcs(pair[1])
            for members, left in arcs(pair[0])
            if members & more
        ]
        missing = [after for _, after in steps if after not in made]
        if missing:
            stack += missing
            continue
        stack.pop()
        spend(1 + len(steps))
        ended = EPSILON if pair[0].nullable and pair[1].nullable else EMPTY
        made[pair] = alt(ended, *(concat(byte_set(one), made[after]) for one, after in steps))
    return made[text, words]


@lru_cache(maxsize=1 << 12)  # several calls for each terminal
def one_word(expr: Expr) -> bytes | None:
    """The only string of an expression, None if there are more or the form is not plain."""
    word = bytearray()
    while expr is not EPSILON:
        head, tail = (expr.head, expr.tail) if isinstance(expr, Concat) else (expr, EPSILON)
        if not isinstance(head, Bytes) or head.members & (head.members - 1):
            return None
        word.append(head.members.bit_length() - 1)
        expr = tail
    return bytes(word)


def may_meet(word: bytes, begun: Expr) -> bool:
    """Return False only if no string of `begun` begins with the word."""
    return remainder(begun, word) is not EMPTY


def firsts(exprs: Iterable[Expr]) -> int:
    """The first bytes of regular expressions."""
    found = 0
    for expr in exprs:
        for members, _ in arcs(expr):
            found |= members
    return found


_LOOKED_AT: Final = 256  # derivatives visited for a pattern


@lru_cache(maxsize=1 << 10)
def shortest_words(text: Expr, spellable: int, most: int) -> tuple[bytes, ...]:
    """At most `most` of the shortest strings in these bytes; of a literal, itself."""
    word = one_word(text)
    if word is not None:
        return (word,) if all(spellable >> byte & 1 for byte in word) else ()
    return tuple(islice(_words_by_length(text, spellable), most))


def _words_by_length(text: Expr, spellable: int) -> Iterable[bytes]:
    todo, seen = [(b"", text)], {text}
    for word, node in todo:  # grows while we go
        if len(word) == _LOOKED_AT:
            return  # what follows is longer
        readable = ((members & spellable, after) for members, after in arcs(node))
        ways = [(least_byte(members), after) for members, after in readable if members]
        for byte, after in sorted(ways, key=itemgetter(0)):
            if after not in seen and len(seen) < _LOOKED_AT:
                longer = word + bytes((byte,))
                if after.nullable:
                    yield longer
                seen.add(after)
                todo.append((longer, after))


def is_last(after: Expr) -> bool:
    """Return True if nothing may follow."""
    return after.nullable and not arcs(after)


def swallowing(
    grammar: LarkGrammar, is_empty: Callable[[Expr], bool]
) -> tuple[LarkTerminal, tuple[LarkTerminal, ...]] | None:
    """A terminal and the successors that are never read because it takes them, if there is one.

    Prefers a terminal for which these are all successors. Without a table there is no answer.
    """
    read = {name: Terminal(each, bool(grammar.parts)) for name, each in grammar.terminals.items()}

    def takes(taker: Terminal, other: str) -> bool:
        """Return True if one terminal goes on wherever another one could begin."""
        if other not in read or is_empty(read[other].begins):
            return False
        return all(is_empty(both(each.after, read[other].begins)) for each in taker.exits)

    best, table = None, grammar.table
    if table is None:
        return None
    for name, state in chain.from_iterable(row.items() for row in table.shifts):
        if name not in read or not all(takes(read[name], each) for each in grammar.ignored):
            continue
        wanted = table.wanted[state]
        names = table.named(wanted)
        taken = [each for each in sorted(names) if takes(read[name], each)]
        found = read[name].shape, tuple(read[each].shape for each in taken)
        if taken and len(taken) == wanted.bit_count():
            return found
        best = best or (found if taken else None)
    return best
