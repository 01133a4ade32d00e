"""A folder with a tiny model for engines that make its weights up.

Random weights choose among 49,152 tokens with equal chance, so each mask counts, and a step takes
milliseconds. GUIDEWAY_ENGINE_MODEL names a folder with another model, which is loaded.
"""

import json
import os
import shutil
from pathlib import Path

from guideway.models.builtin import builtin_folder

SIZES = {
    "hidden_size": 128,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 64,
}


def model(folder: Path) -> tuple[str, str]:
    """The folder of a model, and vLLM's `load_format` of it."""
    if given := os.environ.get("GUIDEWAY_ENGINE_MODEL"):
        return given, "auto"
    for file in builtin_folder().iterdir():
        if file.suffix in (".json", ".jinja"):
            shutil.copy(file, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | SIZES))
    return str(folder), "dummy"
