"""The frozen corpora: sources of constraints, texts for each, and what an oracle says of the texts.

An item makes its source and its texts when it is judged, from its name and fixed seeds. The oracles
share no code with guideway: labels (MaskBench, the JSON Schema Test Suite, the shipped grammars),
`re`, `ast`, pydantic and Lark.
"""

import ast
import gzip
import json
import random
import re
import sysconfig
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import lark
from pydantic import TypeAdapter

import guideway as gw
import json_schema_suite
from lark_samples import ERRORS, by_chance, parsed, python_lark, short_strings
from random_types import Types
from tool_samples import CALLS, TOOLS, written
from type_oracle import is_read
from type_samples import TYPES

Texts: TypeAlias = list[tuple[str, bool]]
Made: TypeAlias = tuple[object, Texts]  # what `guideway.compile` takes, and texts with verdicts

GRAMMARS: Final = Path(__file__).parent.parent / "grammars"
FORMS: Final = (
    *("hermes", "qwen", "llama3", "llama3_python_tag", "qwen3_coder"),
    *("mistral", "mistral_v13", "harmony"),
)


@dataclass(frozen=True)
class Item:
    """A source with its texts.

    Attributes:
        kind: the corpus it belongs to.
        name: its own within that corpus.
        make: returns the source and the texts.
    """

    kind: str
    name: str
    make: Callable[[], Made]


def items(maskbench: Path | None = None) -> list[Item]:
    """The items of all corpora; those of MaskBench only if its file is given."""
    found = [
        *grammars(),
        *python_files(),
        *(Item("tools", form, partial(_tools, form)) for form in FORMS),
        *(Item("type", name, partial(_type, type_)) for name, type_ in TYPES.items()),
        *(Item("random type", str(seed), partial(_random_type, seed)) for seed in range(400)),
        *regexes(),
        *lark_grammars(),
        *suite(),
    ]
    if maskbench:  # lines of {"id", "schema", "tests": [{"data", "valid"}]}
        with gzip.open(maskbench, "rt", encoding="utf-8") as lines:
            cases = [json.loads(line) for line in lines]
        found += [Item("maskbench", case["id"], partial(_schema, case)) for case in cases]
    return found


def _schema(case: dict[str, Any]) -> Made:
    texts = [(json.dumps(t["data"], ensure_ascii=False), t["valid"]) for t in case["tests"]]
    return gw.JsonSchema(case["schema"]), texts


def suite() -> Iterator[Item]:
    """The groups of the JSON Schema Test Suite, with both key orders."""
    for part in json_schema_suite.parts():
        for number, group in enumerate(json_schema_suite.groups(part)):
            name = f"{part} {number} {group['description']}"
            yield Item("suite", name, partial(_group, part, group))


def _group(part: json_schema_suite.Part, group: dict[str, Any]) -> Made:
    texts = [(json.dumps(test["data"]), test["valid"]) for test in group["tests"]]
    return json_schema_suite.source(part, group["schema"]), texts


def grammars() -> Iterator[Item]:
    """The shipped grammars with the examples in their first lines."""
    for file in sorted(GRAMMARS.rglob("*.*")):
        if file.suffix in (".lark", ".gbnf"):
            name = file.relative_to(GRAMMARS).with_suffix("").as_posix()
            yield Item("grammar", name, partial(_grammar, name, file))


def _grammar(name: str, file: Path) -> Made:
    marks = str.maketrans({"↵": "\n", "␍": "\r", "⇥": "\t", "␠": " "})
    lines = re.findall(r"^(?:#|//) (accept|reject): ?(.*)$", file.read_text(), flags=re.MULTILINE)
    return gw.grammar(name), [(text.translate(marks), word == "accept") for word, text in lines]


def python_files(count: int = 30) -> Iterator[Item]:
    """Lark's grammar of Python over small files of the standard library, and a mutant of each."""
    files = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    files = [file for file in files if 500 < file.stat().st_size < 12_000]
    for file in files[:: len(files) // count]:
        yield Item("python", file.name, partial(_python_file, file))


def _python_file(file: Path) -> Made:
    text = file.read_text(encoding="utf-8")
    mutant = mutated(text, random.Random(file.name))
    source = gw.Lark.open(python_lark(), start="file_input")
    return source, [(each, _is_python(each)) for each in (text, mutant)]


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def _tools(form: str) -> Made:
    """Calls of tools in a format, and calls with a value that the type does not have."""
    text = written(form, CALLS[:1] if form == "harmony" else CALLS)
    return gw.tools(TOOLS, form), [(text, True), (text.replace("Rome", "Bern"), False)]


JSON: Final = (
    *("0", "1", "-1", "22", "-0.5", "1.50", "1e3", "1e-9", "123456789012345678901", "1000.25"),
    *("true", "false", "null", '""', '"a"', '"é"', '"red"', '"1"', '"-0.5"', '"NaN"', '"abc"'),
    *('"a b"', '" a "', '"ax"', '" x"', '"ab1-Z!"', '"2024-02-29"', '"2023-02-29"', '"2000-01-05"'),
    *('"23:59:59"', '"24:00:00"', '"2024-02-29T12:00:00"', '"2024-02-29T12:00:00Z"', '"P1DT2H"'),
    *('"PT1.5S"', '"f81d4fae-7dec-41d0-a765-00a0c91e6bf6"', '"6ba7b810-9dad-41d1-80b4-00c04fd4"'),
    *('"127.0.0.1"', '"127.0.0.256"', '"127.0.0.1/8"', '"::1"', '"::1/64"', '"https://a.b/c?d#e"'),
    *('"postgres://u:p@h:1/d"', '"mailto:a@b.c"', '"YWI="', '"YW-_"', '"6162"', '"616"', '"."'),
    *("[]", "[1]", "[1, 2]", "[1, 1]", '["a"]', '[1, "a"]', '[1, "a", 2]', "[true, false]"),
    *("[[1]]", "[null]", '["red"]', "{}", '{"a": 1}', '{"a": 1, "a": 2}', '{"1": true}'),
    *('{"0": null}', '{"-5": null}', '{"129": null}', '{"99": null}', '{"1.5": null}'),
    *('{"2024-02-29": null}', '{"x": true}', '{"null": true}', '{"true": true}', '{"a": true}'),
    *('{"depth": 1}', '{"depth": 1, "name": "n"}', '{"depth": 1, "name": ""}', '{"name": "n"}'),
    *('{"title": "t"}', '{"title": "t", "steps": [1]}', '{"title": "t", "steps": ["1"]}'),
    '{"name": "n", "age": 3, "home": {"street": "s", "zip": "12345"}}',
    '{"home": {"zip": "12345", "street": "s"}, "age": 3, "name": "n", "tags": ["t"], "work": null}',
    '{"name": "n", "age": 150, "home": {"street": "s", "zip": "12345"}}',
    '{"name": "n", "age": 3, "home": {"street": "s", "zip": "1234"}}',
    *('{"value": 1}', '{"value": 1, "children": [{"value": 2}], "left": {"value": 3}}'),
    *('{"value": 1, "children": [{}]}', '{"item": null}', '{"item": "2024-02-29"}', '{"item": 1}'),
    *('{"lives": 9}', '{"kind": "cat", "lives": 9}', '{"kind": "wolf"}', '{"kind": "cow"}'),
    *('{"kind": "dog", "friend": {"kind": "cat", "lives": 1}}', '[{"kind": "cat", "lives": 9}]'),
    *('{"Size": 1}', '{"size": 1, "more": 2}', '{"Size": 1, "more": "x"}', '{"query": "q"}'),
    *(
        '{"query": "q", "limit": 50, "language": "de", "since": null}',
        '{"query": "q", "limit": 51}',
    ),
    *('{"red": [{"kind": "cat", "lives": 9}]}', '{"blue": []}', '{"raw": "YWI=", "some": "YWI="}'),
    *('{"raw": "6162", "rest": ""}', '{"raw": "", "rest": ""}', '{"raw": "YWI=", "some": ""}'),
)
"""Texts for all of `TYPES`."""


def _type(type_: Any) -> Made:
    return type_, [(text, _is_read(type_, text)) for text in JSON]


def _is_read(type_: Any, text: str) -> bool:
    try:
        return is_read(type_, text)
    except AssertionError:  # pydantic has read the arguments and called the function
        return True


def _random_type(seed: int) -> Made:
    """A random nested type with values that pydantic wrote, and mutants of them."""
    random_ = Types(seed)
    type_, value = random_.any()
    texts: Texts = []
    for _ in range(3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pydantic guesses the member of a union
            text = TypeAdapter(type_).dump_json(value(), by_alias=True).decode()
        mutant = mutated(text, random_.chance)
        texts += [(each, is_read(type_, each)) for each in (text, mutant)]
    return type_, texts


PIECES: Final = {
    "a": "a", "b": "b", "ab": "ab", "é": "é", r"\n": "\n", ".": "b", r"\w": "k", r"\s": " ",
    r"\d": "1", r"\D": "b", r"\W": "-", "{": "{", "": "", "[ab]": "b", "[^a]": "😀", "[]b-]": "-",
    r"[\d_é-\U0001F600]": "_", "(?s:.)": "\n", "(?i:k)": "\u212a", "(?i:[a-s])": "ſ",
    r"(?a:\w)": "1",
}  # fmt: skip
"""Patterns, and a text that each matches."""
ASSERTIONS: Final = (
    *("^", "$", r"\b", r"\B", "(?m:^)", "(?m:$)", r"\Z"),
    *("(?=a)", "(?!ab)", "(?<=b)", "(?<!a)", r"(?=.*1)", "(?=[^b]*$)"),
)
SIGNS: Final = {
    "*": 2, "+": 1, "?": 0, "*?": 1, "{2}": 2, "{1,2}": 1, "{2,}": 3, "{,3}": 3, "{0}": 0, "??": 1,
}  # fmt: skip
CHARACTERS: Final = "ab\nk\u212aſé1_ 😀{-"


def regexes(count: int = 1500) -> Iterator[Item]:
    """Random patterns over texts that were made with them, mutants, and random texts."""
    for seed in range(count):
        yield Item("regex", str(seed), partial(_regex, seed))


def _regex(seed: int) -> Made:
    dice = random.Random(seed)
    pattern, text = _pattern(dice, 4)
    texts = [text, *(mutated(text, dice) for _ in range(8))]
    texts += ["".join(dice.choices(CHARACTERS, k=dice.randrange(5))) for _ in range(8)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # sets in sets, in the future
        compiled = re.compile(pattern)
    return gw.Regex(pattern), [(each, compiled.fullmatch(each) is not None) for each in texts]


def _pattern(dice: random.Random, depth: int) -> tuple[str, str]:
    """A pattern, and a text that it matches if its anchors allow it."""
    kind = dice.random()
    if kind < 0.04:
        return dice.choice(ASSERTIONS), ""
    if depth == 0 or kind < 0.2:
        return dice.choice(list(PIECES.items()))
    pattern, text = _pattern(dice, depth - 1)
    if kind < 0.4:
        sign, times = dice.choice(list(SIGNS.items()))
        return f"({pattern}){sign}", text * times
    other, behind = _pattern(dice, depth - 1)
    if kind < 0.6:
        return f"(?:{pattern}|{other})", dice.choice([text, behind])
    return pattern + other, text + behind


def mutated(text: str, dice: random.Random) -> str:
    """The text with a piece left out, doubled, moved or replaced."""
    at, length = dice.randrange(len(text) + 1), dice.choice([1, 1, 2, 5])
    piece, before, behind = text[at : at + length], text[:at], text[at + length :]
    to = dice.randrange(len(text) + 1)
    other = dice.choice([*CHARACTERS, *'0",:}]\\'])
    moved = text[:to] + piece + text[to:]
    return dice.choice(
        [before + behind, before + piece + piece + behind, before + other + behind, moved]
    )


def lark_grammars(count: int = 200) -> Iterator[Item]:
    """Random Lark grammars over all short strings, with both lexers."""
    for lexer in ("contextual", "dynamic"):
        for seed in range(count):
            yield Item(f"lark {lexer}", str(seed), partial(_lark_grammar, seed, lexer))


def _lark_grammar(seed: int, lexer: Literal["contextual", "dynamic"]) -> Made:
    text, letters, length = by_chance(seed), "abc", 4
    options: dict[str, Any] = {"parser": "lalr" if lexer == "contextual" else "earley"}
    try:
        right = parsed(lark.Lark(text, lexer=lexer, **options), letters, length)
    except (*ERRORS, RecursionError):
        right = set[str]()
    return gw.Lark(text, lexer=lexer), [(s, s in right) for s in short_strings(letters, length)]
