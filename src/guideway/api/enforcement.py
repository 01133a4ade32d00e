"""List the parts of a source and how each is enforced.

    /type                    exact       only values of these types can start
    /properties/a/maxLength  exact       characters are counted
    /properties/a/title      annotation  does not restrict values

Parts are keywords of JSON Schema (for a Python type, of its schema), constructs of a regular
expression, or parts of a combination, numbered from 0.
"""

from collections.abc import Iterator

from guideway.api.enforced import Enforced
from guideway.api.enforced_keywords import schema_keywords
from guideway.syntax.gbnf import Grammar, parse_gbnf
from guideway.syntax.json_schema_source import JsonSchema
from guideway.syntax.lark_errors import LarkGrammar
from guideway.syntax.lark_reader import read_lark
from guideway.syntax.lark_source import Lark
from guideway.syntax.python_types import type_source
from guideway.syntax.regex import parse_regex
from guideway.syntax.regex_tree import (
    Alternation,
    Anchor,
    Back,
    Boundary,
    Look,
    Node,
    Pattern,
    Repeat,
    children,
)
from guideway.syntax.regions import Regions, Tag, Thinking, Until
from guideway.syntax.sources import (
    Both,
    Choice,
    Either,
    Gbnf,
    Inverse,
    Literal,
    PythonType,
    Regex,
    Repetition,
    Sequence,
    Source,
    Text,
)
from guideway.syntax.special import Others, Special
from guideway.syntax.tools import Tools
from guideway.syntax.written import parts_of


def enforcement(source: Source) -> Iterator[Enforced]:
    r"""The parts of a source, outer ones first, and how each is enforced.

    >>> for found in enforcement(Regex("(?=a)[a-z]{2,5}")):
    ...     print(found.place, found.part, "-", found.how)
    character 1 (?=...) - its automaton meets that of what follows
    character 6 {2,5} - 2 to 5 times, counted
    """
    todo = [("", source)]
    while todo:
        place, given = todo.pop()
        match given:
            case JsonSchema():
                yield from _placed(place, schema_keywords(given))
            case PythonType():
                yield from _placed(place, schema_keywords(type_source(given)))
            case Regex(pattern, dialect, flags):
                yield from _placed(place, _constructs(parse_regex(pattern, dialect, flags)))
            case Gbnf(text, root):
                yield from _placed(place, _rules(parse_gbnf(text, root)))
            case Lark():
                yield from _placed(place, _symbols(read_lark(given)))
            case _:
                yield Enforced(place, type(given).__name__, "exact", _how(given))
                inner = enumerate(parts_of(given))
                todo.extend(reversed([(f"{place}/{n}", part) for n, part in inner]))


def _placed(place: str, found: Iterator[Enforced]) -> Iterator[Enforced]:
    """The parts of a source that is itself the part `place`."""
    for one in found:
        inner = f"{place}: {one.place}" if place else one.place
        yield Enforced(inner, one.part, one.standing, one.how)


def _how(given: Source) -> str:  # noqa: PLR0911  an arm for each kind of source
    match given:
        case Choice(options):
            return f"a trie of {len(options)} texts"
        case Literal(text):
            return f"exactly its {len(text.encode())} bytes"
        case Sequence(parts):
            return f"{len(parts)} parts, one after the other"
        case Either(parts):
            return f"any of {len(parts)} parts; shared parts are followed once"
        case Both(parts):
            return f"the meet of {len(parts)} automata"
        case Inverse():
            return "valid UTF-8 that the automaton does not accept"
        case Repetition(_, low, high):
            return _times(low, high)
        case Text():
            return "any valid UTF-8"
        case _:
            return _how_placed(given)


def _how_placed(given: Source) -> str:  # noqa: PLR0911  an arm for each kind of source
    match given:
        case Special(token):
            return f"the id of {token}, and no text"
        case Others():
            return "free text, and the ids of other special tokens"
        case Until(_, include):
            return "free text up to the first stop" if include else "free text without the stops"
        case Tag():
            return "its parts in a row; after its trigger, in free text"
        case Regions(tags, low, high):
            return f"free text without triggers; {_times(low, high)} one of {len(tags)} tags"
        case Thinking():
            return "free text between two marks, then its item"
        case Tools(tools, form, choice):
            return f"replies in the format {form}, {len(tools)} tools, choice {choice}"
        case _:
            return "its item, found again in the finished text"


def _rules(grammar: Grammar) -> Iterator[Enforced]:
    """The rules of a grammar, without its groups."""
    for name, alternatives in grammar.rules.items():
        if name not in grammar.groups:
            how = f"{len(alternatives)} alternatives; shared parts are followed once"
            yield Enforced(f"rule {name}", "::=", "exact", how)


def _symbols(grammar: LarkGrammar) -> Iterator[Enforced]:
    """The rules that somebody named, and the terminals."""
    if grammar.collision:
        told = f"none was given, and Lark's automaton cannot be made: {grammar.collision}"
        yield Enforced("lexer", "dynamic", "exact", told)
    how = "conflicts resolved as Lark does" if grammar.table else "any of its readings"
    for name, expansions in grammar.rules.items():
        if not name.startswith("__"):
            count = f"{len(expansions)} expansions, {how}"
            yield Enforced(f"rule {name}", ":", "exact", count)
    for name, terminal in grammar.terminals.items():
        told = "as much as re.match prefers, where no terminal before it in Lark's order matches"
        if grammar.table is None:
            told = "as much as re.match prefers"
        what = "%ignore" if name in grammar.ignored else ":"
        yield Enforced(f"terminal {terminal.written}", what, "exact", told)


def _constructs(pattern: Pattern) -> Iterator[Enforced]:
    """Constructs of a pattern other than literal characters."""
    todo: list[Node] = [pattern.body]
    while todo:
        node = todo.pop()
        told = _told(node)
        if told is not None:
            part, how = told
            yield Enforced(f"character {node.place + 1}", part, "exact", how)
        todo += reversed(children(node))


def _told(node: Node) -> tuple[str, str] | None:  # noqa: PLR0911  an arm for each node
    match node:
        case Look(_, ahead, negated):
            sign = f"(?{'' if ahead else '<'}{'!' if negated else '='}...)"
            meets = "the opposite of its automaton meets" if negated else "its automaton meets"
            return sign, f"{meets} that of what {'follows' if ahead else 'stands before'}"
        case Repeat(_, low, high, lazy):
            shown = f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}"
            same = "; lazy or not, the texts are the same" if lazy else ""
            return shown, _times(low, high) + same
        case Back(number):
            return f"\\{number}", f"an alternative for each text of group {number}"
        case Boundary(negated):
            said = "of the same kind" if negated else "of two kinds"
            return "\\B" if negated else "\\b", f"the characters around it are {said}"
        case Anchor(kind):
            return kind, "a condition on the place in the text"
        case Alternation(options):
            return "|", f"any of {len(options)} options; shared parts are followed once"
        case _:
            return None


def _times(low: int, high: int | None) -> str:
    if high is None:
        return f"{low} times or more" + (", counted" if low > 1 else "")
    return f"{low} times, counted" if low == high else f"{low} to {high} times, counted"
