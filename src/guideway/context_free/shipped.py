"""Grammars shipped with guideway, by name.

They are in `grammars/` of a checkout, or in `guideway/grammars` of an installation. A name is the
path there without its ending: "sql", "gbnf/json". A file begins with comments:

    # What a text is, in one line
    #
    # Defined: where the language is defined
    # Left out: what of it is left out
    # Licence: ...
    #
    # accept: a text of the language, to the end of the line
    # reject: one that is not

In these examples ↵ is a line feed, ␍ a carriage return, ⇥ a tab, and ␠ a space that one would not
see.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from guideway.errors import SourceError, brief
from guideway.sources.names import did_you_mean

SUFFIXES: Final = (".lark", ".gbnf")
MARKS: Final = str.maketrans({"↵": "\n", "␍": "\r", "⇥": "\t", "␠": " "})
COMMENT: Final = re.compile(r"(?:#|//) ?(.*)")
EXAMPLE: Final = re.compile(r"(accept|reject): ?(.*)")


@dataclass(frozen=True, slots=True)
class Shipped:
    """A shipped grammar: name, one-line title, text of the file, and examples."""

    name: str
    title: str
    text: str
    accepted: tuple[str, ...]
    rejected: tuple[str, ...]


def shipped(name: str) -> Shipped:
    """The grammar `name`; unknown names are refused."""
    path = paths().get(name) if isinstance(name, str) else None  # pyright: ignore[reportUnnecessaryIsInstance]
    if path is None:
        meant = did_you_mean(name, paths())
        raise SourceError(f"no grammar {brief(name)}{meant}: {_all_names()}")
    return read(name, path.read_text(encoding="utf-8"))


def read(name: str, text: str) -> Shipped:
    r"""Read the comments at the beginning of a file.

    >>> read("x", "# Two letters\n#\n# accept: a b↵\n# reject:\n\nroot ::= [a-z]").accepted
    ('a b\n',)
    """
    lines: list[str] = []
    for line in text.splitlines():
        if not (comment := COMMENT.fullmatch(line)):
            break
        lines.append(comment[1])
    examples: dict[str, list[str]] = {"accept": [], "reject": []}
    for line in lines:
        if example := EXAMPLE.fullmatch(line):
            examples[example[1]].append(example[2].translate(MARKS))
    return Shipped(name, lines[0], text, tuple(examples["accept"]), tuple(examples["reject"]))


def _all_names() -> str:
    """All names, in a short form for an error."""
    folders = dict[str, list[str]]()
    for name in paths():
        at, _, last = name.rpartition("/")
        folders.setdefault(at, []).append(last)
    return "; ".join(
        f"{at}/ {' '.join(names)}" if at else " ".join(names) for at, names in folders.items()
    )


@cache
def paths() -> dict[str, Path]:
    """Files of the grammars by name, those at the top first."""
    found = [path for path in folder().rglob("*.*") if path.suffix in SUFFIXES]
    names = {path.relative_to(folder()).with_suffix("").as_posix(): path for path in found}
    return {name: names[name] for name in sorted(names, key=lambda name: ("/" in name, name))}


@cache
def importable() -> Mapping[str, str]:
    """Texts of the Lark grammars, which grammars may import, by name."""
    listed = {name: path for name, path in paths().items() if path.suffix == ".lark"}
    return {name: path.read_text(encoding="utf-8") for name, path in listed.items()}


def folder() -> Path:
    """The folder of the grammars: in the installed package, or in the checkout."""
    here = Path(__file__).parents
    return next(at for at in (here[1] / "grammars", here[3] / "grammars") if at.is_dir())
