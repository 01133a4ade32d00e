"""The distribution as users get it: built, installed into an empty environment, and used.

    python tests/wheel.py

The sdist and, from it, the wheel are built. The wheel is installed into a new environment without
extras: there masks are computed, and torch cannot be imported. Then its extras `torch` and `cli`
are installed, and the first command of README.md runs. For these the packages of the running
environment are made visible, which has them: pip checks them against what the wheel asks for, and
fetches only what is missing. A second torch would take 200 MB or more and minutes.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path
from typing import Final

from guideway.vocabulary.cache import cache_folder

ROOT: Final = Path(__file__).resolve().parent.parent
HEAVY: Final = ("torch", "transformers", "tokenizers", "gguf", "typer", "rich", "jaxtyping")
CORE: Final = f"""
import sys
from importlib.util import find_spec
import numpy as np
import guideway as gw

vocabulary = gw.Vocabulary([*(bytes([byte]) for byte in range(256)), b"<end>"], eos_ids={{256}})
schema = {{"type": "object", "properties": {{"age": {{"type": "integer"}}}}, "required": ["age"]}}
matcher = gw.Matcher(gw.compile(gw.JsonSchema(schema, whitespace="compact"), vocabulary))
bitmask = gw.allocate_token_bitmask(1, vocabulary.width)
gw.fill_bitmask([matcher], bitmask)
logits = np.zeros((1, vocabulary.width))
gw.apply_token_bitmask_inplace(logits, bitmask)
assert np.flatnonzero(np.isfinite(logits[0])).tolist() == [ord("{{")], logits
for name in {HEAVY}:
    assert name not in sys.modules and find_spec(name) is None, name
try:
    gw.load
except gw.ModelError as error:
    assert str(error).endswith('pip install "guideway[torch]"'), error
else:
    raise AssertionError("guideway.load needs no torch")
print(gw.__version__, gw.__file__)
"""


def main() -> None:
    """Build, install, use.

    Raises:
        AssertionError: something is not in the distribution, or does not do what it should.
        CalledProcessError: a command fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        run(sys.executable, "-m", "build", "--outdir", str(work / "dist"), str(ROOT), cwd=work)
        (sdist,), (wheel,) = (list((work / "dist").glob(form)) for form in ("*.tar.gz", "*.whl"))
        look_into(sdist, wheel)
        venv.create(work / "venv", with_pip=True)
        (python,) = (work / "venv").glob("bin/python")
        run(str(python), "-m", "pip", "install", "--quiet", str(wheel), cwd=work)
        said = run(str(python), "-c", CORE, cwd=work)
        assert str(work) in said, said
        refused = run(str(python.with_name("guideway")), "--help", cwd=work, status=3)
        assert 'pip install "guideway[cli]"' in refused, refused
        (work / "cache").mkdir(exist_ok=True)
        models = cache_folder("models")  # the built-in model is there, or will be
        models.mkdir(parents=True, exist_ok=True)
        (work / "cache" / "models").symlink_to(models)
        with_extras(python, wheel, work)
        shutil.copytree(ROOT / "examples", work / "examples")
        command = first_command()
        found = run(str(python.with_name("guideway")), *command, cwd=work)
        assert '"name": "Maria Lopez"' in found, found
        sys.stdout.write(f"{wheel.name}: {said}guideway {' '.join(command)}\n{found}")


def look_into(sdist: Path, wheel: Path) -> None:
    """Check that files which are no modules are there."""
    with zipfile.ZipFile(wheel) as archive:
        packed = set(archive.namelist())
    data = {"py.typed", "grammars/json.lark", "generation/row/tokens.js", "server/page/index.html"}
    assert {f"guideway/{name}" for name in data} <= packed, sorted(packed)
    with tarfile.open(sdist) as archive:
        sources = {name.partition("/")[2] for name in archive.getnames()}
    assert {"README.md", "LICENSE", "CHANGELOG.md", "tests/run.py"} <= sources, sorted(sources)


def with_extras(python: Path, wheel: Path, work: Path) -> None:
    """Install the extras of the wheel, with the packages of the running environment in sight."""
    inner = run(
        str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=work
    ).strip()
    visible = f"{sysconfig.get_path('purelib')}\n{sysconfig.get_path('platlib')}\n"
    (Path(inner) / "running.pth").write_text(visible, encoding="utf-8")
    run(str(python), "-m", "pip", "install", "--quiet", f"{wheel}[torch,cli]", cwd=work)


def first_command() -> list[str]:
    """The arguments of `guideway` in the first command of README.md."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"^python3 -m venv .* && guideway (.*)$", text, re.MULTILINE)
    assert found is not None
    return found[1].split()


def run(*command: str, cwd: Path, status: int = 0) -> str:
    """What a command prints; it sees nothing of this checkout, and has a cache of its own."""
    environment = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    environment["GUIDEWAY_CACHE"] = str(cwd / "cache")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    done = subprocess.run(command, cwd=cwd, env=environment, text=True, check=False, **pipes)
    if done.returncode != status:
        sys.stderr.write(done.stdout)
        raise subprocess.CalledProcessError(done.returncode, command)
    return done.stdout


if __name__ == "__main__":
    main()
