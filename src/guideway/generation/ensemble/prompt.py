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
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, product
from typing import Any, Final, TypeAlias, cast

from guideway.chat.messages import Message, Plain, read_messages
from guideway.errors import ModelError, SourceError, UnsupportedError, warn
from guideway.sources.names import did_you_mean
from guideway.sources.sources import check_text
from guideway.vocabulary.healing import heal
from guideway.vocabulary.vocabulary import Vocabulary

ROLES: Final = ("system", "developer", "user", "assistant", "tool", "function")
_NAME, _KEY, _VALUE, _SAID = "guideway_name", "guideway_key", "guideway_value", "guideway_said"
_ID: Final = "guideway1"  # Mistral's templates insist on nine letters and digits

Form: TypeAlias = tuple[bool, str | None]
"""How messages are given: arguments as dicts or as JSON, and the value for missing content."""


class ChatTemplate:
    """The chat template of a transformers tokenizer; warns of parts that it leaves out.

    Templates differ in how they read an assistant's tool calls: arguments as a dict (Llama 3.1,
    Mistral, Qwen2.5) or as JSON text (DeepSeek), missing content as "" (Qwen) or None (DeepSeek).
    Some leave calls out (Llama 3, Gemma 3, SmolLM2). So a short conversation is rendered in each
    form, and the first form whose text contains the call is used; else calls go into the content,
    as in Hermes.
    """

    def __init__(self, tokenizer: Any) -> None:
        """Nothing is rendered yet."""
        self._tokenizer = tokenizer
        self._forms: dict[bool, Form | None] = {}

    def render(
        self, messages: Sequence[Plain], tools: Sequence[Any] = (), *, reply: str | None = None
    ) -> str:
        """Render messages, ready for a reply or with one; errors become SourceError."""
        written = [self._written(message) for message in messages]
        answer = [] if reply is None else [{"role": "assistant", "content": reply}]
        try:
            text = self._apply([*written, *answer], tools, ready=reply is None)
        except Exception as error:  # noqa: BLE001  templates raise what they like
            unknown = [role for role in _roles(messages) if not self._knows(role)]
            about = f" (it does not mention the role {unknown[0]!r})" if unknown else ""
            raise SourceError(
                f"the model's chat template refuses the messages: {error}{about}"
            ) from None
        if reply is None:
            self._warn(messages, tools, text)
        return text

    def _apply(self, messages: Sequence[Plain], tools: Sequence[Any] = (), *, ready: bool) -> str:
        more = {"tools": list(tools)} if tools else {}
        if any(message["content"] is None for message in messages):
            return self._apply_none(messages, more, ready=ready)
        return self._tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=ready, **more
        )

    def _apply_none(self, messages: Sequence[Plain], more: dict[str, Any], *, ready: bool) -> str:
        """`_apply` with a content of None, whose key `apply_chat_template` would leave out."""
        from transformers.utils import chat_template_utils

        render: Any = vars(chat_template_utils)["render_jinja_template"]
        tokenizer = self._tokenizer
        rendered, _ = render(
            conversations=[list(messages)],
            chat_template=tokenizer.get_chat_template(None, more.get("tools")),
            add_generation_prompt=ready,
            **more,
            **tokenizer.special_tokens_map,
        )
        return rendered[0]

    # Calls of tools

    def _written(self, message: Plain) -> Plain:
        """A message in the form that the template reads."""
        calls = cast("list[Plain]", message.get("tool_calls", []))
        if not calls:
            return message
        said = cast("str | None", message["content"])
        form = self._form(with_text=bool(said))
        if form is None:
            rest = {key: value for key, value in message.items() if key != "tool_calls"}
            return {**rest, "content": "\n".join([*filter(None, [said]), *map(_hermes, calls)])}
        read, nothing = form
        formed = [_with_dict(call) for call in calls] if read else calls
        return {**message, "content": said or nothing, "tool_calls": formed}

    def _form(self, *, with_text: bool) -> Form | None:
        """The form of calls, beside a text or alone, that the template reads."""
        if with_text not in self._forms:
            contents = (_SAID,) if with_text else ("", None)
            forms: list[Form] = list(product((True, False), contents))
            self._forms[with_text] = next((form for form in forms if self._reads(form)), None)
        return self._forms[with_text]

    def _reads(self, form: Form) -> bool:
        read, content = form
        text = json.dumps({_KEY: _VALUE})
        call = {"id": _ID, "type": "function", "function": {"name": _NAME, "arguments": text}}
        calls = [_with_dict(call) if read else call]
        asked = {"role": "user", "content": "?"}
        called = {"role": "assistant", "content": content, "tool_calls": calls}
        done = {"role": "tool", "tool_call_id": _ID, "name": _NAME, "content": "!"}
        for conversation in ([asked, called, done], [asked, called]):
            try:
                shown = self._apply(conversation, ready=False)
            except Exception:  # noqa: BLE001  as above
                continue
            wanted = [_NAME, _KEY, _VALUE, *filter(None, [content])]
            twice = (str({_KEY: _VALUE}), json.dumps(text))  # Python's dict, JSON within JSON
            return all(word in shown for word in wanted) and not any(one in shown for one in twice)
        return False

    def _warn(self, messages: Sequence[Plain], tools: Sequence[Any], text: str) -> None:
        """Warn of unknown roles, and of parts that the template leaves out."""
        for role in _roles(messages):
            if role not in ROLES and not self._knows(role):
                warn(
                    f"the model's chat template does not know the role {role!r}"
                    f"{did_you_mean(role, ROLES)}"
                )
            elif any(_is_missing(each, text) for each in messages if each["role"] == role):
                warn(f"the model's chat template ignores messages of the role {role!r}")
        names = [tool["function"]["name"] for tool in tools]
        if names and not any(name in text for name in names):
            warn(
                "the model's chat template ignores tools; schema_in_prompt=True describes "
                "them in the prompt"
            )

    def _knows(self, role: str) -> bool:
        """True if the template contains the name of the role as a string."""
        given = self._tokenizer.chat_template
        texts = cast("Mapping[str, str]", given).values() if isinstance(given, Mapping) else [given]
        return any(f"{mark}{role}{mark}" in str(text) for mark in "'\"" for text in texts)


def _roles(messages: Sequence[Plain]) -> list[str]:
    return list(dict.fromkeys(message["role"] for message in messages))


def _is_missing(message: Plain, text: str) -> bool:
    """True if the text lacks the longest word of the message; replies are not checked."""
    words = re.findall(r"\w+", message["content"] or "")
    return bool(words) and message["role"] != "assistant" and max(words, key=len) not in text


def _with_dict(call: Plain) -> Plain:
    """A call with a dict of arguments, if they are an object."""
    function = call["function"]
    with contextlib.suppress(ValueError, RecursionError):
        read: object = json.loads(function["arguments"])
        if isinstance(read, dict):
            return {**call, "function": {**function, "arguments": cast("Plain", read)}}
    return call


def _hermes(call: Plain) -> str:
    """A call as a text."""
    function = call["function"]
    name = json.dumps(function["name"], ensure_ascii=False)
    return f'<tool_call>\n{{"name": {name}, "arguments": {function["arguments"]}}}\n</tool_call>'


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

    def __init__(self, vocabulary: Vocabulary, tokenizer: Any = None) -> None:
        """A reader for a transformers tokenizer; without one, texts use the fewest tokens."""
        self.vocabulary, self.tokenizer = vocabulary, tokenizer
        self._tools: Sequence[Any] = ()
        self._added = _added_tokens(tokenizer)
        self._encode_piece = lru_cache(PIECES)(self._encode)

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
        return Prompt(self._beginning(), self.vocabulary.lead)

    def healed(self, prompt: Prompt, *, characters: bool = False) -> Prompt:
        """A text prompt without its last tokens, see `vocabulary.healing`.

        With `characters`, more tokens are taken back, until the rest does not split a character.
        """
        tokens, joint = heal(prompt.tokens, self.vocabulary)
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
            ways = [(best[at + n][0] + 1, n) for n in self.vocabulary.prefixes(data, at)]
            best[at] = min(ways, default=(len(data) + 1, 1), key=lambda way: (way[0], -way[1]))
        if best[0][0] > len(data):
            raise ModelError(f"the vocabulary has no tokens for {data!r}")
        tokens: list[int] = []
        at = 0
        while at < len(data):
            length = best[at][1]
            tokens.append(self.vocabulary.ids(data[at : at + length])[0])
            at += length
        return tuple(tokens)

    def _encode_text(self, text: str) -> tuple[int, ...]:
        """A text with the special tokens that begin it; those that would end it are left out."""
        if self.tokenizer is None:
            return self.spell(text.encode())
        return self._opening(text) + self._encode(text)

    def _opening(self, text: str) -> tuple[int, ...]:
        """The special tokens that the tokenizer puts before a text."""
        plain = self._encode(text)
        whole = tuple(self.tokenizer.encode(text, add_special_tokens=True))
        places = range(len(whole) - len(plain) + 1)
        place = next((n for n in places if whole[n : n + len(plain)] == plain), 0)
        return whole[:place]

    def _beginning(self) -> tuple[int, ...]:
        """The tokens before an empty text."""
        if self.tokenizer is not None:
            if opening := self._opening("x"):
                return opening
            if self.tokenizer.bos_token_id is not None:
                return (self.tokenizer.bos_token_id,)
        if not self.vocabulary.eos_ids:
            raise ModelError("the prompt is empty, and the model has no token to begin a text with")
        return (min(self.vocabulary.eos_ids),)  # a text begins where another one ends

    def _read_chat(self, given: Sequence[Message]) -> Prompt:
        messages = read_messages(given)
        if not getattr(self.tokenizer, "chat_template", None):
            raise ModelError("the model has no chat template: give it a text as its prompt")
        template = ChatTemplate(self.tokenizer)
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
        if self.tokenizer is None:
            return
        yield self._encode(text)
        yield self._encode(joint + text)
        for anchor in ANCHORS:
            before, whole = self._encode(anchor), self._encode(anchor + joint + text)
            if whole[: len(before)] == before:
                yield whole[len(before) :]

    def _encode(self, text: str) -> tuple[int, ...]:
        if self.tokenizer is None:
            return self.spell(text.encode())
        return tuple(self.tokenizer.encode(text, add_special_tokens=False))

    def _encode_chat(self, text: str) -> tuple[int, ...]:
        """`_encode`, which reads only the pieces that earlier chats did not have."""
        begins = [] if self._added is None else [each.start() for each in self._added(text)]
        pieces = (text[begin:end] for begin, end in pairwise([0, *begins, len(text)]))
        return tuple(token for piece in pieces for token in self._encode_piece(piece))

    def _spelled(self, tokens: Sequence[int]) -> bytes | None:
        """The bytes of `tokens`, None if one of them is no text."""
        pieces = [*map(self.vocabulary.spelling, tokens)]
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
