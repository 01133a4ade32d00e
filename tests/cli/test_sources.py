"""A source in one argument: each form, and what is said about arguments that have none."""

import sys
from datetime import date
from pathlib import Path

import pytest
import typer

import guideway as gw
from guideway.cli.sources import read_file, read_source
from guideway.context_free.lark.source import Lark
from guideway.context_free.shipped_sources import grammar
from guideway.errors import SourceError
from guideway.json_schema.source import JsonSchema
from guideway.sources.sources import Gbnf, Regex

SCHEMA = '{"type": "integer"}'
BYTES = gw.Vocabulary([bytes([byte]) for byte in range(256)])
MODULE = """
from pydantic import BaseModel

class Person(BaseModel):
    friend: "Person | None" = None

class Outer:
    Inner = int

SCHEMA = {"type": "integer"}
"""


@pytest.mark.parametrize(
    ("written", "pattern", "flags"),
    [("/a|b/", "a|b", ""), ("/a/b/", "a/b", ""), ("/a/i", "a", "i"), ("/a\nb/xm", "a\nb", "xm")],
)
def test_slashes_are_a_regex_with_flags(written: str, pattern: str, flags: str) -> None:
    assert read_source(written) == Regex(pattern, flags=flags)


def test_a_json_file_a_json_text_and_a_dict_are_the_same_schema(tmp_path: Path) -> None:
    file, module = tmp_path / "schema.json", tmp_path / "schemas.py"
    file.write_bytes(b"\xef\xbb\xbf" + SCHEMA.encode())  # a byte order mark is skipped
    module.write_text(MODULE, encoding="utf-8")
    from_file = read_source(str(file))
    assert isinstance(from_file, JsonSchema)
    assert from_file.key_order == "declared"
    assert from_file == read_source(SCHEMA)
    assert isinstance(read_source(f"{module}:SCHEMA"), JsonSchema)


def test_a_schema_finds_the_files_that_it_refers_to(tmp_path: Path) -> None:
    part, whole = tmp_path / "parts" / "part.json", tmp_path / "whole.json"
    part.parent.mkdir()
    part.write_text('{"$id": "https://example.org/part", "type": "integer"}', encoding="utf-8")
    named = '{"properties": {"a": {"$ref": "https://example.org/part"}}, "required": ["a"]}'
    schemas = {
        '{"properties": {"a": {"$ref": "parts/part.json"}}, "required": ["a"]}': tmp_path,
        '{"properties": {"a": {"$ref": "part.json"}}, "required": ["a"]}': part,
        named: part.parent,
    }
    for text, resources in schemas.items():
        constraint = gw.compile(read_source(text, resources), BYTES)
        assert constraint.matches('{"a": 1}')
        assert not constraint.matches('{"a": "1"}')
        with pytest.raises(gw.GuidewayError, match="part"):
            gw.compile(read_source(text), BYTES)
    whole.write_text(named, encoding="utf-8")
    assert read_source(str(whole)) == read_source(named, tmp_path)
    module = tmp_path / "schemas_with_references.py"
    module.write_text(f"SCHEMA = {named}", encoding="utf-8")
    assert read_source(f"{module}:SCHEMA", tmp_path).resource_texts


@pytest.mark.parametrize("written", ["/a/", "semver", "datetime:date"])
def test_resources_are_for_schemas(written: str, tmp_path: Path) -> None:
    with pytest.raises(typer.BadParameter, match="--resources needs a JSON Schema"):
        read_source(written, tmp_path)
    with pytest.raises(typer.BadParameter, match="there is no file"):
        read_source("{}", tmp_path / "none")


def test_files_are_what_their_names_end_with(tmp_path: Path) -> None:
    file = tmp_path / "letters.gbnf"
    file.write_text("root ::= [a-z]+", encoding="utf-8")
    assert read_source(str(file)) == Gbnf("root ::= [a-z]+")
    (tmp_path / "numbers.lark").write_text("N: /[0-9]+/", encoding="utf-8")
    file = tmp_path / "list.lark"
    file.write_text('start: N ("," N)*\n%import .numbers.N', encoding="utf-8")
    assert read_source(str(file)) == Lark.open(file, imports=tmp_path)
    assert read_source("gbnf/json") == grammar("gbnf/json")


def test_a_name_in_a_module_or_a_file_is_what_it_names(tmp_path: Path) -> None:
    file = tmp_path / "json.py"  # the standard library's own json must survive this
    file.write_text(MODULE, encoding="utf-8")
    assert read_source("datetime:date") is date
    person = read_source(f"{file}:Person")
    assert isinstance(person, type)
    assert person.__name__ == "Person"
    assert read_source(f"{file}:Outer.Inner") is int
    assert read_source("json:JSONDecoder").__module__ == "json.decoder"


def test_a_module_of_the_current_folder_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kinds_of_here.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [folder for folder in sys.path if folder])
    assert isinstance(read_source("kinds_of_here:Person"), type)


@pytest.mark.parametrize(("written", "said"), [
    ("nonsense", "'nonsense' is not a source; write FILE.json, FILE.gbnf, FILE.lark"),
    ("semvr", "'semvr' is not a source; did you mean 'semver'?; write FILE.json"),
    ("missing.json", "there is no file 'missing.json'"),
    ("missing.py:Person", "there is no file 'missing.py'"),
    ("no_such_module:Person", "No module named 'no_such_module'"),
    ("datetime:dat", "'datetime' has no 'dat'; did you mean 'date'?"),
])  # fmt: skip
def test_an_argument_that_names_nothing_is_a_usage_error(written: str, said: str) -> None:
    with pytest.raises(typer.BadParameter) as raised:
        read_source(written)
    assert said in str(raised.value)


def test_a_file_that_is_missing_or_no_text_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "person.json").write_bytes(b"\xff")
    with pytest.raises(typer.BadParameter, match=r"did you mean 'person\.json'\?"):
        read_file(tmp_path / "persn.json")
    with pytest.raises(typer.BadParameter, match="cannot be read"):
        read_file(tmp_path / "person.json")
    with pytest.raises(typer.BadParameter, match="cannot be read"):
        read_file(tmp_path)


@pytest.mark.parametrize(
    "code", ["class A(", "raise RuntimeError('no')", "import not_there", "raise SystemExit(7)"]
)
def test_a_file_that_cannot_be_imported_is_a_usage_error(tmp_path: Path, code: str) -> None:
    path = tmp_path / "broken_module.py"
    path.write_text(code, encoding="utf-8")
    for module in (path, ".here"):
        with pytest.raises(typer.BadParameter, match="cannot be imported"):
            read_source(f"{module}:A")


def test_what_is_wrong_with_a_source_in_a_file_is_told_as_everywhere(tmp_path: Path) -> None:
    path = tmp_path / "wrong.py"
    path.write_text("import guideway\nA = guideway.Choice([])\n", encoding="utf-8")
    with pytest.raises(SourceError):
        read_source(f"{path}:A")
