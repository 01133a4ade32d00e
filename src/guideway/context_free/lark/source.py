"""`Lark` sources: grammar texts and their imports."""

import re
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import InitVar, dataclass, field, replace
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from importlib.util import find_spec
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Final, Literal, TypeAlias, cast, get_args

from guideway.context_free.lark.errors import definition, within
from guideway.context_free.lark.extensions import Extended, Part, check_unmarked, extend
from guideway.context_free.lark.grammar import Indentation, LarkTerminal
from guideway.context_free.shipped import importable
from guideway.errors import LimitError, SourceError, UnsupportedError, brief
from guideway.sources.names import did_you_mean
from guideway.sources.reading import MARK, checked_path, describe_place, holds, read_file, where
from guideway.sources.sources import Source, check_option, check_text

Lexer: TypeAlias = Literal["contextual", "dynamic"]
Imports: TypeAlias = Mapping[str, str] | str | PathLike[str] | Iterable[str | PathLike[str]]

SUFFIX: Final = ".lark"
_IMPORT: Final = re.compile(
    r"(?:^|\{)[ \t]*%import[ \t]*(\.?)[ \t]*(\w+(?:[ \t]*\.[ \t]*\w+)*)[ \t]*(\()?", re.MULTILINE
)
_DOTTED: Final = re.compile(r"[A-Za-z_0-9]+(?:\.[A-Za-z_0-9]+)*\Z")
_MOST_FILES: Final = 256
_MADE_OF: Final = (
    "process", "_process", "handle_NL", "always_accept", "__init__",
)  # fmt: skip


@dataclass(frozen=True)
class Lark(Source[str]):
    """The texts that a Lark grammar parses, as Lark itself reads it.

    guideway extends Lark's notation by JSON Schemas (`%json`), special tokens and more
    (`context_free.lark.extensions`), and by terminals that may be empty
    (`context_free.lark.reader`).

    Example:
        >>> Lark('start: "a" start | "b"').lexer is None
        True
        >>> Lark('start: "x=" %json {"type": "integer"}').parts[0].source.text
        '{"type": "integer"}'

    Args:
        text: the grammar.
        start: the rule of whole texts. If the grammar has no rule `start`, the default is its rule
            `file_input`, as in Lark's own python.lark.
        lexer: "contextual" allows the texts that `lark.Lark(text, parser="lalr")` parses, with
            Lark's resolution of shift-reduce conflicts. "dynamic" allows the texts that
            `lark.Lark(text, parser="earley", lexer="dynamic")` parses, and takes any grammar. The
            default is "contextual" if Lark's LALR analysis accepts the grammar. If two rules
            collide, or a terminal refers to one of its groups by number, the default is "dynamic",
            as in Lark itself, unless the grammar has indentation.
        postlex: a `lark.indenter.Indenter`. By default, a grammar with `_NEWLINE` that declares
            `_INDENT` and `_DEDENT` gets Lark's `PythonIndenter`, or guideway's `ItemIndenter` if it
            has `_ITEM_INDENT` too.
        imports: the grammars for `%import`, in addition to those of the lark package: a dict of
            texts by name ("numbers", "parts.numbers"), a folder, or several folders.

    Attributes:
        indentation: the attributes of the Indenter.
        files: the imported grammars as (path, text).
        parts: the parts in guideway's own notation, in order.
        captures: the rules in `result.captures`, each with its name there.
        extended: the texts that Lark reads, by path; "" for the grammar itself.

    Raises:
        SourceError: an option is unknown, an imported grammar is missing, or an extension is not
            well formed.
        UnsupportedError: the postlex is not an Indenter, or has methods of its own; or guideway
            does not support an extension of another library.
    """

    text: str
    start: str = "start"
    lexer: Lexer | None = None
    postlex: InitVar[object] = None
    imports: InitVar["Imports | _Texts | None"] = None
    indentation: Indentation | None = field(init=False, default=None)
    files: tuple[tuple[str, str], ...] = field(init=False, default=())
    parts: tuple[Part, ...] = field(init=False, default=())
    captures: tuple[tuple[str, str], ...] = field(init=False, default=())
    extended: Mapping[str, Extended] = field(
        init=False, default_factory=dict[str, Extended], compare=False, repr=False
    )

    def __post_init__(self, postlex: object, imports: "Imports | _Texts | None") -> None:
        """Check the options, and read the imported grammars."""
        check_text(self.text, "a grammar")
        object.__setattr__(self, "text", self.text.removeprefix(MARK))
        check_text(self.start, "the name of a rule")
        if self.lexer is not None:
            check_option("lexer", self.lexer, get_args(Lexer))
        if postlex is not None:
            if self.lexer == "dynamic":
                raise SourceError("postlex needs lexer='contextual', not 'dynamic'")
            object.__setattr__(self, "indentation", read_indenter(postlex))
        texts = imports if isinstance(imports, _Texts) else _Texts(imports)
        object.__setattr__(self, "files", _imported(self.text, texts))
        self._extend()

    def _extend(self) -> None:
        """Find the parts in guideway's own notation."""
        read = {_name(path): text for path, text in self.files}

        def nested(text: str) -> Source:
            return Lark(text, lexer=self.lexer, imports=read)

        parts, extended = list[Part](), dict[str, Extended]()
        for path, text in (("", self.text), *self.files):
            found = extended[path] = extend(text, nested, path, len(parts))
            parts += found.parts
        for path, found in extended.items() if parts else ():
            check_unmarked(found, path)
        object.__setattr__(self, "parts", tuple(parts))
        object.__setattr__(self, "captures", extended[""].captures)
        object.__setattr__(self, "extended", extended)

    def with_parts(self, change: Callable[[Source], Source]) -> "Lark":
        """Return the grammar with `change` applied to each of its parts."""
        if not self.parts:
            return self
        found = copy(self)
        parts = list[Part]()
        for part in self.parts:
            with within(part):
                parts.append(replace(part, source=change(part.source)))
        object.__setattr__(found, "parts", tuple(parts))
        return found

    @staticmethod
    def open(
        path: str | PathLike[str],
        *,
        start: str = "start",
        lexer: Lexer | None = None,
        postlex: object = None,
        imports: Imports | None = None,
    ) -> "Lark":
        """Read the grammar in a file. The other arguments are those of `Lark`.

        Relative imports, as in `%import .numbers.INT`, are also searched in the folder of the file,
        as in Lark.

        Raises:
            SourceError: the file does not exist or is not a text, or `path` is not a path.
        """
        file = checked_path(path)
        text = read_file(file, "the grammar")
        return Lark(text, start, lexer, postlex, _Texts(imports, file.parent))


def read_indenter(postlex: object) -> Indentation:
    """Return the attributes of an Indenter, given as an object or a class.

    Raises:
        UnsupportedError: `postlex` is not an Indenter, or has methods of its own.
    """
    kind = postlex if isinstance(postlex, type) else type(postlex)
    base = next((c for c in kind.__mro__ if f"{c.__module__}.{c.__name__}" == _INDENTER), None)
    if base is None:
        raise UnsupportedError(
            f"postlex must be a lark.indenter.Indenter, not {kind.__name__}", feature="postlex"
        )
    known = next((c for c in kind.__mro__ if f"{c.__module__}.{c.__name__}" == _ITEMS), base)
    for name in (*_MADE_OF, *(("_with_blocks",) if known is not base else ())):
        if getattr(kind, name) is not getattr(known, name):
            raise UnsupportedError(
                f"{kind.__name__} overrides the method {name}; a postlex may change only the "
                "attributes of an Indenter",
                feature="postlex",
            )
    # Usually class attributes, but an object may have properties.
    given = postlex() if isinstance(postlex, type) else postlex
    layout = Indentation(
        newline=str(getattr(given, "NL_type")),  # noqa: B009  nothing is known of its type
        opening=frozenset(map(str, getattr(given, "OPEN_PAREN_types"))),  # noqa: B009
        closing=frozenset(map(str, getattr(given, "CLOSE_PAREN_types"))),  # noqa: B009
        indent=str(getattr(given, "INDENT_type")),  # noqa: B009
        dedent=str(getattr(given, "DEDENT_type")),  # noqa: B009
        tab=int(getattr(given, "tab_len")),  # noqa: B009
        items=frozenset(map(str, getattr(given, "ITEM_types") if known is not base else ())),  # noqa: B009
    )
    brackets = layout.opening | layout.closing
    for one, others, what in (
        ({layout.newline}, brackets, "the newline and a bracket"),
        (layout.items, brackets, "an item and a bracket"),
        (layout.items, {layout.newline}, "an item and the newline"),
    ):
        for name in sorted(one & others):
            raise UnsupportedError(f"{name} is {what} of {kind.__name__}", feature="postlex")
    return layout


_INDENTER: Final = "lark.indenter.Indenter"
_ITEMS: Final = "guideway.context_free.lark.indenter.ItemIndenter"


class _Texts:
    """Texts of imported grammars by path; `beside` is the folder for relative imports."""

    def __init__(self, imports: Imports | None, beside: Path | None = None) -> None:
        self._texts, self._folders, self._beside = dict[str, str](), list[Path](), beside
        if isinstance(imports, Mapping):
            for name, text in cast("Mapping[object, object]", imports).items():
                if not isinstance(name, str) or not _DOTTED.match(name):
                    raise SourceError(
                        f"the names in imports must be written as `a.b`, not {brief(name)}"
                    )
                check_text(text, f"the grammar {name!r}")
                self._texts[_path(name)] = str(text).removeprefix(MARK)
        elif imports is not None:
            if not isinstance(imports, str | PathLike | Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise SourceError(
                    f"imports must be folders, or a dict of texts by name, not {brief(imports)}"
                )
            listed = [imports] if isinstance(imports, str | PathLike) else list(imports)
            for folder in map(checked_path, listed):
                if not holds(folder.is_dir):
                    given = brief(str(folder))
                    raise SourceError(
                        f"imports must be folders, or a dict of texts by name; {given} is not a "
                        "folder"
                    )
                self._folders.append(folder)

    def find(self, path: str, *, relative: bool) -> str | None:
        """Text of a grammar by relative path, or None."""
        if path in self._texts:
            return self._texts[path]
        beside = [self._beside] if relative and self._beside is not None else []
        for folder in (*self._folders, *beside):
            if holds((folder / path).is_file):
                return read_file(folder / path, "the grammar")
        return _packaged().get(path)

    def names(self) -> list[str]:
        return [_name(path) for path in (*self._texts, *_packaged())]


def _imported(text: str, texts: _Texts) -> tuple[tuple[str, str], ...]:
    """The directly and indirectly imported texts."""
    found, todo = dict[str, str](), [("", text)]
    named = dict[str, set[str]]()
    while todo:
        importer, importing = todo.pop()
        folder = importer.rpartition("/")[0]
        for mentioned in _IMPORT.finditer(importing):
            relative, dotted, several = mentioned.groups()
            dotted = re.sub(r"[ \t]", "", dotted)
            name = dotted if several else dotted.rpartition(".")[0]
            if not name:
                continue  # Lark refuses this
            paths = [_path(name)]
            if relative and folder:
                paths.append(f"{folder}/{paths[0]}")
            again = next((path for path in paths if path in found), None)
            if again is not None:
                named.setdefault(importer, set()).add(again)
                continue
            path, part = _first_existing(paths, texts, relative=bool(relative))
            if part is None:
                raise _absent(name, texts, importing, mentioned.start(2), nested=bool(importer))
            found[path] = part
            named.setdefault(importer, set()).add(path)
            todo.append((path, part))
            if len(found) > _MOST_FILES:
                raise SourceError(f"the grammar imports more than {_MOST_FILES} others")
    _check_circles(named)
    return tuple(found.items())


def _check_circles(named: dict[str, set[str]]) -> None:
    """Refuse circular imports, on which Lark does not terminate."""
    try:
        TopologicalSorter(named).prepare()
    except CycleError as error:
        listed = ", ".join(sorted(map(_name, {*error.args[1]})))
        raise UnsupportedError(
            f"circular imports of grammars are not supported: {listed:.200}; move the rules that "
            "need each other into one grammar",
            feature="%import",
        ) from None


def _first_existing(paths: list[str], texts: _Texts, *, relative: bool) -> tuple[str, str | None]:
    for path in paths:
        text = texts.find(path, relative=relative)
        if text is not None:
            return path, text
    return paths[0], None


def _absent(name: str, texts: _Texts, importing: str, place: int, *, nested: bool) -> SourceError:
    return SourceError(
        f"there is no grammar {name!r} to import{did_you_mean(name, texts.names())}; "
        "imports= takes texts by name, or folders",
        **where(importing, place, "an imported grammar" if nested else ""),
    )


def _path(name: str) -> str:
    return name.replace(".", "/") + SUFFIX


def _name(path: str) -> str:
    return path.removesuffix(SUFFIX).replace("/", ".")


@lru_cache(maxsize=1)
def _packaged() -> Mapping[str, str]:
    """Grammars of the lark package by file name, found without importing it, and guideway's own."""
    found = find_spec("lark")
    folders = (found.submodule_search_locations or ()) if found is not None else ()
    files = [file for folder in folders for file in Path(folder, "grammars").glob("*" + SUFFIX)]
    ours = {f"guideway/{name}{SUFFIX}": text for name, text in importable().items()}
    return {file.name: read_file(file, "the grammar") for file in sorted(files)} | ours


@contextmanager
def regexes_placed(source: Lark, terminals: Iterable[LarkTerminal]) -> Generator[None]:
    """Give errors about the pattern of a terminal its place in the grammar."""
    try:
        yield
    except (UnsupportedError, LimitError) as error:
        about = next((each for each in terminals if each.pattern == error.text), None)
        found = None if about is None else _find_terminal(about, source)
        if found is None:
            raise
        said = str(error).partition("\n")[0]
        raise error.at(message=said, **where(*found)) from None


def place_of(terminal: LarkTerminal, source: Lark) -> str:
    """Place where a terminal is defined or occurs in a rule; "" if unknown."""
    found = _find_terminal(terminal, source)
    return "" if found is None else describe_place(*found)


def _find_terminal(about: LarkTerminal, source: Lark) -> tuple[str, int, str] | None:
    """Text of a grammar, the position of a terminal in it, and its path."""
    texts = {path: read.original for path, read in source.extended.items()}
    alias = re.search(rf"->[ \t]*{about.name}\b", source.text)  # of an import
    own = (("", found) for found in (definition(about.name, source.text), alias))
    defined = ((path, definition(about.name, text)) for path, text in texts.items())
    written = ((path, re.search(re.escape(about.written), text)) for path, text in texts.items())
    path, found = next((each for each in chain(own, defined, written) if each[1]), ("", None))
    return None if found is None else (texts[path], found.start(), path)
