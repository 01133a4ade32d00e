"""The tokenizer and the vocabulary of a .gguf file, as llama.cpp reads them.

`LlamaCppTokenizer` has the methods of a transformers tokenizer that guideway calls. The bytes of
each token are those that llama.cpp itself writes for it, compared with its encoding of the texts
of `vocabulary.self_check`.
"""

import ctypes
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from weakref import finalize

from guideway.errors import ModelError
from guideway.vocabulary.self_check import MARK, can_spell, probes, singles_of
from guideway.vocabulary.tokenizer_json import TokenTable
from guideway.vocabulary.vocabulary import Vocabulary, ends_of

UNKNOWN, UNUSED, CONTROL, USER_DEFINED = 1, 2, 8, 16  # enum llama_token_attr
NAMED: Final = ("bos", "eos", "pad")
FILLS: Final = ("pad", "rep", "sep")  # between files of code; ends of a text to llama.cpp


class Weights:
    """A .gguf file that llama.cpp has mapped into memory; freed when nothing refers to it."""

    def __init__(self, library: Any, pointer: Any) -> None:
        """Own a `llama_model` of the module `llama_cpp`."""
        self.library, self._pointer = library, pointer
        self.close = finalize(self, library.llama_model_free, pointer)

    @property
    def pointer(self) -> Any:
        """The `llama_model`.

        Raises:
            ModelError: it was freed.
        """
        if not self.close.alive:
            raise ModelError("the model is closed: load it again with guideway.load")
        return self._pointer

    @property
    def vocab(self) -> Any:
        return self.library.llama_model_get_vocab(self.pointer)


class LlamaCppTokenizer:
    """The tokenizer of a .gguf file.

    Attributes:
        bos_token_id: the id that begins a text, or None.
        eos_token_id: the id that ends a text, or None.
        chat_template: the template in the file, or None.
        special_tokens_map: names of special tokens, for the template.
    """

    def __init__(self, weights: Weights) -> None:
        """Read the special tokens and the chat template."""
        self._weights = weights
        library, vocab = weights.library, weights.vocab
        template: bytes | None = library.llama_model_chat_template(weights.pointer, None)
        self.chat_template = None if template is None else template.decode()
        ids = {name: int(getattr(library, f"llama_vocab_{name}")(vocab)) for name in NAMED}
        self.bos_token_id, self.eos_token_id = (
            ids[name] if ids[name] >= 0 else None for name in ("bos", "eos")
        )
        self.special_tokens_map = {
            f"{name}_token": self.piece(token, special=True).decode(errors="replace")
            for name, token in ids.items()
            if token >= 0
        }

    def encode(
        self, text: str, add_special_tokens: bool = True, *, special: bool = True
    ) -> list[int]:
        """The ids of a text; `special`: names of special tokens in it are these tokens."""
        data = text.encode()
        room = len(data) + 8  # no token is empty, and a text gets an id or two around it
        ids = (ctypes.c_int32 * room)()
        count = self._weights.library.llama_tokenize(
            self._weights.vocab, data, len(data), ids, room, add_special_tokens, special
        )
        if count < 0:
            raise ModelError(f"llama.cpp cannot encode {text!r}"[:200])
        return ids[:count]

    def decode(self, tokens: Iterable[int], skip_special_tokens: bool = False) -> str:
        pieces = (self.piece(int(token), special=not skip_special_tokens) for token in tokens)
        return b"".join(pieces).decode(errors="replace")

    def __call__(
        self, texts: Sequence[str], add_special_tokens: bool = True, **_: Any
    ) -> dict[str, list[list[int]]]:
        """The ids of several texts."""
        return {"input_ids": [self.encode(text, add_special_tokens) for text in texts]}

    def get_chat_template(self, name: str | None = None, tools: Any = None) -> str | None:
        """The chat template; a file has one."""
        return self.chat_template

    def apply_chat_template(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Any] | None = None,
        *,
        add_generation_prompt: bool = False,
        tokenize: bool = False,
    ) -> str:
        """Render messages, by transformers' own renderer."""
        from transformers.utils import chat_template_utils

        render: Any = vars(chat_template_utils)["render_jinja_template"]
        rendered, _ = render(
            conversations=[list(messages)],
            tools=tools,
            chat_template=self.chat_template,
            add_generation_prompt=add_generation_prompt,
            **self.special_tokens_map,
        )
        return rendered[0]

    def piece(self, token: int, *, special: bool = False) -> bytes:
        """The bytes that llama.cpp writes for a token; `special`: names of special tokens too."""
        room = 64
        while True:
            buffer = ctypes.create_string_buffer(room)
            length = self._weights.library.llama_token_to_piece(
                self._weights.vocab, token, buffer, room, 0, special
            )
            if length >= 0:
                return buffer.raw[:length]
            room = -length

    def vocabulary(self) -> Vocabulary:
        """The vocabulary, compared with what the tokenizer does with some 300 texts.

        Raises:
            ModelError: the tokens of a text do not spell the text.
        """
        library, vocab = self._weights.library, self._weights.vocab
        tokens, special, added = list[bytes | None](), dict[str, int](), set[int]()
        fills = {int(getattr(library, f"llama_vocab_fim_{name}")(vocab)) for name in FILLS}
        ends = set[int]()
        for token in range(library.llama_vocab_n_tokens(vocab)):
            kind = int(library.llama_vocab_get_attr(vocab, token))
            tokens.append(None if kind & (UNKNOWN | UNUSED | CONTROL) else self.piece(token))
            if kind & (UNKNOWN | CONTROL):
                special[self.piece(token, special=True).decode(errors="replace")] = token
            if kind & USER_DEFINED:
                added.add(token)
            if library.llama_vocab_is_eog(vocab, token) and token not in fills:
                ends.add(token)
        letter = self._spelled(self.encode("x", False, special=False), tokens)
        lead = letter.removesuffix(b"x")
        self._check(tokens, lead, added)
        table = TokenTable(tuple(tokens), special, {}, {}, lead, "")
        return Vocabulary.of_table(table, ends | ends_of(self, None, special), None)

    def _check(self, tokens: Sequence[bytes | None], lead: bytes, added: set[int]) -> None:
        singles = singles_of(tokens)
        for text in probes(tokens):
            ids = self.encode(text, False, special=False)
            if not text or (lead and (MARK in text or not added.isdisjoint(ids))):
                continue
            got, meant = self._spelled(ids, tokens), lead + text.encode()
            if got != meant and can_spell(text, singles):
                raise ModelError(
                    f"llama.cpp's tokens for {text!r} spell {got!r}, but must spell {meant!r}: "
                    "texts of this tokenizer would not be exact. Load the model with "
                    'backend="transformers"'
                )

    def _spelled(self, ids: Sequence[int], tokens: Sequence[bytes | None]) -> bytes:
        return b"".join(tokens[token] or b"" for token in ids)
