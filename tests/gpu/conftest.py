"""Tests that need a GPU: what it does is what the CPU does. Without one they are skipped."""

import pytest
import torch


@pytest.fixture(scope="session")
def gpu() -> torch.device:
    """The GPU."""
    if not torch.cuda.is_available():
        pytest.skip("there is no CUDA device")
    return torch.device("cuda")
