"""What the SDK does when a server is slow, away, broken or half there. The server is a real one that follows a script."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from uuid import UUID

import pytest

from gradstream.client import Client, Credentials
from gradstream.errors import Conflict, GradstreamError, Invalid, InvalidJob, Mistake, NotFound, NotSignedIn, Unavailable

JOB = "11111111-2222-3333-4444-555555555555"
Answer = Callable[[BaseHTTPRequestHandler], None]


class Scripted(ThreadingHTTPServer):
    """Gives the next answer of `script` to each request, and remembers the requests."""

    daemon_threads = True

    def __init__(self) -> None:
        self.script: list[Answer] = []
        self.seen: list[BaseHTTPRequestHandler] = []
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Scripted

    def handle_one(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.seen.append(self)
        self.server.script.pop(0)(self)

    do_GET = do_POST = do_DELETE = handle_one

    def log_message(self, format: str, *args: object) -> None:
        pass


def answers(status: int, body: str = "{}", kind: str = "application/json", length: int | None = None) -> Answer:
    def answer(request: BaseHTTPRequestHandler) -> None:
        data = body.encode()
        request.send_response(status)
        request.send_header("Content-Type", kind)
        request.send_header("Content-Length", str(len(data) if length is None else length))
        request.end_headers()
        request.wfile.write(data)

    return answer


def hangs_up(request: BaseHTTPRequestHandler) -> None:
    request.connection.shutdown(socket.SHUT_RDWR)
    request.close_connection = True


def streams(*lines: str) -> Answer:
    """Events, and then the connection breaks."""
    return answers(200, "\n".join(lines) + "\n", "text/event-stream", length=10**6)


@pytest.fixture
def server() -> Iterator[Scripted]:
    scripted = Scripted()
    thread = threading.Thread(target=scripted.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield scripted
    scripted.shutdown()
    scripted.server_close()
    thread.join(60)
    assert scripted.script == []


@pytest.fixture
def client(server: Scripted) -> Iterator[Client]:
    with Client(Credentials(server.url, "secret"), timeout=3) as made:
        yield made


def test_the_token_travels_in_the_header(server: Scripted, client: Client) -> None:
    server.script = [answers(200, '{"user": {"name": "ada"}}')]
    assert client.user() == "ada"
    assert server.seen[0].headers["Authorization"] == "Bearer secret"


def test_a_problem_becomes_the_exception_that_the_server_raised(server: Scripted, client: Client) -> None:
    errors = [{"pointer": "/spec/a", "message": "why"}]
    problem = {"type": "/problems/InvalidJob", "detail": "bad", "errors": errors, "context": {"message": 1}}
    server.script = [answers(422, json.dumps(problem), "application/problem+json")]
    with pytest.raises(InvalidJob, match="bad") as caught:
        client.nodes()
    assert caught.value.problems == [Mistake("/spec/a", "why")]
    assert caught.value.context == {"message": 1}


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, '{"type": "/problems/NotSignedIn", "detail": "who?"}', NotSignedIn),
        (404, '{"type": "/problems/SomethingNewer", "detail": "gone"}', NotFound),
        (409, '{"type": "/problems/Problem", "detail": "a class of ours that is no error"}', Conflict),
        (422, "<html>", Invalid),
        (500, '{"type": "about:blank", "title": "Internal Server Error"}', GradstreamError),
        (418, "[]", GradstreamError),
    ],
)
def test_other_answers_become_the_kind_of_their_status(
    server: Scripted, client: Client, status: int, body: str, kind: type[GradstreamError]
) -> None:
    server.script = [answers(status, body)]
    with pytest.raises(GradstreamError) as caught:
        client.nodes()
    assert type(caught.value) is kind


def test_a_safe_request_is_tried_again(server: Scripted, client: Client) -> None:
    server.script = [hangs_up, answers(502, "<html>"), answers(200, '{"items": []}')]
    assert client.nodes() == []
    assert len(server.seen) == 3


def test_a_request_that_is_not_safe_is_not_repeated(server: Scripted, client: Client) -> None:
    server.script = [hangs_up]
    with pytest.raises(Unavailable):
        client.sign_in_link()
    assert len(server.seen) == 1


def test_the_timeout_ends_retries() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: nobody answers
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        heard: list[str] = []
        client = Client(Credentials(url, "t"), timeout=0.5, on_retry=heard.append)
        with client, pytest.raises(Unavailable, match=f"{url} cannot be reached"):
            client.nodes()
        assert heard


@pytest.mark.parametrize("url", ["ftp://x", "http://[", "http://x y"])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(Invalid, match="not an address"):
        Client(Credentials(url, "t"), timeout=0).nodes()


def job(status: str) -> str:
    absent = dict.fromkeys(("reason", "message", "position", "bundle", "started_at", "ended_at"))
    known = {"id": str(UUID(int=1)), "name": "x", "seq": 1, "strategy": "adag", "gate": "asp", "user": "ada", "status": status}
    counts = {"priority": 50, "workers": 1, "shards": 1, "tags": [], "note": "", "archived": False}
    rest = {"spec": {}, "progress": {}, "attempt": 1, "retries_used": 0, **counts, "created_at": "2026-01-01T00:00:00Z"}
    return json.dumps({**absent, **known, **rest})


def test_a_stream_goes_on_where_it_broke(server: Scripted, client: Client) -> None:
    server.script = [
        streams("id: 5", "event: event", 'data: {"n": 1}', "", "id: 6", "event: event", 'data: {"n"'),
        hangs_up,
        streams(": ping", "", "id: 6", "event: event", 'data: {"n": 2}', "", "event: closing", "data: {}", ""),
        streams("id: 7", "event: job", f"data: {job('running')}", "", "id: 9", "event: job", f"data: {job('succeeded')}", ""),
    ]
    followed = list(client.follow(JOB, after=4))
    assert [(event.id, event.kind) for event in followed] == [(5, "event"), (6, "event"), (7, "job"), (9, "job")]
    assert [request.headers["Last-Event-ID"] for request in server.seen] == ["4", "5", "5", "6"]


def test_a_stream_of_a_job_that_is_not_there(server: Scripted, client: Client) -> None:
    server.script = [answers(404, '{"type": "/problems/NotFound", "detail": "no job"}')]
    with pytest.raises(NotFound, match="no job"):
        next(client.follow(JOB))


@pytest.mark.parametrize("token", ["gst_é", "gst_\u201cx\u201d", "two\nlines"])
def test_a_token_that_http_does_not_carry_is_refused_in_a_sentence_without_it(token: str) -> None:
    with pytest.raises(Invalid, match="copy it again") as refused:
        Client(Credentials("http://127.0.0.1:1", token))
    assert token not in str(refused.value)


def test_following_a_job_that_was_deleted_ends(server: Scripted) -> None:
    server.script = [answers(200, 'event: gone\ndata: {"id": "x"}\n\n', "text/event-stream")]
    with Client(Credentials(server.url, "token")) as client, pytest.raises(NotFound, match="deleted"):
        list(client.follow(JOB))
