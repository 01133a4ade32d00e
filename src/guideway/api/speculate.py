"""`speculate=`: from what a caller gives to drafts for a batch."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, Protocol, TypeAlias, cast, runtime_checkable
from weakref import WeakKeyDictionary

from guideway.errors import SourceError, UnsupportedError
from guideway.generation.captured import captures
from guideway.generation.draft_model import DraftModel, TextDraft
from guideway.generation.drafts import Drafter, Lookup
from guideway.generation.ensemble.ensemble import Ensemble, reading
from guideway.generation.heads import TENSORS, Heads, HeadsDraft
from guideway.generation.speculation import Costs, Rates, Speculation
from guideway.logits.expr import Leaf, Watermarked
from guideway.models.protocol import LanguageModel
from guideway.models.transformers import TransformersModel


@runtime_checkable  # the tests check annotations
class Drafting(Protocol):
    """A `guideway.Model`, as type checkers see it here."""

    @property
    def language_model(self) -> LanguageModel[Any]:
        """The language model of its first leaf."""
        ...


Speculate: TypeAlias = Literal["auto", "off", "forced", "lookup"] | Drafting | str | Path
ALLOWED: Final = '"auto", "off", "forced", "lookup", a guideway.Model, or a folder of heads'
LOOKS: Final[Mapping[object, bool]] = MappingProxyType(
    {"auto": True, "lookup": True, "forced": False}
)


class _Memory:
    """Measurements of a model's earlier calls: acceptance of drafts, and times of forwards."""

    def __init__(self, ensemble: Ensemble) -> None:
        reader = ensemble.contexts[0].reader
        self.costs = Costs()
        self.lookups = {
            looks: Speculation(Lookup(reader, looks=looks), Rates(), self.costs)
            for looks in (False, True)
        }
        self.rates = WeakKeyDictionary[Ensemble, Rates]()
        self.heads = dict[Path, tuple[int, Heads, Rates]]()  # by folder, with the time of its file


_memories: Final = WeakKeyDictionary[Ensemble, _Memory]()


def check_speculate(given: object) -> None:
    """Refuse values that `speculate` does not take, and drafts that cannot be used."""
    if not (isinstance(given, str) and (given == "off" or given in LOOKS)) and not _folder(given):
        drafting(given)


def speculation(ensemble: Ensemble, given: object) -> Speculation | None:
    """Drafts for a batch of a model; None without any, or if "auto" captures steps instead.

    All batches share those of a lookup.

    Raises:
        UnsupportedError: the cache of a model cannot forget tokens that were refused.
    """
    if given == "off" or (given == "auto" and (captures(ensemble) or not ensemble.crops)):
        return None
    if not ensemble.crops:
        raise _unforgetting(ensemble)
    if ensemble not in _memories:
        _memories.setdefault(ensemble, _Memory(ensemble))
    memory = _memories[ensemble]
    if isinstance(given, str) and given in LOOKS:
        return memory.lookups[LOOKS[given]]
    if folder := _folder(given):
        heads, rates = _heads(ensemble, memory, folder)
        return Speculation(HeadsDraft(heads), rates, memory.costs)
    draft = drafting(given)
    rates = memory.rates.setdefault(draft, Rates())
    return Speculation(_drafter(ensemble, draft), rates, memory.costs)


def drafting(given: object) -> Ensemble:
    """The ensemble of a model that drafts."""
    found = getattr(given, "_ensemble", None)
    if not isinstance(found, Ensemble):
        raise SourceError(f"speculate is {given!r}: it must be {ALLOWED}"[:300])
    if len(found.contexts) > 1 or found.contexts[0].views or not isinstance(found.node, Leaf):
        raise UnsupportedError(
            f"speculate is {given!r}: a draft must be one model that reads the same prompt",
            feature="a draft that is an expression",
        )
    if not found.crops:
        raise _unforgetting(found)
    return found


def _folder(given: object) -> Path | None:
    """The folder that a text or path names; None if it names none."""
    if isinstance(given, str | Path) and (folder := Path(given).expanduser()).is_dir():
        return folder.resolve()
    return None


def _heads(ensemble: Ensemble, memory: _Memory, folder: Path) -> tuple[Heads, Rates]:
    """The heads of a folder, read again only if its file changes."""
    file = folder / TENSORS
    changed = file.stat().st_mtime_ns if file.is_file() else 0
    if memory.heads.get(folder, (None,))[0] != changed:
        memory.heads[folder] = changed, Heads.load(folder, ensemble.main.hidden()), Rates()
    _, heads, rates = memory.heads[folder]
    return heads, rates


def _drafter(ensemble: Ensemble, draft: Ensemble) -> Drafter:
    leaf = _runnable(cast("Leaf", draft.node))
    if draft.vocabulary == ensemble.vocabulary:
        mark = ensemble.mark
        return DraftModel(Ensemble(leaf if mark is None else Watermarked(leaf, mark)))
    readers = draft.contexts[0].reader, ensemble.contexts[0].reader
    return TextDraft(Ensemble(leaf), *readers)


def _runnable(leaf: Leaf) -> Leaf:
    """The leaf itself; of an early exit, the model of its first blocks, which is cheaper to run."""
    read = reading(leaf)
    if read.exit is None:
        return leaf
    if not isinstance(read.model, TransformersModel):
        raise UnsupportedError(
            f"{leaf.name} is an early exit, and only those of transformers models can draft",
            feature="a draft by an early exit",
        )
    model = read.model.first_blocks(read.exit)
    return Leaf(replace(read, model=model, exit=None), leaf.name)


def _unforgetting(ensemble: Ensemble) -> UnsupportedError:
    names = ", ".join(sorted({type(each.model).__name__ for each in ensemble.backbones}))
    return UnsupportedError(
        f"speculate needs a model whose cache can forget tokens, and that of {names} cannot "
        '(layers with a sliding window, or recurrent ones): use speculate="off"',
        feature="speculation with this cache",
    )
