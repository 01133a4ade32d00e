"""A source in one argument of the command line.

    FILE.json              a JSON Schema, with the files beside it that $ref names
    FILE.gbnf              a grammar of llama.cpp
    FILE.lark              a Lark grammar, with the files beside it that it imports
    {"type": ...}          a JSON Schema as text
    module:Name            a name in a module: a Python type, a source, or a schema as a dict
    FILE.py:Name           a name in a Python file
    /PATTERN/flags         a regular expression, with any of the flags i, s, m, x, a
    NAME                   a shipped grammar, one of those that `guideway grammars` lists

A fault of the argument itself (no such file, no such name) is a usage error. A fault of the source
is a GuidewayError, as everywhere. A bare schema is read as `generate` reads it.
"""

import importlib
import importlib.util
import re
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Final, cast

import typer

from guideway.errors import GuidewayError

FORMS: Final = (
    "FILE.json, FILE.gbnf, FILE.lark, module:Name, FILE.py:Name, /REGEX/flags, the name of a "
    "shipped grammar, or a JSON Schema as text"
)
LOCATED: Final = re.compile(r"(?P<where>[^:]+):(?P<name>[A-Za-z_][\w.]*)")
PATTERN: Final = re.compile(r"/(?P<pattern>.*)/(?P<flags>[a-z]*)", re.DOTALL)


def read_source(written: str, resources: Path | None = None) -> Any:
    """The source or Python type that `written` names.

    `resources` is a file or folder for `$ref` in a schema, by default the folder of the schema's
    file.

    >>> read_source("/[0-9]{4}/i")
    Regex(pattern='[0-9]{4}', dialect='python', flags='i')
    >>> read_source("datetime:date")
    <class 'datetime.date'>
    """
    if written.lstrip().startswith("{"):
        return _schema(written, resources)
    if written.endswith(".json"):
        path = Path(written)
        return _schema(read_file(path), resources or path.parent)
    if resources is not None and not LOCATED.fullmatch(written):
        raise typer.BadParameter(f"--resources needs a JSON Schema as source, not {written!r}")
    if written.endswith((".gbnf", ".lark")):
        return _grammar(Path(written))
    if match := PATTERN.fullmatch(written):
        from guideway.sources.sources import Regex

        return Regex(match["pattern"], flags=match["flags"])
    if match := LOCATED.fullmatch(written):
        return _find(match["where"], match["name"], resources)
    from guideway.context_free.shipped import paths

    if written in paths():
        from guideway.context_free.shipped_sources import grammar

        return grammar(written)
    near = _near(written, list(paths()))
    raise typer.BadParameter(f"{written!r} is not a source{near}; write {FORMS}")


def _grammar(path: Path) -> object:
    from guideway.context_free.lark.source import Lark
    from guideway.sources.sources import Gbnf

    text = read_file(path)
    return Gbnf(text) if path.suffix == ".gbnf" else Lark(text, imports=path.parent)


def read_file(path: Path) -> str:
    """The text of a file in UTF-8, without a byte order mark."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        there = path.parent.iterdir() if path.parent.is_dir() else ()
        near = _near(path.name, [entry.name for entry in there])
        raise typer.BadParameter(f"there is no file {str(path)!r}{near}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"{str(path)!r} cannot be read: {error}") from None


def _schema(schema: Mapping[str, Any] | str, resources: Path | None) -> object:
    from guideway.json_schema.source import bare_schema

    given: Any = resources
    if resources is not None and not resources.is_dir():
        given = {resources.name: read_file(resources)}
    return bare_schema(schema, given)


def _find(where: str, name: str, resources: Path | None) -> object:
    value: object = _module(where)
    for part in name.split("."):
        if not hasattr(value, part):
            near = _near(part, [n for n in dir(value) if not n.startswith("_")])
            raise typer.BadParameter(f"{where!r} has no {name!r}{near}")
        value = getattr(value, part)
    if isinstance(value, Mapping):
        return _schema(cast("Mapping[str, Any]", value), resources)
    if resources is not None:
        raise typer.BadParameter(f"--resources needs a JSON Schema as source, not {where}:{name}")
    return value


def _module(where: str) -> ModuleType:
    if where.endswith(".py"):
        return _module_from_file(Path(where))
    if "" not in sys.path:
        sys.path.insert(0, "")  # modules of the current folder, as `python -m` finds them
    with _imported(where):
        return importlib.import_module(where)


def _module_from_file(path: Path) -> ModuleType:
    read_file(path)  # raises if there is no such file
    # The whole path is the module's name, so that a file json.py replaces no other module.
    spec = importlib.util.spec_from_file_location(path.as_posix(), path)
    if spec is None or spec.loader is None:
        raise typer.BadParameter(f"{str(path)!r} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.as_posix()] = module  # pydantic looks names of annotations up there
    with _imported(path.as_posix()):
        spec.loader.exec_module(module)
    return module


@contextmanager
def _imported(where: str) -> Generator[None]:
    """Turn anything that the user's module raises during its import into a usage error."""
    try:
        yield
    except GuidewayError:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001  the user's module may raise anything
        said = f"{type(error).__name__}: {error}"
        raise typer.BadParameter(f"{where!r} cannot be imported: {said}") from None


def _near(name: str, names: list[str]) -> str:
    from guideway.sources.names import did_you_mean

    return did_you_mean(name, names)
