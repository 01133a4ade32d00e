"""How a leaf of an expression reads: its model, and how it sees the prompt.

Views change the prompt. `System` adds a text before it (a system message in a chat), `Rewritten`
calls a function, and `LastToken` keeps the last token alone, the shortest possible prompt.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, assert_never

from guideway.chat.messages import Message, are_messages, read_messages
from guideway.errors import SourceError
from guideway.generation.ensemble.prompt import Prompt, PromptReader
from guideway.models.protocol import LanguageModel

Given: TypeAlias = str | Sequence[Message]


@dataclass(frozen=True, slots=True)
class System:
    """A text before the prompt: a system message for chat messages."""

    text: str


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The prompt that a function makes of the prompt."""

    function: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class LastToken:
    """The last token of the prompt alone."""


View: TypeAlias = System | Rewritten | LastToken


@dataclass(frozen=True, slots=True)
class Reading:
    """Source of a leaf's logits; equal readings are one leaf.

    Attributes:
        model: leaves of one model run as one batch.
        reader: its tokenizer.
        views: changes of the prompt, applied in this order.
        adapter: adapter of its weights (`models.protocol.VariedModel`).
        exit: block whose logits are read, None for the last one.
    """

    model: LanguageModel[Any]
    reader: PromptReader
    views: tuple[View, ...] = ()
    adapter: Hashable = None
    exit: int | None = None

    @property
    def context(self) -> "Reading":
        """The same without its exit: readings of equal contexts share a row and a cache."""
        return replace(self, exit=None)


def read(
    prompt: Given,
    views: Sequence[View],
    reader: PromptReader,
    heal: bytes | bool = False,
    tools: Sequence[Any] = (),
    *,
    canonical: bool = False,
) -> Prompt:
    """The tokens that a leaf with these views reads.

    `heal` takes back the last tokens of a text, or the bytes that another leaf took back. With
    `canonical`, a tokenizer must be able to begin a text with the bytes taken back. `tools` are for
    chat templates.

    >>> from guideway.vocabulary.vocabulary import Vocabulary
    >>> reader = PromptReader(Vocabulary([b"a", b"b", b"<eos>"], eos_ids={2}))
    >>> read("ab", [], reader).tokens, read("ab", [System("b")], reader).tokens
    ((0, 1), (1, 0, 1))
    >>> read("ab", [LastToken()], reader).tokens
    (1,)
    """
    last = False
    for view in views:
        match view:
            case System(text):
                prompt = _with_system(text, prompt)
            case Rewritten(function):
                prompt = _rewritten(function, prompt)
            case LastToken():
                last = True
            case _:
                assert_never(view)
    found = (reader.with_tools(tools) if tools else reader).read(prompt)
    if isinstance(heal, bytes):
        found = reader.without(found, heal)
    elif heal and isinstance(prompt, str) and prompt:
        found = reader.healed(found, characters=canonical)
    return replace(found, tokens=found.tokens[-1:]) if last else found


def _with_system(text: str, prompt: Given) -> Given:
    if isinstance(prompt, str):
        return text + prompt
    first, *rest = messages = read_messages(prompt)
    if first["role"] != "system":
        return [{"role": "system", "content": text}, *messages]
    return [{**first, "content": f"{text}\n\n{first['content']}"}, *rest]


def _rewritten(function: Callable[[Any], Any], prompt: Given) -> Given:
    made: object = function(prompt)
    if isinstance(made, str):
        return made
    if are_messages(made):
        return made
    raise SourceError(
        f"a prompt was made into {made!r}: it must be a text or a list of chat messages"[:300]
    )
