"""`Extract` without Ray: its values are those of `generate`, and each wrong row keeps its error."""

from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel, field_validator

import guideway as gw
from guideway.errors import SourceError, UnsatisfiableError, UnsupportedError
from guideway.integrations.ray import Extract
from guideway.models.fake import FakeModel

BYTES = gw.Vocabulary([bytes([b]) for b in range(256)] + [b"<eos>"], {256})


class Item(BaseModel):
    name: str
    tags: list[int]


class Short(BaseModel):
    name: str

    @field_validator("name")
    @classmethod
    def _short(cls, name: str) -> str:
        if len(name) > 1:
            raise ValueError("too long")
        return name


def fake() -> gw.Model:
    return gw.Model(FakeModel.random(BYTES))


def column(*values: object) -> Any:
    return np.fromiter(values, object, len(values))


def test_rows_are_those_of_generate() -> None:
    settings = {"max_new_tokens": 60, "temperature": 1.0, "seed": 4}
    prompts = [f"Row {n}: " for n in range(9)]
    extract = Extract(fake, Item, max_batch=3, **settings)
    rows = extract({"prompt": column(*prompts), "n": np.arange(9)})
    extract.close()
    expected = [fake().generate(prompt, Item, **settings) for prompt in prompts]
    assert rows["value"].tolist() == [each.value.model_dump() for each in expected]
    assert rows["text"].tolist() == [each.text for each in expected]
    assert rows["finish_reason"].tolist() == [each.finish_reason for each in expected]
    assert rows["error"].tolist() == [None] * 9
    assert rows["n"].tolist() == [*range(9)]


def test_chat_messages_and_functions_are_prompts() -> None:
    extract = Extract(fake, gw.Choice(["a", "b"]), prompt=lambda row: f"{row['n']}? ", output="my_")
    rows = extract({"n": np.arange(3), "value": column("x", "y", "z")})
    expected = [fake().generate(f"{n}? ", gw.Choice(["a", "b"])).value for n in range(3)]
    assert rows["my_value"].tolist() == expected
    assert rows["value"].tolist() == ["x", "y", "z"]
    extract.close()


def test_a_wrong_row_keeps_its_error() -> None:
    def prompt(row: dict[str, Any]) -> Any:
        return ["one? ", 5][row["kind"]]

    settings = {"max_new_tokens": 40, "temperature": 1.0, "seed": 2}
    extract = Extract(fake, Short, prompt=prompt, **settings)
    rows = extract({"kind": np.array([0, 1, 2])})
    extract.close()
    assert rows["error"][1].startswith("SourceError: a prompt must be")
    assert rows["error"][2].startswith("SourceError: prompt raised IndexError: ")
    expected = fake().generate("one? ", Short, on_invalid="return", **settings)
    assert (rows["error"][0] is None) == (expected.error is None)
    assert rows["text"][0] == expected.text


@pytest.mark.parametrize(
    ("arguments", "error", "told"),
    [
        ({"source": gw.Regex("(")}, SourceError, "not closed"),
        ({"temprature": 1.0}, UnsupportedError, "temperature"),
        ({"source": {"type": "string", "minLength": 2, "maxLength": 1}}, UnsatisfiableError, "."),
        ({"model": lambda: 5}, SourceError, "not a guideway.Model"),
    ],
)
def test_what_would_fail_each_row_fails_at_once(
    arguments: dict[str, Any], error: type[Exception], told: str
) -> None:
    with pytest.raises(error, match=told):
        Extract(**{"model": fake, **arguments})


def test_columns_are_checked() -> None:
    extract = Extract(fake, gw.Choice(["a"]))
    with pytest.raises(SourceError, match=r"no column 'prompt'; the columns are \['text'\]"):
        extract({"text": column("a")})
    with pytest.raises(SourceError, match="'text' is there already"):
        extract({"prompt": column("a"), "text": column("a")})
    assert extract({"prompt": column()})["value"].tolist() == []
    extract.close()
