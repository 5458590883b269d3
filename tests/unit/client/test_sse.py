"""Server-sent events out of lines, as the specification says."""

from __future__ import annotations

from gradstream.client.sse import ServerSentEvent, events


def test_events_ids_comments_and_several_lines() -> None:
    lines = ["id: 1", "event: job", 'data: {"a":', "data: 1}", "", ": ping", "", "data:x", "", "event: closing", "data", ""]
    assert list(events(lines)) == [
        ServerSentEvent("1", "job", '{"a":\n1}'),
        ServerSentEvent("1", "message", "x"),
        ServerSentEvent("1", "closing", ""),
    ]


def test_an_event_cut_short_is_no_event() -> None:
    assert list(events(["id: 1", "data: whole", "", "id: 2", "data: half"])) == [ServerSentEvent("1", "message", "whole")]
