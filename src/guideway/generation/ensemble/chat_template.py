"""Render chat messages with a model's chat template, and warn of parts that it leaves out.

Templates differ in how they read an assistant's tool calls: arguments as a dict (Llama 3.1,
Mistral, Qwen2.5) or as JSON text (DeepSeek), missing content as "" (Qwen) or None (DeepSeek). Some
leave calls out (Llama 3, Gemma 3, SmolLM2). So a short conversation is rendered in each form, and
the first form whose text contains the call is used; else calls go into the content, as in Hermes.
"""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import product
from typing import Any, Final, TypeAlias, cast

from guideway.chat.messages import Plain
from guideway.errors import SourceError, warn
from guideway.sources.names import did_you_mean

ROLES: Final = ("system", "developer", "user", "assistant", "tool", "function")
_NAME, _KEY, _VALUE, _SAID = "guideway_name", "guideway_key", "guideway_value", "guideway_said"
_ID: Final = "guideway1"  # Mistral's templates insist on nine letters and digits

Form: TypeAlias = tuple[bool, str | None]
"""How messages are given: arguments as dicts or as JSON, and the value for missing content."""


class ChatTemplate:
    """The template of a transformers tokenizer."""

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
    with suppress(ValueError, RecursionError):
        read: object = json.loads(function["arguments"])
        if isinstance(read, dict):
            return {**call, "function": {**function, "arguments": cast("Plain", read)}}
    return call


def _hermes(call: Plain) -> str:
    """A call as a text."""
    function = call["function"]
    name = json.dumps(function["name"], ensure_ascii=False)
    return f'<tool_call>\n{{"name": {name}, "arguments": {function["arguments"]}}}\n</tool_call>'
