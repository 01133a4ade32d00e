"""The compiler of kernels: functions in a subset of Python become LLVM, then machine code.

    records         structures that Python and kernels share, with fields by name
    operands        `@inner` declares a kernel; types and operands in LLVM
    statements      expressions and statements; `Kernels` compiles, and makes functions to call
    cache           machine code in the user's cache folder

It knows nothing of masks: the kernels are in `automaton.kernels`.
"""
