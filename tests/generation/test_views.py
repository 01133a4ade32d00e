"""What a leaf sees of the prompt."""

import pytest

import guideway as gw
from guideway.generation.ensemble.prompt import PromptReader
from guideway.generation.ensemble.views import LastToken, Rewritten, System, read

BYTES = gw.Vocabulary([bytes([b]) for b in range(256)] + [b"<eos>"], {256})
READER = PromptReader(BYTES)


def test_texts_get_the_system_text_before_them_as_it_is():
    assert bytes(read("there", [System("hi ")], READER).tokens) == b"hi there"
    # The view that was added last comes first.
    assert bytes(read("c", [System("b"), System("a")], READER).tokens) == b"abc"


def test_functions_make_another_prompt():
    assert bytes(read("there", [Rewritten(str.upper)], READER).tokens) == b"THERE"


def test_the_last_token_is_of_the_prompt_as_it_is_seen():
    assert (
        bytes(read("ab", [LastToken(), Rewritten(lambda text: text + "!")], READER).tokens) == b"!"
    )


@pytest.mark.parametrize("made", [None, 3, [], [1], b"x"])
def test_what_is_no_prompt_is_refused(made):
    with pytest.raises(gw.SourceError, match="a prompt was made into"):
        read("a", [Rewritten(lambda prompt: made)], READER)


class Template:
    """A tokenizer of bytes with a chat template."""

    chat_template = "there is one"
    bos_token_id = None

    def encode(self, text, *, add_special_tokens):
        return list(text.encode())

    def apply_chat_template(self, messages, *, tokenize, add_generation_prompt):
        lines = [f"{each['role']}: {each['content']}\n" for each in messages]
        return "".join(lines) + ("assistant: " if add_generation_prompt else "")


def test_chats_get_a_system_message_or_more_of_the_one_they_have():
    reader = PromptReader(
        gw.Vocabulary([bytes([b]) for b in range(256)] + [b"<eos>"], {256}), Template()
    )
    asked = [{"role": "user", "content": "Hi"}]
    found = bytes(read(asked, [System("Be kind.")], reader).tokens)
    assert found == b"system: Be kind.\nuser: Hi\nassistant: "
    told = [{"role": "system", "content": "Be short."}, *asked]
    found = bytes(read(told, [System("Be kind.")], reader).tokens)
    assert found == b"system: Be kind.\n\nBe short.\nuser: Hi\nassistant: "
    added = Rewritten(lambda chat: [*chat, {"role": "user", "content": "?"}])
    assert bytes(read(asked, [added], reader).tokens).endswith(b"user: Hi\nuser: ?\nassistant: ")
