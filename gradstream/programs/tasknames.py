"""Celery tasks that cross programs. A task is a hint: losing, doubling or reordering one does no harm.

| task | sender          | receiver                    | payload | what the receiver does                              |
|------|-----------------|-----------------------------|---------|-----------------------------------------------------|
| SYNC | api, controller | agent, queue `node.<id>`    | none    | fetches its desired set from the API and reconciles |
| PING | agent           | the same agent, `node.<id>` | token   | proves that its consumer still receives             |
"""

from uuid import UUID

SYNC = "agent.sync"
PING = "agent.ping"


def node_queue(node_id: UUID) -> str:
    """Also the name of the node's account on the live Redis. By id: a name may hold dots, and one may begin as another does."""
    return f"node.{node_id.hex}"
