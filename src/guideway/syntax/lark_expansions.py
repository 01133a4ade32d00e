"""How many expansions Lark makes of rules, told before it makes them.

Lark writes out each way to leave out what is optional, to choose, and to repeat up to 50 times:
26 optional parts in a row are 2^26 expansions.

What this module does not know: which of them are equal.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from guideway.syntax.lark_errors import Reading

MOST: Final = 1 << 17
"""Symbols in the expansions of one rule; Lark takes a second for them."""

_PAID: Final = 2  # parts for each symbol, and for each expansion: Lark takes about as long for them
_ENOUGH: Final = 1 << 40
_WRITTEN_OUT: Final = 50  # repetitions, from which on Lark makes rules of a few each,
_FEW: Final = 5  # so many

_Size: TypeAlias = tuple[int, int]  # expansions, and the symbols in all of them


def check_expansions(
    rules: Sequence[Any], uses: Mapping[str, int], spend: Callable[[int], None], reading: Reading
) -> None:
    """Refuse rules that come to too many expansions.

    Args:
        rules: of Lark's own `Grammar`: each its name, parameters, tree and options.
        uses: how many rules each template comes to.
        spend: pays for the work.
        reading: where errors point to.

    Raises:
        LimitError: there are too many; the rule is named.
    """
    for name, params, tree, _ in rules:
        count, symbols = size_of(tree)
        if symbols > MOST:
            raise reading.exceeded(
                f"the rule {name!s:.60} comes to more than {MOST} symbols when all its options, "
                "choices and repetitions are written out, as Lark does: name parts of it as rules",
                str(name),
                limit="symbols of a rule",
                given=MOST,
                needed=symbols,
            )
        if params:
            spend(_PAID * (count + symbols) * uses.get(str(name), 0))
        else:  # the words themselves are paid for when they are read (`lark_sizes`)
            spend(_PAID * max(count + symbols - 2 * _words(tree), 0))


def _words(tree: Any) -> int:
    return sum(part.data == "value" for part in tree.iter_subtrees())


def size_of(tree: Any) -> tuple[int, int]:
    """The expansions of a rule, and the symbols in them and in what is made of its repetitions."""
    known, more = dict[int, _Size](), 0
    for part in tree.iter_subtrees():  # the innermost first
        sizes = [known.get(id(child), (1, 1)) for child in part.children]
        match part.data:
            case "expansions":
                found = sum(count for count, _ in sizes), sum(symbols for _, symbols in sizes)
            case "expansion":
                found = _row(sizes)
            case "maybe":
                found = sizes[0][0] + 1, 2 * sizes[0][1]
            case "expr":
                found, made = _repeated(sizes[0], [str(each) for each in part.children[1:]])
                more += made
            case _:
                found = sizes[0]
        known[id(part)] = min(found[0], _ENOUGH), min(found[1], _ENOUGH)
    count, symbols = known[id(tree)]
    return count, symbols + more


def _row(sizes: Sequence[_Size]) -> _Size:
    """Each expansion of one before each of the next."""
    count, symbols = 1, 0
    for more, others in sizes:
        count, symbols = count * more, symbols * more + others * count
        count, symbols = min(count, _ENOUGH), min(symbols, _ENOUGH)
    return count, symbols


def _repeated(size: _Size, operator: Sequence[str]) -> tuple[_Size, int]:
    """What takes its place, and the symbols of the rules made for it."""
    count, symbols = size
    match operator:
        case ["?"]:
            return (count + 1, symbols), 0
        case ["~", *numbers]:
            low, high = int(numbers[0]), int(numbers[-1])
            if high < _WRITTEN_OUT:
                rows = [_row([size] * number) for number in range(low, high + 1)]
                return (sum(row[0] for row in rows), sum(row[1] for row in rows)), 0
            return (1, 2), high.bit_length() * _FEW * _row([size] * _FEW)[1]
        case _:
            return (2 if operator == ["*"] else 1, 1), 2 * symbols + count
