"""Samples of the open process given the language: exact by rejection, approached by ASAp.

Both keep a trie of drawn prefixes, with upper bounds on the mass of the language after each. A
node's `bound` is the logarithm of an upper bound on the probability that the open process
(`search.base.Kind`) ends in a text of the language after this prefix: 0 at first, then the
probability of the allowed tokens, weighted by the bounds of children:

    c(u) = N(u) = Σ p(x | u) c(ux)     over the allowed x, c = 1 for x never drawn

Bounds only fall. −∞ is proven dead: no text of the language follows, or a filter leaves nothing. If
all allowed tokens were drawn, only these count, without a rounding remainder; so the bounds of a
finite language become its probabilities.

Rejection draws exact, independent samples (constrained adaptive rejection sampling, Parys et al.
2025). A text is drawn token by token and rejected as soon as it leaves the language; proven dead
ends are never drawn again. At a prefix u

    go on with probability  N(u) / c(u)
    draw x with probability  p(x | u) c(ux) / N(u)

The bounds cancel along the text: a complete text has probability p(text) / c(root). The root's
bound falls to the probability of the language, and the acceptance rate rises to 1. Several texts
are drawn at once, each with the trie at its start, and accepted in the order of their numbers, so
short texts are not preferred. The number drawn at once follows from the acceptance rate.

ASAp (adaptive sampling with approximate expected futures, Park et al. 2024, "Grammar-aligned
decoding") draws by the same p(x | u) c(ux) / N(u), one text after another, and rejects none: the
first text is drawn as in ordinary constrained sampling. The distribution converges to the open
process given the language, but not monotonically, and a finite number of texts does not reach it
unless they are the whole language.
"""

import math
from collections.abc import Sequence as Listed
from dataclasses import replace
from typing import Final

import torch
from jaxtyping import Float
from torch import Tensor

from guideway.errors import DeadEndError, LimitError
from guideway.generation.row.result import Result
from guideway.generation.row.sequence import Sequence
from guideway.sampling.noise import uniform
from guideway.search.base import Kind, Scores, blamed
from guideway.search.draws import Draw, draw, log_sum, stream_of

DEAD: Final = -math.inf


class Node:
    """A prefix.

    Attributes:
        log: log-probability of its last token.
        bound: logarithm of the bound for its continuations.
        children: the tokens drawn after it.
    """

    __slots__ = ("_mass", "_width", "bound", "children", "log")

    def __init__(self, log: float = 0.0) -> None:
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


class Path:
    """The path of one text through the trie.

    Attributes:
        nodes: nodes on the path, the root first.
        entered: bound of the last node when its token was drawn.
    """

    __slots__ = ("entered", "nodes", "row")

    def __init__(self, row: Sequence, root: Node) -> None:
        self.row, self.nodes, self.entered = row, [root], root.bound

    @property
    def node(self) -> Node:
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
        """Update the bounds from its last node to its first."""
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


TRIES: Final = 1000  # texts that filters or limits leave nothing of, one after another


class Asap:
    """The texts drawn for one prompt; `rows` has the current text, `trie` the bounds."""

    def __init__(self, root: Sequence) -> None:
        self.kind: Kind = "open"
        self.rows: Listed[Sequence] = []
        self.trie = Node()
        self._root = root
        self._path = Path(root, self.trie)
        self._number = self._failed = 0
        ended = root.finish_reason is not None
        self._found = [root] * root.request.sampling.num_return_sequences if ended else []

    def begin(self) -> bool:
        """Draw one text more, unless there are enough."""
        self._path.close()
        if len(self._found) >= self._root.request.sampling.num_return_sequences:
            return False
        if self.trie.bound == DEAD or self._failed >= TRIES:
            raise DeadEndError(
                f"no text is found: the model and the settings leave nothing of the "
                f"constraint after any of {self._failed} beginnings"
                f"{blamed(self._root.request.sampling)}"
            )
        self._number += 1
        self._path = Path(self._root.fork(), self.trie)
        self.rows = [self._path.row]
        return True

    def step(self, scores: Scores) -> Listed[int] | None:
        path = self._path
        streams = [stream_of(self._root, self._number - 1)]
        found = draw(scores, offered(scores.logs, [path.node]), streams, path.row.steps)[0]
        if found.total > DEAD and not path.row.admits(found.token):
            return None
        path.node.look(found)
        if found.total > DEAD:
            path.go(found)
            if path.row.finish_reason is None:
                return [0]
        self.rows = []
        self._failed += 1
        if path.row.whole:
            self._found.append(path.row)
            self._failed = 0
        return []

    def completions(self, memory: int) -> list[Result]:
        """The texts in the order of drawing; after an interruption those so far."""
        return [row.completion(memory) for row in self._found or [*self.rows, self._root][:1]]


ATTEMPTS: Final = 1000  # for each text, unless `max_attempts` says otherwise
AT_ONCE: Final = 16  # texts drawn together, unless more are wanted


class Rejection:
    """The texts drawn for one prompt; `rows` has the current texts, `trie` the bounds."""

    def __init__(self, root: Sequence) -> None:
        sampling = root.request.sampling
        self.kind: Kind = "open"
        self.rows: Listed[Sequence] = []
        self.trie = Node()
        self._root = root
        self._count = sampling.num_return_sequences
        self._most = sampling.max_attempts or ATTEMPTS
        self._paths = dict[int, Path]()  # those that go on, by their numbers
        self._wave = list[Path]()  # all that set out together
        self._drawn = 0
        ended = root.finish_reason is not None
        self._accepted = dict.fromkeys(range(self._count if ended else 0), root)
        self._lost: float = math.inf  # the first number of a text that the budget refused

    def begin(self) -> bool:
        """Draw more texts, unless there are enough."""
        for path in self._wave:
            path.close()
        self._wave.clear()
        missing = self._count - len(self._accepted)
        if missing <= 0:
            return False
        size = self._size(missing)
        numbers = range(self._drawn, self._drawn + size)
        self._drawn += size
        self._paths = {number: Path(self._root.fork(), self.trie) for number in numbers}
        self._wave.extend(self._paths.values())
        self.rows = [path.row for path in self._wave]
        return True

    def step(self, scores: Scores) -> Listed[int]:
        """A token for each text; those that cannot be of the language are given up."""
        nodes = [path.node for path in self._paths.values()]
        streams = [stream_of(self._root, number) for number in self._paths]
        steps = self.rows[0].steps
        draws = draw(scores, offered(scores.logs, nodes), streams, steps)
        parents = list[int]()
        going = dict[int, Path]()
        for place, (number, path) in enumerate(self._paths.items()):
            self._go(number, path, draws[place], uniform(streams[place], steps))
            if path.row.steps > steps and path.row.finish_reason is None:
                going[number] = path
                parents.append(place)
        self._paths, self.rows = going, [path.row for path in going.values()]
        return parents

    def completions(self, memory: int) -> list[Result]:
        """The texts accepted, in the order of their numbers; if interrupted, those there are."""
        made = list[Result]()
        last = -1
        for number in sorted(self._accepted)[: self._count]:
            row = self._accepted[number]
            if number > self._lost:  # without the budget, that text might be here
                row.shorten()
            done = row.completion(memory)
            made.append(replace(done, attempts=number - last))
            last = number
        unfinished = (*self.rows, self._root)[0]
        return made or [replace(unfinished.completion(memory), attempts=self._drawn)]

    def _go(self, number: int, path: Path, found: Draw, coin: float) -> None:
        path.node.look(found)
        # The root is known to all that set out: nothing is left to chance there.
        chance = 1.0 if path.node is self.trie else math.exp(found.total - path.entered)
        if found.total == DEAD or coin >= chance:
            return
        if not path.row.admits(found.token):
            path.refuse(found)
            if path.row.lost > -math.inf:
                self._lost = min(self._lost, number)
            return
        path.go(found)
        if path.row.whole:
            self._accepted[number] = path.row

    def _size(self, missing: int) -> int:
        """The number of texts to start: the expected need, within the limits."""
        bound = self.trie.bound
        if bound == DEAD:
            raise DeadEndError(
                "no text is left: the model and the settings give no probability to any text of "
                f"the constraint{blamed(self._root.request.sampling)}"
            )
        left = self._most - (self._drawn - 1 - max(self._accepted, default=-1))
        if left <= 0:
            raise LimitError(
                f"none of the last {self._most} texts is in the language; {len(self._accepted)} of "
                f"{self._drawn} were accepted. At most a share of {math.exp(bound):.1e} of the "
                f"model's texts can be accepted. "
                'Raise max_attempts, or use exactness="smc", whose weighted texts do not depend on '
                "the share",
                limit="max_attempts",
                given=self._most,
            )
        share = min(math.exp(bound), (len(self._accepted) + 1) / (self._drawn + 1))
        wanted = min(missing / max(share, 1 / AT_ONCE), max(missing, AT_ONCE))
        return min(math.ceil(wanted), left)
