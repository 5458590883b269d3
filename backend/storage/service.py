"""Storage: how much the platform keeps of each kind."""

from __future__ import annotations

import shutil

from backend.platform import Platform
from backend.storage import folders, repository
from gradstream.api.platform import PlatformStorage, Stored, StoredJob, StoredKind

_LARGEST = 10


def show(platform: Platform) -> PlatformStorage:
    with platform.database.transaction() as session:
        counted: dict[StoredKind, tuple[int | None, int]] = {
            "bundles": repository.count_bundles(session),
            "checkpoints": repository.count_files(session, checkpoints=True),
            "models and results": repository.count_files(session, checkpoints=False),
            "uploads": folders.count(platform.files.incoming),
            "logs": (None, repository.table_bytes(session, repository.LOG_TABLES)),
            "media": (None, repository.table_bytes(session, repository.MEDIA_TABLES)),
            "metrics": (None, repository.table_bytes(session, repository.METRIC_TABLES)),
        }
        largest = repository.largest_jobs(session, _LARGEST)
    platform.files.root.mkdir(parents=True, exist_ok=True)
    disk = shutil.disk_usage(platform.files.root)
    return PlatformStorage(
        items=[Stored(kind=kind, count=count, bytes=size) for kind, (count, size) in counted.items()],
        largest_jobs=[StoredJob(id=id, name=name, bytes=size) for id, name, size in largest],
        disk_bytes=disk.total,
        disk_free_bytes=disk.free,
    )
