"""Estimate how many expansions Lark makes of a rule, before it makes them.

Lark expands all combinations of options, choices and repetitions up to 50 times: 26 optional parts
in a row give 2^26 expansions. The estimate counts equal expansions twice.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from guideway.syntax.lark_errors import Reading

MOST: Final = 1 << 17
"""Symbols in the expansions of one rule; Lark takes about a second for them."""

_PAID: Final = 2  # budget units per symbol and per expansion, by Lark's time
_ENOUGH: Final = 1 << 40
_WRITTEN_OUT: Final = 50  # from so many repetitions on, Lark makes rules
_FEW: Final = 5  # of so many each

_Size: TypeAlias = tuple[int, int]  # expansions, symbols in all of them


def check_expansions(
    rules: Sequence[Any], uses: Mapping[str, int], spend: Callable[[int], None], reading: Reading
) -> None:
    """Refuse rules with too many expansions; `uses` counts the instances of each template."""
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
        else:  # `lark_sizes` charges for the words themselves
            spend(_PAID * max(count + symbols - 2 * _words(tree), 0))


def _words(tree: Any) -> int:
    return sum(part.data == "value" for part in tree.iter_subtrees())


def size_of(tree: Any) -> tuple[int, int]:
    """Number of expansions of a rule, and of symbols in them and in rules made for repetitions."""
    known, more = dict[int, _Size](), 0
    for part in tree.iter_subtrees():  # innermost first
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
    count, symbols = 1, 0
    for more, others in sizes:
        count, symbols = count * more, symbols * more + others * count
        count, symbols = min(count, _ENOUGH), min(symbols, _ENOUGH)
    return count, symbols


def _repeated(size: _Size, operator: Sequence[str]) -> tuple[_Size, int]:
    """Size of a repetition in its rule, and the symbols of the rules made for it."""
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
