"""What people get wrong, and what they are told: the type of the error, and its message.

`python tests/test_wrong_inputs.py` prints all of them.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import fairlead as fl
from fairlead.engine.fake import FakeModel

BYTES = fl.Vocabulary([bytes([b]) for b in range(256)] + [b"<end>"], eos_ids={256})
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


if __name__ == "__main__":
    for case in CASES:
        try:
            case.attempt()
        except fl.FairleadError as error:
            sys.stdout.write(f"── {case.what}: {type(error).__name__}\n{error}\n\n")
