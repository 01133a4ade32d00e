"""Sources as the requests of serving engines name them, and their compilation off the loop.

    {"json": schema}            a JSON Schema (object, bool, text), read as `generate` reads a dict
    {"json_object": true}       any JSON object
    {"regex": pattern}          the whole text matches, in Python's syntax with ASCII classes
    {"choice": ["a", "b"]}      one of the strings
    {"grammar": text}           a Lark grammar; a GBNF grammar if a line begins with `name ::=`
    {"structural_tag": tag}     xgrammar's structural tags (`chat.structural_tags`)

Requests come from strangers, so compilation has the limits of `Budget.untrusted()`. It does not
limit tokens: an error within a step would end the engine.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from typing import Any, Final, TypeAlias, TypeVar, cast

from guideway.chat.structural_tags import KINDS, loaded
from guideway.constraint.compile import compile as compile_source
from guideway.constraint.compiled import CompiledConstraint
from guideway.errors import SourceError, brief
from guideway.language.budget import Budget
from guideway.sources.sources import Source
from guideway.vocabulary.vocabulary import Vocabulary

MOST_ENDS: Final = 4  # sets of end ids whose vocabularies are kept
WORKERS: Final = 2  # threads that compile: they share the GIL with the engine's loop

Spec: TypeAlias = Mapping[str, Any]
Made = TypeVar("Made")


def read_request(given: object) -> Source:
    """The source of a request: an object with one of the keys above, or its JSON text.

    >>> read_request('{"choice": ["yes", "no"]}')
    Choice(options=('yes', 'no'))

    Raises:
        SourceError: it has another form, or the source is not well formed.
        UnsupportedError: a structural tag has a part that cannot be enforced.
    """
    spec: Any = loaded(given, "the guideway argument") if isinstance(given, str) else given
    kinds: list[Any] = [*cast("Spec", spec)] if isinstance(spec, Mapping) else []
    if len(kinds) != 1 or kinds[0] not in KINDS:
        names = ", ".join(KINDS)
        raise SourceError(
            f"a constraint is an object with one of the keys {names}, not {brief(given)}"
        )
    return KINDS[kinds[0]](spec[kinds[0]])


class Compiler:
    """Compiles the sources of requests for one model, in a pool of threads.

    An engine stops at the end ids of a request, and a text must end with one of those. So each set
    of end ids has its vocabulary. A stop id that spells text is an end id there, and no text: the
    engine would stop at it within a text. If it spells one byte, no text contains that byte.
    """

    def __init__(self, vocabulary: Vocabulary, width: int, budget: Budget | None = None) -> None:
        """Take the model's tokens, and the number of logits: ids beyond it are never drawn.

        `budget` is `Budget.untrusted()` by default.
        """
        self._tokens, self._width = vocabulary, width
        self._budget = Budget.untrusted() if budget is None else budget
        self._ending = lru_cache(MOST_ENDS)(self._with_ends)
        self._pool = ThreadPoolExecutor(WORKERS, "guideway-compile")

    def vocabulary(self, ends: Collection[int] | None = None) -> Vocabulary:
        """The vocabulary whose texts end with the ids `ends`; None for those of the tokenizer."""
        wanted = frozenset(self._tokens.eos_ids if ends is None else ends)
        return self._ending(frozenset(i for i in wanted if i < self._width))

    def _with_ends(self, ends: frozenset[int]) -> Vocabulary:
        tokens = self._tokens
        return tokens.replaced(
            tokens=_without_ends(tokens.tokens[: self._width], ends),
            eos_ids=ends,
            width=self._width,
            special={name: i for name, i in tokens.special.items() if i < self._width},
        )

    def compile(self, request: object, ends: Collection[int] | None = None) -> CompiledConstraint:
        """The constraint of a request. Raises as `guideway.compile`."""
        return compile_source(read_request(request), self.vocabulary(ends), self._budget)

    def run(self, work: Callable[..., Made], *given: object) -> "Future[Made]":
        return self._pool.submit(work, *given)


def _without_ends(tokens: Sequence[bytes | None], ends: Collection[int]) -> list[bytes | None]:
    """Spellings without those of `ends`, and without each byte that one of these spells alone."""
    left = [None if token in ends else text for token, text in enumerate(tokens)]
    spelled = (tokens[token] for token in ends if token < len(tokens))
    for byte in (text for text in spelled if text and len(text) == 1):
        left = [None if text and byte in text else text for text in left]
    return left
