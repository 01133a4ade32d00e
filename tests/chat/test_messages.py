"""Chat messages in OpenAI's form, and how chat templates of several kinds get them."""

import json
import re
from typing import Any

import pytest
from pydantic import BaseModel
from tokenizers import Tokenizer, models
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from guideway import GuidewayWarning, SourceError, ToolCall, UnsupportedError
from guideway.chat.messages import read_messages
from guideway.generation.ensemble.prompt import ChatTemplate
from real_tokenizers import tokenizer_folder

ARGUMENTS = {"city": "Rome"}
CALL = {
    "id": "call_0001",
    "type": "function",
    "function": {"name": "weather", "arguments": json.dumps(ARGUMENTS)},
}
ASKED = {"role": "user", "content": "And in the capital?"}
ANSWER = {"role": "tool", "tool_call_id": "call_0001", "content": "sunny"}


class Called(BaseModel):
    id: str
    type: str
    function: dict[str, str]


class ChatMessage(BaseModel):
    """As the clients of OpenAI have it."""

    role: str
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[Called] | None = None


def text(*parts: str, kind: str = "text") -> list[dict[str, str]]:
    return [{"type": kind, "text": part} for part in parts]


@pytest.mark.parametrize(("message", "plain"), [
    ({"role": "user", "content": "Hi"}, {"role": "user", "content": "Hi"}),
    ({"role": "user", "content": text("Say ", "hi.")}, {"role": "user", "content": "Say hi."}),
    ({"role": "user", "content": text("Hi", kind="input_text")}, {"role": "user", "content": "Hi"}),
    ({"role": "user", "content": ["Hi"]}, {"role": "user", "content": "Hi"}),
    ({"role": "user", "content": "Hi", "name": None}, {"role": "user", "content": "Hi"}),
    (ANSWER, ANSWER),
    ({**ANSWER, "content": text("sunny")}, ANSWER),
    (ChatMessage(role="user", content="Hi"), {"role": "user", "content": "Hi"}),
    ({"role": "assistant", "content": "Hi", "tool_calls": []},
     {"role": "assistant", "content": "Hi"}),
])  # fmt: skip
def test_a_message_becomes_a_role_and_a_text(message: Any, plain: dict[str, Any]) -> None:
    assert read_messages([message]) == [plain]
    assert read_messages(read_messages([message])) == [plain]


CALLS = {
    "text": CALL,
    "a dict": {**CALL, "function": {"name": "weather", "arguments": ARGUMENTS}},
    "flat": {"id": "call_0001", "name": "weather", "arguments": ARGUMENTS},
    "pydantic": Called.model_validate(CALL),
    "ours": ToolCall("weather", ARGUMENTS, json.dumps(ARGUMENTS), None, "call_0001"),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("content", [{}, {"content": None}, {"content": ""}, {"content": "Well."}])
def test_calls_have_one_form(call: Any, content: dict[str, Any]) -> None:
    [plain] = read_messages([{"role": "assistant", **content, "tool_calls": [call]}])
    assert plain == {"role": "assistant", "content": content.get("content"), "tool_calls": [CALL]}
    assert read_messages([plain]) == [plain]


def test_a_message_of_a_client_is_read_with_its_calls() -> None:
    came = ChatMessage(role="assistant", tool_calls=[CALLS["pydantic"]])
    assert read_messages([came]) == read_messages([came.model_dump()])
    assert read_messages([came])[0]["tool_calls"] == [CALL]


@pytest.mark.parametrize(("message", "error", "said", "place"), [
    ({"content": "Hi"}, SourceError, "needs a role", "/1/role"),
    ({"role": "user"}, SourceError, "needs a content or tool_calls", "/1/content"),
    ({"role": "assistant", "content": None}, SourceError, "or tool_calls", "/1/content"),
    ({"role": "tool", "content": {"t": 3}}, SourceError, "json.dumps", "/1/content"),
    ({"role": "user", "content": "\ud800"}, SourceError, "surrogate", ""),
    ({"role": "user", "content": [*text("a"), {"type": "image_url", "image_url": {}}]},
     UnsupportedError, "'image_url'", "/1/content/1"),
    ({"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}, UnsupportedError,
     "'input_audio'", "/1/content/0"),
    ({"role": "user", "content": [3]}, UnsupportedError, "3", "/1/content/0"),
    ({"role": "user", "content": [{"type": "text"}]}, SourceError, "must be a str", ""),
    ({"role": "user", "content": "Hi", "name": 7}, SourceError, "a text, not 7", "/1/name"),
    ({"role": "tool", "content": "", "tool_call_id": 5}, SourceError, "5", "/1/tool_call_id"),
    ({"role": "assistant", "tool_calls": "f"}, SourceError, "a list", "/1/tool_calls"),
    ({"role": "assistant", "tool_calls": [{}]}, SourceError, "needs the name", "/1/tool_calls/0"),
    ({"role": "assistant", "tool_calls": [{"type": "custom", "custom": {}}]}, UnsupportedError,
     "'custom'", "/1/tool_calls/0"),
    ({"role": "assistant", "tool_calls": [{"name": "f", "arguments": {3j}}]}, SourceError,
     "must be JSON", "/1/tool_calls/0"),
    ({"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}}, UnsupportedError,
     "write tool_calls", "/1/function_call"),
])  # fmt: skip
def test_what_is_no_message_is_refused_with_its_place(message, error, said, place) -> None:
    with pytest.raises(error, match=re.escape(said)) as caught:
        read_messages([ASKED, message])
    assert caught.value.place.startswith(place)


# Templates of each kind, as small as they can be. `{{ x }}` of a text writes it as it is.

START = "{% for m in messages %}<{{ m['role'] }}>"
END = "</>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
CALLED = "{% for c in m.tool_calls or [] %}{% set f = c.function %}[{{ f.name }}|"
DICT = "{{ f.arguments | tojson }}]{% endfor %}"
TEXT = "{{ '' + f.arguments }}]{% endfor %}"
EITHER = "{{ f.arguments if f.arguments is string else f.arguments | tojson }}]{% endfor %}"
ITEM = """"{{ k }}": {{ v | tojson }}"""
ITEMS = "{{ '{' }}{% for k, v in f.arguments | items %}" + ITEM + "{% endfor %}}]{% endfor %}"
TEMPLATES = {
    # no content is "", arguments are made JSON
    "dict": f"{START}{{{{ m.content + '' }}}}{CALLED}{DICT}{END}",
    # no content is None, and beside a content calls are not looked for
    "text": f"{START}{{% if m.content is none %}}{CALLED}{TEXT}"
    f"{{% else %}}{{{{ m.content }}}}{{% endif %}}{END}",
    "items": f"{START}{{{{ m.content }}}}{CALLED}{ITEMS}{END}",
    "either": f"{START}{{{{ m.content or '' }}}}{CALLED}{EITHER}{END}",
    # calls are left out, as by the templates of Llama 3, Gemma 3 and SmolLM2
    "none": f"{START}{{{{ m.content + '' }}}}{END}",
}


def template(given: str) -> ChatTemplate:
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE()))
    tokenizer.chat_template = given
    return ChatTemplate(tokenizer)


@pytest.mark.parametrize("kind", TEMPLATES)
@pytest.mark.parametrize("content", [None, "", "Let me look."])
def test_a_call_gets_through_every_template(kind: str, content: str | None) -> None:
    called = {"role": "assistant", "content": content, "tool_calls": [CALL]}
    shown = template(TEMPLATES[kind]).render(read_messages([ASKED, called, ANSWER]))
    assert shown.startswith("<user>And in the capital?</><assistant>")
    assert shown.endswith("<tool>sunny</><assistant>")
    assert (content or "") in shown
    [written] = re.findall(r"\{.*\}", shown)
    if kind == "none" or (kind == "text" and content):  # in the content, as Hermes writes it
        assert json.loads(written) == {"name": "weather", "arguments": ARGUMENTS}
    else:
        assert "[weather|" in shown
        assert json.loads(written) == ARGUMENTS


@pytest.mark.parametrize("arguments", ['{"city": "Ro', "[1]"])
def test_arguments_that_are_no_object_stay_a_text(arguments: str) -> None:
    call = {**CALL, "function": {"name": "f", "arguments": arguments}}
    called = {"role": "assistant", "content": None, "tool_calls": [call]}
    shown = template(TEMPLATES["either"]).render(read_messages([ASKED, called]))
    assert f"[f|{arguments}]" in shown


@pytest.mark.parametrize("name", ["llama3", "qwen2.5", "smollm2"])
def test_real_templates_lose_nothing_of_a_turn_with_tools(name: str) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tokenizer_folder(name))
    called = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    shown = ChatTemplate(tokenizer).render(read_messages([ASKED, called, ANSWER]))
    assert '{"name": "weather", "arguments": {"city": "Rome"}}' in shown
    assert shown.index("And in the capital?") < shown.index("weather") < shown.index("sunny")


def test_a_role_that_the_template_refuses_is_named() -> None:
    tokenizer = AutoTokenizer.from_pretrained(tokenizer_folder("gemma3"))
    called = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    with pytest.raises(SourceError, match=r"alternate.*does not mention the role 'tool'"):
        ChatTemplate(tokenizer).render(read_messages([ASKED, called, ANSWER]))


@pytest.mark.parametrize(("role", "said"), [("usr", "did you mean 'user'?"), ("robot", "role")])
def test_a_role_that_the_template_does_not_know_is_told(role: str, said: str) -> None:
    with pytest.warns(GuidewayWarning, match=re.escape(said)) as told:
        template(TEMPLATES["none"]).render([{"role": role, "content": "Hi there"}])
    assert len(told) == 1


def test_roles_that_are_known_or_in_the_template_are_not_told() -> None:
    own = "{% for m in messages %}{% if m.role == 'bot' %}B{% endif %}{{ m.content }}{% endfor %}"
    for known in ("bot", "system", "developer", "user", "assistant", "tool"):
        template(own).render([{"role": known, "content": "Hi there"}])


def test_a_message_that_the_template_leaves_out_is_told() -> None:
    own = "{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}{% endif %}{% endfor %}"
    messages = [{"role": "system", "content": "Be kind."}, ASKED]
    with pytest.warns(GuidewayWarning, match="ignores messages of the role 'system'"):
        template(own).render(messages)


def test_tools_that_the_template_does_not_show_are_told() -> None:
    tool = {"type": "function", "function": {"name": "weather", "parameters": {}}}
    with pytest.warns(GuidewayWarning, match="schema_in_prompt=True"):
        template(TEMPLATES["none"]).render([ASKED], [tool])
    template("{{ tools }}{{ messages }}").render([ASKED], [tool])
    template(TEMPLATES["none"]).render([{**ASKED, "content": "Call weather"}], [tool])
