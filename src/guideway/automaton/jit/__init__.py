"""The compiler of kernels: a subset of Python to LLVM, and its cache."""
