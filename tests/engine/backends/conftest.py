import pytest

from guideway.engine.backends.load import load
from guideway.engine.backends.transformers import TransformersModel


@pytest.fixture(scope="session")
def smollm2() -> TransformersModel:
    """The built-in model."""
    return load("smollm2-135m", device="cpu")
