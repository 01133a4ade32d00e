"""One answer of Outlines, in a process and an environment of its own. JSON in, JSON out:

    {"folder": of the model, "task": in MODELS, "prompt": text, "max_new_tokens": count}
    {"text": the answer, "seconds": compiling and generating, "cpu_seconds": the same of processors}

What is slow only once in a process is done before the clock starts: the weights are loaded, and one
token is generated. Nothing of guideway is imported.
"""

import json
import sys
import time
from typing import Any

from benchmarks.extraction.models import MODELS


def answer(job: dict[str, Any]) -> dict[str, Any]:
    """What Outlines writes, greedily."""
    import outlines  # pyright: ignore[reportMissingImports]
    import torch
    from transformers.models.auto import modeling_auto, tokenization_auto

    folder = job["folder"]
    tokenizer = tokenization_auto.AutoTokenizer.from_pretrained(folder)
    models: Any = modeling_auto.AutoModelForCausalLM
    module = models.from_pretrained(folder, dtype=torch.float32)
    warm = tokenizer(job["prompt"], return_tensors="pt")
    module.generate(**warm, max_new_tokens=1, do_sample=False)
    model = outlines.from_transformers(module, tokenizer)
    began, cpu = time.perf_counter(), time.process_time()
    generator = outlines.Generator(model, MODELS[job["task"]])
    text = generator(job["prompt"], max_new_tokens=job["max_new_tokens"], do_sample=False)
    return {
        "text": text,
        "seconds": time.perf_counter() - began,
        "cpu_seconds": time.process_time() - cpu,
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(answer(json.load(sys.stdin))))
