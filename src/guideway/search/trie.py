"""Trie of drawn prefixes, with upper bounds on the mass of the language after each.

A node's `bound` is the logarithm of an upper bound on the probability that the open process
(`search.base.Kind`) ends in a text of the language after this prefix: 0 at first, then the
probability of the allowed tokens, weighted by the bounds of children:

    c(u) = Σ p(x | u) c(ux)     over the allowed x, c = 1 for x never drawn

(Park et al. 2024, "Grammar-aligned decoding"; Parys et al. 2025, "Constrained adaptive rejection
sampling"). Bounds only fall. −∞ is proven dead: no text of the language follows, or a filter leaves
nothing. If all allowed tokens were drawn, only these count, without a rounding remainder; so the
bounds of a finite language become its probabilities.
"""

import math
from collections.abc import Sequence as Listed
from typing import Final, final

import torch
from jaxtyping import Float
from torch import Tensor

from guideway.generation.row.sequence import Sequence
from guideway.sampling.resampling import log_sum
from guideway.search.draws import Draw

DEAD: Final = -math.inf


@final
class Node:
    """A prefix.

    Attributes:
        log: log-probability of its last token.
        bound: logarithm of the bound for its continuations.
        children: the tokens drawn after it.
    """

    __slots__ = ("_mass", "_width", "bound", "children", "log")

    def __init__(self, log: float = 0.0) -> None:
        """A beginning that nobody has looked at."""
        self.log, self.bound = log, 0.0
        self.children = dict[int, Node]()
        self._mass, self._width = 1.0, -1

    def look(self, drawn: Draw) -> None:
        """Record the allowed mass, before the token of `drawn` is taken.

        A limit may have narrowed the row; earlier draws are still in it.
        """
        if self._width < 0 or drawn.width < self._width:
            gone = (math.exp(each.log) * -math.expm1(each.bound) for each in self.children.values())
            self._mass, self._width = math.exp(drawn.total) + math.fsum(gone), drawn.width
        self.bound = min(self.bound, drawn.total)

    def child(self, drawn: Draw) -> "Node":
        """The node after the token that was picked."""
        return self.children.setdefault(drawn.token, Node(drawn.log))

    def close(self) -> None:
        """Lower the bound to that of the children."""
        if self._width < 0:
            return
        children = self.children.values()
        known = [each.log + each.bound for each in children]
        if len(self.children) < self._width:
            rest = self._mass - math.fsum(math.exp(each.log) for each in children)
            known.append(math.log(rest) if rest > 0 else DEAD)
        self.bound = min(self.bound, log_sum(known))
        if self.bound == DEAD:
            self.children.clear()


@final
class Path:
    """The path of one text through the trie.

    Attributes:
        nodes: nodes on the path, the root first.
        entered: bound of the last node when its token was drawn.
    """

    __slots__ = ("entered", "nodes", "row")

    def __init__(self, row: Sequence, root: Node) -> None:
        """A path that begins."""
        self.row, self.nodes, self.entered = row, [root], root.bound

    @property
    def node(self) -> Node:
        """The last node."""
        return self.nodes[-1]

    def go(self, drawn: Draw) -> None:
        """On by a token that the row admits; a text that has ended and counts has the bound 1."""
        self.row.take(drawn.token, drawn.own, drawn.kept)
        node = self.node.child(drawn)
        self.nodes.append(node)
        self.entered = node.bound
        if self.row.finish_reason is not None and not self.row.whole:
            node.bound = DEAD

    def refuse(self, drawn: Draw) -> None:
        """Note that the row does not admit a token: no text of the language goes on with it."""
        self.node.child(drawn).bound = DEAD

    def close(self) -> None:
        """Tell what was learned from its last node to its first."""
        for node in reversed(self.nodes):
            node.close()


def offered(
    logs: Float[Tensor, "rows vocabulary"], nodes: Listed[Node]
) -> Float[Tensor, "rows vocabulary"]:
    """Scores of rows, with the bounds of children added."""
    found = [
        (row, token, each.bound)
        for row, node in enumerate(nodes)
        for token, each in node.children.items()
        if each.bound < 0
    ]
    if not found:
        return logs
    rows, tokens, bounds = zip(*found, strict=True)
    place = (
        torch.tensor(rows, device=logs.device),
        torch.tensor(tokens, device=logs.device),
    )
    more = torch.tensor(bounds, dtype=logs.dtype, device=logs.device)
    return logs.index_put(place, more, accumulate=True)
