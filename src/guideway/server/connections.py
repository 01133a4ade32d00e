"""Connections of uvicorn that cannot be held open: by a head that never ends, or by not reading.

uvicorn itself limits only the time between requests.
"""

import asyncio
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from uvicorn.protocols.http.h11_impl import H11Protocol as Base
else:  # that one, or httptools' where it is installed
    from uvicorn.protocols.http.auto import AutoHTTPProtocol as Base

HEAD: Final = 10.0  # seconds that the head of a request may take
READING: Final = 30.0  # seconds that a client may leave answers unread
LATE: Final = b"""HTTP/1.1 408 Request Timeout\r
content-type: application/json\r
connection: close\r
\r
{"error": {"message": "the head of the request takes more than %d seconds", \
"type": "invalid_request_error", "param": null, "code": null}}"""


class Connection(Base):
    """A connection with a client, as `uvicorn.run(http=Connection)` makes it."""

    head: float = HEAD
    reading: float = READING

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._late: asyncio.TimerHandle | None = None
        self._stuck: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._wait()

    def pause_writing(self) -> None:
        """Begin to wait for a client that does not read."""
        super().pause_writing()
        self._stuck = self.loop.call_later(self.reading, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on: the client reads."""
        super().resume_writing()
        self._stop()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        if self._late is not None:
            self._late.cancel()
        super().connection_lost(exc)

    def _wait(self) -> None:
        """Wait for a head, unless a request is answered or uvicorn waits for the next one."""
        cycle: Any = self.cycle  # None before the first request
        busy = cycle is not None and not cycle.response_complete
        idle = self.timeout_keep_alive_task is not None
        if busy or idle:
            if self._late is not None:
                self._late.cancel()
            self._late = None
        elif self._late is None:
            self._late = self.loop.call_later(self.head, self._refuse)

    def _refuse(self) -> None:
        self.transport.write(LATE % self.head)
        self.transport.close()

    def _stop(self) -> None:
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None
