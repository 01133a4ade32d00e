"""Ray: `Extract` for datasets of Ray Data, `deployment` for the server on Ray Serve.

`Extract` generates a value for each row of a dataset, in several processes.

    dataset ─▶ map_batches(Extract) ─▶ the same rows, with value, text, error and finish_reason
                 one model and one engine per actor; rows of a batch share forwards

- The text of a row depends on its prompt and the seed only, not on the actor or the batch.
- A row that fails keeps its error and stays in the dataset. Ray starts a batch again if its actor
  dies.

Source: https://docs.ray.io/en/latest/data/api/doc/ray.data.Dataset.map_batches.html
"""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, Final, cast

import numpy as np
from pydantic_core import to_jsonable_python

from guideway.api.engine import Engine
from guideway.api.jobs import Call
from guideway.api.load import load
from guideway.api.model import Model, as_model
from guideway.api.prompts import Prompt
from guideway.errors import GuidewayError, ModelError, SourceError
from guideway.extras import library
from guideway.generation.ensemble.ensemble import Ensemble
from guideway.generation.row.result import Result

ONGOING: Final = 80  # requests of a replica
COLUMNS: Final = ("value", "text", "error", "finish_reason")


class Extract:
    """A class for `Dataset.map_batches`, with NumPy batches (Ray's default).

    Example:
        >>> import numpy as np
        >>> import guideway as gw
        >>> from guideway.models.fake import FakeModel
        >>> from guideway.integrations.ray import Extract
        >>> vocabulary = gw.Vocabulary([bytes([b]) for b in range(256)] + [b"<eos>"], {256})
        >>> extract = Extract(lambda: gw.Model(FakeModel.random(vocabulary)), gw.Choice(["a", "b"]))
        >>> rows = extract({"prompt": np.array(["One? ", 3], dtype=object)})
        >>> rows["value"].tolist(), rows["error"][1][:50]
        (['b', None], 'SourceError: a prompt must be a text, a list of ch')

        >>> people = texts.map_batches(  # doctest: +SKIP
        ...     Extract,
        ...     fn_constructor_kwargs={
        ...         "model": "smollm2-135m",
        ...         "source": Person,
        ...         "prompt": lambda row: f"Extract the person: {row['text']}",
        ...         "max_new_tokens": 100,
        ...     },
        ...     compute=ray.data.ActorPoolStrategy(size=2),
        ...     batch_size=32,
        ... )
    """

    def __init__(
        self,
        model: str | Callable[[], Model],
        source: object = None,
        *,
        prompt: str | Callable[[dict[str, Any]], Prompt] = "prompt",
        output: str = "",
        max_batch: int = 32,
        schema_in_prompt: bool = False,
        retries: int = 0,
        **settings: Any,
    ) -> None:
        """Load the model, compile the source and start an engine: once for each actor.

        Args:
            model: what `guideway.load` takes, or a function that returns the model. A function is
                needed for guidance, watermarks, and arguments of `load`.
            source: what the text of each row must be, as for `Model.generate`.
            prompt: the column with the prompts (texts, or chat messages), or a function that makes
                the prompt of a row from its columns.
            output: what the names of the new columns begin with: "person_" adds `person_value`.
            max_batch: the greatest number of rows that run at once.
            schema_in_prompt: describe the type in the prompt.
            retries: how often to ask again if a validator refuses a value.
            **settings: the settings by the names of `guideway.Sampling`.

        Raises:
            SourceError, UnsupportedError, UnsatisfiableError, LimitError: the source or a setting
                is wrong, which would fail each row.
            ModelError: the model cannot be loaded.
        """
        built = load(model) if isinstance(model, str) else as_model(model(), "what model() returns")
        Call(Ensemble(built.whole), "a", source, **settings).only_job("Extract")
        self._prompt, self._source = prompt, cast("Any", source)
        self._names = {name: output + name for name in COLUMNS}
        self._more: dict[str, Any] = {
            "schema_in_prompt": schema_in_prompt,
            "retries": retries,
            **settings,
        }
        self._engine = Engine(built, max_batch=max_batch)

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """Generate the values of a batch.

        Args:
            batch: the columns by name: arrays or lists of equal length.

        Returns:
            The same columns, and as arrays of objects: `value`, what `Result.value` is, as JSON
            (dict, list, str, int, float, bool; None after an error); `text`, the text of the model;
            `error`, the kind and message of what failed, else None; `finish_reason`.

        Raises:
            SourceError: the column of the prompts is missing, or a new column is there already.
        """
        if isinstance(self._prompt, str) and self._prompt not in batch:
            raise SourceError(f"there is no column {self._prompt!r}; the columns are {[*batch]}")
        if taken := [name for name in self._names.values() if name in batch]:
            raise SourceError(f'the column {taken[0]!r} is there already: pass output="result_"')
        count = len(next(iter(batch.values()), ()))
        rows = [{name: batch[name][at] for name in batch} for at in range(count)]
        futures = [self._submit(row) for row in rows]
        told = [_columns(future) for future in futures]
        # Arrays of objects: NumPy must not read lists as the rows of a matrix.
        new = {
            self._names[name]: np.fromiter((row[name] for row in told), object, count)
            for name in COLUMNS
        }
        return {**batch, **new}

    def close(self) -> None:
        """End the engine and its thread. An actor's engine ends with its process."""
        self._engine.close()

    def _submit(self, row: dict[str, Any]) -> "Future[Result[Any]]":
        """The future of a row; it has the error of its prompt."""
        make = self._prompt
        try:
            prompt: Any = row[make] if isinstance(make, str) else make(row)
        except Exception as error:  # noqa: BLE001  whatever a user's function raises is its row's
            failed = Future[Result[Any]]()
            failed.set_exception(SourceError(f"prompt raised {type(error).__name__}: {error}"))
            return failed
        listed: Any = prompt.tolist() if isinstance(prompt, np.ndarray) else prompt
        return self._engine.submit(listed, self._source, on_invalid="return", **self._more)


def deployment(build: Callable[[], Any], **options: Any) -> Any:
    """Return the server as an application of Ray Serve, for `serve.run`.

    Each replica calls `build`, so that it has a model, an engine and compilers of its own.

    Example:
        >>> def build():
        ...     from guideway.server import create_app
        ...     return create_app(gw.Engine(gw.load("smollm2-135m")), name="small")
        >>> serve.run(deployment(build, num_replicas=2))  # doctest: +SKIP

    Args:
        build: a function that returns `guideway.server.create_app(...)`.
        **options: those of `ray.serve.deployment`. `max_ongoing_requests` is 80 if it is not given:
            16 requests that run and 64 that wait, as in a server without Ray.

    Raises:
        ModelError: Ray Serve is not installed.

    Source: https://docs.ray.io/en/latest/serve/http-guide.html
    """
    serve = library("ray.serve", "guideway.integrations.ray.deployment")
    replica = serve.ingress(build)()
    return serve.deployment(**{"max_ongoing_requests": ONGOING, **options})(replica).bind()


def _columns(future: "Future[Result[Any]]") -> dict[str, Any]:
    """The new columns of a row."""
    result = None
    try:
        result = future.result()
        error = result.error
    except ModelError:
        raise  # the model is broken, not the row: Ray starts another actor
    except GuidewayError as raised:
        error = raised
    return {
        "value": None if result is None else to_jsonable_python(result.value),
        "text": None if result is None else result.text,
        "error": None if error is None else f"{type(error).__name__}: {error}",
        "finish_reason": None if result is None else result.finish_reason,
    }
