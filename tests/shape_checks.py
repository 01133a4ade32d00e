"""Annotations of arrays are checked while tests run: in each test some calls of each function.

jaxtyping's import hook (`--jaxtyping-packages` in pyproject.toml) lets beartype check every call of
every function, which made generating five times as slow: a call takes 0.1 ms more, and functions
within functions, compiled anew each time they are defined, milliseconds. So in each test the first
calls of a function are checked and a few of the rest. `SHAPES=all` checks every one.
"""

import os
from collections import Counter
from functools import partial, wraps
from types import CodeType, FunctionType
from typing import Any, Final

import jaxtyping

FIRST: Final = 4
THEN_EVERY: Final = 32
NESTED: Final = 1  # definitions of a function within a function

_all: Final = jaxtyping.jaxtyped
_calls: Final = Counter[CodeType]()


def install() -> None:
    """From now on what the import hook decorates is checked some of the time."""
    if os.environ.get("SHAPES") != "all":
        jaxtyping.jaxtyped = some


def begin_test() -> None:
    """Each test begins with calls that are checked."""
    _calls.clear()


def some(given: Any = None, *, typechecker: Any) -> Any:
    """`jaxtyping.jaxtyped`, for some calls of each function."""
    if given is None:
        return partial(some, typechecker=typechecker)
    if isinstance(given, FunctionType):
        if "<locals>" not in given.__qualname__:
            return _sampled(given, _all(given, typechecker=typechecker))
        _calls[given.__code__] += 1
        return _all(given, typechecker=typechecker) if _calls[given.__code__] <= NESTED else given
    if not isinstance(given, type):
        return _all(given, typechecker=typechecker)
    plain = given.__init__
    checked = _all(given, typechecker=typechecker).__init__
    if checked is not plain:
        given.__init__ = _sampled(plain, checked)
    return given


def _sampled(plain: Any, checked: Any) -> Any:
    code = plain.__code__

    @wraps(plain)
    def sampled(*args: Any, **kwargs: Any) -> Any:
        number = _calls[code]
        _calls[code] = number + 1
        if number < FIRST or number % THEN_EVERY == 0:
            return checked(*args, **kwargs)
        return plain(*args, **kwargs)

    return sampled
