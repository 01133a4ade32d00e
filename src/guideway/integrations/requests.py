"""Sources as the requests of serving engines name them, and their compilation off the loop.

    {"json": schema}            a JSON Schema (object, bool, text), read as `generate` reads a dict
    {"json_object": true}       any JSON object
    {"regex": pattern}          the whole text matches, in Python's dialect
    {"choice": ["a", "b"]}      one of the strings
    {"grammar": text}           a Lark grammar; a GBNF grammar if a line begins with `name ::=`
    {"structural_tag": tag}     xgrammar's structural tags, in both forms (`_format` has the list)

Requests come from strangers, so compilation has the limits of `Budget.untrusted()`.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Any, Final, TypeAlias, TypeVar, cast, final

from guideway.automata.budget import Budget
from guideway.constraints.compile import compile as compile_source
from guideway.constraints.compiled import CompiledConstraint
from guideway.errors import SourceError, UnsupportedError, brief
from guideway.syntax.json_schema_source import bare_schema
from guideway.syntax.lark_source import Lark
from guideway.syntax.regions import Tag, regions, special, tag, until
from guideway.syntax.sources import Choice, Either, Gbnf, Regex, Source, Text, repeat, source
from guideway.syntax.sources import Sequence as Joined
from guideway.vocabulary.spellings import Vocabulary

WORKERS: Final = 2  # threads that compile: they share the GIL with the engine's loop
_RULE: Final = re.compile(r"^\s*[A-Za-z][\w-]*\s*::=", re.MULTILINE)

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
    spec: Any = _loaded(given, "the guideway argument") if isinstance(given, str) else given
    kinds: list[Any] = [*cast("Spec", spec)] if isinstance(spec, Mapping) else []
    if len(kinds) != 1 or kinds[0] not in _KINDS:
        names = ", ".join(_KINDS)
        raise SourceError(
            f"a constraint is an object with one of the keys {names}, not {brief(given)}"
        )
    return _KINDS[kinds[0]](spec[kinds[0]])


def _choice(options: object) -> Source:
    listed = _loaded(options, "choice") if isinstance(options, str) else options
    return Choice(cast("Any", listed))


def _grammar(text: object) -> Source:
    if not isinstance(text, str):
        raise SourceError(f"a grammar must be a text, not {brief(text)}")
    return Gbnf(text) if _RULE.search(text) else Lark(text)


def _structural_tag(given: Any) -> Source:
    spec: Any = _loaded(given, "structural_tag") if isinstance(given, str) else given
    try:
        if "format" in spec:
            return _format(spec["format"])
        schema = {"type": "json_schema"}
        tags = [
            {**each, "content": schema | {"json_schema": each["schema"]}}
            for each in spec["structures"]
        ]
        return _triggered({"triggers": spec["triggers"], "tags": tags})
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SourceError(
            "a structural tag has a format, or structures and triggers; "
            f"{brief(spec)} is malformed: {error!r}"
        ) from None


_KINDS: Final[Mapping[str, Callable[[Any], Source]]] = {
    "json": bare_schema,
    "json_object": lambda _: bare_schema({"type": "object"}),
    "regex": Regex,
    "choice": _choice,
    "grammar": _grammar,
    "structural_tag": _structural_tag,
}


def _format(form: Spec) -> Source:
    """A format of xgrammar's structural tags as a source; others are refused by name."""
    if form["type"] not in _FORMATS:
        raise UnsupportedError(
            f"a structural tag with {brief(form['type'])}; known are {', '.join(_FORMATS)}",
            feature=f"structural tag {form['type']}",
        )
    taken, read = _FORMATS[form["type"]]
    for option, value in form.items():
        if option not in ("type", *taken) and value not in (None, False, [], "json"):
            raise UnsupportedError(
                f"the option {option} = {brief(value)} in a structural tag",
                feature=f"structural tag: {option}",
            )
    return read(form)


def _any_text(form: Spec) -> Source:
    stops: Sequence[str] = form.get("excludes") or ()
    return until(*stops, include=False) if stops else Text()


def _either(sources: Sequence[Source]) -> Source:
    if not sources:
        raise SourceError("a list of alternatives in a structural tag is empty")
    return Either(tuple(sources))


def _piece(written: Any) -> Source:
    """A text, one of several texts, or a token."""
    match written:
        case {"token": token}:
            return special(token)
        case [_, *_]:
            return _either([source(str(each)) for each in written])
        case str():
            return source(written)
        case _:
            raise SourceError(f"the begin or end of a tag must be a text, not {brief(written)}")


def _tag(form: Spec, trigger: str = "") -> Tag[Any]:
    begin = _piece(form["begin"])
    if trigger and form["begin"] != trigger:
        begin = source(trigger) + form["begin"].removeprefix(trigger)
    return tag(begin, _format(form["content"]), _piece(form["end"]))


def _triggered(form: Spec) -> Source:
    tags: list[Tag[Any]] = []
    for each in form["tags"]:
        begun = [trigger for trigger in form["triggers"] if each["begin"].startswith(trigger)]
        if len(begun) != 1:
            raise SourceError(f"{each['begin']!r} must begin with exactly one trigger, not {begun}")
        tags.append(_tag(each, begun[0]))
    stops = bool(form.get("stop_after_first"))
    return regions(*tags, at_least=int(bool(form.get("at_least_one"))), stop_after_first=stops)


def _separated(form: Spec) -> Source:
    one = _either([_tag(each) for each in form["tags"]])
    several = one if form.get("stop_after_first") else one + repeat(form["separator"] + one)
    return several if form.get("at_least_one") else repeat(several, 0, 1)


_FORMATS: Final[Mapping[str, tuple[tuple[str, ...], Callable[[Spec], Source]]]] = {
    "const_string": (("value",), lambda form: source(form["value"])),
    "json_schema": (("json_schema",), lambda form: bare_schema(form["json_schema"])),
    "regex": (("pattern",), lambda form: Regex(form["pattern"])),
    "grammar": (("grammar",), lambda form: _grammar(form["grammar"])),
    "any_text": (("excludes",), _any_text),
    "token": (("token",), _piece),
    "sequence": (("elements",), lambda form: Joined(tuple(map(_format, form["elements"])))),
    "or": (("elements",), lambda form: _either([*map(_format, form["elements"])])),
    "optional": (("content",), lambda form: repeat(_format(form["content"]), 0, 1)),
    "star": (("content",), lambda form: repeat(_format(form["content"]))),
    "plus": (("content",), lambda form: repeat(_format(form["content"]), 1)),
    "tag": (("begin", "content", "end"), _tag),
    "triggered_tags": (("triggers", "tags", "at_least_one", "stop_after_first"), _triggered),
    "tags_with_separator": (("tags", "separator", "at_least_one", "stop_after_first"), _separated),
}


def _loaded(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{what} is not valid JSON: {error}") from None


@final
class Compiler:
    """Compiles the sources of requests for one model, in a pool of threads.

    An engine stops at the end ids of a request, and a text must end with one of those. So each set
    of end ids has its vocabulary; a stop id that spells text is no end id.
    """

    def __init__(self, vocabulary: Vocabulary, width: int, budget: Budget | None = None) -> None:
        """Take the model's tokens, and the number of logits: ids beyond it are never drawn.

        `budget` is `Budget.untrusted()` by default.
        """
        self._tokens, self._width = vocabulary, width
        self._budget = Budget.untrusted() if budget is None else budget
        self._by_ends: dict[frozenset[int], Vocabulary] = {}
        self._lock = Lock()
        self._pool = ThreadPoolExecutor(WORKERS, "guideway-compile")

    def vocabulary(self, ends: Collection[int] | None = None) -> Vocabulary:
        """The vocabulary whose texts end with the ids `ends`; None for those of the tokenizer."""
        tokens = self._tokens
        wanted = frozenset(tokens.eos_ids if ends is None else ends)
        wanted = frozenset(i for i in wanted if i < self._width and not _spelled(tokens, i))
        with self._lock:
            found = self._by_ends.pop(wanted, None)
            if found is None:
                named = {name: i for name, i in tokens.special.items() if i < self._width}
                found = Vocabulary(
                    tokens.tokens[: self._width],
                    wanted,
                    width=self._width,
                    lead=tokens.lead,
                    special=named,
                    loss=tokens.loss,
                )
            self._by_ends[wanted] = found  # the last one used
            while len(self._by_ends) > _MOST_ENDS:
                del self._by_ends[next(iter(self._by_ends))]
        return found

    def compile(self, request: object, ends: Collection[int] | None = None) -> CompiledConstraint:
        """The constraint of a request. Raises as `guideway.compile`."""
        return compile_source(read_request(request), self.vocabulary(ends), self._budget)

    def run(self, work: Callable[..., Made], *given: object) -> "Future[Made]":
        """Do something in the pool."""
        return self._pool.submit(work, *given)


_MOST_ENDS: Final = 4


def _spelled(vocabulary: Vocabulary, token: int) -> bool:
    return token < len(vocabulary.tokens) and bool(vocabulary.tokens[token])
