"""Process orders for tests that start processes without a control plane."""

from __future__ import annotations

from uuid import UUID, uuid4

from gradstream.process.order import PlaneAccess, ProcessOrder, Role, StoreAccess
from gradstream.spec import JobSpec

SPEC = {
    "name": "test",
    "workload": {"entrypoint": "body:Body"},
    "strategy": {"name": "async"},
    "roles": {"server": {"count": 1}, "worker": {"count": 2, "threads": 2}},
    "stop": {"steps": 1},
    "env": {"COLOUR": "red"},
}


def make_order(role: Role = "worker", rank: int = 0, *, job_id: UUID | None = None, **changes: object) -> ProcessOrder:
    order = ProcessOrder(
        id=uuid4(),
        job_id=job_id or uuid4(),
        attempt=1,
        role=role,
        rank=rank,
        spec=JobSpec.model_validate(SPEC),
        plane=PlaneAccess(url="unix:///none", user="gs-test", password="plane secret"),
        store=StoreAccess(url="http://127.0.0.1:1", token="store secret"),
    )
    return order.model_copy(update=changes)
