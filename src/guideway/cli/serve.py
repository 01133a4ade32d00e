"""`guideway serve`: a server for OpenAI's clients.

Classifiers are described by files: words with weights, or a model.

    {"words": {"love": 1, "hate": -1}, "alpha": 5}
    {"model": "folder", "label": "toxic", "alpha": -5, "top": 50}

A file is data: nothing in it is run.
"""

import ipaddress
import json
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

import typer

from guideway.cli.console import print_line
from guideway.cli.models import open_model

if TYPE_CHECKING:
    from guideway.logits.classifier import ClassifierTerm
    from guideway.server.settings import Limits

SOURCES: Final = ("words", "model")
OPTIONS: Final = ("alpha", "top", "every", "entropy", "window", "rest", "label", "prompt")


def read_classifier(file: str) -> "ClassifierTerm":
    """The classifier that a file describes, with its weight.

    Raises:
        BadParameter: the file is not of the form above.
        ModelError, LimitError: a value of it is wrong.
    """
    import guideway
    from guideway.models.load import load_classifier

    try:
        read: object = json.loads(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _wrong(file, str(error)) from None
    given = dict(cast("dict[str, Any]", read)) if isinstance(read, dict) else {}
    sources = [name for name in SOURCES if name in given]
    if len(sources) != 1 or "alpha" not in given:
        raise _wrong(file, "it needs words or a model, and alpha, its weight")
    if unknown := [name for name in given if name not in (*SOURCES, *OPTIONS)]:
        raise _wrong(file, f"{unknown[0]} is unknown; known are {', '.join((*SOURCES, *OPTIONS))}")
    source: Any = given.pop(sources[0])
    if sources[0] == "model":
        source = load_classifier(str(source))
    return guideway.classifier(source, **given)


def _wrong(file: str, why: str) -> typer.BadParameter:
    return typer.BadParameter(f"--classifier {file}: {why}")


KEYS: Final = "GUIDEWAY_API_KEYS"
LEVELS: Final = ("debug", "info", "warning", "error")
DRAIN: Final = 30  # seconds that running requests have after a signal


def serve(
    model: Annotated[
        str, typer.Argument(help="A built-in name, a Hub id, a folder or a .gguf file.")
    ],
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen at.", min=0, max=65535)] = 8000,
    name: Annotated[
        str | None, typer.Option(help="What clients call the model. Default: MODEL.")
    ] = None,
    api_key: Annotated[
        list[str] | None,
        typer.Option(
            help="A key that clients must send, or @FILE with a key in each line; may be repeated. "
            f"The variable {KEYS} has keys too, with commas between them."
        ),
    ] = None,
    expert: Annotated[
        list[str] | None,
        typer.Option(help="NAME=MODEL: another model for `guidance`; may be repeated."),
    ] = None,
    classifier: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=FILE.json: a classifier for `classifier`, of words with weights or of a "
            "model; may be repeated. The guide to the server says what the file holds."
        ),
    ] = None,
    watermark: Annotated[
        list[str] | None,
        typer.Option(help="ID=@FILE: a watermark and the file of its key; may be repeated."),
    ] = None,
    tools: Annotated[
        str, typer.Option(help="The format in which the model calls tools: hermes, llama3, …")
    ] = "hermes",
    thinking: Annotated[
        bool, typer.Option("--thinking", help="The model reasons between <think> and </think>.")
    ] = False,
    max_tokens: Annotated[int, typer.Option(help="Tokens of a text, at most.", min=1)] = 1024,
    max_batch: Annotated[int, typer.Option(help="Texts that run at once.", min=1)] = 16,
    queue: Annotated[
        int, typer.Option(help="Texts that wait beyond those; more get 429.", min=0)
    ] = 64,
    timeout: Annotated[float, typer.Option(help="Seconds of a request, at most.", min=1)] = 300.0,
    allowed_hosts: Annotated[
        list[str] | None,
        typer.Option(
            help="A name under which clients reach the server, beside HOST and localhost; may be "
            "repeated. Without keys, requests to other names are refused."
        ),
    ] = None,
    cors: Annotated[
        list[str] | None,
        typer.Option(help="An origin that browsers may send requests from; may be repeated."),
    ] = None,
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "info",
    log_texts: Annotated[
        bool, typer.Option("--log-texts", help="Log requests and texts, not only their numbers.")
    ] = False,
) -> None:
    """Serve MODEL to every client that speaks OpenAI's protocol."""
    from guideway.extras import require

    require("server", "guideway serve")
    keys = read_keys(api_key or [], os.environ.get(KEYS, ""))
    if not keys and not is_local(host):
        raise typer.BadParameter(
            f"{host} can be reached from elsewhere: give an --api-key, or listen at 127.0.0.1"
        )
    if log_level not in LEVELS:
        raise typer.BadParameter(f"--log-level is {log_level!r}: it must be {', '.join(LEVELS)}")
    import uvicorn

    import guideway
    from guideway.server import JsonLines, Limits, Names, create_app
    from guideway.server.connections import Connection

    logs = logging.StreamHandler()
    logs.setFormatter(JsonLines())
    logging.basicConfig(handlers=[logs], level=log_level.upper())

    logging.getLogger("uvicorn.error").setLevel(max(logging.WARNING, logging.root.level))
    whole = open_model(model)
    names = Names(
        models=pairs("--expert", expert, open_model),
        watermarks=pairs("--watermark", watermark, lambda key: guideway.Watermark(key=secret(key))),
        classifiers=pairs("--classifier", classifier, read_classifier),
        tools=tools,
        thinking=("<think>", "</think>") if thinking else None,
    )
    limits = Limits(tokens=max_tokens, queue=queue, timeout=timeout)
    served = name or Path(model).name
    with guideway.Engine(whole, max_batch=max_batch) as engine:
        app = create_app(
            engine,
            name=served,
            keys=keys,
            hosts=hosts_of(host, allowed_hosts or [], keyed=bool(keys)),
            names=names,
            limits=limits,
            origins=cors or [],
            log_texts=log_texts,
        )
        guideway.warmup()  # the first request does not wait for it
        for line in greeting(served, host, port, keyed=bool(keys), limits=limits, batch=max_batch):
            print_line(line)
        how: dict[str, Any] = {"log_config": None, "access_log": False}  # the application logs
        how |= {"http": Connection, "timeout_graceful_shutdown": DRAIN}
        uvicorn.run(app, host=host, port=port, **how)
        engine.close(cancel=True)


def read_keys(given: list[str], variable: str) -> list[str]:
    """Keys as options, from files, and from the environment.

    >>> read_keys(["a"], "b, c")
    ['a', 'b', 'c']
    """
    found = list[str]()
    for key in given:
        found += Path(key[1:]).read_text().splitlines() if key.startswith("@") else [key]
    found += variable.split(",")
    return [key.strip() for key in found if key.strip()]


def is_local(host: str) -> bool:
    """Return True for a loopback address, which other machines cannot reach.

    >>> is_local("127.0.0.1"), is_local("localhost"), is_local("0.0.0.0")
    (True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def hosts_of(host: str, allowed: list[str], *, keyed: bool) -> list[str]:
    """The names under which a server may be reached; [] for all.

    >>> hosts_of("127.0.0.1", ["box"], keyed=False)
    ['127.0.0.1', 'localhost', '127.0.0.1', '::1', 'box']
    >>> hosts_of("0.0.0.0", [], keyed=True)
    []
    """
    return [] if keyed and not allowed else [host, "localhost", "127.0.0.1", "::1", *allowed]


def pairs(option: str, given: list[str] | None, read: Callable[[str], Any]) -> dict[str, Any]:
    """NAME=VALUE of an option that may be repeated, with `read` of each value."""
    found = [each.partition("=") for each in given or []]
    for name, equals, value in found:
        if not (name and equals and value):
            raise typer.BadParameter(f"{option} needs NAME=VALUE, not {name!r}")
    return {name: read(value) for name, _, value in found}


def secret(written: str) -> int:
    """The key of a watermark: a number in a file, so that it is in no list of processes."""
    text = Path(written.removeprefix("@")).read_text().strip() if written[:1] == "@" else ""
    if not text.isdigit():
        raise typer.BadParameter("--watermark needs ID=@FILE, and a number in the file")
    return int(text)


def greeting(
    name: str, host: str, port: int, *, keyed: bool, limits: "Limits", batch: int
) -> list[str]:
    """Return the lines to print at the start: model, address, limits, page, example request."""
    address = f"http://{host}:{port}"
    key = ' -H "Authorization: Bearer $KEY"' if keyed else ""
    body = f'{{"model": "{name}", "messages": [{{"role": "user", "content": "Hello"}}]}}'
    to = f"curl {address}/v1/chat/completions{key}"
    return [
        f"{name} at {address}/v1",
        f"{batch} texts at once, {limits.queue} waiting, {limits.tokens} tokens a text, "
        f"{limits.timeout:g} seconds a request",
        f"{address}/ is a page that shows why each token came",
        f"{to} -H 'Content-Type: application/json' -d '{body}'",
    ]
