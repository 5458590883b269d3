"""Celery tasks that cross programs. A task is a hint: losing, doubling or reordering one does no harm.

| task | sender          | receiver                      | payload | what the receiver does                              |
|------|-----------------|-------------------------------|---------|-----------------------------------------------------|
| SYNC | api, controller | agent, queue `node.<name>`    | none    | fetches its desired set from the API and reconciles |
| PING | agent           | the same agent, `node.<name>` | token   | proves that its consumer still receives             |
"""

SYNC = "agent.sync"
PING = "agent.ping"


def node_queue(node: str) -> str:
    return f"node.{node}"
