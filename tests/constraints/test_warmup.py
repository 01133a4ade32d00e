"""Warming up changes nothing but the time of the first call."""

import subprocess
import sys

CODE = """
import sys
import fairlead as fl

vocabulary = fl.Vocabulary([bytes((b,)) for b in range(256)])
fl.warmup()
opened = []
sys.addaudithook(lambda event, args: opened.append(args) if event in {"open", "import"} else None)
for source in (fl.Regex(r"[a-z]+ \\\\w"), fl.JsonSchema({"type": "string", "format": "date"})):
    constraint = fl.compile(source, vocabulary)
    constraint.mask(constraint.start())
sys.exit(f"opened {opened}" if opened else 0)
"""


def test_after_it_compiling_and_masking_open_nothing():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
