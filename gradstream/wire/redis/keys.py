"""Every key on the data plane's Redis. No other module formats one.

J is a job's attempt (`<job hex>.<attempt>`); k a shard, r a rank, i an incarnation of it. The part in braces decides the slot on a
Redis Cluster: all small keys of an attempt lie together, and each shard's vectors (`gradstream.wire.redis.routes`).

| key                    | what                                   | written by          | trimmed by                        |
|------------------------|----------------------------------------|---------------------|-----------------------------------|
| gs:{J}:log             | the ordered log of headers             | everyone, see below | shard 0, behind the lowest pos    |
| gs:{J:k}:d:<r>.<i>     | payload parts                          | worker r.i          | shard k, after use                |
| gs:{J}:r:<k>.<r>.<i>   | responses                              | shard k             | shard k, by length                |
| gs:{J:k}:c:<position>  | a slice of the center, never changed   | shard k             | shard k, when its readers went on |
| gs:{J:k}:q:<r>.<i>.<n> | rows of entry n                        | worker r.i          | shard k, after use                |
| gs:{J:k}:f:<r>.<i>.<n> | rows of message n                      | shard k             | worker r.i, after use             |
| gs:{J}:pos             | hash: shard -> last handled log id     | shards              | -                                 |
| gs:{J}:ledger          | hash: rank -> outcomes of its pushes   | shard 0             | -                                 |
| gs:{J}:meet:<name>     | where a process is, for the others     | workers without servers, groups | -                     |
| gs:{J}:metrics         | batches, idempotent by (source, batch) | every process       | ingest, after its commit          |

The log is made by the control plane. Workers and evaluators write their own entries, the agent the `leave` of a process that
it saw die, the control plane's checkpoints and stops.
"""

from __future__ import annotations


def log(j: str) -> str:
    return f"gs:{{{j}}}:log"


def pos(j: str) -> str:
    return f"gs:{{{j}}}:pos"


def ledger(j: str) -> str:
    return f"gs:{{{j}}}:ledger"


def metrics(j: str) -> str:
    return f"gs:{{{j}}}:metrics"


def meeting(j: str, name: str) -> str:
    return f"gs:{{{j}}}:meet:{name}"


def payload(j: str, shard: int, rank: int, incarnation: int) -> str:
    return f"gs:{{{j}:{shard}}}:d:{rank}.{incarnation}"


def responses(j: str, shard: int, rank: int, incarnation: int) -> str:
    return f"gs:{{{j}}}:r:{shard}.{rank}.{incarnation}"


def rows_of_entry(j: str, shard: int, rank: int, incarnation: int, seq: int) -> str:
    return f"gs:{{{j}:{shard}}}:q:{rank}.{incarnation}.{seq}"


def rows_of_message(j: str, shard: int, rank: int, incarnation: int, number: int) -> str:
    return f"gs:{{{j}:{shard}}}:f:{rank}.{incarnation}.{number}"


def center(j: str, shard: int, position: str) -> str:
    return f"gs:{{{j}:{shard}}}:c:{position}"


def patterns(j: str) -> tuple[str, str]:
    """The key patterns of one attempt, for its access rights and for removing what is left of it."""
    return f"gs:{{{j}}}:*", f"gs:{{{j}:*"
