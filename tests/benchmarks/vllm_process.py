"""vLLM in an environment of its own, for `requests`: `PYTHON vllm_process.py FOLDER`.

It needs vLLM only. A line of standard input is a list of requests in JSON: `prompt`, `pattern` (a
regex), and arguments of `SamplingParams`. The answer is a line with the number of tokens and the
processor seconds. The first answer, "ready", comes when the weights are loaded.
"""

import json
import os
import sys
import time
from typing import Any

os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "2")
os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")


def main(folder: str) -> None:
    """Answer until standard input ends."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # vLLM writes there too
    from vllm import LLM, SamplingParams  # pyright: ignore[reportMissingImports]
    from vllm.sampling_params import (  # pyright: ignore[reportMissingImports]
        StructuredOutputsParams,
    )

    engine: Any = LLM(
        model=folder, dtype="float32", max_num_seqs=16, max_model_len=1024, enforce_eager=True
    )
    print("ready", file=answers)
    for line in sys.stdin:
        asked = json.loads(line)
        params = [
            SamplingParams(
                structured_outputs=StructuredOutputsParams(regex=each["pattern"]),
                **each["arguments"],
            )
            for each in asked
        ]
        began = time.process_time()
        found = engine.generate([each["prompt"] for each in asked], params, use_tqdm=False)
        tokens = sum(len(each.outputs[0].token_ids) for each in found)
        print(json.dumps([tokens, time.process_time() - began]), file=answers)


if __name__ == "__main__":
    main(sys.argv[1])
