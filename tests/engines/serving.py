"""A server in a process of its own, for tests whose environment has a client only.

`python tests/engines/serving.py` serves a fake model whose tokens are bytes, and prints its port.
"""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = "GUIDEWAY_SERVER_PYTHON"  # the interpreter with guideway[server]


@contextlib.contextmanager
def serving(*options: str) -> Iterator[str]:
    """Start the server, and yield its address."""
    python = os.environ.get(PYTHON, sys.executable)
    paths = os.pathsep.join((str(ROOT / "src"), str(ROOT / "tests")))
    process = subprocess.Popen(
        [python, __file__, *options],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": paths},
        text=True,
    )
    try:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        assert port.isdigit(), "the server has not started"
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.communicate(timeout=60)


def main(thinking: bool) -> None:
    """Serve until a signal."""
    import socket

    import uvicorn

    import guideway as gw
    from guideway.server import Limits, Names, create_app
    from server.served import model

    with socket.socket() as listening, gw.Engine(model(), max_batch=4) as engine:
        names = Names(
            models={"expert": model(2)},
            watermarks={"w": gw.Watermark(key=5)},
            thinking=("<think>", "</think>") if thinking else None,
        )
        limits = Limits(compiling=60, tokens=2000)
        app = create_app(engine, name="fake", keys=["k"], names=names, limits=limits)
        listening.bind(("127.0.0.1", 0))
        sys.stdout.write(f"{listening.getsockname()[1]}\n")
        sys.stdout.flush()
        config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=5)
        uvicorn.Server(config).run(sockets=[listening])
        engine.close(cancel=True)


if __name__ == "__main__":
    main("--thinking" in sys.argv)
