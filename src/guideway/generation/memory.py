"""Peak memory of a generation."""

import sys

import torch


def peak_memory(device: torch.device) -> int:
    """Most bytes used so far: by torch on a GPU, else by the process; 0 if unknown."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    try:
        import resource
    except ImportError:  # not on Windows
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024  # bytes there, kilobytes elsewhere
