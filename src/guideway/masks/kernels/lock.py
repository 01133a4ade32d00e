"""How a kernel that holds Python's lock lets other threads run while it works for long.

What Python calls most takes a microsecond or ten: handed over meanwhile, the lock comes back when
the other thread gives it up, after up to five milliseconds. So only what may take long lets go.

What this module does not know: which kernels do.
"""

from typing import Any

from guideway.masks.kernels.views import intrinsic, types


@intrinsic
def release(typing_context: Any) -> Any:
    """Let other threads of Python run; gives what `take_again` needs."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        thread = context.get_python_api(builder).save_thread()
        return builder.ptrtoint(thread, context.get_value_type(signature.return_type))

    return types.int64(), build


@intrinsic
def take_again(typing_context: Any, thread: Any) -> Any:
    """Wait for Python's lock, given what `release` gave."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        python = context.get_python_api(builder)
        python.restore_thread(builder.inttoptr(arguments[0], python.voidptr))
        return context.get_dummy_value()

    return types.void(types.int64), build
