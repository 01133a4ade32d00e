"""How chat models write calls of tools: one table, each format with where it is said.

A reply is free text or calls:

    opening, then calls with `between` between them, then closing
    call = head, the name, middle, the arguments as JSON, tail

What is written by name in a table is a special token where the vocabulary has one of that name, and
a text where it has not. End ids are not written: a reply ends where it may end.
"""

from dataclasses import dataclass
from typing import Final, TypeAlias, final

from guideway.syntax.regions import Until
from guideway.syntax.sources import Choice, Either, Literal, Regex, Sequence, Source, Text
from guideway.syntax.special import Special

Parts: TypeAlias = tuple[Source, ...]


@final
@dataclass(frozen=True, slots=True)
class Format:
    """How one family of models writes calls.

    Attributes:
        opening: before the first call.
        head: before the name of each call.
        middle: between the name and the arguments.
        tail: after the arguments.
        between: between two calls; None where a reply has one call at most.
        closing: after the last call.
        trigger: what begins a call in free text; None where a reply is a call from its first
            character on, which free text then does not have.
        prelude: what may stand before a reply, any number of times: channels of thought.
        text: what a reply without calls looks like; free text if None.
        others: other ways to write a call: head and middle.
        elements: whether arguments are elements (`syntax.tool_parameters`), and no JSON.
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
    elements: bool = False


def _token(name: str) -> Special:
    return Special(name, required=False)


def _json(arguments: str) -> tuple[Parts, Parts, Parts]:
    """The head, middle and tail of a call that is a JSON object."""
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
        elements=True,
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
    """That what follows is JSON, as the guide writes it and as chat templates do."""
    named = Sequence((_token("<|constrain|>"), Literal("json")))
    return Either((Literal(" json"), Sequence((Literal(" "), named)), named))


FORMATS: Final[dict[str, Format]] = {
    # Hermes-Function-Calling of NousResearch, its README on the prompt format; the chat templates
    # of Qwen2.5 and Qwen3 write the same, each call on lines of its own.
    "hermes": _hermes(),
    "qwen": _hermes(),
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
}
"""The formats by name."""
