"""What type checkers say of users' code: it is run through mypy and pyright.

A line that ends with `# error` is a mistake that both have to find; there may be no other.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

import guideway
from guideway.api.arguments import OneArguments, SeveralArguments
from guideway.sampling.settings import ALIASES, Sampling, SamplingArguments

SOURCES = str(Path(guideway.__file__).parent.parent)

CODE = """
import re
from collections.abc import AsyncIterator, Iterator
from enum import Enum
from typing import Annotated, Any, Literal, TypedDict, Union

from pydantic import BaseModel, Field, TypeAdapter
from typing_extensions import assert_type

import guideway as gw


class Person(BaseModel):
    name: str
    age: int


class Colour(Enum):
    RED = "red"


class Movie(TypedDict):
    title: str


def add(a: int, b: int) -> int:
    return a + b


model = gw.load("smollm2-135m", device="cpu", dtype="bf16")
guided = model + 1.5 * (model - model.prompted("Be rude."))
chat = [{"role": "user", "content": "Who?"}]

# One prompt, one result, of the type that was asked for.
r = model.generate("Who?", Person, max_new_tokens=200, temperature=0.7, top_p=0.9, seed=0)
assert_type(r, gw.Result[Person])
assert_type(r.value.name, str)
assert_type(r.text, str)
assert_type(model.generate(chat, Person).value, Person)
assert_type(guided.generate("Who?", Person).value, Person)
assert_type(model.generate("Who?", Colour).value, Colour)
assert_type(model.generate("Who?", Movie).value, Movie)
assert_type(model.generate("How many?", int, temperature=0).value, int)
assert_type(model.generate("How many?", int | None).value, int | None)
assert_type(model.generate("Who?", Union[Person, Movie]).value, Person | Movie)
assert_type(model.generate("Who?", list[Person]).value, list[Person])
assert_type(model.generate("Who?", dict[str, int]).value, dict[str, int])
assert_type(model.generate("So?", Literal["yes", "no"]).value, Literal["yes", "no"])
assert_type(model.generate("How many?", Annotated[int, Field(ge=1)]).value, int)
assert_type(model.generate("How many?", TypeAdapter(list[int])).value, list[int])
assert_type(model.generate("How many?", gw.source(int)).value, int)
r.valeu  # error
r.value.nmae  # error
model.generate("Who?", Person, temprature=0.7)  # error
model.generate("Who?", Person, temperature="hot")  # error
model.generate("Who?", 3)  # error
model.generate(3, Person)  # error
model.generate(prompts="Who?")  # error
model.generate("Who?", Person).value.name.upper().foo()  # error

# Texts are strings, and the values of a schema whatever it says.
assert_type(model.generate("Go on").value, str)
assert_type(model.generate("Go on", None).value, str)
assert_type(model.generate("A year", gw.Regex("[0-9]{4}")).value, str)
assert_type(model.generate("A year", re.compile("[0-9]{4}")).value, str)
assert_type(model.generate("So?", gw.Choice(["yes", "no"])).value, str)
assert_type(model.generate("So?", gw.Regex("[0-9]") + "." + gw.Text()).value, str)
assert_type(model.generate("So?", gw.Choice(["none"]) | Person).value, str | Person)
assert_type(model.generate("So?", ~gw.Regex("a")).value, str)
assert_type(model.generate("So?", gw.Lark('start: "a"')).value, str)
assert_type(model.generate("Who?", Person.model_json_schema()).value, Any)
assert_type(model.generate("Who?", {"type": "object", "properties": {}}).value, Any)
assert_type(model.generate("Who?", gw.JsonSchema({"type": "object"})).value, Any)
assert_type(model.generate("Add", add).value, Any)
model.generate("A year", gw.Regex("[0-9]{4}")).value.year  # error

# What is made of sources has the value of its parts.
assert_type(model.generate(chat, gw.thinking(Person)).value, Person)
assert_type(model.generate(chat, gw.tagged("<p>", Person, "</p>")).value, list[Person])
assert_type(model.generate(chat, gw.capture("p", Person)).value, Person)
called = model.generate(chat, gw.tools([add]))
assert_type(called.value, tuple[gw.ToolCall, ...])
assert_type(called.tool_calls[0].name, str)
called.tool_calls[0].nmae  # error

# Several prompts or sequences give a list.
assert_type(model.generate(["Who?", "What?"], Person), list[gw.Result[Person]])
assert_type(model.generate([chat, chat], Person), list[gw.Result[Person]])
assert_type(model.generate(["Who?", "What?"]), list[gw.Result[str]])
assert_type(model.generate(["Who?", "What?"], [Person, int]), list[gw.Result[Any]])
assert_type(model.generate("Who?", Person, num_return_sequences=3), list[gw.Result[Person]])
assert_type(model.generate("Who?", Person, num_return_sequences=1), gw.Result[Person])
assert_type(model.generate(chat, n=3), list[gw.Result[str]])
settings = gw.Sampling(temperature=0.7, max_new_tokens=30)
assert_type(model.generate("Who?", Person, sampling=settings), gw.Result[Person])
model.generate(["Who?", "What?"], Person, sampling=[settings, settings])
model.generate(["Who?", "What?"], Person).value  # error
model.generate(["Who?", "What?"], Person, temprature=1)  # error
gw.Sampling(temprature=1)  # error

# Streams and coroutines.
assert_type(model.stream("Who?", Person, max_new_tokens=9), Iterator[gw.Part[Person]])
for part in model.stream(chat, Person):
    assert_type(part.value, Person | None)
    assert_type(part.result, gw.Result[Person] | None)
    part.valeu  # error
model.stream("Who?", Person, temprature=1)  # error
model.stream("Who?", Person, num_return_sequences=3)  # error
model.stream("Who?", Person, retries=3)  # error


async def later() -> None:
    assert_type(await model.agenerate("Who?", Person, seed=1), gw.Result[Person])
    assert_type(await model.agenerate(["Who?"], Person), list[gw.Result[Person]])
    assert_type(await model.agenerate("Who?", n=2), list[gw.Result[str]])
    (await model.agenerate("Who?", Person)).valeu  # error
    await model.agenerate("Who?", Person, temprature=1)  # error
    assert_type(model.astream("Who?", Person), AsyncIterator[gw.Part[Person]])
    async for part in model.astream("Who?", Person):
        part.valeu  # error


# Everything else.
chances = model.choose("So?", ["yes", "no"])
assert_type(chances, dict[str, float])
model.choose("So?", 3)  # error
vocabulary = gw.Vocabulary([b"a", None], eos_ids={1})
constraint = gw.compile(Person, vocabulary, budget=gw.Budget.default())
assert_type(constraint.matches("text"), bool)
assert_type(constraint.example(), str)
assert_type(constraint.forced(constraint.start()), tuple[int, ...])
matcher = gw.Matcher(constraint)
assert_type(matcher.accept_token(3), bool)
matcher.accept_tokn(3)  # error
gw.compile(Person)  # error
gw.Matcher(Person)  # error
gw.Regex("a", dialect="perl")  # error
gw.JsonSchema({}, whitespace="none")  # error
gw.Vocabulary.from_tokenizer_json("tokenizer.json", widht=3)  # error
gw.load("smollm2-135m", devise="cpu")  # error
gw.laod("smollm2-135m")  # error
"""


def mistakes(said: str) -> list[int]:
    """The lines in which a checker finds an error."""
    found = re.findall(r"users_code\.py:(\d+)(?::\d+)?(?: -)?:? error", said)
    return sorted({int(line) for line in found})


EXPECTED = [n for n, line in enumerate(CODE.splitlines(), 1) if line.endswith("# error")]


@pytest.mark.parametrize("command", [
    ["pyright", "--pythonpath", sys.executable, "-p", "."],
    ["mypy", "--follow-imports", "silent", "users_code.py"],  # the library is pyright's affair
], ids=["pyright", "mypy"])  # fmt: skip
def test_checkers_find_the_mistakes_of_users_and_no_others(command: list[str], tmp_path: Path):
    (tmp_path / "users_code.py").write_text(CODE)
    config = {"extraPaths": [SOURCES], "include": ["users_code.py"]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(config))
    pytest.importorskip(command[0], reason=f"{command[0]} is not installed")
    how: Any = {"capture_output": True, "text": True, "env": {**os.environ, "MYPYPATH": SOURCES}}
    command = [sys.executable, "-m", *command]
    said = subprocess.run(command, check=False, cwd=tmp_path, **how).stdout
    assert mistakes(said) == EXPECTED, said


def test_arguments_have_the_names_and_types_of_the_settings() -> None:
    own, given = get_type_hints(Sampling), get_type_hints(SamplingArguments)
    assert given.pop("bad_words") == given["bad_words_ids"]
    for alias in ALIASES.keys() & given.keys():
        assert given.pop(alias) == given[ALIASES[alias]]
    sequences = own.pop("num_return_sequences")
    assert given == own
    one, several = get_type_hints(OneArguments), get_type_hints(SeveralArguments)
    assert one.keys() == several.keys()
    assert several["n"] == several["num_return_sequences"] == sequences
    assert get_args(one["n"]) == get_args(one["num_return_sequences"]) == (1,)
