"""Exact, independent samples of the open process given the language.

A text is drawn token by token and rejected as soon as it leaves the language. Proven dead ends are
never drawn again: at a prefix u, with the bounds c of `search.trie`,

    go on with probability  N(u) / c(u),  N(u) = Σ p(x | u) c(ux) over the allowed x
    draw x with probability  p(x | u) c(ux) / N(u)

The bounds cancel along the text: a complete text has probability p(text) / c(root), so accepted
texts are distributed as p (constrained adaptive rejection sampling, Parys et al. 2025). The root's
bound falls to the probability of the language, and the acceptance rate rises to 1.

Several texts are drawn at once from the prompt's cache, each with the trie at its start. They are
accepted in the order of their numbers, so short texts are not preferred. The number drawn at once
follows from the acceptance rate.
"""

import math
from collections.abc import Sequence as Listed
from dataclasses import replace
from typing import Final, final

from guideway.errors import DeadEndError, LimitError
from guideway.generation.row.request import Completion
from guideway.generation.row.sequence import Sequence
from guideway.sampling.noise import uniform
from guideway.search.base import Kind, Scores, blamed
from guideway.search.draws import Draw, draw, stream_of
from guideway.search.trie import DEAD, Node, Path, offered

ATTEMPTS: Final = 1000  # for each text, unless `max_attempts` says otherwise
AT_ONCE: Final = 16  # texts drawn together, unless more are wanted


@final
class Rejection:
    """The texts drawn for one prompt; `rows` has the current texts, `trie` the bounds."""

    def __init__(self, root: Sequence) -> None:
        """Texts that begin as this row, which has no tokens."""
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
        self._accepted = dict[int, Sequence]()
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

    def completions(self, memory: int) -> list[Completion]:
        """The texts accepted, in the order of their numbers; if interrupted, those there are."""
        made = list[Completion]()
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
        """A step of one text."""
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
