"""Constructors of expressions: they simplify to a normal form, and intern the result."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cache, reduce
from operator import itemgetter
from typing import Any, TypeAlias

from guideway.errors import GuidewayError
from guideway.language.fuel import spend
from guideway.language.nodes import (
    Ahead,
    Alt,
    And,
    Bytes,
    Call,
    Capture,
    Concat,
    Empty,
    Epsilon,
    Expr,
    Look,
    Not,
    Repeat,
    Stop,
    Template,
    Unsure,
    added,
    begins_with_capture,
    counted,
    intern,
    known,
    looking_apart,
    meets_stop,
    multiplied,
    operands,
    pair,
    united,
)

ALL_BYTES = (1 << 256) - 1
EMPTY: Expr = Empty()
EPSILON: Expr = Epsilon()
UNSURE: Expr = Unsure()

# First items of keys. Keys are tuples of ints, which the garbage collector skips: traversing those
# of 100,000 words takes longer than making them.
_PAIR, _BYTES, _ALT, _REPEAT, _AND, _NOT, _CALL, _CAPTURE, _AHEAD, _STOP = range(10)


def byte_set(members: Iterable[int] | int) -> Expr:
    """One byte out of `members`: byte values, or the 256-bit integer with their bits set.

    >>> byte_set(b"ab") is byte_set(0b11 << 97)
    True
    """
    bits = members if isinstance(members, int) else sum({1 << b for b in members})
    if bits == 0:
        return EMPTY
    key = (_BYTES, bits)
    return known(key) or intern(key, Bytes(bits))


ONE_BYTE = tuple(byte_set(1 << byte) for byte in range(256))


def literal(text: bytes | str) -> Expr:
    """Exactly `text` (a str in UTF-8)."""
    data = text.encode() if isinstance(text, str) else text
    result = ONE_BYTE[data[-1]] if data else EPSILON
    for byte in data[-2::-1]:
        result = _cons(ONE_BYTE[byte], result)
    return result


def concat(*parts: Expr) -> Expr:
    """One string of each part, in order."""
    result = parts[-1] if parts else EPSILON
    for part in parts[-2::-1]:
        result = _pair(part, result)
    return result


def _pair(head: Expr, tail: Expr) -> Expr:
    if tail is EPSILON:  # walking the spine would make literals O(n²)
        return head
    if not isinstance(head, Concat):
        return _cons(head, tail)
    heads: list[Expr] = []
    while isinstance(head, Concat):  # (a·b)·c becomes a·(b·c)
        heads.append(head.head)
        head = head.tail
    heads.append(head)
    for part in reversed(heads):
        tail = _cons(part, tail)
    return tail


def _cons(head: Expr, tail: Expr) -> Expr:
    key = (_PAIR, id(head), id(tail))
    if (node := known(key)) is not None:  # most pairs exist
        return node
    if head is EMPTY or tail is EMPTY:
        return EMPTY
    if head.yields:
        return _yielding(head, tail)
    if head is EPSILON or tail is EPSILON or head is UNSURE:
        return tail if head is EPSILON else head
    follower, rest = (tail.head, tail.tail) if isinstance(tail, Concat) else (tail, EPSILON)
    run = _run(head, follower)
    return intern(key, pair(head, tail)) if run is None else _cons(run, rest)


def _yielding(head: Expr, tail: Expr) -> Expr:
    """A pair whose head may match the empty string, so that its Ahead sees the tail."""
    if isinstance(head, Alt):
        return _before_each(head.options, tail)
    if isinstance(head, Ahead):
        return _looking(head, tail)
    return head if tail is EPSILON else _intern_pair(head, tail)


def _before_each(options: Iterable[Expr], tail: Expr) -> Expr:
    """Each option, then `tail`; options with the same Ahead share one copy of `tail`."""
    looking, passed, others = looking_apart(options)
    made = [concat(option, tail) for option in passed]
    made += [concat(a, alt(*(r or EPSILON for r in rests)), tail) for a, rests in looking.items()]
    return alt(*made, concat(alt(*others), tail))


def _looking(head: Ahead, tail: Expr) -> Expr:
    """One Ahead for each level, lower levels first; it moves into options that end it."""
    follower, rest = (tail.head, tail.tail) if isinstance(tail, Concat) else (tail, EPSILON)
    if isinstance(follower, Alt) and follower.looks and (follower.yields or meets_stop(follower)):
        ending = [one for one in follower.options if one.yields or meets_stop(one)]
        others = alt(*(one for one in follower.options if one not in ending))
        return alt(*(concat(head, one, rest) for one in ending), concat(head, others, rest))
    if isinstance(follower, Ahead) and follower.level == head.level:
        return _cons(ahead(both(head.item, follower.item), head.level), rest)
    if isinstance(follower, Ahead) and follower.level < head.level:
        return _looking(follower, concat(head, rest))
    if tail in (EPSILON, UNSURE):  # Unsure stays so after any lookahead
        return head if tail is EPSILON else UNSURE
    return _intern_pair(head, tail)


def _intern_pair(head: Expr, tail: Expr) -> Expr:
    key = (_PAIR, id(head), id(tail))
    return known(key) or intern(key, pair(head, tail))


def _counts(expr: Expr) -> bool:
    return isinstance(expr, Repeat) or (expr.nullable and isinstance(expr, Alt))


def _run(head: Expr, follower: Expr) -> Expr | None:
    """Both as one count, if they count the same item."""
    if not (_counts(head) or _counts(follower)):
        return None
    (item, counts), (other, more) = counted(head), counted(follower)
    if item is not other or (head is item and follower is item):
        return None
    if not item.regular and not (counts == more == (0, None)):
        return None
    return repeat(item, *added(counts, more))


def alt(*options: Expr) -> Expr:
    """A string of any option; bytes merge, nested alternatives flatten; Unsure if any option is."""
    if len(options) == 1:
        return options[0]
    flat: dict[Expr, None] = {}
    members = 0
    for option in options:
        for part in option.options if isinstance(option, Alt) else (option,):
            if isinstance(part, Bytes):
                members |= part.members
            elif part is not EMPTY:
                flat[part] = None
    if members:
        flat[byte_set(members)] = None
    if len(flat) <= 1:
        return next(iter(flat), EMPTY)
    key = (_ALT, *sorted(map(id, flat)))
    return known(key) or _union(flat)


def _union(flat: dict[Expr, None]) -> Expr:
    if UNSURE in flat:
        return UNSURE
    if ANYTHING in flat and all(part.regular for part in flat):
        return ANYTHING
    _unite(flat)
    nullable = inhabited = empties = False
    regular = True
    for part in flat:
        nullable = nullable or part.nullable
        # An option that yields depends on what follows, so it does not replace Epsilon.
        empties = empties or (part.nullable and part is not EPSILON and not part.yields)
        inhabited = inhabited or part.inhabited
        regular = regular and part.regular
    if empties:
        flat.pop(EPSILON, None)
    if len(flat) == 1:
        return next(iter(flat))
    key = (_ALT, *sorted(map(id, flat)))
    if regular:
        return intern(key, Alt(tuple(flat), nullable, True, False, inhabited))
    captures = any(begins_with_capture(part) for part in flat)
    looks, yields = max(part.looks for part in flat), any(part.yields for part in flat)
    return intern(key, Alt(tuple(flat), nullable, False, captures, inhabited, looks, yields))


def _unite(flat: dict[Expr, None]) -> None:
    """Merge counts of the same item before the same rest, where their ranges meet."""
    groups: dict[tuple[Expr, Expr], list[Expr]] = {}
    for option in flat:
        head = option.head if isinstance(option, Concat) else option
        if _counts(head):
            item = counted(head)[0]
            if item.regular and item is not head:
                rest = option.tail if isinstance(option, Concat) else EPSILON
                groups.setdefault((item, rest), []).append(option)
    for (item, rest), found in groups.items():
        # The item alone and the rest alone count as one and zero.
        found += [_known_pair(item, rest) or rest, rest]
        present = [option for option in dict.fromkeys(found) if option in flat]
        ranges = [_count(option, item, rest) for option in present]
        fewer = united(ranges) if len(ranges) > 1 else ranges
        if len(fewer) < len(ranges):
            for option in present:
                del flat[option]
            for low, high in fewer:
                flat[concat(repeat(item, low, high), rest)] = None


def _known_pair(item: Expr, rest: Expr) -> Expr | None:
    """`item`, then `rest`, if that node exists."""
    return item if rest is EPSILON else known((_PAIR, id(item), id(rest)))


def _count(option: Expr, item: Expr, rest: Expr) -> tuple[int, int | None]:
    if option is rest or option is item:
        return (0, 0) if option is rest else (1, 1)
    head = option.head if isinstance(option, Concat) else option
    return (1, 1) if head is item else counted(head)[1]


def repeat(item: Expr, low: int = 0, high: int | None = None) -> Expr:
    """`low` to `high` strings of `item` in a row; `high` None is any number."""
    if (high is not None and high < low) or (item is EMPTY and low):
        return EMPTY
    if high == 0 or item is EPSILON or item is EMPTY:
        return EPSILON
    if low == 1 and high == 1:
        return item
    if item.nullable:
        low = 0  # the same language, and fewer states
    key = (_REPEAT, id(item), low, high)
    return known(key) or _simpler(item, low, high) or intern(key, _repeat_node(item, low, high))


def _repeat_node(item: Expr, low: int, high: int | None) -> Expr:
    if item.yields:
        raise GuidewayError("what is repeated must not be an empty string that looks ahead")
    inhabited = low == 0 or item.inhabited
    return Repeat(item, low, high, low == 0, item.regular, inhabited, item.looks)


def _simpler(item: Expr, low: int, high: int | None) -> Expr | None:
    """A count of a count as one count, if there is no gap."""
    if not item.regular:
        return None
    if isinstance(item, Repeat):
        counts = multiplied((item.low, item.high), (low, high))
        return None if counts is None else repeat(item.item, *counts)
    if isinstance(item, Alt):
        if EPSILON in item.options:
            return repeat(alt(*(o for o in item.options if o is not EPSILON)), 0, high)
        if low == 0 and high is None:
            once = [o.item if isinstance(o, Repeat) and o.low <= 1 else o for o in item.options]
            if once != list(item.options):
                return repeat(alt(*once))
    return optional(item) if low == 0 and high == 1 else None


def optional(item: Expr) -> Expr:
    """`item` or nothing."""
    return alt(item, EPSILON)


def both(left: Expr, right: Expr) -> Expr:
    """Intersection of two regular expressions."""
    if left is right or right is ANYTHING:
        return left
    if left is ANYTHING:
        return right
    if left is EMPTY or right is EMPTY:
        return EMPTY
    if left is EPSILON or right is EPSILON:
        return EPSILON if left.nullable and right.nullable else EMPTY
    if isinstance(left, Bytes) and isinstance(right, Bytes):
        return byte_set(left.members & right.members)
    key = (_AND, min(id(left), id(right)), max(id(left), id(right)))
    found = known(key)
    return found if found is not None else intern(key, _both_node(left, right))


def _both_node(left: Expr, right: Expr) -> Expr:
    if not (left.regular and right.regular):
        raise GuidewayError("only regular expressions intersect")
    return And(left, right, left.nullable and right.nullable)


def complement(item: Expr) -> Expr:
    """All byte strings that are not in the regular `item`."""
    if isinstance(item, Not):
        return item.item
    if not item.regular:
        raise GuidewayError("only regular expressions have a complement")
    return intern((_NOT, id(item)), Not(item, not item.nullable))


ANYTHING: Expr = complement(EMPTY)


def ahead(item: Expr, level: int = 0) -> Expr:
    """The empty string, if the text up to the next `stop` of this level is in `item`."""
    if item is ANYTHING or item is EMPTY:
        return EPSILON if item is ANYTHING else EMPTY
    if not item.regular:
        raise GuidewayError("only a regular expression can be looked ahead for")
    met = operands(item)
    if len(met) > 1:  # without duplicates, which recursion would accumulate
        item = reduce(both, sorted({*met}, key=id))
    return intern((_AHEAD, id(item), level), Ahead(item, level, item.nullable, level + 1))


def stop(level: int = 0) -> Expr:
    """The end of the text that an Ahead of this level looks at."""
    return intern((_STOP, level), Stop(level, level + 1))


def call(template: Template, argument: Hashable, looks: int = 0, inhabited: bool = False) -> Expr:
    """The call of `template` with `argument`; `inhabited` if it surely has a text."""
    node = Call(template, argument, inhabited=inhabited, looks=looks)
    return intern((_CALL, id(template), argument), node)


def capture(item: Expr, read: bytes | None, template: Template, argument: Hashable) -> Expr:
    """The rest of a captured string that begins with `read`."""
    if item is EMPTY or item is UNSURE:
        return item
    node = Capture(item, read, template, argument)
    return intern((_CAPTURE, id(item), read, id(template), argument), node)


Word: TypeAlias = str | bytes | tuple[int, ...]

_FREE = 16

# `r = a b | b a | ε, a = r x r | x, b = r y r | y` takes 2.2 s for 32 letters with 1, .02 with 3.
_FACTORED = 3


def either(options: Iterable[bytes | Expr]) -> Expr:
    """Union of the options, with common prefixes factored out."""
    letters: list[bytes] = []
    others: list[Expr] = []
    for option in options:
        if isinstance(option, bytes):
            letters.append(option)
        elif option is not EMPTY:
            others += option.options if isinstance(option, Alt) else (option,)
    if not others:
        return branching(((word, EPSILON) for word in letters), ONE_BYTE.__getitem__)
    if len(others) == 1 and not letters:
        return others[0]
    spend(sum(len(word) // _FREE for word in letters))
    return _either_of_parts([*map(literal, letters), *others])


def all_of(exprs: Iterable[Expr]) -> Expr:
    """Intersection; complements are joined into the complement of one union."""
    held: dict[Expr, None] = {}
    denied: dict[Expr, None] = {}
    for expr in exprs:
        for part in operands(expr):
            if isinstance(part, Not):
                denied[part.item] = None
            else:
                held[part] = None
    return reduce(both, held, complement(either(denied)))


def branching(entries: Iterable[tuple[Word, Expr]], letter: Callable[[Any], Expr]) -> Expr:
    """Trie of words, each followed by its expression, built in sorted order (Daciuk 2000).

    `letter` lowers one character of a str, one byte as an int, or one number.
    """
    ordered, spell = sorted(entries, key=itemgetter(0)), cache(letter)
    opened: list[_Open] = [_Open()]
    last: Word = ()
    for index, (word, rest) in enumerate(ordered):
        shared = _common(last, word)
        _close(opened, last, shared, spell)
        beyond = _common(word, ordered[index + 1][0]) if index + 1 < len(ordered) else 0
        opened += [_Open() for _ in range(max(shared, beyond) - shared)]
        alone = word[len(opened) - 1 :]
        if alone:  # suffix of this word only: by far the most letters
            first, ending = spell(alone[0]), _word_then(alone[1:], rest, spell)
            opened[-1].branches.setdefault(ending, []).append(first)
        else:
            opened[-1].ending = alt(opened[-1].ending, rest)
        last = word[: len(opened) - 1]
    _close(opened, last, 0, spell)
    return opened[0].made()


class _Open:
    """An open node of the trie: letters by the expression after them."""

    __slots__ = ("branches", "ending")

    def __init__(self) -> None:
        self.branches: dict[Expr, list[Expr]] = {}
        self.ending = EMPTY

    def made(self) -> Expr:
        if len(self.branches) == 1 and self.ending is EMPTY:  # most nodes, by far
            [(rest, heads)] = self.branches.items()
            return concat(heads[0] if len(heads) == 1 else alt(*heads), rest)
        options = [concat(alt(*heads), rest) for rest, heads in self.branches.items()]
        return alt(*options, self.ending)


def _word_then(word: Word, rest: Expr, letter: Callable[[Any], Expr]) -> Expr:
    if len(word) > _FREE:
        spend(len(word) // _FREE)  # new nodes cost fuel themselves, known ones do not
    for one in reversed(word):
        rest = concat(letter(one), rest)
    return rest


def _common(left: Word, right: Word) -> int:
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count


def _close(opened: list[_Open], word: Word, depth: int, letter: Callable[[Any], Expr]) -> None:
    """Build the nodes on the path to `word` below `depth`."""
    if len(opened) - depth > _FREE:
        spend((len(opened) - depth) // _FREE)  # new nodes cost fuel themselves, known ones do not
    while len(opened) - 1 > depth:
        rest = opened.pop().made()
        opened[-1].branches.setdefault(rest, []).append(letter(word[len(opened) - 1]))


def _either_of_parts(options: Iterable[Expr]) -> Expr:
    """The trie of sequences: words over the numbers of their parts."""
    numbers: dict[Expr, int] = {}
    words: list[tuple[tuple[int, ...], Expr]] = []
    for option in options:
        word, rest = list[int](), option
        while rest is not EPSILON:
            head, rest = (rest.head, rest.tail) if isinstance(rest, Concat) else (rest, EPSILON)
            word.append(numbers.setdefault(head, len(numbers)))
        words.append((tuple(word), EPSILON))
    spend(len(numbers))
    return branching(words, [*numbers].__getitem__)


def alt_by_head(
    options: Sequence[Expr],
    known: dict[tuple[Expr, ...], Expr] | None = None,
    depth: int = _FACTORED,
) -> Expr:
    """`alt` with common heads factored out: x·y | x·z is x·(y|z), `depth` parts deep.

    `known` caches unions, which the arcs of a state often share.
    """
    if len(options) == 1:
        return options[0]
    known = {} if known is None else known
    key = tuple(options)
    found = known.get(key)
    if found is None:
        found = known[key] = _factored(key, known, depth) if depth > 0 else alt(*key)
    return found


def _factored(options: tuple[Expr, ...], known: dict[tuple[Expr, ...], Expr], depth: int) -> Expr:
    tails: dict[Expr, dict[Expr, None]] = {}
    others: list[Expr] = []
    for option in options:
        for part in option.options if isinstance(option, Alt) else (option,):
            if isinstance(part, Concat) and not isinstance(part.head, Capture):
                tails.setdefault(part.head, {})[part.tail] = None
            else:
                others.append(part)
    for head, rest in tails.items():
        further = 0 if head.regular else depth - 1
        others.append(concat(head, alt_by_head(tuple(rest), known, further)))
    return alt(*others)


class Uncaptured:
    """Base of templates without captures; subclasses add `unfold`, `lives` and `least`."""

    def resume(self, argument: Hashable, captured: bytes | None) -> Expr:
        del argument, captured
        return EMPTY

    def remembers(self, argument: Hashable) -> bool:
        del argument
        return True

    def depends(self, argument: Hashable) -> bool:
        del argument
        return False

    def lives_after(
        self, argument: Hashable, look: Look, captured: Callable[[], bytes | None]
    ) -> bool | None:
        del argument, look, captured
        return False

    def parts(self, argument: Hashable) -> tuple[Expr, ...]:
        del argument
        return ()


def looking(expr: Expr) -> tuple[list[Ahead], Expr]:
    """The Aheads at the head of `expr`, one for each level, and the rest.

    >>> from guideway.language.expr import ahead, complement, literal
    >>> no_dot = complement(concat(literal("."), complement(EMPTY)))
    >>> leads, rest = looking(concat(ahead(no_dot), literal("x")))
    >>> [lead.item is no_dot for lead in leads], rest is literal("x")
    ([True], True)
    """
    leads: list[Ahead] = []
    while isinstance(expr, Concat) and isinstance(expr.head, Ahead):
        leads.append(expr.head)
        expr = expr.tail
    if isinstance(expr, Ahead):
        leads.append(expr)
        expr = EPSILON
    return leads, expr


def passed(leads: Sequence[Ahead], stop: Stop, rest: Expr) -> Expr:
    """Drop the lookaheads that end at `stop`; EMPTY if one of them is not nullable."""
    if any(lead.level == stop.level and not lead.nullable for lead in leads):
        return EMPTY
    return concat(*(lead for lead in leads if lead.level != stop.level), rest)


def parts(expr: Expr) -> tuple[Expr, Expr]:
    """The first part of a sequence, and the rest."""
    return (expr.head, expr.tail) if isinstance(expr, Concat) else (expr, EPSILON)
