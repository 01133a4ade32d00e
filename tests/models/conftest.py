import pytest

from guideway.models.load import load
from guideway.models.transformers import TransformersModel


@pytest.fixture(scope="session")
def smollm2() -> TransformersModel:
    """The built-in model."""
    model = load("smollm2-135m", device="cpu", backend="transformers")
    assert isinstance(model, TransformersModel)
    return model
