"""The tools of a request as a source: functions, custom tools, and an answer beside them."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, Final, final

from pydantic import ValidationError

from guideway.chat.tool_formats import FORMATS
from guideway.chat.tools import tools as tools_source
from guideway.errors import SourceError, UnsupportedError, brief
from guideway.server.conversation import is_object, objects
from guideway.server.protocol import CustomTool, GrammarInput
from guideway.server.refusals import as_invalid, of_field
from guideway.server.replies import CLOSED, OPENED, Form
from guideway.server.sources import read_grammar
from guideway.sources.names import did_you_mean
from guideway.sources.regions import capture, until
from guideway.sources.sources import Either, Literal, Sequence, Source

CHOICES: Final = ("auto", "required", "none")
KINDS: Final = ("function", "custom")

Tool = dict[str, Any]


@final
@dataclass(frozen=True, slots=True)
class Chosen:
    """The tools that a reply may call."""

    functions: list[Tool]  # descriptions of functions, as in chat completions
    custom: dict[str, CustomTool]  # custom tools by name
    choice: str  # "auto", "required", "none"

    @classmethod
    def of(cls, tools: list[Tool], choice: Any) -> "Chosen":
        """Read `tools` and `tool_choice` of either API.

        Raises:
            Refusal: a tool or the choice is unknown or malformed.
        """
        with of_field("tools"):
            named = _by_name(tools)
        with of_field("tool_choice"):
            mode, names = _chosen(choice or "auto", [*named])
        if mode in ("none", "auto") and not tools:
            return cls([], {}, "none")
        kept = {name: tool for name, tool in named.items() if names is None or name in names}
        functions = [tool for tool in kept.values() if tool["type"] == "function"]
        with of_field("tools"):
            custom = {name: _custom(tool) for name, tool in kept.items() if "custom" in tool}
        return cls(functions, custom, mode)

    def read(
        self, answer: Source | None, form: Form, notation: str, *, parallel: bool
    ) -> tuple[Source, Form]:
        """The replies as a source, and how they are read; `answer` is the schema beside tools."""
        free = self.choice == "auto"
        replies, marks = list[Source](), list[object]([OPENED])
        if self.functions:
            # Beside a schema, the answer in words is replaced by that of the schema.
            some = "required" if free and (answer is not None or self.custom) else self.choice
            called = tools_source(self.functions, notation, some, parallel=parallel)
            form = replace(form, tools=called)
            replies.append(called)
            marks += [] if (mark := FORMATS[called.format].trigger) is None else [mark]
        replies += [_call(tool) for tool in self.custom.values()]
        if free and answer is not None:
            replies.append(answer)
        elif free and self.custom:
            replies.append(until(*marks, include=False))
        source = replies[0] if len(replies) == 1 else Either(tuple(replies))
        return source, replace(form, custom=tuple(self.custom), mixed=len(replies) > 1)

    @property
    def told(self) -> list[dict[str, str]]:
        """What the model is told of custom tools, which chat templates do not know."""
        if not self.custom:
            return []
        told = [f"- {tool.name}: {tool.description or ''}" for tool in self.custom.values()]
        listed = "\n".join(line.rstrip(": ") for line in told)
        form = f"{OPENED}NAME\nINPUT\n{CLOSED}"
        content = f"You can call these tools:\n{listed}\nWrite a call as\n{form}"
        return [{"role": "system", "content": content}]


def _by_name(tools: list[Tool]) -> dict[str, Tool]:
    """The tools in the form of chat completions, by name."""
    for tool in tools:
        if tool.get("type") not in KINDS:
            raise UnsupportedError(
                f"a tool has the type {brief(tool.get('type'))}: the server runs no tools of its "
                "own; give functions and custom tools",
                feature=f"tool of type {tool.get('type')}",
            )
    listed = [_as_chat(tool) for tool in tools]
    names = [_name(tool) for tool in listed]
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise SourceError(f"two tools have the name {brief(twice[0])}")
    return dict(zip(names, listed, strict=True))


def _as_chat(tool: Tool) -> Tool:
    kind = tool["type"]
    if kind in tool:
        return tool
    return {"type": kind, kind: {name: tool[name] for name in tool if name != "type"}}


def _name(tool: Tool) -> str:
    name = _inside(tool).get("name")
    if not isinstance(name, str):
        raise SourceError(f"a tool needs a name, not {brief(tool)}")
    return name


def _inside(tool: object) -> Tool:
    """The fields under the type of a tool or choice, in chat completions; else those beside it."""
    told = tool if is_object(tool) else {}
    inside = told.get(str(told.get("type")), told)
    return inside if is_object(inside) else {}


def _chosen(choice: object, names: list[str]) -> tuple[str, list[str] | None]:
    """The mode of a `tool_choice`, and the tools that it allows; None for all."""
    mode, allowed, inside = choice, None, _inside(choice)
    kind = choice.get("type") if is_object(choice) else None
    if kind in KINDS:
        mode, allowed = "required", [_known(inside.get("name"), names)]
    elif kind == "allowed_tools":
        mode = inside.get("mode", "auto")
        listed = objects(inside.get("tools"))
        allowed = [_known(_inside(each).get("name"), names) for each in listed]
        if not allowed:
            raise SourceError("allowed_tools needs a list of tools")
    if mode not in CHOICES:
        raise SourceError(
            f"tool_choice is {brief(choice)}: it must be {', '.join(CHOICES)}, or name a tool"
        )
    if mode == "required" and not names:
        raise SourceError("tool_choice is 'required', but the request has no tools")
    return str(mode), allowed


def _known(name: object, names: list[str]) -> str:
    if not isinstance(name, str) or name not in names:
        raise SourceError(
            f"tool_choice names {brief(name)}: the tools are {', '.join(names) or 'none'}"
            f"{did_you_mean(name, names)}"
        )
    return name


def _custom(tool: Tool) -> CustomTool:
    inside = _inside(tool)
    form = inside.get("format")
    if is_object(form) and is_object(form.get("grammar")):  # chat completions have one more level
        inside = {**inside, "format": {"type": form.get("type"), **form["grammar"]}}
    try:
        return CustomTool.model_validate(inside)
    except ValidationError as error:
        told = as_invalid(error, CustomTool, inside)
        raise SourceError(f"of the custom tool {brief(inside.get('name'))}, {told}") from None


def _call(tool: CustomTool) -> Source:
    """A call of a custom tool: its input is a text of its grammar, or any text up to the mark."""
    end = f"\n{CLOSED}"
    item: Source = until(end, include=False)
    if isinstance(tool.format, GrammarInput):
        item = read_grammar(tool.format.definition, tool.format.syntax)
    return Sequence((Literal(f"{OPENED}{tool.name}\n"), capture(tool.name, item), Literal(end)))
