"""Runs of consecutive chunks, as their suffix automaton (Blumer et al. 1985)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import final

from guideway.lowering.expr import EMPTY, EPSILON, alt, byte_set, concat, literal
from guideway.lowering.fuel import spend
from guideway.lowering.nodes import Expr


def lower_substring(chunks: tuple[str, ...]) -> Expr:
    """Texts of any consecutive chunks, or of none."""
    ways, longest = _automaton(chunks)
    made: list[Expr] = [EPSILON] * len(ways)
    for state in sorted(range(len(ways)), key=longest.__getitem__, reverse=True):
        spend(len(ways[state]))
        steps = {chunk.encode(): made[to] for chunk, to in ways[state].items()}
        made[state] = alt(EPSILON, _tree(steps) if len(steps) > 1 else _chain(steps))
    return made[0]


def _chain(steps: Mapping[bytes, Expr]) -> Expr:
    return alt(*(concat(literal(chunk), rest) for chunk, rest in steps.items()))


def _tree(steps: Mapping[bytes, Expr]) -> Expr:
    root = _Node()
    for chunk, rest in steps.items():
        node = root
        for byte in chunk:
            node = node.below.setdefault(byte, _Node())
        node.rests.append(rest)
    nodes = [root]
    for node in nodes:  # grows while we go
        nodes += node.below.values()
    for node in reversed(nodes):
        below = (concat(byte_set(1 << byte), each.made) for byte, each in node.below.items())
        node.made = alt(*node.rests, *below)
    return root.made


@final
@dataclass(slots=True)
class _Node:
    """A node of the trie of chunks."""

    rests: list[Expr] = field(default_factory=list[Expr])
    below: dict[int, "_Node"] = field(default_factory=dict[int, "_Node"])
    made: Expr = EMPTY


def _automaton(chunks: tuple[str, ...]) -> tuple[list[dict[str, int]], list[int]]:
    """Transitions of each state by chunk, and the length of the longest run to it."""
    ways, longest, links = [dict[str, int]()], [0], [-1]
    last = 0
    for chunk in chunks:
        spend(1)
        new, at, last = len(ways), last, len(ways)
        ways.append({})
        longest.append(longest[at] + 1)
        links.append(0)
        while at >= 0 and chunk not in ways[at]:
            ways[at][chunk] = new
            at = links[at]
        if at < 0:
            continue
        met = ways[at][chunk]
        if longest[met] == longest[at] + 1:
            links[new] = met
            continue
        twin = len(ways)
        ways.append(dict(ways[met]))
        longest.append(longest[at] + 1)
        links.append(links[met])
        links[met] = links[new] = twin
        while at >= 0 and ways[at].get(chunk) == met:
            ways[at][chunk] = twin
            at = links[at]
    return ways, longest
