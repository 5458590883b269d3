"""Fields of a stream's entries: numbers, ids, strings and lists, and what is said of wrong ones."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
import torch

from gradstream import nn as gnn
from gradstream.data.fields import StreamFields
from gradstream.data.ragged import Ragged
from gradstream.data.redis_stream.name import StreamEntry, StreamName
from gradstream.errors import InvalidWorkload

STREAM = StreamName("clicks", "redis://here:6379/0")


def entries(*given: dict[str, str]) -> list[StreamEntry]:
    return [
        StreamEntry(b"%d-0" % number, [part.encode() for pair in fields.items() for part in pair])
        for number, fields in enumerate(given)
    ]


def fields(**given: Any) -> StreamFields:
    return StreamFields(**{"features": [], "label": None, "label_dtype": torch.float32, "ids": [], "hashed": []} | given)


def test_features_and_label_are_a_pair() -> None:
    made = fields(features=["price", "picture"], label="click")
    x, y = made.batch(
        STREAM,
        entries(
            {"picture": "[1, 2.5]", "click": "1", "price": "-3e2", "more": "?"}, {"price": "7", "picture": "[0,4]", "click": "0.5"}
        ),
    )
    assert torch.equal(x, torch.tensor([[-300, 1, 2.5], [7, 0, 4]]))
    assert x.dtype == y.dtype == torch.float32
    assert y.tolist() == [1, 0.5]
    assert torch.equal(fields(features=["price"]).batch(STREAM, entries({"price": "7"})), torch.tensor([[7.0]]))


def test_ids_make_a_dict() -> None:
    made = fields(features=["price"], label="kind", label_dtype=torch.int64, ids=["user", "seen"], hashed=["query", "tags"])
    given = {"price": "1", "kind": "3", "user": str(2**63 + 5), "seen": "[9, -1]", "query": "a b", "tags": '["x", "é"]'}
    batch = made.batch(STREAM, entries(given, given | {"user": str(2**53 + 1), "seen": "[]", "query": "7", "tags": '["x"]'}))
    assert list(batch) == ["features", "kind", "user", "seen", "query", "tags"]
    assert batch["kind"].tolist() == [3, 3]
    assert batch["user"].tolist() == [5 - 2**63, 2**53 + 1]
    assert isinstance(batch["seen"], Ragged)
    assert (batch["seen"].ids.tolist(), batch["seen"].offsets.tolist()) == ([9, -1], [0, 2])
    assert torch.equal(batch["query"], gnn.hashed(["a b", "7"], "query"))
    assert torch.equal(batch["tags"].ids, gnn.hashed(["x", "é", "x"], "tags"))
    assert all(batch[name].dtype == torch.int64 for name in ("kind", "user", "query"))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (
            {"user": "1", "price": "2"},
            r"stream 'clicks' at redis://here:6379/0, entry 1-0: it has no field 'tags', only user, price",
        ),
        ({"user": "1.5", "price": "2", "tags": "[]"}, r"entry 1-0: 'user' is '1.5', which is not a whole number"),
        ({"user": "1", "price": "dear", "tags": "[]"}, r"entry 1-0: 'price' is 'dear', which is not a number"),
        ({"user": "1", "price": "", "tags": "[]"}, r"entry 1-0: 'price' is '', which is not a number"),
        ({"user": "1", "price": "[1]", "tags": "[]"}, r"entry 1-0: 'price' is a list, unlike in entries before; write one form"),
        ({"user": "1", "price": "2", "tags": "7"}, r"entry 1-0: 'tags' is no list, unlike in entries before"),
        ({"user": "1", "price": "2", "tags": "[7"}, r"entry 1-0: 'tags' is '\[7', which is not a list, each value a whole number"),
        ({"user": "1", "price": "2", "tags": '["7"]'}, r"'tags' is '\[\"7\"\]', which is not a list"),
        ({"user": "1", "price": "2", "tags": "[true]"}, r"which is not a list, each value a whole number"),
        ({"user": "1", "price": "2", "tags": "[" * 5000}, r"'tags' is '\[{60}\.\.\.', which is not a list"),
        (
            {"user": str(2**64), "price": "2", "tags": "[]"},
            r"'user' holds 18446744073709551616, which has more than 64 bits; hash it",
        ),
    ],
)
def test_a_wrong_field_is_named_with_its_entry(wrong: dict[str, str], said: str) -> None:
    made = fields(features=["price"], ids=["user", "tags"])
    with pytest.raises(InvalidWorkload, match=said):
        made.batch(STREAM, entries({"user": "1", "price": "2", "tags": "[3]"}, wrong))


def test_lists_of_features_are_equally_long_in_all_batches() -> None:
    made = fields(features=["picture"])
    with pytest.raises(InvalidWorkload, match=r"entry 1-0: the list 'picture' has 1 values, and others have 2"):
        made.batch(STREAM, entries({"picture": "[1, 2]"}, {"picture": "[1]"}))
    made.batch(STREAM, entries({"picture": "[1, 2]"}))
    with pytest.raises(InvalidWorkload, match=r"features are 3 wide, and were 2"):
        made.batch(STREAM, entries({"picture": "[1, 2, 3]"}))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"kind": str(2**64)}, r"entry 1-0: 'kind' is '18446744073709551616', which is not a whole number of 64 bits"),
        ({"query": '["\\ud800"]'}, r"""entry 1-0: 'query' is '\["\\\\ud800"\]', which is not a list, each value text"""),
    ],
)
def test_numbers_that_are_too_long_and_halves_of_characters_are_named(wrong: dict[str, Any], said: str) -> None:
    """JSON may have half of a surrogate pair, which no text in UTF-8 has."""
    made, right = fields(label="kind", label_dtype=torch.int64, hashed=["query"]), {"kind": "1", "query": '["a"]'}
    second = [part if isinstance(part, bytes) else part.encode() for pair in (right | wrong).items() for part in pair]
    with pytest.raises(InvalidWorkload, match=said):
        made.batch(STREAM, [*entries(right), StreamEntry(b"1-0", second)])


class JsonMessage(NamedTuple):
    id: bytes
    fields: dict[str, str]

    def values(self) -> dict[str, str]:
        return self.fields


def test_half_of_a_character_in_a_message_of_json_is_named() -> None:
    made = StreamFields([], None, torch.float32, [], ["query"], encoded=False)
    with pytest.raises(InvalidWorkload, match=r"entry 7: 'query' is '\\ud800', which is not text"):
        made.batch(STREAM, [JsonMessage(b"7", {"query": "\ud800"})])
