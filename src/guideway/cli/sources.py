"""A source in one argument of the command line.

    FILE.json              a JSON Schema in a file
    FILE.gbnf              a grammar of llama.cpp in a file
    FILE.lark              a Lark grammar in a file, and those beside it that it imports
    {"type": ...}          a JSON Schema
    module:Name            what Name is in a module: a Python type, a source, or a schema as a dict
    FILE.py:Name           the same, in a file
    /PATTERN/flags         a regular expression, with any of the flags i, s, m, x, a
    NAME                   a shipped grammar, of those that `guideway grammars` lists

What is wrong with the argument itself (no such file, no such name) is a usage error; what is wrong
with the source is a GuidewayError, as everywhere. Bare schemas are read as `generate` reads them:
keys in declared order, whitespace and spelling as people write JSON.
"""

import importlib
import importlib.util
import re
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import typer

from guideway.errors import GuidewayError

FORMS: Final = (
    "FILE.json, FILE.gbnf, FILE.lark, module:Name, FILE.py:Name, /REGEX/flags, a shipped "
    "grammar's name, or a JSON Schema as text"
)
LOCATED: Final = re.compile(r"(?P<where>[^:]+):(?P<name>[A-Za-z_][\w.]*)")
PATTERN: Final = re.compile(r"/(?P<pattern>.*)/(?P<flags>[a-z]*)", re.DOTALL)


def read_source(written: str) -> Any:
    """The source or Python type that `written` names.

    >>> read_source("/[0-9]{4}/i")
    Regex(pattern='[0-9]{4}', dialect='python', flags='i')
    >>> read_source("datetime:date")
    <class 'datetime.date'>

    Raises:
        typer.BadParameter: it has none of the forms, or names something that is not there.
    """
    if written.lstrip().startswith("{"):
        return _schema(written)
    if written.endswith(".json"):
        return _schema(read_file(Path(written)))
    if written.endswith((".gbnf", ".lark")):
        return _grammar(Path(written))
    if match := PATTERN.fullmatch(written):
        from guideway.syntax.sources import Regex

        return Regex(match["pattern"], flags=match["flags"])
    if match := LOCATED.fullmatch(written):
        return _find(match["where"], match["name"])
    from guideway.syntax.shipped import paths

    if written in paths():
        from guideway.syntax.shipped_sources import grammar

        return grammar(written)
    near = _near(written, list(paths()))
    raise typer.BadParameter(f"{written!r} names no source{near}; write {FORMS}")


def _grammar(path: Path) -> object:
    from guideway.syntax.lark_source import Lark
    from guideway.syntax.sources import Gbnf

    text = read_file(path)
    return Gbnf(text) if path.suffix == ".gbnf" else Lark(text, imports=path.parent)


def read_file(path: Path) -> str:
    """The text of a file.

    Raises:
        typer.BadParameter: there is none, or it is no UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        near = _near(path.name, _names_in(path.parent))
        raise typer.BadParameter(f"there is no file {str(path)!r}{near}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"{str(path)!r} cannot be read: {error}") from None


def _schema(schema: Mapping[str, Any] | str) -> object:
    from guideway.syntax.json_schema_source import JsonSchema

    return JsonSchema(schema, key_order="declared", whitespace="natural", spelling="plain")


def _find(where: str, name: str) -> object:
    value: object = _module(where)
    for part in name.split("."):
        if not hasattr(value, part):
            near = _near(part, [n for n in dir(value) if not n.startswith("_")])
            raise typer.BadParameter(f"{where!r} has no {name!r}{near}")
        value = getattr(value, part)
    return _schema(value) if isinstance(value, Mapping) else value  # pyright: ignore[reportUnknownArgumentType]


def _module(where: str) -> ModuleType:
    if where.endswith(".py"):
        return _module_from_file(Path(where))
    if "" not in sys.path:
        sys.path.insert(0, "")  # modules of the current folder, as `python -m` finds them
    with _imported(where):
        return importlib.import_module(where)


def _module_from_file(path: Path) -> ModuleType:
    read_file(path)  # refuses what is not there
    # Its whole path is its name, so that a file called json.py takes nobody's place.
    spec = importlib.util.spec_from_file_location(path.as_posix(), path)
    if spec is None or spec.loader is None:
        raise typer.BadParameter(f"{str(path)!r} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.as_posix()] = module  # where pydantic looks for the names in annotations
    with _imported(path.as_posix()):
        spec.loader.exec_module(module)
    return module


@contextmanager
def _imported(where: str) -> Generator[None]:
    """A module being imported: it is the user's and may raise anything, which is a usage error."""
    try:
        yield
    except GuidewayError:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001  see above
        said = f"{type(error).__name__}: {error}"
        raise typer.BadParameter(f"{where!r} cannot be imported: {said}") from None


def _names_in(folder: Path) -> list[str]:
    return [entry.name for entry in folder.iterdir()] if folder.is_dir() else []


def _near(name: str, names: list[str]) -> str:
    from guideway.syntax.names import did_you_mean

    return did_you_mean(name, names)
