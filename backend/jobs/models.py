"""A job and its attempts. Each change of a job takes a number from `jobs.feed` under the job row's lock, so numbers are committed
in their order, and a reader who has all up to n has missed nothing before n."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    ColumnElement,
    ForeignKey,
    Index,
    String,
    UniqueConstraint,
    func,
    literal_column,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB, NUMMULTIRANGE, ExcludeConstraint, Range
from sqlalchemy.orm import Mapped, mapped_column, relationship

from backend.db import Base
from backend.jobs.places.gpu_ticks import gpus_of
from backend.users.models import UserRow
from gradstream.process.order import Resume, Role, label

SORTED = ("name", "status", "strategy", "workers", "priority", "accuracy", "loss", "samples_per_second", "mean_staleness")
"""Columns that have an index for sorting, each with (created_at, id) behind it, which make the order total."""

ENTRYPOINT: ColumnElement[str] = literal_column("((spec -> 'workload'::text) ->> 'entrypoint'::text)", String)
"""The entrypoint of a job's workload: an expression with an index, which Postgres uses only for the same words."""


class JobRow(Base):
    __tablename__ = "jobs"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    name: Mapped[str]
    """This, the tags and the note begin as the job file says, and users change them."""
    tags: Mapped[list[str]] = mapped_column(JSONB, default=list)
    note: Mapped[str] = mapped_column(default="")
    archived: Mapped[bool] = mapped_column(default=False)
    """Left out of lists that do not ask for it."""
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id"))
    owner: Mapped[UserRow] = relationship(lazy="joined", innerjoin=True)
    spec: Mapped[dict[str, Any]]
    """It never changes: what `roles.server.count: auto` comes to is in `shards`."""
    source: Mapped[str | None]
    """The text of the job file as it was sent; None: only its meaning was."""
    overrides: Mapped[list[str]] = mapped_column(JSONB, default=list)
    """Values that were set over the text, in the words of the command line, e.g. `strategy.lr=0.1`."""
    bundle: Mapped[str | None] = mapped_column(ForeignKey("bundles.hash"))
    origin: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    """A `CodeOrigin`; None: the client sent none."""
    uncommitted: Mapped[list[dict[str, Any]] | None] = mapped_column(JSONB(none_as_null=True), deferred=True)
    """`UncommittedChange` for each file that differs from the commit; None: the client sent none."""
    started_from: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    """A `StartedFrom`; None: it starts from no other job, or was submitted before this was kept."""
    strategy: Mapped[str]
    gate: Mapped[str]
    priority: Mapped[int]
    workers: Mapped[int]

    status: Mapped[str]
    reason: Mapped[str | None]
    message: Mapped[str | None]
    position: Mapped[int | None]
    stop_to: Mapped[str | None]
    """While stopping: the end that it leads to."""
    stop_at: Mapped[datetime | None]
    """While stopping: when what still runs is killed."""

    feed: Mapped[int] = mapped_column(BigInteger, default=0)
    """The last number given to anything in this job's feed."""
    seq: Mapped[int] = mapped_column(BigInteger, default=0)
    """The number of the last change of what `schemas.Job` shows."""
    attempt: Mapped[int] = mapped_column(default=0)
    retries_used: Mapped[int] = mapped_column(default=0)
    progress: Mapped[dict[str, Any]] = mapped_column(default=dict)
    accuracy: Mapped[float | None]
    """This and the next three repeat what `progress` says, for lists to be sorted by."""
    loss: Mapped[float | None]
    samples_per_second: Mapped[float | None]
    mean_staleness: Mapped[float | None]
    shards: Mapped[int | None]
    """Shards that `roles.server.count: auto` has come to, for the rest of the job; None: none yet, or the spec says a number."""
    shards_reason: Mapped[str | None]
    """Why, as a sentence."""
    collective: Mapped[str | None]
    """The way that `roles.server.collective: auto` has come to in the newest attempt; None: none yet, or the spec says one."""

    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    started_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]

    __table_args__ = (
        Index("ix_jobs_page", "created_at", "id"),
        *(Index(f"ix_jobs_by_{column}", column, "created_at", "id") for column in SORTED),
        Index("ix_jobs_by_entrypoint", ENTRYPOINT, "created_at"),
        Index("ix_jobs_by_bundle", "bundle", "created_at"),
        Index("ix_jobs_by_tag", "tags", postgresql_using="gin"),
        Index("ix_jobs_live", "status", postgresql_where=text("ended_at IS NULL")),
    )

    @property
    def user(self) -> str:
        return self.owner.name


class DeletedJobRow(Base):
    """A note that a job was deleted, for lists that are open somewhere. Kept for a day.

    Transactions end in another order than they begin in. A reader at a snapshot has seen the changes of all transactions before
    its xmin, so the next look goes on from there."""

    __tablename__ = "deleted_jobs"

    transaction: Mapped[int] = mapped_column(
        BigInteger, primary_key=True, server_default=text("pg_current_xact_id()::text::bigint")
    )
    id: Mapped[UUID] = mapped_column(primary_key=True)
    at: Mapped[datetime] = mapped_column(server_default=func.now(), index=True)


class AttemptRow(Base):
    __tablename__ = "attempts"

    job_id: Mapped[UUID] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    status: Mapped[str]
    reason: Mapped[str | None]
    message: Mapped[str | None]
    started_at: Mapped[datetime] = mapped_column(server_default=func.now())
    ended_at: Mapped[datetime | None]
    resumed_attempt: Mapped[int | None]
    resumed_checkpoint: Mapped[int | None]
    running_at: Mapped[datetime | None]
    stop_posted: Mapped[bool] = mapped_column(default=False)
    """Its workers have been asked to leave."""
    checkpoint: Mapped[int | None]
    """Number of its newest committed checkpoint."""
    checkpoint_requested: Mapped[int] = mapped_column(default=0)
    """Number of the last checkpoint that was asked for."""
    checkpoint_requested_at: Mapped[datetime | None]
    plane_open: Mapped[bool] = mapped_column(default=False)
    """There may be something of it on the data plane's Redis."""

    @property
    def resumed_from(self) -> Resume | None:
        """The checkpoint that it began from; None: it began at the beginning."""
        attempt, checkpoint = self.resumed_attempt, self.resumed_checkpoint
        return None if attempt is None or checkpoint is None else Resume(attempt=attempt, checkpoint=checkpoint)


class ProcessRow(Base):
    """A process that should run, runs or ran. Its place (slot, parts of GPUs) is taken until it has ended: by a unique
    index and an exclusion, so that no two schedulers and no mistake of one can give a place twice."""

    __tablename__ = "processes"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    job_id: Mapped[UUID] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"))
    seq: Mapped[int] = mapped_column(BigInteger)
    attempt: Mapped[int]
    role: Mapped[Role] = mapped_column(String)
    rank: Mapped[int]
    incarnation: Mapped[int]
    node_id: Mapped[UUID] = mapped_column(ForeignKey("nodes.id"))
    node: Mapped[str]
    """The node's name, which it keeps."""
    slot: Mapped[int | None]
    gpu_ticks: Mapped[list[Range[Decimal]]] = mapped_column(NUMMULTIRANGE, default=list)
    """The parts of GPUs that it has, see `gpu_ticks`; empty: it computes on the CPU."""
    gpu_share: Mapped[int] = mapped_column(default=1)
    """k, if it has 1/k of a GPU for each of its processes."""
    status: Mapped[str]
    pid: Mapped[int | None]
    exit_code: Mapped[int | None]
    reason: Mapped[str | None]
    message: Mapped[str | None]
    assigned_at: Mapped[datetime] = mapped_column(server_default=func.now())
    told_at: Mapped[datetime | None]
    """When its node was first told to run it."""
    told: Mapped[int] = mapped_column(default=0)
    """Orders sent to its node before the node reported it."""
    heard_at: Mapped[datetime | None]
    """When its node first named it among what it knows."""
    started_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    replaced: Mapped[bool] = mapped_column(default=False)
    """Its rank lives on in a later incarnation; how this one ended is dealt with."""
    log_bytes: Mapped[int] = mapped_column(BigInteger, default=0)
    """Bytes of its output that are stored."""

    __table_args__ = (
        UniqueConstraint("job_id", "attempt", "role", "rank", "incarnation"),
        Index("uq_processes_slot", "node_id", "slot", unique=True, postgresql_where=text("ended_at IS NULL")),
        ExcludeConstraint(("gpu_ticks", "&&"), name="ex_processes_gpu_ticks", using="gist", where=text("ended_at IS NULL")),
        CheckConstraint("slot IS NOT NULL OR role <> 'worker'", name="worker_has_slot"),
    )

    @property
    def label(self) -> str:
        return label(self.role, self.rank)

    @property
    def gpus(self) -> list[int]:
        """The GPU of each of its processes on its node, as in `ProcessOrder`."""
        return gpus_of(self.gpu_ticks, self.gpu_share)


class EventRow(Base):
    __tablename__ = "events"

    job_id: Mapped[UUID] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    seq: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    time: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp())
    kind: Mapped[str]
    actor: Mapped[str]
    message: Mapped[str]
    data: Mapped[dict[str, Any]] = mapped_column(default=dict)


class IdempotencyKeyRow(Base):
    __tablename__ = "idempotency_keys"

    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    key: Mapped[str] = mapped_column(primary_key=True)
    request: Mapped[bytes]
    """sha256 of the request, to tell a repeat from another request under the same key."""
    job_id: Mapped[UUID] = mapped_column(
        ForeignKey("jobs.id", ondelete="CASCADE", deferrable=True, initially="DEFERRED"), index=True
    )
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
