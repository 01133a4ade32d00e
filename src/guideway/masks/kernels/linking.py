"""Kernels as one LLVM module, its machine code, and Python functions that call it.

A kernel is called through a door: a C function with METH_FASTCALL arguments. It reads numbers with
PyLong_AsLongLong, and addresses and lengths from the documented fields of numpy's PyArrayObject. A
call takes 0.1 us. Doors do not check types: only the annotated callers in `masks` call kernels.
"""

import ctypes
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from typing import Any, Final, cast, final

from guideway.masks.kernels.declarations import Inner
from guideway.masks.kernels.statements import Translation, definitions_in

_llvm: Any = import_module("llvmlite.binding")
_OF_PYTHON: Final = {  # functions of CPython's C API, with their types
    "PyLong_AsLongLong": "i64 {}(ptr)",
    "PyLong_FromLongLong": "ptr {}(i64)",
    "PyEval_SaveThread": "ptr {}()",
    "PyEval_RestoreThread": "void {}(ptr)",
}
DECLARATIONS: Final = (
    "declare i64 @llvm.abs.i64(i64, i1)",
    "declare i64 @llvm.ctpop.i64(i64)",
    "declare i64 @llvm.cttz.i64(i64, i1)",
    "declare i64 @llvm.smax.i64(i64, i64)",
    "declare i64 @llvm.smin.i64(i64, i64)",
    *(f"declare {kind.format('@' + name)}" for name, kind in _OF_PYTHON.items()),
)
_PASSES: Final = (
    "always_inliner",
    "global_dead_code_eliminate",
    "sroa",
    "simplify_cfg",
    "instruction_combine",
    "new_gvn",
    "simplify_cfg",
)
_FASTCALL: Final = 0x80
_kept: Final[list[Any]] = []  # machine code and method definitions, kept alive


class _Definition(ctypes.Structure):
    """PyMethodDef of CPython's C API."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


@final
class Kernels:
    """Declared functions with at most one result, which Python calls once they are loaded.

    `holding` ones keep the GIL. They take a few microseconds, and another thread would keep the GIL
    for much longer. `letting` ones release it.
    """

    def __init__(
        self,
        holding: Iterable[Callable[..., Any]] = (),
        letting: Iterable[Callable[..., Any]] = (),
    ) -> None:
        declared = [(part, True) for part in holding] + [(part, False) for part in letting]
        kernels = cast("list[tuple[Inner, bool]]", declared)
        self._kernels = {inner.code.__name__: (inner, holds) for inner, holds in kernels}

    def machine_code(self) -> bytes:
        """The object file of all kernels and of the functions that they call."""
        needed = _all_called(inner for inner, _ in self._kernels.values())
        texts = [*DECLARATIONS, *(_translation(inner).text for inner in needed)]
        texts += (_door(name, *kernel) for name, kernel in self._kernels.items())
        _translation.cache_clear()
        definitions_in.cache_clear()
        machine, module = _machine(), _llvm.parse_assembly("\n".join(texts))
        builder = _llvm.create_pass_builder(machine, _llvm.PipelineTuningOptions())
        passes = _llvm.create_new_module_pass_manager()
        for name in _PASSES:
            getattr(passes, f"add_{name}_pass")()
        passes.run(module, builder)
        return cast("bytes", machine.emit_object(module))

    def loaded(self, code: bytes) -> dict[str, Callable[..., Any]]:
        """The functions of an object file, by name."""
        for name in _OF_PYTHON:
            address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
            _llvm.add_symbol(name, address)
        engine = _llvm.create_mcjit_compiler(_llvm.parse_assembly(""), _machine())
        engine.add_object_file(_llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        _kept.append(engine)
        return {name: _function(engine, name) for name in self._kernels}


def _machine() -> Any:
    """Target machine of this processor; opt=1 is "less", LLVM's second of four levels."""
    _llvm.initialize_native_target()
    _llvm.initialize_native_asmprinter()
    features = _llvm.get_host_cpu_features().flatten()
    target = _llvm.Target.from_default_triple()
    return target.create_target_machine(_llvm.get_host_cpu_name(), features, opt=1, jit=True)


def _all_called(called: Iterable[Inner]) -> dict[Inner, None]:
    """These functions and all that they call."""
    found = dict.fromkeys(called)
    waiting = list(found)
    while waiting:
        for callee in _translation(waiting.pop()).callees:
            if callee not in found:
                found[callee] = None
                waiting.append(callee)
    return found


@cache
def _translation(inner: Inner) -> Translation:
    return Translation(inner)


def _door(name: str, inner: Inner, holds: bool) -> str:
    """The C function through which CPython calls a kernel; returns 0 without a result."""
    lines, given = list[str](), list[str]()
    head = object.__basicsize__  # then: char *data; int nd; npy_intp *dimensions
    for index, kind in enumerate(inner.parameters.values()):
        lines.append(f"%a{index} = getelementptr ptr, ptr %arguments, i64 {index}")
        lines.append(f"%o{index} = load ptr, ptr %a{index}")
        if kind.rstrip("*[]") == kind:
            lines.append(f"%v{index} = call i64 @PyLong_AsLongLong(ptr %o{index})")
            given.append(f"i64 %v{index}")
            continue
        lines.append(f"%d{index} = getelementptr i8, ptr %o{index}, i64 {head}")
        lines.append(f"%v{index} = load ptr, ptr %d{index}")
        given.append(f"ptr %v{index}")
        if kind.endswith("[]"):
            lines.append(f"%s{index} = getelementptr i8, ptr %o{index}, i64 {head + 16}")
            lines.append(f"%l{index} = load ptr, ptr %s{index}")
            lines.append(f"%n{index} = load i64, ptr %l{index}")
            given.append(f"i64 %n{index}")
    call = f'call {inner.result_type} @"{inner.symbol}"({", ".join(given)})'
    lines.append(f"%found = {call}" if inner.results else call)
    if not holds:
        lines.insert(-1, "%thread = call ptr @PyEval_SaveThread()")
        lines.append("call void @PyEval_RestoreThread(ptr %thread)")
    result = "%found" if inner.results else "0"
    lines.append(f"%result = call ptr @PyLong_FromLongLong(i64 {result})")
    body = "\n  ".join((*lines, "ret ptr %result"))
    return f"define ptr @{name}(ptr %self, ptr %arguments, i64 %count) {{\n  {body}\n}}\n"


def _function(engine: Any, name: str) -> Callable[..., Any]:
    definition = _Definition(name.encode(), engine.get_function_address(name), _FASTCALL, None)
    _kept.append(definition)
    made = ctypes.pythonapi.PyCFunction_NewEx
    made.restype, made.argtypes = ctypes.py_object, [ctypes.c_void_p] * 3
    return cast("Callable[..., Any]", made(ctypes.addressof(definition), None, None))
