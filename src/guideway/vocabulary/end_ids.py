"""Ids that end a text.

The tokenizer's configuration, the generation configuration and the chat template may name different
ids, and a missed one is a text that never stops, so all are used, unless the caller names them.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from guideway.errors import ModelError, brief
from guideway.sources.names import did_you_mean

# Names of end tokens in use, for a tokenizer that comes without any configuration.
KNOWN: Final = (
    "<|eot_id|>",
    "<|end_of_text|>",
    "<|im_end|>",
    "<|endoftext|>",
    "<end_of_turn>",
    "<eos>",
    "</s>",
)

# The reply in a conversation that is rendered to see what closes it: a word no template contains.
REPLY: Final = "Guideway"


def named_ends(eos: str | int | Iterable[str | int], ids: Mapping[str, int]) -> frozenset[int]:
    """End ids named by a caller: tokens or ids.

    >>> sorted(named_ends(["</s>", 7], {"</s>": 2}))
    [2, 7]
    """
    several = [eos] if isinstance(eos, str | int) else eos
    if not isinstance(several, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ModelError(f"eos must be a token's name, an id, or a list of them, not {brief(eos)}")
    return frozenset(_id_of(one, ids, "eos") for one in several)


def ends_beside(folder: Path | None, ids: Mapping[str, int]) -> frozenset[int]:
    """End ids of the configuration files in `folder`, else all well-known ones."""
    found: set[int] = set()
    for name, key in (
        ("generation_config.json", "eos_token_id"),
        ("tokenizer_config.json", "eos_token"),
    ):
        if folder is None or not (folder / name).is_file():
            continue
        named = _as_collection(_object(folder / name).get(key))
        found |= {_id_of(_name(one), ids, f"{name}, {key}") for one in named}
    return frozenset(found or (ids[name] for name in KNOWN if name in ids))


def ends_of(tokenizer: Any, generation_config: Any, added: Mapping[str, int]) -> frozenset[int]:
    """End ids of a transformers tokenizer, its generation config and its chat template."""
    found: set[int] = set()
    for source in (tokenizer, generation_config):
        found.update(_as_collection(getattr(source, "eos_token_id", None)))
    if getattr(tokenizer, "chat_template", None):
        template = str(tokenizer.chat_template)
        found.update(_turn_ends(tokenizer.apply_chat_template, template, added))
    return frozenset(found)


def _turn_ends(
    render: Callable[..., str], template: str, added: Mapping[str, int]
) -> Iterable[int]:
    """The added token that follows a reply in a rendered conversation, if one does."""
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": REPLY}]
    try:
        after = render(messages, tokenize=False).partition(REPLY)[2].lstrip()
    except Exception:  # noqa: BLE001  a template is a program, which may raise anything
        return [added[name] for name in KNOWN if name in added and name in template]
    closing = max((name for name in added if after.startswith(name)), key=len, default=None)
    return [] if closing is None else [added[closing]]


def _object(path: Path) -> Mapping[str, Any]:
    try:
        value = json.loads(path.read_bytes())
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path} is not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise ModelError(f"{path} must contain a JSON object, not a {type(value).__name__}")
    return value  # pyright: ignore[reportUnknownVariableType]


def _as_collection(value: Any) -> Iterable[Any]:
    """A configuration value as a collection: None is empty."""
    if value is None:
        return ()
    return value if isinstance(value, list | tuple) else (value,)  # pyright: ignore[reportUnknownVariableType]


def _name(token: Any) -> Any:
    """A token's name or id: configurations write it plain, or as an object with settings."""
    match token:
        case {"content": content}:
            return content
        case _:
            return token


def _id_of(token: Any, ids: Mapping[str, int], place: str) -> int:
    if isinstance(token, int):
        return token
    if isinstance(token, str) and token in ids:
        return ids[token]
    # Only what looks like an end token is compared: 200,000 words would take a second.
    hint = did_you_mean(token, [name for name in ids if name.startswith(("<", "["))])
    named = brief(token)
    raise ModelError(f"{place} names the token {named}, but the vocabulary has no such token{hint}")
