"""Read a Lark source with Lark's own loader.

The result holds no objects of Lark's, and no file is read: the source has the imported texts.
`syntax.lark_errors` converts Lark's errors.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from importlib import import_module
from itertools import chain
from typing import Any, Final

from guideway.errors import SourceError, UnsupportedError
from guideway.syntax.lark_errors import (
    Indentation,
    LarkGrammar,
    LarkTable,
    LarkTerminal,
    Reading,
    placed_by_text,
    refusals,
    within,
)
from guideway.syntax.lark_extensions import PART, Part
from guideway.syntax.lark_lalr import Spend, production, tabulate, without_dead
from guideway.syntax.lark_sizes import (
    check_arguments,
    check_expansions,
    check_size,
    check_templates,
    check_terminals,
    with_empty,
)
from guideway.syntax.lark_source import Lark, read_indenter
from guideway.syntax.names import did_you_mean
from guideway.syntax.regex import parse_regex
from guideway.syntax.regex_tree import Anchor, Boundary, Look, children, refers_by_number
from guideway.syntax.special import Substring

_NUMBER: Final = re.compile(r"\\[1-9]")
COLLISION: Final = "Reduce/Reduce"  # beginning of Lark's message
MODULE: Final = "file_input"  # start rule of python.lark


def _free(parts: int) -> None:
    del parts


def read_lark(source: Lark, spend: Spend = _free) -> LarkGrammar:
    r"""Load a Lark grammar; `spend` charges for the work.

    Example:
        >>> grammar = read_lark(Lark('start: WORD ("," WORD)*\nWORD: /[a-z]+/i'))
        >>> grammar.rules["start"]
        (('WORD', '__start_star_0'), ('WORD',))
        >>> grammar.terminals["WORD"].pattern
        '(?i:[a-z]+)'
    """
    reading = Reading(source.extended)
    with refusals(reading):
        texts = [each.text for each in reading.texts.values()]
        for text in texts:
            check_size(text, spend)
        check_terminals(reading, spend)
        loaded = _loaded(reading)
        start = _start(loaded, source.start)
        indentation = _indentation(loaded, source)
        keep = {indentation.newline} if indentation is not None else set[str]()
        uses = check_templates(loaded.rule_defs, reading)
        check_expansions(loaded.rule_defs, uses, spend, reading)
        # With all rules as starts, Lark skips its quadratic removal of unused rules.
        names = [str(name) for name, params, *_ in loaded.rule_defs if not params]
        terminals, rules, ignored = loaded.compile([start, *names], "*")
        rules = _used(rules, start)
        check_arguments(rules, loaded.rule_defs, reading)
        keep |= {*ignored, *(symbol.name for rule in rules for symbol in rule.expansion)}
        terminals = [terminal for terminal in terminals if terminal.name in keep]
        parts, terminals = _parts(terminals, source, reading)
        read = {str(terminal.name): _terminal(terminal, reading) for terminal in terminals}
        nested = _nested(parts, spend)
        _check_ignored(ignored, parts)
        empty = [name for name, terminal in read.items() if _takes_nothing(terminal)]
        nothing = [name for name in empty if read[name].max_width == 0]
        _check_items(indentation, read)
        rules = with_empty(rules, [*_empty(parts, nested), *empty], nothing, reading)
        strings = {name for name, each in read.items() if each.text is not None}
        strings -= {*map(str, ignored), *(indentation.names if indentation is not None else ())}
        table, collision = _read_by(
            rules, start, source, spend, strings, read.values(), indented=indentation is not None
        )
    lined = indentation.names if indentation is not None else frozenset[str]()
    if table is None:
        _check_captures(source, parts, read.values())
    else:
        table = without_dead(table, {*table.terminals[1:]}.difference(read, parts, lined))
    expansions = dict[str, list[tuple[str, ...]]]()
    for each in map(production, rules):
        expansions.setdefault(each.rule, []).append(each.symbols)
    return LarkGrammar(
        terminals={name: each for name, each in read.items() if name not in nothing},
        rules={name: tuple(listed) for name, listed in expansions.items()},
        start=start,
        ignored=tuple(name for name in dict.fromkeys(map(str, ignored)) if name not in nothing),
        table=table,
        indentation=indentation,
        parts=parts,
        nested=nested,
        collision=collision,
    )


def earley(source: Lark) -> Callable[[str], Any]:
    """Lark's own Earley parser with its dynamic lexer, for grammars without guideway's notation.

    It returns rules as (name, children), including those that Lark's trees inline, and terminals as
    Lark's tokens, or None for a text outside the language.
    """
    module: Any = import_module("lark")
    loaded = _loaded(Reading(source.extended))
    options = {"parser": "earley", "lexer": "dynamic", "maybe_placeholders": False}
    parser: Any = module.Lark(loaded, start=_start(loaded, source.start), **options)

    def made(name: str) -> Callable[[list[Any]], Any]:
        return lambda children: (name, list(children))

    parser.parser.parser.callbacks = {rule: made(str(rule.origin.name)) for rule in parser.rules}

    def parse(text: str) -> Any:
        with suppress(module.exceptions.LarkError):
            return parser.parse(text)

    return parse


def _loaded(reading: Reading) -> Any:
    """Lark's own `Grammar`."""

    def find(folder: str | None, path: str) -> tuple[str, str]:
        for at in (path, f"{folder}/{path}" if folder else path):
            if at in reading.texts:
                reading.at = at
                return at, reading.texts[at].text
        raise SourceError(f"there is no grammar {path!r} to import")

    loader: Any = import_module("lark.load_grammar")
    # Not a path, or Lark would search `%import .name` next to the running script.
    return loader.load_grammar(reading.text, "grammar", [find], False)[0]


def _start(loaded: Any, start: str) -> str:
    names = [str(rule[0]) for rule in loaded.rule_defs if not rule[1]]
    if start in names:
        return start
    if start == "start" and MODULE in names:
        return MODULE
    near = did_you_mean(start, names) or (f"; there are {', '.join(names)}"[:200] if names else "")
    raise SourceError(f"there is no rule {start!r} to start with{near}")


def _indentation(loaded: Any, source: Lark) -> Indentation | None:
    """Indentation of the source, or the default for the grammar's terminals."""
    if source.indentation is not None or source.lexer == "dynamic":
        return source.indentation
    declared = {str(name) for name, (tree, _) in loaded.term_defs if tree is None}
    named = {str(name) for name, _ in loaded.term_defs} - declared
    # Imported late, because it imports Lark.
    indenters: Any = import_module("guideway.syntax.lark_indenter")
    items = read_indenter(indenters.ItemIndenter)
    told = items if items.items <= named else read_indenter(indenters.PythonIndenter)
    return told if told.newline in named and {told.indent, told.dedent} <= declared else None


def _check_items(indentation: Indentation | None, read: Mapping[str, LarkTerminal]) -> None:
    """Refuse item terminals of variable width, which gives the indentation."""
    for name in sorted(indentation.items & read.keys()) if indentation is not None else ():
        if read[name].min_width != read[name].max_width:
            raise UnsupportedError(
                f"{name} sets the indentation of a block by its width, so all its texts must have "
                "the same length, at least one character",
                feature="postlex",
            )


def _used(rules: list[Any], start: str) -> list[Any]:
    """Remove unused rules and then rules used only by them, as Lark does."""
    inside = dict[Any, list[Any]]()
    for rule in rules:
        others = (symbol for symbol in rule.expansion if symbol != rule.origin)
        inside.setdefault(rule.origin, []).extend(each for each in others if not each.is_term)
    count = Counter(chain.from_iterable(inside.values()))
    todo = [name for name in inside if not count[name] and name.name != start]
    for name in todo:  # grows
        for other in inside.pop(name):
            count[other] -= 1
            if not count[other] and other.name != start:
                todo.append(other)
    return [rule for rule in rules if rule.origin in inside]


def _terminal(terminal: Any, reading: Reading) -> LarkTerminal:
    pattern = terminal.pattern
    written = str(terminal.user_repr())
    try:
        if pattern.type != "str":
            re.compile(pattern.to_regexp())
    except re.error as error:
        instead = r"; any letter is [^\W\d_]" if error.msg == r"bad escape \p" else ""
        said = f"the terminal {written} is no regex as Lark reads them: {error}{instead}"
        range_of_two = placed_by_text(said, reading)
        raise range_of_two or reading.wrong(said, str(terminal.name), written) from None
    solid = pattern.min_width == 0
    if solid and _looks(str(pattern.to_regexp())):
        said = (
            f"the terminal {written} may match nothing, and looks around it: those that look "
            "around have one character at least, and may be left out with a `?` behind them"
        )
        raise reading.wrong(said, str(terminal.name), written)
    return LarkTerminal(
        name=str(terminal.name),
        pattern=str(pattern.to_regexp()),
        text=str(pattern.value) if pattern.type == "str" else None,
        flags=frozenset(pattern.flags),
        priority=int(terminal.priority),
        min_width=max(int(pattern.min_width), 1),
        max_width=int(pattern.max_width),
        length=len(pattern.value),
        written=written,
        solid=solid,
    )


def _looks(pattern: str) -> bool:
    """Return True for lookarounds, anchors and boundaries; invalid patterns are refused later."""
    with suppress(SourceError, UnsupportedError):
        todo = [parse_regex(pattern).body]
        for node in todo:  # grows while we go
            if isinstance(node, Look | Anchor | Boundary):
                return True
            todo += children(node)
    return False


def _counts(terminal: LarkTerminal) -> bool:
    """Return True for numbered group references; invalid patterns are refused later."""
    if terminal.text is None and _NUMBER.search(terminal.pattern):
        with suppress(SourceError, UnsupportedError):
            return refers_by_number(parse_regex(terminal.pattern))
    return False


def _takes_nothing(terminal: LarkTerminal) -> bool:
    return terminal.solid and re.fullmatch(terminal.pattern, "") is not None


def _parts(
    terminals: list[Any], source: Lark, reading: Reading
) -> tuple[dict[str, Part], list[Any]]:
    """Split off the terminals that are parts in guideway's notation."""
    parts, others = dict[str, Part](), list[Any]()
    for terminal in terminals:
        whole = PART.fullmatch(str(terminal.pattern.value))
        inside = PART.search(str(terminal.pattern.value)) if source.parts else None
        if inside is None:
            others.append(terminal)
        elif whole is None or terminal.pattern.type != "str":
            part = source.parts[int(inside[1])]
            raise reading.told(
                part, f"{part.written} stands in the terminal {terminal.name} beside something "
                "else: a rule may be made of both, a terminal is a regex or one of these alone",
            )  # fmt: skip
        else:
            parts[str(terminal.name)] = source.parts[int(whole[1])]
    return parts, others


def _nested(parts: Mapping[str, Part], spend: Spend) -> dict[str, LarkGrammar]:
    found = dict[str, LarkGrammar]()
    for name, part in parts.items():
        if isinstance(part.source, Lark):
            with within(part):
                found[name] = read_lark(part.source, spend)
    return found


def _check_ignored(ignored: list[Any], parts: Mapping[str, Part]) -> None:
    for name in map(str, ignored):
        if name in parts:
            raise UnsupportedError(
                f"{parts[name].written} cannot be ignored: %ignore takes regexes and strings only",
                feature="%ignore",
                place=parts[name].place,
            )


def _check_captures(
    source: Lark, parts: Mapping[str, Part], terminals: Iterable[LarkTerminal]
) -> None:
    """Refuse captures with the dynamic lexer if Lark's Earley parser cannot read the grammar."""
    if _captures(source):
        solid = [terminal.written for terminal in terminals if terminal.solid]
        for written in [*(part.written for part in parts.values()), *solid]:
            raise UnsupportedError(
                f"the dynamic lexer captures no rules in a grammar with {written}, which Lark does "
                "not have; the contextual lexer does, if LALR takes the grammar, and a terminal "
                "that matches nothing may be left out with a `?` behind it",
                feature="[capture]",
            )


def _captures(source: Lark) -> bool:
    """Return True if the grammar or a nested one has captures."""
    nested = (part.source for part in source.parts)
    return bool(source.captures) or any(isinstance(n, Lark) and _captures(n) for n in nested)


def _empty(parts: Mapping[str, Part], nested: Mapping[str, LarkGrammar]) -> list[str]:
    """Parts that may be empty."""
    return [
        name
        for name, part in parts.items()
        if isinstance(part.source, Substring) or (name in nested and _may_be_empty(nested[name]))
    ]


def _may_be_empty(grammar: LarkGrammar) -> bool:
    rules, missing, places = list[str](), list[int](), dict[str, list[int]]()
    for rule, expansions in grammar.rules.items():
        for expansion in expansions:
            for symbol in expansion:
                places.setdefault(symbol, []).append(len(rules))
            rules.append(rule)
            missing.append(len(expansion))
    found = {rule for rule, count in zip(rules, missing, strict=True) if not count}
    todo = [*found]
    while todo:
        for place in places.get(todo.pop(), ()):
            missing[place] -= 1
            if not missing[place] and rules[place] not in found:
                found.add(rules[place])
                todo.append(rules[place])
    return grammar.start in found


def _read_by(
    rules: list[Any],
    start: str,
    source: Lark,
    spend: Spend,
    strings: set[str],
    terminals: Iterable[LarkTerminal],
    *,
    indented: bool,
) -> tuple[LarkTable | None, str]:
    """The LALR table, or None and the reason if the lexer is not fixed."""
    if source.lexer == "dynamic":
        return None, ""
    counting = [each.written for each in terminals if _counts(each)] if source.lexer is None else []
    if counting and not indented:
        said = "which its lexer counts together with those of other terminals"
        return None, f"{counting[0]} refers to a group by its number, {said}"
    refusal: Any = import_module("lark.exceptions").GrammarError
    try:
        return tabulate(rules, start, spend, strings), ""
    except refusal as error:
        said = " ".join(str(error).partition("\n\n")[0].split())
        if indented or not said.startswith(COLLISION):
            raise
        if source.lexer is None:
            return None, said
        raise refusal(f"{said}; lexer='dynamic', or none at all, takes it") from None
