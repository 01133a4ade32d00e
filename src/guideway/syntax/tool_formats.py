"""How chat models write calls of tools, with the source of each format.

    reply = free text, or opening, calls with `between` between them, closing
    call = head, the name, middle, the arguments as JSON, tail

A `_token` is a special token if the vocabulary has one of that name, and text otherwise.
"""

import re
from dataclasses import dataclass
from typing import Final, final

from guideway.errors import SourceError, brief
from guideway.syntax.names import did_you_mean
from guideway.syntax.regions import Until
from guideway.syntax.sources import Choice, Either, Literal, Regex, Sequence, Source, Text
from guideway.syntax.special import Special
from guideway.syntax.tool_literals import Literals
from guideway.syntax.tool_parameters import Elements, Parts


@final
@dataclass(frozen=True, slots=True)
class Format:
    """How one family of models writes calls.

    Attributes:
        opening: before the first call.
        head: before the name of each call.
        middle: between the name and the arguments.
        tail: after the arguments.
        between: between two calls; None if a reply has at most one.
        closing: after the last call.
        trigger: begins a call in free text; None if a reply with calls has no text before them.
        prelude: may precede a reply, any number of times: channels of thought.
        text: a reply without calls; free text if None.
        others: other heads and middles of a call.
        arguments: notation of arguments, None for JSON.
        ids: finds the ids of calls in a reply.
    """

    head: Parts
    middle: Parts
    tail: Parts = ()
    opening: Parts = ()
    closing: Parts = ()
    between: Parts | None = None
    trigger: Source | None = None
    prelude: Source | None = None
    text: Source | None = None
    others: tuple[tuple[Parts, Parts], ...] = ()
    arguments: Elements | Literals | None = None
    ids: re.Pattern[str] | None = None


def _token(name: str) -> Special:
    return Special(name, required=False)


def _json(arguments: str) -> tuple[Parts, Parts, Parts]:
    """Head, middle and tail of a call that is a JSON object."""
    head, middle = Literal('{"name": "'), Literal(f'", "{arguments}": ')
    return (head,), (middle,), (Literal("}"),)


def _hermes() -> Format:
    head, middle, tail = _json("arguments")
    begin, end = _token("<tool_call>"), _token("</tool_call>")
    return Format(
        head=(begin, Literal("\n"), *head),
        middle=middle,
        tail=(*tail, Literal("\n"), end),
        between=(Literal("\n"),),
        trigger=begin,
    )


def _qwen_coder() -> Format:
    begin, end = _token("<tool_call>"), _token("</tool_call>")
    return Format(
        head=(begin, Literal("\n<function=")),
        middle=(Literal(">\n"),),
        tail=(Literal("</function>\n"), end),
        between=(Literal("\n"),),
        trigger=begin,
        arguments=Elements(
            begin=(Literal("<parameter="),),
            middle=(Literal(">\n"),),
            end=Literal("\n</parameter>"),
            behind=(Literal("\n"),),
        ),
    )


def _mistral() -> Format:
    head, middle, tail = _json("arguments")
    begin = _token("[TOOL_CALLS]")
    return Format(
        opening=(begin, Choice(["[", " ["])),
        head=head,
        middle=middle,
        tail=tail,
        between=(Literal(", "),),
        closing=(Literal("]"),),
        trigger=begin,
    )


def _mistral_args() -> Format:
    begin = _token("[TOOL_CALLS]")
    return Format(head=(begin,), middle=(_token("[ARGS]"),), between=(), trigger=begin)


def _llama3() -> Format:
    head, middle, tail = _json("parameters")
    return Format(
        head=head,
        middle=middle,
        tail=tail,
        between=(Literal("; "),),
        text=Regex(r"(?![\s]*\{)[\s\S]*"),
    )


def _llama3_tag() -> Format:
    begin = _token("<|python_tag|>")
    names = Choice(['{"name": "', '{"type": "function", "name": "'])
    return Format(
        opening=(begin,),
        head=(names,),
        middle=(Literal('", "parameters": '),),
        tail=(Literal("}"),),
        between=(Literal("; "),),
        trigger=begin,
    )


def _harmony() -> Format:
    channel, message = _token("<|channel|>"), _token("<|message|>")
    ended = Until(_token("<|end|>"))
    said = Sequence((channel, Choice(["analysis", "commentary"]), message, ended))
    return Format(
        prelude=Sequence((said, _token("<|start|>"), Literal("assistant"))),
        head=(channel, Literal("commentary to=functions.")),
        middle=(Literal(" "), _token("<|constrain|>"), Literal("json"), message),
        others=(
            (
                (Literal(" to=functions."),),
                (channel, Literal("commentary"), _kind(), message),
            ),
        ),
        text=Sequence((channel, Literal("final"), message, Text())),
    )


def _kind() -> Source:
    """Marks of JSON content, as the guide writes it and as chat templates do."""
    named = Sequence((_token("<|constrain|>"), Literal("json")))
    return Either((Literal(" json"), Sequence((Literal(" "), named)), named))


def _deepseek(kind: str, middle: Parts, after: str, between: str) -> Format:
    opening, begin = _token("<｜tool▁calls▁begin｜>"), _token("<｜tool▁call▁begin｜>")
    end, closing = _token("<｜tool▁call▁end｜>"), _token("<｜tool▁calls▁end｜>")
    separator = _token("<｜tool▁sep｜>")
    return Format(
        opening=(opening,),
        head=(begin, Literal(kind), separator) if kind else (begin,),
        middle=middle if kind else (separator,),
        tail=(Literal(after), end),
        between=(Literal(between),),
        closing=(closing,),
        trigger=opening,
    )


def _dsml() -> Format:
    mark, opened, closed = _token("｜DSML｜"), Literal("<"), Literal("</")
    begin = Sequence((opened, mark, Literal("function_calls>")))
    parameter = (opened, mark, Literal('parameter name="'))
    return Format(
        opening=(begin, Literal("\n")),
        head=(opened, mark, Literal('invoke name="')),
        middle=(Literal('">\n'),),
        tail=(closed, mark, Literal("invoke>\n")),
        between=(),
        closing=(closed, mark, Literal("function_calls>")),
        trigger=begin,
        arguments=Elements(
            begin=parameter,
            middle=(Literal('" string="true">'),),
            json=(Literal('" string="false">'),),
            end=Sequence((closed, mark, Literal("parameter>"))),
            behind=(Literal("\n"),),
            none="\n",
        ),
    )


def _kimi() -> Format:
    opening, closing = _token("<|tool_calls_section_begin|>"), _token("<|tool_calls_section_end|>")
    begin, argument = _token("<|tool_call_begin|>"), _token("<|tool_call_argument_begin|>")
    return Format(
        opening=(opening,),
        head=(begin, Literal("functions.")),
        middle=(Literal(":"), Regex("0|[1-9][0-9]{0,3}"), argument),
        tail=(_token("<|tool_call_end|>"),),
        between=(),
        closing=(closing,),
        trigger=opening,
        ids=re.compile(r"<\|tool_call_begin\|>(functions\.[^<]*)<\|tool_call_argument_begin\|>"),
    )


def _glm(line: str) -> Format:
    begin, end = _token("<tool_call>"), _token("</tool_call>")
    return Format(
        head=(begin,),
        middle=(Literal(line),),
        tail=(end,),
        between=(Literal(line),),
        trigger=begin,
        arguments=Elements(
            begin=(_token("<arg_key>"),),
            middle=(_token("</arg_key>"), Literal(line), _token("<arg_value>")),
            end=_token("</arg_value>"),
            behind=(Literal(line),),
        ),
    )


def _minimax_m1() -> Format:
    head, middle, tail = _json("arguments")
    begin, end = _token("<tool_calls>"), _token("</tool_calls>")
    return Format(
        opening=(begin, Literal("\n")),
        head=head,
        middle=middle,
        tail=(*tail, Literal("\n")),
        between=(),
        closing=(end,),
        trigger=begin,
    )


def _minimax_m2() -> Format:
    begin, end = _token("<minimax:tool_call>"), _token("</minimax:tool_call>")
    return Format(
        opening=(begin, Literal("\n")),
        head=(Literal('<invoke name="'),),
        middle=(Literal('">\n'),),
        tail=(Literal("</invoke>\n"),),
        between=(),
        closing=(end,),
        trigger=begin,
        arguments=Elements(
            begin=(Literal('<parameter name="'),),
            middle=(Literal('">'),),
            end=Literal("</parameter>"),
            behind=(Literal("\n"),),
        ),
    )


def _pythonic() -> Format:
    return Format(
        opening=(Literal("["),),
        head=(),
        middle=(Literal("("),),
        tail=(Literal(")"),),
        between=(Literal(", "),),
        closing=(Literal("]"),),
        text=Regex(r"(?![\s]*\[)[\s\S]*"),
        arguments=Literals(
            equals="=",
            comma=Regex(", ?"),
            colon=Regex(": ?"),
            words=("True", "False", "None"),
        ),
    )


def _gemma(begin: str, end: str, quote: str) -> Format:
    return Format(
        head=(_token(begin), Literal("call:")),
        middle=(Literal("{"),),
        tail=(Literal("}"), _token(end)),
        between=(),
        trigger=_token(begin),
        arguments=Literals(
            equals=":",
            comma=Literal(","),
            colon=Literal(":"),
            words=("true", "false", "null"),
            quote=_token(quote),
            bare=True,
            ordered=True,
        ),
    )


FORMATS: Final[dict[str, Format]] = {
    # Hermes-Function-Calling of NousResearch, its README on the prompt format; the chat templates
    # of Qwen2.5 and Qwen3 write the same, each call on lines of its own.
    "hermes": _hermes(),
    # The prompt format of Llama 3.1 in Meta's llama-models, its section on JSON based tool calling;
    # several calls as the parser llama3_json of vLLM reads them.
    "llama3": _llama3(),
    # The same page, its examples with the environment ipython: calls begin with the token.
    "llama3_python_tag": _llama3_tag(),
    # The chat template of Qwen3-Coder, and of the models that it gave its format to.
    "qwen3_coder": _qwen_coder(),
    # tokens/tokenizers/instruct.py of mistral-common, versions 3 to 7, and the chat templates of
    # Mistral-7B-Instruct-v0.3, with a blank behind the token, and of Mistral-Nemo, without.
    "mistral": _mistral(),
    # The same file, from version 13 on, which writes no ids of calls.
    "mistral_v13": _mistral_args(),
    # The guide to the Harmony format in OpenAI's cookbook (articles/openai-harmony.md), its part on
    # function calling. The prompt ends with "<|start|>assistant", a call with the end id <|call|>.
    # Who is called stands behind the channel, or behind the role, where the chat template of
    # gpt-oss writes it.
    "harmony": _harmony(),
    # The chat template of DeepSeek-V3, and of DeepSeek-R1 since May 2025 (vLLM has both as
    # examples/tool_chat_template_deepseekv3.jinja and _deepseekr1.jinja).
    "deepseek_v3": _deepseek("function", (Literal("\n```json\n"),), "\n```", "\n"),
    # That of DeepSeek-V3.1 (vLLM's examples/tool_chat_template_deepseekv31.jinja).
    "deepseek_v31": _deepseek("", (), "", ""),
    # encoding/encoding_dsv32.py of DeepSeek-V3.2 (a template in llama.cpp, DeepSeek-V3.2.jinja).
    "deepseek_v32": _dsml(),
    # docs/tool_call_guidance.md of Kimi-K2-Instruct, and the chat template of Kimi-K2-Thinking. The
    # number of a call counts all calls of the conversation, so any number stands there.
    "kimi_k2": _kimi(),
    # The chat templates of GLM-4.5 and GLM-4.6.
    "glm4": _glm("\n"),
    # That of GLM-4.7, without line breaks.
    "glm47": _glm(""),
    # The chat template of MiniMax-M1 (vLLM's examples/tool_chat_template_minimax_m1.jinja).
    "minimax_m1": _minimax_m1(),
    # The chat template of MiniMax-M2.
    "minimax_m2": _minimax_m2(),
    # The prompt formats of Llama 3.2 and Llama 4 in Meta's llama-models, their sections on calls in
    # Python's syntax; Gemma 3 writes it where it is asked to (vLLM's
    # examples/tool_chat_template_gemma3_pythonic.jinja).
    "pythonic": _pythonic(),
    # "FunctionGemma formatting and best practices" of Google's documentation of Gemma.
    "functiongemma": _gemma("<start_function_call>", "<end_function_call>", "<escape>"),
    # The chat template of Gemma 4 (vLLM's examples/tool_chat_template_gemma4.jinja).
    "gemma4": _gemma("<|tool_call>", "<tool_call|>", '<|"|>'),
}
"""The formats by name."""

ALIASES: Final[dict[str, str]] = {
    **dict.fromkeys(("qwen", "qwen2", "qwen25", "qwen3"), "hermes"),
    "qwen3_xml": "qwen3_coder",
    "llama3_json": "llama3",
    "llama4_json": "llama3",
    **dict.fromkeys(("gpt_oss", "openai"), "harmony"),
    **dict.fromkeys(("deepseek_r1", "deepseek"), "deepseek_v3"),
    "kimi": "kimi_k2",
    **dict.fromkeys(("glm45", "glm46", "glm4_moe"), "glm4"),
    "glm47_moe": "glm47",
    "minimax": "minimax_m2",
    **dict.fromkeys(("llama4_pythonic", "llama32", "llama4", "gemma3"), "pythonic"),
}
"""Other names, those of models and those of the parsers of vLLM and SGLang."""


def format_name(given: object) -> str:
    """The name in `FORMATS` of a format; capitals, hyphens and dots do not matter.

    >>> format_name("gpt-oss"), format_name("DeepSeek-V3.1")
    ('harmony', 'deepseek_v31')
    """
    names = {_squashed(name): name for name in FORMATS}
    names |= {_squashed(other): name for other, name in ALIASES.items()}
    name = names.get(_squashed(given)) if isinstance(given, str) else None
    if name is None:
        raise SourceError(
            f"unknown tool format {brief(given)}; known are {', '.join(FORMATS)}"
            f"{did_you_mean(given, [*FORMATS, *ALIASES])}"
        )
    return name


def _squashed(name: str) -> str:
    return re.sub("[-_. ]", "", name.casefold())
