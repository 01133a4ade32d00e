"""Compilation of sources to constraints."""

import logging
import sys
import threading
from collections.abc import Callable
from functools import reduce
from itertools import islice
from threading import Lock
from time import perf_counter
from typing import Final, TypeAlias, TypeVar

from guideway.chat.parts import check_levels, parts_of
from guideway.constraint.comparison import conflict, placed, undecided
from guideway.constraint.compiled import CompiledConstraint
from guideway.constraint.lowering import lower_source
from guideway.constraint.pattern_intersections import Trials, trials, wide_part
from guideway.constraint.special_tokens import checked_lead, resolve
from guideway.errors import GuidewayError, LimitError, ModelError, SourceError, UnsatisfiableError
from guideway.json_schema.source import JsonSchema, check_keywords
from guideway.json_schema.text import pause, resume
from guideway.language.budget import Budget, Meter
from guideway.language.derivative import Derivatives
from guideway.language.finite_languages import Decisions
from guideway.language.fuel import metered
from guideway.language.nodes import And, Expr, Not
from guideway.language.shortest_string import LONGEST
from guideway.language.special_tokens import shown
from guideway.sources.mistakes import vocabulary_of
from guideway.sources.sources import Source, source
from guideway.vocabulary.backend import Backend, fast_backend
from guideway.vocabulary.canonical.tokens import CanonicalAutomaton
from guideway.vocabulary.tokenizer_json import read_table
from guideway.vocabulary.vocabulary import Vocabulary

_MOST: Final = 4

_made: list[tuple[object, Vocabulary, CanonicalAutomaton]] = []  # held, so that ids are not reused
_lock: Final = Lock()


def canonical_automaton(tokenizer: object, vocabulary: Vocabulary) -> CanonicalAutomaton:
    """CanonicalAutomaton of a fast tokenizer of transformers, or a `tokenizers.Tokenizer`."""
    if isinstance(tokenizer, bool):
        raise SourceError(
            f"canonical is {tokenizer}: guideway.compile needs the tokenizer of the vocabulary, or "
            "None"
        )
    library = sys.modules.get("tokenizers")  # if it is not loaded, nothing is of its classes
    own = library is not None and isinstance(tokenizer, library.Tokenizer)
    inner = tokenizer if own else fast_backend(tokenizer)
    with _lock:
        for known, own, automaton in _made:
            if known is inner and own == vocabulary:
                return automaton
        automaton = _automaton(Backend.of(inner), vocabulary)
        _made.append((inner, vocabulary, automaton))
        del _made[:-_MOST]
    return automaton


def _automaton(backend: Backend, vocabulary: Vocabulary) -> CanonicalAutomaton:
    spelled = read_table(backend).tokens
    for token, (own, other) in enumerate(zip(spelled, vocabulary.tokens, strict=False)):
        if own is not None and other is not None and own != other:
            raise ModelError(
                f"the tokenizer does not belong to the vocabulary: token {token} is {own!r} in the "
                f"tokenizer, and {other!r} in the vocabulary"
            )
    return CanonicalAutomaton.of(backend, vocabulary.tokens)


logger: Final = logging.getLogger(__name__)
Told = TypeVar("Told")
_FEW: Final = 8  # spent constraints dropped by one call
_SELDOM: Final = 16  # calls between two visits of all constraints
Parts: TypeAlias = tuple[Source, Vocabulary, Budget, CanonicalAutomaton | None]

_DEFAULT: Final = Budget.default()
_DEAR: Final = 5  # weight of slow searches: 400,000 parts took 2.8 to 4.7 s


class Remembered:
    """A bounded LRU dictionary, thread safe; `hits` and `misses` count look-ups.

    Constraints grow while they are used, so all are visited and measured again now and then: at
    each call it was a fifth of the time of a compile. When a mask cache has a successor, the
    constraints that still hold it are dropped: they would build their automata anew, and together
    the old ones take hundreds of megabytes. Each visit drops a few, as all at once took 40 ms.
    """

    def __init__(self, most: int, most_bytes: int) -> None:
        self.most, self.most_bytes = most, most_bytes
        self.hits = self.misses = 0
        self._kept: dict[Parts, tuple[CompiledConstraint, int]] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def bytes(self) -> int:
        with self._lock:
            return sum(value.size() for value, _ in self._kept.values())

    def get(self, key: Parts) -> CompiledConstraint | None:
        with self._lock:
            found, _ = self._kept.pop(key, (None, 0))
            if found is None:
                self.misses += 1
                return None
            self.hits += 1
            self._kept[key] = found, found.size()
            if found.spent or self.hits % self.most == 0:
                self._shrink(found, measure=True)
            return found

    def put(self, key: Parts, value: CompiledConstraint) -> None:
        with self._lock:
            self._kept.pop(key, None)
            self._kept[key] = value, value.size()
            self._shrink(value, measure=self.misses % _SELDOM == 0)

    def _shrink(self, used: CompiledConstraint, *, measure: bool) -> None:
        kept = self._kept
        if measure:
            spent = (key for key, (each, _) in kept.items() if each.spent and each is not used)
            for key in list(islice(spent, _FEW)):
                del kept[key]
            kept.update({key: (each, each.size()) for key, (each, _) in kept.items()})
        while len(kept) > 1 and (
            len(kept) > self.most or sum(size for _, size in kept.values()) > self.most_bytes
        ):
            del kept[next(iter(kept))]

    def forget(self, vocabulary: Vocabulary) -> None:
        """Drop the constraints of one vocabulary object."""
        with self._lock:
            self._kept = {key: each for key, each in self._kept.items() if key[1] is not vocabulary}

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
            self.hits = self.misses = 0


remembered: Final = Remembered(64, 512 << 20)
"""The least recently used constraints are dropped first."""


def compile(  # noqa: A001  the contract fixes the name
    source_or_type: object,
    vocabulary: Vocabulary,
    budget: Budget | None = None,
    *,
    canonical: object = None,
) -> CompiledConstraint:
    """Compile a source for a vocabulary.

    Example:
        >>> import guideway as gw
        >>> vocabulary = gw.Vocabulary([bytes([b]) for b in range(256)])
        >>> gw.compile(gw.Choice(["yes", "no"]), vocabulary).matches("no")
        True

        Canonical tokens of a tokenizer that merges "a" and "b":

        >>> from tokenizers import Tokenizer, decoders, models
        >>> own = Tokenizer(models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]))
        >>> own.decoder = decoders.Fuse()
        >>> vocabulary = gw.Vocabulary([b"a", b"b", b"ab", None], eos_ids={3})
        >>> constraint = gw.compile(gw.Regex("a?b"), vocabulary, canonical=own)
        >>> constraint.mask(constraint.start()).tolist()  # "b" and "ab"; no "a"
        [6]

    Args:
        source_or_type: a source (`Regex`, `Choice`, `JsonSchema`, `Text`, or a combination), a
            string (a literal), or a Python type (the JSON texts of its values).
        vocabulary: the tokens of the model.
        budget: limits of work and memory; `Budget.default()` if not given.
        canonical: the tokenizer of the vocabulary (of transformers, or a `tokenizers.Tokenizer`).
            The constraint then allows only the token sequence that the tokenizer produces for the
            text (with the lead of `start`). It rejects texts that the tokenizer changes, or in
            which the tokenizer reads the name of a special token.

    Raises:
        SourceError: the source is not well formed.
        UnsupportedError: a part of the source, named in the message, cannot be enforced exactly.
        UnsatisfiableError: no text satisfies the source, or the vocabulary can spell none.
        LimitError: the compilation exceeds the budget.
        ModelError: the vocabulary has no tokens.
    """
    paused = pause()
    try:
        return _remembered(source_or_type, vocabulary, budget, canonical)
    finally:
        resume(paused)


def _remembered(
    source_or_type: object, vocabulary: Vocabulary, budget: Budget | None, canonical: object
) -> CompiledConstraint:
    if not isinstance(vocabulary, Vocabulary):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise SourceError(
            f"vocabulary must be a guideway.Vocabulary, not {type(vocabulary).__name__}"
            f"{vocabulary_of(vocabulary)}"
        )
    if not vocabulary.width:
        raise ModelError("the vocabulary has no tokens")
    limits = _DEFAULT if budget is None else budget
    if not isinstance(limits, Budget):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise SourceError(f"budget must be a guideway.Budget, not {type(limits).__name__}")
    automaton = None if canonical is None else canonical_automaton(canonical, vocabulary)
    what = source(source_or_type)
    check_levels(what)
    parts = what, vocabulary, limits, automaton
    made = remembered.get(parts)
    if made is None:
        began = perf_counter()
        try:
            made = _compile(*parts)
        except LimitError as error:
            raise placed(what, error) from None
        logger.debug("compiled %s in %.3f s", type(what).__name__, perf_counter() - began)
        made.made_from(what, (_compiled_again, (what, vocabulary, limits, canonical)))
        remembered.put(parts, made)
    return made


def _compiled_again(
    what: Source, vocabulary: Vocabulary, budget: Budget, canonical: object
) -> CompiledConstraint:
    return compile(what, vocabulary, budget, canonical=canonical)


def _compile(
    what: Source, vocabulary: Vocabulary, budget: Budget, automaton: CanonicalAutomaton | None
) -> CompiledConstraint:
    meter = Meter(budget)
    resolved = resolve(what, vocabulary)
    spelled = resolved.vocabulary
    _check_keywords(resolved.source)
    with metered(meter.tick, fresh=True):
        expr = lower_source(resolved.source, Decisions(meter.tick))
        machine = Derivatives(expr, spelled.spellable, meter.tick)
        # `has_text` lowers the parts that it needs.
        lives = _ask_naming_parts(resolved.source, lambda: machine.has_text(expr))
        if not lives:
            raise _unsatisfiable(resolved.source, expr, meter)
        machine.settle()
    checked_lead(None, spelled)
    made = CompiledConstraint(
        expr,
        machine,
        vocabulary,
        budget,
        spelled=spelled,
        names=resolved.names,
        automaton=automaton,
    )
    if automaton is None and (expr.looks or isinstance(expr, And | Not)):
        # The mask of an intersection may take too long. Raise that error now.
        with metered(meter.tick):
            _ask_naming_parts(resolved.source, lambda: made.mask(made.start()))
    if automaton is None and expr.regular and spelled.closed:
        _try_wide(expr, machine, vocabulary, budget, meter)
    if isinstance(resolved.source, JsonSchema) and spelled.closed:
        tried = trials(resolved.source)
        _try_parts(tried, (expr, machine), vocabulary, budget, meter)
    meter.release()
    machine.trim()
    made.prepare()
    return made


def _check_keywords(what: Source) -> None:
    """Warn of keywords without effect in the schemas of a source."""
    held: dict[int, Source] = {id(what): what}
    while held:
        for schema in held.values():
            if isinstance(schema, JsonSchema):
                check_keywords(schema.value)
        held = {id(part): part for each in held.values() for part in parts_of(each)}


def _ask_naming_parts(what: Source, ask: Callable[[], Told]) -> Told:
    """Return `ask()`. If its search takes too long, name the two intersected parts."""
    try:
        return ask()
    except LimitError as error:
        raise undecided(what, error) from None


def _try_wide(
    expr: Expr, machine: Derivatives, vocabulary: Vocabulary, budget: Budget, meter: Meter
) -> None:
    """Compute a mask of a very wide alternative, each of whose states may have all branches."""
    part = wide_part(expr)
    if part is None:
        return
    made = CompiledConstraint(part, machine, vocabulary, budget)
    with metered(lambda parts: meter.tick(parts * _DEAR)):
        made.mask(made.start())


def _try_parts(
    tried: Trials,
    whole: tuple[Expr, Derivatives],
    vocabulary: Vocabulary,
    budget: Budget,
    meter: Meter,
) -> None:
    """Compute masks of the intersections at the places `tried`, which may take too long."""
    for place, part, before in tried:
        try:
            with metered(lambda parts: meter.tick(parts * _DEAR)):
                expr, machine = whole
                if part is not None:
                    expr = lower_source(part, Decisions(meter.tick))
                    machine = Derivatives(expr, vocabulary.spellable, meter.tick)
                inside = reduce(machine.after, before, expr)
                made = CompiledConstraint(inside, machine, vocabulary, budget)
                made.mask(made.start())
                _try_wide(inside, machine, vocabulary, budget, meter)
        except LimitError as error:
            raise error.at(
                place(),
                "the intersection of the patterns of strings or keys takes more than "
                f"{error.given} parts of automata",
            ) from None
        except GuidewayError:  # a part without references, or without an instance
            continue


def _unsatisfiable(what: Source, expr: Expr, meter: Meter) -> UnsatisfiableError:
    anything = Derivatives(expr, fuel=meter.tick)
    if anything.has_text(expr):
        why = "the vocabulary cannot spell any text of the source"
        if anything.shortest_length(expr) <= LONGEST:
            why += f", such as {shown(anything.shortest(expr))!r}"
        return UnsatisfiableError(why, conflict=("source", "vocabulary"))
    return conflict(what, Decisions(meter.tick))
