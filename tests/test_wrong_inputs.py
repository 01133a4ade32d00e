"""What people get wrong, and what they are told: the type of the error, and its message."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import guideway as gw
from guideway.errors import brief
from guideway.models.fake import FakeModel
from guideway.sources.sources import Source
from random_walks import BYTES
from small_tokenizers import byte_level

TOKENIZER = byte_level()
LETTERS = gw.Vocabulary([b"a", b"b", b"<end>"], eos_ids={2})


def compiled(source: object) -> Callable[[], object]:
    return lambda: gw.compile(source, BYTES)


def schema(value: dict[str, object] | str) -> Callable[[], object]:
    return lambda: gw.compile(gw.JsonSchema(value), BYTES)


def generated(**settings: Any) -> Callable[[], object]:
    return lambda: gw.Model(FakeModel.random(BYTES)).generate("?", "yes", **settings)


def rejected() -> object:
    constraint = gw.compile("yes", BYTES)
    return constraint.advance(constraint.start(), ord("n"))


# Something wrong, the error it gets, and what the message must mention.
CASES: list[tuple[str, Callable[[], object], type[gw.GuidewayError], tuple[str, ...]]] = [
    ("an open group", compiled(gw.Regex("(19|20")), gw.SourceError, ("(19|20", "^")),
    ("a type that does not exist", schema({"properties": {"age": {"type": "integr"}}}),
     gw.SourceError, ("/properties/age", "integr", "did you mean 'integer'?")),
    ("a special token that the vocabulary lacks", compiled("a" + gw.special("<en>")),
     gw.UnsupportedError, ("<en>", "did you mean '<end>'?")),
    ("a trigger behind another one",
     lambda: gw.regions(gw.tag("<tool>", int), gw.tag("tool", int)), gw.SourceError,
     ("'<tool>' never occurs", "'tool'")),
    ("a format of tools that nobody has", lambda: gw.tools([compiled], "mistrel"),
     gw.SourceError, ("mistrel", "did you mean 'mistral'?")),
    ("a beginning that no token spells", lambda: gw.compile("ab", LETTERS).start(b"a\xff"),
     gw.UnsatisfiableError, ("vocabulary", "b'a\\xff'", "0xff")),
    ("a URI that no text can contain", lambda: gw.JsonSchema({}, resources={"\ud800": {}}),
     gw.SourceError, ("a resource's URI", "surrogate")),
    ("a reference to no URI", schema({"$id": "http://[", "items": {"$ref": "y"}}),
     gw.SourceError, ("/items/$ref", '"http://["', '"y"')),
    ("a vocabulary without tokens", lambda: gw.compile("yes", gw.Vocabulary([])),
     gw.ModelError, ("vocabulary has no tokens",)),
    ("an absurd width", lambda: gw.Vocabulary([b"a"], width=10**12), gw.LimitError,
     ("not 1000000000000", "at most 16777216")),
    ("schema text that ends early", schema('{"type": '), gw.SourceError, ("line 1",)),
    ("a factor that leaves too many rests",
     schema({"properties": {"a": {"multipleOf": 998244353}}}), gw.UnsupportedError,
     ("998244353", "/properties/a/multipleOf")),
    ("bounds that exclude each other", schema({"type": "integer", "minimum": 5, "maximum": 3}),
     gw.UnsatisfiableError, ("minimum", "maximum")),
    ("a reference to nowhere", schema({"$ref": "#/$defs/no"}), gw.SourceError,
     ("#/$defs/no",)),
    ("a list for a source", compiled(["yes", "no"]), gw.SourceError, ("Choice",)),
    ("a dict instead of a source", compiled({"type": "null"}), gw.SourceError,
     ("JsonSchema",)),
    ("a text that the tokens cannot spell", lambda: gw.compile("abc", LETTERS),
     gw.UnsatisfiableError, ("vocabulary", "abc")),
    ("a budget that is too small",
     lambda: gw.compile(gw.Regex("[0-9]{4}|[a-z]{3}"), BYTES, gw.Budget(fuel=3)),
     gw.LimitError, ("3 parts", "guideway.Budget(fuel=...)")),
    ("a token that is not allowed", rejected, gw.TokenRejected, ("token 110 (b'n')", "121")),
    ("too few tokens", generated(max_new_tokens=2), gw.LimitError, ("3 tokens", "2")),
    ("a share above one", generated(top_p=1.5), gw.LimitError, ("top_p", "1.5", "at most 1")),
    ("a setting with a typing error", generated(temprature=1.0), gw.UnsupportedError,
     ("temprature", "did you mean 'temperature'?")),
    ("a file that is not there", lambda: gw.load("./no.gguf"), gw.ModelError,
     ("no file", "no.gguf")),
    ("a missing model", lambda: gw.load("smollm2-135"), gw.ModelError,
     ("did you mean 'smollm2-135m'?", "Tried:", "provide it by hand")),
]  # fmt: skip


@pytest.mark.parametrize(("attempt", "error", "said"), [each[1:] for each in CASES],
                         ids=[each[0] for each in CASES])  # fmt: skip
def test_a_wrong_input_is_refused_with_its_place_and_what_is_allowed(
    attempt: Callable[[], object], error: type[gw.GuidewayError], said: tuple[str, ...]
) -> None:
    with pytest.raises(gw.GuidewayError) as raised:
        attempt()
    assert type(raised.value) is error
    for part in said:
        assert part in str(raised.value)
    again = pickle.loads(pickle.dumps(raised.value))  # as it comes out of a worker process
    assert type(again) is error
    assert (str(again), vars(again)) == (str(raised.value), vars(raised.value))


@pytest.mark.parametrize("token", [10**5000, -1, "a", None, 1.5], ids=brief)
def test_what_is_no_token_is_rejected(token: Any) -> None:
    constraint = gw.compile(gw.Regex("ab"), LETTERS)
    with pytest.raises(gw.TokenRejected) as raised:
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
    return gw.tools([said])


def some_regions(tag: Any, **said: Any) -> Source:
    return gw.regions(tag, **said)


TAG = gw.tag("<a>", int, "</a>")
READY: dict[Callable[..., Any], dict[str, Any]] = {
    gw.Regex: {"pattern": "a", "dialect": "python", "flags": ""},
    gw.Choice: {"options": ("a",)},
    gw.JsonSchema: {"schema": {}, "key_order": "any", "whitespace": "any", "spelling": "any",
                    "formats": "known", "resources": None},
    gw.Whitespace: {"spaces": 1, "newline": True, "indent": 2},
    gw.Lark: {"text": 'start: "a"', "start": "start", "lexer": None, "postlex": None,
              "imports": None},
    gw.Lark.open: {"path": "no.lark"},
    gw.Gbnf: {"text": 'root ::= "a"', "root": "root"},
    gw.grammar: {"name": "semver"},
    gw.repeat: {"item": "a", "low": 0, "high": 2},
    gw.source: {"value": "a"},
    gw.special: {"token": "<end>", "required": False},
    gw.substring: {"text": "a b", "cut": "words"},
    gw.until: {"include": True},
    gw.tag: {"begin": "a", "item": "b", "end": "c"},
    some_regions: {"tag": TAG, "at_least": 0, "at_most": None, "stop_after_first": False},
    gw.thinking: {"item": "a", "begin": "<a>", "end": "</a>"},
    gw.capture: {"name": "a", "item": "b"},
    gw.tools: {"given": (weather,), "format": "hermes", "choice": "auto", "parallel": True},
    one_tool: {"name": "a", "description": "b", "parameters": {}},
    gw.Budget: {"fuel": 1_000_000, "table_bytes": 1_000_000, "rows": 10},
    gw.Vocabulary: {"tokens": [b"a"], "eos_ids": (), "width": 1, "lead": b"", "special": {},
                    "loss": ""},
    gw.Vocabulary.from_tokenizer_json: {"source": TOKENIZER, "eos": None, "width": None},
    gw.heal: {"tokens": (97,), "vocabulary": BYTES},
}  # fmt: skip
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
                gw.compile(made, BYTES)
            elif isinstance(made, gw.Vocabulary):
                gw.compile(gw.Regex("a*"), made)
        except gw.GuidewayError as error:
            refused = str(error)
        assert len(refused) <= 500
