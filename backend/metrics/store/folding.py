"""Folding of batches into blocks: thousands of points at a time, so that a block is seldom written before it is full."""

from __future__ import annotations

from collections import defaultdict
from uuid import UUID

from sqlalchemy.orm import Session

from backend.metrics import repository
from backend.metrics.models import MetricBatchRow, MetricSeriesRow
from backend.metrics.store import blocks, payloads, pyramid, tally
from backend.metrics.store.points import POINT, Array, decode, joined
from backend.metrics.store.pyramid import Place
from gradstream.process.order import label_of

ENOUGH = 16_384
"""Points that may wait; charts read them from their batches."""
ENOUGH_OF_EACH = 64
"""Points that may wait for each series, where there are many."""
MAX_WAITING = 65_536
"""Points that may wait, however many series there are."""
PORTION = 500
"""Batches that are folded at a time; one transaction folds a few such portions."""


def enough(waiting: int, series: int) -> bool:
    return waiting >= min(max(ENOUGH, ENOUGH_OF_EACH * series), MAX_WAITING)


def fold(session: Session, job_id: UUID, *, most: int = 10 * PORTION) -> int:
    """Fold at most `most` waiting batches into blocks; return how many there were. The job's row must be locked."""
    store = repository.store(session, job_id)
    if store is None or not store.waiting:
        return 0
    rows = repository.batches(session, job_id, after=store.folded, limit=most)
    points = sum(_fold(session, job_id, rows[first : first + PORTION]) for first in range(0, len(rows), PORTION))
    store.waiting -= points
    if rows:
        store.folded = rows[-1].seq
    session.flush()
    return len(rows)


def _fold(session: Session, job_id: UUID, rows: list[MetricBatchRow]) -> int:
    """Fold these batches; return the number of their points."""
    new: dict[tuple[int, str, str, int], list[Array]] = defaultdict(list)
    for row in rows:
        for group in decode(payloads.unpack(row.payload)).groups():
            new[row.attempt, label_of(row.source), group.name, group.rank].append(group.points)
    known = {(s.attempt, s.source, s.name, s.rank): s for s in repository.series(session, job_id)}
    growing = [(known[key], joined(parts)) for key, parts in new.items()]
    if not growing:
        return 0
    tails, tallies = _tails(session, [series for series, _ in growing]), _tallies(session, [series for series, _ in growing])
    written: list[tuple[int, Place, bytes, bytes | None]] = []
    folded: list[tuple[int, int, bytes, bytes | None]] = []
    for series, points in growing:
        grown = pyramid.grow(series.folded, summary(series), tails[series.id], points)
        tallied = tally.grow(series.folded, tally.unpack(series.tally), tallies[series.id], points["value"])
        written += [
            (series.id, place, blocks.pack(block), tally.pack(tallied.blocks.get(place))) for place, block in grown.blocks.items()
        ]
        folded.append((series.id, series.folded + len(points), blocks.pack(grown.summary), tally.pack(tallied.whole)))
    repository.put_blocks(session, written)
    repository.set_folded(session, folded)
    return sum(len(points) for _, points in growing)


def summary(series: MetricSeriesRow) -> Array | None:
    """Return the summary of the series' points in blocks; None: there is none."""
    return blocks.unpack([series.summary], blocks.SUMMARY)[0] if series.summary else None


def _tails(session: Session, all_series: list[MetricSeriesRow]) -> dict[int, dict[Place, Array]]:
    wanted = [(series.id, level, number) for series in all_series for level, number in pyramid.tails(series.folded)]
    found: dict[int, dict[Place, Array]] = defaultdict(dict)
    if wanted:
        for (series_id, level, number), data in zip(wanted, repository.blocks(session, wanted), strict=True):
            found[series_id][level, number] = blocks.unpack([data], blocks.SUMMARY if level else POINT)[0]
    return found


def _tallies(session: Session, all_series: list[MetricSeriesRow]) -> dict[int, dict[Place, Array | None]]:
    places = [(series.id, place) for series in all_series for place in tally.tails(series.folded)]
    found: dict[int, dict[Place, Array | None]] = defaultdict(dict)
    if places:
        packed = repository.tallies(session, [(series_id, *place) for series_id, place in places])
        for (series_id, place), each in zip(places, packed, strict=True):
            found[series_id][place] = tally.unpack(each)
    return found
