"""A shipped grammar as a source."""

from guideway.context_free.lark.source import Lark
from guideway.context_free.shipped import importable, paths, shipped
from guideway.sources.sources import Gbnf, Source


def grammar(name: str) -> Source:
    """Return a shipped grammar as a source.

    Example:
        >>> grammar("semver").root
        'root'
        >>> grammar("semvar")
        Traceback (most recent call last):
        guideway.errors.SourceError: no grammar 'semvar'; did you mean 'semver'?: arithmetic...

    Args:
        name: the name; `guideway grammars` lists all.

    Raises:
        SourceError: the name is unknown; the message lists all.
    """
    return as_source(name, shipped(name).text)


def as_source(name: str, text: str) -> Source:
    """A text in the notation, and with the imports, of the shipped grammar `name`."""
    if paths()[name].suffix == ".gbnf":
        return Gbnf(text)
    # Not itself: python.lark means the one of the lark package.
    return Lark(text, imports={other: at for other, at in importable().items() if other != name})
