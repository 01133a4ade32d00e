"""Formats in which chat models write calls of tools, each with its source.

    reply = free text, or opening, calls with `between` between them, closing
    call = head, the name, middle, the arguments as JSON, tail

A `_token` is a special token if the vocabulary has one of that name, and text otherwise.
"""

import re
from dataclasses import dataclass
from typing import Final

from guideway.chat.tool_literals import Elements, Literals, Parts
from guideway.errors import SourceError, brief
from guideway.sources.names import did_you_mean
from guideway.sources.regions import Special, Until
from guideway.sources.sources import Choice, Either, Literal, Regex, Sequence, Source, Text

_MARKED: Final = re.compile("«(.*?)»")


def _token(name: str) -> Special:
    return Special(name, required=False)


def _sources(*written: "str | Source") -> Parts:
    """Sources of texts with special tokens in «», mixed with other sources."""
    found: list[Source] = []
    for part in written:
        split = _MARKED.split(part) if isinstance(part, str) else ()
        texts = (_token(text) if at % 2 else Literal(text) for at, text in enumerate(split) if text)
        found += [part] if isinstance(part, Source) else texts
    return tuple(found)


_HEAD: Final = _sources('{"name": "')
_MIDDLE: Final = _sources('", "arguments": ')


@dataclass(frozen=True, slots=True)
class Format:
    """The notation of calls of one family of models; see the module for the places of texts.

    Attributes:
        head, middle: those of a JSON object if not given.
        between: between two calls; None if a reply has at most one.
        prelude: any number of these (thoughts) may precede a reply.
        text: a reply without calls; None if calls begin anywhere in free text.
        others: other heads and middles of a call.
        arguments: notation of arguments; JSON if None.
        ids: matches the ids of calls in a reply.
    """

    head: Parts = _HEAD
    middle: Parts = _MIDDLE
    tail: Parts = ()
    opening: Parts = ()
    closing: Parts = ()
    between: Parts | None = ()
    prelude: Source | None = None
    text: Source | None = None
    others: tuple[tuple[Parts, Parts], ...] = ()
    arguments: Elements | Literals | None = None
    ids: re.Pattern[str] | None = None

    @property
    def trigger(self) -> Source | None:
        """Beginning of a call in free text; None if calls follow no text."""
        return (*self.opening, *self.head)[0] if self.text is None else None


def _deepseek(kind: str, middle: str, after: str, between: str) -> Format:
    return Format(
        opening=_sources("«<｜tool▁calls▁begin｜>»"),
        head=_sources(f"«<｜tool▁call▁begin｜>»{kind}"),
        middle=_sources(middle),
        tail=_sources(f"{after}«<｜tool▁call▁end｜>»"),
        between=_sources(between),
        closing=_sources("«<｜tool▁calls▁end｜>»"),
    )


def _glm(line: str) -> Format:
    return Format(
        head=_sources("«<tool_call>»"),
        middle=_sources(line),
        tail=_sources("«</tool_call>»"),
        between=_sources(line),
        arguments=Elements(
            begin=_sources("«<arg_key>»"),
            middle=_sources(f"«</arg_key>»{line}«<arg_value>»"),
            end=_token("</arg_value>"),
            after=_sources(line),
        ),
    )


def _gemma(begin: str, end: str, quote: str) -> Format:
    return Format(
        head=_sources(f"«{begin}»call:"),
        middle=_sources("{"),
        tail=_sources(f"}}«{end}»"),
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


_ANALYSIS: Final = Sequence(
    (
        *_sources("«<|channel|>»", Choice(["analysis", "commentary"]), "«<|message|>»"),
        Until(_token("<|end|>")),
    )
)
_KINDS: Final = (" json", " «<|constrain|>»json", "«<|constrain|>»json")
_DSML: Final = Sequence(_sources("<«｜DSML｜»function_calls>"))

FORMATS: Final[dict[str, Format]] = {
    # README of NousResearch's Hermes-Function-Calling, on the prompt format; also the chat
    # templates of Qwen2.5 and Qwen3, with each call on its own lines.
    "hermes": Format(
        head=_sources('«<tool_call>»\n{"name": "'),
        tail=_sources("}\n«</tool_call>»"),
        between=_sources("\n"),
    ),
    # Llama 3.1's prompt format in Meta's llama-models, section on JSON based tool calling; several
    # calls as vLLM's parser llama3_json reads them.
    "llama3": Format(
        middle=_sources('", "parameters": '),
        tail=_sources("}"),
        between=_sources("; "),
        text=Regex(r"(?![\s]*\{)[\s\S]*"),
    ),
    # The same page, examples with the environment ipython.
    "llama3_python_tag": Format(
        opening=_sources("«<|python_tag|>»"),
        head=(Choice(['{"name": "', '{"type": "function", "name": "']),),
        middle=_sources('", "parameters": '),
        tail=_sources("}"),
        between=_sources("; "),
    ),
    # The chat template of Qwen3-Coder, and of other models with its format.
    "qwen3_coder": Format(
        head=_sources("«<tool_call>»\n<function="),
        middle=_sources(">\n"),
        tail=_sources("</function>\n«</tool_call>»"),
        between=_sources("\n"),
        arguments=Elements(
            begin=_sources("<parameter="),
            middle=_sources(">\n"),
            end=Literal("\n</parameter>"),
            after=_sources("\n"),
        ),
    ),
    # tokens/tokenizers/instruct.py of mistral-common, versions 3 to 7, and the chat templates of
    # Mistral-7B-Instruct-v0.3, with a blank after the token, and of Mistral-Nemo, without.
    "mistral": Format(
        opening=_sources("«[TOOL_CALLS]»", Choice(["[", " ["])),
        tail=_sources("}"),
        between=_sources(", "),
        closing=_sources("]"),
    ),
    # The same file from version 13 on; calls have no ids.
    "mistral_v13": Format(head=_sources("«[TOOL_CALLS]»"), middle=_sources("«[ARGS]»")),
    # Guide to the Harmony format in OpenAI's cookbook (articles/openai-harmony.md), on function
    # calling. The prompt ends with "<|start|>assistant", a call with the end id <|call|>. The
    # recipient follows the channel, or the role as in the chat template of gpt-oss. The mark of
    # JSON is the guide's or that of chat templates.
    "harmony": Format(
        prelude=Sequence(_sources(_ANALYSIS, "«<|start|>»assistant")),
        head=_sources("«<|channel|>»commentary to=functions."),
        middle=_sources(" «<|constrain|>»json«<|message|>»"),
        between=None,
        others=(
            (
                _sources(" to=functions."),
                _sources(
                    "«<|channel|>»commentary",
                    Either(tuple(map(Sequence, map(_sources, _KINDS)))),
                    "«<|message|>»",
                ),
            ),
        ),
        text=Sequence(_sources("«<|channel|>»final«<|message|>»", Text())),
    ),
    # The chat template of DeepSeek-V3, and of DeepSeek-R1 since May 2025 (vLLM has both as
    # examples/tool_chat_template_deepseekv3.jinja and _deepseekr1.jinja).
    "deepseek_v3": _deepseek("function«<｜tool▁sep｜>»", "\n```json\n", "\n```", "\n"),
    # DeepSeek-V3.1's (vLLM's examples/tool_chat_template_deepseekv31.jinja).
    "deepseek_v31": _deepseek("", "«<｜tool▁sep｜>»", "", ""),
    # encoding/encoding_dsv32.py of DeepSeek-V3.2 (a template in llama.cpp, DeepSeek-V3.2.jinja).
    "deepseek_v32": Format(
        opening=_sources(_DSML, "\n"),
        head=_sources('<«｜DSML｜»invoke name="'),
        middle=_sources('">\n'),
        tail=_sources("</«｜DSML｜»invoke>\n"),
        closing=_sources("</«｜DSML｜»function_calls>"),
        arguments=Elements(
            begin=_sources('<«｜DSML｜»parameter name="'),
            middle=_sources('" string="true">'),
            json=_sources('" string="false">'),
            end=Sequence(_sources("</«｜DSML｜»parameter>")),
            after=_sources("\n"),
            none="\n",
        ),
    ),
    # docs/tool_call_guidance.md of Kimi-K2-Instruct, and the chat template of Kimi-K2-Thinking. The
    # number counts all calls of the conversation, so any number is allowed.
    "kimi_k2": Format(
        opening=_sources("«<|tool_calls_section_begin|>»"),
        head=_sources("«<|tool_call_begin|>»functions."),
        middle=_sources(":", Regex("0|[1-9][0-9]{0,3}"), "«<|tool_call_argument_begin|>»"),
        tail=_sources("«<|tool_call_end|>»"),
        closing=_sources("«<|tool_calls_section_end|>»"),
        ids=re.compile(r"<\|tool_call_begin\|>(functions\.[^<]*)<\|tool_call_argument_begin\|>"),
    ),
    # The chat templates of GLM-4.5 and GLM-4.6.
    "glm4": _glm("\n"),
    # GLM-4.7's, without line breaks.
    "glm47": _glm(""),
    # The chat template of MiniMax-M1 (vLLM's examples/tool_chat_template_minimax_m1.jinja).
    "minimax_m1": Format(
        opening=_sources("«<tool_calls>»\n"),
        tail=_sources("}\n"),
        closing=_sources("«</tool_calls>»"),
    ),
    # The chat template of MiniMax-M2.
    "minimax_m2": Format(
        opening=_sources("«<minimax:tool_call>»\n"),
        head=_sources('<invoke name="'),
        middle=_sources('">\n'),
        tail=_sources("</invoke>\n"),
        closing=_sources("«</minimax:tool_call>»"),
        arguments=Elements(
            begin=_sources('<parameter name="'),
            middle=_sources('">'),
            end=Literal("</parameter>"),
            after=_sources("\n"),
        ),
    ),
    # Prompt formats of Llama 3.2 and Llama 4 in Meta's llama-models, sections on calls in Python's
    # syntax; Gemma 3 writes it if prompted (vLLM's
    # examples/tool_chat_template_gemma3_pythonic.jinja).
    "pythonic": Format(
        opening=_sources("["),
        head=(),
        middle=_sources("("),
        tail=_sources(")"),
        between=_sources(", "),
        closing=_sources("]"),
        text=Regex(r"(?![\s]*\[)[\s\S]*"),
        arguments=Literals(
            equals="=", comma=Regex(", ?"), colon=Regex(": ?"), words=("True", "False", "None")
        ),
    ),
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
"""Names of models, and of parsers in vLLM and SGLang."""


def format_name(given: object) -> str:
    """Key of a format in `FORMATS`; case, hyphens, dots and underscores do not matter.

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


def elements_of(name: str) -> Elements:
    """Notation of the arguments of a format that writes them as elements."""
    found = FORMATS[name].arguments
    if not isinstance(found, Elements):
        raise SourceError(f"the tool format {name} writes no elements")
    return found
