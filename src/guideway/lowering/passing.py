"""Sort alternatives by whether they can be passed without a byte."""

from collections.abc import Iterable

from guideway.lowering.nodes import Ahead, Alt, Concat, Expr, Stop


def looking_apart(
    options: Iterable[Expr],
) -> tuple[dict[Ahead, list[Expr | None]], list[Expr], list[Expr]]:
    """Sort by head: what follows each Ahead; others that can be passed; the rest."""
    looking: dict[Ahead, list[Expr | None]] = {}
    passed: list[Expr] = []
    others: list[Expr] = []
    for option in options:
        head, rest = (option.head, option.tail) if isinstance(option, Concat) else (option, None)
        if isinstance(head, Ahead):
            looking.setdefault(head, []).append(rest)
        else:
            (passed if option.yields else others).append(option)
    return looking, passed, others


def ending_apart(options: Iterable[Expr]) -> tuple[list[Expr], list[Expr]]:
    """Options that can be passed, or reach a Stop; and the others."""
    ending: list[Expr] = []
    others: list[Expr] = []
    for option in options:
        (ending if option.yields or meets_stop(option) else others).append(option)
    return ending, others


def meets_stop(root: Expr) -> bool:
    """Whether a Stop may be met in `root` before any byte."""
    todo, seen = [root], set[Expr]()
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, Stop):
            return True
        if isinstance(node, Alt):
            todo.extend(option for option in node.options if option.looks)
        elif isinstance(node, Concat):
            todo.append(node.head)
            if node.head.nullable or node.head.yields:
                todo.append(node.tail)
    return False
