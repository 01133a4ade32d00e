"""Prompts to tokens, and the joint between a prompt and the generated text.

A tokenizer may add a space before a text (`vocabulary.lead`), and so may a chat template before a
reply; it does not belong to the reply. The joint is these bytes:

    prompt              joint
    a text              none
    the empty text      `vocabulary.lead`
    a healed text       its end, which was taken back (`vocabulary.healing`)
    chat messages       the bytes that the template adds before a reply, found by rendering one

Example: Llama 2's template renders "[INST] Hi [/INST] Hello </s>". The prompt ends with "[/INST]",
the reply's first token is "▁Hello", so the joint is b" ".
"""

import contextlib
import copy
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

from guideway.chat.messages import Message, Plain, read_messages
from guideway.errors import ModelError, SourceError, UnsupportedError
from guideway.generation.ensemble.chat_template import ChatTemplate
from guideway.sources.sources import check_text
from guideway.vocabulary.healing import heal
from guideway.vocabulary.vocabulary import Vocabulary

WORD: Final = "guideway"  # the reply of the rendered conversation
ANCHORS: Final = ("\n", ".", "x")  # texts to put before an encoded one
PIECES: Final = 256  # of chats, whose tokens are kept for the next turn
_WITHIN_CHARACTER: Final = range(0x80, 0xC0)  # bytes that begin no character of UTF-8


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt as a model reads it.

    Attributes:
        tokens: at least one token.
        joint: bytes that the model spells before the text.
        taken: tokens taken back from the end, if the joint is their spelling.
    """

    tokens: tuple[int, ...]
    joint: bytes = b""
    taken: tuple[int, ...] = ()


class PromptReader:
    """Reads texts and chat messages for one model.

    Example:
        >>> reader = PromptReader(Vocabulary([b"a", b"ab", b"b", b"<eos>"], eos_ids={3}))
        >>> reader.read("aab"), reader.read("").tokens
        (Prompt(tokens=(0, 1), joint=b'', taken=()), (3,))
    """

    def __init__(
        self, vocabulary: Vocabulary, tokenizer: Any = None, tools: Sequence[Any] = ()
    ) -> None:
        """A reader for a transformers tokenizer; without one, texts use the fewest tokens.

        `tools` are descriptions of functions, for chat templates.
        """
        self._vocabulary, self._tokenizer, self._tools = vocabulary, tokenizer, tools
        self._added = _added_tokens(tokenizer)
        self._encode_piece = lru_cache(PIECES)(self._encode)

    @property
    def vocabulary(self) -> Vocabulary:
        """The tokens as bytes."""
        return self._vocabulary

    @property
    def tokenizer(self) -> Any:
        """The transformers tokenizer, None for a reader without one."""
        return self._tokenizer

    def with_tools(self, tools: Sequence[Any]) -> "PromptReader":
        """The same reader, which shows these tools to chat templates."""
        made = copy.copy(self)
        made._tools = tools
        return made

    def read(self, prompt: str | Sequence[Message]) -> Prompt:
        """Tokens and joint of a text or of chat messages."""
        if not isinstance(prompt, str):
            return self._read_chat(prompt)
        if prompt:
            check_text(prompt, "the prompt")
            return Prompt(self._encode_text(prompt))
        return Prompt(self._beginning(), self._vocabulary.lead)

    def healed(self, prompt: Prompt, *, characters: bool = False) -> Prompt:
        """A text prompt without its last tokens, see `vocabulary.healing`.

        With `characters`, more tokens are taken back, until the rest does not split a character.
        """
        tokens, joint = heal(prompt.tokens, self._vocabulary)
        while characters and tokens and joint and joint[0] in _WITHIN_CHARACTER:
            tokens, joint = tokens[:-1], (self._spelled(tokens[-1:]) or b"") + joint
        return Prompt(tokens or self._beginning(), joint, prompt.tokens[len(tokens) :])

    def without(self, prompt: Prompt, end: bytes) -> Prompt:
        """A prompt without the bytes `end`, which another reader took back."""
        tokens, taken = list(prompt.tokens), b""
        while len(taken) < len(end) and tokens:
            taken = (self._spelled([tokens.pop()]) or b"\xff") + taken
        if not taken.endswith(end):
            raise UnsupportedError(
                f"heal removes {end!r} from the end of the prompt, and the prompt of another model "
                "of the expression does not end with it",
                feature="heal of prompts that end differently",
            )
        tokens += self.spell(taken[: len(taken) - len(end)])
        return Prompt(tuple(tokens) or self._beginning(), end)

    def continuation(self, prompt: Prompt, text: str) -> tuple[int, ...]:
        """The tokens that the tokenizer gives `text` after the prompt and its joint."""
        check_text(text, "the continuation")
        wanted = prompt.joint + text.encode()
        for tokens in self._encodings(prompt.joint.decode(errors="replace"), text):
            if self._spelled(tokens) == wanted:
                return tokens
        return self.spell(wanted)

    def spelled(self, data: bytes) -> tuple[int, ...]:
        """The tokens that the tokenizer gives `data`, or the fewest if those spell something else.

        () if no tokens spell it.
        """
        with contextlib.suppress(UnicodeDecodeError):
            tokens = self._encode(data.decode())
            if self._spelled(tokens) == data:
                return tokens
        try:
            return self.spell(data)
        except ModelError:
            return ()

    def spell(self, data: bytes) -> tuple[int, ...]:
        """The fewest tokens that spell `data`."""
        best: list[tuple[int, int]] = [(0, 0)] * (len(data) + 1)  # tokens from here, first's length
        for at in range(len(data) - 1, -1, -1):
            ways = [(best[at + n][0] + 1, n) for n in self._vocabulary.prefixes(data, at)]
            best[at] = min(ways, default=(len(data) + 1, 1), key=lambda way: (way[0], -way[1]))
        if best[0][0] > len(data):
            raise ModelError(f"the vocabulary has no tokens for {data!r}")
        tokens: list[int] = []
        at = 0
        while at < len(data):
            length = best[at][1]
            tokens.append(self._vocabulary.ids(data[at : at + length])[0])
            at += length
        return tuple(tokens)

    def _encode_text(self, text: str) -> tuple[int, ...]:
        """A text with the special tokens that begin it; those that would end it are left out."""
        if self._tokenizer is None:
            return self.spell(text.encode())
        return self._opening(text) + self._encode(text)

    def _opening(self, text: str) -> tuple[int, ...]:
        """The special tokens that the tokenizer puts before a text."""
        plain = self._encode(text)
        whole = tuple(self._tokenizer.encode(text, add_special_tokens=True))
        places = range(len(whole) - len(plain) + 1)
        place = next((n for n in places if whole[n : n + len(plain)] == plain), 0)
        return whole[:place]

    def _beginning(self) -> tuple[int, ...]:
        """The tokens before an empty text."""
        if self._tokenizer is not None:
            if opening := self._opening("x"):
                return opening
            if self._tokenizer.bos_token_id is not None:
                return (self._tokenizer.bos_token_id,)
        if not self._vocabulary.eos_ids:
            raise ModelError("the prompt is empty, and the model has no token to begin a text with")
        return (min(self._vocabulary.eos_ids),)  # a text begins where another one ends

    def _read_chat(self, given: Sequence[Message]) -> Prompt:
        messages = read_messages(given)
        if not getattr(self._tokenizer, "chat_template", None):
            raise ModelError("the model has no chat template: give it a text as its prompt")
        template = ChatTemplate(self._tokenizer)
        tokens = self._encode_chat(template.render(messages, self._tools))
        return Prompt(tokens, self._reply_joint(messages, tokens, template))

    def _reply_joint(
        self, messages: Sequence[Plain], prompt: tuple[int, ...], template: ChatTemplate
    ) -> bytes:
        """Bytes between the prompt and a reply; b"" if the reply cannot be located."""
        try:
            text = template.render(messages, self._tools, reply=WORD)
        except SourceError:  # a template may insist on who speaks next
            return b""
        answered = self._encode_chat(text[: text.rindex(WORD) + len(WORD)] if WORD in text else "")
        spelled = self._spelled(answered[len(prompt) :]) or b""
        joint = spelled.removesuffix(WORD.encode())
        # More than white space is part of the reply ("<think></think>"): it is the model's to say.
        begins = answered[: len(prompt)] == prompt and spelled.endswith(WORD.encode())
        return joint if begins and not joint.strip() else b""

    def _encodings(self, joint: str, text: str) -> Iterator[tuple[int, ...]]:
        """Tokenizations of `text`, the most natural one first."""
        if self._tokenizer is None:
            return
        yield self._encode(text)
        yield self._encode(joint + text)
        for anchor in ANCHORS:
            before, whole = self._encode(anchor), self._encode(anchor + joint + text)
            if whole[: len(before)] == before:
                yield whole[len(before) :]

    def _encode(self, text: str) -> tuple[int, ...]:
        if self._tokenizer is None:
            return self.spell(text.encode())
        return tuple(self._tokenizer.encode(text, add_special_tokens=False))

    def _encode_chat(self, text: str) -> tuple[int, ...]:
        """`_encode`, which reads only the pieces that earlier chats did not have."""
        begins = [] if self._added is None else [each.start() for each in self._added(text)]
        pieces = (text[begin:end] for begin, end in pairwise([0, *begins, len(text)]))
        return tuple(token for piece in pieces for token in self._encode_piece(piece))

    def _spelled(self, tokens: Sequence[int]) -> bytes | None:
        """The bytes of `tokens`, None if one of them is no text."""
        pieces = [*map(self._vocabulary.spelling, tokens)]
        return b"".join(pieces) if all(pieces) else None


def _added_tokens(tokenizer: Any) -> Callable[[str], Iterator[re.Match[str]]] | None:
    """Find the added tokens in a text, at which a tokenizer splits it; None if it may not.

    A piece that begins with such a token has the same tokens alone and within a text.
    """
    added = [*getattr(tokenizer, "added_tokens_decoder", {}).values()]
    raw = [each for each in added if not each.normalized]
    joins = any(each.lstrip or each.single_word for each in raw)
    if not raw or joins or getattr(tokenizer, "split_special_tokens", False):
        return None
    names = sorted((each.content for each in raw), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, names))).finditer
