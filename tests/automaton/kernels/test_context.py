"""What kernels find in the context of an automaton is there alone."""

import ast
from collections import defaultdict
from importlib import import_module
from pathlib import Path

from guideway.automaton.kernels import layout

FOLDER = Path(str(layout.__file__)).parent
OTHERS = ("record_layout",)  # of contexts of their own
VIEWS = ("int32s", "int64s", "uint8s", "uint16s", "uint32s", "uint64s")


def places(path: Path) -> set[str]:
    """The names of the slots that a module reads or writes."""
    found = set[str]()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "context":
            found |= {ast.unparse(node.slice)}
        if isinstance(node, ast.Call) and ast.unparse(node.func) in VIEWS:
            found |= (
                {ast.unparse(node.args[1])} if ast.unparse(node.args[0]) == "context" else set()
            )
    return {name for name in found if name.isupper() or name.startswith("at.")}


def test_no_two_names_are_one_place_in_the_context() -> None:
    taken = defaultdict[int, set[str]](set)
    for path in FOLDER.glob("*.py"):
        module = import_module(f"guideway.automaton.kernels.{path.stem}")
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        known = {
            alias.asname or alias.name: alias.name
            for node in imports
            if not (node.module or "").endswith(OTHERS)
            for alias in node.names
        }
        known |= {
            ast.unparse(one.target): "" for one in tree.body if isinstance(one, ast.AnnAssign)
        }
        for name in places(path):
            short = name.removeprefix("at.")
            if short != name and vars(module)["at"] is layout:
                taken[vars(layout)[short]] |= {short}
            elif name in known:
                taken[vars(module)[name]] |= {known[name] or name}
    assert len(taken) > 150
    assert [names for names in taken.values() if len(names) > 1] == []
    assert max(taken) < layout.CONTEXT_SIZE
