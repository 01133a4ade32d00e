"""What reading a part leaves of `Unlike`."""

from guideway.lowering.json_atoms import Among
from guideway.lowering.json_formulas import TRUE, Formula, all_of, any_of, leaf
from guideway.lowering.json_given import Unlike
from guideway.lowering.json_progress import now
from guideway.lowering.json_values import Exact, array, items_of, members_of, object_of


def unlike_member(values: frozenset[Exact], name: str | None) -> Formula:
    """What is left of `Unlike` when a member `name` is read; None is a name in none of them."""
    groups: dict[Exact, list[Exact]] = {}
    for value in values:
        members = members_of(value)
        part = None if name is None else members.pop(name, None)
        if part is not None:
            groups.setdefault(part, []).append(object_of(members.items()))
    return _split(groups)


def unlike_item(values: frozenset[Exact]) -> Formula:
    """What is left of `Unlike` when an item is read."""
    groups: dict[Exact, list[Exact]] = {}
    for value in values:
        items = items_of(value)
        if items:
            groups.setdefault(items[0], []).append(array(items[1:]))
    return _split(groups)


def _split(groups: dict[Exact, list[Exact]]) -> Formula:
    if not groups:
        return TRUE
    agreeing = (
        all_of(now(leaf(Among(frozenset((part,))))), leaf(Unlike(frozenset(rests))))
        for part, rests in groups.items()
    )
    return any_of(now(Among(frozenset(groups)).opposite()), *agreeing)
