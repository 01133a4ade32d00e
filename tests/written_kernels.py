"""Kernels that tests write: modules of a text, and their compiled functions."""

from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from guideway.automaton.jit.operands import Inner
from guideway.automaton.jit.statements import Kernels

HEAD = """
import numpy as np
from guideway.automaton.jit.records import *
from guideway.automaton.jit.operands import *
from guideway.automaton.jit.operands import inner, once

THREE = 3
BELOW = -5
YES = True
"""


def module_of(text: str, folder: Path, name: str = "written") -> ModuleType:
    """A module of this text, behind the usual names."""
    path = folder / f"{name}.py"
    path.write_text(HEAD + text)
    spec = spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compiled(inner: Inner) -> Callable[..., Any]:
    """The same function as a kernel, for Python to call."""
    kernels = Kernels(holding=[inner])
    return kernels.loaded(kernels.machine_code())[inner.code.__name__]
