"""Find the captures of a Lark grammar in a finished text.

Texts are read as the lexer and the automaton do (`lark_tokens`), or with Lark itself for the
dynamic lexer. The text of a rule is from its first to its last terminal, without ignored text
around it. If a rule is JSON Schemas alone, its text is JSON with a value.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, cast

from guideway.api.lark_tokens import Ends, Leaf, Texts, read, reduced
from guideway.syntax.json_schema_source import JsonSchema
from guideway.syntax.lark_errors import LarkGrammar
from guideway.syntax.lark_reader import earley, read_lark
from guideway.syntax.lark_source import Lark
from guideway.syntax.regions import Captured
from guideway.syntax.sources import Either, Source, Text


@lru_cache(maxsize=32)
def _read(source: Lark) -> LarkGrammar:
    return read_lark(source)


@lru_cache(maxsize=32)
def _earley(source: Lark) -> Callable[[str], Any]:
    return earley(source)


def captured(source: Lark, data: bytes, ends: Ends) -> Iterator[tuple[Source, int, int]]:
    r"""Captures and parts in a text, outer ones first, with begin and end.

    `ends` gives the ends of the texts of a source from a position.

    >>> source = Lark('start[capture]: name "=" "1"\nname[capture="n"]: /[a-z]+/')
    >>> for place, begin, end in captured(source, b"ab=1", lambda source, begin: []):
    ...     print(place.name, begin, end)
    start 0 4
    n 0 2
    """
    grammar, names = _read(source), dict(source.captures)
    if grammar.table is None:
        leaves, rules = _dynamic(source, data)
    else:
        leaves = read(grammar, grammar.table, Texts(data), ends) or []
        rules = reduced(grammar.table, leaves) if leaves or not data else []
    for rule, first, last in rules:
        if rule in names:
            begin = leaves[first].begin if first < last else 0
            end = leaves[last - 1].end if first < last else 0
            yield Captured(names[rule], _item(grammar, rule)), begin, end
    for leaf in leaves:
        if leaf.name in grammar.parts:
            yield grammar.parts[leaf.name].source, leaf.begin, leaf.end


def _dynamic(source: Lark, data: bytes) -> tuple[list[Leaf], list[tuple[str, int, int]]]:
    """The terminals and rules of a text, as `lark_tokens` has them, by Lark's Earley parser."""
    text = data.decode()
    tree = _earley(source)(text)
    leaves, rules = list[Leaf](), list[tuple[str, int, int]]()
    todo: list[Any] = [] if tree is None else [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, int):  # the end of a rule
            rules[node] = (*rules[node][:2], len(leaves))
        elif isinstance(node, tuple):
            name, children = cast("tuple[str, list[Any]]", node)
            todo += [len(rules), *reversed(children)]
            rules.append((name, len(leaves), 0))
        else:
            begin = len(text[: node.start_pos].encode())
            leaves.append(Leaf(str(node.type), begin, begin + len(node.encode())))
    return leaves, rules


def counted(source: Lark, inner: Callable[[Source], Mapping[str, int]]) -> dict[str, int]:
    r"""How often each capture may occur: once (1) or more (2); `inner` counts those of parts.

    >>> counted(Lark('start: (a ",")* b\na[capture]: "a"\nb[capture]: "b"'), lambda part: {})
    {'a': 2, 'b': 1}
    """
    grammar, found = _read(source), dict[str, int]()
    named = [(rule, {name: 1}) for rule, name in source.captures]
    named += [(name, inner(part.source)) for name, part in grammar.parts.items()]
    for symbol, counts in named:
        often = _often(grammar, symbol) if counts else 0
        for name, count in counts.items():
            found[name] = min(found.get(name, 0) + often * count, 2)
    return found


def _often(grammar: LarkGrammar, symbol: str) -> int:
    """How often a rule or a part may occur in a text: 0, 1, or 2 for more."""
    rules, places = list[str](), defaultdict[str, list[int]](list)
    for rule, expansions in grammar.rules.items():
        for expansion in expansions:
            for each in expansion:
                places[each].append(len(rules))
            rules.append(rule)
    # Sums for each expansion from its symbols; new counts of rules are propagated.
    sums, counts, todo = [0] * len(rules), defaultdict[str, int](int, {symbol: 1}), [(symbol, 1)]
    while todo:
        name, more = todo.pop()
        for place in places[name]:
            sums[place] += more
            rule = rules[place]
            count = min(sums[place] + (rule == symbol), 2)
            if count > counts[rule]:
                todo.append((rule, count - counts[rule]))
                counts[rule] = count
    return counts[grammar.start]


def _item(grammar: LarkGrammar, rule: str) -> Source:
    """JSON Schemas that a rule consists of, or Text."""
    found: list[Source] = []
    seen, todo = {rule}, [rule]
    while todo:
        for expansion in grammar.rules[todo.pop()]:
            symbol = expansion[0] if len(expansion) == 1 else ""
            part = grammar.parts.get(symbol)
            if part is not None and isinstance(part.source, JsonSchema):
                found.append(part.source)
            elif symbol in grammar.rules:
                todo += {symbol} - seen
                seen.add(symbol)
            else:
                return Text()
    return found[0] if len(found) == 1 else Either(tuple(found))
