"""A byte order mark before a source is skipped, as `utf-8-sig` skips it."""

import json

import pytest

import guideway as gw
from guideway.json_schema.source import JsonSchema

MARK = "\ufeff"
SCHEMA = '{"enum": ["é", 1]}'
GBNF, LARK = 'root ::= "é"', 'start: "é"'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_bytes_are_decoded_as_json_does_it(encoding):
    content = SCHEMA.encode(encoding)
    assert JsonSchema(content) == JsonSchema(SCHEMA)
    assert JsonSchema(content).value == json.loads(content)


def test_a_mark_before_a_source_or_a_file_is_no_part_of_it(tmp_path):
    makes = [
        (JsonSchema, SCHEMA), (gw.Gbnf, GBNF), (gw.Lark, LARK),
        (lambda text: JsonSchema({}, resources={"a": text}), SCHEMA),
        (lambda text: gw.Lark("start: X\n%import a.X", imports={"a": text}), "X: /é/"),
    ]  # fmt: skip
    for make, text in makes:
        assert make(MARK + text) == make(text)
    for name, text in (("a.json", SCHEMA), ("a.lark", LARK)):
        (tmp_path / name).write_text(text, encoding="utf-8-sig")
    assert JsonSchema.open(tmp_path / "a.json") == JsonSchema(SCHEMA)
    assert gw.Lark.open(tmp_path / "a.lark") == gw.Lark(LARK)
    (tmp_path / "start.lark").write_text("start: start_\n%import .a.start -> start_")
    assert gw.Lark.open(tmp_path / "start.lark").files == (("a.lark", LARK),)


def test_a_mark_within_a_text_is_a_character():
    assert gw.Regex(MARK).pattern == gw.source(MARK).text == MARK
    for build in (JsonSchema, gw.Gbnf):
        with pytest.raises(gw.SourceError):
            gw.compile(build(MARK * 2 + "{}"), gw.Vocabulary([b"a", b"{", b"}"]))


@pytest.mark.parametrize("content", [b'"\xff"', b"\xff\xfe\x00\xd8"])
def test_bytes_in_no_encoding_are_refused(content):
    with pytest.raises(gw.SourceError, match="a schema cannot be decoded"):
        JsonSchema(content)
