"""Masked draws that approach the distribution of the language from text to text.

A token x after a prefix u is drawn with probability p(x | u) c(ux) / N(u), where c are the bounds
of `search.trie`: at first 1, so the first text is drawn as in ordinary constrained sampling
of the open process; each text lowers the bounds of its prefixes. The distribution converges to the
open process given the language, but not monotonically, and a finite number of texts does not reach
it unless they are the whole language (adaptive sampling with approximate expected futures, Park et
al. 2024). The texts of a prompt are drawn one by one; none is rejected.
"""

from collections.abc import Sequence as Listed
from typing import Final, final

from guideway.errors import DeadEndError
from guideway.generation.row.request import Completion
from guideway.generation.row.sequence import Sequence
from guideway.search.base import Kind, Scores, blamed
from guideway.search.draws import draw, stream_of
from guideway.search.trie import DEAD, Node, Path, offered

TRIES: Final = 1000  # texts that filters or limits leave nothing of, one after another


@final
class Asap:
    """The texts drawn for one prompt; `rows` has the current text, `trie` the bounds."""

    def __init__(self, root: Sequence) -> None:
        """Texts that begin as this row, which has no tokens."""
        self.kind: Kind = "open"
        self.rows: Listed[Sequence] = []
        self.trie = Node()
        self._root = root
        self._path = Path(root, self.trie)
        self._number = self._failed = 0
        self._found = list[Sequence]()

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
        """A token for the text."""
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

    def completions(self, memory: int) -> list[Completion]:
        """The texts in the order of drawing; after an interruption those so far."""
        return [row.completion(memory) for row in self._found or [*self.rows, self._root][:1]]
