"""Tool choice of vLLM: the structural tags that it makes for each family of models.

xgrammar, which vLLM has, is the oracle: it accepts each text that our constraint allows.
"""

import json
import random
from typing import Any

import pytest

pytest.importorskip("vllm", reason="needs vllm: python tests/engines/run.py vllm")

import xgrammar
from vllm.entrypoints.openai.chat_completion.protocol import (
    ChatCompletionNamedToolChoiceParam as Named,
)
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionToolsParam
from vllm.tool_parsers.structural_tag_registry import (
    SUPPORTED_STRUCTURAL_TAG_MODELS,
    get_model_structural_tag,
)

import guideway as gw
from guideway.chat.structural_tags import structural_tag

SCHEMA = {
    "type": "object",
    "properties": {"city": {"enum": ["Rome", "Oslo"]}, "days": {"type": "integer"}},
    "required": ["city"],
    "additionalProperties": False,
}


def tools(strict: bool) -> list[Any]:
    """Two tools; arguments are any JSON or elements if they are not strict."""
    return [
        ChatCompletionToolsParam.model_validate(
            {"type": "function", "function": {"name": name, "parameters": SCHEMA, "strict": strict}}
        )
        for name in ("weather", "trains")
    ]


CHOICES: dict[str, Any] = {
    "auto": "auto",
    "required": "required",
    "named": Named.model_validate({"type": "function", "function": {"name": "trains"}}),
}
REFUSED = {"deepseek_v4_1"}  # its style of arguments
BYTES = gw.Vocabulary([*(bytes([byte]) for byte in range(256)), None], {256})


def walk(constraint: Any, seed: int) -> bytes:
    """A random text of at most 600 bytes."""
    chance, state, text = random.Random(seed), constraint.start(), bytearray()
    while len(text) < 600:
        mask = constraint.mask_within(state, 600 - len(text))
        allowed = [n for n in range(257) if mask[n >> 5] >> (n & 31) & 1]
        byte = chance.choice(allowed)
        if byte == 256:
            break
        # The letters of a trigger come rarely by chance.
        forced = constraint.forced_bytes(state) or (b"<" if 60 in allowed else b"")
        byte = forced[0] if forced and chance.random() < 0.3 else byte
        text.append(byte)
        state = constraint.advance(state, byte)
    return bytes(text)


@pytest.fixture(scope="module")
def compiler() -> Any:
    spelled = [f"<0x{byte:02X}>" for byte in range(256)] + ["<eos>"]
    kind = xgrammar.VocabType.BYTE_FALLBACK
    info = xgrammar.TokenizerInfo(spelled, kind, stop_token_ids=[256])
    return xgrammar.GrammarCompiler(info)


@pytest.mark.parametrize(
    ("choice", "strict"), [*((name, True) for name in CHOICES), ("required", False)]
)
@pytest.mark.parametrize("family", sorted(SUPPORTED_STRUCTURAL_TAG_MODELS))
def test_tool_calls_of_each_family(compiler: Any, family: str, choice: str, strict: bool):
    tag = get_model_structural_tag(family, tools(strict), CHOICES[choice], reasoning=False)
    assert tag is not None
    written = json.dumps(tag.model_dump())
    if family in REFUSED:
        with pytest.raises(gw.UnsupportedError, match="style"):
            structural_tag(written)
        return
    constraint = gw.compile(structural_tag(written), BYTES, gw.Budget.untrusted())
    grammar = compiler.compile_structural_tag(written)
    texts = [walk(constraint, seed) for seed in range(5)]
    for text in texts:
        matcher = xgrammar.GrammarMatcher(grammar)
        assert all(map(matcher.accept_token, text)), text
        assert matcher.accept_token(256), text
    calls = sum(b"weather" in text or b"trains" in text for text in texts)
    assert calls == 5 or choice == "auto"
    assert not any(b"weather" in text for text in texts if choice == "named")
