"""Count the rules that templates expand to, before Lark expands them.

Lark does not terminate on a template that uses itself with ever larger arguments.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from guideway.syntax.lark_errors import Reading

MOST_RULES: Final = 4096
LONGEST: Final = 1 << 16  # characters of the name of an instance


def check_templates(rules: Sequence[Any], reading: Reading) -> Counter[str]:
    """Count the instances of each template; refuse too many, or too long names."""
    templates = {str(name): (params, tree) for name, params, tree, _ in rules if params}
    todo = [(tree, dict[str, str]()) for _, params, tree, _ in rules if templates and not params]
    seen, uses = set[str](), Counter[str]()
    for tree, names in todo:  # grows
        said = dict[int, str]()
        for part in tree.iter_subtrees():
            children = [_name(child, said, names) for child in part.children]
            if part.data != "template_usage":
                said[id(part)] = children[0] if len(children) == 1 else str(part.data)
                continue
            template, *arguments = children
            rule = said[id(part)] = f"{template}{{{','.join(arguments)}}}"
            if rule in seen or template not in templates:
                continue
            seen.add(rule)
            uses[template] += 1
            if len(seen) > MOST_RULES or len(rule) > LONGEST:
                raise reading.exceeded(
                    f"the template {template!r} comes to more rules, or longer names of them, than "
                    f"there may be, {MOST_RULES} and {LONGEST} characters: {rule:.60}",
                    template,
                    limit="rules of templates",
                    given=MOST_RULES,
                )
            params, inside = templates[template]
            todo.append((inside, dict(zip(map(str, params), arguments, strict=False))))
    return uses


def check_arguments(rules: Sequence[Any], defined: Sequence[Any], reading: Reading) -> None:
    """Refuse templates used without arguments: Lark leaves their rules undefined."""
    known = {rule.origin for rule in rules}
    for symbol in (symbol for rule in rules for symbol in rule.expansion):
        if not symbol.is_term and symbol not in known:
            name = str(symbol.name)
            params = next((", ".join(each[1]) for each in defined if each[0] == name), "")
            found = re.search(rf"(?<!\w){re.escape(name)}(?!\w|\s*\{{)", reading.text)
            raise reading.placed(
                f"the template {name} stands without what goes in its braces: {name}{{{params}}}",
                None if found is None else found.start(),
            )


def _name(child: Any, said: Mapping[int, str], names: Mapping[str, str]) -> str:
    """Name of a part of a rule, with parameters replaced by arguments."""
    found = said.get(id(child))
    if found is not None:
        return found
    name = str(getattr(child, "name", child))
    return names.get(name, name)
