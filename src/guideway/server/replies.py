"""Replies of chat models: reasoning, content and calls, of whole texts and of texts that grow.

`Form.begun` reads what is certain of the beginning of a text, `Growth` what of it is new. A stream
that sends the new parts has sent what `Form.reply` reads of the whole text.

Calls grow with their arguments in formats that write these as JSON, if a call shows at its first
mark. In other formats calls are read when the text is whole.
"""

import re
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import accumulate
from typing import Any, Final, TypeAlias

from guideway.chat.parts import parts_of
from guideway.chat.tool_formats import FORMATS, Format
from guideway.chat.tool_literals import spelled
from guideway.chat.tools import Tools
from guideway.generation.row.result import Result
from guideway.sources.regions import Special
from guideway.sources.sources import Choice, Either, Literal, Regex, Source
from guideway.sources.sources import Sequence as InOrder
from guideway.vocabulary.vocabulary import Vocabulary

OPENED: Final = "<custom_tool_call>"
CLOSED: Final = "</custom_tool_call>"
_JSON: Final = re.compile(r'"(?:[^"\\]|\\.)*"?|[{}[\]]', re.DOTALL)

Call: TypeAlias = dict[str, Any]


def new_id(kind: str) -> str:
    """A new id; the server makes all of them."""
    return f"{kind}-{uuid.uuid4().hex}"


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply of a chat model.

    Attributes:
        calls: the calls in the form of chat completions.
    """

    content: str | None  # the text for the user, None beside calls
    reasoning: str | None = None  # the model's reasoning
    calls: list[Call] = field(default_factory=list[Call])


@dataclass(frozen=True, slots=True)
class Form:
    """The form in which the texts of one request are read.

    Attributes:
        custom: names of the custom tools, whose input is a capture of the same name.
        mixed: whether a reply may be what `tools` does not allow: an answer, a custom call.
    """

    vocabulary: Vocabulary  # the tokens of the model
    thinking: tuple[str, str] | None = None  # the marks around the model's reasoning
    tools: Tools | None = None  # the functions that may be called
    custom: tuple[str, ...] = ()
    mixed: bool = True

    def reply(self, result: Result[Any]) -> Reply:
        reasoning, text = split_reasoning(result.text, self.thinking)
        if result.tool_calls:
            tools, calls = self.tools, [call.message for call in result.tool_calls]
            before = tools.before(text) if tools is not None and tools.choice == "auto" else ""
            return Reply(before.rstrip() or None, reasoning, calls)
        for name in self.custom:
            if name in result.captures and text.startswith(OPENED):
                call = custom_call(name, str(result.captures[name]), new_id("call"))
                return Reply(None, reasoning, [call])
        return Reply(text, reasoning)

    def reasoning_tokens(self, tokens: Iterable[int]) -> int:
        """The number of tokens before the answer, marks included."""
        if self.thinking is None:
            return 0
        spelled = [self.vocabulary.shown(token) for token in tokens]
        end = self.thinking[1].encode()
        before, found, _ = b"".join(spelled).partition(end)
        ends = accumulate(map(len, spelled))
        return sum(place < len(before + found) for place in ends) + 1 if found else len(spelled)

    def begun(self, text: str) -> Reply:
        """The certain part of a text that goes on; ids are "" unless the model writes them."""
        reasoning = None
        if self.thinking is not None:
            begin, end = self.thinking
            before, found, after = text.partition(end)
            if not found:
                before = before[: len(before) - _overlap(before, end)]
                known = "" if begin.startswith(before) else before.removeprefix(begin)
                return Reply(None, known)
            reasoning, text = before.removeprefix(begin), after.lstrip("\n")
        content, calls = self._certain(text)
        return Reply(content or None, reasoning, calls)

    def _certain(self, text: str) -> tuple[str, list[Call]]:
        if self.custom and OPENED.startswith(text[: len(OPENED)]):
            return "", _custom_begun(text, self.custom)
        if self.tools is None:
            return text, []
        form = FORMATS[self.tools.format]
        mark = _mark(form, mixed=self.mixed)
        if mark is None:
            return "", []
        if self.tools.choice == "auto" and form.trigger is not None:
            content, found, _ = text.partition(mark)
            content = content[: len(content) - _overlap(content, mark)].rstrip()
        else:  # a text that does not begin with a call has none
            found = text.startswith(mark)
            content = "" if mark.startswith(text[: len(mark)]) else text
        return content, _calls(self.tools, text) if found else []


def split_reasoning(text: str, thinking: tuple[str, str] | None) -> tuple[str | None, str]:
    r"""(reasoning, answer) of a text.

    >>> split_reasoning("<think>2 + 2</think>\n\n4", ("<think>", "</think>"))
    ('2 + 2', '4')
    """
    if thinking is None:
        return None, text
    begin, end = thinking
    before, _, after = text.partition(end)
    return before.removeprefix(begin), after.lstrip("\n")


def custom_call(name: str, given: str, number: str) -> Call:
    return {"id": number, "type": "custom", "custom": {"name": name, "input": given}}


class Growth:
    """One reply that grows: how much of its texts was sent, and the ids of its calls."""

    def __init__(self) -> None:
        self._sent: dict[object, int] = {}
        self._ids = list[str]()

    def more(self, reply: Reply) -> Iterator[dict[str, Any]]:
        """The parts of a reply that were not sent, as deltas of chat completions."""
        for kind, text in (("reasoning_content", reply.reasoning), ("content", reply.content)):
            if new := self.new(kind, text or ""):
                yield {kind: new}
        for number, call in enumerate(self.named(reply).calls):
            kind, name = field_of(call)
            if number not in self._sent:
                begun = {**call, kind: {**call[kind], name: ""}}
                yield {"tool_calls": [{"index": number, **begun}]}
            if new := self.new(number, call[kind][name]):
                yield {"tool_calls": [{"index": number, kind: {name: new}}]}

    def new(self, key: object, text: str) -> str:
        """The end of a text that was not sent; `key` tells the texts of a reply apart."""
        sent = self._sent.get(key, 0)
        self._sent[key] = max(sent, len(text))
        return text[sent:]

    def named(self, reply: Reply) -> Reply:
        """The reply, each of its calls with the id that it had first, or a new one."""
        for call in reply.calls[len(self._ids) :]:
            self._ids.append(call["id"] or uuid.uuid4().hex[:9])  # as long as Mistral's
        pairs = zip(reply.calls, self._ids, strict=False)
        return replace(reply, calls=[{**call, "id": number} for call, number in pairs])


def field_of(call: Call) -> tuple[str, str]:
    """The kind of a call, and the field with the model's text.

    >>> field_of({"type": "function"}), field_of({"type": "custom"})
    (('function', 'arguments'), ('custom', 'input'))
    """
    return call["type"], "arguments" if call["type"] == "function" else "input"


def _custom_begun(text: str, names: Sequence[str]) -> list[Call]:
    name, found, given = text.removeprefix(OPENED).partition("\n")
    if not found or name not in names:
        return []
    end = f"\n{CLOSED}"
    # The mark ends the call only at the end of the text.
    kept = len(end) if given.endswith(end) else _overlap(given, end)
    return [custom_call(name, given[: len(given) - kept], "")]


def _calls(tools: Tools, text: str) -> list[Call]:
    """The calls that have begun in a text."""
    pattern = _head(tools.format, tuple(tool.name for tool in tools.tools))
    calls, ids, at = list[Call](), tools.ids(text), 0
    while (match := pattern.search(text, at)) is not None:
        end = _object_end(text, match.end())
        number = ids[len(calls)] if len(calls) < len(ids) else ""
        function = {"name": match["name"], "arguments": text[match.end() : end]}
        calls.append({"id": number, "type": "function", "function": function})
        if end is None:
            break
        at = end
    return calls


def _object_end(text: str, begin: int) -> int | None:
    """The end of the JSON object that begins here; None if it is not complete.

    >>> _object_end('{"a": "}"}!', 0), _object_end('{"a": {}', 0)
    (10, None)
    """
    depth = 0
    for found in _JSON.finditer(text, begin):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(found[0], 0)
        if not depth:
            return found.end()
    return None


def _overlap(text: str, mark: str) -> int:
    """The number of last characters of a text that may begin a mark."""
    return next((n for n in range(len(mark) - 1, 0, -1) if text.endswith(mark[:n])), 0)


@lru_cache(64)
def _mark(form: Format, *, mixed: bool) -> str | None:
    """The text that begins calls and nothing else; None if there is none, or no JSON follows."""
    if form.arguments is not None or form.prelude is not None:
        return None
    if form.trigger is not None:
        return spelled(form.trigger)
    first = next(part for part in (*form.opening, *form.head) if isinstance(part, Literal))
    return None if mixed else first.text


@lru_cache(64)
def _head(name: str, tools: tuple[str, ...]) -> re.Pattern[str]:
    """The beginning of a call of one of these tools, up to its arguments."""
    form = FORMATS[name]
    head, middle = (_pattern(InOrder(parts)) for parts in (form.head, form.middle))
    return re.compile(f"{head}(?P<name>{'|'.join(map(re.escape, tools))}){middle}", re.DOTALL)


def _pattern(source: Source) -> str:
    """A part of a format as a pattern of `re`."""
    match source:
        case Literal(text):
            return re.escape(text)
        case Special(str(name)):
            return re.escape(name)
        case Choice(options):
            return f"(?:{'|'.join(map(re.escape, options))})"
        case Either(parts):
            return f"(?:{'|'.join(map(_pattern, parts))})"
        case Regex(pattern):
            return f"(?:{pattern})"
        case _:
            return "".join(map(_pattern, parts_of(source)))
