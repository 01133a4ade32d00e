"""The ten tasks: a text, a type, what the text says, and the messages that ask for it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

from pydantic import BaseModel

import guideway as gw
from benchmarks.extraction.models import MODELS

HERE: Final = Path(__file__).parent
MAX_NEW_TOKENS: Final = 256  # the longest right answer takes about 150, indented


@final
@dataclass(frozen=True, slots=True)
class Task:
    """One text and what to make of it."""

    name: str  # of the text, and in `MODELS`
    type: type[BaseModel]  # what to extract
    messages: list[dict[str, str]]  # the text, then a description of the type
    expected: dict[str, Any]  # what the text says, as JSON

    def prompt(self, tokenizer: Any) -> str:
        """The messages as the model's chat template writes them: what every engine is given."""
        return tokenizer.apply_chat_template(
            self.messages, tokenize=False, add_generation_prompt=True
        )


def read_tasks() -> list[Task]:
    """All ten, in the order of `MODELS`."""
    key = json.loads((HERE / "key.json").read_text("utf-8"))
    return [Task(name, kind, _messages(name, kind), key[name]) for name, kind in MODELS.items()]


def _messages(name: str, kind: type[BaseModel]) -> list[dict[str, str]]:
    text = (HERE / "texts" / f"{name}.txt").read_text("utf-8").strip()
    question = "Extract the data of this text. Answer with JSON of this form:"
    return [{"role": "user", "content": f"{text}\n\n{question}\n{gw.describe(kind)}"}]
