"""Connections to the API from a seed: bytes that are HTTP, nearly HTTP or none, at once or in pieces, and left in many ways."""

from __future__ import annotations

import random
from dataclasses import dataclass

API = b"/api/v1"
SMUGGLED = b"/api/v1/smuggled"
"""The address of requests that stand in bodies; no answer may name it."""


@dataclass(frozen=True, slots=True)
class Exchange:
    seed: int
    pieces: tuple[bytes, ...]
    """Sent one after another."""
    requests: int
    """The most answers that it may get."""
    leaves: str
    """`waits` for the server's end, `half` closes after the last piece, `aborts` with a reset, `deaf` reads nothing."""


def exchange(seed: int, token: bytes, job: bytes) -> Exchange:
    draw = random.Random(seed)
    kind = draw.choice([_foreign, _one, _one, _one, _one, _pipelined, _chunked, _chunked, _upgrade])
    sent, requests = kind(draw, token, job)
    return Exchange(seed, _cut(draw, sent), requests, draw.choice(["waits", "waits", "waits", "half", "aborts", "deaf"]))


def _cut(draw: random.Random, sent: bytes) -> tuple[bytes, ...]:
    """In pieces, and sometimes without its end."""
    if draw.random() < 0.1:
        sent = sent[: draw.randrange(len(sent) + 1)]
    if draw.random() < 0.6:
        return (sent,)
    places = sorted(draw.randrange(len(sent) + 1) for _ in range(draw.choice([1, 2, 8])))
    return tuple(sent[start:end] for start, end in zip([0, *places], [*places, len(sent)], strict=True))


def _foreign(draw: random.Random, token: bytes, job: bytes) -> tuple[bytes, int]:
    """Another protocol, or none."""
    return draw.choice(
        [
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9),
            bytes.fromhex("16030100c6010000c20303") + bytes(194),
            b"SSH-2.0-OpenSSH_9.6\r\n",
            b"PROXY TCP4 10.0.0.1 10.0.0.2 1 2\r\nGET /api/v1/health HTTP/1.1\r\nhost: localhost\r\n\r\n",
            b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nb\r\n",
            bytes.fromhex("0000000804d2162f"),
            b"GET /api/v1/health\r\n\r\n",
            b"\r\n" * 2_000,
            b"\0" * 70_000,
            b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            draw.randbytes(draw.choice([1, 40, 5_000])),
            b"",
        ]
    ), 2


_METHODS = [b"GET"] * 6 + [
    b"POST",
    b"HEAD",
    b"PUT",
    b"DELETE",
    b"OPTIONS",
    b"TRACE",
    b"CONNECT",
    b"get",
    b"G" * 9_000,
    b"GE\0T",
    b"",
]
_VERSIONS = [b"HTTP/1.1"] * 12 + [b"HTTP/1.0", b"HTTP/2.0", b"HTTP/9.9", b"HTTP/1.1 ", b"http/1.1", b"HTTP/1.10", b""]
_ENDS = [b"\r\n"] * 12 + [b"\n", b"\r", b"\r\r\n"]
_FIELDS = [
    b"host: localhost\r\nhost: evil",
    b"host: user@localhost",
    b"host: localhost:99999999999",
    b"host: localhost, evil",
    b"Host : localhost",
    b" folded: before any",
    b"x: a\r\n folded",
    b"x: a\0b",
    b"x: a\rb",
    b"x:" + b"y" * 60_000,
    b"\r\n".join(b"x%d: y" % at for at in range(3_000)),
    b"\r\n".join([b"cookie: gradstream_session=x"] * 200),
    b"cookie: " + b"a=b; " * 8_000,
    b"authorization: Bearer x\r\nauthorization: Bearer y",
    b"connection: authorization, host, content-length",
    b"connection: close\r\nconnection: keep-alive",
    b"content-length: -1",
    b"content-length: +5",
    b"content-length: 0x5",
    b"content-length: 5, 5",
    b"content-length: 5\r\ncontent-length: 6",
    b"content-length: 99999999999999999999999",
    b"content-length: \xb2",
    b"content-length:",
    b"transfer-encoding: chunked, identity",
    b"transfer-encoding: xchunked",
    b"transfer-encoding: \x0bchunked",
    b"transfer-encoding: gzip, chunked",
    b"transfer-encoding : chunked",
    b"transfer-encoding: chunked\r\ntransfer-encoding: chunked",
    b"te: trailers\r\ntrailer: authorization",
    b"expect: 100-continue",
    b"expect: 200-ok",
    b"range: bytes=0-,0-,0-" + b",0-" * 900 + b"\r\nif-range: *",
    b"last-event-id: " + b"9" * 4_000,
    b"last-event-id: \xd9\xa3",
    b"accept: " + b"text/event-stream;q=0.1, " * 300,
    b"x-http-method-override: DELETE\r\nx-original-url: /api/v1/nodes",
    b"forwarded: for=127.0.0.1;host=evil;proto=https\r\nx-forwarded-host: evil",
    b"max-forwards: 0",
    b"idempotency-key: " + b"\xff" * 200,
]


def _targets(draw: random.Random, job: bytes) -> bytes:
    paths = [
        API + b"/health",
        API + b"/jobs",
        API + b"/jobs/stream",
        API + b"/jobs/" + job,
        API + b"/jobs/" + job + b"/stream",
        API + b"/jobs/" + job + b"/logs/download",
        API + b"/jobs/" + job + b"/events",
        API + b"/nodes",
        API + b"/smuggle",
        b"/",
        b"/jobs",
        b"/assets/index.js",
    ]
    odd = [
        b"*",
        b"localhost:80",
        b"http://evil/api/v1/health",
        b"http://[::1/api/v1/jobs",
        b"//evil/api/v1/health",
        b"/api/v1/../v1/health",
        b"/api/v1/%2e%2e/%2e%2e/etc/passwd",
        b"/%c0%ae%c0%ae/%c0%af",
        b"/api/v1/jobs/%00",
        b"/api/v1/jobs/a%0d%0ax-injected:%201",
        b"/api%2fv1%2fjobs",
        b"/API/V1/JOBS",
        b"/api/v1;x=y/jobs",
        b"/api/v1/jobs\\..\\nodes",
        b"/\xff\xfe",
        b"/" + b"a/" * 20_000,
        b"/assets/..%2f..%2fwork.py",
        b"/assets/%2e%2e%5cwork.py",
        b"/index.html/",
        b"/.well-known/security.txt",
    ]
    target = draw.choice(paths) if draw.random() < 0.7 else draw.choice(odd)
    if draw.random() < 0.3:
        target += b"?" + draw.choice(
            [
                b"&".join(b"a%d=1" % at for at in range(7_000)),
                b"limit=1&" * 6_000,
                b"status=" + b"running&status=" * 3_000,
                b"wait=0.01&" * 500 + b"after=x",
                b"cursor=" + b"%41" * 15_000,
                b"=&=&&&;;;" * 3_000,
                b"limit[]=1&limit[a][b]=2",
                b"q=%",
                b"q=%ud800&q=%ed%a0%80",
                b"?" * 30_000,
            ]
        )
    return target


def _head(draw: random.Random, token: bytes, job: bytes, *more: bytes, method: bytes = b"", calm: bool = False) -> bytes:
    end = b"\r\n" if calm else draw.choice(_ENDS)
    version = b"HTTP/1.1" if calm else draw.choice(_VERSIONS)
    fields = [b"host: localhost"] if calm or draw.random() < 0.9 else []
    if draw.random() < 0.7:
        fields.append(b"authorization: Bearer " + token)
    fields += more
    if not calm:
        fields += draw.sample(_FIELDS, draw.choice([0, 1, 1, 2, 4]))
    blank = b" " if calm else draw.choice([b" "] * 12 + [b"\t", b"  "])
    line = blank.join([method or draw.choice(_METHODS), _targets(draw, job), version])
    return end.join([line, *fields, b"", b""])


def _inner() -> bytes:
    return b"GET " + SMUGGLED + b" HTTP/1.1\r\nhost: localhost\r\n\r\n"


def _one(draw: random.Random, token: bytes, job: bytes) -> tuple[bytes, int]:
    """A request, and perhaps a body that looks like another one."""
    body = draw.choice([b"", b"", b"{}", _inner()])
    length = [b"content-length: %d" % len(body)] if body else []
    return _head(draw, token, job, *length) + body, 1


def _pipelined(draw: random.Random, token: bytes, job: bytes) -> tuple[bytes, int]:
    """Many requests before the first answer, some with bodies that nobody reads."""
    count, sent = draw.choice([2, 10, 60]), b""
    for _ in range(count):
        body = draw.choice([b"", b"", _inner(), b"x" * 5_000])
        method = b"POST" if body else b"GET"
        sent += _head(draw, token, job, b"content-length: %d" % len(body), method=method, calm=True) + body
    return sent, count


def _chunked(draw: random.Random, token: bytes, job: bytes) -> tuple[bytes, int]:
    """A body in pieces that are in order, or nearly."""
    body = draw.choice([b"{}", _inner(), b"x" * 300])
    pieces = draw.choice(
        [
            b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body),
            b"%X;ext=%s\r\n%s\r\n0\r\n\r\n" % (len(body), b"e" * 30_000, body),
            b"".join(b"1\r\n%c\r\n" % letter for letter in body) + b"0\r\n\r\n",
            b"%020x\r\n%s\r\n0\r\n\r\n" % (len(body), body),
            b"0x%x\r\n%s\r\n0\r\n\r\n" % (len(body), body),
            b"-1\r\n" + body,
            b"ffffffffffffffff\r\n" + body,
            b"f" * 5_000 + b"\r\n" + body,
            b"%x\n%s\n0\n\n" % (len(body), body),
            b"%x\r\n%sXX0\r\n\r\n" % (len(body), body),
            b"%x\r\n%s\r\n0\r\ncontent-length: 5\r\nauthorization: Bearer x\r\n\r\n" % (len(body), body),
            b"0\r\n" + b"".join(b"t%d: x\r\n" % at for at in range(5_000)) + b"\r\n",
            b"0\r\n\r\n" * 3,
            b"1\r\nx\r\n" * 3_000,
        ]
    )
    coding = draw.choice([b"transfer-encoding: chunked"] * 3 + [b"Transfer-Encoding: Chunked", b"transfer-encoding:\tchunked"])
    lengths = [b"content-length: %d" % draw.choice([0, 3, len(pieces)])] if draw.random() < 0.3 else []
    kind = [b"content-type: application/json"] if draw.random() < 0.5 else []
    is_clean = pieces.startswith(b"%x\r\n" % len(body)) and pieces.endswith(b"0\r\n\r\n")
    return _head(draw, token, job, coding, *lengths, *kind, method=b"POST", calm=True) + pieces, 1 if is_clean else 3


def _upgrade(draw: random.Random, token: bytes, job: bytes) -> tuple[bytes, int]:
    """A request for another protocol, and what would come in it."""
    wanted = b"connection: upgrade\r\nupgrade: " + draw.choice(
        [
            b"websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: MDEyMzQ1Njc4OWFiY2RlZg==",
            b"websocket\r\nsec-websocket-version: 0",
            b"h2c\r\nconnection: upgrade, http2-settings\r\nhttp2-settings: AAMAAABkAAQAAP__",
            b"x, " * 3_000,
        ]
    )
    frames = draw.choice([b"", b"\x81\x85\0\0\0\0hello", b"\x82\x7f" + b"\xff" * 12, b"\x89\xff" + bytes(30), draw.randbytes(500)])
    return _head(draw, token, job, wanted, method=b"GET", calm=True) + frames, 2
