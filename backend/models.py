"""All tables, imported in one place for Alembic."""

from backend.artifacts.models import ArtifactRow, CheckpointRow, ExportRow, FileRow
from backend.bundles.models import BundleRow
from backend.db import Base
from backend.jobs.models import AttemptRow, DeletedJobRow, EventRow, IdempotencyKeyRow, JobRow, ProcessRow
from backend.logs.models import LogChunkRow
from backend.media.models import MediaRow
from backend.metrics.models import MetricBatchRow, MetricBlockRow, MetricSeriesRow, MetricStoreRow
from backend.nodes.models import NodeRow, PresenceRow
from backend.updates.models import UpdateSampleRow
from backend.users.models import ApiTokenRow, SessionRow, SignInCodeRow, UserRow
from backend.views.models import SavedViewRow

TABLES: tuple[type[Base], ...] = (
    UserRow,
    ApiTokenRow,
    SignInCodeRow,
    SessionRow,
    SavedViewRow,
    BundleRow,
    NodeRow,
    PresenceRow,
    JobRow,
    DeletedJobRow,
    AttemptRow,
    ProcessRow,
    EventRow,
    IdempotencyKeyRow,
    LogChunkRow,
    MetricBatchRow,
    MetricSeriesRow,
    MetricBlockRow,
    MetricStoreRow,
    MediaRow,
    UpdateSampleRow,
    FileRow,
    CheckpointRow,
    ExportRow,
    ArtifactRow,
)
