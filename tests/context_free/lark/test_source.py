r"""What a Lark source keeps: options, the texts that are imported, what an Indenter is told."""

import subprocess
import sys

import lark
import pytest
from lark.indenter import PythonIndenter

import guideway as gw
from guideway.context_free.lark.indenter import ItemIndenter
from guideway.context_free.lark.source import Lark
from guideway.errors import SourceError, UnsupportedError


def test_sources_are_equal_by_what_they_read(tmp_path):
    (tmp_path / "numbers.lark").write_text("N: /[0-9]+/\n")
    text = "start: N\n%import numbers.N"
    here = Lark(text, imports=tmp_path)
    assert here.files == (("numbers.lark", "N: /[0-9]+/\n"),)
    assert here == Lark(text, imports={"numbers": "N: /[0-9]+/\n"})
    assert hash(here) == hash(Lark(text, imports=[str(tmp_path.parent), tmp_path]))
    (tmp_path / "numbers.lark").write_text("N: /[0-7]+/\n")
    assert here != Lark(text, imports=tmp_path)


def test_imports_are_followed_from_where_they_stand(tmp_path):
    imports = {"a.b": "%import .c (X, Y)\n  %import common . WS", "a.c": "X: /x/\nY: /y/"}
    files = dict(Lark("start: X\n%import a.b.X\n%import a.c.Y", imports=imports).files)
    assert [*files] == ["a/b.lark", "a/c.lark", "common.lark"]
    found = Lark("start: X\n%import .b.X", imports={"b": "%import .c.Y", "c": 'Y: "y"'}).files
    assert len(found) == 2


def test_a_file_imports_what_is_beside_it_as_lark_does(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "digits.lark").write_text("%import .letters.B\nN: /[0-9]/ B\n")
    (tmp_path / "parts" / "letters.lark").write_text('B: "b"\n')
    grammar = tmp_path / "whole.lark"
    grammar.write_text("start: N+\n%import .parts.digits.N\n")
    parser, source = lark.Lark.open(str(grammar), parser="lalr"), Lark.open(grammar)
    assert [path for path, _ in source.files] == ["parts/digits.lark", "parts/letters.lark"]
    constraint = gw.compile(source, gw.Vocabulary([bytes([byte]) for byte in range(256)]))
    assert parser.parse("1b2b")
    assert constraint.matches("1b2b")
    assert not constraint.matches("1b2")
    grammar.write_text("start: N+\n%import parts.digits.N\n")
    with pytest.raises(OSError, match="parts"):
        lark.Lark.open(str(grammar), parser="lalr")
    with pytest.raises(SourceError, match=r"no grammar 'parts\.digits'"):
        Lark.open(grammar)
    assert len(Lark.open(grammar, imports=tmp_path).files) == 2


@pytest.mark.parametrize(("imports", "said"), [
    ({"b": "%import .b.Y"}, "circular imports of grammars are not supported: b; move the rules"),
    ({"b": "%import a.x", "a": "%import c.x\n%import d.x", "c": "%import b.y", "d": ""},
     "a, b, c;"),
])  # fmt: skip
def test_grammars_that_import_one_another_in_a_circle_are_refused(imports, said):
    with pytest.raises(UnsupportedError, match=said):
        Lark("start: X\n%import b.X", imports=imports)


def test_a_grammar_in_a_file(tmp_path):
    path = tmp_path / "g.lark"
    path.write_text('start: "a"\n')
    assert Lark.open(path) == Lark('start: "a"\n')
    assert Lark.open(str(path), start="b", lexer="dynamic").lexer == "dynamic"
    with pytest.raises(SourceError, match="cannot be read"):
        Lark.open(tmp_path / "none.lark")
    path.write_bytes(b"\xff")
    with pytest.raises(SourceError, match="cannot be read"):
        Lark.open(path)


@pytest.mark.parametrize(("given", "said"), [
    ({"lexer": "contextul"}, "one of 'contextual', 'dynamic'; did you mean 'contextual'"),
    ({"lexer": "dynamic", "postlex": PythonIndenter()}, "needs lexer='contextual'"),
    ({"imports": {"a/b": ""}}, "must be written as `a.b`, not 'a/b'"),
    ({"imports": {"a": 3}}, "the grammar 'a' must be a str"),
    ({"imports": "no-such-folder"}, "'no-such-folder' is not a folder"),
    ({"imports": "a" * 1000}, "must be folders, or a dict of texts by name; 'aaa"),
    ({"text": f"%import {'a' * 1000}.A", "imports": "."}, "there is no grammar 'aaa"),
    ({"text": 3}, "a grammar must be a str"),
    ({"start": None}, "the name of a rule must be a str"),
    ({"text": "%import comon.A"}, r"did you mean 'common'\?;.*line 1, column 9"),
    ({"text": "%import a.A", "imports": {"a": "\n%import b.B"}}, "an imported grammar, line 2"),
])  # fmt: skip
def test_what_is_wrong_is_said_when_the_source_is_made(given, said):
    with pytest.raises(SourceError, match=said):
        Lark(**{"text": 'start: "a"', **given})


def test_grammars_that_import_one_another_without_end_are_refused():
    chain = {f"g{i}": f"%import g{i + 1}.A" for i in range(300)}
    with pytest.raises(SourceError, match="more than 256 others"):
        Lark("start: A\n%import g0.A", imports=chain)


def test_an_indenter_is_what_it_is_told():
    class Tree(PythonIndenter):
        NL_type = "_NL"
        tab_len = 4

    for postlex in (Tree, Tree()):
        told = Lark("start: _NL", postlex=postlex).indentation
        assert (told.newline, told.indent, told.dedent) == ("_NL", "_INDENT", "_DEDENT")
        assert (told.tab, told.items) == (4, set())
        assert told.opening == {"LPAR", "LSQB", "LBRACE"}
        assert told.closing == {"RPAR", "RSQB", "RBRACE"}
    items = type("Items", (ItemIndenter,), {"ITEM_types": ["DASH"], "NL_type": "_NL"})
    told = Lark("start: _NL", postlex=items).indentation
    assert (told.newline, told.items) == ("_NL", {"DASH"})


def test_an_indenter_that_does_something_else_is_refused():
    class Own(PythonIndenter):
        def handle_NL(self, token):  # noqa: N802  Lark's name
            return iter(())

    with pytest.raises(UnsupportedError, match="Own overrides the method handle_NL"):
        Lark("start: _NL", postlex=Own())

    class Closing(PythonIndenter):
        CLOSE_PAREN_types = ("_NEWLINE",)

    with pytest.raises(UnsupportedError, match="_NEWLINE is the newline and a bracket of Closing"):
        Lark("start: _NL", postlex=Closing())
    for other in ("LPAR", "_NEWLINE"):
        items = type("Items", (ItemIndenter,), {"ITEM_types": ["DASH", other]})
        with pytest.raises(UnsupportedError, match=f"{other} is an item and .* of Items"):
            Lark("start: _NL", postlex=items)
    noted = type("Noted", (ItemIndenter,), {"_with_blocks": lambda indenter, stream: stream})
    with pytest.raises(UnsupportedError, match="Noted overrides the method _with_blocks"):
        Lark("start: _NL", postlex=noted)
    with pytest.raises(UnsupportedError, match=r"must be a lark\.indenter\.Indenter, not int"):
        Lark("start: _NL", postlex=3)


def test_lark_is_not_imported_for_a_source():
    code = (
        "import sys; from guideway.context_free.lark.source import Lark; "
        "Lark('%import common.A'); print('lark' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert out.stdout.strip() == "False"
