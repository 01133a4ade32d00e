"""What people get wrong, and what they are told: the type of the error, and its message.

`python tests/test_wrong_inputs.py` prints all of them.
"""

import pickle
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import fairlead as fl
from fairlead.engine.fake import FakeModel
from fairlead.errors import brief
from fairlead.syntax.sources import Source
from small_tokenizers import byte_level

BYTES = fl.Vocabulary([bytes([b]) for b in range(256)] + [b"<end>"], eos_ids={256})
TOKENIZER = byte_level()
LETTERS = fl.Vocabulary([b"a", b"b", b"<end>"], eos_ids={2})


@dataclass(frozen=True, slots=True)
class Wrong:
    """Something wrong, the error it gets, and what the message must mention."""

    what: str
    attempt: Callable[[], object]
    error: type[fl.FairleadError]
    said: tuple[str, ...]


def compiled(source: object) -> Callable[[], object]:
    return lambda: fl.compile(source, BYTES)


def schema(value: dict[str, object] | str) -> Callable[[], object]:
    return lambda: fl.compile(fl.JsonSchema(value), BYTES)


def generated(**settings: Any) -> Callable[[], object]:
    return lambda: fl.Model(FakeModel.random(BYTES)).generate("?", "yes", **settings)


def rejected() -> object:
    constraint = fl.compile("yes", BYTES)
    return constraint.advance(constraint.start(), ord("n"))


CASES = [
    Wrong("an open group", compiled(fl.Regex("(19|20")), fl.SourceError, ("(19|20", "^")),
    Wrong(
        "lookaround that is nested too deep",
        compiled(fl.Regex("(?=" * 13 + "a" + ")" * 13)),
        fl.UnsupportedError,
        ("more than 12 deep", "^"),
    ),
    Wrong("a backreference", compiled(fl.Regex(r"(a*)\1")), fl.UnsupportedError, ("\\1", "^")),
    Wrong(
        "a type that does not exist",
        schema({"properties": {"age": {"type": "integr"}}}),
        fl.SourceError,
        ("/properties/age", "integr", "did you mean 'integer'?"),
    ),
    Wrong(
        "a special token that the vocabulary lacks",
        compiled("a" + fl.special("<en>")),
        fl.UnsupportedError,
        ("<en>", "did you mean '<end>'?"),
    ),
    Wrong(
        "a trigger behind another one",
        lambda: fl.regions(fl.tag("<tool>", int), fl.tag("tool", int)),
        fl.SourceError,
        ("'<tool>' never comes", "'tool'"),
    ),
    Wrong(
        "a format of tools that nobody has",
        lambda: fl.tools([compiled], "mistrel"),
        fl.SourceError,
        ("mistrel", "did you mean 'mistral'?"),
    ),
    Wrong("one tool that is no list", lambda: fl.tools(compiled), fl.SourceError, ("a list",)),  # pyright: ignore[reportArgumentType]
    Wrong("no tools", lambda: fl.tools(None), fl.SourceError, ("a list",)),  # pyright: ignore[reportArgumentType]
    Wrong(
        "a list for a format of tools",
        lambda: fl.tools([compiled], ["hermes"]),  # pyright: ignore[reportArgumentType]
        fl.SourceError,
        ("no format ['hermes']", "mistral"),
    ),
    Wrong(
        "a word for whether calls are several",
        lambda: fl.tools([compiled], parallel="no"),  # pyright: ignore[reportArgumentType]
        fl.SourceError,
        ("parallel is 'no'", "True or False"),
    ),
    Wrong(
        "a word for whether a stop belongs to the text",
        lambda: fl.until("a", include="no"),  # pyright: ignore[reportArgumentType]
        fl.SourceError,
        ("include is 'no'", "True or False"),
    ),
    Wrong(
        "a word for whether a text stops",
        lambda: fl.tagged("<a>", int, "</a>", stop_after_first="x"),  # pyright: ignore[reportArgumentType]
        fl.SourceError,
        ("stop_after_first is 'x'", "True or False"),
    ),
    Wrong(
        "a number for imports",
        lambda: fl.Lark('start: "a"\n', imports=3),  # pyright: ignore[reportArgumentType]
        fl.SourceError,
        ("imports are", "not 3"),
    ),
    Wrong(
        "a number for a folder",
        lambda: fl.Lark('start: "a"\n', imports=[3]),  # pyright: ignore[reportArgumentType]
        fl.SourceError,
        ("a path is", "not 3"),
    ),
    Wrong(
        "a number for a file",
        lambda: fl.Lark.open(3),  # pyright: ignore[reportArgumentType]
        fl.SourceError,
        ("a path is", "not 3"),
    ),
    Wrong(
        "a file whose name nothing has",
        lambda: fl.Lark.open("a\0b"),
        fl.SourceError,
        ("cannot be read",),
    ),
    Wrong(
        "texts for tokens to heal",
        lambda: fl.heal(["x"], BYTES),  # pyright: ignore[reportArgumentType]
        fl.SourceError,
        ("tokens are ids", "['x']"),
    ),
    Wrong(
        "no tokens to heal",
        lambda: fl.heal(None, BYTES),  # pyright: ignore[reportArgumentType]
        fl.SourceError,
        ("tokens are ids", "None"),
    ),
    Wrong(
        "tokens to heal for nothing",
        lambda: fl.heal([1], None),  # pyright: ignore[reportArgumentType]
        fl.SourceError,
        ("fairlead.Vocabulary", "NoneType"),
    ),
    Wrong(
        "a number for what a text begins with",
        lambda: fl.compile("yes", BYTES).start(5),  # pyright: ignore[reportArgumentType]
        fl.SourceError,
        ("bytes", "not 5"),
    ),
    Wrong(
        "a beginning that no token spells",
        lambda: fl.compile("ab", LETTERS).start(b"a\xff"),
        fl.UnsatisfiableError,
        ("vocabulary", "b'a\\xff'", "0xff"),
    ),
    Wrong("no name", lambda: fl.grammar([]), fl.SourceError, ("no grammar []",)),  # pyright: ignore[reportArgumentType]
    Wrong(
        "no lower bound",
        lambda: fl.repeat("a", None),  # pyright: ignore[reportArgumentType]
        fl.SourceError,
        ("whole numbers",),
    ),
    Wrong(
        "flags of the re module",
        lambda: fl.Regex("a", flags=re.IGNORECASE),  # pyright: ignore[reportArgumentType]
        fl.SourceError,
        ("flags are letters of 'imsxau'", "re.IGNORECASE"),
    ),
    Wrong(
        "a list for a dialect",
        lambda: fl.Regex("a", dialect=["ecma"]),  # pyright: ignore[reportArgumentType]
        fl.SourceError,
        ("dialect=['ecma']", "'python', 'ecma'"),
    ),
    Wrong(
        "a number for what a tool is for",
        lambda: fl.tools([{"name": "a", "description": 3}]),
        fl.SourceError,
        ("the description of a tool must be a str, not 3",),
    ),
    Wrong(
        "a word for whether a special token is required",
        lambda: fl.special("<end>", required="no"),  # pyright: ignore[reportArgumentType]
        fl.SourceError,
        ("required is 'no'", "True or False"),
    ),
    Wrong(
        "an id that no vocabulary has",
        lambda: fl.special(10**5000),
        fl.SourceError,
        ("no special token is a very large int",),
    ),
    Wrong(
        "a URI that no text can contain",
        lambda: fl.JsonSchema({}, resources={"\ud800": {}}),
        fl.SourceError,
        ("a resource's URI", "surrogate"),
    ),
    Wrong(
        "a reference to no URI",
        schema({"$id": "http://[", "items": {"$ref": "y"}}),
        fl.SourceError,
        ("/items/$ref", '"http://["', '"y"'),
    ),
    Wrong(
        "a vocabulary without tokens",
        lambda: fl.compile("yes", fl.Vocabulary([])),
        fl.ModelError,
        ("this one has none",),
    ),
    Wrong(
        "an absurd width",
        lambda: fl.Vocabulary([b"a"], width=10**12),
        fl.LimitError,
        ("width is 1000000000000", "up to 16777216"),
    ),
    Wrong("schema text that ends early", schema('{"type": '), fl.SourceError, ("line 1",)),
    Wrong(
        "a factor that leaves too many rests",
        schema({"properties": {"a": {"multipleOf": 998244353}}}),
        fl.UnsupportedError,
        ("998244353", "/properties/a/multipleOf"),
    ),
    Wrong(
        "bounds that exclude each other",
        schema({"type": "integer", "minimum": 5, "maximum": 3}),
        fl.UnsatisfiableError,
        ("minimum", "maximum"),
    ),
    Wrong(
        "a reference to nowhere", schema({"$ref": "#/$defs/no"}), fl.SourceError, ("#/$defs/no",)
    ),
    Wrong("a list for a source", compiled(["yes", "no"]), fl.SourceError, ("Choice",)),
    Wrong(
        "a dict instead of a source", compiled({"type": "null"}), fl.SourceError, ("JsonSchema",)
    ),
    Wrong(
        "a text that the tokens cannot spell",
        lambda: fl.compile("abc", LETTERS),
        fl.UnsatisfiableError,
        ("vocabulary", "abc"),
    ),
    Wrong(
        "a budget that is too small",
        lambda: fl.compile(fl.Regex("[0-9]{4}|[a-z]{3}"), BYTES, fl.Budget(fuel=3)),
        fl.LimitError,
        ("3 parts", "fairlead.Budget(fuel=...)"),
    ),
    Wrong("a token that is not allowed", rejected, fl.TokenRejected, ("token 110 (b'n')", "121")),
    Wrong("too few tokens", generated(max_new_tokens=2), fl.LimitError, ("3 tokens", "2")),
    Wrong("a share above one", generated(top_p=1.5), fl.LimitError, ("top_p", "1.5", "at most 1")),
    Wrong(
        "a setting with a typing error",
        generated(temprature=1.0),
        fl.UnsupportedError,
        ("temprature", "did you mean 'temperature'?"),
    ),
    Wrong(
        "a file that is not there",
        lambda: fl.load("./no.gguf"),
        fl.ModelError,
        ("no file", "no.gguf"),
    ),
    Wrong(
        "a missing model",
        lambda: fl.load("smollm2-135"),
        fl.ModelError,
        ("Did you mean 'smollm2-135m'?", "Tried:", "provide it by hand"),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_a_wrong_input_is_refused_with_its_place_and_what_is_allowed(case: Wrong) -> None:
    with pytest.raises(fl.FairleadError) as raised:
        case.attempt()
    assert type(raised.value) is case.error
    for said in case.said:
        assert said in str(raised.value)
    again = pickle.loads(pickle.dumps(raised.value))  # as it comes out of a worker process
    assert type(again) is case.error
    assert (str(again), vars(again)) == (str(raised.value), vars(raised.value))


@pytest.mark.parametrize("token", [10**5000, -1, "a", None, 1.5], ids=brief)
def test_what_is_no_token_is_rejected(token: Any) -> None:
    constraint = fl.compile(fl.Regex("ab"), LETTERS)
    with pytest.raises(fl.TokenRejected) as raised:
        constraint.advance(constraint.start(), token)
    assert len(str(raised.value)) <= 500


class Mute:
    """What cannot even be shown."""

    def __repr__(self) -> str:
        raise RuntimeError


DEEP: list[object] = []
for _ in range(100_000):
    DEEP = [DEEP]

ODD: dict[str, Any] = {
    "None": None,
    "NaN": float("nan"),
    "a fraction": 1.5,
    "a huge number": 10**30,
    "a number that Python does not write": -(10**5000),
    "True": True,
    "no text": "",
    "a long text": "x" * 5_000,
    "half of a surrogate pair": "\ud800",
    "a text with NUL": "a\0b",
    "bytes": b"x",
    "an empty list": [],
    "a list of nothing": [None],
    "a deep list": DEEP,
    "a list of what cannot be shown": [Mute()],
    "a dict of what cannot be shown": {"a": Mute()},
    "an array": np.array([1, 2]),
    "a number of numpy": np.int64(3),
    "a set": {1, "a"},
    "a complex number": 1j,
}


def weather(city: str) -> None:
    """The weather somewhere."""


def one_tool(**said: Any) -> Source:
    return fl.tools([said])


def some_regions(tag: Any, **said: Any) -> Source:
    return fl.regions(tag, **said)


TAG = fl.tag("<a>", int, "</a>")
READY: dict[Callable[..., Any], dict[str, Any]] = {
    fl.Regex: {"pattern": "a", "dialect": "python", "flags": ""},
    fl.Choice: {"options": ("a",)},
    fl.JsonSchema: {
        "schema": {},
        "key_order": "any",
        "whitespace": "any",
        "spelling": "any",
        "formats": "known",
        "resources": None,
    },
    fl.Whitespace: {"spaces": 1, "newline": True, "indent": 2},
    fl.Lark: {
        "text": 'start: "a"',
        "start": "start",
        "lexer": None,
        "postlex": None,
        "imports": None,
    },
    fl.Lark.open: {"path": "no.lark"},
    fl.Gbnf: {"text": 'root ::= "a"', "root": "root"},
    fl.grammar: {"name": "semver"},
    fl.repeat: {"item": "a", "low": 0, "high": 2},
    fl.source: {"value": "a"},
    fl.special: {"token": "<end>", "required": False},
    fl.substring: {"text": "a b", "cut": "words"},
    fl.until: {"include": True},
    fl.tag: {"begin": "a", "item": "b", "end": "c"},
    some_regions: {"tag": TAG, "at_least": 0, "at_most": None, "stop_after_first": False},
    fl.thinking: {"item": "a", "begin": "<a>", "end": "</a>"},
    fl.capture: {"name": "a", "item": "b"},
    fl.tools: {"given": (weather,), "format": "hermes", "choice": "auto", "parallel": True},
    one_tool: {"name": "a", "description": "b", "parameters": {}},
    fl.Budget: {"fuel": 1_000_000, "table_bytes": 1_000_000, "rows": 10},
    fl.Vocabulary: {
        "tokens": [b"a"],
        "eos_ids": (),
        "width": 1,
        "lead": b"",
        "special": {},
        "loss": "",
    },
    fl.Vocabulary.from_tokenizer_json: {"source": TOKENIZER, "eos": None, "width": None},
    fl.heal: {"tokens": (97,), "vocabulary": BYTES},
}
ARGUMENTS = [(make, name) for make, ready in READY.items() for name in ready]


@pytest.mark.parametrize(
    ("make", "argument"), ARGUMENTS, ids=[f"{make.__qualname__}-{name}" for make, name in ARGUMENTS]
)
def test_odd_arguments_work_or_are_refused_as_ours(make: Callable[..., Any], argument: str) -> None:
    for odd in ODD.values():
        refused = ""
        try:
            made = make(**{**READY[make], argument: odd})
            if isinstance(made, Source):
                fl.compile(made, BYTES)
            elif isinstance(made, fl.Vocabulary):
                fl.compile(fl.Regex("a*"), made)
        except fl.FairleadError as error:
            refused = str(error)
        assert len(refused) <= 500


if __name__ == "__main__":
    for case in CASES:
        try:
            case.attempt()
        except fl.FairleadError as error:
            sys.stdout.write(f"── {case.what}: {type(error).__name__}\n{error}\n\n")
