"""Shipped grammars by name; what a file says of itself is complete, as the README's table is."""

import re

import pytest

import guideway as gw
from guideway.context_free.lark.reader import read_lark
from guideway.context_free.lark.source import Lark
from guideway.context_free.shipped import folder, paths, read, shipped
from guideway.errors import SourceError

NAMES = list(paths())


def test_a_name_gives_a_source() -> None:
    source = gw.grammar("gbnf/json")
    assert isinstance(source, gw.Gbnf)
    assert source == gw.Gbnf((folder() / "gbnf" / "json.gbnf").read_text(encoding="utf-8"))


def test_a_grammar_in_lark_finds_those_that_it_imports() -> None:
    source = gw.grammar("json_lines")
    assert isinstance(source, Lark)
    assert [path for path, _ in source.files] == ["json.lark"]
    python = gw.grammar("python")
    assert isinstance(python, Lark)
    assert "file_input:" in dict(python.files)["python.lark"]


def test_any_grammar_may_import_a_shipped_one() -> None:
    tree = read_lark(Lark("start: value+\n%import guideway.json_lines.start -> value"))
    assert "guideway__json_lines__json__member" in tree.rules
    with pytest.raises(SourceError, match=r"did you mean 'guideway\.json'\?"):
        Lark("start: value\n%import guideway.jsn.value")


def test_a_wrong_name_lists_the_right_ones_with_a_near_one() -> None:
    with pytest.raises(SourceError) as raised:
        gw.grammar("semvers")
    assert "did you mean 'semver'?" in str(raised.value)
    listed = str(raised.value).partition("?: ")[2]
    assert listed.startswith("arithmetic cron csv ")
    assert listed.endswith("; gbnf/ arithmetic c chess english japanese json json_array list")
    assert all(name.rpartition("/")[2] in listed.replace(";", "").split() for name in NAMES)


def test_marks_stand_for_what_would_not_be_seen() -> None:
    one = read("x", "// T\n//\n// accept: a␠↵⇥b␍\n// reject:\n// reject: \\n\n\n// accept: no")
    assert one.title == "T"
    assert one.accepted == ("a \n\tb\r",)
    assert one.rejected == ("", "\\n")
    assert read("y", "# only\n# accept: a").accepted == ("a",)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_says_where_from_what_not_and_shows_texts(name: str) -> None:
    one = shipped(name)
    for said in ("Defined", "Left out", "Licence"):
        assert re.search(rf"^(#|//) {said}: \S", one.text, flags=re.MULTILINE), said
    assert len(one.accepted) >= 2
    assert len(one.rejected) >= 2
    assert not set(one.accepted) & set(one.rejected)
    assert max(map(len, one.text.splitlines())) <= 600


def test_the_readme_has_every_grammar_with_its_title() -> None:
    readme = (folder() / "README.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([\w/]+)` \| (.+?) \|", readme, flags=re.MULTILINE))
    assert rows == {name: shipped(name).title for name in NAMES}
