"""The stored points of a job, as batches or as one table for pandas or polars."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from gradstream.api.charts import MetricBatch
from gradstream.errors import Unavailable

if TYPE_CHECKING:
    import pandas
    import polars

COLUMNS = ("attempt", "source", "name", "rank", "step", "samples", "version", "time", "value")


class MetricPoints:
    """Iterate over it for batches in the order of their arrival. Each iteration and each table reads the platform anew."""

    def __init__(self, read: Callable[[], Iterator[MetricBatch]]) -> None:
        self._read = read

    def __iter__(self) -> Iterator[MetricBatch]:
        return self._read()

    def to_pandas(self) -> pandas.DataFrame:
        """One row per point. `time` is a UTC timestamp; a value that is not finite is NaN. Raises: Unavailable: no pandas."""
        try:
            import pandas
        except ImportError as error:
            raise Unavailable("pandas is not installed here; run `pip install pandas`") from error
        frame = pandas.DataFrame(self._columns())
        return frame.assign(time=pandas.to_datetime(frame["time"], unit="s", utc=True))

    def to_polars(self) -> polars.DataFrame:
        """One row per point. `time` is a UTC timestamp; a value that is not finite is NaN. Raises: Unavailable: no polars."""
        try:
            import polars
        except ImportError as error:
            raise Unavailable("polars is not installed here; run `pip install polars`") from error
        whole = dict.fromkeys(("attempt", "rank", "step", "samples", "version"), polars.Int64)
        schema = {"source": polars.String, "name": polars.String, "time": polars.Float64, "value": polars.Float64, **whole}
        frame = polars.DataFrame(self._columns(), schema={name: schema[name] for name in COLUMNS})
        return frame.with_columns((polars.col("time") * 1e6).cast(polars.Datetime("us", "UTC")))

    def _columns(self) -> dict[str, list[Any]]:
        columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
        for batch in self:
            for name, rank, step, samples, version, time, value in batch.points:
                finite = float("nan") if value is None else value
                row = (batch.attempt, batch.source, name, rank, step, samples, version, time, finite)
                for column, cell in zip(columns.values(), row, strict=True):
                    column.append(cell)
        return columns
