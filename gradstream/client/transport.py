"""The one seam to the network: requests that are tried again while that is safe, and answers or errors of ours."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx

import gradstream
from gradstream import errors
from gradstream.client.credentials import Credentials
from gradstream.client.sse import ServerSentEvent, events
from gradstream.errors import Conflict, Denied, GradstreamError, Invalid, Mistake, NotFound, NotSignedIn, TooLarge, Unavailable
from gradstream.hostnames import is_here
from gradstream.tls import choose_verify

_BY_STATUS: dict[int, type[GradstreamError]] = {
    401: NotSignedIn,
    403: Denied,
    404: NotFound,
    409: Conflict,
    413: TooLarge,
    422: Invalid,
}
_TRY_AGAIN = (429, 502, 503, 504)
_RETRY_INTERVAL, _MAX_RETRY_INTERVAL = 0.1, 2.0
"""Seconds; the interval doubles with each failure in a row."""
_STREAM_SILENCE = 45.0
"""Seconds without a byte after which a stream is taken for dead; the server sends at least a comment every 15."""


class Transport:
    def __init__(
        self, credentials: Credentials, *, timeout: float, on_retry: Callable[[str], None], inner: httpx.BaseTransport | None
    ) -> None:
        """`timeout`: seconds that a request is tried again for while the server does not answer; `on_retry` hears why."""
        if not (credentials.token.isascii() and credentials.token.isprintable()):
            raise Invalid("the API token has characters that no token has; copy it again")
        self.url = credentials.url
        host = _host(credentials.url)
        self.timeout = timeout
        self._is_here = is_here(host)  # then no proxy leads there
        self._on_retry = on_retry
        self._http = httpx.Client(
            base_url=f"{credentials.url}/api/v1/",
            headers={"Authorization": f"Bearer {credentials.token}", "User-Agent": f"gradstream/{gradstream.__version__}"},
            timeout=httpx.Timeout(20, connect=5),
            transport=inner,
            verify=choose_verify(credentials.url),
            trust_env=not self._is_here,
        )

    def close(self) -> None:
        self._http.close()

    def json(self, method: str, path: str, *, safe: bool = True, **options: Any) -> Any:
        """The answer's JSON (None if it is empty). `safe`: doing it twice does what doing it once does."""
        answer = self._retry(lambda: self._once(method, path, **options)) if safe else self._once(method, path, **options)
        return answer.json() if answer.content else None

    def bytes(self, path: str) -> Iterator[bytes]:
        """A file in blocks. Not tried again once it has begun."""
        with self._connected(self._http.stream("GET", path)) as answer:
            yield from answer.iter_bytes(1 << 20)

    def stream(self, path: str, *, after: int = 0) -> Iterator[ServerSentEvent]:
        """Server-sent events without end: a lost connection is taken up after the last event that arrived.

        Raises: Unavailable: no connection within `timeout` since the last byte.
        """
        last, waits = after, _Backoff(self)
        while True:
            headers = {"Accept": "text/event-stream", "Last-Event-ID": str(last)}
            timeout = httpx.Timeout(_STREAM_SILENCE, connect=5)
            try:
                with self._connected(self._http.stream("GET", path, headers=headers, timeout=timeout)) as answer:
                    for event in events(answer.iter_lines()):
                        waits = _Backoff(self)
                        if event.event == "closing":
                            break
                        last = int(event.id) if event.id else last
                        if event.event != "alive":
                            yield event
            except Unavailable as error:
                waits.pause(error)
            else:
                waits.pause(Unavailable("the server closed the stream"))

    def _retry(self, attempt: Callable[[], httpx.Response]) -> httpx.Response:
        waits = _Backoff(self)
        while True:
            try:
                return attempt()
            except Unavailable as error:
                waits.pause(error)

    def _once(self, method: str, path: str, **options: Any) -> httpx.Response:
        with self._reaching():
            answer = self._http.request(method, path, **options)
        _raise_for(answer)
        return answer

    @contextmanager
    def _connected(self, opening: Any) -> Iterator[httpx.Response]:
        with self._reaching(), opening as answer:
            if answer.is_error:
                answer.read()
                _raise_for(answer)
            yield answer

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        try:
            yield
        except httpx.TransportError as error:
            remedy = "; is it running? `gradstream up` starts the platform of this machine" if self._is_here else ""
            why = str(error) or type(error).__name__
            raise Unavailable(f"{self.url} cannot be reached: {why}{remedy}", url=self.url) from error


class _Backoff:
    """Growing pauses, until the timeout that began with the first of them is over."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._until: float | None = None
        self._next = _RETRY_INTERVAL

    def pause(self, error: Unavailable) -> None:
        """Raises: `error`, once the timeout has passed."""
        now = time.monotonic()
        if self._until is None:
            self._until = now + self._transport.timeout
        if now + self._next > self._until:
            raise error
        self._transport._on_retry(error.message)
        time.sleep(self._next)
        self._next = min(self._next * 2, _MAX_RETRY_INTERVAL)


def _raise_for(answer: httpx.Response) -> None:
    """Raise what the server raised: the class that its problem names, or else the kind of its status."""
    if answer.is_success:
        return
    try:
        problem = answer.json()
        name = str(problem["type"]).rpartition("/")[2]
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError):
        problem, name = {"detail": f"{answer.url.host} answered {answer.status_code} {answer.reason_phrase}"}, ""
    kind = getattr(errors, name, None)
    if not (isinstance(kind, type) and issubclass(kind, GradstreamError)):
        kind = Unavailable if answer.status_code in _TRY_AGAIN else _BY_STATUS.get(answer.status_code, GradstreamError)
    error = kind(problem.get("detail") or problem.get("title") or answer.reason_phrase)
    error.context = problem.get("context") or {}
    if isinstance(error, Invalid):
        error.problems = [Mistake(one["pointer"], one["message"]) for one in problem.get("errors", [])]
    raise error


def _host(url: str) -> str:
    """Raises: Invalid."""
    try:
        parsed = urlsplit(url)
        usable = parsed.scheme in ("http", "https") and parsed.hostname and (parsed.port is None or parsed.port > 0)
    except ValueError:
        usable = False
    if not usable or re.search(r"\s", url):
        raise Invalid(f"'{url}' is not an address such as https://gradstream.example.org")
    return str(parsed.hostname)
